/* Reset handler of any Cortex-M4F or M7: enables floating point, initialises variables, calls main. The clock is not
 * changed (16 MHz after reset on the F4 and F7, 64 MHz on the H7): call your clock set-up at the start of main. */
#include <stdint.h>

extern uint32_t _sidata, _sdata, _edata, _sbss, _ebss, _estack, _stack_limit; /* from the linker script */
int main(void);
void _start(void);

#define CPACR (*(volatile uint32_t *)0xE000ED88u)

static void halt(void)
{
    for (;;) {
    }
}

void microphone_interrupt(void);
__attribute__((weak)) void microphone_interrupt(void)
{
    halt(); /* unless microphone.c is linked */
}

/* Exceptions of the core, then the interrupts up to that of DMA 1, stream 3; append yours. */
__attribute__((section(".vectors"), used)) static void (*const vectors[16 + 15])(void) = {
    (void (*)(void))(uintptr_t)&_estack, _start, halt, halt, halt, halt, halt, 0, 0, 0, 0, halt, halt, 0, halt, halt,
    halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, halt, microphone_interrupt,
};

void _start(void)
{
    CPACR |= 0xFu << 20; /* coprocessors 10 and 11: the floating-point unit */
    __asm__ volatile("dsb\n isb" ::: "memory");
    const uint32_t *from = &_sidata;
    for (uint32_t *to = &_sdata; to < &_edata; to++) {
        *(volatile uint32_t *)to = *from++;
    }
    for (uint32_t *to = &_sbss; to < &_ebss; to++) {
        *(volatile uint32_t *)to = 0;
    }
    for (uintptr_t to = (uintptr_t)&_stack_limit; to < (uintptr_t)&_estack - 256; to += 4) { /* not this function's own */
        *(volatile uint32_t *)to = 0xA5A5A5A5u; /* a pattern that shows the deepest use of the stack */
    }
    main();
    halt();
}

/* Compilers may replace loops by calls of these functions; volatile prevents that inside them. */
void *memcpy(void *to, const void *from, __SIZE_TYPE__ bytes);
void *memset(void *to, int value, __SIZE_TYPE__ bytes);
void *memmove(void *to, const void *from, __SIZE_TYPE__ bytes);

void *memmove(void *to, const void *from, __SIZE_TYPE__ bytes)
{
    volatile uint8_t *target = to;
    const uint8_t *source = from;
    if ((uintptr_t)to < (uintptr_t)from) {
        for (__SIZE_TYPE__ i = 0; i < bytes; i++) {
            target[i] = source[i];
        }
    } else {
        while (bytes-- > 0) {
            target[bytes] = source[bytes];
        }
    }
    return to;
}

void *memcpy(void *to, const void *from, __SIZE_TYPE__ bytes)
{
    return memmove(to, from, bytes);
}

void *memset(void *to, int value, __SIZE_TYPE__ bytes)
{
    for (volatile uint8_t *byte = to; bytes > 0; bytes--) {
        *byte++ = (uint8_t)value;
    }
    return to;
}
