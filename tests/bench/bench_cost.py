# SPDX-License-Identifier: GPL-2.0-or-later
"""What poppad costs a contended and an innocent pair with its default settings."""
import os
import time

import blockcost
from cluster import Failed
from report import at_most, percent

TITLE = "What poppad costs with its default settings"
LIMIT = 0.003
SHARP = 0.0005  # standard error from which on it is measured no longer
SURE = 3.3  # and so many from the limit: one look after the other at 1.96 would decide by chance


def other_cpu_ns(pids):
    """CPU time of all threads but the one whose work is in the blocks."""
    total = 0
    for pid in pids:
        for task in os.listdir("/proc/%d/task" % pid):
            at = "/proc/%d/task/%s/" % (pid, task)
            with open(at + "comm") as comm, open(at + "schedstat") as stat:
                if comm.read().strip() != "poppad-shutter":
                    total += int(stat.read().split()[0])
    return total


def one_pair(cluster, jobs, quick):
    """Both jobs' Cost, blocks a second, the share of the processors that poppad took beside
    blocks, the direct comparison, how long they were left alone before, for what share of that they
    were held, and how long they were looked at."""
    chunk, least, most, direct, warm_up = (12, 1, 1, 18, 4) if quick else (40, 2, 12, 24, 120)
    time.sleep(warm_up)
    status = cluster.status()
    # A pair that is new has more blocks, and its first long ones.
    beside = sum(j["co_s"] for j in status["jobs"])
    held_at_first = sum(j["paused_s"] for j in status["jobs"]) / beside if beside else 0
    pids = (status["pid"], status["guard_pid"])
    rows, cpu = [], -other_cpu_ns(pids)
    with cluster.shutter_log():
        for n in range(most):
            rows += cluster.trace(jobs, chunk)
            costs, pace = blockcost.of_jobs(rows, cluster.blocks(rows[0][0], rows[-1][0]))
            mean, half = blockcost.both(costs)
            error = half / 1.96
            if n + 1 >= least and (error <= SHARP or abs(mean - LIMIT) > SURE * error):
                break
        cpu += other_cpu_ns(pids)
    if min(c.blocks for c in costs) < 5:
        raise Failed("only %d shutters stood apart from others" % min(c.blocks for c in costs))
    elapsed = rows[-1][0] - rows[0][0]
    return (costs, pace, cpu / elapsed / os.cpu_count(), cluster.cost(jobs, direct, 1.0),
            warm_up, held_at_first, elapsed / 1e9)


def interval(cost, half):
    return "%s to %s" % (percent(cost - half, 3), percent(cost + half, 3))


def main(report, cluster, build, quick):
    pairs = (("contended", cluster.contend(5), cluster.contend(5)),
             ("innocent", cluster.contend(5), cluster.workload("null")))
    # The sandbox has a shorter period and a higher limit than the defaults.
    cluster.configure(poppa_period="", poppa_overhead_max="")
    rows, lines = [], []
    for name, first, second in pairs:
        found = cluster.beside(report, first, second, [None],
                               lambda jobs, _: one_pair(cluster, jobs, quick))
        if not found:
            report.judge("default settings cost the %s pair at most 0.3 %%" % name, "nothing", None)
            continue
        costs, pace, cpu, check, warm_up, held_at_first, elapsed = found[None]
        for program, cost, c in zip((first, second), costs, check["jobs"]):
            rows.append(["%s: %s" % (name, program.name), percent(cost.mean, 3),
                         interval(cost.mean, cost.half), cost.blocks,
                         "%s (%s to %s)" % tuple(percent(x) for x in (c["cost"], *c["ci95"]))])
        cost, half = blockcost.both(costs)
        rows.append(["%s: both" % name, percent(cost, 3), interval(cost, half), "",
                     "%s (%s to %s)" % tuple(percent(x) for x in (check["cost"], *check["ci95"]))])
        rows.append(["%s: with poppad's other CPU time" % name, percent(cost + cpu, 3),
                     interval(cost + cpu, half), "", ""])
        lines.append("The %s pair had %.2f blocks a second in %d s, and poppad took %s %% of the processors for all but "
                     "shutters. In the %d s before, in which poppad got to know it, its jobs were held for %s %% of the time." % (
                         name, pace, elapsed, percent(cpu, 3), warm_up, percent(held_at_first, 2)))
        report.judge("default settings cost the %s pair at most 0.3 %%" % name,
                     "%s %% (%s)" % (percent(cost + cpu, 3), interval(cost + cpu, half)),
                     at_most(cost + cpu - half, cost + cpu + half, LIMIT))
    report.text("Progress that two co-located jobs lose to poppad, in per cent of their time. Settings: "
                "`%s`." % cluster.status()["settings"].split(",poppa_ledger")[0])
    report.text("*Cost* is what shutters take and give: for each block of the shutter log, the "
                "progress from 10 ms before to 40 ms after it against the rate of the 40 to 120 ms on "
                "either side; times the number of blocks. Machines drift little in so short "
                "a time. What poppad does at other times is the CPU time of its other threads and its guard, "
                "which is added as if the jobs had lost all of it. With the shutter log on, shutters read "
                "more counters than without.")
    report.text("A pair that is new has a block in every turn, which costs it 0.33 % by the model, until its "
                "degradations are known to 0.02, and credit for its first long blocks. So it is looked at after two "
                "minutes, and what it was held until then is given apart.")
    report.text("*By turns* is the direct comparison: stretches of 1 s in which poppad holds its "
                "shutters in turn with stretches in which it does not, for another 24 s. It sees "
                "everything, and much less sharply.")
    report.table(["pair: job", "cost", "95 % interval", "blocks looked at", "by turns"], rows)
    report.text(*lines)
