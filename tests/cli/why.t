#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa why: the sentences and the arithmetic of prices, from rows that sacct printed.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
rows=$(dirname "$0")/bills.txt
export TZ=UTC

# why JOB [OPTION...]: its text in one line.
why() {
	runs "job $1" 0 "$POPPA" why --input "$rows" "$@"
	OUT=$(tr '\n' ' ' <<<"$OUT" | tr -s ' ')
	is "job $1: silent on stderr" "$ERR" ""
}

# says NAME TEXT
says() {
	local rc=1
	[[ $OUT == *"$2"* ]] && rc=0
	tap "$1" $rc
	[ $rc = 0 ] || printf '# not in: %s\n# wanted: %s\n' "$OUT" "$2"
}

why 12
says "who, where, when" "Job 12 (lammps) of ada, account phys, in partition std ran from 2026-09-21 14:13:20 to 2026-09-21 14:23:20 (600 s) and ended as COMPLETED."
says "beside whom" "shared its nodes: 13 (gromacs|x)."
says "what was measured" "20.0 % less progress beside them than alone: its degradation is D = 0.2000; the true value is between 0.180 and 0.220 with 95 % confidence."
says "time held stopped" "nobody pays for that (Z = 0.0061)."
says "the formula" "Policy thesis charges raw x (1 - Z) x (1 - D)^2:"
says "the arithmetic" "1000 x (1 - 0.0061) x (1 - 0.2)^2 = 636.10"
says "the charge" "a billing of 636 is charged for each of the 600 seconds instead of 1000: 36.4 % less."
why 14
says "a cap" "1000 x (1 - 0) x (1 - 0.3) = 700.00 The policy takes at most 30 % off"
why 15
says "a floor" "= 700.00 The policy lets a degradation bring no charge below 900: 900.00 counts."
why 16
says "the favourable end of the interval" "10000 x (1 - 0) x (1 - 0.32)^2 = 4624.00 D is here the end of the interval that favours the user"
says "partners that are not shown have no name" "shared its nodes: 13, 17 (<script>alert(1)</script>) and 3 more."
says "what each partner cost" "Of this, 0.210 comes from job 13. Of this, 0.060 comes from job 17."
says "a job that may spin" "Its tasks may wait for each other in a loop"
says "nodes without data" "Only 3 of its 4 nodes have data"
says "time not measured" "12 % of its time was not measured"
why 17
says "tiers" "1000 x (1 - 0) x (1 - 0.35) = 650.00"
why 18
says "linear" "1000 x (1 - 0) x (1 - 1.5 x 0.25) = 625.00"
why 19
says "none" "1000 x (1 - 0.01) = 990.00"
why 20
says "no data: why" "It has no discount (too-few-blocks): there were too few measurements"
says "no data: what it means" "the job pays what Slurm counted. So the full billing of 1000 is charged"
why 21
says "no record" "no node of the job sent what it had measured in time"
why 22
says "not co-located" "It was not submitted with --colocate"
why 23
says "running" "Its price is made when it has left its nodes"
why 24
says "not settled" "Its price has not been made yet"
why 25_1
says "the latest run of an array's task" "Job 25_1 (again, run 2)"
says "and its price" "= 810.00"
why 25.0
says "an earlier run" "It has no discount (no-time)"
why 26
says "a charge that does not follow" "These facts give a billing between 810 and 810, but 300 is charged: please show this to the administrators."
why 27
says "a policy of a later release" "policy auction, which this release of poppa cannot work out"
why 28
says "noise below 0" "counts as 0."
says "no steering of the terminal" "(noise?[31mred)"

# A resized job has a row for each size; the run is told of by the last size's, wherever it stands.
{
	sed -n '1p' "$rows"
	sed -n '/^12|/s/ raw=/ earlier=2000:100 raw=/p' "$rows"
	sed -n '/^12|/{s/|COMPLETED|/|RESIZING|/; s/|1790000000|1790000600|600|/|1789999900|1790000000|100|/; p}' "$rows"
} >"$TAP_DIR/resized.txt"
runs "a resized job" 0 "$POPPA" why --input "$TAP_DIR/resized.txt" 12
like "a resized job: the row of its last size" "$(tr '\n' ' ' <<<"$OUT")" "ended as COMPLETED"

# Without data, too, nobody pays for time held stopped.
sed '/^21|/{s/billing=1000/billing=968/; s/nodata=no-record raw=1000 charged=1000/nodata=uncertain stopped=0.0317 raw=1000 charged=968/; }' "$rows" >"$TAP_DIR/stopped.txt"
runs "no data, stopped" 0 "$POPPA" why --input "$TAP_DIR/stopped.txt" 21
like "no data, stopped: for how long" "$(tr '\n' ' ' <<<"$OUT")" 'For 3\.17 % of its time it was held stopped .* nobody pays for that \(Z = 0\.0317\)'
like "no data, stopped: the arithmetic" "$OUT" $'\n    1000 x \(1 - 0\.0317\) = 968\.30\n'
like "no data, stopped: the charge" "$(tr '\n' ' ' <<<"$OUT")" 'billing of 968 is charged'

# Every reason that docs/pricing.md has is explained.
mapfile -t reasons < <(sed -n '/`nodata=` is one of/,/A job without data/p' "$(dirname "$0")/../../docs/pricing.md" |
	sed 's/.*`nodata=` is one of//; s/A job without data.*//' | grep -o '`[a-z-]*`' | tr -d '`')
tap "docs/pricing.md lists the reasons" "$([ "${#reasons[@]}" -ge 7 ] && echo 0 || echo 1)"
for reason in "${reasons[@]}"; do
	sed "s/nodata=no-record/nodata=$reason/" "$rows" >"$TAP_DIR/reason.txt"
	runs "$reason" 0 "$POPPA" why --input "$TAP_DIR/reason.txt" 21
	like "$reason is explained" "$(tr '\n' ' ' <<<"$OUT")" "It has no discount \($reason\): "
	[[ $OUT == *"gives this word"* ]]
	tap "$reason: in words of its own" "$((1 - $?))"
done

# A calculator agrees with every charge that is said to follow.
if python=$(python_with json); then
	for job in 12 13 14 15 16 17 18 19 25 28; do
		runs "job $job --json" 0 "$POPPA" why --json --input "$rows" $job
		is "job $job: the numbers give the charge" "$("$python" -c '
import json, math, sys
price = json.load(sys.stdin)["price"]
c = price["calculation"]
product = eval(c["numbers"].replace("x", "*").replace("^", "**"))
assert abs(product - c["product"]) < 1e-9 * price["raw"], (product, c)
assert c["fits"] and c["least"] <= price["charged"] <= c["most"], c
print(math.floor(c["amount"] + 0.5) - price["charged"])' <<<"$OUT" 2>&1)" 0
	done
	runs "job 26 --json" 0 "$POPPA" why --json --input "$rows" 26
	like "job 26: does not fit" "$OUT" '"fits": false'
else
	skip "there is no python3" "the numbers give the charge"
fi

runs "no such job" 1 "$POPPA" why --input "$rows" 99
is "no such job: says so" "$ERR" "poppa why: sacct shows you no job 99: it does not exist, waits to become eligible, or is not yours to see"
runs "no such run" 1 "$POPPA" why --input "$rows" 12.7
is "no such run: says so" "$ERR" "poppa why: sacct shows you no such run of job 12: it does not exist, waits to become eligible, or is not yours to see"
runs "no job" 2 "$POPPA" why
like "no job: says so" "$ERR" "a job id is needed"
for bad in x 12x "12;id" "" 12.x --user=ada; do
	runs "\"$bad\"" 2 "$POPPA" why --input "$rows" "$bad"
	is "\"$bad\": one line" "$(wc -l <<<"$ERR")" "$([[ $bad == --* ]] && echo 2 || echo 1)"
done
runs "two jobs" 2 "$POPPA" why --input "$rows" 12 13
runs "no file" 1 "$POPPA" why --input "$TAP_DIR/none" 12
like "no file: names it" "$ERR" "cannot open $TAP_DIR/none: No such file"
echo "something else" >"$TAP_DIR/else"
runs "another file" 1 "$POPPA" why --input "$TAP_DIR/else" 12
like "another file: says what is wanted" "$ERR" "$TAP_DIR/else: there is no header line of \"sacct -X -P -o JobIDRaw,"
runs "no sacct" 1 env PATH="$TAP_DIR" "$POPPA" why 12
is "no sacct: says so" "$ERR" "poppa why: sacct is not in PATH"
printf '#!/bin/sh\necho "sacct: error: slurmdbd is away" >&2\necho more >&2\nexit 1\n' >"$TAP_DIR/sacct"
chmod +x "$TAP_DIR/sacct"
runs "sacct fails" 1 env PATH="$TAP_DIR" "$POPPA" why 12
is "sacct fails: its own words" "$ERR" "poppa why: sacct: error: slurmdbd is away"
done_testing
