# SPDX-License-Identifier: GPL-2.0-or-later
"""What each block cost a job, from a trace of the job's progress around it."""
import bisect
import math
import statistics

MS = 1000000
LEAD, TAIL = 10 * MS, 40 * MS  # of a block's surroundings that count as touched by it
BASE = 120 * MS                # on either side of that: what the rate is otherwise
LEAST_BASE = 40 * MS           # so much of it at least, where the next block is near
GAP = 50 * MS                  # samples further apart than this tell nothing of a block


class Trace:
    """Progress of one job over time, between samples on a straight line."""

    def __init__(self, rows, column):
        self.times = [row[0] for row in rows]
        self.values = [row[column] for row in rows]

    def at(self, ns):
        i = min(max(bisect.bisect_right(self.times, ns), 1), len(self.times) - 1)
        share = (ns - self.times[i - 1]) / (self.times[i] - self.times[i - 1])
        return self.values[i - 1] + share * (self.values[i] - self.values[i - 1])

    def whole(self, start, end):
        """Whether samples lie close together all the way."""
        first, last = bisect.bisect_left(self.times, start), bisect.bisect_right(self.times, end)
        inside = self.times[max(first - 1, 0):last + 1]
        return all(b - a <= GAP for a, b in zip(inside, inside[1:]))

    def rate(self, start, end):
        return (self.at(end) - self.at(start)) / (end - start)


def losses(trace, blocks):
    """Time in ns that each block cost the job, for the blocks that stand apart from others."""
    found = []
    for i, (first, last) in enumerate(blocks):
        start, end = first - LEAD, last + TAIL
        left, right = start - BASE, end + BASE
        if i:
            left = max(left, blocks[i - 1][1] + TAIL)
        if i + 1 < len(blocks):
            right = min(right, blocks[i + 1][0] - LEAD)
        left, right = max(left, trace.times[0]), min(right, trace.times[-1])
        if start - left < LEAST_BASE or right - end < LEAST_BASE or not trace.whole(left, right):
            continue
        rate = (trace.rate(left, start) + trace.rate(end, right)) / 2
        if rate > 0:
            found.append((end - start) * (1 - trace.rate(start, end) / rate))
    return found


class Cost:
    """The share of its time that blocks cost a job: mean, half its 95 % interval, blocks; and each, what it would be if all
    blocks cost what that one did."""

    def __init__(self, lost, blocks_per_ns):
        self.blocks = len(lost)
        self.each = [ns * blocks_per_ns for ns in lost]
        self.mean = self.half = math.nan
        if self.blocks >= 5:
            self.mean = statistics.mean(lost) * blocks_per_ns
            self.half = 1.96 * statistics.stdev(lost) / math.sqrt(self.blocks) * blocks_per_ns

    def interval(self):
        return self.mean - self.half, self.mean + self.half


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def distribution(costs):
    """The QUANTILES of what single blocks cost the jobs, on straight lines between them; nan where there are too few."""
    each = sorted(x for c in costs for x in c.each)
    if len(each) < 5:
        return [math.nan] * len(QUANTILES)
    found = []
    for q in QUANTILES:
        at = q * (len(each) - 1)
        low = min(int(at), len(each) - 2)
        found.append(each[low] + (at - low) * (each[low + 1] - each[low]))
    return found


def both(costs):
    """The mean of two jobs' costs and half its 95 % interval."""
    return (sum(c.mean for c in costs) / len(costs),
            math.sqrt(sum(c.half ** 2 for c in costs)) / len(costs))


def of_jobs(rows, blocks):
    """(each job's Cost, blocks a second) from what Cluster.trace() and Cluster.blocks() say."""
    elapsed = rows[-1][0] - rows[0][0]
    pace = len(blocks) / elapsed
    return [Cost(losses(Trace(rows, column), blocks), pace)
            for column in range(1, len(rows[0]))], pace * 1e9
