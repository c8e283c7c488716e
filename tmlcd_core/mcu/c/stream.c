#include "stream.h"

#include "report.h"
#if TML_AUDIO
#include "frontend.h"
#endif

#define CHUNK 64 /* samples, a small buffer on the stack */

static void answer(const float *x, int32_t label, tml_writer write)
{
    tml_step step = tml_observe(x, label);
    char line[TML_LINE];
    tml_report(&step, line);
    write(line);
}

#if TML_AUDIO && TML_FRONT_END != TML_CLIP

/* Hear the samples of a record; returns 0 at the end of the stream. */
static int hear_record(tml_reader read, int32_t label, tml_writer write)
{
    int16_t samples[CHUNK];
    uint32_t left;
    if (read(&left, sizeof left) != sizeof left) {
        return 0;
    }
    while (left > 0) {
        uint32_t count = left < CHUNK ? left : CHUNK;
        if (read(samples, count * (uint32_t)sizeof samples[0]) != count * sizeof samples[0]) {
            return 0;
        }
        for (uint32_t at = 0; at < count;) {
            tml_word word;
            at += tml_hear(samples + at, count - at, &word);
            if (word.x != 0) {
                answer(word.x, label, write);
            }
        }
        left -= count;
    }
    return 1;
}

void tml_run_stream(tml_reader read, tml_writer write)
{
    int32_t label;
    tml_reset();
    tml_listen();
    while (read(&label, sizeof label) == sizeof label && hear_record(read, label, write)) {
    }
}

#else

#if TML_AUDIO

static const float *next_sample(tml_reader read)
{
    int16_t samples[CHUNK];
    uint32_t received = 0;
    tml_audio_start();
    while (received < TML_SAMPLE_RATE) {
        uint32_t wanted = TML_SAMPLE_RATE - received < CHUNK ? TML_SAMPLE_RATE - received : CHUNK;
        if (read(samples, wanted * sizeof samples[0]) != wanted * sizeof samples[0]) {
            return 0;
        }
        received = tml_audio_push(samples, wanted);
    }
    return tml_extract();
}

#else

static float vector[TML_FEATURES];

static const float *next_sample(tml_reader read)
{
    return read(vector, sizeof vector) == sizeof vector ? vector : 0;
}

#endif

void tml_run_stream(tml_reader read, tml_writer write)
{
    int32_t label;
    tml_reset();
    while (read(&label, sizeof label) == sizeof label) {
        const float *x = next_sample(read);
        if (x == 0) {
            return;
        }
        answer(x, label, write);
    }
}

#endif
