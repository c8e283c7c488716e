/* Throws frames at the serial protocol: whole, cut, flipped, of any type and length, and noise. Built with sanitizers.
 * Arguments: seed, number of frames. Prints how many were answered and how many samples were observed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol.c" /* to reach the checksum */

static uint64_t state_of_draws;
static uint32_t answers, observed, sent_bytes;

static uint32_t draw(void)
{
    state_of_draws ^= state_of_draws << 13;
    state_of_draws ^= state_of_draws >> 7;
    state_of_draws ^= state_of_draws << 17;
    return (uint32_t)(state_of_draws >> 32);
}

static void require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        exit(1);
    }
}

void board_send(const uint8_t *bytes, uint32_t number)
{
    require(number >= 6 && number <= FRAME + 1 && bytes[number - 1] == 0, "an answer is a frame");
    require(memchr(bytes, 0, number - 1) == NULL, "a frame has one zero, at its end");
    answers++;
    sent_bytes += number;
}

void board_measure(void)
{
}

uint32_t board_cycles(void)
{
    return 0;
}

uint32_t board_stack(void)
{
    return 0;
}

uint32_t board_clock(void)
{
    return 1;
}

const char *board_name(void)
{
    return "fuzz";
}

void board_learned(const float *x, int32_t label, const tml_step *step)
{
    (void)x;
    (void)label;
    observed += step != 0;
    require(step == 0 || (step->size >= 1 && step->size <= TML_CAPACITY), "T is neither empty nor too large");
}

static void deliver(uint8_t type, uint8_t sequence, const uint8_t *payload, uint32_t size, uint32_t damage)
{
    uint8_t frame[600], encoded[620];
    uint32_t length = 0, code = 0, end;
    frame[length++] = type;
    frame[length++] = sequence;
    memcpy(frame + length, payload, size);
    length += size;
    uint16_t crc = checksum(frame, length);
    frame[length++] = (uint8_t)crc;
    frame[length++] = (uint8_t)(crc >> 8);
    for (end = 1; end <= length; end++) {
        encoded[end] = frame[end - 1];
        if (frame[end - 1] == 0) {
            encoded[code] = (uint8_t)(end - code);
            code = end;
        }
    }
    encoded[code] = (uint8_t)(end - code);
    encoded[end++] = 0;
    if (damage == 1) {
        encoded[draw() % end] ^= (uint8_t)(1u << draw() % 8);
    }
    if (damage == 2) {
        end = draw() % (end + 1);
    }
    for (uint32_t i = 0; i < end; i++) {
        tml_link_byte(encoded[i]);
    }
}

int main(int argc, char **arguments)
{
    static const char types[] = "inscrxafpotmIEz";
    if (argc != 3) {
        return 2;
    }
    state_of_draws = strtoull(arguments[1], NULL, 10) * 2654435761u + 88172645463325252u;
    uint32_t frames = (uint32_t)strtoul(arguments[2], NULL, 10);
    uint8_t payload[500];
    tml_reset();
    tml_link_start();
    for (uint32_t i = 0; i < frames; i++) {
        uint32_t kind = draw() % 16, size = 0;
        uint8_t type = (uint8_t)types[draw() % (sizeof types - 1)], sequence = (uint8_t)draw();
        if (kind == 0) { /* noise */
            for (uint32_t n = draw() % 600; n > 0; n--) {
                tml_link_byte((uint8_t)draw());
            }
            continue;
        }
        if (kind < 8) { /* a sample, as it should be */
            for (uint32_t from = 0; from < TML_FEATURES; from += 59) {
                uint32_t number = TML_FEATURES - from < 59 ? TML_FEATURES - from : 59;
                payload[0] = (uint8_t)from;
                payload[1] = (uint8_t)(from >> 8);
                for (uint32_t j = 0; j < number; j++) {
                    float value = (float)(draw() % 1000) / 1000.0f + (float)((i >> 9) & 1u);
                    memcpy(payload + 2 + 4 * j, &value, 4);
                }
                deliver('x', ++sequence, payload, 2 + 4 * number, 0);
            }
            int32_t label = (int32_t)(draw() % (TML_CLASSES + 2)) - 1;
            memcpy(payload, &label, 4);
            deliver(draw() % 4 == 0 ? 't' : 'o', ++sequence, payload, 4, draw() % 32 == 0);
            continue;
        }
        size = draw() % 4 == 0 ? draw() % sizeof payload : draw() % 50;
        for (uint32_t j = 0; j < size; j++) {
            payload[j] = draw() % 3 == 0 ? 0 : (uint8_t)draw();
        }
        if (type == 'c' && draw() % 2 == 0) { /* settings that may be in range */
            tml_settings settings = *tml_get_settings();
            settings.threshold = (double)(draw() % 30);
            settings.k = draw() % 9;
            settings.batch = 1 + draw() % 40;
            settings.max_size = draw() % (TML_CAPACITY + 2);
            size = sizeof settings;
            memcpy(payload, &settings, size);
        }
        deliver(type, sequence, payload, size, draw() % 4);
    }
    tml_link_byte(0);
    uint32_t before = answers;
    deliver('i', 0, payload, 0, 0);
    require(answers == before + 1, "after all this a hello is answered");
    printf("%u %u %u\n", (unsigned)answers, (unsigned)observed, (unsigned)sent_bytes);
    return 0;
}
