# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of co-located jobs on the sandbox's real node, what poppad says of them, and the truth."""
import contextlib
import json
import math
import os
import re
import subprocess
import tempfile
import time

import blockcost
from report import TREE

SANDBOX_SCRIPTS = os.path.join(TREE, "contrib", "sandbox")
UNITS = {"ns": 1, "us": 1000, "ms": 1000000, "s": 1000000000}
# With the box in lattice cells, and what is to be printed and when.
LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block %s
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
%srun 100000000
"""


# A box of water: particle-mesh Ewald and constraints, as most people's runs have them.
GROMACS_TOPOLOGY = """#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
"""
GROMACS_RUN = """integrator = md
dt = 0.002
nsteps = -1
coulombtype = PME
rcoulomb = 0.9
rvdw = 0.9
tcoupl = v-rescale
tc-grps = system
tau-t = 0.5
ref-t = 300
gen-vel = yes
constraints = h-bonds
"""


class Failed(Exception):
    """What went wrong, for the reader."""


# What a measurement can fail with: its programs, what they print, files that have gone.
TROUBLE = (Failed, ValueError, ArithmeticError, LookupError, OSError)


def run(*command, check=True, seconds=0):
    """What a program prints. It may take a minute longer than the seconds that it measures."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=seconds + 60)
    except subprocess.TimeoutExpired:
        raise Failed("%s: hangs" % os.path.basename(command[0]))
    if check and done.returncode:
        raise Failed("%s: exit status %d: %s" % (os.path.basename(command[0]), done.returncode,
                                                 (done.stderr or done.stdout).decode().strip()))
    return done.stdout.decode()


def wait_until(seconds, what, condition):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed("waited %d s in vain until %s" % (seconds, what))
        time.sleep(0.1)


def nanoseconds(text):
    """A duration as poppad prints it, such as 3200us."""
    match = re.fullmatch(r"([0-9.]+)(ns|us|ms|s)?", text)
    return round(float(match[1]) * UNITS[match[2] or "s"]) if match else None


def estimates(log, method):
    """What poppa estimate makes of a shutter log, by job."""
    return {j["job"]: j for j in json.loads(run("poppa", "estimate", "--json", "--method", method, log))["jobs"]}


class Program:
    """What a job runs: a name for tables, its process, and the command. coarse: its counter moves so seldom that two
    minutes of shutters cannot say what it loses."""

    def __init__(self, name, comm, command, coarse=False):
        self.name, self.comm, self.command, self.coarse = name, comm, command, coarse


class Job:
    def __init__(self, program, job):
        self.program, self.id, self.pids = program, job, []


class Cluster:
    """The sandbox that runs now; contrib/sandbox/env has set the environment."""

    def __init__(self, build):
        self.sandbox = os.environ["POPPA_SANDBOX"]
        self.node = os.environ["SANDBOX_REAL_NODE"]
        self.workloads = os.path.join(build, "contrib", "workloads")
        self.socket = os.path.join(self.sandbox, "run", "poppa-" + self.node, "poppad.sock")
        self.tmp = os.path.join(self.sandbox, "tmp")
        self.log = os.path.join(self.tmp, "shutters")
        self.line = "/dev/shm/poppa-bench-%d" % os.getpid()

    # --- programs ---

    def workload(self, name, *options, label=None):
        command = ["srun", "--mpi=pmix", os.path.join(self.workloads, name), *options, "--seconds",
                   "3600"]
        return Program(label or name, name, " ".join(command))

    def contend(self, q):
        return self.workload("contend", "--line", self.line, "--private", str(q),
                             label="contend %d" % q)

    def farm(self):
        """poppa-farm with queries on a graph, which is in a file. What is counted are finished queries."""
        recommend = "%s --graph %s" % (os.path.join(self.workloads, "recommend"), os.path.join(self.tmp, "graph"))
        path = os.path.join(self.tmp, "queries")
        if not os.path.exists(path):
            with open(path, "w") as f:
                f.write(run(*recommend.split(), "--queries", "2000000"))
        return Program("farm", "poppa-farm", "exec poppa-farm --server '%s' %s" % (recommend, path))

    def lammps(self):
        path = os.path.join(self.tmp, "in.lj")
        with open(path, "w") as f:
            f.write(LAMMPS % ("0 5 0 5 0 5", ""))
        return Program("LAMMPS", "lmp",
                       "export OMP_NUM_THREADS=1; mpirun lmp -log none -in " + path)

    def gromacs(self):
        """Builds its input once, in a folder in which the job may write."""
        folder = os.path.join(self.tmp, "gromacs")
        if not os.path.isdir(folder):
            os.mkdir(folder)
            for name, text in (("topol.top", GROMACS_TOPOLOGY), ("run.mdp", GROMACS_RUN)):
                with open(os.path.join(folder, name), "w") as f:
                    f.write(text)
            inside = lambda *command: run("env", "-C", folder, "gmx_mpi", "-quiet", *command)
            inside("solvate", "-cs", "spc216.gro", "-box", "4", "4", "4", "-o", "water.gro", "-p", "topol.top")
            inside("grompp", "-f", "run.mdp", "-c", "water.gro", "-p", "topol.top", "-o", "run.tpr")
            os.chmod(folder, 0o1777)
        # Two ranks, as one alone calls no MPI; they publish by the library that a site's TaskProlog preloads.
        preload = os.path.join(self.sandbox, "usr", "lib", "libpoppa-heartbeat-mpi.so")
        return Program("GROMACS", "gmx_mpi", "cd %s; export OMP_NUM_THREADS=1; mpirun -n 2 --oversubscribe "
                       "--mca mpi_yield_when_idle 1 -x LD_PRELOAD=%s "
                       "gmx_mpi -quiet -nobackup mdrun -s run.tpr -deffnm out -pin off -cpt -1" % (folder, preload), coarse=True)

    def cache_pairs(self, quick):
        """Programs that a streaming one takes the last-level cache from, one that it cannot harm, and that one."""
        victims = [self.workload("llc", "--mib", str(m), label="llc %d MiB" % m)
                   for m in (4, 8, 12, 16, 20, 24, 28, 32)]
        victims += [self.lammps(), self.gromacs(), self.workload("null")]
        if quick:
            victims = [victims[3], victims[-2]]
        return victims, self.workload("stream", "--mib", "256")

    # --- poppad ---

    def status(self):
        return json.loads(run("poppa", "status", "-N", self.node, "--json"))

    def setting(self, key):
        match = re.search(r"(?:^|,)%s=([^,]*)" % key, self.status()["settings"])
        return match[1] if match else None

    def configure(self, **settings):
        """Sets keys of PrEpParameters ("" for the default) and waits until poppad follows."""
        run(os.path.join(SANDBOX_SCRIPTS, "ctl"), "reconfigure",
            *("%s=%s" % item for item in settings.items()))

        def followed():
            for key, value in settings.items():
                now = self.setting(key)
                now = (now or "").rstrip("%")
                if value and now != value and nanoseconds(now) != nanoseconds(value):
                    return False
            return True

        wait_until(15, "poppad follows " + str(settings), followed)

    def steady(self, **settings):
        """Likewise, with blocks at a fixed mean rate: no cap, no adaption."""
        self.configure(poppa_overhead_max="0", poppa_adaptive="no", **settings)

    def reset(self):
        run(os.path.join(SANDBOX_SCRIPTS, "ctl"), "reconfigure", "--reset")

    @contextlib.contextmanager
    def shutter_log(self):
        """poppad writes its shutter log meanwhile."""
        conf = os.environ["POPPA_CONF"]
        with open(conf) as f:
            saved = f.read()

        def apply(text):
            with open(conf, "w") as f:
                f.write(text)
            run(os.path.join(SANDBOX_SCRIPTS, "ctl"), "kill", "-HUP", "poppad")

        apply(saved + "ShutterLog=%s\n" % self.log)
        try:
            wait_until(15, "poppad opens its shutter log",
                       lambda: os.path.isdir(self.log) and os.listdir(self.log))
            yield
        finally:
            apply(saved)

    def estimate(self, start_ns, end_ns, methods, without=None, keep=None):
        """What poppa estimate makes of the blocks between two moments (CLOCK_MONOTONIC): by method
        and job. without: a region that is left out. keep: where these blocks stay as a file."""
        time.sleep(1.5)  # the log is flushed once a second
        with (open(keep, "w") if keep else tempfile.NamedTemporaryFile("w", suffix=".csv", dir=self.tmp)) as out:
            header = False
            for name in sorted(os.listdir(self.log)):
                with open(os.path.join(self.log, name)) as log:
                    head = log.readline()
                    columns = len(head.split(","))
                    if not header:
                        out.write(head)
                        header = True
                    for row in log:
                        if row.startswith("# prior,"):
                            out.write(row)
                            continue
                        fields = row.split(",")
                        if (len(fields) == columns and start_ns <= int(fields[5]) < end_ns and
                                fields[3] != without):
                            out.write(row)
            out.flush()
            return {m: estimates(out.name, m) for m in methods}

    # --- jobs ---

    def submit(self, program, *options):
        """options: of sbatch; one task on a lane without any."""
        out = run(os.path.join(SANDBOX_SCRIPTS, "env"), "-u", "poppa-demo", "sbatch", "--parsable",
                  *(options or ("--colocate", "-n1")), "-N1", "-p", "real", "-o", "/dev/null", "--wrap",
                  program.command)
        return Job(program, int(out.split(";")[0]))

    def find_pids(self, job):
        pids = set()
        for line in run("scontrol", "listpids", str(job.id), check=False).splitlines()[1:]:
            pid = line.split()[0]
            with contextlib.suppress(OSError):
                with open("/proc/%s/comm" % pid) as f:
                    if f.read().strip() == job.program.comm:
                        pids.add(pid)
        job.pids = sorted(pids)
        return job.pids

    def measured(self, jobs):
        seen = {j["job"]: j for j in self.status()["jobs"]}
        return all(j.id in seen and seen[j.id].get("tasks") and
                   seen[j.id].get("backend") not in (None, "none") for j in jobs)

    def ended(self, job):
        state = run("squeue", "-h", "-j", str(job.id), "-o", "%T", check=False).strip()
        return state not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED")

    def end(self, jobs):
        for j in jobs:
            run("scancel", str(j.id), check=False)
        for j in jobs:
            with contextlib.suppress(Failed):
                wait_until(40, "job %d ends" % j.id, lambda j=j: self.ended(j))

    @contextlib.contextmanager
    def pair(self, first, second):
        """Two jobs side by side on the real node, found and counted by poppad."""
        jobs = []
        try:
            for program in (first, second):
                jobs.append(self.submit(program))
            wait_until(40, "%s and %s run" % (first.name, second.name),
                       lambda: all(self.find_pids(j) for j in jobs))
            wait_until(30, "poppad counts %s and %s" % (first.name, second.name),
                       lambda: self.measured(jobs))
            yield jobs
        finally:
            self.end(jobs)
            with contextlib.suppress(OSError):
                os.unlink(self.line)

    # --- measurements ---

    def truth(self, jobs, seconds, shutters, stretch="150ms", edge="15ms"):
        """True degradation of both, in turns with shutters; also when it began and ended. Of each stretch the
        edges do not count."""
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        text = run(os.path.join(self.workloads, "truth"), "--json", "--both", "--victim",
                   ",".join(jobs[0].pids), "--partner", ",".join(jobs[1].pids), "--solo", stretch,
                   "--co", stretch, "--edge", edge, "--socket", self.socket, "--shutters",
                   "%dms" % (1000 * shutters), "--for", "%dms" % (1000 * seconds), seconds=seconds)
        return json.loads(text)["jobs"], start, time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    def response(self, jobs, long_ms, rest_ms, shutter, seconds):
        """What contrib/workloads/response says of the first job."""
        return json.loads(run(os.path.join(self.workloads, "response"), "--json", "--victim",
                              ",".join(jobs[0].pids), "--partner", ",".join(jobs[1].pids), "--long",
                              "%dms" % long_ms, "--rest", "%dms" % rest_ms, "--shutter", shutter,
                              "--for", "%ds" % seconds, "--socket", self.socket, seconds=seconds))

    def trace(self, jobs, seconds):
        """[(ns, progress of each job)] of every 10 ms."""
        path = os.path.join(self.tmp, "trace-%d.csv" % jobs[0].id)
        command = [os.path.join(self.workloads, "cost"), "--trace", path, "--for",
                   "%dms" % (1000 * seconds)]
        for j in jobs:
            command += ["--job", ",".join(j.pids)]
        run(*command, seconds=seconds)
        with open(path) as f:
            rows = [[int(x) for x in line.split(",")] for line in f if line.count(",") == len(jobs)]
        os.unlink(path)
        return rows

    def blocks(self, start_ns, end_ns):
        """[(first, last ns)] of the blocks in the shutter log between two moments."""
        time.sleep(1.5)  # the log is flushed once a second
        found = {}
        for name in sorted(os.listdir(self.log)):
            with open(os.path.join(self.log, name)) as log:
                columns = len(log.readline().split(","))
                for row in log:
                    fields = row.split(",")
                    if len(fields) == columns and start_ns <= int(fields[5]) < end_ns:
                        first, last = int(fields[5]), int(fields[5]) + int(fields[6])
                        known = found.get((name, fields[0]), (first, last))
                        found[name, fields[0]] = min(first, known[0]), max(last, known[1])
        return sorted(found.values())

    def cost(self, jobs, seconds, stretch):
        """Progress that the shutters cost the jobs, as the program cost has it."""
        command = [os.path.join(self.workloads, "cost"), "--json", "--socket", self.socket,
                   "--stretch", "%dms" % (1000 * stretch), "--for", "%dms" % (1000 * seconds)]
        for j in jobs:
            command += ["--job", ",".join(j.pids)]
        return json.loads(run(*command, seconds=seconds))

    def block_cost(self, jobs, seconds):
        """What the blocks of the next seconds cost each job: [Cost], blocks a second. The shutter
        log is on."""
        rows = self.trace(jobs, seconds)
        return blockcost.of_jobs(rows, self.blocks(rows[0][0], rows[-1][0]))

    def beside(self, report, first, second, points, measure):
        """{point: measure(jobs, point)} of one pair of jobs. A measurement that fails is done once more with
        a new pair, and left out if it fails again."""
        found, failed, todo = {}, set(), list(points)
        while todo:
            point = todo[0]
            try:
                with self.pair(first, second) as jobs:
                    while todo:
                        point = todo[0]
                        report.progress("%s beside %s%s" % (
                            first.name, second.name, "" if point is None else ", %s" % point))
                        found[point] = measure(jobs, point)
                        todo.pop(0)
            except TROUBLE as why:
                report.progress("failed: %s" % why)
                if point in failed:
                    report.missed.append("%s beside %s%s: %s" % (
                        first.name, second.name, "" if point is None else ", %s" % point, why))
                    todo.pop(0)
                failed.add(point)
        return found


def runtime_error(estimated, true):
    """Error of the predicted run time beside the co-runner, as a share of the actual one: positive
    where degradation was predicted too high (thesis, figure 3.10)."""
    if estimated >= 1:
        return math.nan
    return (1 - true) / (1 - estimated) - 1
