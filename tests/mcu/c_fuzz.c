/* Throws everything at the exported code and checks what must hold afterwards. Built with sanitizers by test_c_fuzz.py.
 * Arguments: seed, number of samples. Prints the last step. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "learner.c" /* to reach the clock */

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

static float any_float(void)
{
    static const float strange[] = {0.0f,     -0.0f,  1e-45f, -1e-40f, 1e38f,    -3.4e38f, 3.402823466e38f,
                                    INFINITY, -INFINITY, NAN,  1.0f,    -1.0f,    255.5f,   32767.5f};
    uint32_t kind = draw() % 8;
    if (kind == 0) {
        return strange[draw() % (sizeof strange / sizeof strange[0])];
    }
    if (kind == 1) {
        union { uint32_t u; float f; } bits = {draw()};
        return bits.f;
    }
    return (float)(int32_t)draw() / 1e9f;
}

static int32_t any_label(void)
{
    static const int32_t strange[] = {INT_MIN, INT_MAX, -1, -2, 255, 256, TML_CLASSES, TML_CLASSES + 1};
    return draw() % 4 == 0 ? strange[draw() % 8] : (int32_t)(draw() % TML_CLASSES);
}

#if TML_AUDIO
static const float *any_sound(void)
{
    static int16_t samples[2 * TML_SAMPLE_RATE];
    uint32_t kind = draw() % 6, length = draw() % (2 * TML_SAMPLE_RATE);
    for (uint32_t i = 0; i < 2 * TML_SAMPLE_RATE; i++) {
        switch (kind) {
        case 0: samples[i] = 0; break;
        case 1: samples[i] = INT16_MIN; break;
        case 2: samples[i] = i & 1 ? INT16_MAX : INT16_MIN; break;
        case 3: samples[i] = (i / 50) & 1 ? INT16_MAX : INT16_MIN; break;
        case 4: samples[i] = (int16_t)(i == length); break;
        default: samples[i] = (int16_t)draw(); break;
        }
    }
    if (draw() % 8 != 0) { /* sometimes the last clip goes on */
        tml_audio_start();
    }
    while (length > 0) {
        uint32_t part = draw() % (length + 1);
        require(tml_audio_push(samples, part) <= TML_SAMPLE_RATE, "the clip is not longer than a second");
        length -= part > 0 ? part : 1;
    }
    const float *x = tml_extract();
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        require(x[i] >= 0.0f && x[i] < 1e6f, "features of sound are finite and not negative");
    }
    return draw() % 4 == 0 ? tml_extract() : x; /* twice is pointless, not dangerous */
}
#endif

int main(int count, char **arguments)
{
    if (count != 3) {
        return 2;
    }
    state = strtoull(arguments[1], NULL, 10) * 2654435761u + 88172645463325252u;
    uint32_t samples = (uint32_t)strtoul(arguments[2], NULL, 10);
    static float vector[TML_FEATURES];
    tml_step step = {0, 0, 0, 0, 0, 0};
    uint32_t alarms = 0, refused = 0;
    tml_reset();
    for (uint32_t i = 0; i < samples; i++) {
        int strange = draw() % 16 == 0;
        int32_t label = any_label();
        const float *x = vector;
        for (uint32_t j = 0; j < TML_FEATURES; j++) {
            /* mostly a problem that can be learnt and that changes: else no alarm would ever be raised */
            uint32_t place = ((uint32_t)label + (i >> 10)) & 1u;
            vector[j] = strange ? any_float() : (float)(draw() % 1000) / 1000.0f + (float)place;
        }
#if TML_AUDIO
        if (draw() % 2 == 0) {
            x = any_sound();
        }
#endif
        uint32_t before = tml_time(), size = store.size;
        int32_t guess = tml_predict(x);
        step = tml_observe(x, label);
        require(step.prediction == guess, "observe predicts what predict does");
        require(step.prediction >= -1 && step.prediction < TML_CLASSES, "the prediction is a class");
        require(step.size >= 1 && step.size <= TML_CAPACITY, "T is neither empty nor too large");
        require(step.time == (step.prediction == TML_REFUSED ? before : before + 1), "the clock ticks");
        require(step.prediction != TML_REFUSED || step.size == size, "what is refused is not learnt");
        require(!step.alarm || (step.change > 0 && step.change <= step.time), "a change lies before its alarm");
        for (uint32_t j = 1; j < store.size; j++) {
            require(step.time < before || store.time[tml_place(&store, j - 1)] <= store.time[tml_place(&store, j)],
                    "T is in the order of time");
        }
        alarms += step.alarm;
        refused += step.prediction == TML_REFUSED;
    }
    counts.now = UINT32_MAX - 200; /* 136 years later: the clock wraps */
    for (uint32_t i = 0; i < 500; i++) {
        for (uint32_t j = 0; j < TML_FEATURES; j++) {
            vector[j] = (float)(draw() % 1000) / 1000.0f;
        }
        step = tml_observe(vector, (int32_t)(draw() % TML_CLASSES));
        require(step.size >= 1 && step.size <= TML_CAPACITY, "T survives the clock");
    }
    printf("%u %u %u %u\n", (unsigned)samples, (unsigned)step.size, (unsigned)alarms, (unsigned)refused);
    return 0;
}
