/* Frames of a stream of sound at 16 kHz: output of listen.c, input of filter.c, word.c and speech.c. */
#ifndef TMLCD_LISTEN_H
#define TMLCD_LISTEN_H

#include "finder.h"
#include "model.h"

#define TML_LEAD 3 /* frames that belong to the word before its first and after its last loud frame */
#define TML_TAIL 2

/* Levels of frame t in the bands, in half decibels; of the last TML_RING frames every TML_EVERY-th is kept. */
const uint8_t *tml_mel(uint32_t t);

/* Features of a word, TML_FEATURES floats. */
const float *tml_word_features(const tml_span *word);

#if TML_FRONT_END == TML_WORD
extern float tml_background[TML_MELS];  /* mean power of the background */
#elif TML_FRONT_END == TML_SPEECH
float tml_energy(uint32_t t);           /* sum of squares of TML_HOP samples in the middle of frame t */
#endif

#endif
