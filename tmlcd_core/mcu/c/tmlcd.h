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
} tml_step;

extern const char *const tml_class_names[TML_CLASSES];

/* Reset: T as exported, CUSUM test in its warm-up, time 0. */
void tml_reset(void);

/* Predict x (TML_FEATURES floats); then, if the label is 0 .. TML_CLASSES - 1, learn. Other labels count as unknown. */
tml_step tml_observe(const float *x, int32_t label);

/* Predict without learning and without advancing the time. */
int32_t tml_predict(const float *x);

#if TML_TESTS
/* Statistic g of the CUSUM test after its last batch; 0 before the first batch since the reset or the last alarm. The
 * alarm is raised at TML_THRESHOLD. */
double tml_statistic(void);
#endif

#if TML_AUDIO
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
