/* Front ends TML_WORD, TML_SPEECH and TML_FILTER: sound to frames in bands, and the words in them. */
#include "listen.h"

#include "frontend.h"
#include "fft.h"
#include "mathfn.h"

#define STEPS_PER_OCTAVE 6.02059991f /* half decibels */
#define CENTRE (TML_WINDOW / 2 - TML_HOP / 2)    /* sample of the middle of two windows in a row, in the second */
#define SMEAR ((TML_WINDOW + TML_HOP) / 4)       /* by which they lengthen a word at either end, half of the most */

static int16_t audio[TML_WINDOW];
static uint8_t ring[TML_RING / TML_EVERY][TML_MELS];
static uint32_t filled;  /* samples in the window */
static uint32_t frame;   /* the next frame; in 497 days, when it wraps, one word may be heard wrongly */

const uint8_t *tml_mel(uint32_t t)
{
    return ring[t / TML_EVERY % (TML_RING / TML_EVERY)];
}

#if TML_FRONT_END == TML_WORD

#define SINCE 6      /* the background is that of this frame back, … */
#define QUIET 12     /* … if as many were quiet */
#define SETTLED 32   /* its frames, about */

float tml_background[TML_MELS];
static uint32_t settled;

static void follow_background(void)
{
    if (tml_quiet() < QUIET || frame < SINCE) {
        return;
    }
    settled = settled < SETTLED ? settled + 1 : SETTLED;
    const uint8_t *levels = tml_mel(frame - SINCE);
    for (uint32_t b = 0; b < TML_MELS; b++) {
        tml_background[b] += (tml_power[levels[b]] - tml_background[b]) / (float)settled;
    }
}

static void forget_background(void)
{
    settled = 0;
}

#elif TML_FRONT_END == TML_SPEECH

static float energies[TML_RING];

float tml_energy(uint32_t t)
{
    return energies[t % TML_RING];
}

static void store_energy(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < TML_HOP; i++) {
        int32_t sample = audio[(TML_WINDOW - TML_HOP) / 2 + i];
        sum += (uint32_t)(sample * sample);
    }
    energies[frame % TML_RING] = (float)sum;
}

#endif

void tml_listen(void)
{
    filled = 0;
    frame = 0;
    tml_finder_reset();
#if TML_FRONT_END == TML_WORD
    forget_background();
#endif
}

/* Power of bin k in work[2 * k], 0 < k < HALF. */
static void transform(void)
{
    for (uint32_t i = 0; i < TML_WINDOW; i++) {
        work[i] = (float)audio[i] * tml_window[i];
    }
    for (uint32_t i = TML_WINDOW; i < TML_N_FFT; i++) {
        work[i] = 0.0f;
    }
    fft();
    for (uint32_t k = 1; k <= QUARTER; k++) {
        float low[2], high[2];
        split(k, low, high);
        work[2 * k] = low[0] * low[0] + low[1] * low[1];
        work[2 * (HALF - k)] = high[0] * high[0] + high[1] * high[1];
    }
}

static void store_mel(void)
{
    uint8_t *levels = ring[frame / TML_EVERY % (TML_RING / TML_EVERY)];
    const float *weight = tml_mel_weight;
    for (uint32_t b = 0; b < TML_MELS; b++) {
        float sum = 0.0f;
        for (uint32_t i = 0; i < tml_mel_count[b]; i++) {
            sum += *weight++ * work[2 * (tml_mel_first[b] + i)];
        }
        float level = STEPS_PER_OCTAVE * tml_log2f(sum > 1e-10f ? sum : 1e-10f) + (float)TML_MEL_OFFSET;
        level = level > 0.0f ? level + 0.5f : 0.0f;
        levels[b] = (uint8_t)(level < 255.0f ? level : 255.0f);
    }
}

/* The window is full: returns 1 if a word has ended. */
static int next_frame(tml_span *span)
{
    float bands[TML_FINDER_BANDS];
    transform();
    if (frame % TML_EVERY == 0) {
        store_mel();
    }
    for (uint32_t b = 0; b < TML_FINDER_BANDS; b++) {
        float sum = 0.0f;
        for (uint32_t i = tml_finder_edges[b]; i < tml_finder_edges[b + 1]; i++) {
            sum += work[2 * i];
        }
        bands[b] = sum / (float)(tml_finder_edges[b + 1] - tml_finder_edges[b]);
    }
    int event = tml_find(bands, span);
#if TML_FRONT_END == TML_WORD
    if (event == TML_RESTARTED) {
        forget_background();
    } else {
        follow_background();
    }
#elif TML_FRONT_END == TML_SPEECH
    store_energy();
#endif
    frame++;
    for (uint32_t i = 0; i < TML_WINDOW - TML_HOP; i++) {
        audio[i] = audio[i + TML_HOP];
    }
    filled = TML_WINDOW - TML_HOP;
    return event == TML_ENDED;
}

uint32_t tml_hear(const int16_t *samples, uint32_t count, tml_word *word)
{
    word->x = 0;
    word->start = word->stop = 0;
    word->decibels = 0.0f;
    for (uint32_t taken = 0; taken < count;) {
        audio[filled++] = samples[taken++];
        tml_span span;
        if (filled == TML_WINDOW && next_frame(&span)) {
            word->x = tml_word_features(&span);
            word->start = span.start * TML_HOP + CENTRE + SMEAR;
            word->stop = span.stop * TML_HOP + CENTRE - SMEAR;
            word->decibels = 0.5f * (float)span.level;
            return taken;
        }
    }
    return count;
}
