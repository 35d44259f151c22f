# SPDX-License-Identifier: GPL-2.0-or-later
"""What poppad, with its long blocks, makes of jobs that live in a big cache, beside the truth."""
import json
import math
import os
import tempfile

from cluster import estimates
from report import number, value

TITLE = "Cache-resident jobs: poppad beside the truth"
STRETCH, EDGE = "450ms", "100ms"  # 250 ms count, after most of the cache is back
SHUTTERS = 4                      # seconds between two rounds of stretches
MOST_WRONG, HELD_SHARE = 0.01, 0.9
MOST_BURSTS_ERROR = 0.05          # MAX_BURSTS_ERROR of src/poppa/node/tally.c: above it there is no price
Z95 = 1.96
KEPT = os.environ.get("POPPA_BENCH_LOGS")  # the shutter log of each pair and its truth stay here
AGAIN = os.environ.get("POPPA_BENCH_AGAIN")  # what stayed of an earlier run, in place of a new one


def kept(program, suffix, folder=KEPT):
    return os.path.join(folder, program.name.replace(" ", "-") + suffix) if folder else None


def again(victim):
    """What poppa estimate makes of an earlier run's log, beside the truth of that run."""
    with open(kept(victim, ".json", AGAIN)) as f:
        run_of = json.load(f)
    path = kept(victim, ".csv", AGAIN)
    with open(path) as f:
        rows = f.readlines()
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as usual:
        usual.writelines(row for row in rows if row.startswith("#") or row.split(",")[3] != "beyond")
        usual.flush()
        found = [estimates(log, "robust")[run_of["job"]] for log in (path, usual.name)]
    return [run_of["truth"]] + found


def poppad(cluster, jobs, seconds):
    """The victim's true D, and what poppad makes of all its blocks, with the long ones and without what they show. These
    begin before the truth does: a job's first seconds have most of its long blocks."""
    true, _, end = cluster.truth(jobs, seconds, SHUTTERS, STRETCH, EDGE)
    found = [cluster.estimate(0, end, ("robust",), without, keep)["robust"][jobs[0].id]
             for without, keep in ((None, kept(jobs[0].program, ".csv")), ("beyond", None))]
    if KEPT:
        with open(kept(jobs[0].program, ".json"), "w") as out:
            json.dump({"job": jobs[0].id, "truth": true[0], "estimated": found[0]}, out)
    return [true[0]] + found


def with_interval(e):
    return "%.3f (%.3f to %.3f)" % tuple(number(x) for x in (e["degradation"], *e["ci95"]))


def measure(report, cluster, victim, stream, seconds):
    with cluster.shutter_log():
        result = cluster.beside(report, victim, stream, [None], lambda jobs, _: poppad(cluster, jobs, seconds))
    return result[None] if result else (None, None, None)


def main(report, cluster, build, quick):
    victims, stream = cluster.cache_pairs(quick)
    seconds = 24 if quick else 180  # of which two thirds are poppad's
    cluster.reset()
    rows, near, held, fine, unsold, coarse = [], 0, 0, 0, 0, 0
    for victim in victims:
        if AGAIN:
            true, e, short = again(victim)
        else:
            true, e, short = measure(report, cluster, victim, stream, seconds)
        if not true:
            continue
        off = number(e["degradation"]) - true["degradation"]
        half = (number(e["ci95"][1]) - number(e["ci95"][0])) / 2
        ok = abs(off) <= MOST_WRONG + Z95 * true["se"]
        inside = abs(off) <= math.hypot(half, Z95 * true["se"])
        if victim.coarse:
            coarse += 1
            unsold += half / Z95 > MOST_BURSTS_ERROR or ok
        else:
            fine += 1
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
    report.text("GROMACS has two ranks on one processor and counts its progress by calls of MPI, which come once a step of 10 ms: "
                "three times as long as a shutter. The blocks of some minutes cannot tell what it loses (docs/shutter.md, progress "
                "in bursts): what is asked for there is that no price is made of that.")
    if AGAIN:
        report.text("The estimates were made again, by this commit, from the shutter logs of an earlier run "
                    "(`tests/bench/run --logs DIR long`, then `--again DIR`), and are compared with the truth of that run.")
    report.table(["beside stream", "true D", "poppad", "usual blocks", "used", "off by", "near", "covered"], rows)
    report.judge("each pair within %.2f of the truth, beyond its own error" % MOST_WRONG,
                 "%d of %d" % (near, fine), near == fine > 0)
    report.judge("intervals hold the truth in nine of ten pairs", "%d of %d" % (held, fine),
                 held >= HELD_SHARE * fine > 0)
    report.judge("where the counter moves too seldom there is no price, or a right one", "%d of %d" % (unsold, coarse),
                 unsold == coarse > 0)
