/* Registers after ST's reference manuals RM0368 (F401), RM0410 (F767) and RM0433 (H743); pins after the manuals of the
 * Nucleo boards UM1724 (F401RE) and UM1974 (F767ZI, H743ZI). Tried under emulation only, never on a real board.
 *
 * If the clock set-up fails (a phase-locked loop that does not start), the board goes on with its internal oscillator:
 * slower, but the serial line works, because its divider follows from the clock in use. */
#include "nucleo.h"
#include "flash_store.h"
#include "protocol.h"
#include "stm32.h"

#if defined(TML_STM32F4) /* the registers of the serial line: the F4 has an older one */
#define USART_BRR (USART + 0x08)
#define USART_CR1 (USART + 0x0C)
#define USART_STATUS (USART + 0x00)
#define USART_READ (USART + 0x04)
#define USART_WRITE (USART + 0x04)
#define USART_ON ((1u << 13) | (1u << 3) | (1u << 2)) /* enable, transmit, receive */
#else
#define USART_BRR (USART + 0x0C)
#define USART_CR1 (USART + 0x00)
#define USART_STATUS (USART + 0x1C)
#define USART_CLEAR (USART + 0x20)
#define USART_READ (USART + 0x24)
#define USART_WRITE (USART + 0x28)
#define USART_ON ((1u << 0) | (1u << 3) | (1u << 2))
#endif
#define OVERRUN (1u << 3)
#define RECEIVED (1u << 5)
#define CAN_SEND (1u << 7)

#define SYSTICK_CTRL 0xE000E010u
#define SYSTICK_LOAD 0xE000E014u
#define SYSTICK_VAL 0xE000E018u
#define SYSTICK_LONGEST 0x00FFFFFFu
#define DEMCR 0xE000EDFCu
#define DWT_CTRL 0xE0001000u
#define DWT_CYCCNT 0xE0001004u
#define DWT_LAR 0xE0001FB0u

extern uint32_t _estack, _stack_limit; /* from the linker script */

static uint32_t core_hz = OSCILLATOR, bus_hz = OSCILLATOR; /* of the core, of the serial line's bus */

#if defined(TML_STM32F4) || defined(TML_STM32F7)

static void start_clock(void)
{
#if defined(TML_STM32F4)
    /* 16 MHz / 16 * 336 / 4 = 84 MHz; 2 wait states; bus 1 at half */
    const uint32_t pll = 16u | 336u << 6 | 1u << 16 | 7u << 24, wait_states = 2, half = 4, core = 84000000u, bus = 42000000u;
    change(RCC + 0x40, 0, 1u << 28); /* power interface */
    change(0x40007000u, 3u << 14, 2u << 14); /* voltage scale 2: up to 84 MHz */
#else
    /* 16 MHz / 8 * 216 / 2 = 216 MHz; 7 wait states; bus 1 at a quarter, bus 2 at half; over-drive above 180 MHz */
    const uint32_t pll = 8u | 216u << 6 | 9u << 24, wait_states = 7, half = 5, core = 216000000u, bus = 54000000u;
    change(RCC + 0x40, 0, 1u << 28);
    change(PWR, 0, 3u << 14); /* voltage scale 1 */
#endif
    REGISTER(RCC + 0x04) = pll;
    change(RCC, 0, 1u << 24);
#if defined(TML_STM32F7)
    change(PWR, 0, 1u << 16);
    if (!wait_for(PWR + 4, 1u << 16, 1u << 16)) {
        return;
    }
    change(PWR, 0, 1u << 17);
    if (!wait_for(PWR + 4, 1u << 17, 1u << 17)) {
        return;
    }
#endif
    if (!wait_for(RCC, 1u << 25, 1u << 25)) {
        return; /* the loop does not start: stay with the oscillator */
    }
    change(FLASH_ACR, 15u, wait_states | 1u << 8); /* and prefetch */
    if (!wait_for(FLASH_ACR, 15u, wait_states)) {
        return;
    }
    change(RCC + 0x08, 7u << 10 | 7u << 13, half << 10 | (half - (half == 5)) << 13);
    change(RCC + 0x08, 3u, 2u); /* take the loop's clock */
    if (wait_for(RCC + 0x08, 3u << 2, 2u << 2)) {
        core_hz = core;
        bus_hz = bus;
    }
}

#else

static void start_clock(void)
{
    /* 64 MHz / 4 * 50 / 2 = 400 MHz, not the 480 MHz that only later revisions of the chip reach; buses at 200 and 100 */
    if (!wait_for(PWR + 0x04, 1u << 13, 1u << 13)) {
        return; /* the core's voltage is not ready */
    }
    change(PWR + 0x18, 3u << 14, 3u << 14); /* voltage scale 1 */
    if (!wait_for(PWR + 0x18, 1u << 13, 1u << 13)) {
        return;
    }
    REGISTER(RCC + 0x28) = 4u << 4;                                /* divide the oscillator by 4 */
    change(RCC + 0x2C, 0xFu, 3u << 2 | 1u << 16);                  /* 8 to 16 MHz, wide range, output P */
    REGISTER(RCC + 0x30) = 49u | 1u << 9 | 1u << 16 | 1u << 24;    /* times 50; P, Q and R divide by 2 */
    change(RCC, 0, 1u << 24);
    if (!wait_for(RCC, 1u << 25, 1u << 25)) {
        return;
    }
    change(FLASH_ACR, 0x3Fu, 0x22u);
    if (!wait_for(FLASH_ACR, 0x3Fu, 0x22u)) {
        return;
    }
    change(RCC + 0x18, 0xF7Fu, 8u | 4u << 4);          /* core 400, bus 200, peripherals 100 MHz */
    change(RCC + 0x1C, 7u << 4 | 7u << 8, 4u << 4 | 4u << 8);
    change(RCC + 0x20, 7u << 4, 4u << 4);
    change(RCC + 0x10, 7u, 3u);
    if (wait_for(RCC + 0x10, 7u << 3, 3u << 3)) {
        core_hz = 400000000u;
        bus_hz = 100000000u;
    }
}

#endif

void nucleo_start(void)
{
    start_clock();
    use_port(USART_PORT);
    use_port(LED_PORT);
    use_port('C');
    set_mode(LED_PORT, LED_PIN, 1);
    set_mode('C', 13, 0);
    use_pin(USART_PORT, USART_TX, 7, 1); /* alternate function 7; pull-up: an open line is idle */
    use_pin(USART_PORT, USART_RX, 7, 1);
    change(USART_ENABLE, 0, 1u << USART_BIT);
    (void)REGISTER(USART_ENABLE);
    REGISTER(USART_BRR) = (bus_hz + NUCLEO_BAUD / 2) / NUCLEO_BAUD;
    REGISTER(USART_CR1) = USART_ON;

    REGISTER(DEMCR) |= 1u << 24; /* the cycle counter; the M7's is locked */
    REGISTER(DWT_LAR) = 0xC5ACCE55u;
    REGISTER(DWT_CTRL) |= 1u;
    REGISTER(SYSTICK_LOAD) = SYSTICK_LONGEST;
}

int board_receive(uint8_t *byte)
{
    uint32_t status = REGISTER(USART_STATUS);
#if defined(USART_CLEAR)
    if (status & OVERRUN) {
        REGISTER(USART_CLEAR) = OVERRUN; /* a byte was lost: the checksum will tell */
    }
#endif
    if (!(status & RECEIVED)) {
        return 0;
    }
    *byte = (uint8_t)REGISTER(USART_READ);
    return 1;
}

void board_send(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        while (!(REGISTER(USART_STATUS) & CAN_SEND)) {
        }
        REGISTER(USART_WRITE) = bytes[i];
    }
}

void board_led(int on)
{
    REGISTER(GPIO(LED_PORT) + BSRR) = on ? 1u << LED_PIN : 1u << (LED_PIN + 16);
}

int board_button(void)
{
    return (REGISTER(GPIO('C') + IDR) >> 13 & 1u) == PRESSED;
}

void board_measure(void)
{
    REGISTER(DWT_CYCCNT) = 0;
    REGISTER(SYSTICK_VAL) = 0;
    REGISTER(SYSTICK_CTRL) = 5; /* count the core's cycles, without interrupt; reading clears its overflow flag */
    (void)REGISTER(SYSTICK_CTRL);
}

uint32_t board_cycles(void)
{
    uint32_t left = REGISTER(SYSTICK_VAL), cycles = REGISTER(DWT_CYCCNT);
    if (cycles > 0) {
        return cycles;
    }
    int overflow = (REGISTER(SYSTICK_CTRL) >> 16) & 1; /* without a cycle counter (QEMU): 24 bits of the system timer */
    return overflow ? 0 : SYSTICK_LONGEST - left;
}

/* -- two sectors of the flash, for flash_store.c: the F4's and F7's have the same registers, the H7 one set per bank -- */

#if defined(TML_STM32F4)
#define SECTOR_NUMBER 6u
#define SECTOR_SIZE 0x20000u
#define SECTOR_ADDRESS 0x08040000u
#elif defined(TML_STM32F7)
#define SECTOR_NUMBER 10u
#define SECTOR_SIZE 0x40000u
#define SECTOR_ADDRESS 0x08180000u
#else
#define SECTOR_NUMBER 6u /* of bank 2: the program goes on in bank 1 meanwhile */
#define SECTOR_SIZE 0x20000u
#define SECTOR_ADDRESS 0x081C0000u
#endif

#if defined(TML_STM32H7)
#define FLASH_KEYR (FLASH_ACR + 0x104)
#define FLASH_CR (FLASH_ACR + 0x10C)
#define FLASH_SR (FLASH_ACR + 0x110)
#define FLASH_CLEAR (FLASH_ACR + 0x114)
#define ERRORS 0x07EE0000u        /* of writing, erasing and the ECC */
#define TWO_WRONG_BITS (1u << 26) /* more than the ECC can correct */
#define BUSY (1u << 2)            /* a command is waiting or under way */
#define LOCKED 1u
#define START (1u << 7)
#define PROGRAM (1u << 1 | 2u << 4) /* by 32 bits at a time: any supply voltage of the board */
#define ERASE(sector) (1u << 2 | 2u << 4 | (sector) << 8)
#define SYSTEM_CCR 0xE000ED14u
#define IGNORE_BUS_FAULTS (1u << 8) /* at the priority of a fault */
#else
#define FLASH_KEYR (FLASH_ACR + 0x04)
#define FLASH_SR (FLASH_ACR + 0x0C)
#define FLASH_CR (FLASH_ACR + 0x10)
#define FLASH_CLEAR FLASH_SR
#define ERRORS 0xF2u
#define BUSY (1u << 16)
#define LOCKED (1u << 31)
#define START (1u << 16)
#define PROGRAM (1u | 2u << 8) /* by words of 32 bits */
#define ERASE(sector) (2u | 2u << 8 | (sector) << 3)
#endif
#define LONG_PATIENCE 100000000u /* erasing takes up to four seconds */

extern uint32_t _sidata, _sdata, _edata; /* from the linker script */

uint32_t flash_size(void)
{
    uintptr_t program = (uintptr_t)&_sidata + ((uintptr_t)&_edata - (uintptr_t)&_sdata);
    return program <= SECTOR_ADDRESS ? SECTOR_SIZE : 0; /* the program must not reach the sectors */
}

const uint8_t *flash_sector(uint32_t sector)
{
    return (const uint8_t *)(uintptr_t)(SECTOR_ADDRESS + sector * SECTOR_SIZE);
}

#if defined(TML_STM32H7)

/* Read with the faults masked: a unit that cannot be corrected sets a flag instead of stopping the core. */
int flash_intact(uint32_t sector, uint32_t at, uint32_t count)
{
    const uintptr_t from = (uintptr_t)flash_sector(sector);
    REGISTER(FLASH_CLEAR) = ERRORS;
    __asm__ volatile("cpsid f" ::: "memory");
    change(SYSTEM_CCR, 0, IGNORE_BUS_FAULTS);
    __asm__ volatile("dsb\n isb" ::: "memory");
    for (uint32_t i = at / FLASH_UNIT * FLASH_UNIT; i < at + count; i += FLASH_UNIT) {
        (void)REGISTER(from + i);
    }
    __asm__ volatile("dsb\n isb" ::: "memory");
    uint32_t wrong = REGISTER(FLASH_SR) & TWO_WRONG_BITS;
    REGISTER(FLASH_CLEAR) = ERRORS;
    change(SYSTEM_CCR, IGNORE_BUS_FAULTS, 0);
    __asm__ volatile("cpsie f" ::: "memory");
    return !wrong;
}

#else

int flash_intact(uint32_t sector, uint32_t at, uint32_t count)
{
    (void)sector; /* without an ECC everything can be read; the store's checksums tell the rest */
    (void)at;
    (void)count;
    return 1;
}

#endif

static int flash_command(uint32_t command)
{
    if (REGISTER(FLASH_CR) & LOCKED) {
        REGISTER(FLASH_KEYR) = 0x45670123u;
        REGISTER(FLASH_KEYR) = 0xCDEF89ABu;
    }
    REGISTER(FLASH_CLEAR) = ERRORS; /* old ones */
    REGISTER(FLASH_CR) = command;
    return !(REGISTER(FLASH_CR) & LOCKED);
}

static int flash_done(void)
{
    uint32_t i = 0;
    while (i < LONG_PATIENCE && (REGISTER(FLASH_SR) & BUSY)) {
        i++;
    }
    return i < LONG_PATIENCE;
}

int flash_erase(uint32_t sector)
{
    if (!flash_command(ERASE(SECTOR_NUMBER + sector))) {
        return 0;
    }
    REGISTER(FLASH_CR) |= START;
    int done = flash_done();
    REGISTER(FLASH_CR) = LOCKED;
    const volatile uint8_t *flash = flash_sector(sector);
    done = done && flash_intact(sector, 0, SECTOR_SIZE);
    for (uint32_t i = 0; done && i < SECTOR_SIZE; i++) {
        done = flash[i] == 0xFF;
    }
    return done;
}

int flash_write(uint32_t sector, uint32_t at, const uint8_t *unit)
{
    uintptr_t to = (uintptr_t)flash_sector(sector) + at;
    uint32_t words[FLASH_UNIT / 4];
    for (uint32_t i = 0; i < FLASH_UNIT / 4; i++) {
        const uint8_t *from = unit + 4 * i;
        words[i] = from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
    }
    int done = flash_command(PROGRAM);
    for (uint32_t i = 0; done && i < FLASH_UNIT / 4; i++) {
        REGISTER(to + 4 * i) = words[i];
    }
    __asm__ volatile("dsb" ::: "memory");
    done = done && flash_done();
    REGISTER(FLASH_CR) = LOCKED;
    done = done && flash_intact(sector, at, FLASH_UNIT);
    for (uint32_t i = 0; done && i < FLASH_UNIT / 4; i++) {
        done = REGISTER(to + 4 * i) == words[i];
    }
    return done;
}

/* startup.c fills the stack with this pattern. */
uint32_t board_stack(void)
{
    const uint32_t *at = &_stack_limit;
    while (at < &_estack && *at == 0xA5A5A5A5u) {
        at++;
    }
    return (uint32_t)((uintptr_t)&_estack - (uintptr_t)at);
}

uint32_t board_clock(void)
{
    return core_hz;
}

const char *board_name(void)
{
    return TML_BOARD;
}
