/* Cuts the power after every single byte that the flash store writes or erases, and restores.
 * Argument: number of samples. Prints the number of cuts, and how many of them lost the last sample. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flash_store.h"

#define SECTOR POWER_CUT_SECTOR

#if defined(__SANITIZE_ADDRESS__) /* a torn unit with an ECC must not be read: the sanitizer stops the program */
#include <sanitizer/asan_interface.h>
#define TORN(at, size) __asan_poison_memory_region(at, size)
#define WHOLE(at, size) __asan_unpoison_memory_region(at, size)
#define IS_TORN(at, size) (__asan_region_is_poisoned(at, size) != 0)
#else
#define TORN(at, size) ((void)(at))
#define WHOLE(at, size) ((void)(at))
#define IS_TORN(at, size) ((void)(at), (void)(size), 0)
#endif

static uint32_t words[2][SECTOR / 4]; /* aligned, as a real flash */
static uint8_t *const flash[2] = {(uint8_t *)words[0], (uint8_t *)words[1]};
static long left = -1; /* bytes until the power is cut; negative: never */
static int off;
static long written;

uint32_t flash_size(void)
{
    return SECTOR;
}

const uint8_t *flash_sector(uint32_t sector)
{
    return flash[sector];
}

static int one_byte(void)
{
    if (off || left == 0) {
        off = 1;
        return 0;
    }
    left -= left > 0;
    written++;
    return 1;
}

int flash_erase(uint32_t sector)
{
    for (uint32_t i = 0; i < SECTOR && one_byte(); i++) {
        WHOLE(&flash[sector][i / FLASH_UNIT * FLASH_UNIT], FLASH_UNIT);
        flash[sector][i] = 0xFF;
        if (i % FLASH_UNIT != FLASH_UNIT - 1) {
            TORN(&flash[sector][i / FLASH_UNIT * FLASH_UNIT], FLASH_UNIT);
        }
    }
    return !off;
}

int flash_intact(uint32_t sector, uint32_t at, uint32_t count)
{
    return !IS_TORN(&flash[sector][at], count);
}

int flash_write(uint32_t sector, uint32_t at, const uint8_t *unit)
{
    if (at % FLASH_UNIT || at + FLASH_UNIT > SECTOR) {
        fprintf(stderr, "bad write at %u\n", (unsigned)at);
        exit(1);
    }
    for (uint32_t i = 0; i < FLASH_UNIT && !off; i++) {
        if (flash[sector][at + i] != 0xFF) {
            fprintf(stderr, "a unit at %u is written twice\n", (unsigned)at);
            exit(1);
        }
    }
    for (uint32_t i = 0; i < FLASH_UNIT && one_byte(); i++) {
        WHOLE(&flash[sector][at], FLASH_UNIT);
        flash[sector][at + i] &= unit[i];
        if (i < FLASH_UNIT - 1) {
            TORN(&flash[sector][at], FLASH_UNIT);
        }
    }
    return !off && memcmp(&flash[sector][at], unit, FLASH_UNIT) == 0;
}

static uint64_t hash_of_state(void)
{
    uint64_t hash = 1469598103934665603u;
    for (uint32_t part = 0; part < 5; part++) {
        tml_part found = tml_memory(part);
        for (uint32_t i = 0; i < found.size; i++) {
            hash = (hash ^ ((const uint8_t *)found.bytes)[i]) * 1099511628211u;
        }
    }
    return hash;
}

static float x[TML_FEATURES];

static void sample(uint32_t i, int save)
{
    uint32_t draw = i * 2654435761u + 12345;
    int32_t label = i % 7 == 6 ? -1 : (int32_t)(draw >> 16 & 1);
    for (uint32_t j = 0; j < TML_FEATURES; j++) {
        draw = draw * 1664525u + 1013904223u;
        x[j] = (float)(draw >> 20) / 4096.0f + (float)((label ^ (int32_t)(i / 40)) & 1);
    }
    int taught = i % 11 == 10 && label >= 0;
    if (taught) {
        tml_teach(x, label);
    } else {
        tml_observe(x, label);
    }
    if (save) {
        tml_save(x, label, taught);
    }
}

int main(int argc, char **arguments)
{
    uint32_t n = argc == 2 ? (uint32_t)strtoul(arguments[1], NULL, 10) : 0;
    uint64_t *states = calloc(n + 1, sizeof *states);
    memset(words, 0xA5, sizeof words); /* flash of another program */
    if (tml_restore() != 0 || !tml_save_all()) {
        return 1;
    }
    static uint8_t start[2][SECTOR];
    memcpy(start, words, sizeof words);
    states[0] = hash_of_state();
    written = 0;
    for (uint32_t i = 0; i < n; i++) {
        sample(i, 1);
        states[i + 1] = hash_of_state();
    }
    long total = written, lost = 0;
    if (!tml_restore() || hash_of_state() != states[n]) {
        fprintf(stderr, "the state at the end is not restored\n");
        return 1;
    }
    for (long cut = 0; cut < total; cut++) {
        WHOLE(words, sizeof words);
        memcpy(words, start, sizeof words);
        left = -1;
        off = 0;
        tml_restore();
        left = cut;
        uint32_t done = 0;
        while (!off) {
            sample(done, 1);
            done += !off;
        }
        left = -1;
        off = 0; /* power again */
        if (!tml_restore()) {
            fprintf(stderr, "nothing is left after a cut at byte %ld\n", cut);
            return 1;
        }
        uint64_t found = hash_of_state();
        uint32_t kept = found == states[done + 1] ? done + 1 : done;
        if (found != states[kept]) {
            fprintf(stderr, "a cut at byte %ld gives a state that never was (after %u samples)\n", cut, (unsigned)done);
            return 1;
        }
        lost += kept == done;
        for (uint32_t i = kept; i < n && i < kept + 3; i++) { /* it goes on, and is saved again */
            sample(i, 1);
            uint64_t now = hash_of_state();
            if (now != states[i + 1] || !tml_restore() || hash_of_state() != now) {
                fprintf(stderr, "after a cut at byte %ld it does not go on\n", cut);
                return 1;
            }
        }
    }
    printf("%ld %ld\n", total, lost);
    free(states);
    return 0;
}
