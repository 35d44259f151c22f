# SPDX-License-Identifier: GPL-2.0-or-later
"""What poppad, with its long blocks, makes of jobs that live in a big cache, beside the truth."""
import json
import math
import os

from report import number, value

TITLE = "Cache-resident jobs: poppad beside the truth"
STRETCH, EDGE = "450ms", "100ms"  # 250 ms count, after most of the cache is back
SHUTTERS = 4                      # seconds between two rounds of stretches
MOST_WRONG, HELD_SHARE = 0.01, 0.9
Z95 = 1.96
KEPT = os.environ.get("POPPA_BENCH_LOGS")  # the shutter log of each pair and its truth stay here


def kept(jobs, suffix):
    return os.path.join(KEPT, jobs[0].program.name.replace(" ", "-") + suffix) if KEPT else None


def poppad(cluster, jobs, seconds):
    """The victim's true D, and what poppad makes of all its blocks, with the long ones and without what they show. These
    begin before the truth does: a job's first seconds have most of its long blocks."""
    true, _, end = cluster.truth(jobs, seconds, SHUTTERS, STRETCH, EDGE)
    found = [cluster.estimate(0, end, ("robust",), without, keep)["robust"][jobs[0].id]
             for without, keep in ((None, kept(jobs, ".csv")), ("beyond", None))]
    if KEPT:
        with open(kept(jobs, ".json"), "w") as out:
            json.dump({"job": jobs[0].id, "truth": true[0], "estimated": found[0]}, out)
    return [true[0]] + found


def with_interval(e):
    return "%.3f (%.3f to %.3f)" % tuple(number(x) for x in (e["degradation"], *e["ci95"]))


def main(report, cluster, build, quick):
    victims, stream = cluster.cache_pairs(quick)
    seconds = 24 if quick else 180  # of which two thirds are poppad's
    cluster.reset()
    rows, near, held = [], 0, 0
    for victim in victims:
        with cluster.shutter_log():
            result = cluster.beside(report, victim, stream, [None],
                                    lambda jobs, _: poppad(cluster, jobs, seconds))
        if not result:
            continue
        true, e, short = result[None]
        off = number(e["degradation"]) - true["degradation"]
        half = (number(e["ci95"][1]) - number(e["ci95"][0])) / 2
        ok = abs(off) <= MOST_WRONG + Z95 * true["se"]
        inside = abs(off) <= math.hypot(half, Z95 * true["se"])
        near += ok
        held += inside
        rows.append([victim.name, value(true), with_interval(e), with_interval(short), e["used"],
                     "%+.3f" % off, "yes" if ok else "NO", "yes" if inside else "NO"])
    report.text("Each program runs beside `stream --mib 256` for %d s with poppad at its default settings. In turn with "
                "poppad's own blocks there are stretches of %s without their first and last %s, in which the co-runner is "
                "stopped or both run (`contrib/workloads/truth`). *Usual blocks*: what poppad's estimator makes of the same "
                "blocks without what long ones show beyond a shutter. *Near*: within %.2f and the truth's own error. "
                "*Covered*: the interval holds the truth, within that error. In brackets: standard errors and 95 %% intervals." % (
                    seconds, STRETCH, EDGE, MOST_WRONG))
    report.table(["beside stream", "true D", "poppad", "usual blocks", "used", "off by", "near", "covered"], rows)
    report.judge("each pair within %.2f of the truth, beyond its own error" % MOST_WRONG,
                 "%d of %d" % (near, len(rows)), near == len(rows) > 0)
    report.judge("intervals hold the truth in nine of ten pairs", "%d of %d" % (held, len(rows)),
                 held >= HELD_SHARE * len(rows) > 0)
