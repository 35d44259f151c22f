# SPDX-License-Identifier: GPL-2.0-or-later
"""Accuracy and overhead against the length of a shutter (thesis, figures 3.6 to 3.9)."""
import math

from cluster import runtime_error
from report import percent

TITLE = "Accuracy and overhead against the length of a shutter"
METHODS = ("robust", "thesis")
CASES = (("contentious", 2), ("moderate", 20))


def one_length(cluster, jobs, us, seconds, cost_seconds):
    cluster.steady(poppa_period="200ms", poppa_shutter="%dus" % us)
    with cluster.shutter_log():
        true, start, end = cluster.truth(jobs, seconds, 1.5)
        found = {m: cluster.estimate(start, end, m) for m in METHODS}
    cost = cluster.cost(jobs, cost_seconds, 1.0)
    result = {"true": sum(t["degradation"] for t in true) / 2, "cost": cost["cost"],
              "ci95": cost["ci95"]}
    for m in METHODS:
        estimates = [found[m].get(j.id, {}).get("degradation") for j in jobs]
        result[m] = sum(math.nan if e is None else abs(runtime_error(e, t["degradation"]))
                        for e, t in zip(estimates, true)) / 2
    return result


def main(report, cluster, build, quick):
    lengths = [200, 800, 3200, 12800, 25600]  # those that the figures show
    seconds, cost_seconds = 16, 9
    if quick:
        lengths, seconds, cost_seconds = [800, 3200], 6, 8
    rows, blocks = [], []
    for name, q in CASES:
        points = []
        with cluster.pair(cluster.contend(q), cluster.contend(q)) as jobs:
            for us in lengths:
                r = one_length(cluster, jobs, us, seconds, cost_seconds)
                rows.append([name, "%.1f" % (us / 1000), "%.3f" % r["true"]] +
                            [percent(r[m]) for m in METHODS] +
                            ["%s (%s to %s)" % (percent(r["cost"]), percent(r["ci95"][0]),
                                                percent(r["ci95"][1]))])
                points.append([us / 1000] + [100 * r[m] for m in METHODS] +
                              [100 * r["cost"], 100 * r["ci95"][0], 100 * r["ci95"][1]])
        blocks.append(points)
    report.text("Two equal jobs for each of two degrees of contention (contend with %d and %d "
                "private operations), P = 200 ms (fixed). *True* is their true degradation; *error* "
                "the mean absolute error of the predicted run time in per cent, from poppad's "
                "blocks of the same %d seconds as the truth, by poppad's estimator and by the thesis' "
                "Algorithm 4; *overhead* the progress lost to shutters in per cent, with its 95 %% "
                "interval. Where jobs contend much it can be below zero: during a shutter the one "
                "that runs gains more than the other loses." % (CASES[0][1], CASES[1][1], seconds))
    report.table(["contention", "S, ms", "true", "error, robust", "error, thesis", "overhead"], rows)
    head = "set logscale x 2\nset xlabel 'S, ms'\n"
    report.plot(head + "set ylabel 'run-time error, %'\nset yrange [0:]\nplot " + ", ".join(
        "$d%d using 1:%d with linespoints lt %d dt %d title '%s, %s'" % (i, n + 2, i + 1, n + 1,
                                                                         case[0], m)
        for i, case in enumerate(CASES) for n, m in enumerate(METHODS)), blocks, "-accuracy")
    report.plot(head + "set ylabel 'overhead, %'\nplot " + ", ".join(
        "$d%d using 1:4:5:6 with yerrorlines lt %d title '%s'" % (i, i + 1, case[0])
        for i, case in enumerate(CASES)), blocks, "-overhead")
