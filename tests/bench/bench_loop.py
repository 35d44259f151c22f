# SPDX-License-Identifier: GPL-2.0-or-later
"""Breakdown of one loop for 2 to 32 tasks, beside a straightforward one (thesis, figure 3.4)."""
import json
import os

from cluster import Failed, run

TITLE = "What one loop of the shutter costs"
PARTS = (("stop", "stop"), ("resume", "resume"), ("read_alone", "read, one job alone"),
         ("read_together", "read, before and after"), ("other", "other"))
VARIANTS = (("straightforward", "perf", "sigstop"), ("perf", "perf", "sigstop"),
            ("heartbeat", "heartbeat", "sigstop"), ("heartbeat, freezer", "heartbeat", "freezer"))


def measure(build, tasks, loops, counter, pause):
    """What the program says; None where no freezer was in time."""
    try:
        return json.loads(run(os.path.join(build, "tests", "bench", "loop"), "--json", "--tasks",
                              str(tasks), "--loops", str(loops), "--counter", counter, "--pause",
                              pause))
    except Failed as why:
        if pause != "freezer" or "not-frozen" not in str(why):
            raise
        return None


def main(report, cluster, build, quick):
    counts = (2, 16) if quick else (2, 4, 8, 16, 32)
    loops = 15 if quick else 80
    runs = {(n, name): measure(build, n, loops, counter, pause)
            for n in counts for name, counter, pause in VARIANTS if name != "straightforward"}
    rows, bars = [], []
    for n in counts:
        for name, _, _ in VARIANTS:
            ours = name != "straightforward"
            result = runs[n, name if ours else "perf"]
            if not result:
                rows.append(["%d, %s" % (n, name)] + ["not frozen in time"] + [""] * (len(PARTS) + 6))
                continue
            side = result["ours" if ours else "straightforward"]
            rows.append(["%d, %s" % (n, name)] + ["%.0f" % side[key] for key, _ in PARTS] +
                        ["%.0f" % side["calls"], "%.2f" % result["ratio"] if ours else "1",
                         "%.0f" % side["all"], "%.2f" % result["ratio_all"] if ours else "1",
                         "%.0f" % side["sleep"], "%.0f" % side["readings"],
                         "%.2f" % result["ratio_readings"] if ours else "1"])
            if name != "heartbeat, freezer":
                bars.append(["%d" % n if name == "perf" else ""] + [side[key] for key, _ in PARTS])
        bars.append([""] + [0] * len(PARTS))
    events = runs[counts[0], "perf"]["events"]
    report.text("What the daemon's thread spends on one loop with K = %d sub-windows, without the windows "
                "themselves, in us (medians of %d loops). poppad's own shutter library takes turns in one run "
                "with a straightforward implementation of the thesis' Algorithms 1 to 3: a read for each "
                "task and event at both ends of each sub-window, a kill for each task." %
                (runs[counts[0], "perf"]["windows"], loops),
                "The events are instructions and cycles." if events == "hardware" else
                "This machine has no hardware counters: the kernel's software events task-clock "
                "and cpu-clock stand in for instructions and cycles in both, whose reading takes "
                "the same way through the kernel.")
    report.text("A row is one implementation: the straightforward one with perf events, ours with perf events, with "
                "heartbeats, and with heartbeats and the freezer. *Tasks* are those of both jobs together. *Calls* "
                "are stops, resumes and readings. *Other* is the CPU time of all else, but for going to sleep between "
                "readings, which both do: ours arms its guard, makes sure that it stops nobody whom "
                "somebody else has stopped, and leaves the processors of the job that it measures. *Readings* "
                "are counted, not timed. Each *share* is that of the straightforward one's figure on its left.")
    report.text("With more tasks than processors, tasks on one processor take turns every some "
                "10 us, so that each makes progress in each window as it would on a processor of "
                "its own. A perf reading of a task that runs on another processor interrupts that, which takes "
                "many times as long as the reading of one that waits for its turn, on either side: "
                "so here the few readings that meet a running task are most of the time. On a node with a "
                "processor for each task nearly all do, on either side, and the share of the calls nears that "
                "of the readings. Heartbeats interrupt nobody. A freezer has to wait for each task's turn.")
    report.table(["tasks, counters"] + [label for _, label in PARTS] +
                 ["calls", "share", "calls and other", "share", "going to sleep", "readings",
                  "share"], rows)
    plots = ", ".join('$d0 using %d:xtic(1) title "%s" lt %d' % (i + 2, label, i + 1)
                      for i, (_, label) in enumerate(PARTS))
    report.plot("set style data histograms\nset style histogram rowstacked\n"
                "set style fill solid 0.85 border lc rgb '#ffffff'\nset boxwidth 0.9\n"
                "set yrange [0:]\nset ylabel 'us a loop'\n"
                "set xlabel 'tasks; left to right: straightforward, perf, heartbeat'\n"
                "plot " + plots, [bars])
