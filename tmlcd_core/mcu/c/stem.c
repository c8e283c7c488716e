/* Features from levels: colour, 7x7 convolution of stride 2, batch normalisation, ReLU, 3x3 maximum of stride 2. */
#include "audio.h"

#define ROWS ((TML_BINS - 1) / 2 + 1)       /* of the convolution */
#define COLUMNS ((TML_FRAMES - 1) / 2 + 1)

static float features[TML_FILTERS][TML_MAP_ROWS][TML_MAP_COLUMNS];

/* Add the products of one row of the filter; `first` to `last` are its taps inside the image. */
static float add_row(float sum, uint32_t filter, int32_t tap, int32_t row, int32_t left, int32_t first, int32_t last)
{
#if TML_FUSED
    const float(*table)[256] = &tml_fused[filter][tap];
    const tml_level *level = tml_plane[row];
    if (last - first == 7) { /* the usual case, unrolled */
        level += left;
        sum += table[0][level[0]];
        sum += table[1][level[1]];
        sum += table[2][level[2]];
        sum += table[3][level[3]];
        sum += table[4][level[4]];
        sum += table[5][level[5]];
        sum += table[6][level[6]];
        return sum;
    }
    for (int32_t c = first; c < last; c++) {
        sum += table[c][level[left + c]];
    }
#else
    for (int32_t c = first; c < last; c++) {
        const float *weight = tml_filter[filter][tap + c];
#if TML_LAYOUT == TML_PAPER
        const float *colour = tml_plane[row][left + c];
#else
        const float *colour = tml_viridis[tml_plane[row][left + c]];
#endif
        sum += weight[0] * colour[0] + weight[1] * colour[1] + weight[2] * colour[2];
    }
#endif
    return sum;
}

/* Filter output at one position; taps outside the image see zeros and are skipped. */
static float convolve(uint32_t filter, int32_t row, int32_t column)
{
    int32_t top = 2 * row - 3, left = 2 * column - 3;
    int32_t r0 = top < 0 ? -top : 0, r1 = top + 7 > TML_BINS ? TML_BINS - top : 7;
    int32_t c0 = left < 0 ? -left : 0, c1 = left + 7 > TML_FRAMES ? TML_FRAMES - left : 7;
    float sum = tml_bias[filter];
    for (int32_t r = r0; r < r1; r++) {
        sum = add_row(sum, filter, 7 * r, top + r, left, c0, c1);
    }
    return sum;
}

/* An output of the convolution belongs to one pooling window in each direction, or to two if its index is odd.
 * The maxima start at 0, which is the ReLU. */
static void pool(uint32_t filter, uint32_t row, uint32_t column, float value)
{
    for (uint32_t r = row / 2; r <= (row + 1) / 2 && r < TML_MAP_ROWS; r++) {
        for (uint32_t c = column / 2; c <= (column + 1) / 2 && c < TML_MAP_COLUMNS; c++) {
            if (value > features[filter][r][c]) {
                features[filter][r][c] = value;
            }
        }
    }
}

void tml_stem(void)
{
    for (uint32_t filter = 0; filter < TML_FILTERS; filter++) {
        for (uint32_t row = 0; row < TML_MAP_ROWS; row++) {
            for (uint32_t column = 0; column < TML_MAP_COLUMNS; column++) {
                features[filter][row][column] = 0.0f;
            }
        }
        for (uint32_t row = 0; row < ROWS; row++) {
            for (uint32_t column = 0; column < COLUMNS; column++) {
                pool(filter, row, column, convolve(filter, (int32_t)row, (int32_t)column));
            }
        }
    }
}

#if TML_FRONT_END == TML_CLIP
const float *tml_extract(void)
{
    tml_spectrogram();
#else
const float *tml_plane_features(void)
{
#endif
    tml_stem();
    return &features[0][0][0];
}
