# SPDX-License-Identifier: GPL-2.0-or-later
"""Overhead against the length of a shutter, beside the thesis' model (figure 3.5)."""
import json
import math

from cluster import run
from report import at_most, percent

TITLE = "Overhead against the length of a shutter"
PERIOD = "200ms"
THESIS_US = 3200  # its setting
PUBLISHED = 0.01  # its overhead is below that
STOPS = 5 / 6     # of all blocks, so many are no shams


def model(shutter_us):
    """Equation 3.10 as a share of the run time: T/T_i - 1."""
    text = run("poppa", "overhead", "--json", "--jobs", "2", "--shutter", "%dus" % shutter_us,
               "--period", PERIOD)
    z = json.loads(text)["paused_fraction"]
    return z / (1 - z)


def dilation(cost):
    """Of the run time, from the share of progress lost."""
    return cost / (1 - cost)


def one_length(cluster, jobs, us, quick):
    cluster.steady(poppa_period=PERIOD, poppa_shutter="%dus" % us)
    with cluster.shutter_log():
        # Some blocks, and more where each of them is longer.
        return cluster.block_cost(jobs, 5 if quick else 10 + us / 10000)[0]


def cell(values):
    return "none" if math.isnan(values[0]) else "%s (%s to %s)" % tuple(percent(v, 3) for v in values)


def main(report, cluster, build, quick):
    lengths = [200, 800, 1600, 3200, 6400, 12800, 25600, 51200, 100000]  # us; 100 ms is the most
    if quick:
        lengths = [3200, 25600]
    first, second = cluster.contend(20), cluster.workload("null")
    found = cluster.beside(report, first, second, lengths,
                           lambda jobs, us: one_length(cluster, jobs, us, quick))
    rows, points, blocks = [], [], []
    for us in lengths:
        costs = found.get(us)
        if not costs:
            continue
        values = [[dilation(v) for v in (c.mean, *c.interval())] for c in costs]
        rows.append(["%.1f" % (us / 1000), percent(model(us), 3), percent(STOPS * model(us), 3)] +
                    [cell(v) for v in values] + [costs[0].blocks])
        if not any(math.isnan(v[0]) for v in values):
            points.append([us / 1000, 100 * model(us)] + [100 * x for v in values for x in v])
            blocks.append((us, values))
    report.text("Run time of two co-located jobs that do not slow each other down, against the "
                "same without shutters, in per cent more, for P = 200 ms (fixed) and growing S; "
                "95 % intervals. For each block of the shutter log the progress from 10 ms before to 40 ms after "
                "it is compared with the rate on either side. "
                "The model is the thesis' (3.10); one block in six only pretends to stop "
                "(poppad(8)), so a sixth less is what to expect.")
    report.table(["S, ms", "model (3.10)", "five sixths", first.name, second.name, "blocks looked at"],
                 rows)
    if points:
        report.plot("set logscale x 2\nset xlabel 'S, ms'\nset ylabel 'longer run time, %%'\n"
                    "plot $d0 using 1:2 with lines lt 6 title 'model (3.10)', "
                    "$d0 using 1:($2*5/6) with lines lt 6 dt 2 title 'five sixths of it', "
                    "$d0 using 1:3:4:5 with yerrorbars lt 1 title '%s', "
                    "$d0 using 1:6:7:8 with yerrorbars lt 2 title '%s'" % (
                        first.name, second.name), [points])
    for us, values in blocks:
        if us == THESIS_US:
            most = max(values)
            report.judge("overhead with the thesis' settings below 1 %", "%s %% (%s to %s), model %s %%" % (
                *(percent(x, 3) for x in most), percent(model(us), 3)),
                         at_most(most[1], most[2], PUBLISHED))
    # Of the innocent job alone: what the other loses and gains by contention is no model's.
    off = [(values[1][0] - STOPS * model(us), us) for us, values in blocks]
    if off:
        far, us = max(off, key=lambda x: abs(x[0]))
        report.text("The overhead of %s is at most %s points from five sixths of the model, at "
                    "S = %.1f ms." % (second.name, percent(abs(far), 3), us / 1000))
        over = [us for us, values in blocks if values[1][1] > model(us)]
        report.judge("overhead of the innocent job nowhere certainly above the model (3.10)",
                     "%d of %d lengths above" % (len(over), len(blocks)), not over)
