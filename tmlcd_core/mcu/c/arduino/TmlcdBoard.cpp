#include "TmlcdBoard.h"

static Stream *serial_line;
static const char *told_name = "";
static unsigned long started; /* microseconds */

void TmlcdBoard::begin(Stream &line, const char *name)
{
    serial_line = &line;
    told_name = name;
    tml_reset();
    tml_link_start();
}

void TmlcdBoard::poll()
{
    while (serial_line->available() > 0) {
        tml_link_byte(static_cast<uint8_t>(serial_line->read()));
    }
}

extern "C" {

void board_send(const uint8_t *bytes, uint32_t count)
{
    serial_line->write(bytes, count);
}

void board_measure(void)
{
    started = micros();
}

uint32_t board_cycles(void)
{
    return static_cast<uint32_t>(micros() - started) * static_cast<uint32_t>(F_CPU / 1000000ul);
}

uint32_t board_stack(void)
{
    return 0; /* unknown */
}

uint32_t board_clock(void)
{
    return F_CPU;
}

const char *board_name(void)
{
    return told_name;
}

void board_learned(const float *, int32_t, const tml_step *step)
{
#ifdef LED_BUILTIN
    digitalWrite(LED_BUILTIN, step != nullptr && step->alarm ? HIGH : LOW);
#else
    (void)step;
#endif
}
}
