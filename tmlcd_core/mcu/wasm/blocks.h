/* Streams in blocks of samples, for a learner that was included before: memory, input, output and the stream itself. */
#define BLOCK 64       /* samples per call */
#define PAGE 65536u    /* bytes of a page of memory */
#define ALIGNMENT 16u  /* of a part of the memory, in bytes */
#define EXPORT(name) __attribute__((export_name(#name))) name

uint32_t tml_features, tml_capacity;

/* Input and output of a block. */
static int32_t label[BLOCK];
static int32_t prediction[BLOCK];
static uint32_t size[BLOCK];
static uint32_t change[BLOCK];   /* estimated time of the change at an alarm, else 0 */
static double statistic[BLOCK];  /* g; NaN during the warm-up */
static float *rows;              /* features of the samples */

extern unsigned char __heap_base;

int32_t *EXPORT(tml_labels)(void) { return label; }
int32_t *EXPORT(tml_predictions)(void) { return prediction; }
uint32_t *EXPORT(tml_sizes)(void) { return size; }
uint32_t *EXPORT(tml_changes)(void) { return change; }
double *EXPORT(tml_statistics)(void) { return statistic; }
float *EXPORT(tml_rows)(void) { return rows; }

static uint32_t unused; /* first byte of the memory that is not reserved */

static void *reserve(uint32_t size)
{
    uint32_t found = unused;
    unused = (found + size + ALIGNMENT - 1u) & ~(ALIGNMENT - 1u);
    return (void *)found;
}

/* Release all memory, then make sure that there is room for a block and `size` bytes; returns 0 if there is not. */
static uint32_t open_memory(uint32_t features, uint64_t size)
{
    uint64_t block = (uint64_t)BLOCK * features * sizeof(float);
    uint64_t end = (uint32_t)&__heap_base + block + size + PAGE; /* a page for the alignment */
    if (features < 1 || end > 0xFFFF0000u) {
        return 0;
    }
    uint32_t pages = (uint32_t)((end + PAGE - 1) / PAGE), have = (uint32_t)__builtin_wasm_memory_size(0);
    if (pages > have && __builtin_wasm_memory_grow(0, pages - have) == (unsigned long)-1) {
        return 0;
    }
    unused = ((uint32_t)&__heap_base + ALIGNMENT - 1u) & ~(ALIGNMENT - 1u);
    tml_features = features;
    rows = reserve((uint32_t)block);
    return 1;
}

/* The largest sum of the last batch: at an alarm the test has restarted already. */
static double largest_sum(void)
{
    double best = 0.0;
    for (uint32_t i = 0; i < TML_CANDIDATES; i++) {
        if (is_candidate(tml_candidates[i], test.v0) && test.sum[i] > best) {
            best = test.sum[i];
        }
    }
    return best;
}

/* Test-then-train on the samples `from` … `to` of the block; a label of -1 is unknown. Returns the first sample that was
 * not taken: Active stops after an alarm, so that the page can look at its new T. */
uint32_t EXPORT(tml_run)(uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        int warming = test.warmup > 0;
        int tested = tml_current.learner >= TML_HYBRID; /* Hybrid, Active, Tandem */
        tml_step step = tml_observe(&rows[i * TML_FEATURES], label[i]);
        prediction[i] = step.prediction;
        size[i] = step.size;
        change[i] = step.change;
        statistic[i] = !tested || warming ? __builtin_nan("") : step.alarm ? largest_sum() : test.statistic;
        if (step.alarm && tml_current.learner == TML_ACTIVE) {
            return i + 1;
        }
    }
    return to;
}
