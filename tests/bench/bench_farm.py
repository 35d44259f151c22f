# SPDX-License-Identifier: GPL-2.0-or-later
"""Queries that share data, in the order of poppa-farm and in others; run by tests/bench/farm."""
import argparse
import concurrent.futures
import csv
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import report

UNEVEN = 0.10  # paper, section 4.2.3
RATE = re.compile(rb"recommend: (\S+) queries a second")
# By how much faster (paper, figures 2 and 14).
PUBLISHED = {"neighbours": "27.4 %", "coalesced": "13.5 %", "right": "28.1 %", "inter": "18 %", "intra": "22 %"}
SIMULATED_LEAST = {"inter": 1.09, "intra": 1.11}  # half of what the paper gains
POLICIES = ("affinity", "stealing", "queue")
CHUNK = 512


def check(command, stdin=None):
    done = subprocess.run(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit("bench_farm.py: %s: exit status %d: %s" % (" ".join(command), done.returncode, done.stderr.decode().strip()))
    return done


class Queries:
    """Files of queries on one graph in memory."""

    def __init__(self, build, folder, size):
        self.program, self.folder = os.path.join(build, "contrib", "workloads", "recommend"), folder
        self.command = [self.program, *size, "--graph", os.path.join(folder, "graph")]

    def make(self, *options):
        return check([*self.command, *options]).stdout.decode().splitlines(True)

    def write(self, name, lines):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.writelines(lines)
        return path

    def rate(self, path):
        """Queries a second of one process on one processor."""
        with open(path) as f:
            return float(RATE.search(check(["taskset", "-c", "0", *self.command, "--verbose"], f).stderr)[1])


def together(queries, paths):
    """Queries a second of two processes, each on a processor of its own, by the slower one."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        def run(cpu, path):
            with open(path) as f:
                return float(RATE.search(check(["taskset", "-c", str(cpu), *queries.command, "--verbose"], f).stderr)[1])
        return 2 * min(pool.map(run, range(2), paths))


def farm(build, queries, path, policy):
    """Queries a second by poppa-farm, and how uneven its workers' times are."""
    found = json.loads(check([os.path.join(build, "poppa-farm"), "--json", "--workers", "2", "--policy", policy,
                              "--server", " ".join(queries.command), path]).stdout)
    if found["done"] != found["tasks"]:
        sys.exit("bench_farm.py: poppa-farm has done %d of %d queries" % (found["done"], found["tasks"]))
    return found["tasks"] / found["seconds"], found["uneven"]


def gnu_parallel(queries, path, count):
    """Queries a second by GNU parallel, which gives its programs pieces of the file in order."""
    start = time.monotonic()
    with open(path) as f:
        done = check(["parallel", "--will-cite", "--pipe", "--round-robin", "-j", "2", "-N", str(CHUNK), *queries.command], f)
    if done.stdout.count(b"ok\n") != count:
        sys.exit("bench_farm.py: GNU parallel has done %d of %d queries" % (done.stdout.count(b"ok\n"), count))
    return count / (time.monotonic() - start)


def compare(out, rounds, kinds):
    """Calls all functions in turns: {name: [what each round returned]}."""
    found = {name: [] for name in kinds}
    for i in range(rounds):
        out.progress("round %d of %d: %s" % (i + 1, rounds, ", ".join(kinds)))
        for name in list(kinds)[::1 if i % 2 else -1]:
            found[name].append(kinds[name]())
    return found


def simulate(build, *options):
    return next(csv.DictReader(check([os.path.join(build, "tests", "sim", "farm", "farm"), *options]).stdout.decode().splitlines()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    size = ["--documents", "2000", "--users", "1800", "--edges", "30000"] if args.quick else []
    count, rounds, few, cores = (256, 2, 1, (1, 8)) if args.quick else (32768, 9, 3, (1, 2, 4, 8, 16, 32))
    out = report.Report("farm", "Queries that share data", args.results, args.quick,
                        "tests/bench/farm" + (" --quick" if args.quick else ""))
    judge = lambda what, ratio: out.judge(what, "%.3f times as fast (%.3f to %.3f)" % ratio, report.above_one(*ratio[1:]))
    with tempfile.TemporaryDirectory(prefix="poppa-bench-farm-", dir="/dev/shm") as folder:
        queries = Queries(args.build, folder, size)
        part = str(count // 4)
        everywhere = queries.make("--queries", part, "--seed", "1")
        near = queries.make("--queries", part, "--groups", "16", "--near")
        mixed = everywhere + near
        random.Random(1).shuffle(mixed)
        files = {name: queries.write(name, lines) for name, lines in (
            ("neighbours", near), ("random", everywhere), ("coalesced", near + everywhere), ("mixed", mixed))}
        half = len(near) // 2
        threads = {name: [queries.write("%s-%d" % (name, i), part) for i, part in enumerate(parts)] for name, parts in (
            ("right", (near[:half], near[half:])), ("either", (near[::2], near[1::2])))}
        alone = compare(out, few * rounds, {name: (lambda p=path: queries.rate(p)) for name, path in files.items()})
        pairs = compare(out, few * rounds, {name: (lambda p=paths: together(queries, p)) for name, paths in threads.items()})
        burst = queries.write("burst", queries.make("--queries", str(count)))
        kinds = {p: (lambda p=p: farm(args.build, queries, burst, p)) for p in POLICIES}
        kinds["GNU parallel"] = lambda: (gnu_parallel(queries, burst, count), None)
        farms = compare(out, rounds, kinds)
    rates = {name: [r for r, _ in found] for name, found in farms.items()}
    uneven = [u for _, u in farms["affinity"]]
    out.text("The program is `contrib/workloads/recommend`: collaborative filtering on a made-up graph of the paper's size (72,300 users,",
             "82,100 documents, 1.74 million edges), by searches of four levels. Rates are medians of rounds in turns, %d of poppa-farm's and %d of the others; what is compared are" % (rounds, few * rounds),
             "the ratios of one round, with the 95 % interval of their median.")
    out.text("## Neighbours (figure 2)\n\nOne process on one processor, %s queries. *Neighbours* are of 16 groups, one group after the other; *random*" % part,
             "ones of the whole graph. Both together are *mixed* in random order, or *coalesced*: the neighbours first.")
    out.table(["queries", "a second"], [[name, "%.0f" % statistics.median(found)] for name, found in alone.items()])
    out.text("Two processes at once, each on a processor of its own, *neighbours* only: on the *right* one each group has one processor; on",
             "*either* one its queries go to both in turns, so that both load its data.")
    out.table(["neighbours on", "a second"], [[name, "%.0f" % statistics.median(found)] for name, found in pairs.items()])
    out.text("## poppa-farm and others\n\n%d random queries by two workers on two processors, which share the last-level cache: what remains of" % count,
             "figure 14 here is the order on each processor. *Stealing* and *queue* are poppa-farm with a list for each worker and with one list.",
             "GNU parallel gives two programs %d queries at a time." % CHUNK)
    out.table(["order", "a second", "affinity is faster by"],
              [[name, "%.0f" % statistics.median(found), "" if name == "affinity" else
                "%.3f (%.3f to %.3f)" % report.times_as_fast(rates["affinity"], found)] for name, found in rates.items()])
    out.text("The workers' times differ by %s %% of their mean (standard deviation, the median of the rounds)." % report.percent(statistics.median(uneven)))
    judge("neighbours faster than random queries (paper: by %s)" % PUBLISHED["neighbours"],
          report.times_as_fast(alone["neighbours"], alone["random"]))
    judge("neighbours coalesced faster than mixed (paper: by %s)" % PUBLISHED["coalesced"],
          report.times_as_fast(alone["coalesced"], alone["mixed"]))
    judge("neighbours on the right processor faster than on either (paper: by %s)" % PUBLISHED["right"],
          report.times_as_fast(pairs["right"], pairs["either"]))
    for other in ("stealing", "queue", "GNU parallel"):
        judge("affinity faster than %s" % other, report.times_as_fast(rates["affinity"], rates[other]))
    out.judge("the workers' times differ by less than 10 %", "at most %s %%" % report.percent(max(uneven)), max(uneven) < UNEVEN)
    out.progress("simulated machines")
    small = size + ["--queries", str(count), *(["--kib", "64"] if args.quick else [])]
    kinds = [(order, n, "shared") for n in cores for order in ("base", "inter", "intra")]
    kinds += [(order, cores[-1], "own") for order in ("base", "inter", "intra")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda k: simulate(args.build, "--order", k[0], "--cores", str(k[1]), "--slots", k[2], *small), kinds))
    ms = {k: float(r["ms"]) for k, r in zip(kinds, rows)}
    misses = {k: float(r["core"]) + float(r["socket"]) + float(r["memory"]) for k, r in zip(kinds, rows)}
    speed = lambda k: ms["base", k[1], k[2]] / ms[k]
    out.text("## A simulated machine of four sockets of eight cores (figure 14)\n\n**A simulation**: %d random queries on cores with caches of" % count,
             "their own, of 4 MiB each, started in the order of poppa-farm's schedule. *Base* has a list for each worker, and stealing; *inter*",
             "gives each key to one worker; *intra* also prefers keys that it has just had, which is poppa-farm's default. *Shared* slots lie side by side",
             "in each vertex, as in the paper; *own* ones are each worker's, as poppa-farm's servers have them. Times follow from assumed",
             "latencies (10, 60, 180 and 120 ns for a line in the own cache, in another one of the socket, of another socket, and in memory).")
    out.table(["order", "cores", "slots", "faster than base", "misses a query", "of them from other caches", "times differ by, %"],
              [[k[0], k[1], k[2], "%.3f" % speed(k), "%.0f" % misses[k], "%.0f" % (misses[k] - float(r["memory"])),
                report.percent(float(r["uneven"]))] for k, r in zip(kinds, rows)])
    for order in ("inter", "intra"):
        k = order, cores[-1], "shared"
        out.judge("simulated: %s on %d cores is faster than base by half of the paper's %s at least" % (order, cores[-1], PUBLISHED[order]),
                  "%.3f times the misses, %.3f times as fast" % (misses[k] / misses["base", k[1], k[2]], speed(k)),
                  speed(k) >= SIMULATED_LEAST[order])
    out.plot("set logscale x 2\nset xlabel 'cores'\nset ylabel 'times as fast as base (simulated)'\nplot " + ", ".join(
        "$d%d using 1:2 with linespoints lt %d title '%s'" % (i, i + 1, order) for i, order in enumerate(("inter", "intra"))),
        [[[float(n), speed((order, n, "shared"))] for n in cores] for order in ("inter", "intra")])
    out.write()


if __name__ == "__main__":
    main()
