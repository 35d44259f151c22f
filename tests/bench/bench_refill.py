# SPDX-License-Identifier: GPL-2.0-or-later
"""How a job's rate comes back after its co-runner stops, and what of its degradation a short shutter sees."""
import math

from report import number, value

TITLE = "What comes back slowly after a stop"
SHUTTER = "3200us"  # the default
LONG_MS, REST_MS = 512, 250
Z95 = 1.96


def curves(report, names, found, key, suffix, title):
    """The rate in each interval, one line a victim."""
    blocks = []
    for name in names:
        start, rows = 0, []
        for length, rate in zip(found[name]["by_length"], found[name][key]):
            middle = math.sqrt(max(start, length["ms"] / 2) * length["ms"])
            rows.append([middle, number(rate)])
            start = length["ms"]
        blocks.append([r for r in rows if not math.isnan(r[1])])
    report.plot("set logscale x 2\nset xlabel 'ms since the %s'\nset ylabel 'rate, 1 = alone'\nplot " % title +
                ", ".join("$d%d using 1:2 with linespoints lt %d title '%s'" % (i, i + 1, name)
                          for i, name in enumerate(names)), blocks, suffix)


def rates(report, names, found, key):
    lengths = [one["ms"] for one in found[names[0]]["by_length"]]
    rows = []
    for i, end in enumerate(lengths):
        start = lengths[i - 1] if i else 0
        rows.append(["%g to %g" % (start, end)] + ["%.3f" % number(found[n][key][i]) for n in names])
    report.table(["ms"] + names, rows)


def main(report, cluster, build, quick):
    seconds = 10 if quick else 80
    victims, stream = cluster.cache_pairs(quick)
    found = {}
    for victim in victims:
        result = cluster.beside(report, victim, stream, [None],
                                lambda jobs, _: cluster.response(jobs, LONG_MS, REST_MS, SHUTTER, seconds))
        if result:
            found[victim.name] = result[None]
    names = [v.name for v in victims if v.name in found]
    if not names:
        return
    report.text("Each program runs beside `stream --mib 256`, which is stopped in turn for %d ms and for %s, with %d ms "
                "between, for %d s (`contrib/workloads/response`). poppad's own shutters are held back meanwhile. All "
                "columns of a row are of the same seconds. *True*: by the second half of the long stops. *First ...*: by "
                "so much of the same long stops, all that a shutter of that length could see. *Short stops*: the plain "
                "mean of the second half of each short one. *Estimator*: what poppad's estimator makes of the short "
                "stops, with its 95 %% interval. In brackets: standard errors." % (
                    LONG_MS, SHUTTER, REST_MS, seconds))
    rows, slow, choice = [], [], []
    for name in names:
        f = found[name]
        by = {one["ms"]: one for one in f["by_length"]}
        robust = f["robust"]
        rows.append([name, value(f["truth"])] + [value(by[ms]) for ms in (4, 16, 64)] +
                    [value(f["plain"]), "%.3f (%.3f to %.3f)" % (
                        robust["degradation"], number(robust["lo"]), number(robust["hi"])),
                     f["truth"]["n"]])
        # Half of the first 8 ms is what the second half of a shutter sees.
        slow.append((f["truth"]["degradation"] - f["plain"]["degradation"],
                     math.hypot(f["truth"]["se"], f["plain"]["se"]), name))
        choice.append((robust["degradation"] - f["plain"]["degradation"], f["plain"]["se"], name))
    report.table(["beside stream", "true D", "first 4 ms", "first 16 ms", "first 64 ms", "short stops", "estimator",
                  "long stops"], rows)
    report.text("## Rate after the stop, 1 = alone")
    rates(report, names, found, "after_stop")
    curves(report, names, found, "after_stop", "-stop", "stop")
    report.text("## Rate after the resume, 1 = alone")
    rates(report, names, found, "after_resume")
    curves(report, names, found, "after_resume", "-resume", "resume")
    report.text("## Where the error comes from")
    report.table(["beside stream", "missed by short stops", "by the estimator's choice"],
                 [[s[2], "%+.3f (%.3f)" % s[:2], "%+.3f (%.3f)" % c[:2]] for s, c in zip(slow, choice)])
    # Of a counter that moves less often than a stop lasts, the plain mean of short stops says nothing.
    coarse = {v.name for v in victims if v.coarse}
    far = max((c for c in choice if c[2] not in coarse), key=lambda c: abs(c[0]) - Z95 * c[1])
    report.judge("the estimator is nowhere certainly more than 0.01 from the mean of the same short stops",
                 "%s: %+.3f (%.3f)" % (far[2], far[0], far[1]), abs(far[0]) - Z95 * far[1] <= 0.01)
