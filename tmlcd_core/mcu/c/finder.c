#include "finder.h"

#include "mathfn.h"
#include "model.h"

/* Levels in half decibels above the background; times in frames. */
#define ENTER 16                /* a word reaches this level … */
#define STAY 6                  /* … and ends below this one, … */
#define RANGE 104               /* … or this far below its loudest frame */
#define ROUNDING 12.5f          /* power of a bin if the samples have only the rounding noise of int16 */
#define SETTLED 32.0f           /* quiet frames of which the background is about the mean */
#define STEPS_PER_OCTAVE 6.02059991f

static float background[TML_FINDER_BANDS], last[TML_FINDER_BANDS];
static uint32_t now;            /* the next frame */
static uint32_t learned;        /* frames of the first background, up to TML_START */
static uint32_t quiet;          /* quiet frames in a row */
static struct {                 /* sound above STAY */
    uint32_t start, peak, on;
} run;
static struct {                 /* last sound that is too short for a word but may belong to the next one */
    uint32_t start, stop, on;
} burst;
static tml_span word;
static uint32_t in_word, too_long;

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void forget(void)
{
    run.on = burst.on = in_word = too_long = 0;
    learned = quiet = 0;
}

void tml_finder_reset(void)
{
    now = 0;
    forget();
}

uint32_t tml_quiet(void)
{
    return quiet;
}

/* Level of a frame; updates the background. */
static uint32_t measure(const float bands[TML_FINDER_BANDS])
{
    float smooth[TML_FINDER_BANDS], ratio = 0.0f;
    uint32_t level = 0;
    for (uint32_t b = 0; b < TML_FINDER_BANDS; b++) {
        smooth[b] = 0.5f * (bands[b] + (now > 0 ? last[b] : bands[b]));
        last[b] = bands[b];
    }
    if (learned < TML_START) {
        learned++;
        for (uint32_t b = 0; b < TML_FINDER_BANDS; b++) {
            background[b] = learned == 1 ? smooth[b] : background[b] + (smooth[b] - background[b]) / (float)learned;
        }
        return 0;
    }
    for (uint32_t b = 0; b < TML_FINDER_BANDS; b++) {
        ratio += smooth[b] / (background[b] > ROUNDING ? background[b] : ROUNDING);
    }
    ratio /= (float)TML_FINDER_BANDS;
    if (ratio > 1.0f) {
        level = (uint32_t)(STEPS_PER_OCTAVE * tml_log2f(ratio) + 0.5f);
        level = level > 255 ? 255 : level;
    }
    if (level < STAY) {
        for (uint32_t b = 0; b < TML_FINDER_BANDS; b++) {
            background[b] += (smooth[b] - background[b]) / SETTLED;
        }
    }
    return level;
}

/* The run of sound has ended before frame `now`. */
static void end_run(void)
{
    run.on = 0;
    if (run.peak < ENTER) {
        return;
    }
    if (in_word && run.start - word.stop - 1 <= TML_CLOSURE) {
        word.stop = now - 1;
        word.level = larger(word.level, run.peak);
    } else if (now - run.start >= TML_SHORTEST) {
        word.start = burst.on && run.start - burst.stop - 1 <= TML_ATTACK ? burst.start : run.start;
        word.stop = now - 1;
        word.level = run.peak;
        in_word = 1;
        too_long = burst.on = 0;
    } else {
        burst.start = run.start;
        burst.stop = now - 1;
        burst.on = 1;
    }
}

int tml_find(const float bands[TML_FINDER_BANDS], tml_span *found)
{
    int event = TML_NOTHING;
    uint32_t level = measure(bands), stay = STAY;
    uint32_t loudest = larger(in_word ? word.level : 0, run.on ? run.peak : 0);
    quiet = level < STAY ? quiet + 1 : 0;
    if (loudest > RANGE + STAY) {
        stay = loudest - RANGE;
    }
    if (level >= stay) {
        if (!run.on) {
            run.on = 1;
            run.start = now;
            run.peak = 0;
        }
        run.peak = larger(run.peak, level);
        if (now - run.start >= TML_STEADY) { /* no word is that long: the new background */
            forget();
            event = TML_RESTARTED;
        }
    } else if (run.on) {
        end_run();
    }
    if (in_word && word.stop - word.start >= TML_LONGEST) {
        too_long = 1;
    }
    int goes_on = run.on && run.peak >= ENTER && run.start - word.stop - 1 <= TML_CLOSURE;
    if (in_word && now - word.stop >= TML_PAUSE && !goes_on) {
        in_word = 0;
        if (!too_long) {
            *found = word;
            event = TML_ENDED;
        }
    }
    now++;
    return event;
}
