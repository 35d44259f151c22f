# SPDX-License-Identifier: GPL-2.0-or-later
"""Overhead against the length of a shutter, beside the thesis' model (figure 3.5)."""
import json

from cluster import run
from report import percent

TITLE = "Overhead against the length of a shutter"
PERIOD = "200ms"


def model(shutter_us):
    """Equation 3.10 as a share of the run time: T/T_i - 1."""
    text = run("poppa", "overhead", "--json", "--jobs", "2", "--shutter", "%dus" % shutter_us,
               "--period", PERIOD)
    z = json.loads(text)["paused_fraction"]
    return z / (1 - z)


def dilation(cost):
    """Of the run time, from the share of progress lost."""
    return cost / (1 - cost)


def main(report, cluster, build, quick):
    lengths = [200, 800, 1600, 3200, 6400, 12800, 25600, 51200, 100000]  # us; 100 ms is the most
    if quick:
        lengths = [3200, 25600]
    rows, points = [], []
    first, second = cluster.contend(20), cluster.workload("null")
    with cluster.pair(first, second) as jobs:
        for us in lengths:
            cluster.steady(poppa_period=PERIOD, poppa_shutter="%dus" % us)
            # Some blocks in each, which open at times of their own whenever a stretch begins.
            stretch = max(0.8, 4 * (0.2 + 3e-6 * us))
            result = cluster.cost(jobs, 8 if quick else max(14, 13 * stretch), stretch)
            row, point = ["%.1f" % (us / 1000), percent(model(us), 3)], [us / 1000, model(us) * 100]
            for j in result["jobs"]:
                low, high = (dilation(c) for c in j["ci95"])
                row.append("%s (%s to %s)" % (percent(dilation(j["cost"])), percent(low),
                                              percent(high)))
                point += [100 * dilation(j["cost"]), 100 * low, 100 * high]
            rows.append(row)
            points.append(point)
    report.text("Run time of two co-located jobs that do not slow each other down, against the "
                "same without shutters, in per cent more, for P = 200 ms (fixed) and growing S; "
                "95 % intervals. A stretch with shutters is held against its neighbours without. "
                "The model is the thesis' (3.10); one block in six only pretends to stop "
                "(poppad(8)), so a sixth less is what to expect.")
    report.table(["S, ms", "model", first.name, second.name], rows)
    report.plot("set logscale x 2\nset xlabel 'S, ms'\nset ylabel 'longer run time, %%'\n"
                "plot $d0 using 1:2 with lines lt 6 title 'model (3.10)', "
                "$d0 using 1:($2*5/6) with lines lt 6 dt 2 title 'five sixths of it', "
                "$d0 using 1:3:4:5 with yerrorbars lt 1 title '%s', "
                "$d0 using 1:6:7:8 with yerrorbars lt 2 title '%s'" % (first.name, second.name),
                [points])
