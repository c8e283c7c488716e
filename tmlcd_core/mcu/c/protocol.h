/* Serial protocol: requests of a computer, answers of the board.
 *
 * A frame is COBS(type, sequence, payload, CRC-16) and a zero byte. COBS replaces all zeros, so that after noise the next
 * zero is the start of the next frame. The CRC is CRC-16/CCITT-FALSE over type, sequence and payload; all numbers are
 * little-endian. The payload has at most TML_PAYLOAD bytes. An answer has the request's sequence number. A frame that is
 * damaged is ignored: the computer repeats its request with the same number after a while, and the board repeats the
 * answer without doing the work again. A sequence number of 0 is never repeated.
 *
 *   request                                  answer
 *   i  hello                                 I  version, learner, type of T, front end (4 x u8), features, classes,
 *                                               capacity, payload (4 x u16), sample rate, model, clock in Hz, time
 *                                               (4 x u32), name of the board (text). Sent unasked at the start, as 0.
 *   n  class (u16)                           N  its name (text)
 *   s  settings?                             S  tml_settings
 *   c  tml_settings                          C  1 if they are used, 0 if out of range (u8)
 *   r  reset                                 R
 *   x  place (u16), features (float)         X  place after the last (u16)
 *   a  sound (int16)                         A  samples taken (u16), 1 if a word has ended (u8), first sample and first
 *                                               after it (2 x u32), decibels (float), prediction (i32)
 *   f  place (u16)                           F  place (u16), features of the current sample from there on
 *   p  predict                               P  prediction (i32)
 *   o  label (i32, -1 unknown)               O  prediction (i32), time, |T|, alarm, change, unknown, cycles, stack
 *                                               (7 x u32), statistic g (double)
 *   t  label (i32)                           T  1 if it is stored (u8)
 *   m  part (u8), place (u32)                M  size of the part, place (2 x u32), its bytes from there on; see
 *                                               tml_memory, and 16: scale of T (2 x float), 17: Tandem's mean,
 *                                               18: gap, margin, logarithm of the test (3 x double),
 *                                               19: limit of unknown classes (double; see tml_step),
 *                                               20: TML_KEEP (u32; see tml_observe), 21: tml_named_x
 *   (none: a microphone has heard a word)    W  first sample and first after it (2 x u32), decibels (float), prediction
 *                                               (i32); sequence 0. It is the current sample for p, o, t and f.
 *   any other, or a wrong length             E  request (u8), reason (u8): 1 unknown, 2 length, 3 no sample
 */
#ifndef TMLCD_PROTOCOL_H
#define TMLCD_PROTOCOL_H

#include "tmlcd.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TML_PROTOCOL_VERSION 2
#define TML_PAYLOAD 240

/* Start: sends the answer to a hello, so that the computer knows that the board listens. */
void tml_link_start(void);

/* One byte of the serial line. */
void tml_link_byte(uint8_t byte);

/* Sound of the board's own microphone, int16 at TML_SAMPLE_RATE: a word that ends in it is sent unasked. */
void tml_link_hear(const int16_t *samples, uint32_t count);

/* What the board has to provide. */
void board_send(const uint8_t *bytes, uint32_t count);
void board_measure(void);          /* start to count cycles */
uint32_t board_cycles(void);       /* cycles since then; 0 if unknown */
uint32_t board_stack(void);        /* deepest use of the stack so far, in bytes; 0 if unknown */
uint32_t board_clock(void);        /* clock of the core in Hz */
const char *board_name(void);
void board_learned(const float *x, int32_t label, const tml_step *step); /* after each
    request: o; t (step is 0); c and r (x and step are 0) */

#ifdef __cplusplus
}
#endif

#endif
