/* kNN classifier: T as a queue of labelled samples, oldest first, and the vote of the nearest. */
#ifndef TMLCD_KNN_H
#define TMLCD_KNN_H

#include "model.h"

typedef struct {
    uint32_t time[TML_ROOM];
#if TML_SIZED_LATER
    tml_value *x;
#else
    tml_value x[TML_CAPACITY * TML_FEATURES];
#endif
    tml_label label[TML_ROOM];
    uint16_t head; /* index of the oldest */
    uint16_t size;
} tml_store;

/* Return x in the data type of T; valid until the next call. */
const tml_value *tml_quantise(const float *x);

/* Return the code of the class with the most votes of the k nearest samples in T; T must not be empty. */
int32_t tml_vote(const tml_store *store, const tml_value *query);

#if TML_LIMITED
/* 1 if the query of the last tml_vote is further than the limit from every sample of T and of tml_named_x: an unknown
 * class. */
int tml_is_unknown(const tml_store *store, const tml_value *query);
#endif

/* Append to the queue; if it holds max_size samples, the oldest is removed. */
void tml_append(tml_store *store, const tml_value *x, int32_t label, uint32_t time);

/* Remove the oldest `count` samples. */
void tml_drop(tml_store *store, uint32_t count);

/* Features of the sample with this array index. */
static inline const tml_value *tml_row(const tml_store *store, uint32_t place)
{
    return &store->x[place * TML_FEATURES];
}

/* Feature x as an integer of T, lowest .. highest. */
static inline int32_t tml_on_grid(float x, float offset, float scale, float lowest, float highest)
{
    float value = (x - offset) * scale;
    if (!(value > lowest)) {
        value = lowest;
    }
    if (value > highest) {
        value = highest;
    }
    return (int32_t)(value < 0.0f ? value - 0.5f : value + 0.5f);
}

/* Array index of the i-th oldest sample. */
uint32_t tml_place(const tml_store *store, uint32_t i);

#endif
