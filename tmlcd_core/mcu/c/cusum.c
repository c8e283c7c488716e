#include "cusum.h"

#include "mathfn.h"

void tml_cusum_reset(tml_cusum *test, uint32_t warmup)
{
    test->warmup = (uint16_t)warmup;
    test->seen = 0;
    test->correct = 0;
    test->started = 0;
    test->statistic = 0.0;
}

static int is_candidate(double v1, double v0)
{
    double distance = v1 < v0 ? v0 - v1 : v1 - v0;
    /* only drops if `down`: learning may raise the accuracy */
    return distance >= TML_GAP && (v1 < v0 || !tml_current.down);
}

/* Log-likelihood ratio of `correct` correct predictions in a batch. */
static double log_ratio(double correct, double v0, double v1)
{
    const double n = tml_current.batch;
    double u0 = 1.0 - v0, u1 = 1.0 - v1;
#if TML_BINOMIAL
    return correct * tml_log(v1 / v0) + (n - correct) * tml_log(u1 / u0);
#else /* normal approximation: Eq. (4) of the paper; TML_LOGARITHM is 0.5 there, 1 in the authors' published code */
    double a = (v1 * u1 - v0 * u0) / (2.0 * n * v0 * u0 * v1 * u1);
    double b = (u0 - u1) / (u0 * u1);
    double c = n * (v0 * u1 - v1 * u0) / (2.0 * u0 * u1);
    return a * (correct * correct) + b * correct + c + TML_LOGARITHM * tml_log(v0 * u0 / (v1 * u1));
#endif
}

static uint32_t end_of_batch(tml_cusum *test)
{
    uint32_t best = TML_CANDIDATES;
    for (uint32_t i = 0; i < TML_CANDIDATES; i++) {
        if (!is_candidate(tml_candidates[i], test->v0)) {
            continue;
        }
        double step = log_ratio(test->correct, test->v0, tml_candidates[i]);
        if (test->started && test->sum[i] >= 0.0) {
            test->sum[i] += step;
        } else {
            test->sum[i] = step;
            test->start[i] = test->batch_start;
        }
        if (best == TML_CANDIDATES || test->sum[i] > test->sum[best]) {
            best = i;
        }
    }
    test->started = 1;
    if (best == TML_CANDIDATES) {
        return 0; /* no candidate below v0 */
    }
    test->statistic = test->sum[best];
    return test->statistic >= tml_current.threshold ? test->start[best] : 0;
}

uint32_t tml_cusum_add(tml_cusum *test, int correct, uint32_t time)
{
    if (test->seen == 0) {
        test->batch_start = time;
    }
    test->seen++;
    test->correct = (uint16_t)(test->correct + (correct ? 1 : 0));

    uint32_t change = 0;
    if (test->warmup > 0) {
        if (test->seen < test->warmup) {
            return 0;
        }
        double v0 = (double)test->correct / (double)test->warmup;
        test->v0 = v0 < TML_MARGIN ? TML_MARGIN : v0 > 1.0 - TML_MARGIN ? 1.0 - TML_MARGIN : v0;
        test->warmup = 0;
    } else {
        if (test->seen < tml_current.batch) {
            return 0;
        }
        change = end_of_batch(test);
    }
    test->seen = 0;
    test->correct = 0;
    return change;
}
