# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges and writes down what tests/scale/run has measured: CLOUD RESULTS JOBS PENDING COUNTED [--quick]."""
import csv
import datetime
import os
import statistics
import sys

import report

KINDS = {
    "stock": "Slurm alone, no job co-located",
    "wrapped": "plugin in front, no job co-located",
    "colocated": "plugin in front, all jobs co-located",
    "taught": "the same with a full pair history",
    "among": "plugin in front, no job co-located, 100 that are run elsewhere",
}
# The least share of the stock rate.
BOUNDS = {"wrapped": 0.97, "colocated": 0.85, "taught": 0.85, "among": 0.85}
# Whose growth with the cluster is judged: the jobs that run elsewhere take a tenth of the smallest
# cluster and a hundredth of the largest, so stock Slurm has another task there.
GROWING = ("wrapped", "colocated", "taught")
# Counts of the same may differ by that share.
SAME = 0.02
# Milliseconds that the outlook may take; the fit to the history is learning, and no part of it.
SOLVE_MS = 50


def read_rates(path):
    """{nodes: {kind: [(rate, cpu_rate) by round]}}"""
    rates = {}
    with open(path) as f:
        for row in csv.DictReader(f):
            kinds = rates.setdefault(int(row["nodes"]), {})
            kinds.setdefault(row["kind"], []).append((float(row["rate"]), float(row["cpu_rate"])))
    return rates


def read_counts(path):
    """{nodes: {kind: [instructions by pass]}}"""
    counts = {}
    with open(path) as f:
        for row in csv.DictReader(f):
            counts.setdefault(int(row["nodes"]), {}).setdefault(row["kind"], []).append(float(row["instructions"]))
    return counts


def rate(kinds, kind, column):
    return statistics.median(r[column] for r in kinds[kind])


def share(counted, kind):
    """Of the stock rate, by instructions."""
    return statistics.mean(counted["stock"]) / statistics.mean(counted[kind])


def rate_rows(rates, counts):
    for nodes, kinds in sorted(rates.items()):
        for kind, name in KINDS.items():
            r = [a[0] / b[0] for a, b in zip(kinds[kind], kinds["stock"])]
            yield ["%d nodes, %s" % (nodes, name), "%.0f" % rate(kinds, kind, 0),
                   "%.3f" % statistics.median(r), "%.3f to %.3f" % (min(r), max(r)), "%.0f" % rate(kinds, kind, 1),
                   "%.2f" % (statistics.mean(counts[nodes][kind]) / 1e6), "%.3f" % share(counts[nodes], kind)]


def growth(counts, kind):
    """How many times the instructions of a job on the smallest cluster it needs on the largest."""
    return statistics.mean(counts[max(counts)][kind]) / statistics.mean(counts[min(counts)][kind])


def differ(counts):
    """The most by which two counts of the same differ, as a share."""
    return max(max(passes) / min(passes) - 1 for kinds in counts.values() for passes in kinds.values())


def read_solve(path):
    """Median processor time of the fit and of the outlook, in milliseconds."""
    with open(path) as f:
        rows = [(float(row["fit_ms"]), float(row["outlook_ms"])) for row in csv.DictReader(f)]
    return tuple(statistics.median(row[i] for row in rows) for i in (0, 1))


def verdicts(counts, solve):
    """(good, line)"""
    for nodes, counted in sorted(counts.items()):
        for kind, bound in BOUNDS.items():
            yield share(counted, kind) >= bound, "%d nodes, %s: %.3f of the stock rate, at least %.2f wanted" % (
                nodes, KINDS[kind], share(counted, kind), bound)
    if len(counts) > 1:
        stock = growth(counts, "stock")
        for kind in GROWING:
            steeper = growth(counts, kind) / stock
            yield steeper <= 1 + SAME, "%s: a job takes %.1f times as much on %d nodes as on %d, stock %.1f times: %.3f times as steep, at most %.2f wanted" % (
                KINDS[kind], growth(counts, kind), max(counts), min(counts), stock, steeper, 1 + SAME)
    yield solve[1] <= SOLVE_MS, ("what lanes are worth beside whom, for 400 classes, in a thread that holds no lock: %.0f ms of processor "
                                 "time, at most %d wanted; the fit to a full history before it takes %.0f ms") % (solve[1], SOLVE_MS, solve[0])
    yield differ(counts) <= SAME, "counts of the same differ by %.2f %%, at most %.0f %% wanted" % (
        100 * differ(counts), 100 * SAME)


def read_profile(path):
    """[(samples, file, function)]"""
    with open(path) as f:
        return [(int(n), file, name) for n, file, name in
                (line.strip().split(None, 2) for line in f)]


def profile_table(profiles, name_of):
    """Shares of the samples by what name_of() says they fell on, one column a kind."""
    shares = {}
    for kind, samples in profiles.items():
        total = sum(n for n, _, _ in samples) or 1
        for n, file, function in samples:
            at = shares.setdefault(name_of(file, function), dict.fromkeys(profiles, 0))
            at[kind] += 100 * n / total
    rows = sorted(shares.items(), key=lambda row: -max(row[1].values()))
    return [[name] + ["%.1f" % at[kind] for kind in profiles] for name, at in rows[:15]]


def profile_tables(out, cloud, kinds):
    profiles = {kind: read_profile(os.path.join(cloud, "profile-" + kind)) for kind in kinds}
    for head, name_of in (("file", lambda file, function: file),
                          ("function", lambda file, function: "%s: %s" % (file, function))):
        out.table([head] + list(kinds), profile_table(profiles, name_of))


def since(out, cloud):
    """The report's run began before this program."""
    with open(os.path.join(cloud, "began")) as f:
        out.started = datetime.datetime.fromtimestamp(int(f.read()), datetime.timezone.utc)
    with open(os.path.join(cloud, "loadavg")) as f:
        out.load = float(f.read().split()[0])
    out.times = report.cpu_times(os.path.join(cloud, "stat"))


def main():
    cloud, directory, jobs, pending, counted = sys.argv[1:6]
    quick = "--quick" in sys.argv[6:]
    rates = read_rates(os.path.join(cloud, "rates.csv"))
    counts = read_counts(os.path.join(cloud, "instructions.csv"))
    rounds = len(next(iter(rates.values()))["stock"])
    out = report.Report("scale", "How fast jobs are placed on many nodes", directory, quick,
                        "tests/scale/run" + (" --quick" if quick else ""))
    since(out, cloud)
    out.text("An array of %s jobs of half a node's cores each is released at once on a cluster of" % jobs,
             "nodes (2 sockets of 8 cores) that never answer, so every job is placed and stays. A rate is the number of jobs",
             "over the time of the main scheduler's cycles as sdiag counts it, or over the processor time of slurmctld. The",
             "kinds take turns in each of %d rounds; rates are medians, and a share is the median of the rounds' own." % rounds,
             "Rates vary with the machine, so what is judged is something else: the last two columns. With %s jobs pending in" % pending,
             "an array, slurmctld places %s of them under valgrind (`--tool=callgrind`), which counts the instructions" % counted,
             "of those threads that place jobs; their share is that of a rate. A full pair history has 20,000 rows.")
    out.table(["cluster and jobs", "jobs/s", "of stock", "lowest to highest", "jobs per CPU-s",
               "million instructions a job", "of stock"], rate_rows(rates, counts))
    results = list(verdicts(counts, read_solve(os.path.join(cloud, "solve.csv"))))
    out.text("\n".join("- %s: %s" % ("kept" if good else "**not kept**", line)
                       for good, line in results))
    out.text("## Where the time goes")
    out.text("Samples of slurmctld (`perf record -e cpu-clock`) while it places the jobs on",
             "%d nodes, in per cent: by file, then by function. `striping` is the plugin in front;"
             % max(rates), "what a file does not name (-) is its internal functions.")
    profile_tables(out, cloud, KINDS)
    out.write()
    for good, line in results:
        print("%s - %s" % ("ok" if good else "not ok", line))
    return 0 if quick or all(good for good, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
