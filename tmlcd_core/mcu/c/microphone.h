/* INMP441 or another I2S microphone with 24 bits in 32 at 16 kHz, on I2S2 of the three Nucleo boards: sound by DMA.
 *
 *     microphone   Nucleo-F401RE     Nucleo-F767ZI, Nucleo-H743ZI
 *     VDD, GND     3V3, GND          3V3, GND
 *     L/R          GND               GND          (the left channel)
 *     WS           PB12, CN10 16     PB12, CN7 7
 *     SCK          PB13, CN10 30     PB13, CN7 5
 *     SD           PB15, CN10 26     PB15, CN7 3
 *
 * Registers after the same manuals as in nucleo.c; tried under emulation only, never with a real microphone. Build with
 * `make serial MICROPHONE=1`. While the F401 or F767 erases a sector of its flash (seconds, once in many samples) the core
 * stands still and sound is lost. */
#ifndef TMLCD_MICROPHONE_H
#define TMLCD_MICROPHONE_H

#include <stdint.h>

#ifndef MICROPHONE_RING
#if defined(TML_STM32F4)
#define MICROPHONE_RING 4096u  /* samples, a power of 2: 0.26 s, during which a word is computed */
#else
#define MICROPHONE_RING 16384u /* 1 s: the speech network takes most of it */
#endif
#endif

int microphone_start(void);                                  /* after nucleo_start; 0 if its clock does not start */
uint32_t microphone_read(int16_t *samples, uint32_t count);  /* returns how many have come, at most `count`;
                                                                what came while the ring was full is lost */
void microphone_interrupt(void);                             /* of the DMA; startup.c has its vector */

#endif
