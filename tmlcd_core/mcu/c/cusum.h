/* The generalized CUSUM test on the learner's accuracy: constant memory, a few steps per batch. */
#ifndef TMLCD_CUSUM_H
#define TMLCD_CUSUM_H

#include "model.h"

typedef struct {
    double sum[TML_CANDIDATES];      /* G of each candidate accuracy v1 */
    uint32_t start[TML_CANDIDATES];  /* time of the first sample of the batch at which it last restarted */
    double v0;                       /* accuracy before the change */
    double statistic;                /* g: the largest G after the last batch */
    uint32_t batch_start;            /* time of the first sample of the batch that is being filled */
    uint16_t seen;                   /* samples of it */
    uint16_t correct;                /* those that were classified correctly */
    uint16_t warmup;                 /* samples v0 is estimated on; 0 once it is */
    uint16_t started;                /* 1 once the sums hold something */
} tml_cusum;

/* Start again: estimate v0 on the next `warmup` samples. */
void tml_cusum_reset(tml_cusum *test, uint32_t warmup);

/* One classified sample. Gives the estimated time of the change if the alarm is raised, else 0. */
uint32_t tml_cusum_add(tml_cusum *test, int correct, uint32_t time);

#endif
