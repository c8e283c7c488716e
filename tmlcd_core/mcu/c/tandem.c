/* Tandem: two linear layers and a ring of the newest samples in bytes, mixed by their likelihoods on recent labels. The
 * CUSUM test watches the accuracy, but never changes the learner. Single precision, in the order of the Python code:
 * the same bits. */
#include "cusum.h"
#include "mathfn.h"
#include "model.h"

enum { FAST, AVERAGE, LAYERS };
/* The experts: average layer, vote of all rows, their product; the product renamed by the confusion matrix, alone and
 * multiplied by the votes of the newest quarter and sixteenth. */
enum { LAYER, VOTE, BOTH, RENAMED, RENAMED_QUARTER, RENAMED_NEWEST };

#define EXPERTS TML_EXPERTS
#define NEIGHBOURS 5
#define WINDOWS 3
#define LANES 16                   /* partial sums of a dot product */
#define LONGEST_COUNT (1u << 30)   /* of samples learned */
#define LONGEST 65535              /* batch and warm-up are counted in 16 bits */
#define SHARPNESS 5.0f             /* factor of a layer's outputs in the softmax */
#define STEP 0.5f                  /* of the fast layer, divided by the squared norm */
#define BIAS_STEP 0.05f
#define LEAST_AVERAGING 0.01f      /* of the average layer: a memory of about 100 samples */
#define DISCOUNT 0.98f             /* of the log-likelihoods: a memory of about 50 samples */
#define CONFUSION_STEP 0.2f        /* of a row of the confusion matrix: a memory of about 5 samples */
#define FLOOR 0.02f                /* added to each probability of an expert */
#define LAYER_FLOOR 0.01f          /* added before a layer and a vote are multiplied */
#define VOTE_FLOOR 0.2f
#define LARGEST_OUTPUT 1e4f        /* of a layer */
#define LARGEST 3.402823466e38f

const tml_settings tml_exported = TML_SETTINGS;
tml_settings tml_current = TML_SETTINGS;

#if TML_SIZED_LATER /* WebAssembly: the memory lies outside and is as large as the page asks for */
#define MEMORY(type, name, size) type *name
#else
#define MEMORY(type, name, size) type name[size]
#endif

static struct {
    MEMORY(float, weights, LAYERS * TML_CLASSES * TML_FEATURES); /* of the layers, class by class */
    float biases[LAYERS][TML_CLASSES];
    float confusion[TML_CLASSES][TML_CLASSES]; /* recent shares of the true classes where BOTH named the row */
    float evidence[EXPERTS];               /* discounted log-likelihood of each expert */
    uint32_t learned, head, size;          /* samples learned; oldest row, rows */
    uint32_t seen;                         /* classes: their rows of the layers are in the order of appearance */
    uint16_t labels[TML_ROOM];             /* of the rows */
    uint8_t codes[TML_CLASSES];            /* code of each class seen */
    MEMORY(uint8_t, rows, TML_CAPACITY * TML_FEATURES);
} state;
static tml_cusum test;
static uint32_t now;

/* The last prediction. */
static float fast_layer[TML_CLASSES], experts[EXPERTS][TML_CLASSES];
static MEMORY(uint8_t, coded, TML_FEATURES);

static float *weights_of(uint32_t layer, uint32_t c)
{
    return &state.weights[(layer * TML_CLASSES + c) * TML_FEATURES];
}

static uint8_t *row_at(uint32_t place)
{
    return &state.rows[place * TML_FEATURES];
}

#if TML_SIZED_LATER
static void make_room(uint32_t classes); /* for one more class: fewer rows within the same bytes */
#endif

void tml_reset(void)
{
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        for (uint32_t c = 0; c < TML_CLASSES; c++) {
            for (uint32_t i = 0; i < TML_FEATURES; i++) {
                weights_of(layer, c)[i] = 0.0f;
            }
            state.biases[layer][c] = 0.0f;
        }
    }
    for (uint32_t j = 0; j < TML_CLASSES; j++) {
        for (uint32_t c = 0; c < TML_CLASSES; c++) {
            state.confusion[j][c] = j == c ? 1.0f : 0.0f;
        }
    }
    for (uint32_t h = 0; h < EXPERTS; h++) {
        state.evidence[h] = 0.0f;
    }
#if TML_SEEN > 0
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        for (uint32_t c = 0; c < TML_SEEN; c++) {
            for (uint32_t i = 0; i < TML_FEATURES; i++) {
                weights_of(layer, c)[i] = tml_initial_weights[layer][c][i];
            }
            state.biases[layer][c] = tml_initial_biases[layer][c];
        }
    }
    for (uint32_t j = 0; j < TML_SEEN; j++) {
        for (uint32_t c = 0; c < TML_SEEN; c++) {
            state.confusion[j][c] = tml_initial_confusion[j][c];
        }
        state.codes[j] = tml_initial_codes[j];
    }
    for (uint32_t h = 0; h < EXPERTS; h++) {
        state.evidence[h] = tml_initial_evidence[h];
    }
    for (uint32_t r = 0; r < TML_INITIAL; r++) {
        for (uint32_t i = 0; i < TML_FEATURES; i++) {
            row_at(r)[i] = tml_initial_x[r][i];
        }
        state.labels[r] = tml_initial_label[r];
    }
#endif
    state.learned = TML_LEARNED;
    state.head = 0;
    state.size = TML_INITIAL;
    state.seen = TML_SEEN;
    tml_cusum_reset(&test, tml_current.warmup);
    now = 0;
}

uint32_t tml_time(void)
{
    return now;
}

tml_part tml_memory(uint32_t part)
{
    const tml_part parts[5] = {
        {&state, sizeof state}, {0, 0}, {&test, sizeof test}, {&now, sizeof now}, {&tml_current, sizeof tml_current},
    };
    const tml_part none = {0, 0};
    return part < 5 ? parts[part] : none;
}

const tml_settings *tml_get_settings(void)
{
    return &tml_current;
}

int tml_configure(const tml_settings *settings)
{
    const tml_settings s = *settings;
    if (s.learner != TML_TANDEM || s.max_size != TML_CAPACITY || s.batch < 1 || s.batch > LONGEST || s.warmup < 1 ||
        s.warmup > LONGEST || s.down > 1 || !(s.threshold >= 0.0)) {
        return 0;
    }
    int restart = s.batch != tml_current.batch || s.warmup != tml_current.warmup || s.down != tml_current.down;
    tml_current = s;
    if (restart) {
        tml_cusum_reset(&test, tml_current.warmup);
    }
    return 1;
}

double tml_statistic(void)
{
    return test.statistic;
}

/* Exponential function of x <= 0, and natural logarithm of 0 < x <= 1, as in Cephes (S. Moshier). */

static float exponential(float x)
{
    static const float terms[6] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                   4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
    if (!(x > -87.0f)) {
        return 0.0f;
    }
    float scaled = x * 1.44269504088896341f + 0.5f;
    int32_t power = (int32_t)scaled;
    if ((float)power > scaled) {
        power--;
    }
    float z = (float)power;
    float r = x - z * 0.693359375f;
    r = r - z * -2.12194440e-4f;
    float total = terms[0];
    for (uint32_t i = 1; i < 6; i++) {
        total = total * r + terms[i];
    }
    total = total * (r * r) + r;
    union { uint32_t u; float f; } scale;
    scale.u = (uint32_t)(power + 127) << 23; /* 2^power, power >= -126 */
    return (total + 1.0f) * scale.f;
}

static float logarithm(float x)
{
    static const float terms[9] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                   -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                   2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
    float z = 0.0f;
    while (x < 0.707106781186547524f) {
        x = x + x;
        z = z - 1.0f;
    }
    float r = x - 1.0f, total = terms[0];
    for (uint32_t i = 1; i < 9; i++) {
        total = total * r + terms[i];
    }
    float square = r * r;
    total = total * r * square;
    total = total + z * -2.12194440e-4f;
    total = total - 0.5f * square;
    return (r + total) + z * 0.693359375f;
}

/* Dot product of a row of weights (or, if 0, of x itself) and x minus the mean: the lanes in turn, then the rest. */
static float dot(const float *weights, const float *x)
{
    float lanes[LANES] = {0};
    uint32_t whole = TML_FEATURES - TML_FEATURES % LANES;
    for (uint32_t i = 0; i < whole; i += LANES) {
        for (uint32_t lane = 0; lane < LANES; lane++) {
            float centred = x[i + lane] - tml_mean[i + lane];
            lanes[lane] += (weights != 0 ? weights[i + lane] : centred) * centred;
        }
    }
    float total = lanes[0];
    for (uint32_t lane = 1; lane < LANES; lane++) {
        total += lanes[lane];
    }
    for (uint32_t i = whole; i < TML_FEATURES; i++) {
        float centred = x[i] - tml_mean[i];
        total += (weights != 0 ? weights[i] : centred) * centred;
    }
    return total;
}

static void encode(const float *x)
{
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        float level = (x[i] - TML_LOW) * TML_LEVELS + 0.5f;
        coded[i] = (uint8_t)(level > 0.0f ? (level < 255.0f ? level : 255.0f) : 0.0f);
    }
}

static int32_t distance(const uint8_t *row)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        int32_t difference = (int32_t)coded[i] - (int32_t)row[i];
        sum += difference * difference;
    }
    return sum;
}

static void normalise(float *values)
{
    float total = 0.0f;
    for (uint32_t c = 0; c < state.seen; c++) {
        total += values[c];
    }
    for (uint32_t c = 0; c < state.seen; c++) {
        values[c] = total > 0.0f ? values[c] / total : 1.0f / (float)state.seen;
    }
}

static void ask_layer(uint32_t layer, const float *x, int usable, float *out)
{
    float highest = -LARGEST;
    for (uint32_t c = 0; c < state.seen; c++) {
        float value = usable ? dot(weights_of(layer, c), x) : 0.0f;
        value = SHARPNESS * (value + state.biases[layer][c]);
        if (!(value > -LARGEST_OUTPUT && value < LARGEST_OUTPUT)) {
            value = value > 0.0f ? LARGEST_OUTPUT : -LARGEST_OUTPUT;
        }
        out[c] = value;
        highest = value > highest ? value : highest;
    }
    for (uint32_t c = 0; c < state.seen; c++) {
        out[c] = exponential(out[c] - highest);
    }
    normalise(out);
}

static uint32_t place_of(uint32_t i) /* the i-th oldest row */
{
    uint32_t place = state.head + i;
    return place < TML_CAPACITY ? place : place - TML_CAPACITY;
}

/* Votes of the nearest rows, 1/distance each: all, the newest quarter, the newest sixteenth of the capacity. Of equally
 * distant rows the older is nearer. Returns the squared distance of the nearest one. */
static int32_t ask_rows(void)
{
    static const uint32_t parts[WINDOWS] = {1, 4, 16}, votes[WINDOWS] = {VOTE, RENAMED_QUARTER, RENAMED_NEWEST};
    int32_t near[WINDOWS][NEIGHBOURS];
    uint32_t voters[WINDOWS][NEIGHBOURS], found[WINDOWS] = {0};
    for (uint32_t i = 0; i < state.size; i++) {
        int32_t squared = distance(row_at(place_of(i)));
        for (uint32_t w = 0; w < WINDOWS; w++) {
            uint32_t last = found[w], newest = TML_CAPACITY / parts[w];
            if (i + newest < state.size || (last == NEIGHBOURS && squared >= near[w][NEIGHBOURS - 1])) {
                continue;
            }
            last = last < NEIGHBOURS ? found[w]++ : NEIGHBOURS - 1;
            for (; last > 0 && squared < near[w][last - 1]; last--) {
                near[w][last] = near[w][last - 1];
                voters[w][last] = voters[w][last - 1];
            }
            near[w][last] = squared;
            voters[w][last] = i;
        }
    }
    for (uint32_t w = 0; w < WINDOWS; w++) {
        float *out = experts[votes[w]];
        for (uint32_t c = 0; c < state.seen; c++) {
            out[c] = 0.0f;
        }
        for (uint32_t j = 0; j < found[w]; j++) {
            float squared = near[w][j] > 1 ? (float)near[w][j] : 1.0f;
            out[state.labels[place_of(voters[w][j])]] += 1.0f / (float)tml_sqrt((double)squared);
        }
        normalise(out);
    }
    return found[0] > 0 ? near[0][0] : 0;
}

static void multiply(const float *layer, const float *vote, float *out)
{
    for (uint32_t c = 0; c < state.seen; c++) {
        out[c] = (layer[c] + LAYER_FLOOR) * (vote[c] + VOTE_FLOOR);
    }
    normalise(out);
}

static void rename_classes(void)
{
    for (uint32_t c = 0; c < state.seen; c++) {
        float total = 0.0f;
        for (uint32_t j = 0; j < state.seen; j++) {
            total += experts[BOTH][j] * state.confusion[j][c];
        }
        experts[RENAMED][c] = total;
    }
    normalise(experts[RENAMED]);
}

/* Predict x: fills experts and coded. Returns the place of the class; *norm is the squared norm of x minus the
 * mean, 0 if it cannot be used; *nearest is the squared distance of the nearest row. */
static uint32_t ask(const float *x, float *norm, int32_t *nearest)
{
    *norm = dot(0, x);
    if (!(*norm > 0.0f && *norm <= LARGEST)) {
        *norm = 0.0f;
    }
    encode(x);
    *nearest = ask_rows();
    ask_layer(AVERAGE, x, *norm > 0.0f, experts[LAYER]);
    multiply(experts[LAYER], experts[VOTE], experts[BOTH]);
    rename_classes();
    multiply(experts[RENAMED], experts[RENAMED_QUARTER], experts[RENAMED_QUARTER]);
    multiply(experts[RENAMED], experts[RENAMED_NEWEST], experts[RENAMED_NEWEST]);
    float best = state.evidence[0], weights[EXPERTS], share = 1.0f + FLOOR * (float)state.seen;
    for (uint32_t h = 1; h < EXPERTS; h++) {
        best = state.evidence[h] > best ? state.evidence[h] : best;
    }
    for (uint32_t h = 0; h < EXPERTS; h++) {
        weights[h] = exponential(state.evidence[h] - best);
    }
    uint32_t chosen = 0;
    float most = 0.0f;
    for (uint32_t c = 0; c < state.seen; c++) {
        float mix = 0.0f;
        for (uint32_t h = 0; h < EXPERTS; h++) {
            experts[h][c] = (experts[h][c] + FLOOR) / share;
            mix += weights[h] * experts[h][c];
        }
        if (c == 0 || mix > most || (!(mix < most) && state.codes[c] < state.codes[chosen])) {
            chosen = c;
            most = mix;
        }
    }
    return chosen;
}

/* The place of a class in the layers; a new class gets the next one, after the prediction. */
static uint32_t place_of_class(uint8_t code)
{
    for (uint32_t c = 0; c < state.seen; c++) {
        if (state.codes[c] == code) {
            return c;
        }
    }
    const uint32_t new = state.seen;
    for (uint32_t h = 0; h < EXPERTS; h++) {
        experts[h][new] = FLOOR / (1.0f + FLOOR * (float)new);
    }
#if TML_SIZED_LATER
    make_room(new + 1);
#endif
    state.codes[new] = code;
    return state.seen++;
}

/* Learn the sample that was just predicted. */
static void learn(const float *x, float norm, int32_t code)
{
    uint32_t label = place_of_class((uint8_t)code);
    for (uint32_t h = 0; h < EXPERTS; h++) {
        state.evidence[h] = DISCOUNT * state.evidence[h] + logarithm(experts[h][label]);
    }
    uint32_t named = 0;
    for (uint32_t c = 1; c < state.seen; c++) {
        named = experts[BOTH][c] > experts[BOTH][named] ? c : named;
    }
    for (uint32_t c = 0; c < state.seen; c++) {
        state.confusion[named][c] += CONFUSION_STEP * ((c == label ? 1.0f : 0.0f) - state.confusion[named][c]);
    }
    ask_layer(FAST, x, norm > 0.0f, fast_layer);
    state.learned += state.learned < LONGEST_COUNT ? 1 : 0;
    float rate = 1.0f / (float)state.learned;
    rate = rate > LEAST_AVERAGING ? rate : LEAST_AVERAGING;
    for (uint32_t c = 0; c < state.seen; c++) {
        float error = (c == label ? 1.0f : 0.0f) - fast_layer[c];
        float step = norm > 0.0f ? STEP * error / norm : 0.0f;
        float *fast = weights_of(FAST, c), *average = weights_of(AVERAGE, c);
        int moves = step < 0.0f || step > 0.0f;
        for (uint32_t i = 0; i < TML_FEATURES; i++) {
            fast[i] += moves ? step * (x[i] - tml_mean[i]) : 0.0f;
            average[i] += rate * (fast[i] - average[i]);
        }
        state.biases[FAST][c] += BIAS_STEP * error;
        state.biases[AVERAGE][c] += rate * (state.biases[FAST][c] - state.biases[AVERAGE][c]);
    }
    uint32_t place = place_of(state.size);
    if (state.size == TML_CAPACITY) {
        place = state.head;
        state.head = place_of(1);
    } else {
        state.size++;
    }
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        row_at(place)[i] = coded[i];
    }
    state.labels[place] = (uint16_t)label;
}

int32_t tml_predict(const float *x)
{
    float norm;
    int32_t nearest;
    return tml_is_finite(x, TML_FEATURES) ? state.codes[ask(x, &norm, &nearest)] : TML_REFUSED;
}

int tml_teach(const float *x, int32_t label)
{
    float norm;
    int32_t nearest;
    if (label < 0 || label >= TML_CLASSES || !tml_is_finite(x, TML_FEATURES)) {
        return 0;
    }
    ask(x, &norm, &nearest);
    learn(x, norm, label);
    return 1;
}

tml_step tml_observe(const float *x, int32_t label)
{
    tml_step step = {TML_REFUSED, now, state.size, 0, 0, 0};
    if (!tml_is_finite(x, TML_FEATURES)) {
        return step;
    }
    float norm;
    int32_t nearest;
    step.time = ++now;
    step.prediction = state.codes[ask(x, &norm, &nearest)];
#if TML_LIMITED
    step.unknown = (uint32_t)nearest > TML_FARTHEST;
#endif
    if (label >= 0 && label < TML_CLASSES) {
        learn(x, norm, label);
        step.change = tml_cusum_add(&test, step.prediction == label, now);
        if (step.change > 0) {
            step.alarm = 1;
            tml_cusum_reset(&test, tml_current.batch);
        }
    }
    step.size = state.size;
    return step;
}
