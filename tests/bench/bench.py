# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one bench on the sandbox that runs now: bench.py NAME BUILD RESULTS [quick]."""
import importlib
import sys

from cluster import Cluster, Failed
from report import Report


def main():
    name, build, results = sys.argv[1:4]
    quick = "quick" in sys.argv[4:]
    bench = importlib.import_module("bench_" + name)
    report = Report(name, bench.TITLE, results, quick)
    cluster = Cluster(build)
    try:
        bench.main(report, cluster, build, quick)
    except Failed as why:
        sys.exit("%s: %s" % (name, why))
    finally:
        cluster.reset()
    report.write()


main()
