# SPDX-License-Identifier: GPL-2.0-or-later
"""How many units of a graphics processor programs need; run by tests/bench/gpu."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import report

KERNELS = {"compute": 400, "stream": 40, "random": 300}  # and how much work, for some seconds on a slow device
# The thesis' board (section 4.2) and what a unit of its kind can ask for.
UNITS, STEP = 44, 4
L2_KIB = 1024
MEMORY_GBS = 320
UNIT_GBS = 30      # lines that a unit can have on their way, from memory
UNIT_L2_GBS = 60   # from the cache
UNIT_GOPS = 60     # 64 lanes at 0.93 GHz
# The published outcomes (section 4.3).
PUBLISHED = {"time": 24, "energy": 42, "edp": 53}
FEWEST, MOST = 8, 24  # units with the least energy


class Kind:
    """A kernel of a query: billions of operations, GB that it asks the cache for, what of it is used again where it fits, and
    the KiB of the cache that each unit's threads use at once."""

    def __init__(self, operations, traffic, again, footprint):
        self.operations, self.traffic, self.again, self.footprint = operations, traffic, again, footprint

    def at(self, units):
        """Seconds, and the share of lanes of these units that work."""
        fits = min(1, L2_KIB / (self.footprint * units))
        hits = self.again * fits
        compute = self.operations / (UNIT_GOPS * units)
        cache = self.traffic / (UNIT_L2_GBS * units)
        memory = self.traffic * (1 - hits) / min(MEMORY_GBS, UNIT_GBS * units)
        seconds = max(compute, cache, memory)
        return seconds, compute / seconds


# Queries by what they do most (figure 4.1). The numbers are chosen: there are no published ones. A comma would end a name.
QUERIES = {
    "join that thrashes (5/7)": {"join": Kind(50, 100, 0.5, 40), "group": Kind(6, 10, 0.1, 20)},
    "join (3/4/9/10)": {"join": Kind(70, 100, 0.12, 40), "scan": Kind(12, 6, 0, 4)},
    "group (15/17)": {"group": Kind(60, 90, 0.05, 30), "scan": Kind(10, 6, 0, 4)},
    "scan (6/14/19)": {"scan": Kind(700, 20, 0, 4)},
}
SCANS = "scan (6/14/19)"


def curves():
    rows = ["program,kernel,units,seconds,activity"]
    for query, kernels in QUERIES.items():
        for kernel, kind in kernels.items():
            for units in range(STEP, UNITS + 1, STEP):
                rows.append("%s,%s,%d,%.9f,%.6f" % ((query, kernel, units) + kind.at(units)))
    return "\n".join(rows) + "\n"


def poppa(build, action, *arguments):
    done = subprocess.run([os.path.join(build, "poppa"), "gpu", action, "--json", *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit("bench_gpu.py: poppa gpu %s: %s" % (" ".join((action, *arguments)), done.stderr.decode().strip()))
    return json.loads(done.stdout)["programs"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    out = report.Report("gpu", "How many units of a graphics processor programs need", args.results, args.quick,
                        "tests/bench/gpu" + (" --quick" if args.quick else ""))
    device = os.path.join(args.build, "contrib", "workloads", "device_units")
    units = int(subprocess.run([device, "--count"], stdout=subprocess.PIPE, check=True).stdout)
    tried = sorted({max(1, round(units * share / 8)) for share in range(1, 9)})
    swept = {}
    for kernel, work in KERNELS.items():
        out.progress("%s on %d units at most" % (kernel, units))
        swept[kernel] = poppa(args.build, "sweep", "--by", "POPPA_GPU_UNITS", "--units", ",".join(map(str, tried)),
                              "--rounds", "1" if args.quick else "5", "--name", kernel, "--", device, "--kernel", kernel,
                              "--work", str(max(1, work // (20 if args.quick else 1))))[0]
    out.text("## A real device\n\nKernels of `contrib/workloads/device_units` on parts of an OpenCL device of %d compute units, each run from its start to" % units,
             "its end, with the compiler's time. On a machine without a graphics processor the device is PoCL's, whose units are processors: a",
             "real cap on a real device, and no graphics processor. Energy is not known there.")
    out.table(["kernel"] + ["%d units, s" % n for n in tried] + ["needs"],
              [[kernel] + ["%.3f" % p["seconds"] for p in found["points"]] + ["%d" % found["units"]] for kernel, found in swept.items()])
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
        f.write(curves())
        f.flush()
        decided = {goal: {p["program"]: p for p in poppa(args.build, "decide", "--goal", goal, "--eps", "2%" if goal == "time" else "0", f.name)}
                   for goal in ("time", "energy", "edp")}
    out.text("## The thesis' board (figures 4.6, 4.7 and 4.9)\n\n**A simulation**: the thesis prints no curves as numbers. These are of a model of its board",
             "(%d units, %d KiB of cache, %d GB/s): a kernel takes as long as its operations, its cache or its memory, whichever takes longest," % (
                 UNITS, L2_KIB, MEMORY_GBS),
             "and the more units are on, the less of the cache each has. What each kind of query asks for is chosen after figure 4.1 and the text.",
             "`poppa gpu decide` has the times and the activity of the lanes, and knows energy by its model of power.")
    names = list(QUERIES)
    out.table(["queries", "nearly as fast with", "time", "least energy with", "energy", "least EDP with", "EDP"],
              [[name] + [cell for goal in ("time", "energy", "edp") for cell in (
                  "%d" % decided[goal][name]["units"], "%+.0f %%" % (-100 * decided[goal][name][goal + "_saved"]))] for name in names])
    for i, (kind, title) in enumerate((("seconds", "time"), ("joules", "energy"), ("edp", "energy times time"))):
        out.plot("set xlabel 'units'\nset ylabel '%s, relative to %d units (simulated)'\nset yrange [0:2]\nplot " % (title, UNITS) + ", ".join(
            "$d%d using 1:2 with linespoints lt %d title '%s'" % (n, n + 1, name) for n, name in enumerate(names)),
            [[[p["units"], p[kind] / decided["time"][name]["points"][-1][kind]] for p in decided["time"][name]["points"]] for name in names],
            "-" + ("time", "energy", "edp")[i])
    others = [n for n in names if n != SCANS]
    scans = decided["time"][SCANS]
    best = {goal: max(100 * decided[goal][n][goal + "_saved"] for n in names) for goal in decided}
    out.judge("real device: computing needs all units", "%d of %d" % (swept["compute"]["units"], units), swept["compute"]["units"] == units)
    out.judge("simulated: scans want all units", "%d of %d" % (scans["units"], UNITS), scans["units"] == UNITS)
    out.judge("simulated: the other queries take the least energy with %d to %d of %d units" % (FEWEST, MOST, UNITS),
              ", ".join("%d" % decided["energy"][n]["units"] for n in others), all(FEWEST <= decided["energy"][n]["units"] <= MOST for n in others))
    for goal, published in PUBLISHED.items():
        out.judge("simulated: %s at best, published -%d %%, within 5 points" % (goal.upper() if goal == "edp" else goal, published),
                  "-%.0f %%" % best[goal], abs(best[goal] - published) <= 5)
    out.write()


if __name__ == "__main__":
    main()
