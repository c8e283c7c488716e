/* The firmware's learners as a WebAssembly module: sizes are set at run time, streams go through in blocks.
 *
 * A page calls tml_open, tml_set, then tml_hold for the initial samples and tml_fit, then tml_run for the stream. The
 * sources are included, so that this file can read the state of the learner for the charts. */
#include "mathfn.c"
#include "knn.c"
#include "cusum.c"
#include "learner.c"
#include "blocks.h"


/* Reserve memory for `capacity` samples of `features` numbers in T and W each; returns 0 if there is too little. */
uint32_t EXPORT(tml_open)(uint32_t features, uint32_t capacity)
{
    uint64_t one = (uint64_t)capacity * features * sizeof(float);
    if (capacity < 1 || capacity > TML_ROOM || !open_memory(features, 2 * one)) {
        return 0;
    }
    tml_capacity = capacity;
    store.x = reserve((uint32_t)one);
    history.x = reserve((uint32_t)one);
    tml_reset();
    return 1;
}

/* Settings of tmlcd.h; returns 0 if one is out of range. */
uint32_t EXPORT(tml_set)(uint32_t learner, uint32_t max_size, uint32_t k, uint32_t by_distance, double threshold,
                         uint32_t batch, uint32_t warmup, uint32_t down, uint32_t condense)
{
    tml_settings s = {threshold, learner, max_size, k, by_distance, batch, warmup, down, condense};
    return (uint32_t)tml_configure(&s);
}

/* Add `count` initial samples of the block. */
void EXPORT(tml_hold)(uint32_t count)
{
    uint32_t bound = tml_current.max_size;
    tml_current.max_size = TML_CAPACITY;
    for (uint32_t i = 0; i < count; i++) {
        tml_append(&history, &rows[i * TML_FEATURES], label[i], 0);
    }
    tml_current.max_size = bound;
}

static void keep(const uint8_t *kept)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < store.size; i++) { /* head is 0 after learn_from_history */
        if (kept[i]) {
            for (uint32_t j = 0; j < TML_FEATURES; j++) {
                store.x[left * TML_FEATURES + j] = store.x[i * TML_FEATURES + j];
            }
            store.label[left] = store.label[i];
            store.time[left++] = 0;
        }
    }
    store.size = (uint16_t)left;
}

/* Cut T to `bound` samples: the newest of each class, then the second newest, ... (cut_evenly in Python). */
static void cut_evenly(uint32_t bound)
{
    static uint8_t kept[TML_ROOM];
    static uint16_t later[TML_ROOM]; /* newer samples of the same class */
    uint32_t count[TML_CLASSES], classes = 0, left = bound;
    for (uint32_t code = 0; code < TML_CLASSES; code++) {
        count[code] = 0;
    }
    for (uint32_t i = store.size; i-- > 0;) {
        kept[i] = 0;
        classes += count[store.label[i]] == 0;
        later[i] = (uint16_t)count[store.label[i]]++;
    }
    for (uint32_t round = 0; left > 0; round++) {
        for (uint32_t i = store.size; i-- > 0 && left > 0;) {
            if (bound < classes ? round == 0 : later[i] == round) {
                kept[i] = 1;
                left--;
            }
        }
    }
    keep(kept);
}

/* Make T of the samples held: condensed if `condense`, then cut to `bound`, evenly or (0) to the newest. Start anew. */
void EXPORT(tml_fit)(uint32_t condense, uint32_t bound, uint32_t evenly)
{
    const tml_settings wanted = tml_current;
    tml_current.max_size = TML_CAPACITY;
    tml_current.condense = condense;
    store.head = 0;
    learn_from_history();
    tml_current = wanted;
    if (store.size > bound && evenly) {
        cut_evenly(bound);
    } else if (store.size > bound) {
        tml_drop(&store, store.size - bound);
    }
    history.head = 0;
    history.size = 0;
    tml_cusum_reset(&test, tml_current.warmup);
    counts.now = 0;
}

/* T: its size; features, code of the class and time of the i-th oldest sample. */
uint32_t EXPORT(tml_stored)(void) { return store.size; }
const float *EXPORT(tml_stored_row)(uint32_t i) { return tml_row(&store, tml_place(&store, i)); }
uint32_t EXPORT(tml_stored_label)(uint32_t i) { return store.label[tml_place(&store, i)]; }
uint32_t EXPORT(tml_stored_time)(uint32_t i) { return store.time[tml_place(&store, i)]; }
