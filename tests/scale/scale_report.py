# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges and writes down what tests/scale/run has measured: CLOUD RESULTS JOBS [--quick]. With
--narrow CLOUD: exit status 0 where there are rounds enough for that."""
import csv
import datetime
import os
import random
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
DRAWS = 2000
# Half of a 95 % interval may be that share of the figure.
NARROW = 0.02
# The column of the rates that is judged: of processor time.
JUDGED = 1


def read_rates(path):
    """{nodes: {kind: [(rate, cpu_rate) by round]}}"""
    rates = {}
    with open(path) as f:
        for row in csv.DictReader(f):
            kinds = rates.setdefault(int(row["nodes"]), {})
            kinds.setdefault(row["kind"], []).append((float(row["rate"]), float(row["cpu_rate"])))
    return rates


def ratios(kinds, kind, column):
    """Of each round, so that what slows the machine for a minute slows both."""
    return [a[column] / b[column] for a, b in zip(kinds[kind], kinds["stock"])]


def rate(kinds, kind, column):
    return statistics.median(r[column] for r in kinds[kind])


def rate_rows(rates):
    for nodes, kinds in sorted(rates.items()):
        for kind, name in KINDS.items():
            r = ratios(kinds, kind, 0)
            yield ["%d nodes, %s" % (nodes, name), "%.0f" % rate(kinds, kind, 0),
                   "%.3f" % statistics.median(r), "%.3f to %.3f" % (min(r), max(r)),
                   "%.0f" % rate(kinds, kind, 1),
                   "%.3f" % statistics.median(ratios(kinds, kind, 1))]


def growth(rates, kind, column=0):
    """How much longer a job takes on the largest cluster than on the smallest."""
    return rate(rates[min(rates)], kind, column) / rate(rates[max(rates)], kind, column)


def drawn(compute):
    """The 95 % interval of what is computed from rounds, by drawing other rounds from these."""
    draw = random.Random(1)
    values = sorted(compute(lambda rounds: statistics.median(draw.choices(rounds, k=len(rounds))))
                    for _ in range(DRAWS))
    return values[DRAWS // 40], values[-1 - DRAWS // 40]


def share(kinds, kind):
    """Of the stock rate, with its interval."""
    r = ratios(kinds, kind, JUDGED)
    return (statistics.median(r),) + drawn(lambda middle: middle(r))


def steeper(rates, kind, column=0):
    """How many times as steep as with stock Slurm that is, by the rounds' own shares, with its
    interval."""
    small, large = (ratios(rates[n], kind, column) for n in (min(rates), max(rates)))
    return ((statistics.median(small) / statistics.median(large),) +
            drawn(lambda middle: middle(small) / middle(large)))


def judged(rates):
    """(what it is, figure, interval, whether it is kept where the figure is right)"""
    for nodes, kinds in sorted(rates.items()):
        for kind, bound in BOUNDS.items():
            figure, lo, hi = share(kinds, kind)
            yield ("%d nodes, %s: %.3f of the stock rate (%.3f to %.3f), at least %.2f wanted"
                   % (nodes, KINDS[kind], figure, lo, hi, bound), figure, lo, hi, figure >= bound)
    if len(rates) > 1:
        stock = growth(rates, "stock", JUDGED)
        for kind in GROWING:
            figure, lo, hi = steeper(rates, kind, JUDGED)
            yield ("%s: a job takes %.1f times as long on %d nodes as on %d, stock %.1f times: "
                   "%.3f times as steep (%.3f to %.3f), not certainly above 1 wanted"
                   % (KINDS[kind], growth(rates, kind, JUDGED), max(rates), min(rates), stock,
                      figure, lo, hi), figure, lo, hi, lo <= 1)


def is_narrow(figure, lo, hi):
    return (hi - lo) / 2 <= NARROW * figure


def verdicts(rates):
    """(good, line)"""
    for line, figure, lo, hi, kept in judged(rates):
        if not is_narrow(figure, lo, hi):
            line += "; not within %.0f %%" % (100 * NARROW)
            kept = False
        yield kept, line


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
    if sys.argv[1] == "--narrow":
        rates = read_rates(os.path.join(sys.argv[2], "rates.csv"))
        return 0 if all(is_narrow(*of[1:4]) for of in judged(rates)) else 1
    cloud, directory, jobs = sys.argv[1:4]
    quick = "--quick" in sys.argv[4:]
    rates = read_rates(os.path.join(cloud, "rates.csv"))
    rounds = len(next(iter(rates.values()))["stock"])
    out = report.Report("scale", "How fast jobs are placed on many nodes", directory, quick,
                        "tests/scale/run" + (" --quick" if quick else ""))
    since(out, cloud)
    out.text("An array of %s jobs of half a node's cores each is released at once on a cluster of"
             % jobs, "nodes (2 sockets of 8 cores) that never answer, so every job is placed and",
             "stays. A rate is the number of jobs over the time of the main scheduler's cycles as",
             "sdiag counts it; the last two columns take the processor time of slurmctld instead,",
             "which other work on the machine changes less, and what is judged. The kinds take turns",
             "in each of %d rounds; rates are medians, and a share is the median of the rounds' own,"
             % rounds, "with its 95 % interval by bootstrap. A full pair history has 20,000 rows.")
    out.table(["cluster and jobs", "jobs/s", "of stock", "lowest to highest", "jobs per CPU-s",
               "of stock"], rate_rows(rates))
    results = list(verdicts(rates))
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
