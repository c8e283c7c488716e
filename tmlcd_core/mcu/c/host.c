/* Host program: the same code on a computer. Each argument is one sample, in the order of time:
 *
 *     ./tmlcd-host clip.wav            predict
 *     ./tmlcd-host clip.wav=yes        predict, then learn that it was "yes"
 *     ./tmlcd-host --stream file       records as on the device, see stream.h
 *
 * A line has the time, the prediction, |T|, and after an alarm "alarm" and the estimated time of the change. A model
 * of vectors reads text files of numbers instead of wav files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "stream.h"
#if TML_AUDIO
#include "frontend.h"
#endif

static FILE *input;

static void fail(const char *file, const char *what)
{
    fprintf(stderr, "%s: %s\n", file, what);
    exit(2);
}

static uint32_t read_input(void *to, uint32_t bytes)
{
    return (uint32_t)fread(to, 1, bytes, input);
}

static void write_line(const char *line)
{
    puts(line);
}

static void answer(const char *name, const float *x, int32_t label)
{
    tml_step step = tml_observe(x, label);
    char line[TML_LINE];
    tml_report(&step, line);
    printf("%s: %s\n", name, line);
}

#if TML_AUDIO

static uint32_t number(const uint8_t *bytes, int count)
{
    uint32_t value = 0;
    while (count-- > 0) {
        value = value << 8 | bytes[count];
    }
    return value;
}

static uint32_t channels, left; /* of the open wav file; its samples that were not read yet */

static void open_wav(const char *name)
{
    uint8_t head[12], format[16] = {0};
    if (read_input(head, 12) != 12 || memcmp(head, "RIFF", 4) != 0 || memcmp(head + 8, "WAVE", 4) != 0) {
        fail(name, "is not a wav file");
    }
    while (read_input(head, 8) == 8 && memcmp(head, "data", 4) != 0) {
        uint32_t size = number(head + 4, 4), known = 0;
        if (memcmp(head, "fmt ", 4) == 0 && size >= sizeof format) {
            known = read_input(format, sizeof format);
        }
        for (uint32_t i = known; i < size + (size & 1u) && getc(input) != EOF; i++) {
        }
    }
    uint32_t rate = number(format + 4, 4), bits = number(format + 14, 2);
    channels = number(format + 2, 2);
    if ((number(format, 2) != 1 && number(format, 2) != 0xFFFE) || bits != 16 || channels == 0) {
        fail(name, "is not 16-bit PCM: convert it, e.g. sox in.wav -b 16 -c 1 out.wav");
    }
    if (rate != TML_SAMPLE_RATE) {
        fprintf(stderr, "%s: is sampled at %u Hz, this model needs %d Hz: resample it\n", name, (unsigned)rate,
                TML_SAMPLE_RATE);
        exit(2);
    }
    left = number(head + 4, 4) / 2 / channels;
}

/* Next sample of the first channel; returns 0 at the end. */
static int next_pcm(int16_t *sample)
{
    uint8_t pair[2];
    if (left == 0 || read_input(pair, 2) != 2) {
        return 0;
    }
    left--;
    *sample = (int16_t)number(pair, 2);
    for (uint32_t i = 2; i < 2 * channels && getc(input) != EOF; i++) {
    }
    return 1;
}

#if TML_FRONT_END == TML_CLIP

/* One second of the first channel; a shorter clip is repeated, as in training. */
static void answer_file(const char *name, int32_t label)
{
    static int16_t clip[TML_SAMPLE_RATE];
    uint32_t length = 0;
    open_wav(name);
    while (length < TML_SAMPLE_RATE && next_pcm(&clip[length])) {
        length++;
    }
    if (length == 0) {
        fail(name, "has no sound samples");
    }
    for (uint32_t i = length; i < TML_SAMPLE_RATE; i++) {
        clip[i] = clip[i - length];
    }
    tml_audio_start();
    tml_audio_push(clip, TML_SAMPLE_RATE);
    answer(name, tml_extract(), label);
}

#else

/* Every word of the first channel; half a second of silence follows. */
static void answer_file(const char *name, int32_t label)
{
    uint32_t words = 0, silence = TML_SAMPLE_RATE / 2;
    open_wav(name);
    tml_listen();
    for (int16_t sample = 0; next_pcm(&sample) || silence-- > 0; sample = 0) {
        tml_word word;
        tml_hear(&sample, 1, &word);
        if (word.x != 0) {
            words++;
            answer(name, word.x, label);
        }
    }
    if (words == 0) {
        fail(name, "has no word: it needs 0.3 s of quiet before it");
    }
}

#endif

#else

static void answer_file(const char *name, int32_t label)
{
    static float vector[TML_FEATURES];
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        if (fscanf(input, "%f%*[ ,;\t\r\n]", &vector[i]) < 1) {
            fail(name, "has too few numbers");
        }
    }
    answer(name, vector, label);
}

#endif

static int32_t code_of(const char *label)
{
    for (int32_t code = 0; code < TML_CLASSES; code++) {
        if (strcmp(label, tml_class_names[code]) == 0) {
            return code;
        }
    }
    fail(label, "is not a class of this model");
    return TML_UNKNOWN;
}

static void open_input(const char *name)
{
    input = strcmp(name, "-") == 0 ? stdin : fopen(name, "rb");
    if (input == NULL) {
        fail(name, "cannot be opened");
    }
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "--stream") == 0) {
        open_input(arguments[2]);
        tml_run_stream(read_input, write_line);
        return 0;
    }
    if (count < 2) {
        fail(arguments[0], "give files, each as FILE or FILE=LABEL to learn it; or --stream FILE");
    }
    tml_reset();
    for (int i = 1; i < count; i++) {
        char *name = arguments[i], *equals = strrchr(name, '=');
        int32_t label = equals == NULL ? TML_UNKNOWN : code_of(equals + 1);
        if (equals != NULL) {
            *equals = '\0';
        }
        open_input(name);
        answer_file(name, label);
        fclose(input);
    }
    return 0;
}
