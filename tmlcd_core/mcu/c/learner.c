/* Test-then-train: Condensing-in-Time, the CUSUM test, and the adaptation after an alarm. */
#include "knn.h"
#if TML_TESTS
#include "cusum.h"
#endif

#define FEWEST_LEFT 5 /* an alarm that would leave fewer samples does not change T */

static tml_store store; /* T */
#if TML_LEARNER == TML_ACTIVE
static tml_store history; /* W: the last samples, stored in T or not */
#endif
#if TML_TESTS
static tml_cusum test;
#endif
static uint32_t now; /* 32 bits: 136 years at one sample per second */

void tml_reset(void)
{
    store.head = 0;
    store.size = 0;
    for (uint32_t i = 0; i < TML_INITIAL; i++) {
        tml_append(&store, tml_initial_x[i], tml_initial_label[i], 0);
    }
#if TML_LEARNER == TML_ACTIVE
    history.head = 0;
    history.size = 0;
#endif
#if TML_TESTS
    tml_cusum_reset(&test, TML_WARMUP);
#endif
    now = 0;
}

static int is_finite(const float *x)
{
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        if (!(x[i] - x[i] == 0.0f)) { /* infinity and NaN give NaN */
            return 0;
        }
    }
    return 1;
}

int32_t tml_predict(const float *x)
{
    return is_finite(x) ? tml_vote(&store, tml_quantise(x)) : TML_REFUSED;
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
    queue->head = (uint16_t)tml_place(queue, old);
    queue->size = (uint16_t)(queue->size - old);
    return 1;
}

#endif

#if TML_LEARNER == TML_ACTIVE

static void add_from_history(uint32_t i)
{
    uint32_t place = tml_place(&history, i);
    tml_append(&store, history.x[place], history.label[place], history.time[place]);
}

/* Replace T by W condensed with Hart's algorithm: keep the first sample and each one that the kNN over the kept samples
 * misclassifies, until a pass adds none. */
static void learn_from_history(void)
{
    static uint8_t kept[TML_CAPACITY];
    store.size = 0;
    for (uint32_t i = 0; i < history.size; i++) {
        kept[i] = i == 0 || !TML_CONDENSE;
    }
    add_from_history(0);
    for (uint32_t before = 0; TML_CONDENSE && store.size > before;) {
        before = store.size;
        for (uint32_t i = 0; i < history.size; i++) {
            uint32_t place = tml_place(&history, i);
            if (!kept[i] && tml_vote(&store, history.x[place]) != history.label[place]) {
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

/* Adaptation to a change. */
#if TML_TESTS
static void adapt(uint32_t change)
{
#if TML_LEARNER == TML_ACTIVE
    if (drop_older(&history, change)) {
        learn_from_history();
    }
#else
    drop_older(&store, change);
#endif
}
#endif

tml_step tml_observe(const float *x, int32_t label)
{
    tml_step step = {TML_REFUSED, now, store.size, 0, 0};
    if (!is_finite(x)) {
        return step;
    }
    const tml_value *query = tml_quantise(x);
    step.time = ++now;
    step.prediction = tml_vote(&store, query);
#if TML_LEARNER != TML_STATIC
    if (label >= 0 && label < TML_CLASSES) {
#if TML_LEARNER == TML_ACTIVE
        tml_append(&history, query, label, now);
#else
        if (step.prediction != label || TML_LEARNER == TML_INCREMENTAL) {
            tml_append(&store, query, label, now);
        }
#endif
#if TML_TESTS
        step.change = tml_cusum_add(&test, step.prediction == label, now);
        if (step.change > 0) {
            step.alarm = 1;
            adapt(step.change);
            tml_cusum_reset(&test, TML_BATCH);
        }
#endif
    }
#else
    (void)label;
#endif
    step.size = store.size;
    return step;
}
