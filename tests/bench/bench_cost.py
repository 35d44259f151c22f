# SPDX-License-Identifier: GPL-2.0-or-later
"""What poppad costs a contended and an innocent pair with its default settings."""
import bisect
import math
import os
import statistics
import time

from cluster import Failed
from report import percent

TITLE = "What poppad costs with its default settings"
LIMIT = 0.003
MS = 1000000
LEAD, TAIL = 10 * MS, 40 * MS  # of a block's surroundings that count as touched by it
BASE = 120 * MS                # on either side of that: what the rate is otherwise


class Trace:
    """Progress of one job over time, between samples on a straight line."""

    def __init__(self, rows, column):
        self.times = [row[0] for row in rows]
        self.values = [row[column] for row in rows]

    def at(self, ns):
        i = min(max(bisect.bisect_right(self.times, ns), 1), len(self.times) - 1)
        share = (ns - self.times[i - 1]) / (self.times[i] - self.times[i - 1])
        return self.values[i - 1] + share * (self.values[i] - self.values[i - 1])

    def gained(self, start, end):
        return self.at(end) - self.at(start)


def losses(trace, blocks):
    """Time in ns that each block cost the job, as far as no other block is near."""
    found = []
    for i, (first, last) in enumerate(blocks):
        start, end = first - LEAD, last + TAIL
        if start - BASE < trace.times[0] or end + BASE > trace.times[-1]:
            continue
        if i and blocks[i - 1][1] + TAIL > start - BASE:
            continue
        if i + 1 < len(blocks) and blocks[i + 1][0] - LEAD < end + BASE:
            continue
        rate = (trace.gained(start - BASE, start) + trace.gained(end, end + BASE)) / (2 * BASE)
        if rate > 0:
            found.append(end - start - trace.gained(start, end) / rate)
    return found


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one_pair(cluster, jobs, seconds):
    """[(cost, half of its 95 % interval, blocks looked at)] of both jobs, blocks a second, and the
    share of the processors that poppad took."""
    pid = cluster.status()["pid"]
    with cluster.shutter_log():
        cpu = cpu_seconds(pid)
        rows = cluster.trace(jobs, seconds)
        cpu = cpu_seconds(pid) - cpu
        blocks = cluster.blocks(rows[0][0], rows[-1][0])
    elapsed = (rows[-1][0] - rows[0][0]) / 1e9
    pace = len(blocks) / elapsed
    costs = []
    for column in range(1, len(jobs) + 1):
        lost = losses(Trace(rows, column), blocks)
        if len(lost) < 5:
            raise Failed("only %d of %d shutters stood apart from others" % (len(lost), len(blocks)))
        error = 1.96 * statistics.stdev(lost) / math.sqrt(len(lost))
        costs.append((statistics.mean(lost) * pace / 1e9, error * pace / 1e9, len(lost)))
    return costs, pace, cpu / elapsed / os.cpu_count()


def main(report, cluster, build, quick):
    seconds, direct, warm_up = (12, 18, 4) if quick else (80, 40, 15)
    pairs = (("contended", cluster.contend(5), cluster.contend(5)),
             ("innocent", cluster.contend(5), cluster.workload("null")))
    # The sandbox has a shorter period and a higher limit than the defaults.
    cluster.configure(poppa_period="", poppa_overhead_max="")
    rows, verdicts = [], []
    for name, first, second in pairs:
        with cluster.pair(first, second) as jobs:
            time.sleep(warm_up)
            costs, pace, cpu = one_pair(cluster, jobs, seconds)
            check = cluster.cost(jobs, direct, 1.0)
        for j, (cost, half, looked), c in zip(jobs, costs, check["jobs"]):
            rows.append(["%s: %s" % (name, j.program.name), percent(cost, 3),
                         "%s to %s" % (percent(cost - half, 3), percent(cost + half, 3)), looked,
                         "%s (%s to %s)" % tuple(percent(x) for x in (c["cost"], *c["ci95"]))])
        cost = sum(c[0] for c in costs) / 2
        half = math.sqrt(sum(c[1] ** 2 for c in costs)) / 2
        rows.append(["%s: both" % name, percent(cost, 3),
                     "%s to %s" % (percent(cost - half, 3), percent(cost + half, 3)), "",
                     "%s (%s to %s)" % tuple(percent(x) for x in (check["cost"], *check["ci95"]))])
        most = cost + half + cpu
        verdicts.append("The %s pair had %.2f blocks a second and lost %s %% to them, and poppad took "
                        "%s %% of the processors: together at most %s %%, %s 0.3 %%." % (
                            name, pace, percent(cost, 3), percent(cpu, 3), percent(most, 3),
                            "within" if most <= LIMIT else "not certainly within"))
    report.text("Progress that two co-located jobs lose to poppad, in per cent of their time, after "
                "%d s in which poppad gets to know the pair. Settings: `%s`." % (
                    warm_up, cluster.status()["settings"].split(",poppa_ledger")[0]))
    report.text("*Cost* is what shutters take and give: for each block of the shutter log, the "
                "progress from 10 ms before to 40 ms after it against the rate of the 120 ms on "
                "either side, over %d s; times the number of blocks. Machines drift little in so short "
                "a time. What poppad does at other times is in the "
                "processor time that it takes, which includes what it does during blocks." % seconds)
    report.text("*By turns* is the direct comparison: stretches of 1 s in which poppad holds its "
                "shutters in turn with stretches in which it does not, for another %d s. It sees "
                "everything, and less sharply." % direct)
    report.table(["pair: job", "cost", "95 % interval", "blocks looked at", "by turns"], rows)
    report.text(*verdicts)
