# SPDX-License-Identifier: GPL-2.0-or-later
"""What poppad costs a contended and an innocent pair with its default settings."""
import time

from report import percent

TITLE = "What poppad costs with its default settings"
LIMIT = 0.003


def main(report, cluster, build, quick):
    seconds, warm_up = (18, 4) if quick else (110, 15)
    pairs = (("contended", cluster.contend(5), cluster.contend(5)),
             ("innocent", cluster.contend(5), cluster.workload("null")))
    # The sandbox has a shorter period than the default.
    cluster.configure(poppa_period="")
    rows, verdicts = [], []
    for name, first, second in pairs:
        with cluster.pair(first, second) as jobs:
            time.sleep(warm_up)
            result = cluster.cost(jobs, seconds, 2.0, 0.0008)
        for j, r in zip(jobs, result["jobs"]):
            rows.append(["%s: %s" % (name, j.program.name), percent(r["cost"]),
                         "%s to %s" % tuple(percent(c) for c in r["ci95"]), r["stretches"]])
        rows.append(["%s: both" % name, percent(result["cost"]),
                     "%s to %s" % tuple(percent(c) for c in result["ci95"]), ""])
        low, high = result["ci95"]
        verdicts.append("The %s pair loses %s %% (95 %% interval %s to %s): %s." % (
            name, percent(result["cost"]), percent(low), percent(high),
            "below 0.3 %" if high <= LIMIT else
            "above 0.3 %" if low > LIMIT else "the interval holds 0.3 %"))
    report.text("Progress that two co-located jobs lose to poppad, in per cent: stretches of 2 s "
                "with shutters in turn with stretches without, for at most %d s a pair, after %d s "
                "in which poppad gets to know the pair. Settings: `%s`." % (
                    seconds, warm_up, cluster.status()["settings"].split(",poppa_ledger")[0]))
    report.table(["pair: job", "cost", "95 % interval", "stretches with shutters"], rows)
    report.text(*verdicts)
