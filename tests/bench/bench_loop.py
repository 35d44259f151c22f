# SPDX-License-Identifier: GPL-2.0-or-later
"""Breakdown of one loop for 2 to 32 tasks, beside a straightforward one (thesis, figure 3.4)."""
import json
import math
import os

from cluster import Failed, TROUBLE, run

TITLE = "What one loop of the shutter costs"
LONGEST_LOOP = 0.3  # s, on a busy machine
PARTS = (("stop", "stop"), ("resume", "resume"), ("read_alone", "read, one job alone"),
         ("read_together", "read, before and after"), ("other", "other"))
# Name, counter, pause of ours; the straightforward one is the same beside all.
VARIANTS = (("straightforward", None, None), ("perf", "perf", "sigstop"), ("heartbeat", "heartbeat", "sigstop"),
            ("heartbeat, freezer", "heartbeat", "freezer"))
STAGED_VARIANTS = VARIANTS[:3]  # a freezer waits for tasks that a stage keeps asleep
WANTED = 0.25  # share of the straightforward one's time, for this many tasks:
WANTED_TASKS = 16
MORE = 4  # times as many loops where something is judged
PUBLISHED_US = 500  # of the thesis, for a loop


def measure(report, build, tasks, loops, counter, pause, staged):
    """What the program says; None where no freezer was in time, or it failed twice."""
    what = "%d tasks, %s, %s%s" % (tasks, counter, pause, ", staged" if staged else "")
    report.progress(what)
    for attempt in (1, 2):
        try:
            return json.loads(run(os.path.join(build, "tests", "bench", "loop"), "--json", "--tasks",
                                  str(tasks), "--loops", str(loops), "--counter", counter, "--pause",
                                  pause, *(["--staged"] if staged else []), seconds=loops * LONGEST_LOOP))
        except TROUBLE as why:
            report.progress("failed: %s" % why)
            if pause == "freezer" and "not-frozen" in str(why):
                return None
            if attempt == 2:
                report.missed.append("%s: %s" % (what, why))
    return None


def measure_all(report, build, counts, loops, variants, staged):
    return {(n, name): measure(report, build, n, loops * (MORE if n == WANTED_TASKS else 1), counter, pause, staged)
            for n in counts for name, counter, pause in variants if counter}


def show(report, runs, counts, variants, suffix):
    """The table and the plot."""
    rows, bars = [], []
    for n in counts:
        for name, counter, _ in variants:
            result = runs[n, name] if counter else runs[n, "perf"] or runs[n, "heartbeat"]
            if not result:
                rows.append(["%d, %s" % (n, name), "not measured"] + [""] * (len(PARTS) + 6))
                continue
            side = result["ours" if counter else "straightforward"]
            rows.append(["%d, %s" % (n, name)] + ["%.0f" % side[key] for key, _ in PARTS] +
                        ["%.0f" % side["calls"], "%.2f" % result["ratio"] if counter else "1",
                         "%.0f" % side["all"], "%.2f" % result["ratio_all"] if counter else "1",
                         "%.0f" % side["sleep"], "%.0f" % side["readings"],
                         "%.2f" % result["ratio_readings"] if counter else "1"])
            if name != "heartbeat, freezer":
                bars.append(["%d" % n if name == "perf" else ""] + [side[key] for key, _ in PARTS])
        bars.append([""] + [0] * len(PARTS))
    report.table(["tasks, counters"] + [label for _, label in PARTS] +
                 ["calls", "share", "calls and other", "share", "going to sleep", "readings",
                  "share"], rows)
    plots = ", ".join('$d0 using %d:xtic(1) title "%s" lt %d' % (i + 2, label, i + 1)
                      for i, (_, label) in enumerate(PARTS))
    report.plot("set style data histograms\nset style histogram rowstacked\n"
                "set style fill solid 0.85 border lc rgb '#ffffff'\nset boxwidth 0.9\n"
                "set yrange [0:]\nset ylabel 'us a loop'\n"
                "set xlabel 'tasks; left to right: straightforward, perf, heartbeat'\n"
                "plot %d with lines lt 6 dt 2 title 'thesis: up to %d us a loop', " % (
                    PUBLISHED_US, PUBLISHED_US) + plots, [bars], suffix)


def interrupt_us(staged):
    """What one reading of a task that runs elsewhere takes the straightforward one."""
    sides = [result["straightforward"] for result in staged.values() if result]
    side = max(sides, key=lambda side: side["readings"], default=None)
    return (side["read_alone"] + side["read_together"]) / side["readings"] if side else math.nan


def main(report, cluster, build, quick):
    counts = (2, WANTED_TASKS) if quick else (2, 4, 8, WANTED_TASKS, 32)
    loops = 15 if quick else 100
    processors = len(os.sched_getaffinity(0))
    runs = measure_all(report, build, counts, loops, VARIANTS, False)
    staged = measure_all(report, build, counts, loops, STAGED_VARIANTS, True)
    known = [result for result in list(runs.values()) + list(staged.values()) if result]
    if not known:
        raise Failed("nothing could be measured: " + "; ".join(report.missed))
    events = known[0]["events"]
    report.text("What the daemon's thread spends on one loop with K = %d windows, without the windows "
                "themselves, in us (medians of %d loops or more). poppad's own shutter library takes turns in one run "
                "with a straightforward implementation of the thesis' Algorithms 1 to 3: a read for each "
                "task and event at both ends of each window (as Algorithm 1 measures one, so the boundary between "
                "two is read twice), a kill for each task." %
                (known[0]["windows"], loops),
                "The events are instructions and cycles." if events == "hardware" else
                "This machine has no hardware counters: the kernel's software events task-clock "
                "and cpu-clock stand in for instructions and cycles in both, whose reading takes "
                "the same way through the kernel.")
    report.text("A row is one implementation: the straightforward one with perf events, ours with perf events, with "
                "heartbeats, and with heartbeats and the freezer. *Tasks* are those of both jobs together. *Calls* "
                "are stops, resumes and readings. *Other* is the CPU time of all else, but for going to sleep between "
                "readings, which both do: ours arms its guard, makes sure that what it stopped stands still, "
                "and leaves the processors of the job that it measures. A look at a task's state before it is stopped, "
                "which ours takes so as to stop nobody whom somebody else has stopped, counts as a reading. *Readings* "
                "are counted, not timed. Each *share* is that of the straightforward one's figure on its left.")
    report.text("## As the tasks share this machine's processors")
    report.text("There are %d. Tasks on one processor take turns every some 10 us, so that each makes progress in each "
                "window as it would on a processor of its own. A perf reading of a task that runs on another processor "
                "interrupts that, which takes many times as long as the reading of one that waits for its turn, on "
                "either side: so with many tasks the few readings that meet a running one are most of the time, and "
                "which thread sits beside which task decides. Heartbeats interrupt nobody. A freezer has to wait for "
                "each task's turn. The thesis tells of 130 us for stopping and resuming 8 tasks and of up to 500 us for "
                "a loop, on a machine of its own." % processors)
    show(report, runs, counts, VARIANTS, "")
    report.text("## As on a node with a processor for each task")
    report.text("There nearly every call is about a task that runs on another processor. Two processors can show what "
                "that takes, call by call: all tasks share one, both threads have the other, and ahead of each reading "
                "and each stop, not timed, the one task that it is about is given the processor and the others sleep; "
                "ahead of each resume the processor is left idle (`--staged`). The straightforward thread is taken to "
                "displace the first task of the job that runs alone, whose readings therefore interrupt nobody; ours, which "
                "moves to a processor of the co-runners', the first of theirs. With 2 tasks "
                "this should say what the table above says, as there each has a processor of its own anyway. Nearly all of "
                "it is interrupts, and what one takes differs: on this machine %.0f us for a reading. The cheaper they "
                "are, the more stops and resumes weigh, which are as many on either side." % interrupt_us(staged))
    show(report, staged, counts, STAGED_VARIANTS, "-staged")
    report.text("What is asked for with heartbeats is judged by the first table, with perf events by the %s: this "
                "machine has %s processors than tasks." %
                (("first, too", "no fewer") if processors >= WANTED_TASKS else ("second", "fewer")))
    for name in ("heartbeat", "perf"):
        result = (staged if name == "perf" and processors < WANTED_TASKS else runs)[WANTED_TASKS, name]
        what = "a loop over %d tasks with %s takes at most a quarter of the straightforward one" % (
            WANTED_TASKS, "perf events" if name == "perf" else "heartbeats")
        report.judge(what, "%.3f" % result["ratio"] if result else "nothing",
                     result["ratio"] <= WANTED if result else None)
        if name == "perf" and result:
            report.judge("of readings at most a quarter", "%.3f" % result["ratio_readings"],
                         result["ratio_readings"] <= WANTED)
