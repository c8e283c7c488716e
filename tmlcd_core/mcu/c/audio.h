/* Spectrogram: output of spectrogram.c (of a clip) or filter.c (of a word), input of stem.c. */
#ifndef TMLCD_AUDIO_H
#define TMLCD_AUDIO_H

#include "model.h"

#if TML_FRONT_END == TML_FILTER
typedef uint8_t tml_level;
extern uint8_t tml_plane[TML_BINS][TML_FRAMES];  /* levels 0 .. 255 */
#elif TML_LAYOUT == TML_PAPER
extern float tml_plane[TML_BINS][TML_FRAMES][3]; /* red, green, blue */
#else
typedef int16_t tml_level;
extern int16_t tml_plane[TML_BINS][TML_FRAMES];  /* decibels while the clip is recorded, levels 0 .. 255 after it */
#endif

void tml_spectrogram(void);
void tml_stem(void);

#if TML_FRONT_END == TML_FILTER
const float *tml_plane_features(void); /* of the plane, TML_FEATURES floats */
#endif

#endif
