#include "microphone.h"
#include "config.h"
#include "stm32.h"

#if !TML_AUDIO || TML_SAMPLE_RATE != 16000
#error "MICROPHONE=1 needs a front end that hears words (filter, word or speech), at 16,000 Hz: export one"
#endif

#define I2S 0x40003800u /* SPI2 */
#define I2S_BIT 14      /* in the enable register of bus 1 */
#define STREAM 3u       /* of DMA 1: the F4's and F7's for SPI2, channel 0 */
#if defined(TML_STM32H7)
#define DMA 0x40020000u
#define DMA_ENABLE (RCC + 0xD8)
#define DMA_BIT 0
#define MULTIPLEXER (0x40020800u + 4u * STREAM)
#define SPI2_RECEIVES 39u
#define I2S_DATA (I2S + 0x30)
#else
#define DMA 0x40026000u
#define DMA_ENABLE (RCC + 0x30)
#define DMA_BIT 21
#define I2S_DATA (I2S + 0x0C)
#endif
#define DMA_FLAGS (DMA + 0x00)
#define DMA_CLEAR (DMA + 0x08)
#define DMA_STREAM (DMA + 0x10 + 0x18 * STREAM)
#define HALF (1u << 26)
#define WHOLE (1u << 27)
#define ALL_FLAGS (0x3Du << 22)
#define NVIC_ENABLE 0xE000E100u
#define INTERRUPT 14 /* DMA 1, stream 3, on all three */

#define FRAMES 64u /* in each half of the buffer: 4 ms */
#define MASK (MICROPHONE_RING - 1u)

static volatile uint16_t microphone_buffer[2 * FRAMES * 2]; /* left, right; the caches are off, and the DMA reaches it */
static volatile int16_t ring[MICROPHONE_RING];
static volatile uint32_t head, tail;

static void take(const volatile uint16_t *frames)
{
    for (uint32_t i = 0; i < FRAMES; i++) {
        if (head - tail < MICROPHONE_RING) {
            ring[head & MASK] = (int16_t)frames[2 * i];
            head++;
        }
    }
}

void microphone_interrupt(void)
{
    uint32_t flags = REGISTER(DMA_FLAGS);
    REGISTER(DMA_CLEAR) = ALL_FLAGS;
    if (flags & HALF) {
        take(microphone_buffer);
    }
    if (flags & WHOLE) {
        take(microphone_buffer + 2 * FRAMES);
    }
}

uint32_t microphone_read(int16_t *samples, uint32_t count)
{
    uint32_t taken = 0;
    while (taken < count && tail != head) {
        samples[taken++] = ring[tail & MASK];
        tail++;
    }
    return taken;
}

/* 51.2 MHz for the I2S: a frame has 64 bits, 51.2 MHz / (64 * (2 * 25 + 0)) = 16 kHz exactly. */
static int start_sound_clock(void)
{
#if defined(TML_STM32H7)
    change(RCC + 0x28, 63u << 12, 32u << 12);                       /* PLL 2: 64 MHz / 32 = 2 MHz … */
    change(RCC + 0x2C, 15u << 4 | 7u << 19, 1u << 6 | 1u << 19);    /* … 2 to 4 MHz, wide range, output P … */
    REGISTER(RCC + 0x38) = 127u | 4u << 9 | 1u << 16 | 1u << 24;    /* … * 128 / 5 */
#elif defined(TML_STM32F7)
    REGISTER(RCC + 0x84) = 128u << 6 | 5u << 28;                    /* 16 MHz / 8 * 128 / 5; the 8 is the main PLL's */
#else
    REGISTER(RCC + 0x84) = 256u << 6 | 5u << 28;                    /* 16 MHz / 16 * 256 / 5 */
#endif
    change(RCC, 0, 1u << 26); /* PLLI2S, and PLL 2 of the H7 */
    if (!wait_for(RCC, 1u << 27, 1u << 27)) {
        return 0;
    }
#if defined(TML_STM32H7)
    change(RCC + 0x50, 7u << 12, 1u << 12); /* SPI 1 to 3: PLL 2, output P */
#else
    change(RCC + 0x08, 1u << 23, 0);        /* I2S: PLLI2S */
#endif
    return 1;
}

static void start_dma(void)
{
    change(DMA_ENABLE, 0, 1u << DMA_BIT);
    (void)REGISTER(DMA_ENABLE);
    REGISTER(DMA_STREAM) = 0;
    (void)wait_for(DMA_STREAM, 1u, 0);
    REGISTER(DMA_CLEAR) = ALL_FLAGS;
#if defined(TML_STM32H7)
    REGISTER(MULTIPLEXER) = SPI2_RECEIVES;
#endif
    REGISTER(DMA_STREAM + 0x04) = 2 * FRAMES * 2;
    REGISTER(DMA_STREAM + 0x08) = I2S_DATA;
    REGISTER(DMA_STREAM + 0x0C) = (uint32_t)(uintptr_t)microphone_buffer;
    REGISTER(DMA_STREAM + 0x14) = 0; /* no FIFO */
    /* channel 0, high priority, 16 bits to 16 bits, the memory's address grows, circular, both interrupts, on */
    REGISTER(DMA_STREAM) = 2u << 16 | 1u << 13 | 1u << 11 | 1u << 10 | 1u << 8 | 1u << 4 | 1u << 3 | 1u;
    REGISTER(NVIC_ENABLE) = 1u << INTERRUPT;
}

/* Master, receives, Philips, 16 bits of a channel of 32: the microphone's other 8 are below its noise. */
static void start_i2s(void)
{
    change(USART_ENABLE, 0, 1u << I2S_BIT); /* it is on the same bus */
    (void)REGISTER(USART_ENABLE);
#if defined(TML_STM32H7)
    REGISTER(I2S + 0x00) = 0;
    REGISTER(I2S + 0x0C) = 1u << 15;                                   /* data in on PB15, as on the others */
    REGISTER(I2S + 0x50) = 1u | 3u << 1 | 1u << 10 | 25u << 16;
    REGISTER(I2S + 0x08) = 1u << 14 | 15u;                             /* DMA, words of 16 bits */
    REGISTER(I2S + 0x00) = 1u;
    REGISTER(I2S + 0x00) = 1u | 1u << 9;
#else
    REGISTER(I2S + 0x1C) = 0;
    REGISTER(I2S + 0x20) = 25u;
    REGISTER(I2S + 0x04) = 1u; /* DMA */
    REGISTER(I2S + 0x1C) = 1u << 11 | 3u << 8 | 1u;
    REGISTER(I2S + 0x1C) = 1u << 11 | 1u << 10 | 3u << 8 | 1u;
#endif
}

int microphone_start(void)
{
    if (!start_sound_clock()) {
        return 0;
    }
    use_port('B');
    use_pin('B', 12, 5, 0); /* alternate function 5, no pull */
    use_pin('B', 13, 5, 0);
    use_pin('B', 15, 5, 2); /* pulled down: nobody drives the right channel */
    head = 0;
    tail = 0;
    start_dma();
    start_i2s();
    return 1;
}
