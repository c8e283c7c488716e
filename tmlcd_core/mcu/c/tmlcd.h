/* TML-CD on a microcontroller: predict a class from one second of sound (or a feature vector), and learn.
 *
 * C99, no heap, no libm. All memory is static: `make size` prints the sizes of the memory table.
 * Nothing here may interrupt anything else here: call it all from the main loop, and let interrupts and DMA only fill
 * the buffers that the loop pushes, long enough for the time that tml_extract and tml_observe take.
 * A loop on the device:
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
#define TML_REFUSED (-1) /* prediction for a vector with NaN or infinity; not learned, the time stays */

typedef struct {
    int32_t prediction; /* code of the class, before learning; its name is tml_class_names[prediction] */
    uint32_t time;      /* 1 for the first sample after the reset; reset again before 2^32, times are compared */
    uint32_t size;      /* |T|, after learning */
    uint32_t alarm;     /* 1 if the change test fired at this sample */
    uint32_t change;    /* if so: the time of the first sample of the new concept, as estimated now */
} tml_step;

extern const char *const tml_class_names[TML_CLASSES];

/* Reset: T as exported, the warm-up of the change test, time 0. */
void tml_reset(void);

/* Predict x (TML_FEATURES floats); then, if the label is 0 .. TML_CLASSES - 1, learn. Other labels count as unknown. */
tml_step tml_observe(const float *x, int32_t label);

/* Predict without learning and without advancing the time. */
int32_t tml_predict(const float *x);

#if TML_TESTS
/* g of the change test after its last batch, 0 while there is none since the reset or the last alarm; the alarm is
 * raised at TML_THRESHOLD. */
double tml_statistic(void);
#endif

#if TML_AUDIO
/* Start a new clip; discards the current one. */
void tml_audio_start(void);

/* The next samples of the clip, as they come from the converter; not from an interrupt, for in the streamed layout a
 * full window is transformed in this call. Returns the number of samples of the clip:
 * complete at TML_SAMPLE_RATE; what comes after that is ignored. */
uint32_t tml_audio_push(const int16_t *samples, uint32_t count);

/* The features of the clip (what is missing of the second counts as silence), once per clip. */
const float *tml_extract(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
