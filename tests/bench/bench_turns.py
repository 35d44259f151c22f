# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pair makes that slows itself down badly, side by side and by turns, and what each job is billed."""
import re

from cluster import Failed, run, wait_until
from report import percent

TITLE = "A bad pair takes turns"
BIN = 50000000          # ns; a slice has ten
LEAST, WRONG = 0.95, 0.01  # jobs' progress by turns; of a bill, within
BEGIN_S, LOOK_S = 240, 20   # turns must have begun by then, and are looked for so often


class Progress:
    """What both jobs have made in each BIN of a trace."""

    def __init__(self, rows):
        start = rows[0][0]
        self.made, last = [], rows[0]
        for row in rows:
            if row[0] - last[0] >= BIN:
                self.made.append(((row[0] - start) / 1e9, (row[0] - last[0]) / 1e9,
                                  [b - a for a, b in zip(last[1:], row[1:])]))
                last = row

    def alone(self, job):
        """Its rate while the other one is held: in bins before and after which that is held, too."""
        bins = [self.made[i] for i in range(1, len(self.made) - 1)
                if all(self.made[k][2][1 - job] == 0 for k in (i - 1, i, i + 1))]
        if len(bins) < 100:
            raise Failed("only %d moments in which job %d was alone" % (len(bins), job + 1))
        # A mean, as all that is compared with it: what the machine loses now and then is lost in both.
        return sum(b[2][job] for b in bins) / sum(b[1] for b in bins)

    def share(self, job, alone, start, end):
        """Progress between two moments, as a share of what it makes alone."""
        bins = [b for b in self.made if start <= b[0] < end]
        return sum(b[2][job] for b in bins) / alone / sum(b[1] for b in bins)


def bill(job):
    """D and Z as the job's bill has them, and for how many seconds it ran."""
    def settled():
        text = run("scontrol", "-o", "show", "job", str(job.id))
        return text if re.search(r"SystemComment=.*\bd=", text) else None

    text = wait_until(90, "job %d is settled" % job.id, settled)
    found = {name: re.search(r"\b%s=([-0-9.]+)" % name, text) for name in ("d", "stopped", "turned")}
    days = re.search(r"RunTime=(?:(\d+)-)?(\d+):(\d+):(\d+)", text)
    ran = sum(int(n or 0) * s for n, s in zip(days.groups(), (86400, 3600, 60, 1)))
    return {name: float(m[1]) if m else 0 for name, m in found.items()}, ran


def join(rows, more):
    """A trace goes on where the last one ended: each begins with no progress, a moment after the last."""
    offset = [b - a for a, b in zip(more[0], rows[-1])] if rows else [0] * len(more[0])
    return rows + [[a + b for a, b in zip(row, offset)] for row in more[bool(rows):]]


def measure(cluster, jobs, seconds):
    """The trace of a run in which turns begin, after how many seconds they were seen, and the jobs."""
    rows = []
    while not cluster.status()["totals"]["turns"]["on"]:
        if rows and rows[-1][0] - rows[0][0] > BEGIN_S * 1e9:
            raise Failed("no turns within %d s" % BEGIN_S)
        rows = join(rows, cluster.trace(jobs, LOOK_S))
    first = (rows[-1][0] - rows[0][0]) / 1e9
    return join(rows, cluster.trace(jobs, seconds)), first, jobs


def main(report, cluster, build, quick):
    cluster.configure(poppa_period="", poppa_overhead_max="", poppa_turns="yes")
    pair = cluster.contend(0), cluster.contend(0)
    found = cluster.beside(report, *pair, [None], lambda jobs, _: measure(cluster, jobs, 20 if quick else 180))
    if not found:
        report.judge("a bad pair makes at least %.2f jobs' progress by turns" % LEAST, "nothing", None)
        return
    rows, first, jobs = found[None]
    progress, table, sums, right = Progress(rows), [], [0, 0], []
    end = progress.made[-1][0]
    for n, job in enumerate(jobs):
        alone = progress.alone(n)
        side, turns = progress.share(n, alone, 0, first - LOOK_S - 1), progress.share(n, alone, first, end)
        billed, ran = bill(job)
        # What the trace has not seen was side by side.
        lost = ((1 - progress.share(n, alone, 0, end)) * end + (1 - side) * (ran - end)) / ran
        true = (lost - billed["stopped"]) / (1 - billed["stopped"])
        sums = [sums[0] + side, sums[1] + turns]
        right.append(abs(billed["d"] - true) <= WRONG)
        table.append([str(n + 1), percent(side, 1), percent(turns, 1), percent(billed["turned"], 1),
                      percent(billed["d"], 1), percent(true, 1)])
    report.text("`contend --private 0` beside itself with `poppa_turns=yes` and default settings, for %.0f s side by side and "
                "then %.0f s by turns. What each makes is in per cent of what it makes while the other one is held, from its "
                "own counter every 10 ms. *True D*: what it lost in the whole run, without what shutters held." % (
                    first, end - first))
    report.table(["job", "side by side", "by turns", "held for turns", "billed D", "true D"], table)
    report.judge("the pair makes at least %.2f jobs' progress by turns" % LEAST,
                 "%.3f, and %.3f side by side" % (sums[1], sums[0]), sums[1] >= LEAST)
    report.judge("both bills are right within a point", "%d of 2" % sum(right), all(right))
