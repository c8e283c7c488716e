/* Power-of-two FFT of real numbers, in place in `work`; included by the one file that transforms. */
#ifndef TMLCD_FFT_H
#define TMLCD_FFT_H

#include "model.h"

#define HALF (TML_N_FFT / 2)
#define QUARTER (TML_N_FFT / 4)

static float work[TML_N_FFT];

/* In place: `work` as n_fft / 2 complex numbers, decimation in time, radix 2. */
static void fft(void)
{
    for (uint32_t i = 0, j = 0; i < HALF; i++) {
        if (i < j) {
            float re = work[2 * i], im = work[2 * i + 1];
            work[2 * i] = work[2 * j];
            work[2 * i + 1] = work[2 * j + 1];
            work[2 * j] = re;
            work[2 * j + 1] = im;
        }
        uint32_t bit = HALF >> 1; /* j counts in reversed bits */
        while (bit != 0 && (j & bit) != 0) {
            j ^= bit;
            bit >>= 1;
        }
        j |= bit;
    }
    for (uint32_t half = 1; half < HALF; half *= 2) {
        uint32_t stride = HALF / half; /* in twiddles of n_fft */
        for (uint32_t k = 0; k < half; k++) {
            float c = tml_twiddle[k * stride][0], s = tml_twiddle[k * stride][1];
            for (uint32_t i = k; i < HALF; i += 2 * half) {
                float *a = &work[2 * i], *b = &work[2 * (i + half)];
                float re = b[0] * c - b[1] * s, im = b[0] * s + b[1] * c;
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
        }
    }
}

/* Of the packed transforms of even and odd samples: real and imaginary parts of bins k and HALF - k, 1 <= k <= QUARTER. */
static inline void split(uint32_t k, float low[2], float high[2])
{
    const float *a = &work[2 * k], *b = &work[2 * (HALF - k)];
    float even_re = 0.5f * (a[0] + b[0]), even_im = 0.5f * (a[1] - b[1]);
    float odd_re = 0.5f * (a[1] + b[1]), odd_im = 0.5f * (b[0] - a[0]);
    float c = tml_twiddle[k][0], s = tml_twiddle[k][1];
    float re = odd_re * c - odd_im * s, im = odd_re * s + odd_im * c;
    low[0] = even_re + re;
    low[1] = even_im + im;
    high[0] = even_re - re;
    high[1] = im - even_im;
}

#endif
