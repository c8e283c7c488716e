/* Registers and pins of the three families, for nucleo.c and microphone.c. */
#ifndef TMLCD_STM32_H
#define TMLCD_STM32_H

#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define PATIENCE 100000 /* polls of a flag that should come within microseconds */

#if defined(TML_STM32F4)
#define RCC 0x40023800u
#define FLASH_ACR 0x40023C00u
#define GPIO(letter) (0x40020000u + 0x400u * (uint32_t)((letter) - 'A'))
#define GPIO_ENABLE (RCC + 0x30)
#define USART 0x40004400u /* USART2: PA2, PA3 */
#define USART_ENABLE (RCC + 0x40)
#define USART_BIT 17
#define USART_PORT 'A'
#define USART_TX 2
#define USART_RX 3
#define LED_PORT 'A' /* LD2 */
#define LED_PIN 5
#define PRESSED 0 /* PC13 is low while the button is pressed */
#define OSCILLATOR 16000000u
#elif defined(TML_STM32F7)
#define RCC 0x40023800u
#define PWR 0x40007000u
#define FLASH_ACR 0x40023C00u
#define GPIO(letter) (0x40020000u + 0x400u * (uint32_t)((letter) - 'A'))
#define GPIO_ENABLE (RCC + 0x30)
#define USART 0x40004800u /* USART3: PD8, PD9 */
#define USART_ENABLE (RCC + 0x40)
#define USART_BIT 18
#define USART_PORT 'D'
#define USART_TX 8
#define USART_RX 9
#define LED_PORT 'B' /* LD1 */
#define LED_PIN 0
#define PRESSED 1
#define OSCILLATOR 16000000u
#elif defined(TML_STM32H7)
#define RCC 0x58024400u
#define PWR 0x58024800u
#define FLASH_ACR 0x52002000u
#define GPIO(letter) (0x58020000u + 0x400u * (uint32_t)((letter) - 'A'))
#define GPIO_ENABLE (RCC + 0xE0)
#define USART 0x40004800u /* USART3: PD8, PD9 */
#define USART_ENABLE (RCC + 0xE8)
#define USART_BIT 18
#define USART_PORT 'D'
#define USART_TX 8
#define USART_RX 9
#define LED_PORT 'B' /* LD1 */
#define LED_PIN 0
#define PRESSED 1
#define OSCILLATOR 64000000u
#else
#error "define TML_STM32F4, TML_STM32F7 or TML_STM32H7, or write your own nucleo.c"
#endif

#define MODER 0x00 /* offsets of a port's registers */
#define PUPDR 0x0C
#define IDR 0x10
#define BSRR 0x18
#define AFR 0x20

static inline void change(uint32_t address, uint32_t clear, uint32_t set)
{
    REGISTER(address) = (REGISTER(address) & ~clear) | set;
}

static inline int wait_for(uint32_t address, uint32_t mask, uint32_t value)
{
    for (uint32_t i = 0; i < PATIENCE; i++) {
        if ((REGISTER(address) & mask) == value) {
            return 1;
        }
    }
    return 0;
}

static inline void use_port(char letter)
{
    change(GPIO_ENABLE, 0, 1u << (letter - 'A'));
    (void)REGISTER(GPIO_ENABLE); /* the port needs two cycles */
}

static inline void set_mode(char port, uint32_t pin, uint32_t mode)
{
    change(GPIO(port) + MODER, 3u << (2 * pin), mode << (2 * pin));
}

/* Give a pin to a peripheral: its alternate function, and 0 no pull, 1 pull-up, 2 pull-down. */
static inline void use_pin(char port, uint32_t pin, uint32_t function, uint32_t pull)
{
    uint32_t place = 4 * (pin & 7u);
    change(GPIO(port) + AFR + 4 * (pin >> 3), 15u << place, function << place);
    change(GPIO(port) + PUPDR, 3u << (2 * pin), pull << (2 * pin));
    set_mode(port, pin, 2);
}

#endif
