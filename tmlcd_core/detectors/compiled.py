"""Compiled drift detectors for many streams at once: same alarms as `GeneralizedCusum` and river's own objects.

Every detector reads errors, uint8 (streams, samples) with 1 for a wrong prediction, and finds in each stream the first
alarm at sample `start` or later. Earlier alarms only restart the detector, as river's objects do with the next value.
Row i of `found`, int32 (streams, 2), receives the index of that alarm and the estimated first sample of the new
concept; -1 stands for no alarm and for no estimate. The loops were written from the papers below and keep the order of
river's floating-point operations; the tests compare every alarm with river's. `cusum_batches` is the inner loop of
`GeneralizedCusum` itself.

References
----------
ADWIN: Bifet, A. and Gavaldà, R. (2007). Learning from time-changing data with adaptive windowing. SDM.
DDM: Gama, J. et al. (2004). Learning with drift detection. SBIA.
EDDM: Baena-García, M. et al. (2006). Early drift detection method. IWKDDS.
HDDM: Frías-Blanco, I. et al. (2015). Online and non-parametric drift detection methods based on Hoeffding's bounds.
KSWIN: Raab, C. et al. (2020). Reactive soft prototype computing for concept drift streams. Neurocomputing 416.
Page-Hinkley: Page, E. S. (1954). Continuous inspection schemes. Biometrika 41.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

NONE = -1  # no alarm, or no estimate of the change
ADWIN_ROWS = 40  # sizes of buckets, powers of 2: enough for 2**40 samples


@njit(cache=True, nogil=True)
def _cusum_step(G, since, ratios, time):  # type: ignore[no-untyped-def]
    """Add the ratios of a batch that began at `time` to G, all of shape (candidates,); return the best candidate."""
    best = 0
    for c in range(len(G)):
        if G[c] < 0:
            G[c] = 0.0
            since[c] = time
        G[c] += ratios[c]
        if G[c] > G[best]:
            best = c
    return best


@njit(cache=True, nogil=True)
def cusum_batches(G, since, table, rows, times, level, statistic):  # type: ignore[no-untyped-def]
    """Add batches to the state of one `GeneralizedCusum` up to the first alarm; return their number and the best v1.

    G float64 and since int64 (candidates,): the state, updated in place. `table`, float64 (rows, candidates), holds the
    ratios, `rows` and `times`, int64 (batches,), the row of each batch and the time of its first sample. `statistic`,
    float64 (batches,), receives g_t.
    """
    for b in range(len(rows)):
        best = _cusum_step(G, since, table[rows[b]], times[b])
        statistic[b] = G[best]
        if G[best] >= level:
            break
    return b + 1, best


@njit(cache=True, nogil=True)
def cusum(errors, start, found, level, batch, first, later):  # type: ignore[no-untyped-def]
    """Generalized CUSUM; `first` and `later` are tables of ratios after the warm-up and after a restart.

    A table is float64 (warm-up + 1, batch + 1, candidates): correct predictions of the warm-up and of a batch; unused
    candidates hold nan, all of them at the end.
    """
    samples = errors.shape[1]
    G = np.empty(max(first.shape[2], later.shape[2]))
    since = np.empty(len(G), np.int64)
    for i in range(len(errors)):
        found[i] = NONE
        t, table = 0, first
        while t < samples:
            warmup = table.shape[0] - 1
            correct = 0
            for _ in range(min(warmup, samples - t)):
                correct += 1 - errors[i, t]
                t += 1
            if t + batch > samples:
                break
            ratios = table[correct]
            n = table.shape[2]
            while n and math.isnan(ratios[0, n - 1]):
                n -= 1
            G[:n] = -np.inf
            alarm = False
            while n and not alarm and t + batch <= samples:
                hits = 0
                for b in range(batch):
                    hits += 1 - errors[i, t + b]
                best = _cusum_step(G[:n], since, ratios[hits], t)
                t += batch
                alarm = G[best] >= level
            if not alarm:
                break
            if t - 1 >= start:
                found[i, 0] = t - 1
                found[i, 1] = since[best]
                break
            table = later


@njit(cache=True, nogil=True)
def page_hinkley(errors, start, found, level, min_instances, delta, alpha, up, down):  # type: ignore[no-untyped-def]
    """Page-Hinkley test: cumulative deviations from the mean, above their minimum (up) or below their maximum."""
    for i in range(len(errors)):
        found[i] = NONE
        n = 0.0
        for t in range(errors.shape[1]):
            if n == 0.0:
                mean = rise = fall = 0.0
                lowest, highest = np.inf, -1.0
            n += 1.0
            x = float(errors[i, t])
            mean += (1.0 / n) * (x - mean)
            deviation = x - mean
            rise = alpha * rise + deviation - delta
            fall = alpha * fall + deviation + delta
            lowest = min(lowest, rise)
            highest = max(highest, fall)
            if n >= min_instances and ((up and rise - lowest > level) or (down and highest - fall > level)):
                if t >= start:
                    found[i, 0] = t
                    break
                n = 0.0


@njit(cache=True, nogil=True)
def ddm(errors, start, found, level, warm_start):  # type: ignore[no-untyped-def]
    """DDM: error rate p + s above the lowest p + `level` s seen, s the standard deviation of p."""
    for i in range(len(errors)):
        found[i] = NONE
        n = 0.0
        for t in range(errors.shape[1]):
            if n == 0.0:
                p = p_low = s_low = 0.0
                lowest = np.inf
            n += 1.0
            p += (1.0 / n) * (errors[i, t] - p)
            if n <= warm_start:
                continue
            s = math.sqrt(p * (1 - p) / n)
            if p + s <= lowest:
                p_low, s_low, lowest = p, s, p + s
            if p + s > p_low + level * s_low:
                if t >= start:
                    found[i, 0] = t
                    break
                n = 0.0


@njit(cache=True, nogil=True)
def eddm(errors, start, found, level, warm_start):  # type: ignore[no-untyped-def]
    """EDDM: distance between errors, mean + 2 standard deviations, below `level` times its maximum."""
    for i in range(len(errors)):
        found[i] = NONE
        n = 0
        for t in range(errors.shape[1]):
            if n == 0:
                last, count = 0, 0.0
                mean = spread = 0.0
                highest = -1.0
            n += 1
            if not errors[i, t]:
                continue
            count += 1.0
            distance = float(n - last)
            last = n
            before = mean
            mean += (1.0 / count) * (distance - mean)
            spread += (distance - before) * (distance - mean)
            if n <= warm_start:
                continue
            variance = spread / (count - 1.0) if count > 1.0 else 0.0
            value = mean + 2 * math.sqrt(variance)
            if value > highest:
                highest = value
            elif count > warm_start and value / highest < level:
                if t >= start:
                    found[i, 0] = t
                    break
                n = 0


@njit(cache=True, nogil=True)
def hddm_a(errors, start, found, level, log_cut, log_drift):  # type: ignore[no-untyped-def]
    """HDDM with averages; `log_cut` = ln(1 / confidence) bounds the means, `log_drift` = ln(2 / confidence) the test.

    `level`, the confidence, is contained in both logarithms.
    """
    for i in range(len(errors)):
        found[i] = NONE
        n = 0.0
        for t in range(errors.shape[1]):
            if n == 0.0:
                mean = low = n_low = 0.0
            n += 1.0
            mean += (1.0 / n) * (errors[i, t] - mean)
            if n_low == 0.0:
                n_low, low = n, mean
            bound = math.sqrt(1.0 / (2 * n) * log_cut)
            if low + math.sqrt(1.0 / (2 * n_low) * log_cut) >= mean + bound:
                n_low, low = n, mean
            if n_low == n:
                continue
            m = (n - n_low) / n_low * (1.0 / n)
            if mean - low >= math.sqrt(m / 2 * log_drift):
                if t >= start:
                    found[i, 0] = t
                    break
                n = 0.0


@njit(cache=True, nogil=True)
def hddm_w(errors, start, found, level, log_drift, weight):  # type: ignore[no-untyped-def]
    """HDDM with exponentially weighted averages; `log_drift` = ln(1 / confidence), with `level` the confidence."""
    fade = (1 - weight) ** 2
    for i in range(len(errors)):
        found[i] = NONE
        n = 0
        for t in range(errors.shape[1]):
            x = float(errors[i, t])
            if n == 0:
                total, total_bound = x, 1.0
                cut = np.inf
                before = before_bound = after = 0.0
            else:
                total = weight * x + (1 - weight) * total
            n += 1
            total_bound = weight * weight + fade * total_bound
            upper = total + math.sqrt(total_bound * log_drift / 2)
            if upper < cut:
                cut, before, before_bound = upper, total, total_bound
                n_after, after_bound = 0, 1.0
                continue
            after = weight * x + (1 - weight) * after if n_after else x
            after_bound = weight * weight + fade * after_bound
            n_after += 1
            if after - before > math.sqrt((before_bound + after_bound) * log_drift / 2):
                if t >= start:
                    found[i, 0] = t
                    break
                n = 0


@njit(cache=True, nogil=True)
def kswin(errors, start, found, level, window, recent, draws, p_values):  # type: ignore[no-untyped-def]
    """KSWIN on errors: the test statistic is the difference of the shares of errors in two samples of `recent`.

    `draws`, uint8 (tests, recent), holds the positions in the window that test 0, 1, … since a restart compares with
    the newest samples; `p_values`, float64 (recent + 1,), the p-value of each difference in the number of errors.
    """
    for i in range(len(errors)):
        found[i] = NONE
        begin = 0  # the first sample since the restart
        newest = 0  # errors among the `recent` newest samples
        for t in range(errors.shape[1]):
            newest += errors[i, t]
            if t - recent >= begin:
                newest -= errors[i, t - recent]
            oldest = t + 1 - window
            if oldest < begin:
                continue
            older = 0
            for position in draws[oldest - begin]:
                older += errors[i, oldest + position]
            difference = abs(older - newest)
            if p_values[difference] <= level and difference / recent > 0.1:
                if t >= start:
                    found[i, 0] = t
                    break
                begin = t + 1
                newest = 0


@njit(cache=True, nogil=True)
def adwin(errors, start, found, level, clock, max_buckets, min_window, grace):  # type: ignore[no-untyped-def]
    """ADWIN on an exponential histogram: bucket k of row r holds the sum and variance of 2**r samples, oldest first.

    The estimated change is the first sample of the window that is left.
    """
    sums = np.empty((ADWIN_ROWS, max_buckets + 1))
    variances = np.empty((ADWIN_ROWS, max_buckets + 1))
    filled = np.empty(ADWIN_ROWS, np.int64)
    for i in range(len(errors)):
        found[i] = NONE
        begin = 0  # the first sample since the restart
        for t in range(errors.shape[1]):
            if t == begin:
                filled[:] = 0
                rows = 1
                width = total = variance = 0.0
            x = float(errors[i, t])
            sums[0, filled[0]] = x
            variances[0, filled[0]] = 0.0
            filled[0] += 1
            width += 1.0
            if width > 1.0:
                away = x - total / (width - 1.0)
                variance += (width - 1.0) * away * away / width
            total += x
            row = 0
            while filled[row] == max_buckets + 1:  # merge the two oldest buckets of the row
                size = 2.0**row
                apart = sums[row, 0] / size - sums[row, 1] / size
                place = filled[row + 1]
                sums[row + 1, place] = sums[row, 0] + sums[row, 1]
                variances[row + 1, place] = (
                    variances[row, 0] + variances[row, 1] + size * size * apart * apart / (size + size)
                )
                filled[row + 1] += 1
                filled[row] -= 2
                for k in range(filled[row]):
                    sums[row, k] = sums[row, k + 2]
                    variances[row, k] = variances[row, k + 2]
                row += 1
                rows = max(rows, row + 1)
            if (t + 1 - begin) % clock or width <= grace:
                continue
            alarm = False
            while _adwin_cut(sums, filled, rows, width, total, variance, level, min_window):
                alarm = True  # drop the oldest bucket and test again
                row = rows - 1
                size = 2.0**row
                mean = sums[row, 0] / size
                width -= size
                total -= sums[row, 0]
                away = mean - total / width
                variance -= variances[row, 0] + size * width * away * away / (size + width)
                filled[row] -= 1
                for k in range(filled[row]):
                    sums[row, k] = sums[row, k + 1]
                    variances[row, k] = variances[row, k + 1]
                if filled[row] == 0:
                    rows -= 1
            if alarm:
                if t >= start:
                    found[i, 0] = t
                    found[i, 1] = t + 1 - int(width)
                    break
                begin = t + 1


@njit(cache=True, nogil=True)
def _adwin_cut(sums, filled, rows, width, total, variance, level, min_window):  # type: ignore[no-untyped-def]
    """True if the means of two parts of the window differ by more than the bound, for any cut between buckets."""
    n0, u0 = 0.0, 0.0
    n1, u1 = width, total
    confidence = math.log(2 * math.log(width) / level)
    variance = variance / width
    for row in range(rows - 1, -1, -1):
        size = 2.0**row
        for k in range(filled[row]):
            n0 += size
            n1 -= size
            u0 += sums[row, k]
            u1 -= sums[row, k]
            if row == 0 and k == filled[0] - 1:
                return False
            if n0 < min_window or n1 < min_window:
                continue
            m = 1.0 / (n0 - min_window + 1) + 1.0 / (n1 - min_window + 1)
            bound = math.sqrt(2 * m * variance * confidence) + 2.0 / 3.0 * confidence * m
            if abs(u0 / n0 - u1 / n1) > bound:
                return True
    return False


def all_alarms(kernel, errors: NDArray[np.uint8], *parameters) -> list[list[tuple[int, int]]]:  # type: ignore[no-untyped-def]
    """Return every alarm of each stream as (sample, estimated change): repeated calls of a kernel of this file."""
    alarms: list[list[tuple[int, int]]] = []
    found = np.empty((1, 2), np.int32)
    for stream in errors:
        alarms.append([])
        begin = 0
        while begin < len(stream):
            kernel(stream[None], begin, found, *parameters)
            if found[0, 0] == NONE:
                break
            alarms[-1].append((int(found[0, 0]), int(found[0, 1])))
            begin = int(found[0, 0]) + 1
    return alarms
