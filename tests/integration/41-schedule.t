#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two poppads that share nothing but the clock and the seeds of their jobs open their shutters together.
#
# Two nodes with the same pair of jobs each; then with other seeds on one of them. What is compared is the distance of
# each shutter on one node to the nearest for the same job on the other.
. "$(dirname "$0")/../tap.sh"
# shellcheck source=tests/integration/two_nodes.sh
. "$(dirname "$0")/two_nodes.sh"
trap nodes_end EXIT

settings=poppa_period=60ms,poppa_shutter=1ms,poppa_overhead_max=0,poppa_adaptive=no

# blocks LETTER: "JOB NANOSECONDS" of each shutter in which a job ran alone.
blocks() {
	cat "$dir/$1"/log/*.csv | awk -F, '
		$4 == "before" && $5 == 0 && !(($1, $2) in start) { start[$1, $2] = $6 }
		$4 == "during" && $5 == 0 { print $2, start[$1, $2] }' | sort -u -k 2 -n
}

# skew: for each shutter of node a the distance in us to the nearest of node b for the same job. Those before both
# daemons were at work and after the first ended have no partner and are left out.
skew() {
	awk 'NR == FNR { n++; job[n] = $1; at[n] = $2; next }
		$2 < at[1] || $2 > at[n] { next }
		{
			best = -1
			for (i = 1; i <= n; i++) {
				if (job[i] != $1) continue
				d = at[i] - $2
				if (d < 0) d = -d
				if (best < 0 || d < best) best = d
			}
			if (best >= 0) printf "%.1f\n", best / 1000
		}' <(blocks b) <(blocks a) | sort -n
}

# both SEED-A SEED-B SECONDS: runs both nodes and leaves the sorted distances in $dir/skew.
both() {
	rm -rf "$dir"/[ab]/log "$dir"/[ab]/spool
	node a "$1" $settings "$build/tests/integration/beat"
	node b "$2" $settings "$build/tests/integration/beat"
	sleep "$3"
	stop_poppads
	skew >"$dir/skew"
}

# at SHARE: that quantile of the distances.
at() {
	awk -v share="$1" '{ v[NR] = $1 } END { if (NR) print v[int(share * (NR - 1)) + 1]; else print "none" }' "$dir/skew"
}

both aa aa 10
count=$(wc -l <"$dir/skew") median=$(at 0.5) p90=$(at 0.9)
both aa bb 10
spoiled_count=$(wc -l <"$dir/skew") spoiled=$(at 0.5)
diag "aligned: $count shutters, median skew $median us, 90th percentile $p90 us;" \
	"with other seeds on one node: $spoiled_count shutters, median $spoiled us"
cmp_num "both nodes had shutters to compare" "$count" '>' 40
cmp_num "and with other seeds, too" "$spoiled_count" '>' 40
# A machine that others load wakes both late, but not most of the time by as much as strangers are apart.
cmp_num "the same seeds bring the median below a fifth of that of other seeds" "$median" '<' \
	"$(awk -v s="$spoiled" 'BEGIN { print s / 5 }')"
[ "$tap_failed" = 0 ] || tail -n 20 "$dir"/[ab]/poppad.err | sed 's/^/# /'
done_testing
