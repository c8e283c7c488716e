/* The learner on a serial line, for Arduino: see examples/Board. */
#ifndef TMLCD_BOARD_H
#define TMLCD_BOARD_H

#include <Arduino.h>

#include "protocol.h"

class TmlcdBoard {
public:
    /* Start with the exported model; `name` is what the computer is told. */
    void begin(Stream &line, const char *name = "arduino");

    /* Answer what the computer asks: call it from loop. */
    void poll();
};

#endif
