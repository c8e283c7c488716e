/* The whole program on a stream of labelled clips or vectors, from any source.
 *
 * Each record is an int32 (the label's code, -1 if unknown) and then, little-endian as the cores are, the clip
 * (TML_SAMPLE_RATE int16) or the vector (TML_FEATURES float). Each gives one line of text: see report.h. */
#ifndef TMLCD_STREAM_H
#define TMLCD_STREAM_H

#include <stdint.h>

typedef uint32_t (*tml_reader)(void *to, uint32_t bytes); /* gives the bytes read; fewer at the end */
typedef void (*tml_writer)(const char *line);

void tml_run_stream(tml_reader read, tml_writer write);

#endif
