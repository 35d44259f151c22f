# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one bench on the sandbox that runs now: bench.py NAME BUILD RESULTS [quick]."""
import importlib
import signal
import sys

from cluster import Cluster, Failed, TROUBLE
from report import Report


def main():
    name, build, results = sys.argv[1:4]
    quick = "quick" in sys.argv[4:]
    bench = importlib.import_module("bench_" + name)
    report = Report(name, bench.TITLE, results, quick)
    cluster = Cluster(build)
    # Ended from outside, it takes its jobs along.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("%s: ended by a signal" % name))
    try:
        bench.main(report, cluster, build, quick)
        report.write()
    except Failed as why:
        sys.exit("%s: %s" % (name, why))
    finally:
        try:
            cluster.reset()
        except TROUBLE as why:
            print("%s: the settings could not be put back: %s" % (name, why), file=sys.stderr)


main()
