#include "stream.h"

#include "report.h"

#if TML_AUDIO

#define CHUNK 64 /* samples, a small buffer on the stack */

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
        tml_step step = tml_observe(x, label);
        char line[TML_LINE];
        tml_report(&step, line);
        write(line);
    }
}
