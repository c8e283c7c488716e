#ifndef TMLCD_BOARD_IO_H
#define TMLCD_BOARD_IO_H

#include <stdint.h>

uint32_t board_read(void *to, uint32_t bytes); /* read the next bytes of the stream; returns their number, fewer at the end */
void board_write(const char *line);
void board_stop(void);

#endif
