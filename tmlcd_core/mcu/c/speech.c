/* Features of TML_SPEECH: a network trained on speech, in 8 bits.
 *
 * 20 convolutions of 3x3 (the first), 1x3 (along frequency) or 3x1 (along time), some followed by a maximum over pairs.
 * The frames go through all layers one after the other; a layer keeps the last three rows of its input, and no layer
 * keeps a whole map: that is the arena. Weights are int8 with one scale per channel, activations uint8, sums exact. */
#include "listen.h"

#include "mathfn.h"
#include "simd.h"
#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#endif

#define FRAMES 157       /* of 1.6 s */
#define BEFORE 79        /* frames from the first one to the middle of the word */
#define AROUND 25        /* frames of the stream before and after the word that the network hears; the rest is empty */
#define ZERO 40          /* the network's 0 is -20 dB */
#define RANGE 160        /* half decibels below the loudest level */
#define STEPS_PER_OCTAVE 6.02059991f
#define TARGET 0x1.47ae14p+21f /* mean square of the normalised word */
#define GROUP 4          /* positions computed together */

enum { IN, OUT, WIDTH, TALL, POOL_TIME, POOL_BAND, SHIFT, ZERO_POINT }; /* columns of tml_layers */

static uint8_t arena[TML_ARENA];
static uint8_t rows[2][TML_ROW];           /* a row between two layers, with a position of zeros at either end */
static uint16_t taken[TML_LAYERS];         /* rows that a layer has received, and computed */
static uint16_t computed[TML_LAYERS];
static int32_t totals[TML_FEATURES];       /* outputs of the last layer, added */
static float features[TML_FEATURES];

typedef struct {
    const uint8_t *part[3];                /* input of the first position */
    uint32_t parts, length, step;          /* bytes of a part, and to the next position */
    const uint32_t *weights;
    uint32_t offset;                       /* of the layer's channels in the tables */
} operand;

/* Scale the sum of a channel to the next layer; negative sums with another slope. */
static uint8_t scaled(int32_t sum, uint32_t channel, const uint16_t *layer)
{
    int64_t half = (int64_t)1 << (layer[SHIFT] - 1), size = sum < 0 ? -(int64_t)sum : sum;
    size = size * (sum < 0 ? tml_negative[channel] : tml_positive[channel]) + half;
    int32_t value = (int32_t)(size >> 32) >> (layer[SHIFT] - 32); /* all shifts are 32 or more */
    value = layer[ZERO_POINT] + (sum < 0 ? -value : value);
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void put(int32_t sum, uint32_t position, uint32_t channel, const operand *x, const uint16_t *layer, uint8_t *out)
{
    if (out == 0) {
        totals[channel] += sum;
    } else {
        out[position * layer[OUT] + channel] = scaled(sum, x->offset + channel, layer);
    }
}

static void plain_row(const operand *x, const uint16_t *layer, uint8_t *out)
{
    for (uint32_t p = 0; p < layer[WIDTH]; p++) {
        const int8_t *weight = (const int8_t *)x->weights;
        for (uint32_t channel = 0; channel < layer[OUT]; channel++) {
            int32_t sum = tml_layer_bias[x->offset + channel];
            for (uint32_t part = 0; part < x->parts; part++) {
                const uint8_t *value = x->part[part] + p * x->step;
                for (uint32_t i = 0; i < x->length; i++) {
                    sum += *weight++ * value[i];
                }
            }
            put(sum, p, channel, x, layer, out);
        }
    }
}

#if TML_SIMD

/* Inputs of a group of positions: for each four weights bytes 0 and 2 of every position, then bytes 1 and 3. */
static uint32_t packed[TML_PACKED / 2][2 * GROUP];

static void pack(const operand *x, uint32_t position, uint32_t place)
{
    uint32_t (*to)[2 * GROUP] = packed;
    for (uint32_t part = 0; part < x->parts; part++) {
        const uint8_t *value = x->part[part] + position * x->step;
        for (uint32_t i = 0; i < x->length; i += 4, to++) {
            (*to)[place] = (uint32_t)value[i] | (uint32_t)value[i + 2] << 16;
            (*to)[place + GROUP] = (uint32_t)value[i + 1] | (uint32_t)value[i + 3] << 16;
        }
    }
}

/* Sums of one channel for a group of positions; a function of its own, so that all of it stays in registers. */
#ifdef __GNUC__
__attribute__((noinline))
#endif
static void dot(const uint32_t *weight, uint32_t words, int32_t bias, int32_t sums[GROUP])
{
    const uint32_t *x = packed[0];
#ifdef __wasm_simd128__ /* all positions in one instruction; the browser runs it fast before it has optimised the code */
    v128_t all = wasm_i32x4_splat(bias);
    for (const uint32_t *end = weight + words; weight != end; weight++, x += 2 * GROUP) {
        v128_t four = wasm_v128_load32_splat(weight), even = wasm_i16x8_shr(wasm_i16x8_shl(four, 8), 8);
        all = wasm_i32x4_add(all, wasm_i32x4_dot_i16x8(wasm_v128_load(x), even));
        all = wasm_i32x4_add(all, wasm_i32x4_dot_i16x8(wasm_v128_load(x + GROUP), wasm_i16x8_shr(four, 8)));
    }
    wasm_v128_store(sums, all);
#else
    int32_t a = bias, b = bias, c = bias, d = bias;
    for (const uint32_t *end = weight + words; weight != end; weight++, x += 2 * GROUP) {
        uint32_t even = even_bytes(*weight), odd = odd_bytes(*weight);
        a = multiply_add(x[0], even, a);
        b = multiply_add(x[1], even, b);
        c = multiply_add(x[2], even, c);
        d = multiply_add(x[3], even, d);
        a = multiply_add(x[4], odd, a);
        b = multiply_add(x[5], odd, b);
        c = multiply_add(x[6], odd, c);
        d = multiply_add(x[7], odd, d);
    }
    sums[0] = a;
    sums[1] = b;
    sums[2] = c;
    sums[3] = d;
#endif
}

static void packed_row(const operand *x, const uint16_t *layer, uint8_t *out)
{
    uint32_t words = x->parts * x->length / 4;
    for (uint32_t p = 0; p < layer[WIDTH]; p += GROUP) {
        uint32_t count = layer[WIDTH] - p < GROUP ? layer[WIDTH] - p : GROUP;
        for (uint32_t i = 0; i < count; i++) {
            pack(x, p + i, i);
        }
        for (uint32_t channel = 0; channel < layer[OUT]; channel++) {
            int32_t sums[GROUP];
            dot(x->weights + channel * words, words, tml_layer_bias[x->offset + channel], sums);
            for (uint32_t i = 0; i < count; i++) {
                put(sums[i], p + i, channel, x, layer, out);
            }
        }
    }
}

#endif

static uint8_t larger(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

/* Maximum over pairs in frequency, in place. */
static void pool_bands(uint8_t *row, const uint16_t *layer)
{
    uint32_t channels = layer[OUT];
    for (uint32_t p = 0; p < layer[WIDTH] / 2u; p++) {
        for (uint32_t c = 0; c < channels; c++) {
            row[p * channels + c] = larger(row[2 * p * channels + c], row[(2 * p + 1) * channels + c]);
        }
    }
}

/* Send a row of levels through the layers, as far as it gets. */
static void feed(const uint8_t *levels)
{
    uint32_t current = 0, offset = 0;
    uint8_t *kept = arena, *row = rows[0];
    const uint32_t *weights = tml_weights;
    row[0] = row[TML_MELS + 1] = 0;
    for (uint32_t i = 0; i < TML_MELS; i++) {
        row[i + 1] = levels[i];
    }
    for (uint32_t l = 0; l < TML_LAYERS; l++) {
        const uint16_t *layer = tml_layers[l];
        uint32_t in = layer[IN], padded = (layer[WIDTH] + 2u) * in;
        operand x = {{row, 0, 0}, 1, 3 * in, in, weights, offset};
        if (layer[TALL]) {
            /* The first layer is 3x3 and needs the zeros; the others do not. */
            uint32_t bytes = l == 0 ? padded : layer[WIDTH] * in;
            uint8_t *newest = kept + taken[l] % 3u * bytes;
            for (uint32_t i = 0; i < bytes; i++) {
                newest[i] = row[(l == 0 ? 0 : in) + i];
            }
            taken[l]++;
            if (taken[l] < 3) {
                return;
            }
            x.parts = 3;
            x.length = l == 0 ? 3 * in : in;
            for (uint32_t i = 0; i < 3; i++) {
                x.part[i] = kept + (taken[l] + i) % 3u * bytes;
            }
            kept += 3 * bytes;
        }
        current = 1 - current;
        row = rows[current];
        uint8_t *out = l + 1 < TML_LAYERS ? row + layer[OUT] : 0;
#if TML_SIMD
        if (l > 0) {
            packed_row(&x, layer, out);
        } else {
            plain_row(&x, layer, out);
        }
#else
        plain_row(&x, layer, out);
#endif
        if (out == 0) {
            return;
        }
        uint32_t width = layer[WIDTH];
        if (layer[POOL_BAND] == 2) {
            pool_bands(out, layer);
            width /= 2;
        }
        uint32_t bytes = width * layer[OUT];
        if (layer[POOL_TIME] == 2) {
            computed[l]++;
            for (uint32_t i = 0; i < bytes; i++) {
                kept[i] = out[i] = computed[l] % 2u ? out[i] : larger(kept[i], out[i]);
            }
            if (computed[l] % 2u) {
                return;
            }
            kept += bytes;
        }
        for (uint32_t i = 0; i < layer[OUT]; i++) {
            row[i] = out[bytes + i] = (uint8_t)layer[ZERO_POINT];
        }
        weights += layer[OUT] * x.parts * x.length / 4;
        offset += layer[OUT];
    }
}

/* Half decibels by which the word is too soft. */
static int32_t find_gain(const tml_span *word)
{
    uint32_t first = word->start > TML_LEAD ? word->start - TML_LEAD : 0, last = word->stop + TML_TAIL;
    float energy = 0.0f;
    for (uint32_t t = first; t != last + 1; t++) {
        energy += tml_energy(t);
    }
    float mean = energy / (float)(TML_HOP * (last + 1 - first));
    float steps = STEPS_PER_OCTAVE * tml_log2f(TARGET / (mean > 1e-3f ? mean : 1e-3f));
    return (int32_t)(steps + (steps > 0.0f ? 0.5f : -0.5f));
}

/* Levels of frame j of the network's input, or 0 if it is empty. */
static const uint8_t *frame_of(const tml_span *word, int32_t j)
{
    int32_t length = (int32_t)(word->stop - word->start), from_start = j - BEFORE + (length + 1) / 2;
    if (from_start < -AROUND || from_start > length + AROUND || from_start + (int64_t)word->start < 0) {
        return 0;
    }
    return tml_mel(word->start + (uint32_t)from_start);
}

static void normalise(void)
{
    float square = 0.0f;
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        features[i] = (float)totals[i] * tml_output_scale[i] - tml_output_mean[i];
        square += features[i] * features[i];
    }
    float norm = (float)tml_sqrt((double)square);
    norm = norm > 1e-12f ? norm : 1e-12f;
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        features[i] /= norm;
    }
}

const float *tml_word_features(const tml_span *word)
{
    int32_t gain = find_gain(word) - TML_MEL_OFFSET + ZERO, loudest = -1000;
    for (uint32_t l = 0; l < TML_LAYERS; l++) {
        taken[l] = computed[l] = 0;
    }
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        totals[i] = 0;
    }
    for (int32_t j = 0; j < FRAMES; j++) {
        const uint8_t *levels = frame_of(word, j);
        for (uint32_t b = 0; levels != 0 && b < TML_MELS; b++) {
            loudest = levels[b] + gain > loudest ? levels[b] + gain : loudest;
        }
    }
    for (int32_t j = 0; j < FRAMES; j++) {
        const uint8_t *levels = frame_of(word, j);
        uint8_t row[TML_MELS];
        for (uint32_t b = 0; b < TML_MELS; b++) {
            int32_t level = levels != 0 ? levels[b] + gain : -1000;
            level = level > loudest - RANGE ? level : loudest - RANGE;
            row[b] = (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
        }
        feed(row);
    }
    normalise();
    return features;
}
