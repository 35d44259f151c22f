# SPDX-License-Identifier: GPL-2.0-or-later
"""What poppa trial finds of pairs whose losses are known, beside the truth and beside whole runs."""
import json
import math
import os
import re
import signal
import statistics
import subprocess
import time

from cluster import Failed, LAMMPS, SANDBOX_SCRIPTS, run
from report import percent

TITLE = "poppa trial beside the truth"
LOSS_OFF = 0.03      # of contending pairs
INNOCENT_OFF = 0.02  # of those that lose nothing
STP_OFF = 0.03       # relative, against whole runs
STARTS = 2
LAMMPS_LONGER = 4
LAMMPS_PAIRS = 8     # of whole runs, before the trial and after it
RATE = re.compile(r"rank 0: (\S+) operations a second")


def as_user(*command, seconds=0):
    return run(os.path.join(SANDBOX_SCRIPTS, "env"), "-u", "poppa-demo", *command, seconds=seconds)


def rates(commands, cpus, seconds):
    """What programs of ours make a second that run at the same time, each for so many seconds on its CPUs."""
    running = [subprocess.Popen([os.path.join(SANDBOX_SCRIPTS, "env"), "-u", "poppa-demo", "taskset", "-c", cpu, *command,
                                 "--seconds", str(seconds), "-v"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
               for command, cpu in zip(commands, cpus)]
    found = [RATE.search(p.communicate(timeout=seconds + 60)[1].decode()) for p in running]
    if not all(found):
        raise Failed("%s prints no rate" % commands[0][0])
    return [float(f[1]) for f in found]


def whole_runs(commands, seconds, rounds):
    """STP of whole runs, one a round: each compact, and both together, in turns."""
    found = []
    for _ in range(rounds):
        compact = [rates([command], ["0,1"], seconds)[0] for command in commands]
        together = rates(commands, ["0", "1"], seconds)
        found.append(sum(t / c for t, c in zip(together, compact)))
    return found


def trial(commands, seconds, rounds):
    words = []
    for command in commands:
        words += ["--"] + command
    return json.loads(as_user("poppa", "trial", "--json", "--time", str(seconds), "--rounds", str(rounds), *words,
                              seconds=3 * seconds))


def true_losses(cluster, programs, seconds, starts):
    """Of both programs, once for each of so many starts: what two contending programs lose may be another at each."""
    found = []
    for _ in range(starts):
        with cluster.pair(*programs) as jobs:
            found.append([t["degradation"] for t in cluster.truth(jobs, seconds, 0)[0]])
    return list(zip(*found))


def lammps_loss(command, partner, pairs):
    """What whole runs take longer beside the partner: the median of so many pairs of runs, one alone and one beside it."""
    def timed():
        start = time.monotonic()
        as_user("taskset", "-c", "0", *command, seconds=60)
        return time.monotonic() - start
    found = []
    for _ in range(pairs):
        alone = timed()
        beside = subprocess.Popen([os.path.join(SANDBOX_SCRIPTS, "env"), "-u", "poppa-demo", "taskset", "-c", "1", *partner,
                                   "--seconds", "60"], stdout=subprocess.DEVNULL, start_new_session=True)
        time.sleep(1)
        found.append(1 - alone / timed())
        os.killpg(beside.pid, signal.SIGTERM)
        beside.wait()
    return statistics.median(found)


def outside(value, known):
    """How far a value lies outside what was measured several times."""
    if value is None:
        return math.nan
    return max(min(known) - value, value - max(known), 0)


def span(known, write):
    return write(min(known)) if min(known) == max(known) else "%s to %s" % (write(min(known)), write(max(known)))


def main(report, cluster, build, quick):
    seconds, rounds, whole_s, whole_rounds, truth_s = (8, 2, 1, 1, 6) if quick else (90, 5, 3, 3, 9)
    contend = lambda q: [os.path.join(cluster.workloads, "contend"), "--line", cluster.line, "--private", str(q)]
    null = [os.path.join(cluster.workloads, "null")]
    forever = ["--seconds", "100000"]
    rows, off, innocent, stp_off, verdicts = [], [], [], [], []
    cases = [("contend %d" % q, "contend %d" % q, contend(q), contend(q), (cluster.contend(q),) * 2)
             for q in (2, 20, 200)[:1 if quick else 3]]
    cases.append(("contend 20", "null", contend(20), null, None))
    for a, b, first, second, programs in cases:
        report.progress("%s beside %s" % (a, b))
        known, whole, found = [[0], [0]], [], None
        # Before the trial and after it: machines drift.
        for after in (False, True):
            if programs:
                truths = true_losses(cluster, programs, truth_s, STARTS)
                known = [k + list(t) for k, t in zip(known if after else [[], []], truths)]
            whole += whole_runs([first, second], whole_s, whole_rounds)
            if not after:
                found = trial([first + forever, second + forever], seconds, rounds)
        if os.path.exists(cluster.line):
            os.unlink(cluster.line)
        for p, k in zip(found["programs"], known):
            (off if programs else innocent).append(outside(p["degradation"], k))
        stp_off.append(outside(found["stp"], whole) / max(whole))
        verdicts.append(found["verdict"] in {"do-not" if s < 1 else "colocate" for s in whole})
        rows.append([a, b, " and ".join(span(k, percent) for k in known),
                     " and ".join("%s (%s to %s)" % tuple(percent(p[k]) for k in ("degradation", "lo", "hi"))
                                  for p in found["programs"]),
                     span(whole, lambda s: "%.3f" % s), "%.3f (%.3f to %.3f)" % (found["stp"], found["stp_lo"], found["stp_hi"]), found["verdict"]])
    # LAMMPS counts by its runs, of some seconds each: fewer of them fit into a phase, so it has more time.
    path = os.path.join(cluster.tmp, "in.trial")
    with open(path, "w") as f:
        f.write((LAMMPS % ("0 10 0 10 0 10", "")).replace("run 100000000", "run 1000"))
    report.progress("LAMMPS beside null")
    lammps, pairs = ["lmp", "-log", "none", "-in", path], 1 if quick else LAMMPS_PAIRS
    known = [lammps_loss(lammps, null, pairs)]
    found = trial([lammps, null + forever], LAMMPS_LONGER * seconds, LAMMPS_LONGER * rounds)
    known.append(lammps_loss(lammps, null, pairs))
    innocent.append(outside(found["programs"][0]["degradation"], [0] + known))
    rows.append(["LAMMPS", "null", "%s and 0" % span(known, percent), " and ".join(
        "%s (%s to %s)" % tuple(percent(q[k]) for k in ("degradation", "lo", "hi")) for q in found["programs"]),
        "-", "%.3f (%.3f to %.3f)" % (found["stp"], found["stp_lo"], found["stp_hi"]), found["verdict"]])
    report.text("`poppa trial --time %d --rounds %d` as an ordinary user, without Slurm. *True*: the losses by `contrib/workloads/truth` "
                "of the same programs as co-located jobs, in per cent, the least and the most of %d starts before the trial and as many "
                "after it; or nothing beside null, which uses no memory. *Found*: by the trial, with its 95 %% interval. *Whole runs*: the "
                "work of the node together against one after the other (STP) by the rates that the programs print of runs of %d s, %d of "
                "each kind in turns before and after. LAMMPS has %d times the time and the rounds, and its true loss is that of whole runs, "
                "alone and beside null in turns: the medians of %d pairs before and after the trial. It starts anew for each run, and what the "
                "system does at a start and at an end is slower beside any program. What is judged is how far the trial is outside of what was "
                "measured around it; beside null, outside of that and none." % (
                    seconds, rounds, STARTS, whole_s, whole_rounds, LAMMPS_LONGER, LAMMPS_PAIRS))
    report.table(["program", "beside", "true losses, %", "found, %", "STP, whole runs", "STP, found", "verdict"], rows)
    report.judge("losses of contending pairs within 0.03 of what was true around the trial", "at most %.3f outside" % max(off), max(off) <= LOSS_OFF)
    report.judge("losses beside null within 0.02 of none, or of what whole runs lose", "at most %.3f" % max(innocent), max(innocent) <= INNOCENT_OFF)
    report.judge("STP within 3 % of whole runs", "at most %s %% outside" % percent(max(stp_off)), max(stp_off) <= STP_OFF)
    report.judge("the verdict is do-not where whole runs make less together, else colocate",
                 "%d of %d" % (sum(verdicts), len(verdicts)), all(verdicts))
