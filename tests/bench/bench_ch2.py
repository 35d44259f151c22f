# SPDX-License-Identifier: GPL-2.0-or-later
"""Throughput of jobs that are compact, spread and striped (thesis, chapter 2: figures 2.3 to 2.5, tables 2.1 and 2.3)."""
import statistics
import time

import throughput
from bench_pairs import heat, matrix, mean
from cluster import TROUBLE
from report import percent

TITLE = "Compact, spread and striped: what sharing nodes brings"
BUDGET_S = 740       # no round begins that would not end by then
LEAST, MOST = 2, 8   # rounds; the thesis has eight or more
PUBLISHED_VARIES = 0.02  # its run times differ by less from run to run
MINOR = 0.05         # its limit of a minor interference
COMPACT, SPREAD = "compact", "spread"


class Found:
    """All rates of a program where it was: COMPACT, SPREAD, or the name of the partner beside it; and the node's power."""

    def __init__(self):
        self.rates, self.watts = {}, {}

    def add(self, names, where, rates, watts):
        for name, place, rate in zip(names, where, rates):
            self.rates.setdefault((name, place), []).append(rate)
        if watts is not None:
            self.watts.setdefault((names[0], where[0]), []).append(watts)

    def gain(self, name, where):
        """In rate, of each rank, against compact; nan where one of them is unknown."""
        rates = self.rates.get((name, where)), self.rates.get((name, COMPACT))
        return statistics.median(rates[0]) / statistics.median(rates[1]) - 1 if all(rates) else float("nan")

    def stp(self, a, b):
        """Scaled throughput of a pair (thesis, equation 2.2), less 1."""
        return (self.gain(a, b) + self.gain(b, a)) / 2

    def against_itself(self, a, b):
        """Likewise, against each of them beside itself: what the choice of the partner brings."""
        return ((1 + self.gain(a, b)) / (1 + self.gain(a, a)) + (1 + self.gain(b, a)) / (1 + self.gain(b, b))) / 2 - 1

    def power(self, name, where):
        found = self.watts.get((name, where)) or self.watts.get((where, name))
        return statistics.median(found) if found else float("nan")

    def see(self, a, b):
        """Scaled energy efficiency (thesis, equation 2.3), less 1: the pair has two nodes, as its two compact jobs."""
        return (1 + self.stp(a, b)) * (self.power(a, COMPACT) + self.power(b, COMPACT)) / (2 * self.power(a, b)) - 1

    def varies(self, name, where):
        """Of the run time from run to run: the longest against the shortest."""
        rates = self.rates.get((name, where), [])
        return max(rates) / min(rates) - 1 if len(rates) > 1 else float("nan")


def one_round(report, node, kinds, found, seconds):
    """Everything once. What fails is left out of this round."""
    def measure(jobs, where):
        names = [j.program.name for j in jobs]
        report.progress(" beside ".join(names) if len(jobs) > 1 else "%s, %s" % (names[0], where[0]))
        found.add(names, where, *node.rates(jobs, seconds))

    def failed(what, why):
        report.progress("failed: %s: %s" % (what, why))

    for kind in kinds:
        try:
            with node.compact(kind) as job:
                measure([job], [COMPACT])
        except TROUBLE as why:
            failed(kind.name, why)
    for i, kind in enumerate(kinds):
        todo = [None] + kinds[i:]
        while todo:
            try:
                with node.lane(kind) as job:
                    while todo:
                        if todo[0] is None:
                            measure([job], [SPREAD])
                        else:
                            with node.lane(todo[0]) as partner:
                                measure([job, partner], [todo[0].name, kind.name])
                        todo.pop(0)
            except TROUBLE as why:
                failed("%s, %s" % (kind.name, todo[0].name if todo[0] else SPREAD), why)
                todo.pop(0)


def rounds(report, node, kinds, found, most, seconds):
    """Rounds until the time is over; how many. Each begins with another program."""
    began, last = time.monotonic(), 0
    for n in range(most):
        start = time.monotonic()
        if n >= LEAST and start - began + last > BUDGET_S:
            return n
        one_round(report, node, kinds[n % len(kinds):] + kinds[:n % len(kinds)], found, seconds)
        last = time.monotonic() - start
    return most


def against_compact(report, names, found):
    report.text("## Throughput against compact (figure 2.3), per cent")
    rows = []
    for x in names:
        rows.append([x, percent(found.gain(x, SPREAD), 1), percent(mean([found.gain(x, y) for y in names if y != x]), 1),
                     percent(found.gain(x, x), 1)])
    rows.append(["mean"] + [percent(mean([cell(x) for x in names]), 1) for cell in (
        lambda x: found.gain(x, SPREAD), lambda x: mean([found.gain(x, y) for y in names if y != x]),
        lambda x: found.gain(x, x))])
    report.table(["program", "spread", "striped with others", "striped with itself"], rows)
    report.text("Spread is what a rank gains; the job has twice the nodes for it.")


def pairs(report, names, found):
    """The matrices; the mean over pairs of different programs."""
    report.text("## Gain of the programs on the x-axis against compact, striped (figures 2.7 and 2.8), per cent")
    matrix(report, names, found.gain, found.gain)
    heat(report, names, found.gain, "-gain", "gain of, %", 40, good=True)
    report.text("## Scaled throughput (STP) of pairs, less 100 % (figures 2.4 and 2.5)")
    matrix(report, names, found.stp, found.stp)
    heat(report, names, found.stp, "-stp", "STP against compact, %", 40, good=True)
    every = [(x, y) for i, x in enumerate(names) for y in names[i:]]
    different = [(x, y) for x, y in every if x != y]
    average = mean([found.stp(x, y) for x, y in different])
    worst = [min(found.gain(x, y), found.gain(y, x)) for x, y in different]
    report.text(
        "The mean over all %d pairs (AVG1 of figure 2.5) is %s %%, over the %d of different programs (AVG2) %s %%; in the thesis AVG2 is 12 "
        "for applications." % (len(every), percent(mean([found.stp(x, y) for x, y in every]), 1), len(different), percent(average, 1)),
        "Against both programs beside themselves pairs of different programs make %s %% more." % percent(
            mean([found.against_itself(x, y) for x, y in different]), 1),
        "In %d of them nobody loses, in %d one loses less than %d %%, in %d more (as table 2.3 counts them)." % (
            sum(w >= 0 for w in worst), sum(-MINOR < w < 0 for w in worst), 100 * MINOR, sum(w <= -MINOR for w in worst)))
    return average


def energy(report, names, found, why_not):
    report.text("## Scaled energy efficiency (SEE) of pairs, less 100 %")
    if why_not:
        report.text("Not measured: %s." % why_not)
    else:
        matrix(report, names, found.see, found.see)


def stability(report, names, found):
    """Run times from run to run; the verdict on them."""
    report.text("## Run to run (table 2.1)",
                "\n\nShortest and longest run time in seconds of the work that takes 100 s compact (median).")
    rows, worst = [], {True: [], False: []}
    for x in names:
        row = [x]
        for where in [COMPACT, SPREAD] + list(names):
            rates = found.rates.get((x, where))
            usual = found.rates.get((x, COMPACT))
            row.append("%.1f to %.1f" % tuple(100 * statistics.median(usual) / r for r in (max(rates), min(rates)))
                       if rates and usual else "none")
            if where != SPREAD and where != x:
                worst[where == COMPACT].append(found.varies(x, where))
        rows.append(row)
    report.table(["program", COMPACT, SPREAD] + ["beside " + n for n in names], rows)
    compact, striped = (max([v for v in worst[c] if v == v], default=float("nan")) for c in (True, False))
    report.judge("run times beside other programs vary by at most 2 %, or no more than compact ones",
                 "%s %%, compact %s %%" % (percent(striped, 1), percent(compact, 1)),
                 None if striped != striped or compact != compact else striped <= max(PUBLISHED_VARIES, compact))


def main(report, cluster, build, quick):
    node = throughput.Node(cluster)
    kinds = node.programs()
    most, seconds = MOST, 3
    if quick:
        kinds, most, seconds = kinds[:4], 1, 1
    names, found = [k.name for k in kinds], Found()
    n = rounds(report, node, kinds, found, most, seconds)
    report.text("A job of the thesis has as many ranks as it has cores of whole nodes (*compact*), has half the cores of twice as "
                "many nodes for itself (*spread*), or shares these with another job (*striped*). This machine is one such node, "
                "of %d core%s: of a compact job it has %d rank%s, of a spread or striped one %d. Each rank has the same work in all three, so "
                "the rate of a rank tells how long the job would take. The other half of a spread or striped job would be on a second node, "
                "and there is none: nothing here waits for a network, and the two halves tell each other nothing. Where the ranks of a "
                "compact job wait for each other, as those of LAMMPS and GROMACS do, part of the gain is that. *Striped with itself* shows "
                "how much: it has the same load as compact, in halves. So pairs are compared with that, too." % (
                    node.ranks, "s" * (node.ranks != 1), node.ranks, "s" * (node.ranks != 1), node.lane_ranks))
    report.text("Debian's LAMMPS (32,000 atoms a rank), GROMACS (64 nm3 of water a rank) and HPCC (N = %d for a rank: the geometric mean "
                "of the rates of its RandomAccess, DGEMM, STREAM and FFT, which every rank runs for itself), and programs of "
                "`contrib/workloads`. Rates are the programs' own reports, over %d s, and of HPCC over one pass. poppad runs with the "
                "sandbox's settings and opens its shutters in pairs, so its cost is in them. %d round%s of everything, one after the "
                "other, each beginning with another program; numbers are medians of the rounds." % (
                    node.matrix_order, seconds, n, "s" * (n != 1)))
    against_compact(report, names, found)
    average = pairs(report, names, found)
    energy(report, names, found, node.power.why_not)
    stability(report, names, found)
    wanted = [(x, where) for x in names for where in [COMPACT, SPREAD] + names]
    unseen = [(name, where) for name, where in wanted if not found.rates.get((name, where))]
    for name, where in unseen:
        report.missed.append("%s, %s" % (name, where if where in (COMPACT, SPREAD) else "beside " + where))
    seen = len(wanted) - len(unseen)
    report.judge("six programs compact, spread and in all pairs", "%d of %d cells for %d programs" % (seen, len(wanted), len(names)),
                 len(names) >= 6 and seen == len(wanted))
    report.judge("pairs of different programs make more than compact", "%s %%" % percent(average, 1),
                 None if average != average else average > 0)
