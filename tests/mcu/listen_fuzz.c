/* Throws any sound, in blocks of any size, at a front end and checks its words. Built with sanitizers.
 * Arguments: seed, number of seconds. Prints the number of words. */
#include <stdio.h>
#include <stdlib.h>

#include "frontend.h"

static uint64_t state;

static uint32_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static void require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        exit(1);
    }
}

int main(int count, char **arguments)
{
    static int16_t sound[TML_SAMPLE_RATE];
    uint32_t heard = 0, words = 0, last = 0;
    if (count != 3) {
        return 2;
    }
    state = strtoull(arguments[1], NULL, 10) * 2654435761u + 88172645463325252u;
    tml_reset();
    tml_listen();
    for (uint32_t second = (uint32_t)strtoul(arguments[2], NULL, 10); second > 0; second--) {
        uint32_t kind = draw() % 8, from = draw() % TML_SAMPLE_RATE, period = 10 + draw() % 200;
        for (uint32_t i = 0; i < TML_SAMPLE_RATE; i++) {
            int16_t noise = (int16_t)(draw() % 7);
            switch (kind) {
            case 0: sound[i] = 0; break;
            case 1: sound[i] = (int16_t)draw(); break;
            case 2: sound[i] = INT16_MIN; break;
            case 3: sound[i] = i & 1 ? INT16_MAX : INT16_MIN; break;
            case 4: sound[i] = (int16_t)(i == from ? INT16_MAX : noise); break;
            case 5: sound[i] = noise; break;
            default: sound[i] = (int16_t)(i > from && i % period < period / 2 ? 9000 + noise : noise); break;
            }
        }
        for (uint32_t at = 0; at < TML_SAMPLE_RATE;) {
            uint32_t left = TML_SAMPLE_RATE - at, block = draw() % 4 == 0 ? left : draw() % 700;
            block = block < left ? block : left;
            tml_word word;
            uint32_t taken = tml_hear(sound + at, block, &word);
            require(taken == block || (taken < block && word.x != 0), "a block is taken as a whole, or up to a word");
            at += taken;
            heard += taken;
            if (word.x == 0) {
                continue;
            }
            words++;
            require(word.start >= last && word.start < word.stop && word.stop <= heard, "words follow each other");
            require(word.decibels > 0.0f && word.decibels < 128.0f, "a word is louder than the background");
            last = word.stop;
            for (uint32_t i = 0; i < TML_FEATURES; i++) {
                require(word.x[i] > -1e6f && word.x[i] < 1e6f, "features are finite");
            }
            tml_step step = tml_observe(word.x, (int32_t)(draw() % TML_CLASSES));
            require(step.prediction >= 0 && step.prediction < TML_CLASSES, "a word has a class");
        }
        if (draw() % 32 == 0) {
            tml_listen();
            heard = last = 0;
        }
    }
    printf("%u\n", (unsigned)words);
    return 0;
}
