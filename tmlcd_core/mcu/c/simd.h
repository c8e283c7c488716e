/* Two products of 16 bits in one instruction of the Cortex-M4 and M7, and the same in plain C. */
#ifndef TMLCD_SIMD_H
#define TMLCD_SIMD_H

#include <stdint.h>

#ifndef TML_SIMD /* 1: kernel with packed products; 0: plain kernel. Both give the same bits. */
#ifdef __ARM_FEATURE_SIMD32
#define TML_SIMD 1
#else
#define TML_SIMD 0
#endif
#endif

#ifdef __ARM_FEATURE_SIMD32

/* Bytes 0 and 2 of x with their signs, as two numbers of 16 bits. */
static inline uint32_t even_bytes(uint32_t x)
{
    uint32_t pair;
    __asm__("sxtb16 %0, %1" : "=r"(pair) : "r"(x));
    return pair;
}

/* Bytes 1 and 3. */
static inline uint32_t odd_bytes(uint32_t x)
{
    uint32_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(x));
    return pair;
}

/* sum + low(a) low(b) + high(a) high(b) */
static inline int32_t multiply_add(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t result;
    __asm__("smlad %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}

#else

static inline uint32_t even_bytes(uint32_t x)
{
    uint32_t low = (x & 0xFFu) ^ 0x80u, high = (x >> 16 & 0xFFu) ^ 0x80u;
    return ((low - 0x80u) & 0xFFFFu) | (high - 0x80u) << 16;
}

static inline uint32_t odd_bytes(uint32_t x)
{
    return even_bytes(x >> 8);
}

static inline int32_t multiply_add(uint32_t a, uint32_t b, int32_t sum)
{
    int32_t low = (int32_t)(int16_t)(uint16_t)a * (int16_t)(uint16_t)b;
    int32_t high = (int32_t)(int16_t)(uint16_t)(a >> 16) * (int16_t)(uint16_t)(b >> 16);
    return sum + low + high;
}

#endif

#endif
