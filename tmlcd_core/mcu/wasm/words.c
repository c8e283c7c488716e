/* The firmware that hears words as a WebAssembly module: front end and learner with the settings of an exported model.
 *
 * A page calls words_set and words_grid, then words_hold for each sample of T. It writes samples to words_sound() and
 * calls words_hear; the features of a word that ended stand in words_features(), where words_predict, words_observe and
 * words_teach read them. T holds floats: features on the grid of int16 or uint8 have the same order of distances there. */
#include "cusum.h"
#include "frontend.h"
#include "knn.h"
#include "mathfn.h"

#define BLOCK 4096 /* samples of sound per call */
#define EXPORT(name) __attribute__((export_name(#name))) name

double tml_margin, tml_farthest;
uint32_t tml_keep, tml_named_count;
tml_value tml_named_x[TML_NAMED][TML_FEATURES];
static struct {
    float offset, scale, lowest, highest; /* scale 0: features are stored as they are */
} grid;
static int16_t sound[BLOCK];
static float features[TML_FEATURES], stored[TML_FEATURES];
static struct { /* of the last word, prediction or sample; all of 32 bits */
    uint32_t start, stop;
    float decibels, distance;
    int32_t prediction;
    uint32_t time, size, alarm, change, unknown;
} last;
static double statistic;

int16_t *EXPORT(words_sound)(void) { return sound; }
float *EXPORT(words_features)(void) { return features; }
void *EXPORT(words_last)(void) { return &last; }
double *EXPORT(words_statistic)(void) { return &statistic; }

static tml_store *training_set(void)
{
    return tml_memory(0).bytes;
}

/* Settings of tmlcd.h and the margin of v0; returns 0 if one is out of range. Resets the learner: T is empty. As in a
 * live session, correct answers of the warm-up are stored too. */
uint32_t EXPORT(words_set)(uint32_t learner, uint32_t max_size, uint32_t k, uint32_t by_distance, double threshold,
                           uint32_t batch, uint32_t warmup, uint32_t down, uint32_t condense, double margin)
{
    tml_settings s = {threshold, learner, max_size, k, by_distance, batch, warmup, down, condense};
    tml_margin = margin;
    tml_keep = warmup;
    tml_named_count = 0;
    int known = tml_configure(&s);
    tml_reset();
    tml_listen();
    return (uint32_t)known;
}

/* Grid of T; `farthest` is the squared distance from T in its steps beyond which a word is unknown. */
void EXPORT(words_grid)(float offset, float scale, float lowest, float highest, double farthest)
{
    tml_farthest = farthest;
    grid.offset = offset;
    grid.scale = scale;
    grid.lowest = lowest;
    grid.highest = highest;
}

/* Add `features`, which are on the grid already, to T: a sample of the exported T. */
void EXPORT(words_hold)(int32_t label)
{
    tml_append(training_set(), features, label, 0);
}

/* Add `features`, which are on the grid already, to the named samples: what is near to one is not unknown. */
void EXPORT(words_name)(void)
{
    for (uint32_t i = 0; tml_named_count < TML_NAMED && i < TML_FEATURES; i++) {
        tml_named_x[tml_named_count][i] = features[i];
    }
    tml_named_count += tml_named_count < TML_NAMED;
}

void EXPORT(words_listen)(void)
{
    tml_listen();
}

/* Hear the samples `from` … `to` of the block; returns the first one that was not taken. `last.stop` is 0 if no word
 * has ended. */
uint32_t EXPORT(words_hear)(uint32_t from, uint32_t to)
{
    tml_word word;
    uint32_t taken = from + tml_hear(sound + from, to - from, &word);
    last.start = word.start;
    last.stop = word.stop;
    last.decibels = word.decibels;
    for (uint32_t i = 0; word.x != 0 && i < TML_FEATURES; i++) {
        features[i] = word.x[i];
    }
    return taken;
}

static const float *on_grid(void)
{
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        stored[i] = features[i];
        if (grid.scale > 0.0f) {
            stored[i] = (float)tml_on_grid(features[i], grid.offset, grid.scale, grid.lowest, grid.highest);
        }
    }
    return stored;
}

static double nearer_of(double nearest, const float *x, const tml_value *row)
{
    double sum = 0.0;
    for (uint32_t j = 0; j < TML_FEATURES; j++) {
        double difference = (double)x[j] - (double)row[j];
        sum += difference * difference;
    }
    return nearest < 0.0 || sum < nearest ? sum : nearest;
}

/* Distance to the nearest sample in T or named one, as a share of the limit. */
static float relative_distance(const float *x)
{
    const tml_store *T = training_set();
    double nearest = -1.0;
    for (uint32_t i = 0; i < T->size; i++) {
        nearest = nearer_of(nearest, x, tml_row(T, tml_place(T, i)));
    }
    for (uint32_t i = 0; i < tml_named_count; i++) {
        nearest = nearer_of(nearest, x, tml_named_x[i]);
    }
    return (float)tml_sqrt(nearest / tml_farthest);
}

/* Predict `features` without learning: last.prediction, last.unknown and last.distance. */
void EXPORT(words_predict)(void)
{
    const float *x = on_grid();
    last.prediction = tml_predict(x);
    last.unknown = (uint32_t)tml_is_unknown(training_set(), x);
    last.distance = relative_distance(x);
}

static double largest_sum(const tml_cusum *test)
{
    double best = 0.0;
    for (uint32_t i = 0; i < TML_CANDIDATES; i++) {
        if (test->v0 - tml_candidates[i] >= TML_GAP && test->sum[i] > best) {
            best = test->sum[i];
        }
    }
    return best;
}

/* Test and train on `features`: `last` is the tml_step, the statistic is NaN during the warm-up. */
void EXPORT(words_observe)(int32_t label)
{
    const tml_cusum *test = tml_memory(2).bytes;
    int warming = test->warmup > 0;
    tml_step step = tml_observe(on_grid(), label);
    last.prediction = step.prediction;
    last.time = step.time;
    last.size = step.size;
    last.alarm = step.alarm;
    last.change = step.change;
    last.unknown = step.unknown;
    statistic = warming ? __builtin_nan("") : step.alarm ? largest_sum(test) : test->statistic;
}

/* Store `features` in T without a test. */
void EXPORT(words_teach)(int32_t label)
{
    tml_teach(on_grid(), label);
    last.size = training_set()->size;
}

/* Code of the class of the i-th oldest sample in T, and the time of its arrival. */
uint32_t EXPORT(words_label)(uint32_t i)
{
    return training_set()->label[tml_place(training_set(), i)];
}

uint32_t EXPORT(words_time)(uint32_t i)
{
    return training_set()->time[tml_place(training_set(), i)];
}
