/* The program on a Nucleo board: the learner on the serial line of its USB connector. It saves its state to flash, and
 * starts with it again; hold the button at the start to begin with the exported samples. */
#include "flash_store.h"
#include "nucleo.h"
#include "protocol.h"
#if defined(TML_MICROPHONE)
#include "microphone.h"
#endif

static int can_save; /* 0 if there is no flash, as under QEMU */

void board_learned(const float *x, int32_t label, const tml_step *step)
{
    board_led(step != 0 && step->alarm);
    if (can_save && x == 0) {
        can_save = tml_save_all();
    } else if (can_save && (step == 0 || step->prediction != TML_REFUSED)) {
        can_save = tml_save(x, label, step == 0) || tml_save_all(); /* a bad unit: the other sector */
    }
}

int main(void)
{
    nucleo_start();
    if (board_button() || !tml_restore()) {
        tml_reset();
        can_save = flash_size() > 0 && tml_save_all();
    } else {
        can_save = 1;
    }
    tml_link_start();
#if defined(TML_MICROPHONE)
    (void)microphone_start();
#endif
    for (;;) {
        uint8_t byte;
        if (board_receive(&byte)) {
            tml_link_byte(byte);
        }
#if defined(TML_MICROPHONE)
        int16_t samples[32];
        tml_link_hear(samples, microphone_read(samples, 32));
#endif
    }
}
