# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges and writes down what tests/scale/preempt has measured: CLOUD RESULTS [--quick]."""
import csv
import os
import random
import statistics
import sys

import report
from scale_report import profile_tables, since

KINDS = {"stock": "Slurm alone", "colocated": "all jobs co-located"}
# A wider interval tells nothing: the machine had other things to do.
WIDEST = 0.2
# A quick run has too few questions for that. Where all jobs are searched for each victim it is 6
# times as steep (measured), else once: this is between them, and away from both by more than noise.
STEEPEST_QUICK = 3
DRAWS = 2000


def read_times(path):
    """{nodes: {kind: [milliseconds of processor time a question, by round]}}"""
    times = {}
    with open(path) as f:
        for row in csv.DictReader(f):
            kinds = times.setdefault(int(row["nodes"]), {})
            kinds.setdefault(row["kind"], []).append(float(row["ms"]))
    return times


def cost_rows(times):
    for nodes, kinds in sorted(times.items()):
        for kind, name in KINDS.items():
            ms = kinds[kind]
            yield ["%d jobs on %d nodes, %s" % (2 * nodes, nodes, name),
                   "%.1f" % statistics.median(ms), "%.1f to %.1f" % (min(ms), max(ms))]


def growth(times, kind):
    """How much longer a question takes on the largest cluster than on the smallest."""
    return statistics.median(times[max(times)][kind]) / statistics.median(times[min(times)][kind])


def steeper(times, kind):
    """How many times as steep as with stock Slurm that is, by the rounds' own shares, and the 95 % interval of
    it, by drawing other rounds from those that there are."""
    draw = random.Random(1)
    small, large = ([a / b for a, b in zip(times[n][kind], times[n]["stock"])] for n in (min(times), max(times)))

    def middle(values):
        return statistics.median(draw.choices(values, k=len(values)))

    drawn = sorted(middle(large) / middle(small) for _ in range(DRAWS))
    return statistics.median(large) / statistics.median(small), drawn[DRAWS // 40], drawn[-1 - DRAWS // 40]


def main():
    cloud, directory = sys.argv[1:3]
    quick = "--quick" in sys.argv[3:]
    times = read_times(os.path.join(cloud, "costs.csv"))
    rounds = len(next(iter(times.values()))["stock"])
    out = report.Report("preempt", "What it costs to say whom a job would preempt", directory, quick,
                        "tests/scale/preempt" + (" --quick" if quick else ""))
    since(out, cloud)
    ratio, lo, hi = steeper(times, "colocated")
    if quick:
        good, wanted = hi <= STEEPEST_QUICK, "certainly at most %d" % STEEPEST_QUICK
    else:
        good = lo <= 1 and hi - lo <= WIDEST
        wanted = "not certainly above 1 and an interval of at most %.1f" % WIDEST
    line = ("from %d to %d jobs a question takes %.1f times as long with lanes, with stock Slurm %.1f "
            "times: %.3f times as steep (%.3f to %.3f), %s wanted"
            % (2 * min(times), 2 * max(times), growth(times, "colocated"), growth(times, "stock"),
               ratio, lo, hi, wanted))
    out.text("Two jobs of half a node's cores each, which may be preempted, fill every node (2 sockets of 8",
             "cores; they never answer). `sbatch --test-only` asks when such a job of a partition that",
             "comes first could start, and so whom it would preempt: a question. What is counted is the",
             "processor time of slurmctld. All clusters are there at once and take turns in each of %d" % rounds,
             "rounds. How steep the growth is against stock Slurm comes from the rounds' own ratios;",
             "its 95 % interval is by drawing other rounds from those that there are.")
    out.table(["cluster", "ms a question", "lowest to highest"], cost_rows(times))
    out.text("- %s: %s" % ("kept" if good else "**not kept**", line))
    if not quick:
        out.text("## Where the time goes")
        out.text("Samples of slurmctld (`perf record -e cpu-clock`) while it answers with %d nodes," % max(times),
                 "in per cent: by file, then by function. `striping` is the plugin in front; what a file",
                 "does not name (-) is its internal functions.")
        profile_tables(out, cloud, KINDS)
    out.write()
    print("%s - %s" % ("ok" if good else "not ok", line))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
