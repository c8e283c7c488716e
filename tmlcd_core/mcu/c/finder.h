/* Word finder for a stream that never ends: the powers of a frame in a few bands go in, words come out. */
#ifndef TMLCD_FINDER_H
#define TMLCD_FINDER_H

#include <stdint.h>

#define TML_FINDER_BANDS 6

typedef struct {
    uint32_t start; /* first and last loud frame, counted from the reset */
    uint32_t stop;
    uint32_t level; /* of the loudest frame above the background, in half decibels */
} tml_span;

enum { TML_NOTHING, TML_ENDED, TML_RESTARTED };

void tml_finder_reset(void);

/* Add the next frame. Returns TML_ENDED if a word ended at it, TML_RESTARTED if a long steady sound is the new
 * background, else TML_NOTHING. */
int tml_find(const float bands[TML_FINDER_BANDS], tml_span *word);

/* Number of quiet frames in a row. */
uint32_t tml_quiet(void);

#endif
