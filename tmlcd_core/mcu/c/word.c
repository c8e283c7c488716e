/* Features of TML_WORD: cepstra of the word after background subtraction, smoothed, at 16 points in time. */
#include "listen.h"

#include "mathfn.h"

#define COUNT 12                 /* cepstra */
#define MOMENTS 16
#define SIDE 3                   /* frames before and after one over which it is smoothed */
#define MOST (TML_LONGEST + TML_LEAD + TML_TAIL)
#define DB_PER_OCTAVE 3.01029996f
#define RANGE_DB 30.0f           /* below the word's maximum: lower levels count as background */
#define RESIDUE 0.1f             /* share of the background that remains at least after its subtraction */

static float track[MOST][COUNT]; /* cepstra by frame */
static float steps[MOST];        /* lengths of the steps between them */
static float features[MOMENTS * COUNT];

static float clean(const uint8_t *levels, uint32_t band)
{
    float least = RESIDUE * tml_background[band], power = tml_power[levels[band]] - tml_background[band];
    power = power > least ? power : least;
    return power > 1e-10f ? power : 1e-10f;
}

static void find_cepstra(uint32_t first, uint32_t count)
{
    float largest = 1e-10f;
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t b = 0; b < TML_MELS; b++) {
            float power = clean(tml_mel(first + t), b);
            largest = power > largest ? power : largest;
        }
    }
    float top = DB_PER_OCTAVE * tml_log2f(largest);
    for (uint32_t t = 0; t < count; t++) {
        float decibels[TML_MELS];
        for (uint32_t b = 0; b < TML_MELS; b++) {
            float below = DB_PER_OCTAVE * tml_log2f(clean(tml_mel(first + t), b)) - top;
            decibels[b] = below > -RANGE_DB ? below : -RANGE_DB;
        }
        for (uint32_t c = 0; c < COUNT; c++) {
            float sum = 0.0f;
            for (uint32_t b = 0; b < TML_MELS; b++) {
                sum += tml_cosine[c][b] * decibels[b];
            }
            track[t][c] = sum;
        }
    }
}

static void smooth(uint32_t count)
{
    float before[SIDE + 1][COUNT]; /* the last frames as they were */
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t c = 0; c < COUNT; c++) {
            before[t % (SIDE + 1)][c] = track[t][c];
            float sum = tml_smoothing[0] * track[t][c];
            for (uint32_t i = 1; i <= SIDE; i++) {
                uint32_t earlier = t > i ? t - i : 0, later = t + i < count ? t + i : count - 1;
                float next = later > t ? track[later][c] : before[t % (SIDE + 1)][c];
                sum += tml_smoothing[i] * (before[earlier % (SIDE + 1)][c] + next);
            }
            track[t][c] = sum;
        }
    }
}

/* Lengths of the steps: half of each is time, half is change. Returns their sum. */
static float measure_steps(uint32_t count)
{
    float length = 0.0f, whole = 0.0f, even = 0.5f / (float)(count - 1);
    for (uint32_t t = 0; t + 1 < count; t++) {
        float sum = 0.0f;
        for (uint32_t c = 0; c < COUNT; c++) {
            float difference = track[t + 1][c] - track[t][c];
            sum += difference * difference;
        }
        steps[t] = (float)tml_sqrt((double)sum);
        length += steps[t];
    }
    for (uint32_t t = 0; t + 1 < count; t++) {
        steps[t] = even + (length > 0.0f ? 0.5f * (steps[t] / length) : even);
        whole += steps[t];
    }
    return whole;
}

const float *tml_word_features(const tml_span *word)
{
    uint32_t first = word->start > TML_LEAD ? word->start - TML_LEAD : 0, count = word->stop + TML_TAIL + 1 - first;
    find_cepstra(first, count);
    smooth(count);
    float whole = measure_steps(count), passed = 0.0f;
    for (uint32_t m = 0, at = 0; m < MOMENTS; m++) {
        float place = whole * ((float)m / (float)(MOMENTS - 1));
        while (at + 2 < count && passed + steps[at] < place) {
            passed += steps[at++];
        }
        float share = (place - passed) / steps[at];
        share = share > 0.0f ? share : 0.0f;
        share = share < 1.0f ? share : 1.0f;
        for (uint32_t c = 0; c < COUNT; c++) {
            features[m * COUNT + c] = (1.0f - share) * track[at][c] + share * track[at + 1][c];
        }
    }
    return features;
}
