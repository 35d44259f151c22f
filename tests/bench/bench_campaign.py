# SPDX-License-Identifier: GPL-2.0-or-later
"""Campaigns of real jobs whose partners an older release and this one choose in turn, and what the node makes of them."""
import contextlib
import os
import random
import re
import shutil
import statistics
import subprocess
import time

from cluster import Failed, Job, Program, run, wait_until, LAMMPS, SANDBOX_SCRIPTS
from report import TREE, percent

TITLE = "A campaign of jobs, with the partners of two policies"
# The last commit whose node selection orders nodes by sums of degradations alone.
BEFORE_COMMIT = "dfb758094a0689b4b2bcd8e6173c305de079dd42"
BEFORE, NOW = "before", "now"
BLOCKS, JOBS = 5, 20     # of each policy: the jobs of a block are submitted at once
WORK_S = 8               # that a job takes compact
TRY_S = 2                # of the run that finds out how much work that is
LIMIT = "5"              # minutes
RESAMPLES = 2000         # of the bootstrap
# A program's work in the first run, of some seconds.
FIRST_WORK = {"LAMMPS": 60, "llc 24 MiB": 1 << 18, "stream": 1 << 19, "null": 1 << 23, "contend": 1 << 28}


class Kind:
    """A program whose jobs do a fixed work in each rank. command(ranks, work) is a line of shell."""

    def __init__(self, name, comm, command):
        self.name, self.comm, self.command = name, comm, command


class Run:
    """What became of a job: when it began and ended, in seconds of the node's clock, and how long it waited."""

    def __init__(self, kind, job, begin, end, submitted):
        self.kind, self.job, self.begin, self.end = kind, job, begin, end
        self.waited = begin - submitted


class Block:
    """The jobs of one policy that were submitted together, and what compact jobs of these programs took meanwhile."""

    def __init__(self, runs, compact):
        self.runs, self.compact = runs, compact

    def span(self):
        return max(r.end for r in self.runs) - min(r.begin for r in self.runs)

    def throughput(self):
        """Scaled by that of compact jobs one after the other (thesis, equation 2.2): a job of one lane does half the
        work of a job of the whole node."""
        return sum(self.compact[r.kind] for r in self.runs) / 2 / self.span()

    def busy(self):
        """Share of the time in which a lane had a job, over the two lanes."""
        return sum(r.end - r.begin for r in self.runs) / 2 / self.span()

    def slowdowns(self):
        """Run time of each job against compact."""
        return [(r.end - r.begin) / self.compact[r.kind] for r in self.runs]

    def beside(self):
        """{pair of programs: seconds side by side}."""
        found = {}
        for i, a in enumerate(self.runs):
            for b in self.runs[:i]:
                together = min(a.end, b.end) - max(a.begin, b.begin)
                if together > 0:
                    pair = tuple(sorted((a.kind, b.kind)))
                    found[pair] = found.get(pair, 0) + together
        return found


def interval(values):
    """95 % by bootstrap of their mean; the same at every run."""
    dice = random.Random(1)
    means = sorted(statistics.mean(dice.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[round(0.025 * RESAMPLES)], means[round(0.975 * RESAMPLES) - 1]


class Plugins:
    """The node selection that slurmctld loads, and a pair history for each of the two."""

    def __init__(self, cluster, build, report):
        self.state = re.search(r"(?m)^StateSaveLocation *= *(.*)$", run("scontrol", "show", "config"))[1]
        # Where the sandbox installs, and PluginDir begins.
        self.installed = os.path.join(cluster.sandbox, "usr", "lib", "poppa", "slurm", "select_cons_tres.so")
        self.folder = os.path.join(cluster.sandbox, "campaign")
        for name in (NOW + ".so", BEFORE + ".pairs", NOW + ".pairs"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, name))
        os.makedirs(self.folder, exist_ok=True)
        shutil.copy2(self.installed, self.file(NOW))
        if not os.path.exists(self.file(BEFORE)):
            report.progress("builds the node selection of commit %s" % BEFORE_COMMIT[:12])
            self.build_before(build)
        self.loaded = None

    def file(self, policy):
        return os.path.join(self.folder, (BEFORE_COMMIT if policy == BEFORE else policy) + ".so")

    def history(self, policy):
        return os.path.join(self.folder, policy + ".pairs")

    def build_before(self, build):
        source = os.path.join(self.folder, "source")
        shutil.rmtree(source, ignore_errors=True)
        if subprocess.run(["git", "-C", TREE, "cat-file", "-e", BEFORE_COMMIT], stderr=subprocess.DEVNULL).returncode:
            raise Failed("commit %s is not in this clone: it needs the whole history (git fetch --unshallow)" % BEFORE_COMMIT[:12])
        with open(os.path.join(build, "config.status")) as f:
            slurm = re.search(r"--with-slurm-source=([^' ]+)", f.read())
        if not slurm:
            raise Failed("%s/config.status names no --with-slurm-source" % build)
        os.makedirs(source)
        archive = subprocess.run(["git", "-C", TREE, "archive", BEFORE_COMMIT], stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
        # It passes over the rows that this release writes, which have more columns: it gets a copy without these.
        header = os.path.join(source, "src", "striping", "partners", "pairs.h")
        with open(header) as f:
            text = f.read()
        with open(header, "w") as f:
            f.write(text.replace('"poppa_pairs"', '"poppa_pairs.before"'))
        steps = "./autogen.sh && ./configure --with-slurm-source=%s && make -j2 select_cons_tres.la" % slurm[1]
        with open(os.path.join(self.folder, "build.log"), "w") as log:
            if subprocess.run(["sh", "-c", steps], cwd=source, stdout=log, stderr=log).returncode:
                raise Failed("the older node selection does not build: see %s" % log.name)
        shutil.copy2(os.path.join(source, ".libs", "select_cons_tres.so"), self.file(BEFORE))

    def copy_for_before(self):
        """The history's first six columns are what the older release reads."""
        path = os.path.join(self.state, "poppa_pairs")
        rows = []
        if os.path.exists(path):
            with open(path) as f:
                rows = ["\t".join(line.rstrip("\n").split("\t")[:6]) + "\n" for line in f if not line.startswith("#")]
        with open(path + ".before.new", "w") as f:
            f.writelines(rows)
        os.rename(path + ".before.new", path + ".before")

    def load(self, policy):
        """slurmctld starts again with this policy and what it has learned so far."""
        if policy == self.loaded:
            return
        shared = os.path.join(self.state, "poppa_pairs")
        ctl = os.path.join(SANDBOX_SCRIPTS, "ctl")
        run(ctl, "stop", "slurmctld", seconds=60)
        if self.loaded and os.path.exists(shared):
            os.replace(shared, self.history(self.loaded))
        if os.path.exists(self.history(policy)):
            shutil.copy2(self.history(policy), shared)
        self.copy_for_before()
        shutil.copy2(self.file(policy), self.installed + ".new")
        os.rename(self.installed + ".new", self.installed)
        run(ctl, "start", "slurmctld", seconds=60)
        self.loaded = policy
        wait_until(60, "the node is idle", lambda: "idle" in run("sinfo", "-h", "-p", "real", "-o", "%T", check=False))

    def put_back(self):
        self.load(NOW)


class Campaign:
    def __init__(self, cluster, report):
        self.cluster, self.report = cluster, report
        self.folder = os.path.join(cluster.tmp, "campaign")
        os.makedirs(self.folder, exist_ok=True)
        os.chmod(self.folder, 0o1777)
        self.work = dict(FIRST_WORK)
        self.kinds = {k.name: k for k in (
            Kind("LAMMPS", "lmp", self.lammps), self.own("llc 24 MiB", "llc", "--mib 24"), self.own("stream", "stream", "--mib 64"),
            self.own("null", "null", ""), self.own("contend", "contend", "--private 0 --line " + cluster.line))}

    def own(self, label, name, options):
        path = os.path.join(self.cluster.workloads, name)
        return Kind(label, name, lambda ranks, work: "srun --mpi=pmix %s %s --work %d" % (path, options, work))

    def lammps(self, ranks, work):
        path = os.path.join(self.folder, "in.melt-%d-%d" % (ranks, work))
        if not os.path.exists(path):
            with open(path, "w") as f:
                f.write((LAMMPS % ("0 %d 0 20 0 20" % (20 * ranks), "")).replace("run 100000000", "run %d" % work))
        return "mpirun lmp -log none -in " + path

    def submit(self, kind, ranks, work, *options):
        times = os.path.join(self.folder, "times.$SLURM_JOB_ID")
        command = ("umask 022; export OMP_NUM_THREADS=1 LC_ALL=C; begin=$EPOCHREALTIME; %s >/dev/null && echo $begin $EPOCHREALTIME >%s.new "
                   "&& mv %s.new %s" % (kind.command(ranks, work), times, times, times))
        # With a shell that has EPOCHREALTIME.
        program = Program(kind.name, kind.comm, "exec bash -c '%s'" % command)
        return self.cluster.submit(program, *options, "-n%d" % ranks, "-J", kind.comm, "-t", LIMIT)

    def wait(self, kind, job, submitted, seconds):
        path = os.path.join(self.folder, "times.%d" % job.id)
        wait_until(seconds, "%s has done its work (job %d)" % (kind.name, job.id), lambda: os.path.exists(path) or self.cluster.ended(job))
        wait_until(30, "job %d has ended" % job.id, lambda: self.cluster.ended(job))
        if not os.path.exists(path):
            raise Failed("job %d (%s) has not done its work" % (job.id, kind.name))
        with open(path) as f:
            begin, end = map(float, f.read().split())
        return Run(kind.name, job, begin, end, submitted)

    def compact(self, kind):
        """Seconds that a job takes whose ranks have all cores of the node."""
        before = time.time()
        job = self.submit(kind, os.cpu_count(), self.work[kind.name], "--exclusive")
        found = self.wait(kind, job, before, 300)
        return found.end - found.begin

    def find_work(self, seconds):
        for kind in self.kinds.values():
            for wanted in (TRY_S, seconds):
                took = self.compact(kind)
                self.work[kind.name] = max(round(self.work[kind.name] * wanted / took), 1)
            self.report.progress("%s: work %d" % (kind.name, self.work[kind.name]))

    def block(self, names, seconds):
        """Runs of jobs that are submitted at once, each on a lane."""
        before = time.time()
        jobs = [(self.kinds[n], self.submit(self.kinds[n], 1, self.work[n], "--colocate")) for n in names]
        runs = [self.wait(kind, job, before, len(names) * seconds * 4 + 120) for kind, job in jobs]
        for r in runs:
            wait_until(90, "job %d has a price" % r.job.id, lambda r=r: re.search(
                r"SystemComment=.*\b(d|nodata)=", run("scontrol", "-o", "show", "job", str(r.job.id))))
        time.sleep(11)  # the history is written every ten seconds
        return runs


def describe(report, found, work_s):
    report.text(
        "Each block is a list of jobs of one lane in random order, all submitted at once: LAMMPS (32,000 atoms a rank) and programs of "
        "`contrib/workloads`, each with a fixed work that takes about %d s compact. Slurm runs each list once with the node selection of "
        "commit %s (*before*: the least sum of expected degradations first, never waiting for a better partner) and once with this one "
        "(*now*), in turn. Each policy learns from its own blocks, from nothing. A job's run time is its own clock around its work, so "
        "what is compared is true and nothing that the suite has measured." % (work_s, BEFORE_COMMIT[:12]),
        "This machine has one node of two lanes: the policies differ by which waiting job comes next to the one that runs.")
    rows = []
    for i, (before, now) in enumerate(zip(found[BEFORE], found[NOW])):
        rows.append([str(i + 1)] + ["%.3f" % b.throughput() for b in (before, now)] + [
            "%+.1f" % (100 * (now.throughput() / before.throughput() - 1))] + [
            "%.0f" % statistics.mean(r.waited for r in b.runs) for b in (before, now)])
    report.text("## Throughput of each block, as a share of compact jobs one after the other")
    report.table(["block", BEFORE, NOW, "difference, %", "mean wait before, s", "now, s"], rows)


def conclude(report, found):
    report.text("## Of all blocks")
    rows = []
    for policy in (BEFORE, NOW):
        made = [b.throughput() for b in found[policy]]
        busy = [b.busy() for b in found[policy]]
        slow = [s for b in found[policy] for s in b.slowdowns()]
        rows.append([policy, str(len(slow)), "%.3f (%.3f to %.3f)" % (statistics.mean(made), *interval(made)),
                     percent(statistics.mean(busy), 0), "%.3f" % statistics.mean(m / b for m, b in zip(made, busy)),
                     "%.2f" % statistics.mean(slow), "%.2f" % max(slow),
                     "%.1f" % statistics.mean(r.waited for b in found[policy] for r in b.runs)])
    report.table(["policy", "jobs", "throughput (95 %)", "lanes busy, %", "throughput with both lanes busy", "run time against compact, mean", "worst", "mean wait, s"], rows)
    pairs = sorted({p for blocks in found.values() for b in blocks for p in b.beside()})
    total = {policy: sum(sum(b.beside().values()) for b in blocks) for policy, blocks in found.items()}
    report.text("## Who ran beside whom, per cent of the time side by side")
    report.table(["pair", BEFORE, NOW], [["%s, %s" % p] + [
        percent(sum(b.beside().get(p, 0) for b in found[policy]) / max(total[policy], 1e-9), 1) for policy in (BEFORE, NOW)] for p in pairs])
    gains = [n.throughput() / b.throughput() - 1 for b, n in zip(found[BEFORE], found[NOW])]
    low, high = interval(gains)
    report.judge("no less throughput than before", "%s %% (%s to %s)" % tuple(percent(x, 1) for x in (statistics.mean(gains), low, high)),
                 True if low >= 0 else False if high < 0 else None)
    made = [b.throughput() for b in found[NOW]]
    low, high = interval(made)
    report.judge("more throughput than compact jobs one after the other", "%s %% (%s to %s)" % tuple(
        percent(x - 1, 1) for x in (statistics.mean(made), low, high)), True if low > 1 else False if high <= 1 else None)


def main(report, cluster, build, quick):
    blocks, jobs, work_s = (2, 6, 3) if quick else (BLOCKS, JOBS, WORK_S)
    plugins, found, dice = Plugins(cluster, build, report), {BEFORE: [], NOW: []}, random.Random(1)
    campaign = Campaign(cluster, report)
    try:
        cluster.configure(stripe_wait="")
        plugins.load(NOW)
        campaign.find_work(work_s)
        for i in range(blocks):
            names = [list(campaign.kinds)[k % len(campaign.kinds)] for k in range(jobs)]
            dice.shuffle(names)
            compact = {}
            for name, kind in campaign.kinds.items():
                compact[name] = campaign.compact(kind)
            for policy in (BEFORE, NOW) if i % 2 == 0 else (NOW, BEFORE):
                plugins.load(policy)
                report.progress("block %d of %d, %s" % (i + 1, blocks, policy))
                found[policy].append(Block(campaign.block(names, work_s), compact))
                report.progress("throughput %.3f" % found[policy][-1].throughput())
    finally:
        plugins.put_back()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(cluster.line)
    describe(report, found, work_s)
    conclude(report, found)
