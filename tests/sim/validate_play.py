#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/sim/validate plays: makes the trace and the history, feeds slurmctld with events, and compares.

  make DIR JOBS NODES SEED      writes trace.swf, matrix.csv and history into DIR
  slurm-history FILE            prints a history with classes as slurmctld has them for --colocate=class:NAME
  compare DIR LOG               plays DIR/dump.csv in the slurmctld of $SLURM_CONF
"""
import collections
import csv
import math
import random
import re
import struct
import subprocess
import sys
import time

USERS, PROGRAMS, ROWS = 8, 3, 6
# slurmctld wants users that exist: daemon, bin and the like are on each Debian, from 1 on.
FIRST_UID = 1
# What slurmctld gives to the first job, and one less to the next; and what is above all of these.
NORMAL, FIRST = 4294901760, 4294960000
ALIKE_LEAST = 0.99
# slurmctld takes a job that found no place 120 s ago for one that waits no more, and looks at least once a minute.
LOOK_EVERY_S = 50
WAIT_S = 60


def make(folder, jobs, nodes, seed):
    rng = random.Random(seed)
    at = 0
    with open(f"{folder}/trace.swf", "w") as f:
        print(f"; MaxProcs: {nodes}", file=f)
        for number in range(1, jobs + 1):
            run = 60 + int(min(rng.expovariate(1 / 400), 2400))
            kind = rng.random()
            # Some need more than half of the nodes: on lanes they would not fit, so they are compact.
            size = (rng.choice([1, 1, 1, 2, 2, 3, 4]) if kind < 0.85 else
                    rng.randint(1, nodes // 2) if kind < 0.98 else rng.randint(nodes // 2 + 1, nodes))
            # Each starts its limit at a whole minute, as sbatch knows no others, and never runs into it.
            limit = 60 * math.ceil(run * rng.choice([2, 2.5, 3, 4]) / 60)
            user, program = rng.randrange(USERS), rng.randrange(PROGRAMS)
            print(number, at, -1, run, size, -1, -1, size, limit, -1, 1, FIRST_UID + user - 1, 1, program, 1, -1, -1, -1,
                  file=f)
            at += 3 + int(rng.expovariate(32 / nodes / 42))
    with open(f"{folder}/matrix.csv", "w") as f:
        print("program,partner,speedup", file=f)
        for i in range(ROWS):
            for j in range(ROWS):
                print(f"p{i},p{j},{rng.uniform(0.75, 1.3):.6f}", file=f)
    make_history(f"{folder}/history", rng)


def make_history(path, rng):
    """What classes lose is not what the matrix says: how good a history is makes no difference to who reads it."""
    names = [f"{FIRST_UID + u}/{p}" for u in range(USERS) for p in range(PROGRAMS)]
    suffers = {n: rng.uniform(0, 0.3) for n in names}
    inflicts = {n: rng.uniform(0, 0.3) for n in names}
    now = int(time.time())
    with open(path, "w") as f:
        for one in names:
            for two in names:
                if rng.random() < 0.4:
                    continue
                mean = min(max(suffers[one] + inflicts[two] + rng.gauss(0, 0.08), 0), 0.8)
                for suffix in ("", "+4n", "+8n"):
                    if suffix and rng.random() < 0.8:
                        continue
                    runs, seconds = rng.randint(1, 20), rng.randint(100, 20000)
                    d = min(max(mean + rng.gauss(0, 0.02), 0), 0.9)
                    print(f"{one}{suffix}\t{two}\t{d:.6g}\t{seconds}\t{runs}\t{now}\t{runs}\t{d:.6g}\t0.0004", file=f)


def slurm_history(path):
    with open(path) as f:
        for line in f:
            print("\t".join(field.replace("/", ":", 1) if i < 2 else field
                            for i, field in enumerate(line.rstrip("\n").split("\t"))))


class Job:
    """One line of the dump, with what the trace says of it."""

    def __init__(self, row, trace):
        self.number = int(row["job"])
        self.submit, self.start, self.end = (float(row[k]) for k in ("submit", "start", "end"))
        self.lanes = int(row["lanes"])
        self.nodes = [int(n) for n in row["nodes"].split()]
        self.capped = row["capped"] == "1"
        self.limit_s, user, program = int(trace[8]), int(trace[11]), trace[13]
        self.uid, self.class_name = user + 1, program
        self.early = self.held = False


def read_jobs(folder):
    trace = {}
    with open(f"{folder}/trace.swf") as f:
        for line in f:
            if not line.startswith(";"):
                trace[line.split()[0]] = line.split()
    with open(f"{folder}/dump.csv") as f:
        return [Job(row, trace[row["job"]]) for row in csv.DictReader(f)]


def expand(text):
    """The numbers of c[1-3,7] and the like."""
    out = []
    for part in re.sub(r"[^0-9,-]", "", text).split(","):
        first, _, last = part.partition("-")
        if first:
            out += range(int(first) - 1, int(last or first))
    return out


class Cluster:
    """slurmctld, and the clock that it sees."""

    def __init__(self, folder):
        self.clock_path = f"{folder}/wallclock"
        self.offset = 0

    def run(self, *args):
        done = subprocess.run(args, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def now(self):
        return time.time() + self.offset

    def set_clock(self, when):
        """Never back, and far enough on for backfill to look again."""
        self.offset += max(math.ceil(when - self.now()), 1)
        with open(self.clock_path, "r+b") as f:
            f.write(struct.pack("q", self.offset))

    def submit(self, job):
        args = ["sbatch", "--parsable", f"--uid={job.uid}", "--no-requeue", "-o/dev/null", "-D/", f"-t{job.limit_s // 60}",
                f"-N{len(job.nodes)}"]
        if job.lanes == 1:
            cap = ",max-degradation:10" if job.capped else ""
            args += [f"--colocate=class:{job.class_name}{cap}", f"-n{8 * len(job.nodes)}"]
        else:
            args += ["--exclusive", f"-n{16 * len(job.nodes)}"]
        number = self.run(*args, "--wrap=true").strip()
        # Ids decide between equal partners, so they are the simulator's.
        if number != str(job.number):
            raise RuntimeError(f"job {job.number} has the id {number}")

    def cancel(self, jobs):
        self.run("scancel", *(str(job.number) for job in jobs))

    def update(self, job, *what):
        self.run("scontrol", "update", f"jobid={job.number}", *what)

    def take_back(self, job):
        """A job that has nodes waits again, held."""
        self.update(job, "requeue=1")
        self.run("scontrol", "requeuehold", str(job.number))
        self.update(job, "requeue=0", "starttime=now")

    def release(self, job, highest=NORMAL):
        self.run("scontrol", "release", str(job.number))
        self.update(job, f"priority={highest - job.number}")

    def put(self, job, where):
        """It waits, and is to have these nodes before all others get any."""
        if where:
            self.update(job, "reqnodelist=c[" + ",".join(str(n + 1) for n in where) + "]")
        self.release(job, FIRST)

    def cycles(self):
        return [int(line.split()[2]) for line in self.run("sdiag").splitlines() if "Total cycles:" in line][:2]

    def waiting(self):
        """The ids of jobs that may start as soon as there are nodes."""
        return [int(line.split()[0]) for line in self.run("squeue", "-h", "-tPD", "-o%i %Q").splitlines()
                if line.split()[1] != "0"]

    def look(self):
        """Both schedulers look, as long as any job waits."""
        before = self.cycles()
        until = time.time() + WAIT_S
        self.set_clock(0)
        waiting = self.waiting()
        if waiting:
            self.run("scontrol", "update", f"jobid={waiting[0]}", f"comment={self.offset}")
        # slurmctld counts from 0 again at midnight, by the clock that it sees.
        while waiting and not all(b > a or 0 < b < a for a, b in zip(before, self.cycles())):
            waiting = self.waiting()
            if time.time() > until:
                raise RuntimeError("slurmctld's schedulers have not looked in a minute")
            time.sleep(0.02)

    def placed(self):
        """The nodes of each job that has some."""
        placed = {}
        for line in self.run("squeue", "-h", "-tCF,R", "-o%i|%N").splitlines():
            number, nodes = line.split("|")
            placed[int(number)] = expand(nodes)
        return placed

    def planned(self):
        """What backfill keeps for later, which other nodes may be as good for in the simulator."""
        plans = (line.split() for line in self.run("squeue", "-h", "-tPD", "-o%i %Y").splitlines())
        return "".join(f"; it keeps {len(expand(nodes))} nodes for job {number}" for number, nodes in plans
                       if nodes.startswith("c"))

    def told(self, job):
        shown = self.run("scontrol", "show", "job", str(job.number))
        found = re.search(r"SystemComment=(.*)", shown), re.search(r"Reason=(\S*)", shown)
        return ", ".join(m.group(1) for m in found if m)


def contents(placed):
    """Who is on each node."""
    on = collections.defaultdict(set)
    for number, nodes in placed.items():
        for n in nodes:
            on[n].add(number)
    return on


def partners(placed, number, known):
    """With whom of those the job shares how many nodes."""
    on = contents({k: v for k, v in placed.items() if k in known or k == number})
    return collections.Counter(tuple(sorted(on[n] - {number})) for n in placed[number])


def show(counter):
    return ", ".join(f"{n} {'beside ' + '+'.join(map(str, who)) if who else 'empty'}" for who, n in sorted(counter.items()))


class Game:
    def __init__(self, folder):
        self.jobs = read_jobs(folder)
        self.nodes = 1 + max(max(job.nodes) for job in self.jobs)
        self.cluster = Cluster(folder)
        self.verdict = {}  # of each job: None = alike, or what differs
        self.apart = 0     # events after which the two could not be brought together
        self.sim = {}      # the simulator's nodes of each job that runs
        self.queue = {}    # its jobs that wait, by number
        self.shared = 0    # placements beside a partner

    def events(self):
        """At each time, who ends, who comes, and who starts."""
        when = collections.defaultdict(lambda: ([], [], []))
        for job in self.jobs:  # the dump is in the order of ends
            when[job.end][0].append(job)
        for job in sorted(self.jobs, key=lambda j: j.number):
            when[job.submit][1].append(job)
            when[job.start][2].append(job)
        return sorted(when.items())

    def play(self):
        base = self.cluster.now() + 10
        last = 0
        for when, (ended, came, started) in self.events():
            while self.queue and when - last > LOOK_EVERY_S:
                last += LOOK_EVERY_S
                self.cluster.set_clock(base + last)
                self.cluster.look()
            last = when
            self.cluster.set_clock(base + when)
            if ended:
                self.cluster.cancel(ended)
            for job in ended:
                del self.sim[job.number]
            for job in came:
                self.cluster.submit(job)
                self.queue[job.number] = job
            for job in started:
                if job.held:
                    job.held = False
                    self.cluster.release(job)
            self.cluster.look()
            self.judge(when, started)

    def judge(self, when, started):
        real = self.cluster.placed()
        known = set(self.sim)
        wrong = []
        for job in started:
            del self.queue[job.number]
            self.sim[job.number] = job.nodes
            known.add(job.number)
            mine = partners(self.sim, job.number, known)
            self.shared += any(mine)
            if job.number not in real:
                what = (f"waits in slurmctld ({self.cluster.told(job)}{self.cluster.planned()}), in the simulator it has "
                        f"{show(mine)}")
            else:
                its = partners(real, job.number, known)
                what = None if its == mine else f"{show(its)} in slurmctld, {show(mine)} in the simulator"
            if what:
                wrong.append(job)
            if job.early:
                continue
            self.verdict[job.number] = what
            if what:
                print(f"{when:.0f} s: job {job.number} of {len(job.nodes)} nodes: {what}", flush=True)
        early = [job for job in self.queue.values() if job.number in real]
        for job in early:
            self.verdict[job.number] = "starts earlier in slurmctld"
            job.early = True
            print(f"{when:.0f} s: job {job.number} of {len(job.nodes)} nodes: has "
                  f"{show(partners(real, job.number, set(real)))} in slurmctld, and waits in the simulator until "
                  f"{job.start:.0f} s{self.cluster.planned()}", flush=True)
        if wrong or early:
            self.bring_together(wrong, early)

    def bring_together(self, wrong, early):
        """Puts slurmctld's jobs where the simulator has them."""
        self.cluster.run("scontrol", "update", "partition=cloud", "state=down")
        real = self.cluster.placed()
        for job in wrong + early:
            if job.number in real:
                self.cluster.take_back(job)
                del real[job.number]
        for job in early:
            job.held = True
        there = contents({k: v for k, v in self.sim.items() if k not in {j.number for j in wrong}})
        on = contents(real)
        for job in wrong:
            where = []
            for n in job.nodes:
                same = [m for m in range(self.nodes) if on[m] == there[n] and m not in where]
                where += same[:1]
            for n, m in zip(job.nodes, where):
                there[n].add(job.number)
                on[m].add(job.number)
            self.cluster.put(job, where if len(where) == len(job.nodes) else ())
        self.cluster.run("scontrol", "update", "partition=cloud", "state=up")
        self.cluster.look()
        real = self.cluster.placed()
        same = [collections.Counter(frozenset(s) for s in contents({k: p[k] for k in p if k in self.sim}).values() if s)
                for p in (self.sim, real)]
        if same[0] != same[1]:
            self.apart += 1
            print(f"      they stay apart: {list((same[0] - same[1]).elements())[:4]} in the simulator, "
                  f"{list((same[1] - same[0]).elements())[:4]} in slurmctld", flush=True)


def compare(folder, log):
    game = Game(folder)
    began = time.time()
    game.play()
    alike = sum(v is None for v in game.verdict.values())
    print(f"{alike} of {len(game.jobs)} placements alike ({100 * alike / len(game.jobs):.1f} %); in the simulator "
          f"{game.shared} jobs begin beside others and {sum(job.start > job.submit for job in game.jobs)} have waited; "
          f"{time.time() - began:.0f} s")
    if game.apart:
        print(f"after {game.apart} of the differences the two could not be brought together")
    with open(log) as f:
        faults = [line for line in f if re.search(r"select/stripe: .*(differed|cannot|no memory|could not)", line)]
    for line in faults[:5]:
        print("slurmctld:", line.strip())
    return 0 if alike >= ALIKE_LEAST * len(game.jobs) and not faults else 1


def main(argv):
    if argv[1:2] == ["make"]:
        make(argv[2], *map(int, argv[3:6]))
    elif argv[1:2] == ["slurm-history"]:
        slurm_history(argv[2])
    else:
        return compare(argv[2], argv[3])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
