/* The firmware's Tandem as a WebAssembly module: sizes are set at run time, streams go through in blocks.
 *
 * A page calls tml_open, tml_set, then tml_hold for all initial samples, tml_fit, tml_learn for the same samples again,
 * and tml_run for the stream. Unlike on a board, a class that appears later gets its memory from the ring. */
#include "mathfn.c"
#include "cusum.c"
#include "tandem.c"
#include "blocks.h"

#define SCALARS (4 * (EXPERTS + 5)) /* bytes of evidence, scale and counts */
#define FEWEST_ROWS 16

float *tml_mean, tml_low, tml_levels;
static double *total, budget;  /* sums of the initial samples; bytes */
static float highest;
static uint32_t held;          /* initial samples */
static uint8_t *other_rows;    /* a second ring, to make room for a class */
static uint32_t too_small;     /* 1 if the budget has no room for a class that appeared */

/* Bytes of a Tandem of so many features, classes and rows. */
double EXPORT(tml_needed)(uint32_t features, uint32_t classes, uint32_t count)
{
    double d = features, n = classes;
    return 4 * d + LAYERS * n * (d + 1) * 4 + 4 * n * n + count * (d + 2) + SCALARS;
}

static uint32_t rows_for(uint32_t features, uint32_t classes)
{
    double left = budget - tml_needed(features, classes, 0);
    return left < FEWEST_ROWS * (features + 2.0) ? 0 : (uint32_t)(left / (features + 2.0));
}

/* Reserve memory for a budget in bytes; returns 0 if there is too little. */
uint32_t EXPORT(tml_open)(uint32_t features, double bytes, uint32_t classes)
{
    budget = bytes;
    uint32_t count = rows_for(features, classes);
    uint64_t layers = (uint64_t)LAYERS * TML_CLASSES * features * sizeof(float), ring = (uint64_t)count * features;
    uint64_t vectors = (uint64_t)features * (sizeof(double) + sizeof(float) + 1);
    if (count < FEWEST_ROWS || count > TML_ROOM || !open_memory(features, layers + 2 * ring + vectors)) {
        return 0;
    }
    tml_capacity = count;
    total = reserve(features * sizeof(double));
    state.weights = reserve((uint32_t)layers);
    state.rows = reserve((uint32_t)ring);
    other_rows = reserve((uint32_t)ring);
    tml_mean = reserve(features * sizeof(float));
    coded = reserve(features);
    for (uint32_t i = 0; i < features; i++) {
        total[i] = 0.0;
    }
    held = 0;
    too_small = 0;
    return 1;
}

/* Settings of the test; returns 0 if one is out of range. Resets the learner. */
uint32_t EXPORT(tml_set)(double threshold, uint32_t batch, uint32_t warmup)
{
    tml_settings s = {threshold, TML_TANDEM, TML_CAPACITY, 0, 0, batch, warmup, 1, 0};
    int known = tml_configure(&s);
    tml_reset();
    return (uint32_t)known;
}

/* Count `count` initial samples of the block in the mean and in the range of the features. */
void EXPORT(tml_hold)(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < TML_FEATURES; j++) {
            float value = rows[i * TML_FEATURES + j];
            tml_low = held + i + j == 0 || value < tml_low ? value : tml_low;
            highest = held + i + j == 0 || value > highest ? value : highest;
            total[j] += (double)value;
        }
    }
    held += count;
}

/* The samples held have these classes, in the order of their codes in `label`. */
void EXPORT(tml_fit)(uint32_t classes)
{
    double span = (double)highest - (double)tml_low;
    tml_levels = span * (double)LARGEST > 255.0 ? (float)(255.0 / span) : 0.0f;
    for (uint32_t j = 0; j < TML_FEATURES; j++) {
        tml_mean[j] = (float)(total[j] / held);
    }
    for (uint32_t c = 0; c < classes; c++) {
        state.codes[c] = (uint8_t)label[c];
    }
    state.seen = classes;
}

/* Learn `count` initial samples of the block. */
void EXPORT(tml_learn)(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        tml_teach(&rows[i * TML_FEATURES], label[i]);
    }
}

/* 1 if a class appeared for which the budget has no room: the run is not valid. */
uint32_t EXPORT(tml_failed)(void) { return too_small; }

static void make_room(uint32_t classes)
{
    static uint16_t labels[TML_ROOM];
    uint32_t count = rows_for(TML_FEATURES, classes);
    if (count < FEWEST_ROWS) {
        too_small = 1;
        return;
    }
    uint32_t kept = state.size < count ? state.size : count, oldest = state.size - kept;
    for (uint32_t r = 0; r < kept; r++) {
        uint32_t place = place_of(oldest + r);
        for (uint32_t i = 0; i < TML_FEATURES; i++) {
            other_rows[r * TML_FEATURES + i] = row_at(place)[i];
        }
        labels[r] = state.labels[place];
    }
    for (uint32_t r = 0; r < kept; r++) {
        state.labels[r] = labels[r];
    }
    uint8_t *before = state.rows;
    state.rows = other_rows;
    other_rows = before;
    state.head = 0;
    state.size = kept;
    tml_capacity = tml_current.max_size = count;
}
