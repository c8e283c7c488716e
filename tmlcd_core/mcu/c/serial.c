/* The program on a Nucleo board: the learner on the serial line of its USB connector. */
#include "protocol.h"
#include "nucleo.h"

void board_learned(const float *x, int32_t label, const tml_step *step)
{
    (void)x;
    (void)label;
    board_led(step != 0 && step->alarm);
}

int main(void)
{
    nucleo_start();
    tml_reset();
    tml_link_start();
    for (;;) {
        uint8_t byte;
        if (board_receive(&byte)) {
            tml_link_byte(byte);
        }
    }
}
