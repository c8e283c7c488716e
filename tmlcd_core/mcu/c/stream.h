/* Run the learner over a stream of labelled clips or vectors, read by a function.
 *
 * Each record is an int32 (the label's code, -1 if unknown), then the clip (TML_SAMPLE_RATE int16) or the vector
 * (TML_FEATURES float), all little-endian. For each record a line of text is written: see report.h.
 * A front end that hears words has records of a label, a uint32 (number of samples) and the samples (int16), which
 * follow each other in one stream of sound: a line is written for each word that ends in a record. */
#ifndef TMLCD_STREAM_H
#define TMLCD_STREAM_H

#include <stdint.h>

typedef uint32_t (*tml_reader)(void *to, uint32_t bytes); /* returns the number of bytes read; fewer at the end */
typedef void (*tml_writer)(const char *line);

void tml_run_stream(tml_reader read, tml_writer write);

#endif
