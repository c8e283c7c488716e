/* Front end: sound in blocks of any size, words out.
 *
 * config.h has the choice, TML_FRONT_END:
 *     TML_CLIP    the paper's filter on one second of sound after the other, without a word finder
 *     TML_FILTER  the paper's filter on the words of a stream
 *     TML_WORD    cepstra of the word
 *     TML_SPEECH  network trained on speech, in 8 bits
 * All have these two functions. Results do not depend on the sizes of the blocks. Main loop:
 *
 *     tml_reset();
 *     tml_listen();
 *     for (;;) {
 *         uint32_t count = read_microphone(block);
 *         for (uint32_t at = 0; at < count;) {
 *             tml_word word;
 *             at += tml_hear(block + at, count - at, &word);
 *             if (word.x != 0) {
 *                 tml_step step = tml_observe(word.x, label_or_minus_one); (step.unknown: another word)
 *             }
 *         }
 *     }
 */
#ifndef TMLCD_FRONTEND_H
#define TMLCD_FRONTEND_H

#include "tmlcd.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const float *x;  /* TML_FEATURES features of the word that has just ended, until the next call; 0 if none has */
    uint32_t start;  /* its first sample, counted from tml_listen; wraps at 2^32 */
    uint32_t stop;   /* the first sample after it */
    float decibels;  /* its loudest frame above the background; 0 with TML_CLIP */
} tml_word;

/* Start to listen: the stream begins anew. */
void tml_listen(void);

/* Add the next samples of the stream, at TML_SAMPLE_RATE. Returns how many were taken: all of them, or, if a word
 * ended, those up to its end; call again with the rest. Do not call it from an interrupt. */
uint32_t tml_hear(const int16_t *samples, uint32_t count, tml_word *word);

#ifdef __cplusplus
}
#endif

#endif
