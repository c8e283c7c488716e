/* Front end TML_FILTER: the paper's filter on the spectrogram of the word, which begins with the word; silence follows. */
#include "audio.h"
#include "listen.h"

#define TOP 160  /* half decibels below the loudest cell that are silence */

uint8_t tml_plane[TML_BINS][TML_FRAMES];

/* Frame of a column: that of `start` is the stored one nearest to the first frame of the word. */
static uint32_t first_column(uint32_t start)
{
    uint32_t first = start > TML_LEAD ? start - TML_LEAD : 0;
    return (first + TML_EVERY / 2) / TML_EVERY;
}

const float *tml_word_features(const tml_span *word)
{
    uint32_t first = first_column(word->start), columns = (word->stop + TML_TAIL) / TML_EVERY - first + 1;
    int32_t high = 0;
    columns = columns < TML_FRAMES ? columns : TML_FRAMES;
    for (uint32_t column = 0; column < columns; column++) {
        const uint8_t *levels = tml_mel((first + column) * TML_EVERY);
        for (uint32_t row = 0; row < TML_BINS; row++) {
            high = levels[row] > high ? levels[row] : high;
        }
    }
    for (uint32_t column = 0; column < TML_FRAMES; column++) {
        const uint8_t *levels = tml_mel((first + column) * TML_EVERY);
        for (uint32_t row = 0; row < TML_BINS; row++) {
            int32_t above = column < columns ? levels[row] - high + TOP : 0;
            int32_t level = above > 0 ? 256 * above / TOP : 0;
            tml_plane[row][column] = (uint8_t)(level < 255 ? level : 255);
        }
    }
    return tml_plane_features();
}
