/* TML-CD on a microcontroller: predict a class from one second of sound (or a feature vector), and learn.
 *
 * C99, no heap, no libm. All memory is static: `make size` prints the sizes of the memory table.
 * The functions are not reentrant: call them from the main loop only. Interrupts and DMA may fill the buffers that the
 * loop pushes; these must be long enough for the time of tml_extract and tml_observe.
 * Main loop:
 *
 *     tml_reset();
 *     for (;;) {
 *         tml_audio_start();
 *         while (tml_audio_push(samples, read_microphone(samples)) < TML_SAMPLE_RATE) {}
 *         tml_step step = tml_observe(tml_extract(), label_or_minus_one);
 *     }
 */
#ifndef TMLCD_H
#define TMLCD_H

#include <stdint.h>

#include "config.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TML_UNKNOWN (-1) /* no label: predict only */
#define TML_REFUSED (-1) /* prediction for a vector with NaN or infinity: it is not learned and does not advance the time */

typedef struct {
    int32_t prediction; /* code of the class, before learning; its name is tml_class_names[prediction] */
    uint32_t time;      /* 1 for the first sample after the reset; reset again before 2^32, times are compared */
    uint32_t size;      /* |T|, after learning */
    uint32_t alarm;     /* 1 if the CUSUM test raised an alarm at this sample */
    uint32_t change;    /* at an alarm: the estimated time of the first sample of the new concept */
    uint32_t unknown;   /* 1 if x was further than the limit (TML_FARTHEST) from every sample of T, and from the named ones
                           of the export (tml_named_x): no class of them */
} tml_step;

extern const char *const tml_class_names[TML_CLASSES];

/* Settings that may change at run time. tml_exported has those of the exported model. */
typedef struct {
    double threshold;     /* h: the CUSUM test raises an alarm if g >= h */
    uint32_t learner;     /* TML_STATIC, TML_INCREMENTAL, TML_CIT; with TML_TESTS TML_HYBRID; with TML_HISTORY TML_ACTIVE */
    uint32_t max_size;    /* bound of |T|, and of |W|: 1 .. TML_CAPACITY */
    uint32_t k;           /* neighbours; 0: the square root of |T|, rounded up */
    uint32_t by_distance; /* 0: each neighbour has one vote; 1: 1/distance (at most TML_MOST_BY_DISTANCE classes) */
    uint32_t batch;       /* n: samples per batch of the test, 1 .. 65535 */
    uint32_t warmup;      /* xi: samples of its warm-up, 1 .. 65535 */
    uint32_t down;        /* 1: the test looks for drops of the accuracy only */
    uint32_t condense;    /* 1: after an alarm TML_ACTIVE condenses W */
} tml_settings;

#define TML_MOST_BY_DISTANCE 127 /* classes: the votes are on the stack */

extern const tml_settings tml_exported;

/* Settings in use. */
const tml_settings *tml_get_settings(void);

/* Use these settings from the next sample on; returns 1, or 0 and changes nothing if one is out of range. If T or W is
 * larger than the new bound, its oldest samples are removed; if batch, warmup or down change, the test restarts. */
int tml_configure(const tml_settings *settings);

/* Reset: the exported T (its newest max_size samples), CUSUM test in its warm-up, time 0. Settings stay as they are. */
void tml_reset(void);

/* Store a labelled sample in T at the current time, without a prediction and without the test; returns 0 if x is not
 * finite or the label is unknown. */
int tml_teach(const float *x, int32_t label);

/* Time of the last sample. */
uint32_t tml_time(void);

/* Memory of the learner, to read or to store: 0 T (tml_store in knn.h, or Tandem's state), 1 W, 2 the test, 3 the time
 * and the number of labelled samples, 4 the settings; a part that does not exist has size 0. */
typedef struct {
    void *bytes;
    uint32_t size;
} tml_part;

tml_part tml_memory(uint32_t part);

/* Predict x (TML_FEATURES floats); then, if the label is 0 .. TML_CLASSES - 1, learn. Other labels count as unknown. Of
 * the first TML_KEEP labelled samples after the reset, those that were predicted correctly are stored too. */
tml_step tml_observe(const float *x, int32_t label);

/* Predict without learning and without advancing the time. */
int32_t tml_predict(const float *x);

#if TML_TESTS
/* Statistic g of the CUSUM test after its last batch; 0 before the first batch since the reset or the last alarm. The
 * alarm is raised at the threshold. */
double tml_statistic(void);
#endif

#if TML_AUDIO && TML_FRONT_END == TML_CLIP
/* Start a new clip; discards the current one. */
void tml_audio_start(void);

/* Add the next samples of the clip. Do not call it from an interrupt: in the streamed layout it transforms each full
 * window. Returns the number of samples of the clip so far; at TML_SAMPLE_RATE it is complete, and more samples are
 * ignored. */
uint32_t tml_audio_push(const int16_t *samples, uint32_t count);

/* Return the features of the clip, TML_FEATURES floats; missing samples count as silence. Call it once per clip. */
const float *tml_extract(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
