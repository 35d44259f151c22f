#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa estimate on synthetic shutter logs: results, malformed rows, refusals.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}" "${SHUTTERLOG_GEN:?makes logs}"

log=$TAP_DIR/log.csv
header="block,job,task,region,k,start_ns,dur_ns,progress,cycles"

# field JSON JOB KEY: a number of one job's entry
field() {
	sed 's/}, {/}\n{/g' <<<"$1" | sed -n "/\"job\": $2,/s/.*\"$3\": \[*\([-0-9.e]*\).*/\1/p"
}

# near NAME A B TOLERANCE
near() {
	local rc=0
	awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { exit !(a != "" && b != "" && a - b <= t && b - a <= t) }' || rc=1
	tap "$1" $rc
	[ $rc = 0 ] || echo "# $2 is not within $4 of $3"
}

truth=$("$SHUTTERLOG_GEN" --seed 11 --tasks 3 --lost 0.01 --length 120s "$log")
runs "estimate" 0 "$POPPA" estimate --json "$log"
json=$OUT
is "estimate: quiet" "$ERR" ""
like "estimate: form" "$json" '^\{"jobs": \[\{"job": 101, "method": "robust", "blocks": [0-9]+, "used": [0-9]+, "degradation": [0-9.]+, "ci95": \[[0-9.]+, [0-9.]+\]\}, \{"job": 102, '
for job in 101 102; do
	near "estimate: job $job is near its truth" "$(field "$json" $job degradation)" "$(field "$truth" $job degradation)" 0.01
done
runs "estimate from stdin" 0 "$POPPA" estimate --json - <"$log"
is "estimate from stdin: the same" "$OUT" "$json"
runs "estimate, thesis" 0 "$POPPA" estimate --method thesis --json "$log"
like "estimate, thesis: says so" "$OUT" '"method": "thesis"'
runs "estimate, text" 0 "$POPPA" estimate "$log"
like "estimate, text: a line a job" "$OUT" "101  robust "

"$SHUTTERLOG_GEN" --seed 12 --no-cycles --length 60s --period 100ms "$log" >"$TAP_DIR/truth"
runs "without cycles" 0 "$POPPA" estimate --json "$log"
near "without cycles: near the truth" "$(field "$OUT" 101 degradation)" "$(field "$(cat "$TAP_DIR/truth")" 101 degradation)" 0.02

# Algorithm 4 on numbers that can be checked by hand.
{
	echo "$header"
	for b in 0 1; do
		for row in "before,0,0,1000,1000" "during,0,1000,1000,1250" "after,0,2000,1000,1010"; do
			IFS=, read -r region k start dur progress <<<"$row"
			echo "$b,7,1,$region,$k,$((b * 1000000 + start)),$dur,$progress,1000"
		done
	done
	# not used: before and after differ by more than 0.05
	printf '2,7,1,%s\n' before,0,2000000,1000,1000,1000 during,0,2001000,1000,1250,1000 after,0,2002000,1000,1100,1000
} >"$log"
runs "thesis by hand" 0 "$POPPA" estimate --method thesis --json "$log"
like "thesis by hand: 1 - 1.005/1.25" "$OUT" '"blocks": 3, "used": 2, "degradation": 0.196,'
runs "unfiltered by hand" 0 "$POPPA" estimate --method unfiltered --json "$log"
like "unfiltered by hand: 1 - 3.06/3.75" "$OUT" '"method": "unfiltered", "blocks": 3, "used": 3, "degradation": 0.184,'

runs "header only" 0 bash -c 'echo "$1" | "$2" estimate --json -' - "$header" "$POPPA"
is "header only: no jobs" "$OUT" '{"jobs": []}'
runs "one block" 0 bash -c 'printf "%s\n5,7,1,before,0,1,10,10,10\n5,7,1,during,0,11,10,10,10\n" "$1" | "$2" estimate --method thesis --json -' - "$header" "$POPPA"
is "one block: null where unknown" "$OUT" '{"jobs": [{"job": 7, "method": "thesis", "blocks": 1, "used": 0, "degradation": null, "ci95": [null, null]}]}'

"$SHUTTERLOG_GEN" --seed 13 --length 30s "$log" >/dev/null
sed -i '5s/.*/5,101,x,before/' "$log"
runs "a malformed row" 0 "$POPPA" estimate --json "$log"
like "a malformed row: line number and why" "$ERR" "line 5 skipped: expected 10 fields"
# What other jobs have taught poppad stands in the log.
{ head -n 1 "$log"; echo "# prior,101,0.25,0.5,0.25"; tail -n +2 "$log"; } >"$log.prior"
runs "a prior" 0 "$POPPA" estimate --json "$log.prior"
like "a prior: is no row of a job" "$OUT" '^\{"jobs": \[\{"job": 101, .*\}, \{"job": 102, [^{]*\}\]\}$'
sed -i 's/^# prior.*/# prior,101,0.25,0.5,0.5/' "$log.prior"
runs "a malformed prior" 1 "$POPPA" estimate --json "$log.prior"
like "a malformed prior: line number and why" "$ERR" "^poppa estimate: .*log.csv.prior: line 2: not \"# prior,JOB,NONE,NARROW,WIDE\" with"
is "a malformed prior: no result" "$OUT" ""
awk 'NR > 1 && NR % 50 == 0 { print "rubbish"; next } { print }' "$log" >"$log.bad"
runs "2 % malformed rows" 1 "$POPPA" estimate --json "$log.bad"
like "2 % malformed rows: says so" "$ERR" "rows are malformed, more than 1%: not trusted"
is "2 % malformed rows: no result" "$OUT" ""

echo "time,ipc" >"$log"
runs "no shutter log" 1 "$POPPA" estimate "$log"
like "no shutter log: names the file" "$ERR" "^poppa estimate: .*log.csv: no shutter log"
runs "missing file" 1 "$POPPA" estimate "$TAP_DIR/none.csv"
like "missing file: names it" "$ERR" "none.csv: No such file"
runs "a directory" 1 "$POPPA" estimate "$TAP_DIR"
like "a directory: says so" "$ERR" "Is a directory"
runs "no file" 2 "$POPPA" estimate
runs "two files" 2 "$POPPA" estimate a b
runs "unknown method" 2 "$POPPA" estimate --method best x
like "unknown method: offers others" "$ERR" '"best" is unknown: choose robust, thesis or unfiltered'
done_testing
