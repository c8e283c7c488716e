/* The generalized CUSUM test on the learner's accuracy: constant memory, a few steps per batch. */
#ifndef TMLCD_CUSUM_H
#define TMLCD_CUSUM_H

#include "model.h"

typedef struct {
    double sum[TML_CANDIDATES];      /* G of each candidate accuracy v1 */
    uint32_t start[TML_CANDIDATES];  /* time of the first sample of the batch at which it last restarted */
    double v0;                       /* accuracy before the change */
    double statistic;                /* g: the largest G after the last batch */
    uint32_t batch_start;            /* time of the first sample of the current batch */
    uint16_t seen;                   /* samples in it */
    uint16_t correct;                /* those that were classified correctly */
    uint16_t warmup;                 /* samples used to estimate v0; 0 afterwards */
    uint16_t started;                /* 1 after the first batch */
} tml_cusum;

/* Restart: estimate v0 on the next `warmup` samples. */
void tml_cusum_reset(tml_cusum *test, uint32_t warmup);

/* One classified sample. Returns the estimated time of the change at an alarm, else 0. */
uint32_t tml_cusum_add(tml_cusum *test, int correct, uint32_t time);

#endif
