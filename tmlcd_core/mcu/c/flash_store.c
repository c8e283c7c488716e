#include "flash_store.h"

#define MAGIC 0x314C4D54u /* "TML1": changes with this format */
#define PARTS 5
#define ERASED 0xFFFFFFFFu

enum { OBSERVED = 1, TAUGHT = 2 };

typedef struct {
    uint32_t magic, model, sequence, size, snapshot_crc, crc; /* of the five before it */
} header;

#define HEAD (((uint32_t)sizeof(header) + FLASH_UNIT - 1u) / FLASH_UNIT * FLASH_UNIT) /* where the snapshot begins */

typedef struct {
    uint32_t kind;
    int32_t label;
    uint32_t time;
} record; /* then the features, unless the label is unknown, and the CRC of both; filled up to a whole unit */

static uint32_t current, end, newest; /* sector in use; where its next record goes, 0 if it takes none; its sequence */

static uint32_t crc32(uint32_t crc, const void *bytes, uint32_t count)
{
    const uint8_t *from = bytes;
    crc = ~crc;
    for (uint32_t i = 0; i < count; i++) {
        crc ^= from[i];
        for (uint32_t bit = 0; bit < 8; bit++) {
            crc = crc & 1u ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        }
    }
    return ~crc;
}

static void copy(void *to, const uint8_t *from, uint32_t count)
{
    uint8_t *target = to;
    for (uint32_t i = 0; i < count; i++) {
        target[i] = from[i];
    }
}

static uint32_t padded(uint32_t size)
{
    return (size + 3u) & ~3u;
}

static uint32_t in_units(uint32_t size)
{
    return (size + FLASH_UNIT - 1u) / FLASH_UNIT * FLASH_UNIT;
}

/* Bytes one after the other, written by whole units. */
typedef struct {
    uint32_t sector, at, filled;
    int good;
    uint8_t unit[FLASH_UNIT];
} writer;

static void put(writer *to, const void *bytes, uint32_t count)
{
    const uint8_t *from = bytes;
    for (uint32_t i = 0; to->good && i < count; i++) {
        to->unit[to->filled++] = from[i];
        if (to->filled == FLASH_UNIT) {
            to->good = flash_write(to->sector, to->at, to->unit);
            to->at += FLASH_UNIT;
            to->filled = 0;
        }
    }
}

/* Fill the last unit with zeros up to `place`, a multiple of FLASH_UNIT; returns 0 if a unit could not be written. */
static int finish(writer *to, uint32_t place)
{
    const uint8_t zero = 0;
    while (to->good && to->at < place) {
        put(to, &zero, 1);
    }
    return to->good;
}

static uint32_t snapshot_size(void)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < PARTS; i++) {
        size += padded(tml_memory(i).size);
    }
    return size;
}

static int is_valid(uint32_t sector, header *found)
{
    const uint8_t *flash = flash_sector(sector);
    if (!flash_intact(sector, 0, sizeof *found)) {
        return 0;
    }
    copy(found, flash, sizeof *found);
    return found->magic == MAGIC && found->model == TML_MODEL_ID && found->size == snapshot_size() &&
           found->crc == crc32(0, found, sizeof *found - sizeof found->crc) &&
           flash_intact(sector, HEAD, found->size) && found->snapshot_crc == crc32(0, flash + HEAD, found->size);
}

int tml_save_all(void)
{
    uint32_t other = 1 - current, after = HEAD + in_units(snapshot_size());
    if (flash_size() < after || !flash_erase(other)) {
        return 0;
    }
    writer snapshot = {other, HEAD, 0, 1, {0}};
    for (uint32_t i = 0; i < PARTS; i++) {
        tml_part part = tml_memory(i);
        const uint8_t zeros[4] = {0, 0, 0, 0};
        put(&snapshot, part.bytes, part.size);
        put(&snapshot, zeros, padded(part.size) - part.size);
    }
    if (!finish(&snapshot, after)) {
        return 0;
    }
    header made = {MAGIC, TML_MODEL_ID, newest + 1, snapshot_size(), 0, 0};
    made.snapshot_crc = crc32(0, flash_sector(other) + HEAD, made.size);
    made.crc = crc32(0, &made, sizeof made - sizeof made.crc);
    writer head = {other, 0, 0, 1, {0}};
    put(&head, &made, sizeof made);
    if (!finish(&head, HEAD)) {
        return 0;
    }
    current = other;
    end = after;
    newest = made.sequence;
    return 1;
}

int tml_save(const float *x, int32_t label, int taught)
{
    record made = {taught ? TAUGHT : OBSERVED, label < 0 || label >= TML_CLASSES ? TML_UNKNOWN : label, tml_time()};
    uint32_t features = made.label == TML_UNKNOWN ? 0 : TML_FEATURES * (uint32_t)sizeof(float);
    uint32_t size = in_units((uint32_t)sizeof made + features + 4);
    if (end == 0 || end + size > flash_size()) {
        return tml_save_all();
    }
    uint32_t crc = crc32(crc32(0, &made, sizeof made), x, features);
    uint32_t at = end;
    end = 0; /* if the power goes now, or the flash fails, this sector takes no more records */
    writer to = {current, at, 0, 1, {0}};
    put(&to, &made, sizeof made);
    put(&to, x, features);
    put(&to, &crc, sizeof crc);
    if (!finish(&to, at + size)) {
        return 0;
    }
    end = at + size;
    return 1;
}

/* Observe the records of the current sector again. */
static void replay(uint32_t at)
{
    const uint8_t *flash = flash_sector(current);
    end = 0;
    while (at + in_units(sizeof(record) + 4) <= flash_size()) {
        record found;
        uint32_t crc, features = 0;
        if (!flash_intact(current, at, sizeof found)) {
            return; /* cut: no more records in this sector */
        }
        copy(&found, flash + at, sizeof found);
        if (found.kind == ERASED && found.label == -1 && found.time == ERASED) {
            break;
        }
        if (found.label != TML_UNKNOWN) {
            features = TML_FEATURES * (uint32_t)sizeof(float);
        }
        uint32_t size = in_units((uint32_t)sizeof found + features + 4);
        if (at + size > flash_size() || !flash_intact(current, at, size)) {
            return;
        }
        const float *x = (const float *)(const void *)(flash + at + sizeof found); /* a multiple of 4 */
        copy(&crc, flash + at + sizeof found + features, sizeof crc);
        if (crc != crc32(crc32(0, &found, sizeof found), x, features)) {
            return;
        }
        uint32_t *time = tml_memory(3).bytes;
        if (found.kind == TAUGHT) {
            *time = found.time;
            (void)tml_teach(x, found.label);
        } else if (found.label == TML_UNKNOWN) {
            *time = found.time;
        } else {
            *time = found.time - 1;
            (void)tml_observe(x, found.label);
        }
        at += size;
    }
    if (!flash_intact(current, at, flash_size() - at)) {
        return;
    }
    for (uint32_t i = at; i < flash_size(); i++) {
        if (flash[i] != 0xFF) {
            return; /* something was written behind the last record */
        }
    }
    end = at;
}

int tml_restore(void)
{
    header found[2];
    uint32_t valid[2] = {0, 0};
    current = 1;
    end = 0;
    newest = 0;
    tml_reset();
    for (uint32_t sector = 0; flash_size() > HEAD + snapshot_size() && sector < 2; sector++) {
        valid[sector] = (uint32_t)is_valid(sector, &found[sector]);
    }
    if (!valid[0] && !valid[1]) {
        return 0;
    }
    /* the difference, so that the count may wrap */
    current = valid[0] && (!valid[1] || (int32_t)(found[0].sequence - found[1].sequence) > 0) ? 0 : 1;
    newest = found[current].sequence;
    uint32_t at = HEAD;
    for (uint32_t i = 0; i < PARTS; i++) {
        tml_part part = tml_memory(i);
        if (part.size > 0) {
            copy(part.bytes, flash_sector(current) + at, part.size);
        }
        at += padded(part.size);
    }
    replay(HEAD + in_units(snapshot_size()));
    return 1;
}
