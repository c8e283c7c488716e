#include "knn.h"

#include "mathfn.h"

static uint16_t nearest[TML_ROOM]; /* the k nearest, by age (0 = oldest), nearest first */

uint32_t tml_place(const tml_store *store, uint32_t i)
{
    uint32_t place = store->head + i;
    return place < TML_CAPACITY ? place : place - TML_CAPACITY;
}

void tml_drop(tml_store *store, uint32_t count)
{
    store->head = (uint16_t)tml_place(store, count);
    store->size = (uint16_t)(store->size - count);
}

void tml_append(tml_store *store, const tml_value *x, int32_t label, uint32_t time)
{
    if (store->size >= tml_current.max_size) {
        tml_drop(store, store->size - tml_current.max_size + 1);
    }
    uint32_t place = tml_place(store, store->size);
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        store->x[place * TML_FEATURES + i] = x[i];
    }
    store->label[place] = (tml_label)label;
    store->time[place] = time;
    store->size++;
}

#if TML_STORE == TML_FLOAT32

/* Exact order by distance, mostly in single precision: double distances are computed only if two float distances are
 * too close to compare. `exact` is negative while unknown. */
static float approximate[TML_ROOM];
static double exact[TML_ROOM];

/* Upper bounds of the relative rounding error of a sum of TML_FEATURES squares, and of squares that underflow. */
#define SLACK ((TML_FEATURES + 8) * 6e-8f)
#define TINY 1e-30f

const tml_value *tml_quantise(const float *x)
{
    return x;
}

static inline double between(const tml_value *query, const tml_value *x)
{
    double sum = 0.0;
    for (uint32_t j = 0; j < TML_FEATURES; j++) {
        double difference = (double)query[j] - (double)x[j];
        sum += difference * difference;
    }
    return sum;
}

static double exact_distance(const tml_store *store, const tml_value *query, uint32_t i)
{
    if (exact[i] < 0.0) {
        exact[i] = between(query, tml_row(store, tml_place(store, i)));
    }
    return exact[i];
}

static void measure(const tml_store *store, const tml_value *query)
{
    for (uint32_t i = 0; i < store->size; i++) {
        const tml_value *x = tml_row(store, tml_place(store, i));
        float sum = 0.0f;
        {
#if TML_SIZED_LATER
#pragma clang fp reassociate(on) /* SLACK covers every order of the sum */
#endif
            for (uint32_t j = 0; j < TML_FEATURES; j++) {
                float difference = query[j] - x[j];
                sum += difference * difference;
            }
        }
        approximate[i] = sum;
        exact[i] = -1.0;
    }
}

/* Is i nearer than the older j? */
static int nearer(const tml_store *store, const tml_value *query, uint32_t i, uint32_t j)
{
    float a = approximate[i], b = approximate[j];
    float margin = SLACK * (a + b) + TINY; /* infinite if a float overflowed: then the doubles are compared */
    if (a + margin < b) {
        return 1;
    }
    if (b + margin < a) {
        return 0;
    }
    return exact_distance(store, query, i) < exact_distance(store, query, j);
}

#else

static tml_distance distances[TML_ROOM];
static tml_value quantised[TML_FEATURES];

const tml_value *tml_quantise(const float *x)
{
    for (uint32_t i = 0; i < TML_FEATURES; i++) {
        quantised[i] = (tml_value)tml_on_grid(x[i], TML_OFFSET, TML_SCALE, TML_LOWEST, TML_HIGHEST);
    }
    return quantised;
}

#if TML_CLASSES <= TML_MOST_BY_DISTANCE
static double exact_distance(const tml_store *store, const tml_value *query, uint32_t i)
{
    (void)store;
    (void)query;
    return (double)distances[i];
}
#endif

static inline tml_distance between(const tml_value *query, const tml_value *x)
{
    tml_distance sum = 0;
    for (uint32_t j = 0; j < TML_FEATURES; j++) {
        int32_t difference = (int32_t)query[j] - (int32_t)x[j];
        uint32_t size = (uint32_t)(difference < 0 ? -difference : difference);
        sum += size * size; /* at most 65,535 squared: 32 bits hold it */
    }
    return sum;
}

static void measure(const tml_store *store, const tml_value *query)
{
    for (uint32_t i = 0; i < store->size; i++) {
        distances[i] = between(query, tml_row(store, tml_place(store, i)));
    }
}

static int nearer(const tml_store *store, const tml_value *query, uint32_t i, uint32_t j)
{
    (void)store;
    (void)query;
    return distances[i] < distances[j];
}

#endif

#if TML_LIMITED
int tml_is_unknown(const tml_store *store, const tml_value *query)
{
#if TML_STORE == TML_FLOAT32
    int unknown = exact_distance(store, query, nearest[0]) > TML_FARTHEST;
#else
    (void)store;
    (void)query;
    int unknown = distances[nearest[0]] > TML_FARTHEST;
#endif
#if TML_NAMED > 0
    for (uint32_t i = 0; unknown && i < TML_NAMED_COUNT; i++) {
        unknown = between(query, tml_named_x[i]) > TML_FARTHEST;
    }
#endif
    return unknown;
}
#endif

static uint32_t neighbours(uint32_t size)
{
    uint32_t k = tml_current.k;
    if (k > 0) {
        return k < size ? k : size;
    }
    for (k = 1; k * k < size; k++) {
    }
    return k;
}

/* Fill `nearest` with the k nearest samples. */
static void find_nearest(const tml_store *store, const tml_value *query, uint32_t k)
{
    uint32_t found = 0;
    measure(store, query);
    for (uint32_t i = 0; i < store->size; i++) { /* oldest first: at equal distances the older is nearer */
        uint32_t rank = found;
        while (rank > 0 && nearer(store, query, i, nearest[rank - 1])) {
            rank--;
        }
        if (rank == k) {
            continue;
        }
        for (uint32_t r = found < k ? found++ : k - 1; r > rank; r--) {
            nearest[r] = nearest[r - 1];
        }
        nearest[rank] = (uint16_t)i;
    }
}

typedef union { /* on the stack; a label is at most TML_CLASSES - 1 */
    uint32_t number[TML_CLASSES];
#if TML_CLASSES <= TML_MOST_BY_DISTANCE
    double weight[TML_CLASSES];
#endif
} tml_votes;

#if TML_CLASSES <= TML_MOST_BY_DISTANCE

static int32_t vote_by_distance(const tml_store *store, const tml_value *query, uint32_t k, tml_votes *votes)
{
    for (uint32_t code = 0; code < TML_CLASSES; code++) {
        votes->weight[code] = 0.0;
    }
    double closest = exact_distance(store, query, nearest[0]);
    uint32_t last = 0; /* votes are added in the order of T, not of distance */
    for (uint32_t n = 0; n < k; n++) {
        uint32_t next = store->size;
        for (uint32_t r = 0; r < k; r++) {
            if (nearest[r] < next && (n == 0 || nearest[r] > last)) {
                next = nearest[r];
            }
        }
        last = next;
        double distance = exact_distance(store, query, next);
        if (closest > 0.0) {
            votes->weight[store->label[tml_place(store, next)]] += 1.0 / tml_sqrt(distance);
        } else if (!(distance > 0.0)) { /* samples that equal the query decide alone */
            votes->weight[store->label[tml_place(store, next)]] += 1.0;
        }
    }
    int32_t best = 0;
    for (int32_t code = 1; code < TML_CLASSES; code++) {
        if (votes->weight[code] > votes->weight[best]) {
            best = code;
        }
    }
    return best;
}

#endif

int32_t tml_vote(const tml_store *store, const tml_value *query)
{
    tml_votes votes;
    uint32_t k = neighbours(store->size);
    find_nearest(store, query, k);
#if TML_CLASSES <= TML_MOST_BY_DISTANCE
    if (tml_current.by_distance) {
        return vote_by_distance(store, query, k, &votes);
    }
#endif
    for (uint32_t code = 0; code < TML_CLASSES; code++) {
        votes.number[code] = 0;
    }
    for (uint32_t r = 0; r < k; r++) {
        votes.number[store->label[tml_place(store, nearest[r])]]++;
    }
    int32_t best = 0;
    for (int32_t code = 1; code < TML_CLASSES; code++) {
        if (votes.number[code] > votes.number[best]) {
            best = code;
        }
    }
    return best;
}
