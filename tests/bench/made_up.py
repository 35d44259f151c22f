# SPDX-License-Identifier: GPL-2.0-or-later
"""Lets the benches measure a made-up cluster whose answers are known. TAP; run by tests/unit/scenario/test_bench.sh."""
import bisect
import contextlib
import json
import os
import random
import sys
import tempfile
import time

import bench_campaign
import bench_ch2
import bench_cost
import bench_long
import bench_model
import bench_pairs
import bench_refill
import bench_self
import bench_sweep
import bench_turns
import blockcost
import cluster
import report
import throughput

MS = 1000000
TRUE = 0.4       # degradation of programs that contend
HIGHER = 0.1     # so much higher does Algorithm 4 read
SLOW = 0.05      # so much of it no usual shutter sees
ESTIMATES = 30   # blocks of each

results = []


def check(name, holds):
    results.append(holds)
    print("%sok %d - %s" % ("" if holds else "not ", len(results), name), flush=True)


class MadeUp(cluster.Cluster):
    """Each block takes half of S from each job; time passes at once."""

    def __init__(self, broken=()):
        self.line = self.workloads = "/nonexistent/bench"
        self.broken = list(broken)  # pairs that do not start, by number
        self.pairs, self.now, self.period, self.shutter = 0, 1000000 * MS, 400, 3.2
        self.starts, self.lost = [], 0
        self.choice = 0  # of which blocks count: so much it moves the estimate
        self.dice = random.Random(1)

    def configure(self, **settings):
        if settings.get("poppa_shutter"):
            self.shutter = int(settings["poppa_shutter"][:-2]) / 1000
        if "poppa_period" in settings:
            self.period = int((settings["poppa_period"] or "400ms")[:-2])

    def reset(self):
        pass

    def status(self):
        return {"settings": "poppa_period=400ms,poppa_ledger=none", "pid": os.getpid(),
                "guard_pid": os.getpid(), "jobs": []}

    def lammps(self):
        return cluster.Program("LAMMPS", "lmp", "lmp")

    def farm(self):
        return cluster.Program("farm", "poppa-farm", "poppa-farm")

    def gromacs(self):
        return cluster.Program("GROMACS", "gmx_mpi", "gmx_mpi", coarse=True)

    def shutter_log(self):
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def pair(self, first, second):
        self.pairs += 1
        if self.pairs in self.broken:
            raise cluster.Failed("this pair does not start")
        yield [cluster.Job(first, 1), cluster.Job(second, 2)]

    def truth(self, jobs, seconds, shutters, stretch=None, edge=None):
        start = self.now
        self.now += round(seconds * 1e9)
        return [{"degradation": TRUE, "se": 0.001} for _ in jobs], start, self.now

    def estimate(self, start_ns, end_ns, methods, without=None, keep=None):
        found = {m: TRUE + HIGHER * (m == "thesis") - SLOW * (without == "beyond") for m in methods}
        return {m: {n: {"degradation": d, "ci95": [d - 0.01, d + 0.01], "blocks": ESTIMATES, "used": ESTIMATES}
                    for n in (1, 2)} for m, d in found.items()}

    def response(self, jobs, long_ms, rest_ms, shutter, seconds):
        def seen(d, **more):
            return {"degradation": d, "se": 0.001, **more}

        ms = [2 ** n for n in range(10)]
        d = TRUE - SLOW
        return {"truth": seen(TRUE, n=ESTIMATES), "plain": seen(d), "by_length": [seen(d, ms=m) for m in ms],
                "robust": {"degradation": d + self.choice, "lo": d - 0.01, "hi": d + 0.01},
                "after_stop": [1 - SLOW / m for m in ms], "after_resume": [None] + [1 - TRUE] * 9}

    def trace(self, jobs, seconds):
        start = self.now
        self.now += round(seconds * 1e9)
        at = start + 200 * MS
        new = []
        while at < self.now:
            new.append(at)
            # As poppad's: a random moment of three quarters of each slot.
            at += round((self.period * (0.625 + 0.75 * self.dice.random()) + 3 * self.shutter) * MS)
        self.starts += new
        rows = []
        for ns in range(start, self.now, 10 * MS):
            lost = self.lost + bisect.bisect_right(new, ns) * self.shutter / 2
            rows.append([ns, *(ns / MS - lost + self.dice.gauss(0, 0.05) for _ in jobs)])
        self.lost += len(new) * self.shutter / 2
        self.now += 1000 * MS
        return rows

    def blocks(self, start_ns, end_ns):
        length = round(3 * self.shutter * MS)
        return [(s, s + length) for s in self.starts if start_ns <= s < end_ns]

    def cost(self, jobs, seconds, stretch):
        return {"jobs": [{"cost": 0.003, "ci95": [-0.01, 0.01]} for _ in jobs], "cost": 0.003,
                "ci95": [-0.008, 0.01]}


class MadeUpNode:
    """Alone on a lane a rank is as fast as TRUE allows, beside another program at half of that gain, beside its own kind as compact."""

    def __init__(self, cluster):
        self.broken, self.begun = cluster.broken, 0
        self.ranks, self.lane_ranks, self.matrix_order = 2, 1, 1
        self.power = throughput.Power("/nonexistent")

    def programs(self):
        return [throughput.Kind("program %d" % n, "p", None, None) for n in range(6)]

    @contextlib.contextmanager
    def job(self, kind, where):
        self.begun += 1
        if self.begun in self.broken:
            raise cluster.Failed("this job does not start")
        yield throughput.Placed(cluster.Job(kind, self.begun), 1, where, None)

    def compact(self, kind):
        return self.job(kind, "compact")

    def lane(self, kind):
        return self.job(kind, "lane")

    def rates(self, jobs, seconds):
        names = [j.program.name for j in jobs]
        gain = 0 if jobs[0].shared == "compact" or names[1:] == names[:1] else TRUE / len(jobs)
        return [1000 * (1 + gain)] * len(jobs), None


def turns_of(side_s, turns_s):
    """The trace of a pair that is side by side and then takes turns of half a second."""
    rows, made = [], [0, 0]
    for n in range((side_s + turns_s) * 100):
        rows.append([n * 10 * MS, *made])
        runs = n // 50 % 2 if n >= side_s * 100 else None
        made = [m + (10000 * (1 - TRUE) if runs is None else 10000 * (runs == i)) for i, m in enumerate(made)]
    return rows


def energy_of_pairs():
    """What a pair of 120 W does for 100 W of each compact job; and the watts of a counter that has begun again."""
    found = bench_ch2.Found()
    for name, where, rate, watts in (("a", "compact", 10, 100), ("b", "compact", 10, 100), ("a", "b", 15, 120), ("b", "a", 15, 120)):
        found.add([name], [where], [rate], watts)
    with tempfile.TemporaryDirectory() as root:
        zone = os.path.join(root, "intel-rapl:0")
        os.mkdir(zone)
        for name, value in (("energy_uj", 1500000), ("max_energy_range_uj", 2000000)):
            with open(os.path.join(zone, name), "w") as f:
                f.write(str(value))
        power = throughput.Power(root)
        return [round(found.see("a", "b"), 6), power.watts([(0, 1000000)], [(2, 1500000)]) + power.watts([(0, 1500000)], [(1, 500000)])]


@contextlib.contextmanager
def made_up_tasks(lost, off):
    """Two tasks of a program each lose so much; poppa trial --self finds what half of them make, and something more."""
    def half(words):
        return 1 / (2 * (1 - next(share for name, share in lost.items() if name in words)))

    def rates(commands, cpus, seconds):
        return [100 / (2 * half(commands[0][0])) if len(commands) == 2 else 100] * len(commands)

    def as_user(*command, seconds):
        found = half(command[-1]) + off
        return json.dumps({"half": found, "half_lo": found - 0.01, "half_hi": found + 0.01, "verdict": "fewer" if found > 1.01 else "all"})

    kept = bench_self.rates, bench_self.as_user
    bench_self.rates, bench_self.as_user = rates, as_user
    try:
        yield
    finally:
        bench_self.rates, bench_self.as_user = kept


def campaign(directory):
    """The text and verdicts of blocks in which everybody was beside another one (before), or as fast as alone (now)."""
    paper = report.Report("campaign", bench_campaign.TITLE, directory, False)
    paper.progress = lambda text: print("# campaign: " + text, flush=True)
    found = {}
    for policy, took in ((bench_campaign.BEFORE, 12.5), (bench_campaign.NOW, 10)):
        runs = [bench_campaign.Run(kind, None, n * took, (n + 1) * took, 0) for n in range(5) for kind in ("a", "b")]
        found[policy] = [bench_campaign.Block(runs, {"a": 10, "b": 10})] * 3
    bench_campaign.describe(paper, found, 8)
    bench_campaign.conclude(paper, found)
    return paper.parts, [verdict for _, _, verdict in paper.judgements]


def run(bench, directory, broken=(), choice=0):
    """The text of the bench's result, and its verdicts."""
    made_up = MadeUp(broken)
    made_up.choice = choice
    name = bench.__name__[len("bench_"):]
    paper = report.Report(name, bench.TITLE, directory, False)
    paper.progress = lambda text: print("# %s: %s" % (name, text), flush=True)
    bench.main(paper, made_up, None, False)
    paper.write()
    with open(os.path.join(directory, name + ".md")) as f:
        return f.read(), [verdict for _, _, verdict in paper.judgements], paper.missed


def main():
    time.sleep = lambda seconds: None
    throughput.Node = MadeUpNode
    made_up = MadeUp()
    costs, pace = blockcost.of_jobs(made_up.trace([1, 2], 80), made_up.blocks(0, 1 << 62))
    expected = made_up.shutter / 2 / 1000 * pace
    check("the cost of blocks is found: %.3f %% +- %.3f, made up %.3f" % (
        100 * costs[0].mean, 100 * costs[0].half, 100 * expected),
          abs(costs[0].mean - expected) < 2 * costs[0].half < 0.1 * expected)
    both = bench_turns.join(bench_turns.join([], turns_of(40, 0)), turns_of(0, 60))
    made = bench_turns.Progress(both)
    alone = [made.alone(n) for n in range(2)]
    shares = [[made.share(n, alone[n], *when) for when in ((0, 39), (41, 100))] for n in range(2)]
    check("turns: what each makes side by side and by turns: %s" % shares,
          all(abs(side - 1 + TRUE) < 0.01 and abs(turns - 0.5) < 0.02 for side, turns in shares))
    with tempfile.TemporaryDirectory() as directory:
        text, verdicts, missed = run(bench_cost, directory)
        check("cost: what costs more than the limit is not met", verdicts == ["NOT MET"] * 2 and not missed)
        text, verdicts, missed = run(bench_pairs, directory)
        check("pairs: all cells, and the better estimate", verdicts == ["met"] * 2)
        check("pairs: prices of the practice, poppad and the oracle",
              text.count(" 167 / 60 ") == 81 and text.count("| 166.7 (166.7 to 166.7) | 60.0 (60.0 to 60.0) | 60.0 (60.0 to 60.0) |") == 10)
        plots = not missed
        check("pairs: nothing is missing but plots without gnuplot",
              all("gnuplot" in m for m in missed) and ("(pairs-error.svg)" in text) == plots)
        text, verdicts, missed = run(bench_pairs, directory, (3, 8, 9))
        check("pairs: one that fails once is there, one that fails twice is named",
              verdicts[0] == "NOT MET" and sum("does not start" in m for m in missed) == 1)
        text, verdicts, missed = run(bench_sweep, directory)
        check("sweep: the better estimate, below the published overhead", verdicts == ["met"] * 3)
        text, verdicts, missed = run(bench_sweep, directory, (1, 2))
        check("sweep: a length that fails is left out, the others are there",
              text.count("| contentious |") == 4 and text.count("| moderate |") == 5)
        text, verdicts, missed = run(bench_model, directory)
        check("model: all lengths", sum(line.startswith("| ") for line in text.splitlines()) == 1 + 1 + 9 + 1 + 1 + 2)
        check("model: no sham among its blocks, so it is above five sixths", verdicts[0] == "met")
        text, verdicts, missed = run(bench_refill, directory)
        check("refill: what short stops miss", verdicts == ["met"] and text.count("| +0.050 (0.001) |") == 11)
        text, verdicts, missed = run(bench_refill, directory, (2, 3), 0.02)
        check("refill: an estimate that is off by its choice is not met, and a pair that fails twice is named",
              verdicts == ["NOT MET"] and any("does not start" in m for m in missed))
        text, verdicts, missed = run(bench_long, directory)
        check("long: poppad with long blocks and without", verdicts == ["met"] * 3 and
              text.count("| 0.400 (0.390 to 0.410) | 0.350 (0.340 to 0.360) |") == 11)
        text, verdicts, missed = run(bench_ch2, directory)
        check("ch2: gains against compact of all cells", verdicts == ["met"] * 3 and
              text.count("| 40.0 | 20.0 | 0.0 |") == 7 and "(AVG2) 20.0 %" in text and "programs make 20.0 % more" in text and "no readable /nonexistent" in text)
        with made_up_tasks({"contend": 0.7, "stream": 0.2, "null": 0}, off=0):
            text, verdicts, missed = run(bench_self, directory)
            check("self: two tasks that contend are one too many, and no others", verdicts == ["met"] * 2 and
                  text.count("| fewer |") == 3 and text.count("| all |") == 2)
        with made_up_tasks({"contend": 0.7, "stream": 0.49, "null": 0}, off=0.05):
            text, verdicts, missed = run(bench_self, directory)
            check("self: what is too high is not met, nor is a verdict by it", verdicts == ["NOT MET"] * 2)
        # The second compact job, and the first one alone on a lane.
        text, verdicts, missed = run(bench_ch2, directory, (2, 7))
        check("ch2: what fails in one round is there from the others", verdicts == ["met"] * 3)
        text, verdicts, missed = run(bench_ch2, directory, range(2, 1000, 3))
        check("ch2: what never runs is named", verdicts[1] == "NOT MET" and any("program" in m for m in missed))
        check("ch2: energy of pairs", energy_of_pairs() == [0.25, 1.25])
        text, verdicts = campaign(directory)
        check("campaign: throughput, run times and partners of both policies", verdicts == ["met", "NOT MET"] and
              "| before | 30 | 0.800 (0.800 to 0.800) | 100 | 0.800 | 1.25 | 1.25 | 25.0 |" in text[-3] and
              "| now | 30 | 1.000 (1.000 to 1.000) | 100 | 1.000 | 1.00 | 1.00 | 20.0 |" in text[-3] and "| a, b | 100.0 | 100.0 |" in text[-1])
        blanks = []
        for name in os.listdir(directory):
            with open(os.path.join(directory, name)) as f:
                blanks += [name for line in f if line.rstrip("\n") != line.rstrip()]
        check("no result has trailing blanks, which tests/lint would refuse", not blanks)
    print("1..%d" % len(results))
    sys.exit(not all(results))


main()
