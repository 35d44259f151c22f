# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger under load: records a second, and a day of jobs. Called by tests/bench/ledger."""
import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import report

WANTED_RECORDS = 10000
BATCHES = (1, 8, 64)
CLIENTS = 8
# The delay of the day's last tenths may be so many times that of the second to fourth (the first has cold caches).
GROWTH = 1.5


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def processor_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Ledger:
    """A munged with a key of its own and a poppa-ledgerd, in a directory that goes with them."""

    def __init__(self, build):
        self.build, self.started = build, []
        self.dir = tempfile.mkdtemp(prefix="poppa-ledger-")
        self.port = free_port()
        self.conf = os.path.join(self.dir, "poppa.conf")

    def path(self, name):
        return os.path.join(self.dir, name)

    def start(self, *command):
        log = open(self.path("log"), "a")
        process = subprocess.Popen(command, stdout=log, stderr=log)
        log.close()
        self.started.append(process)
        return process

    def wait(self, what, test):
        for _ in range(200):
            if test():
                return
            time.sleep(0.1)
        with open(self.path("log")) as log:
            sys.exit("%s does not start:\n%s" % (what, log.read()))

    def answers(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self):
        key, munge = self.path("key"), self.path("munge.socket")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o400), "wb") as f:
            f.write(os.urandom(128))
        self.munged = self.start(
            "munged", "--foreground", "--force", "--key-file=" + key, "--socket=" + munge,
            "--pid-file=" + self.path("munged.pid"), "--seed-file=" + self.path("munged.seed"),
            "--log-file=" + self.path("munged.log"), "--num-threads=4")
        self.wait("munged", lambda: os.path.exists(munge))
        with open(self.conf, "w") as f:
            f.write("StateDir=%s\nMungeSocket=%s\nLedgerListen=127.0.0.1:%d\nLedgerUser=root\n" % (
                self.path("state"), munge, self.port))
        self.ledgerd = self.start(os.path.join(self.build, "poppa-ledgerd"), "-c", self.conf)
        self.wait("poppa-ledgerd", self.answers)
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        shutil.rmtree(self.dir)

    def load(self, *args):
        """Runs the load and returns its result, with the processor time that each part took."""
        parts = {"poppa-ledgerd": self.ledgerd.pid, "munged": self.munged.pid}
        before = {name: processor_seconds(pid) for name, pid in parts.items()}
        own = os.times()
        result = json.loads(subprocess.check_output([
            os.path.join(self.build, "tests/bench/ledger_load"), "--conf", self.conf,
            "--ledger", "127.0.0.1:%d" % self.port] + [str(a) for a in args]))
        after = os.times()
        result["cpu"] = {name: processor_seconds(pid) - before[name] for name, pid in parts.items()}
        result["cpu"]["clients"] = (after.children_user - own.children_user
                                    + after.children_system - own.children_system)
        return result

    def check(self):
        """Seconds that a check of the whole file takes, and what it counts."""
        began = time.monotonic()
        found = json.loads(subprocess.check_output([
            os.path.join(self.build, "poppa"), "ledger", "check", "--json", "--conf", self.conf]))
        return time.monotonic() - began, found

    def size(self):
        return os.path.getsize(self.path("state/ledger.sqlite"))


def records(ledger, seconds, out):
    runs = [ledger.load("records", "--clients", CLIENTS, "--batch", b, "--seconds", seconds)
            for b in BATCHES]
    rows = [[r["batch"], "%.0f" % r["records_per_s"], "%.0f" % (r["messages"] / r["seconds"]),
             "%.1f" % r["mean_ms"], "%.1f" % r["slowest_ms"]]
            + ["%.2f" % (r["cpu"][name] / r["seconds"])
               for name in ("poppa-ledgerd", "munged", "clients")] for r in runs]
    best = runs[-1]["records_per_s"]
    out.text("## Records a second\n\n%d clients send final records as fast as they are acknowledged," % CLIENTS,
             "each message over a connection of its own, sealed and opened by MUNGE, as poppad does it; an",
             "acknowledged record is on disk. %d records are what a node sends in one message when it" % BATCHES[-1],
             "empties its spool after an outage. Clients, munged and poppa-ledgerd share the processors;",
             "the last three columns say how many of them each kept busy.")
    out.table(["records a message", "records/s", "messages/s", "mean ms", "slowest ms", "ledgerd", "munged",
               "clients"], rows)
    out.text("Wanted: %d records/s; measured: %.0f, **%s**." % (
        WANTED_RECORDS, best, "kept" if best >= WANTED_RECORDS else "not kept"))
    return best >= WANTED_RECORDS


def day(ledger, jobs, rate, out):
    run = ledger.load("day", "--jobs", jobs, "--rate", rate, "--clients", CLIENTS)
    took, found = ledger.check()
    parts = run["parts"]
    growth = (statistics.median(p["median_ms"] for p in parts[-3:])
              / statistics.median(p["median_ms"] for p in parts[1:4]))
    kept = growth <= GROWTH and not found["faults"]
    out.text("## A day of %d jobs\n\n%d jobs a second end (%.0f times as fast as they would in a day), each on %d"
             % (jobs, rate, rate / (jobs / 86400), run["nodes"]),
             "nodes, which send a record while it runs and one at its end, a message each. One settler",
             "asks for each job's records, prices it and stores the price, one after the other as prep/poppa does.",
             "The delay is from the acknowledgement of a job's last record to that of its price.")
    out.table(["tenth of the day", "median ms", "p99 ms", "slowest ms"],
              [[i + 1] + ["%.1f" % p[k] for k in ("median_ms", "p99_ms", "slowest_ms")]
               for i, p in enumerate(parts)])
    out.text("%.0f jobs/s were settled in %.0f s. Processors kept busy: %s. The file has %.0f MB then;" % (
        run["jobs_per_s"], run["seconds"],
        ", ".join("%s %.2f" % (k, v / run["seconds"]) for k, v in run["cpu"].items()), ledger.size() / 1e6),
        "`poppa ledger check` reads all of it, %d records and %d settlements with their chain, in %.1f s and"
        % (found["records"], found["settlements"], took), "finds %d faults." % found["faults"])
    out.text("Wanted: the last three tenths' delay (median of medians) at most %.1f times that of the second to"
             " fourth; measured: %.2f, **%s**." % (
        GROWTH, growth, "kept" if kept else "not kept"))
    return kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--results", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--rate", type=int, default=150)
    args = parser.parse_args()
    seconds = args.seconds or (2 if args.quick else 20)
    jobs = args.jobs or (500 if args.quick else 100000)
    out = report.Report("ledger", "The ledger under load", args.results, args.quick,
                        "tests/bench/ledger" + (" --quick" if args.quick else ""))
    with Ledger(args.build) as ledger:
        kept = records(ledger, seconds, out)
    with Ledger(args.build) as ledger:
        kept = day(ledger, jobs, args.rate, out) and kept
    out.write()
    print("tests/bench/ledger: ledger.md is in %s; what is wanted is %s" % (
        args.results, "kept" if kept else "not kept"))
    return 0 if kept or args.quick else 1


if __name__ == "__main__":
    sys.exit(main())
