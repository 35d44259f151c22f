# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs whole nodes and lanes run, how fast each rank of theirs works, and what power that takes."""
import concurrent.futures
import contextlib
import glob
import os
import re
import time

from cluster import Failed, GROMACS_RUN, GROMACS_TOPOLOGY, Job, LAMMPS, Program, run, wait_until

POLL = 0.005      # s between two looks at an output that grows
BEGIN_S = 90      # so long a program may take until it makes progress
NEXT_S = 90       # and until it says so again
SETTLE = 0.5      # s that caches have after a partner has come
# 32,000 atoms a rank, as in the melt of LAMMPS' own benchmarks; each line is printed at once.
LAMMPS_BOX = "0 %d 0 20 0 20"
LAMMPS_OUTPUT = "thermo_style custom step cpu\nthermo 2\nthermo_modify flush yes\n"
HPCC_N = 1400  # of a matrix of one rank
HPCC_EXAMPLE = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
# Those parts that all ranks run at the same time, each for itself, and the line with what a rank makes of it.
HPCC_PARTS = {"StarRandomAccess": "Average GUP/s", "StarDGEMM": "Average Gflop/s",
              "StarSTREAM": "Average Triad GB/s", "StarFFT": "Average Gflop/s"}


class Heartbeat:
    """Counts what libpoppa-heartbeat publishes."""

    def begun(self, cluster, job):
        return len(cluster.find_pids(job)) == job.ranks

    def rate(self, cluster, job, seconds):
        """Of a rank, a second."""
        rows = cluster.trace([job], seconds)
        return (rows[-1][1] - rows[0][1]) / (rows[-1][0] - rows[0][0]) * 1e9 / job.ranks


class Printed:
    """Reads steps from what the program prints. All ranks work on each step, and each has the same part of it in
    jobs of any size."""

    def __init__(self, pattern):
        self.pattern = re.compile(pattern)

    def steps(self, job):
        """The last one printed, or None."""
        with contextlib.suppress(OSError):
            with open(job.output, "rb") as f:
                f.seek(max(os.path.getsize(job.output) - 4096, 0))
                found = self.pattern.findall(f.read().decode(errors="replace"))
                return int(found[-1]) if found else None
        return None

    def begun(self, cluster, job):
        return self.steps(job) is not None

    def next(self, job):
        """(when, how many) as soon as there are more steps."""
        before, end = self.steps(job), time.monotonic() + NEXT_S
        while time.monotonic() < end:
            now = self.steps(job)
            if now != before:
                return time.monotonic(), now
            time.sleep(POLL)
        raise Failed("%s makes no progress" % job.program.name)

    def rate(self, cluster, job, seconds):
        start, first = self.next(job)
        time.sleep(seconds)
        end, last = self.next(job)
        return (last - first) / (end - start)


class Parts:
    """Reads the next result of each of HPCC's parts, however long that takes."""

    def text(self, job, start):
        with contextlib.suppress(OSError):
            with open(job.output, errors="replace") as f:
                f.seek(start)
                return f.read()
        return ""

    def begun(self, cluster, job):
        return self.text(job, 0)

    def found(self, text):
        rates = []
        for part, line in HPCC_PARTS.items():
            section = re.search(r"^Begin of %s section\.$(.*?)^End of %s section" % (part, part), text, re.M | re.S)
            number = section and re.search(r"^%s ([0-9.]+)" % re.escape(line), section[1], re.M)
            if not number:
                return None
            rates.append(float(number[1]))
        return rates

    def rate(self, cluster, job, seconds):
        """The geometric mean of the parts' rates, which are in units of their own."""
        start = os.path.getsize(job.output) if job.shared else 0
        rates = wait_until(NEXT_S, "HPCC has run all its parts", lambda: self.found(self.text(job, start)))
        product = 1
        for r in rates:
            product *= r
        return product ** (1 / len(rates))


class Kind:
    """A program in jobs of any number of ranks, each of which has the same work."""

    def __init__(self, name, comm, command, reader):
        self.name, self.comm, self.command, self.reader = name, comm, command, reader


class Placed(Job):
    """A job that runs. shared: there is a lane for another one."""

    def __init__(self, job, ranks, shared, output):
        super().__init__(job.program, job.id)
        self.ranks, self.shared, self.output = ranks, shared, output


class Power:
    """Energy of the processors, where the kernel tells it."""

    def __init__(self, root="/sys/class/powercap"):
        self.domains = []
        # Packages only: their cores are part of them.
        for zone in sorted(glob.glob(os.path.join(root, "intel-rapl:*"))):
            if zone.count(":") == 1:
                with contextlib.suppress(OSError, ValueError):
                    self.number(zone, "energy_uj")
                    self.domains.append(zone)
        self.why_not = None if self.domains else (
            "the kernel counts no energy of the processors here (no readable %s/intel-rapl:*/energy_uj, as is usual on "
            "virtual machines)" % root)

    def number(self, zone, name):
        with open(os.path.join(zone, name)) as f:
            return int(f.read())

    def read(self):
        return [(time.monotonic(), self.number(zone, "energy_uj")) for zone in self.domains]

    def watts(self, before, after):
        """Mean power of all packages between two readings; None without any."""
        total = 0
        for zone, (start, first), (end, last) in zip(self.domains, before, after):
            used = last - first
            if used < 0:  # it has begun again at 0
                used += self.number(zone, "max_energy_range_uj")
            total += used / 1e6 / (end - start)
        return total if self.domains else None


def cores():
    """Of this machine, each of which may have several hardware threads."""
    found = set()
    for folder in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/topology"):
        ids = []
        for name in ("physical_package_id", "core_id"):
            with open(os.path.join(folder, name)) as f:
                ids.append(f.read().strip())
        found.add(tuple(ids))
    return len(found) or os.cpu_count()


class Node:
    """The sandbox's real node, with jobs that have all of it or one of its two lanes."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.power = Power()
        self.lane_ranks = max(cores() // 2, 1)
        self.ranks = 2 * self.lane_ranks
        self.matrix_order = HPCC_N
        self.folder = os.path.join(cluster.tmp, "throughput")
        os.makedirs(self.folder, exist_ok=True)
        os.chmod(self.folder, 0o1777)

    # --- programs ---

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def lammps(self):
        inputs = {n: self.write("in.melt-%d" % n, LAMMPS % (LAMMPS_BOX % (20 * n), LAMMPS_OUTPUT)) for n in (self.lane_ranks, self.ranks)}
        return Kind("LAMMPS", "lmp", lambda n: "mpirun lmp -log none -in %s >out 2>&1" % inputs[n],
                    Printed(r"(?m)^ *([0-9]+) +[0-9.]+ *$"))

    def gromacs(self):
        inputs = {}
        for n in (self.lane_ranks, self.ranks):
            folder = os.path.join(self.folder, "water-%d" % n)
            inputs[n] = os.path.join(folder, "run.tpr")
            if os.path.exists(inputs[n]):
                continue
            os.makedirs(folder, exist_ok=True)
            self.write("water-%d/topol.top" % n, GROMACS_TOPOLOGY)
            self.write("water-%d/run.mdp" % n, GROMACS_RUN)
            inside = lambda *command: run("env", "-C", folder, "gmx_mpi", "-quiet", *command)
            inside("solvate", "-cs", "spc216.gro", "-box", str(4 * n), "4", "4", "-o", "water.gro", "-p", "topol.top")
            inside("grompp", "-f", "run.mdp", "-c", "water.gro", "-p", "topol.top", "-o", "run.tpr")
        # What it would tune while it runs would make work of its own.
        return Kind("GROMACS", "gmx_mpi", lambda n: "mpirun gmx_mpi -quiet -nobackup mdrun -v -stepout 5 -s %s -deffnm run "
                    "-ntomp 1 -pin off -cpt -1 -notunepme -dlb no >out 2>&1" % inputs[n], Printed(r"step ([0-9]+)"))

    def hpcc(self):
        with open(HPCC_EXAMPLE) as f:
            example = f.read()
        inputs = {}
        for n in (self.lane_ranks, self.ranks):
            # Memory of a rank is what counts, and grows as the square of N.
            text = re.sub(r"(?m)^[0-9]+( +Ns)$", r"%d\1" % round(HPCC_N * n ** 0.5), example)
            text = re.sub(r"(?m)^[0-9]+( +Ps)$", r"1\1", text)
            inputs[n] = self.write("hpccinf-%d.txt" % n, re.sub(r"(?m)^[0-9]+( +Qs)$", r"%d\1" % n, text))
        return Kind("HPCC", "hpcc", lambda n: "ln -s %s hpccinf.txt; while mpirun hpcc >out 2>&1; do :; done" % inputs[n],
                    Parts())

    def own(self, label, name, *options):
        command = " ".join(("srun --mpi=pmix", os.path.join(self.cluster.workloads, name), *options, "--seconds 3600"))
        return Kind(label, name, lambda n: command, Heartbeat())

    def programs(self):
        return [self.lammps(), self.gromacs(), self.hpcc(), self.own("llc 24 MiB", "llc", "--mib", "24"),
                self.own("stream", "stream", "--mib", "64"), self.own("null", "null")]

    # --- jobs ---

    @contextlib.contextmanager
    def job(self, kind, ranks, *options):
        command = "umask 022; export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; mkdir -p %s/$SLURM_JOB_ID; cd %s/$SLURM_JOB_ID; %s" % (
            self.folder, self.folder, kind.command(ranks))
        job = self.cluster.submit(Program(kind.name, kind.comm, command), *options, "-n%d" % ranks)
        output = os.path.join(self.folder, str(job.id), "hpccoutf.txt" if kind.comm == "hpcc" else "out")
        job = Placed(job, ranks, "--colocate" in options, output)
        job.reader = kind.reader
        try:
            wait_until(BEGIN_S, "%s makes progress" % kind.name, lambda: kind.reader.begun(self.cluster, job))
            time.sleep(SETTLE)
            yield job
        finally:
            self.cluster.end([job])

    def compact(self, kind):
        """All of the node."""
        return self.job(kind, self.ranks, "--exclusive")

    def lane(self, kind):
        return self.job(kind, self.lane_ranks, "--colocate")

    def rates(self, jobs, seconds):
        """What a rank of each job makes a second, all in the same time; and the node's mean power in W, or None."""
        before = self.power.read()
        with concurrent.futures.ThreadPoolExecutor(len(jobs)) as threads:
            found = [threads.submit(j.reader.rate, self.cluster, j, seconds) for j in jobs]
            rates = [f.result() for f in found]
        return rates, self.power.watts(before, self.power.read())
