#include "mathfn.h"

int tml_is_finite(const float *x, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!(x[i] - x[i] == 0.0f)) { /* infinity and NaN give NaN */
            return 0;
        }
    }
    return 1;
}

/* log(m) = 2 atanh(t), t = (m - 1) / (m + 1), with m brought into [sqrt(1/2), sqrt(2)): |t| < 0.172. */

float tml_log2f(float x)
{
    union { float f; uint32_t u; } bits;
    bits.f = x;
    int32_t exponent = (int32_t)(bits.u >> 23) - 127;
    bits.u = (bits.u & 0x007FFFFFu) | 0x3F800000u;
    float m = bits.f;
    if (m > 1.41421356f) {
        m *= 0.5f;
        exponent++;
    }
    float t = (m - 1.0f) / (m + 1.0f);
    float s = t * t;
    float series = 1.0f + s * (0.33333333f + s * (0.2f + s * (0.14285714f + s * 0.11111111f)));
    return (float)exponent + 2.88539008f * t * series; /* 2 / ln 2 */
}

double tml_log(double x)
{
    union { double f; uint64_t u; } bits;
    bits.f = x;
    int32_t exponent = (int32_t)(bits.u >> 52) - 1023;
    bits.u = (bits.u & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u;
    double m = bits.f;
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    double t = (m - 1.0) / (m + 1.0);
    double s = t * t;
    double series = 0.0;
    for (int32_t odd = 21; odd >= 1; odd -= 2) {
        series = series * s + 1.0 / odd;
    }
    return exponent * 0.6931471805599453 + 2.0 * t * series;
}

double tml_sqrt(double x)
{
    if (!(x > 0.0)) {
        return 0.0;
    }
    union { double f; uint64_t u; } bits;
    bits.f = x;
    bits.u = (bits.u >> 1) + 0x1FF8000000000000u; /* halve the exponent: within 7 % */
    double root = bits.f;
    for (int32_t i = 0; i < 4; i++) {
        root = 0.5 * (root + x / root);
    }
    /* The last step takes x - root * root without rounding, from the halves of root's digits: the nearest double. */
    double shifted = 134217729.0 * root; /* 2^27 + 1 */
    double high = shifted - (shifted - root), low = root - high;
    double rest = (x - high * high) - 2.0 * high * low - low * low;
    return root + rest / (2.0 * root);
}
