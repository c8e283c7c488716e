/* Spectrogram of the clip: output of spectrogram.c, input of stem.c. */
#ifndef TMLCD_AUDIO_H
#define TMLCD_AUDIO_H

#include "model.h"

#if TML_LAYOUT == TML_PAPER
extern float tml_plane[TML_BINS][TML_FRAMES][3]; /* red, green, blue */
#else
extern int16_t tml_plane[TML_BINS][TML_FRAMES];  /* decibels while the clip is recorded, levels 0 .. 255 after it */
#endif

void tml_spectrogram(void);
void tml_stem(void);

#endif
