# SPDX-License-Identifier: GPL-2.0-or-later
"""Lookups in Horton tables beside those in others; run by tests/bench/horton."""
import argparse
import csv
import math
import os
import statistics
import subprocess
import sys

import report

SLOTS, TAGS, BUCKET = 8, 21, 64
MIB = 1 << 20
LOAD = 0.9               # of the paper's figures 5.12 and 5.13
FULL = 0.95
MOST = {"positive": 1.18, "negative": 1.06}  # lines a lookup at that load
MODEL_OFF = 0.01
NAMES = {"horton": "Horton", "horton-scalar": "Horton, without AVX2", "cuckoo-balanced": "cuckoo, load-balanced",
         "cuckoo-first-fit": "cuckoo, first fit", "open-addressing": "open addressing"}
OTHERS = ("cuckoo-balanced", "cuckoo-first-fit", "open-addressing")
# By how much faster than load-balanced cuckoo tables, on a graphics processor (figures 5.12 and 5.13).
PUBLISHED = {"positive": "17 to 35 %", "negative": "73 to 89 %"}


def poisson(mean, x):
    return math.exp(-mean + x * math.log(mean) - math.lgamma(x + 1))


def model(load, kind):
    """Lines a lookup: equations 5.5 and 5.7, 5.8 and 5.9."""
    mean = load * SLOTS
    if kind == "positive":
        return 1 + sum((x - SLOTS + 1) * poisson(mean, x) for x in range(SLOTS + 1, 60)) / mean
    return 1 + sum((x - SLOTS + 1) * poisson(mean, x) for x in range(SLOTS + 1, SLOTS + TAGS)) / TAGS


class Lookups:
    """The rows of one run: rates in millions a second by table and kind, one for each round, and lines a lookup."""

    def __init__(self, text):
        self.rates, self.lines = {}, {}
        for row in csv.DictReader(text.splitlines()):
            key = row["table"], row["lookups"]
            self.rates.setdefault(key, []).append(float(row["million_per_s"]))
            self.lines[key] = float(row["lines"])

    def rate(self, table, kind):
        return statistics.median(self.rates[table, kind])

    def faster(self, other, kind):
        return report.times_as_fast(self.rates["horton", kind], self.rates[other, kind])


def run(build, *arguments):
    done = subprocess.run([os.path.join(build, "tests", "bench", "tables", "lookups"), *arguments], stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit("bench_horton.py: lookups %s failed" % " ".join(arguments))
    return done.stdout.decode()


def cache_bytes():
    """Of the last level, or 0 where the machine does not tell."""
    sizes = []
    base = "/sys/devices/system/cpu/cpu0/cache"
    for name in os.listdir(base) if os.path.isdir(base) else []:
        try:
            with open(os.path.join(base, name, "size")) as f:
                sizes.append(int(f.read().strip().rstrip("K")) * 1024)
        except (OSError, ValueError):
            continue
    return max(sizes, default=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    sizes = (1, 4) if args.quick else (1, 4, 16, 64, 256)
    lookups, rounds = ("100000", "2") if args.quick else ("4000000", "9")
    out = report.Report("horton", "Lookups in Horton tables", args.results, args.quick,
                        "tests/bench/horton" + (" --quick" if args.quick else ""))
    found = {}
    for size in sizes:
        out.progress("tables of %d MiB" % size)
        found[size] = Lookups(run(args.build, "--buckets", str(size * MIB // BUCKET), "--load", str(LOAD),
                                  "--lookups", lookups, "--rounds", rounds))
    out.text("All tables have the same number of slots, of eight bytes each, and are filled with the same random items to %d %%" % (100 * LOAD),
             "of them. The same %s keys are then looked up in each, in turns, %s times, by one thread; all of them are there" % (lookups, rounds),
             "(positive) or none of them is (negative). All tables have 16 lookups on their way from memory at once. The Horton table and",
             "the cuckoo tables have buckets of eight items in a cache line of 64 bytes, and compare with AVX2. Rates are medians, in millions a second;",
             "*lines* are the cache lines that a lookup reads, counted. The last-level cache of this machine has %d MiB." % (cache_bytes() // MIB))
    for kind in ("positive", "negative"):
        out.text("## %s lookups (thesis, figure %s)" % (kind.capitalize(), "5.12" if kind == "positive" else "5.13"))
        out.table(["table", "lines"] + ["%d MiB" % size for size in sizes],
                  [[name, "%.3f" % found[sizes[-1]].lines[table, kind]] + ["%.1f" % found[s].rate(table, kind) for s in sizes]
                   for table, name in NAMES.items()])
        out.table(["Horton against", *("%d MiB" % size for size in sizes)],
                  [[NAMES[other]] + ["%.2f (%.2f to %.2f)" % found[s].faster(other, kind) for s in sizes] for other in OTHERS])
        out.plot("set logscale x 2\nset yrange [0:]\nset xlabel 'MiB'\nset ylabel 'million lookups a second'\nplot " +
                 ", ".join("$d%d using 1:2 with linespoints lt %d title '%s'" % (i, i + 1, name) for i, name in enumerate(NAMES.values())),
                 [[[float(s), found[s].rate(table, kind)] for s in sizes] for table in NAMES], "-" + kind)
    out.text("## Lines against the model (figure 5.14)")
    rows, off = [], 0
    for load in (0.5, 0.7, LOAD, FULL):
        out.progress("a load of %.2f" % load)
        buckets = "5000" if args.quick else "200000"
        lines = dict(zip(MOST, map(float, run(args.build, "--lines", "--load", str(load), "--buckets", buckets).split())))
        row = ["%.2f" % load]
        for kind in ("positive", "negative"):
            row += ["%.4f" % lines[kind], "%.4f" % model(load, kind)]
            off = max(off, abs(lines[kind] - model(load, kind)))
        rows.append(row)
    out.table(["load", "positive", "model", "negative", "model"], rows)
    largest = found[sizes[-1]]
    filled = [float(run(args.build, "--fill", "--buckets", str(buckets))) for buckets in ((2000,) if args.quick else (2000, 200000, 2000000))]
    for kind, most in MOST.items():
        out.judge("lines a %s lookup at a load of %.2f: at most %.2f" % (kind, FULL, most), "%.3f" % lines[kind], lines[kind] <= most)
    out.judge("lines as the model says, within %.2f" % MODEL_OFF, "at most %.4f off" % off, off <= MODEL_OFF)
    out.judge("filled above %.2f" % FULL, ", ".join("%.4f" % f for f in filled), min(filled) > FULL)
    for kind in MOST:
        for other in OTHERS:
            ratio, lo, hi = largest.faster(other, kind)
            out.judge("%s lookups in %d MiB faster than %s%s" % (kind, sizes[-1], NAMES[other], " (paper: by %s)" % PUBLISHED[kind]
                                                             if other == "cuckoo-balanced" else ""),
                      "%.2f times (%.2f to %.2f)" % (ratio, lo, hi), report.above_one(lo, hi))
    out.write()


if __name__ == "__main__":
    main()
