# SPDX-License-Identifier: GPL-2.0-or-later
"""What poppad and its guard take while no co-located job is on the node."""
import os
import re
import time

from cluster import wait_until
from report import percent

TITLE = "poppad without jobs"


def field(path, name):
    with open(path) as f:
        match = re.search(r"^%s:?\s+(\d+)" % name, f.read(), re.MULTILINE)
    return int(match[1]) if match else 0


def switches(pid):
    """Context switches of all threads so far: each wake-up ends in one."""
    tasks = "/proc/%d/task" % pid
    return sum(field("%s/%s/status" % (tasks, t), "%s_ctxt_switches" % kind)
               for t in os.listdir(tasks) for kind in ("voluntary", "nonvoluntary"))


def cpu_ms(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(report, cluster, build, quick):
    seconds = 5 if quick else 20
    wait_until(60, "poppad has no job", lambda: not cluster.status()["jobs"])
    status = cluster.status()
    pids = (("poppad", status["pid"]), ("its guard", status["guard_pid"]))
    time.sleep(2)
    before = [(switches(pid), cpu_ms(pid)) for _, pid in pids]
    time.sleep(seconds)
    rows, woken_hz, resident = [], [], []
    for (name, pid), (woken, cpu) in zip(pids, before):
        woken, cpu = switches(pid) - woken, cpu_ms(pid) - cpu
        woken_hz.append(woken / seconds)
        resident.append(field("/proc/%d/status" % pid, "VmRSS") / 1024)
        smaps = "/proc/%d/smaps_rollup" % pid
        rows.append([name, len(os.listdir("/proc/%d/task" % pid)), "%.2f" % (woken / seconds),
                     percent(cpu / 1000 / seconds, 3)] +
                    ["%.1f" % (kib / 1024) for kib in (
                        field("/proc/%d/status" % pid, "VmRSS"), field(smaps, "Pss"),
                        field(smaps, "Private_Dirty"))])
    report.text("Over %d s with no co-located job on the node. Wake-ups are context switches of "
                "all threads a second. Memory in MiB: resident (with what is shared with "
                "others), its fair share (Pss), and what is its alone and written." % seconds)
    report.table(["process", "threads", "wake-ups a second", "CPU, %", "resident", "Pss",
                  "private, written"], rows)
    report.judge("poppad without jobs wakes up once a second at most",
                 "%.2f a second" % woken_hz[0], woken_hz[0] <= 1)
    report.judge("and its guard", "%.2f a second" % woken_hz[1], woken_hz[1] <= 1)
    report.judge("poppad takes less than 8 MiB", "%.1f MiB" % resident[0], resident[0] < 8)
    report.judge("and its guard", "%.1f MiB" % resident[1], resident[1] < 8)
