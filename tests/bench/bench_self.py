# SPDX-License-Identifier: GPL-2.0-or-later
"""What poppa trial --self finds of programs with two tasks, beside what their tasks make in whole runs."""
import json
import math
import os
import shlex
import statistics

from bench_trial import as_user, outside, rates
from cluster import Failed

TITLE = "poppa trial --self beside whole runs"
HALF_OFF = 0.03  # outside of what was measured around it, relative to its median
VARIES = 0.1     # where that varies more, it is no measure
CPUS = ("0", "1")


def whole_runs(command, seconds, rounds):
    """What one task makes alone relative to two at the same time, one a round: all three in turns."""
    found = []
    for _ in range(rounds):
        alone = [rates([command], [cpu], seconds)[0] for cpu in CPUS]
        found.append(sum(alone) / 2 / sum(rates([command] * 2, CPUS, seconds)))
    return found


def trial(command, seconds, rounds):
    tasks = " & ".join([shlex.join(command)] * 2) + " & wait"
    return json.loads(as_user("poppa", "trial", "--self", "--json", "--time", str(seconds), "--rounds", str(rounds), "--",
                              "sh", "-c", tasks, seconds=3 * seconds))


def right(verdict, whole):
    """Whether the verdict is that of each of the whole runs; None where these do not agree."""
    agreed = {"fewer" if w > 1 else "all" for w in whole}
    return None if len(agreed) > 1 else verdict == agreed.pop()


def main(report, cluster, build, quick):
    seconds, rounds, whole_s, whole_rounds = (8, 2, 1, 1) if quick else (60, 5, 3, 3)
    contend = lambda q: [os.path.join(cluster.workloads, "contend"), "--line", cluster.line, "--private", str(q)]
    cases = [("contend %d" % q, contend(q)) for q in (2, 20, 200)]
    cases += [(name, [os.path.join(cluster.workloads, name)]) for name in ("stream", "null")]
    rows, off, verdicts = [], [], []
    for name, command in cases[:2] if quick else cases:
        report.progress(name)
        # Before the trial and after it: machines drift.
        whole = whole_runs(command, whole_s, whole_rounds)
        found = trial(command + ["--seconds", "100000"], seconds, rounds)
        whole += whole_runs(command, whole_s, whole_rounds)
        if os.path.exists(cluster.line):
            os.unlink(cluster.line)
        if found["half"] is None:
            raise Failed("poppa trial --self counted nothing of %s: %s" % (name, found["why"]))
        middle = statistics.median(whole)
        if max(whole) - min(whole) <= VARIES * middle:
            off.append(outside(found["half"], whole) / middle)
        verdicts.append(right(found["verdict"], whole))
        rows.append([name, "%.3f to %.3f" % (min(whole), max(whole)),
                     "%.3f (%.3f to %.3f)" % (found["half"], found["half_lo"], found["half_hi"]), found["verdict"]])
    report.text("`poppa trial --self --time %d --rounds %d` as an ordinary user, of two tasks of a program on two processors: what one "
                "task makes alone, relative to what both make at the same time. Where that is more than 1, fewer tasks do more. *Whole "
                "runs*: the same by the rates that the program prints of runs of %d s, one task on the one processor, one on the other, "
                "and both, %d times before the trial and as often after it; the least and the most. *Found*: by the trial, which stops now "
                "the one task and now the other for parts of a second, with its 95 %% interval." % (seconds, rounds, whole_s, whole_rounds))
    report.text("The thesis' chapter 4 asks this of the compute units of a graphics processor ([gpu.md](gpu.md)); for processors it has no "
                "figure.")
    report.table(["program", "half, whole runs", "half, found", "verdict"], rows)
    known = [v for v in verdicts if v is not None]
    report.judge("what half of the tasks make is at most 3 % outside of whole runs, where these vary by 10 % at most",
                 "at most %.2f %%, %d of %d programs" % (100 * max(off, default=math.nan), len(off), len(rows)),
                 max(off) <= HALF_OFF if off else None)
    report.judge("the verdict is that of whole runs, where these agree", "%d of %d" % (sum(known), len(known)),
                 all(known) if known else None)
