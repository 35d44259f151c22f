# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes what a bench has measured: a table, a plot, and the machine that it was measured on."""
import datetime
import glob
import math
import os
import platform
import random
import statistics
import subprocess

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLOURS = ("#1f5fa8", "#d1731c", "#3d8b4f", "#8a4fa3", "#b03a3a", "#6b6b6b")


def number(x):
    """A number that JSON may lack."""
    return math.nan if x is None else x


def value(found, digits=3):
    """A degradation with its standard error."""
    return "%.*f (%.*f)" % (digits, found["degradation"], digits, found["se"])


def first_line(path):
    try:
        with open(path) as f:
            return f.readline().strip()
    except OSError:
        return ""


def output(*command):
    done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def cpu_info():
    with open("/proc/cpuinfo") as f:
        return [line.split(":", 1) for line in f if ":" in line]


def machine():
    """Lines that say what the numbers were measured on."""
    info = {key.strip(): value.strip() for key, value in cpu_info()}
    virtual = "hypervisor" in info.get("flags", "").split()
    governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    threads = first_line("/sys/devices/system/cpu/smt/active") == "1"
    pmu = glob.glob("/sys/bus/event_source/devices/cpu*/events/instructions")
    kernel = platform.release().split("-")[0]
    return [
        "%s, %d processors%s" % (info.get("model name", platform.machine()), os.cpu_count(),
                                 " (hardware threads)" if threads else ""),
        "%s; frequency governor: %s; hardware counters: %s" % (
            "virtual machine" if virtual else "no hypervisor", governor or "none visible",
            "yes" if pmu else "none"),
        "Linux " + kernel,
    ]


def commit():
    name = output("git", "rev-parse", "--short=12", "HEAD") or "release"
    changed = output("git", "status", "--porcelain", "--untracked-files=no", "--", "src", "contrib",
                     "tests")
    return name + (" with changes" if changed else "")


def cpu_times(path="/proc/stat"):
    """Total and stolen time of all processors so far, in ticks."""
    fields = [int(x) for x in first_line(path).split()[1:]]
    return sum(fields[:8]), fields[7]


def table(head, rows):
    """A markdown table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def percent(x, digits=2):
    return "none" if math.isnan(x) else "%.*f" % (digits, 100 * x)


def without_trailing_blanks(text):
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n")) + "\n"


def times_as_fast(mine, others, draws=2000):
    """How many times one rate is the other, by the ratios of rounds in turn: their median, with the 95 % interval over other
    draws of the rounds."""
    ratios = [a / b for a, b in zip(mine, others)]
    draw = random.Random(1)
    middles = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(draws))
    return statistics.median(ratios), middles[draws // 40], middles[-1 - draws // 40]


def above_one(low, high):
    """Whether a ratio is above 1, by its interval; None where that is not known."""
    return True if low > 1 else False if high < 1 else None


def at_most(low, high, limit):
    """Whether what lies in an interval is within a limit; None where that is not known."""
    if math.isnan(low) or math.isnan(high):
        return None
    return True if high <= limit else False if low > limit else None


class Report:
    """One result: NAME.md and its plots in the directory of results."""

    def __init__(self, name, title, directory, quick, command=None):
        self.command = command or "tests/bench/run %s%s" % ("--quick " if quick else "", name)
        self.name, self.title, self.directory, self.quick = name, title, directory, quick
        self.parts, self.judgements, self.missed = [], [], []
        self.started = datetime.datetime.now(datetime.timezone.utc)
        self.load = os.getloadavg()[0]
        self.times = cpu_times()

    def progress(self, text):
        """A line for who waits."""
        took = datetime.datetime.now(datetime.timezone.utc) - self.started
        print("bench: %s [%4ds] %s" % (self.name, took.total_seconds(), text), flush=True)

    def judge(self, what, measured, holds):
        """Something that is asked for, the number measured, and whether it holds: True, False, or
        None where the measurement does not tell."""
        verdict = {True: "met", False: "NOT MET", None: "uncertain"}[holds]
        self.judgements.append((what, measured, verdict))
        self.progress("%s: %s: %s" % (verdict, what, measured))

    def text(self, *lines):
        self.parts.append(" ".join(lines))

    def table(self, head, rows):
        self.parts.append(table(head, rows))

    def plot(self, script, blocks, suffix="", size=(860, 480)):
        """A gnuplot script over numbered data blocks ($d0, $d1, ...) of rows."""
        path = os.path.join(self.directory, self.name + suffix + ".svg")
        # White behind black: readable on a page of either colour.
        head = ['set terminal svg size %d,%d font "sans,14" background "#ffffff"' % size,
                'set output "%s"' % path, "set border lw 1", "set grid lc rgb '#d8d8d8'",
                "set key outside top center horizontal"]
        head += ["set linetype %d lc rgb '%s' lw 2 pt 7 ps 0.6" % (i + 1, c)
                 for i, c in enumerate(COLOURS)]
        data = []
        for i, rows in enumerate(blocks):
            data.append("$d%d << EOD" % i)
            data += [" ".join('"%s"' % c if isinstance(c, str) else "%.6g" % c for c in row)
                     for row in rows]
            data.append("EOD")
        try:
            drawn = subprocess.run(["gnuplot"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   input="\n".join(head + data + [script, ""]).encode())
            why = " ".join(drawn.stderr.decode().split()) if drawn.returncode else None
        except OSError as error:
            why = error.strerror
        if why is not None:
            self.missed.append("the plot %s: gnuplot: %s" % (os.path.basename(path), why))
            return
        with open(path) as f:
            drawing = f.read()
        with open(path, "w") as f:
            f.write(without_trailing_blanks(drawing))
        self.parts.append("![%s](%s)" % (self.title, os.path.basename(path)))

    def write(self):
        total, stolen = (b - a for a, b in zip(self.times, cpu_times()))
        took = datetime.datetime.now(datetime.timezone.utc) - self.started
        facts = machine() + [
            "Commit %s, `%s`, %s, %d s" % (
                commit(), self.command, self.started.strftime("%Y-%m-%d %H:%M UTC"), took.total_seconds()),
            "Load average before the run %.2f; time stolen by the host %.1f %%" % (
                self.load, 100 * stolen / max(total, 1)),
        ]
        if self.quick:
            facts.append("**A quick run, to try the bench: its numbers mean nothing.**")
        if self.judgements:
            self.parts.append("## What is asked for\n\n" + table(
                ["asked for", "measured", ""], self.judgements))
        if self.missed:
            self.parts.append("Left out, since it failed:\n\n" +
                              "\n".join("- " + m for m in self.missed))
        text = "# %s\n\n%s\n\n## Measured on\n\n%s\n" % (
            self.title, "\n\n".join(self.parts), "\n".join("- " + f for f in facts))
        path = os.path.join(self.directory, self.name + ".md")
        with open(path + ".new", "w") as f:
            f.write(without_trailing_blanks(text))
        os.rename(path + ".new", path)
