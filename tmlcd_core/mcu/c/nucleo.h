/* Hardware of three Nucleo boards: F401RE, F767ZI and H743ZI. Clock, serial line of the USB connector, LED, button. */
#ifndef TMLCD_NUCLEO_H
#define TMLCD_NUCLEO_H

#include <stdint.h>

#define NUCLEO_BAUD 115200

void nucleo_start(void);             /* clock, serial line, LED and button */
int board_receive(uint8_t *byte);    /* 1 if a byte of the serial line was waiting */
void board_led(int on);
int board_button(void);              /* 1 while the blue button is pressed */

#endif
