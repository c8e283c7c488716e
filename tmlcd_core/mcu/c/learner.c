/* Test-then-train: Condensing-in-Time, the CUSUM test, and the adaptation after an alarm. */
#include "knn.h"
#include "mathfn.h"
#if TML_TESTS
#include "cusum.h"
#endif

#define FEWEST_LEFT 5 /* an alarm that would leave fewer samples does not change T */
#define LONGEST 65535 /* batch and warm-up are counted in 16 bits */

const tml_settings tml_exported = TML_SETTINGS;
tml_settings tml_current = TML_SETTINGS;

static tml_store store; /* T */
#if TML_HISTORY
static tml_store history; /* W: the last samples, stored in T or not */
#endif
#if TML_TESTS
static tml_cusum test;
#endif
static struct {
    uint32_t now;      /* 32 bits: 136 years at one sample per second */
    uint32_t labelled; /* samples with a label since the reset */
} counts;

void tml_reset(void)
{
    store.head = 0;
    store.size = 0;
#if TML_INITIAL > 0
    for (uint32_t i = 0; i < TML_INITIAL; i++) {
        tml_append(&store, tml_initial_x[i], tml_initial_label[i], 0);
    }
#endif
#if TML_HISTORY
    history.head = 0;
    history.size = 0;
#endif
#if TML_TESTS
    tml_cusum_reset(&test, tml_current.warmup);
#endif
    counts.now = 0;
    counts.labelled = 0;
}

uint32_t tml_time(void)
{
    return counts.now;
}

tml_part tml_memory(uint32_t part)
{
    tml_part found = {0, 0};
    if (part == 0) {
        found = (tml_part){&store, sizeof store};
    } else if (part == 3) {
        found = (tml_part){&counts, sizeof counts};
    } else if (part == 4) {
        found = (tml_part){&tml_current, sizeof tml_current};
    }
#if TML_HISTORY
    if (part == 1) {
        found = (tml_part){&history, sizeof history};
    }
#endif
#if TML_TESTS
    if (part == 2) {
        found = (tml_part){&test, sizeof test};
    }
#endif
    return found;
}

const tml_settings *tml_get_settings(void)
{
    return &tml_current;
}

static int is_known(uint32_t learner)
{
    return learner == TML_STATIC || learner == TML_INCREMENTAL || learner == TML_CIT ||
           (TML_TESTS && learner == TML_HYBRID) || (TML_HISTORY && learner == TML_ACTIVE);
}

static void trim(tml_store *queue)
{
    if (queue->size > tml_current.max_size) {
        tml_drop(queue, queue->size - tml_current.max_size);
    }
}

int tml_configure(const tml_settings *settings)
{
    const tml_settings s = *settings;
    if (!is_known(s.learner) || s.max_size < 1 || s.max_size > TML_CAPACITY || s.by_distance > 1 || s.down > 1 ||
        s.condense > 1 || (s.by_distance && TML_CLASSES > TML_MOST_BY_DISTANCE) || s.batch < 1 || s.batch > LONGEST ||
        s.warmup < 1 || s.warmup > LONGEST || !(s.threshold >= 0.0)) {
        return 0;
    }
#if TML_TESTS
    int restart = s.batch != tml_current.batch || s.warmup != tml_current.warmup || s.down != tml_current.down;
#endif
    tml_current = s;
#if TML_TESTS
    if (restart) {
        tml_cusum_reset(&test, tml_current.warmup);
    }
#endif
    trim(&store);
#if TML_HISTORY
    trim(&history);
#endif
    return 1;
}

int32_t tml_predict(const float *x)
{
    return tml_is_finite(x, TML_FEATURES) ? tml_vote(&store, tml_quantise(x)) : TML_REFUSED;
}

/* Store a labelled sample in T, and in W. */
static void hold(const tml_value *sample, int32_t label)
{
    tml_append(&store, sample, label, counts.now);
#if TML_HISTORY
    if (tml_current.learner == TML_ACTIVE) {
        tml_append(&history, sample, label, counts.now);
    }
#endif
}

int tml_teach(const float *x, int32_t label)
{
    if (label < 0 || label >= TML_CLASSES || !tml_is_finite(x, TML_FEATURES)) {
        return 0;
    }
    hold(tml_quantise(x), label);
    return 1;
}

#if TML_TESTS

double tml_statistic(void)
{
    return test.statistic;
}

/* Remove the samples older than `change`; returns 0 and removes none if too few would remain. */
static int drop_older(tml_store *queue, uint32_t change)
{
    uint32_t old = 0;
    while (old < queue->size && queue->time[tml_place(queue, old)] < change) {
        old++;
    }
    if (queue->size - old < FEWEST_LEFT) {
        return 0;
    }
    tml_drop(queue, old);
    return 1;
}

#endif

#if TML_HISTORY

static void add_from_history(uint32_t i)
{
    uint32_t place = tml_place(&history, i);
    tml_append(&store, tml_row(&history, place), history.label[place], history.time[place]);
}

/* Replace T by W condensed with Hart's algorithm: keep the first sample and each one that the kNN over the kept samples
 * misclassifies, until a pass adds none. */
static void learn_from_history(void)
{
    static uint8_t kept[TML_ROOM];
    store.size = 0;
    for (uint32_t i = 0; i < history.size; i++) {
        kept[i] = i == 0 || !tml_current.condense;
    }
    add_from_history(0);
    for (uint32_t before = 0; tml_current.condense && store.size > before;) {
        before = store.size;
        for (uint32_t i = 0; i < history.size; i++) {
            uint32_t place = tml_place(&history, i);
            if (!kept[i] && tml_vote(&store, tml_row(&history, place)) != history.label[place]) {
                kept[i] = 1;
                add_from_history(i);
            }
        }
    }
    store.size = 0;
    for (uint32_t i = 0; i < history.size; i++) { /* again, in the order of time */
        if (kept[i]) {
            add_from_history(i);
        }
    }
}

#endif

#if TML_TESTS

/* Adaptation to a change. */
static void adapt(uint32_t change)
{
#if TML_HISTORY
    if (tml_current.learner == TML_ACTIVE) {
        if (drop_older(&history, change)) {
            learn_from_history();
        }
        return;
    }
#endif
    drop_older(&store, change);
}

#endif

/* Learn a labelled sample. */
static void learn(const tml_value *sample, int32_t label, tml_step *step)
{
    const uint32_t learner = tml_current.learner;
    counts.labelled++;
    if (learner == TML_INCREMENTAL || (step->prediction != label && (learner == TML_CIT || learner == TML_HYBRID))) {
        tml_append(&store, sample, label, counts.now);
    }
#if TML_HISTORY
    if (learner == TML_ACTIVE) {
        tml_append(&history, sample, label, counts.now);
    }
#endif
#if TML_TESTS
    if (learner == TML_HYBRID || learner == TML_ACTIVE) {
        step->change = tml_cusum_add(&test, step->prediction == label, counts.now);
        if (step->change > 0) {
            step->alarm = 1;
            adapt(step->change);
            tml_cusum_reset(&test, tml_current.batch);
        }
    }
#endif
    if (step->prediction == label && counts.labelled <= TML_KEEP && learner != TML_INCREMENTAL) {
        hold(sample, label);
    }
}

tml_step tml_observe(const float *x, int32_t label)
{
    tml_step step = {TML_REFUSED, counts.now, store.size, 0, 0, 0};
    if (!tml_is_finite(x, TML_FEATURES)) {
        return step;
    }
    const tml_value *query = tml_quantise(x);
    step.time = ++counts.now;
    step.prediction = tml_vote(&store, query);
#if TML_LIMITED
    step.unknown = (uint32_t)tml_is_unknown(&store, query);
#endif
    if (label >= 0 && label < TML_CLASSES && tml_current.learner != TML_STATIC) {
        learn(query, label, &step);
    }
    step.size = store.size;
    return step;
}
