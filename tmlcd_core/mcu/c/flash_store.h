/* T, time and test in flash: after a power cut at any byte, at most the last sample is lost.
 *
 * Two sectors take turns. A sector has a header, a snapshot of the learner's memory (tml_memory), and a record of each
 * sample since then: kind, label, time, features, CRC-32. Restoring loads the newest valid snapshot and lets the learner
 * observe the records again, which gives the same state to the last bit. If the sector is full, a snapshot is written to
 * the other one; its header comes last, so that until then the old sector counts. Header and model id give the version:
 * another model's flash is ignored. */
#ifndef TMLCD_FLASH_STORE_H
#define TMLCD_FLASH_STORE_H

#include "tmlcd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Restore the last state; returns 0, after a tml_reset, if there is none. */
int tml_restore(void);

/* After tml_observe (taught = 0) or tml_teach (taught = 1). Returns 0 if the flash cannot be written. */
int tml_save(const float *x, int32_t label, int taught);

/* After tml_reset or tml_configure: the whole state. Returns 0 if the flash cannot be written. */
int tml_save_all(void);

#ifndef FLASH_UNIT
#if defined(TML_STM32H7)
#define FLASH_UNIT 32 /* bytes that are written at once, each unit once between two erasures: the H7 has an ECC for it */
#else
#define FLASH_UNIT 4
#endif
#endif

/* What the board has to provide: two sectors, 0 and 1. flash_erase and flash_write return 0 if the flash does not hold
 * what it should afterwards; flash_write writes one unit at a multiple of FLASH_UNIT. A unit whose writing was cut may
 * stop the core when it is read: nothing is read before flash_intact has returned 1 for it. */
uint32_t flash_size(void); /* of one sector, in bytes; 0 if there is no flash to use */
const uint8_t *flash_sector(uint32_t sector);
int flash_erase(uint32_t sector);
int flash_write(uint32_t sector, uint32_t at, const uint8_t *unit);
int flash_intact(uint32_t sector, uint32_t at, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
