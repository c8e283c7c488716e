/* One second of sound to 256 levels: windows, FFT, decibels, scaled to the clip's own range. */
#include "audio.h"

#include "fft.h"
#include "mathfn.h"

#define SMALLEST_POWER 1e-10f            /* -100 dB, librosa's amin squared */
#define DB_PER_OCTAVE 3.01029996f        /* 10 log10(2) */
#define TOP_DB 80                        /* range below the maximum */

#if TML_LAYOUT == TML_PAPER
#define DB_UNITS 1.0f
#define DB(row, column) tml_plane[row][column][0]
typedef float sample;
typedef float level_db;
#else
#define DB_UNITS 256.0f                  /* int16 decibels in steps of 1/256: -128 .. +128 dB */
#define DB(row, column) tml_plane[row][column]
typedef int16_t sample;
typedef int16_t level_db;
#endif

#if TML_LAYOUT == TML_PAPER
float tml_plane[TML_BINS][TML_FRAMES][3];
#else
int16_t tml_plane[TML_BINS][TML_FRAMES];
#endif

#if TML_LAYOUT == TML_STREAMED
static sample audio[TML_N_FFT];          /* one window */
static uint32_t filled;                  /* samples in it */
static uint32_t skip;                    /* samples to drop before the next window, if hop > n_fft */
static uint32_t frames;                  /* finished windows */
#else
static sample audio[TML_SAMPLE_RATE];
#endif
static uint32_t received;

static void store_db(uint32_t bin, uint32_t frame, float re, float im)
{
    float power = re * re + im * im;
    if (!(power > SMALLEST_POWER)) {
        power = SMALLEST_POWER;
    }
    float db = DB_PER_OCTAVE * tml_log2f(power) * DB_UNITS;
#if TML_LAYOUT == TML_PAPER
    DB(bin, frame) = db;
#else
    db = db > 32767.0f ? 32767.0f : db;
    DB(bin, frame) = (int16_t)(db < 0.0f ? db - 0.5f : db + 0.5f);
#endif
}

/* Transform the windowed samples in `work` to column `frame` of the spectrogram. */
static void transform(uint32_t frame)
{
    fft();
    /* Two real transforms were packed in one complex: even samples in the real parts, odd ones in the imaginary. */
    store_db(0, frame, work[0] + work[1], 0.0f);
    store_db(HALF, frame, work[0] - work[1], 0.0f);
    for (uint32_t k = 1; k <= QUARTER; k++) {
        float low[2], high[2];
        split(k, low, high);
        store_db(k, frame, low[0], low[1]);
        store_db(HALF - k, frame, high[0], high[1]);
    }
}

void tml_audio_start(void)
{
    received = 0;
#if TML_LAYOUT == TML_STREAMED
    for (uint32_t i = 0; i < HALF; i++) {
        audio[i] = 0; /* the first window is centred on the first sample */
    }
    filled = HALF;
    skip = 0;
    frames = 0;
#endif
}

#if TML_LAYOUT == TML_STREAMED

static void take(int16_t value)
{
    if (frames == TML_FRAMES) {
        return;
    }
    if (skip > 0) {
        skip--;
        return;
    }
    audio[filled++] = value;
    if (filled < TML_N_FFT) {
        return;
    }
    for (uint32_t i = 0; i < TML_N_FFT; i++) {
        work[i] = (float)audio[i] * tml_window[i];
    }
    transform(frames++);
    filled = TML_HOP < TML_N_FFT ? TML_N_FFT - TML_HOP : 0;
    skip = TML_HOP > TML_N_FFT ? TML_HOP - TML_N_FFT : 0;
    for (uint32_t i = 0; i < filled; i++) {
        audio[i] = audio[TML_N_FFT - filled + i];
    }
}

uint32_t tml_audio_push(const int16_t *samples, uint32_t count)
{
    for (uint32_t i = 0; i < count && received < TML_SAMPLE_RATE; i++) {
        take(samples[i]);
        received++;
    }
    return received;
}

static void transform_rest(void)
{
    while (frames < TML_FRAMES) {
        take(0);
    }
}

#else

uint32_t tml_audio_push(const int16_t *samples, uint32_t count)
{
    for (uint32_t i = 0; i < count && received < TML_SAMPLE_RATE; i++) {
#if TML_LAYOUT == TML_PAPER
        audio[received++] = (float)samples[i] * (1.0f / 32768.0f);
#else
        audio[received++] = samples[i];
#endif
    }
    return received;
}

static void transform_rest(void)
{
    while (received < TML_SAMPLE_RATE) {
        audio[received++] = 0;
    }
    for (uint32_t frame = 0; frame < TML_FRAMES; frame++) {
        int32_t first = (int32_t)(frame * TML_HOP) - HALF; /* centred, zeros outside */
        for (int32_t i = 0; i < TML_N_FFT; i++) {
            int32_t at = first + i;
            work[i] = at >= 0 && at < TML_SAMPLE_RATE ? (float)audio[at] * tml_window[i] : 0.0f;
        }
        transform(frame);
    }
}

#endif

/* Decibels to levels 0 .. 255 between the clip's minimum (at most 80 dB down) and its maximum. */
void tml_spectrogram(void)
{
    transform_rest();
    level_db low = DB(0, 0), high = DB(0, 0);
    for (uint32_t row = 0; row < TML_BINS; row++) {
        for (uint32_t column = 0; column < TML_FRAMES; column++) {
            level_db db = DB(row, column);
            low = db < low ? db : low;
            high = db > high ? db : high;
        }
    }
    if (high - low > TOP_DB * (int32_t)DB_UNITS) {
        low = (level_db)(high - TOP_DB * (int32_t)DB_UNITS);
    }
    for (uint32_t row = 0; row < TML_BINS; row++) {
        for (uint32_t column = 0; column < TML_FRAMES; column++) {
            level_db db = DB(row, column);
            uint32_t level = 0; /* also if the clip is constant */
            if (db > low) {
#if TML_LAYOUT == TML_PAPER
                level = (uint32_t)(256.0f * ((db - low) / (high - low)));
#else
                level = 256u * (uint32_t)(db - low) / (uint32_t)(high - low);
#endif
            }
            level = level > 255 ? 255 : level;
#if TML_LAYOUT == TML_PAPER
            for (uint32_t colour = 0; colour < 3; colour++) {
                tml_plane[row][column][colour] = tml_viridis[level][colour];
            }
#else
            tml_plane[row][column] = (int16_t)level;
#endif
        }
    }
}
