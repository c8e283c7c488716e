/* Front end TML_CLIP: every second of sound is a word. */
#include "frontend.h"

static uint32_t heard;    /* samples since tml_listen */
static uint32_t in_clip;  /* samples in the current clip */

void tml_listen(void)
{
    heard = 0;
    in_clip = 0;
    tml_audio_start();
}

uint32_t tml_hear(const int16_t *samples, uint32_t count, tml_word *word)
{
    uint32_t left = TML_SAMPLE_RATE - in_clip, taken = count < left ? count : left;
    in_clip = tml_audio_push(samples, taken);
    heard += taken;
    word->x = 0;
    word->start = heard - in_clip;
    word->stop = heard;
    word->decibels = 0.0f;
    if (in_clip == TML_SAMPLE_RATE) {
        word->x = tml_extract();
        in_clip = 0;
        tml_audio_start();
    }
    return taken;
}
