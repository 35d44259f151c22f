# SPDX-License-Identifier: GPL-2.0-or-later
"""Accuracy and overhead against the length of a shutter (thesis, figures 3.6 to 3.9)."""
import math

import blockcost
from cluster import runtime_error
from report import at_most, percent

TITLE = "Accuracy and overhead against the length of a shutter"
METHODS = ("robust", "thesis", "unfiltered")
CASES = (("contentious", 2), ("moderate", 20))
DEFAULT_US = 3200
PUBLISHED = 0.04           # mean absolute error of the thesis
PUBLISHED_OVERHEAD = 0.01  # it is below that
HOLD_LEAST = 0.8           # of so few intervals of 95 % hold the truth
LEAST_SHOWN = 0.1          # per cent, on a logarithmic axis
COST = 2 + len(METHODS)    # columns of the plots' data: S, an error of each method, the overhead with its interval,
EACH = COST + 3            # and its distribution


def intervals(found, jobs, true):
    """Of each job that poppad's estimator says an interval of: its half width, and whether it holds the true
    degradation, whose own 95 % interval counts as well."""
    result = []
    for j, t in zip(jobs, true):
        low, high = found.get(j.id, {}).get("ci95", (None, None))
        if low is None or high is None:
            continue
        half = 1.96 * t["se"]
        result.append(((high - low) / 2, low - half <= t["degradation"] <= high + half))
    return result


def one_length(cluster, jobs, us, seconds, cost_seconds):
    with cluster.shutter_log():
        cluster.steady(poppa_period="100ms", poppa_shutter="%dus" % us)
        true, start, end = cluster.truth(jobs, seconds, 1.5)
        found = cluster.estimate(start, end, METHODS)
        cluster.steady(poppa_period="200ms")
        costs, _ = cluster.block_cost(jobs, cost_seconds)
    mean, half = blockcost.both(costs)
    result = {"true": sum(t["degradation"] for t in true) / 2, "se": max(t["se"] for t in true),
              "intervals": intervals(found[METHODS[0]], jobs, true), "cost": mean, "ci95": (mean - half, mean + half), "each": blockcost.distribution(costs)}
    for m in METHODS:
        estimates = [found[m].get(j.id, {}).get("degradation") for j in jobs]
        result[m] = sum(math.nan if e is None else abs(runtime_error(e, t["degradation"]))
                        for e, t in zip(estimates, true)) / 2
    return result


def held(intervals):
    """For a table: the mean half width, and how many intervals hold the truth."""
    if not intervals:
        return "none"
    return "+- %.3f, %d of %d hold" % (sum(w for w, _ in intervals) / len(intervals),
                                       sum(h for _, h in intervals), len(intervals))


def plots(report, blocks):
    head = "set logscale x 2\nset xlabel 'S, ms'\n"
    report.plot(head + "set logscale y\nset ylabel 'run-time error, %%'\nset yrange [%g:]\n"
                "plot %g with lines lt 6 title 'published mean of the thesis', " % (
                    LEAST_SHOWN, 100 * PUBLISHED) + ", ".join(
            "$d%d using 1:%d with linespoints lt %d dt %d title '%s, %s'" % (
                i, n + 2, i + 1, n + 1, case[0], m)
            for i, case in enumerate(CASES) for n, m in enumerate(METHODS)), blocks, "-accuracy")
    report.plot(head + "set ylabel 'overhead, %%'\nplot %g with lines lt 6 title 'published "
                "limit of the thesis for S = 3.2 ms', " % (100 * PUBLISHED_OVERHEAD) + ", ".join(
        "$d%d using 1:%d:%d:%d with yerrorlines lt %d title '%s'" % (i, *range(COST, COST + 3), i + 1, case[0])
        for i, case in enumerate(CASES)), blocks, "-overhead")
    # Boxes of both cases side by side; on a logarithmic axis, so their width is a factor.
    report.plot(head + "set ylabel 'overhead by single shutters, %%'\nset xtics (%s)\nset boxwidth 0.16\nset offsets 0.5, 0.5, 0, 0\nset style fill solid 0.35\n"
                "unset logscale x\nplot 0 with lines lt 6 notitle, " % ", ".join(
                    "'%g' log(%g)/log(2)" % (x, x) for x in sorted({row[0] for rows in blocks for row in rows})) + ", ".join(
        "$d%d using (log($1)/log(2)+%g):%d:%d:%d:%d with candlesticks lt %d title '%s' whiskerbars, "
        "$d%d using (log($1)/log(2)+%g):%d:%d:%d:%d with candlesticks lt -1 notitle" % (
            i, 0.3 * i - 0.15, EACH + 1, EACH, EACH + 4, EACH + 3, i + 1, case[0],
            i, 0.3 * i - 0.15, EACH + 2, EACH + 2, EACH + 2, EACH + 2)
        for i, case in enumerate(CASES)), blocks, "-distribution")


def main(report, cluster, build, quick):
    lengths = [200, 800, 3200, 12800, 25600]  # those that the figures show
    seconds, cost_seconds = 18, 8
    if quick:
        lengths, seconds, cost_seconds = [800, 3200], 9, 6
    rows, blocks, default, hold = [], [], [], []
    for name, q in CASES:
        found = cluster.beside(
            report, cluster.contend(q), cluster.contend(q), lengths,
            lambda jobs, us: one_length(cluster, jobs, us, seconds, cost_seconds))
        points = []
        for us in lengths:
            if us not in found:
                continue
            r = found[us]
            rows.append([name, "%.1f" % (us / 1000), "%.3f" % r["true"], "%.3f" % r["se"]] +
                        [percent(r[m]) for m in METHODS] + [held(r["intervals"])] +
                        ["%s (%s to %s)" % tuple(percent(x) for x in (r["cost"], *r["ci95"])),
                         "%s to %s" % (percent(r["each"][1]), percent(r["each"][3]))])
            points.append([us / 1000] + [max(100 * r[m], LEAST_SHOWN) for m in METHODS] +
                          [100 * x for x in (r["cost"], *r["ci95"], *r["each"])])
            hold += [h for _, h in r["intervals"]]
            if us == DEFAULT_US:
                default.append(r)
        blocks.append(points)
    report.text("Two equal jobs for each of two degrees of contention (contend with %d and %d "
                "private operations). *True* is their true degradation, *+-* the standard "
                "error of that; *error* "
                "the mean absolute error of the predicted run time in per cent, from poppad's "
                "blocks of the same %d seconds as the truth (P = 100 ms), by poppad's estimator, by the thesis' "
                "Algorithm 4, and by the same without its filter (the plot shows %g at least); *interval* the 95 %% interval of "
                "poppad's estimator, and whether it holds the truth of each of the two jobs; *overhead* the progress lost to shutters in per cent, "
                "with its 95 %% interval, from what happens around each shutter in another %d seconds (P = 200 ms); *middle half* "
                "what it would be if all shutters cost what single ones did: the middle half of them (figures 3.8 and 3.9; the plot "
                "has the middle half and 90 %% of them). Most of that is the noise of so short a look. "
                "Where jobs contend much it can be below zero: during a shutter the one "
                "that runs gains more than the other loses." % (
                    CASES[0][1], CASES[1][1], seconds, LEAST_SHOWN, cost_seconds))
    report.table(["contention", "S, ms", "true", "+-"] + ["error, " + m for m in METHODS] +
                 ["interval, robust", "overhead", "middle half"],
                 rows)
    if all(blocks):
        plots(report, blocks)
    if hold:
        report.judge("at least %d %% of the 95 %% intervals of the robust estimator hold the true degradation, with S as short "
                     "as it may be, too" % (100 * HOLD_LEAST), "%d of %d" % (sum(hold), len(hold)),
                     sum(hold) >= HOLD_LEAST * len(hold))
    if default:
        ours, theirs = (sum(r[m] for r in default) / len(default) for m in METHODS[:2])
        report.judge("mean error with S = 3.2 ms below the published 4 % and that of Algorithm 4",
                     "robust %s %%, thesis %s %%" % (percent(ours), percent(theirs)),
                     None if math.isnan(ours) else
                     ours < PUBLISHED and (math.isnan(theirs) or ours < theirs))
        report.judge("overhead with S = 3.2 ms and P = 200 ms below 1 %",
                     ", ".join("%s %% (%s to %s)" % tuple(percent(x) for x in (r["cost"], *r["ci95"]))
                               for r in default),
                     at_most(max(r["ci95"][0] for r in default), max(r["ci95"][1] for r in default),
                             PUBLISHED_OVERHEAD))
