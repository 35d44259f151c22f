#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The simulator tests/sim/run, on a small trace that this test makes: what must hold whatever the policy, controls, and errors.
set -uo pipefail
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
needs jq gzip awk

SIMULATE=${SIMULATE:-build/tests/sim/simulate}
trace=$TAP_DIR/small.swf
matrix=$TAP_DIR/small.csv
dump=$TAP_DIR/dump.csv
jobs=400
nodes=16

# Sizes of 1 to 16 nodes, 12 users with two programs each; one job in ten asks for no more time than it needs. Drawn by a
# generator of its own, so that each awk gives the same trace.
awk -v jobs=$jobs 'function draw(n) { x = (x * 16807) % 2147483647; return x % n }
	BEGIN {
		x = 12345
		print "; MaxProcs: 16"
		for (i = 1; i <= jobs; i++) {
			at += draw(120)
			run = 20 + draw(600)
			size = draw(3) ? 1 + draw(4) : 1 + draw(16)
			limit = draw(10) ? run * 2 : run + 1
			print i, at, -1, run, size, -1, -1, size, limit, -1, 1, 1 + draw(12), 1, 1 + draw(2), 1, -1, -1, -1
		}
	}' </dev/null >"$trace"
cat >"$matrix" <<'END'
program,partner,speedup
a,a,0.7
a,b,1.3
a,c,1.2
b,a,1.1
b,b,0.9
b,c,1.0
c,a,1.2
c,b,1.4
c,c,0.8
END

# simulate NAME OPTION...: runs it; its JSON is in $OUT.
simulate() {
	runs "$1" 0 "$SIMULATE" --trace "$trace" --matrix "$matrix" --nodes $nodes --json "${@:2}"
}

# of POLICY KEY: a figure of the last run.
of() {
	jq -r --arg p "$1" --arg k "$2" '.policies[$p][$k]' <<<"$OUT"
}

simulate "all policies" --requeue 5 --dump "$dump"
is "each policy has exactly the members of its contract" "$(jq -c '[.policies[] | keys] | unique' <<<"$OUT")" \
	'[["below_break_even","bounded_slowdown","capped_over","explored","makespan_s","mean_wait_s","pairs_cover90","pairs_mae","share_of_gain","stp","throughput","timeouts_added"]]'
is "all policies are there" "$(jq -r '.policies | keys_unsorted | join(",")' <<<"$OUT")" \
	exclusive,spread,random,twins,bandwidth,stable,before,ours,oracle,optimal
is "what exclusive has not is null" "$(jq -c '.policies.exclusive | [.share_of_gain, .below_break_even, .capped_over, .pairs_mae, .pairs_cover90]' <<<"$OUT")" \
	'[null,null,null,null,null]'
is "exclusive is compact" "$(of exclusive stp | sed 's/\.0$//')" 1
is "random has no share, optimal all" "$(jq -c '.policies | [.random.share_of_gain == 0, .optimal.share_of_gain == 1]' <<<"$OUT")" "[true,true]"
is "no job is lost: each ends once under each policy" "$(awk -F, 'NR > 1 && $7 != "requeue" { n[$1]++ } END { for (p in n) print n[p] }' "$dump" | sort -u)" $jobs
ok "some jobs were requeued" grep -q ,requeue, "$dump"
# For each policy and node, the lanes that jobs have at the same time.
is "no lane is used twice" "$(awk -F, 'NR > 1 {
		n = split($9, node, " ")
		for (i = 1; i <= n; i++) {
			printf "%s %d %.3f 1 %d\n", $1, node[i], $5, $8
			printf "%s %d %.3f 0 -%d\n", $1, node[i], $6, $8
		}
	}' "$dump" | sort -k 1,1 -k 2,2n -k 3,3n -k 4,4n |
	awk '$1 " " $2 != key { key = $1 " " $2; used = 0 } { used += $5 } used > 2 || used < 0 { print }' | head -n 3)" ""
is "a job has no node twice" "$(awk -F, 'NR > 1 { n = split($9, node, " "); delete seen; for (i = 1; i <= n; i++) if (seen[node[i]]++) print }' "$dump" | head -n 3)" ""
is "no job starts before its submission" "$(awk -F, 'NR > 1 && $5 < $4 - 0.5' "$dump" | head -n 3)" ""
is "compact jobs that were done ran for the time of the trace" "$(awk -F, 'FNR == NR { split($0, f, " "); if (f[1] != ";") run[f[1]] = f[4]; next }
	$1 == "exclusive" && $7 == "done" && ($6 - $5 - run[$2] > 0.01 || $6 - $5 - run[$2] < -0.01)' "$trace" "$dump" | head -n 3)" ""

is "no makespan is below the least" "$(jq -c '.least_makespan_s as $least | $least > 0 and (.policies | map(.makespan_s >= 0.98 * $least) | all)' <<<"$OUT")" true

first=$OUT
simulate "the same again" --requeue 5
is "the same seed gives the same figures" "$(jq -S . <<<"$OUT")" "$(jq -S . <<<"$first")"
simulate "another seed" --requeue 5 --seed 2
unlike "another seed gives others" "$(of random stp)" "^$(jq -r .policies.random.stp <<<"$first")\$"
gzip -k "$trace"
runs "a compressed trace" 0 "$SIMULATE" --trace "$trace.gz" --matrix "$matrix" --nodes $nodes --json --requeue 5
if [ "$ERR" = "" ]; then
	is "a compressed trace is the same one" "$(jq -cS .policies <<<"$OUT")" "$(jq -cS .policies <<<"$first")"
fi

simulate "control: D = 0" --control zero
is "with D = 0 nobody loses, whoever the partners are" \
	"$(jq -c '[.policies | (.random, .twins, .bandwidth, .stable, .before, .ours, .oracle, .optimal) | .timeouts_added == 0 and .capped_over == 0] | all' <<<"$OUT")" true
is "and all have the same throughput on their lanes" \
	"$(jq -r '.policies | (.random, .twins, .bandwidth, .stable, .before, .ours, .oracle, .optimal) | .stp * 1000 | round' <<<"$OUT" | sort -u | wc -l)" 1
simulate "control: names" --control names
is "nothing is learned of names that never come again" "$(of before pairs_mae) $(of before pairs_cover90)" "null null"
simulate "other controls" --control permuted,drift --policy before,random --no-share
simulate "additive" --control additive --policy before,random --no-share
# What cannot be gained must not be lost. stp counts: a makespan of so few jobs hangs on when the last ones come to run.
for control in permuted additive zero names drift; do
	ours=0 random=0
	for seed in 1 2 3; do
		simulate "control $control, seed $seed" --control $control --seed $seed --policy random,ours --no-share
		ours="$ours + $(of ours stp)" random="$random + $(of random stp)"
	done
	cmp_num "control $control: ours makes at most half a percent less than random" \
		"$(jq -n "($ours) / ($random)")" ">=" 0.995
done
simulate "no share of the gain" --no-share --policy random,before,optimal
is "--no-share leaves it out" "$(of before share_of_gain) $(of optimal share_of_gain)" "null null"
simulate "the share of one policy" --policy before
like "without it random and optimal are run for the share" "$(of before share_of_gain)" '^-?[0-9.]+(e-?[0-9]+)?$'
simulate "conservative backfill" --backfill conservative --policy exclusive,before --no-share
simulate "turns for all" --settings poppa_turns=yes --policy before --no-share
simulate "starts planned by limits as they are" --plan limits --slips --policy before --no-share
like "--slips adds how late planned starts come" "$(of before slipped) $(of before slip_s)" '^[0-9.e-]+ [0-9.e-]+$'
simulate "no exploratory starts" --settings stripe_explore=0% --policy ours --no-share
is "without a share of lane time there are none" "$(of ours explored | sed 's/\.0$//')" 0
simulate "exploratory starts" --settings stripe_explore=20% --policy ours --no-share
cmp_num "with one there are some" "$(of ours explored)" ">" 0
simulate "nobody's losses count more" --settings stripe_policy=perf --policy ours --no-share
perf=$(jq -c .policies.ours <<<"$OUT")
simulate "the default" --policy ours --no-share
is "perf is the default" "$(jq -c .policies.ours <<<"$OUT")" "$perf"
simulate "losses count by users" --settings stripe_policy=fair --policy ours --no-share
ok "fair places jobs otherwise" test "$(jq -c .policies.ours <<<"$OUT")" != "$perf"
for user in {1..12}; do
	for partner in {1..12}; do
		printf '%s/1\t%s/2\t0.%s\t1000\t5\t1000000000\t5\t0.%s\t0.0001\n' $((user + 1)) $((partner + 1)) $user $user
	done
done >"$TAP_DIR/history"
before=$(cksum "$TAP_DIR/history")
simulate "a history that stays as it is" --policy ours --no-share --history "$TAP_DIR/history"
is "nothing is learned beside it" "$(of ours pairs_mae)" null
is "the file is as it was" "$(cksum "$TAP_DIR/history")" "$before"
simulate "wall-clock limits" --settings stripe_timelimit=wall --policy random --capped 0 --no-share
wall=$(of random timeouts_added)
simulate "limits that count progress" --policy random --capped 0 --no-share
cmp_num "limits that count progress end fewer jobs" "$(of random timeouts_added)" "<" "$wall"
runs "a table without --json" 0 "$SIMULATE" --trace "$trace" --matrix "$matrix" --nodes $nodes --policy exclusive
like "it says that it is a simulation" "$OUT" 'A simulation: 400 jobs'
runs "--help" 0 "$SIMULATE" --help
like "--help lists the policies" "$OUT" optimal

# refuses NAME STATUS REGEX OPTION...: one line on stderr.
refuses() {
	runs "$1" "$2" "$SIMULATE" "${@:4}"
	like "$1: says what to do" "$ERR" "$3"
	is "$1: in one line" "$(wc -l <<<"$ERR")" 1
}
refuses "no trace" 2 '--trace' --matrix "$matrix" --nodes 4
refuses "an unknown policy" 2 'best.*--help' --trace "$trace" --matrix "$matrix" --nodes 4 --policy best
refuses "an unknown way to plan" 2 '--plan.*expected or limits' --trace "$trace" --matrix "$matrix" --nodes 4 --plan best
refuses "no nodes" 2 '--nodes' --trace "$trace" --matrix "$matrix" --nodes 0
printf '1 2 3\n' >"$TAP_DIR/bad.swf"
refuses "a bad line of a trace" 1 "$TAP_DIR/bad.swf:1: .*write -1" --trace "$TAP_DIR/bad.swf" --matrix "$matrix" --nodes 4
printf 'program,partner,speedup\na,a,x\n' >"$TAP_DIR/bad.csv"
refuses "a bad line of a matrix" 1 "$TAP_DIR/bad.csv:2: " --trace "$trace" --matrix "$TAP_DIR/bad.csv" --nodes 4
head -c 1000 "$trace.gz" >"$TAP_DIR/cut.swf.gz"
refuses "a history that is not there" 1 '--history .*No such file' --trace "$trace" --matrix "$matrix" --nodes $nodes --policy ours --history "$TAP_DIR/none"
printf 'x\n' >"$TAP_DIR/history"
refuses "a bad history" 1 '--history .*: 1 lines are none' --trace "$trace" --matrix "$matrix" --nodes $nodes --policy ours --history "$TAP_DIR/history"
refuses "a trace that was cut" 1 'cut.swf.gz.*(fetch it again|gunzip)' --trace "$TAP_DIR/cut.swf.gz" --matrix "$matrix" --nodes 4
is "and names it once" "$(grep -o cut.swf.gz <<<"$ERR" | wc -l)" 1
: >"$TAP_DIR/empty.swf.gz"
refuses "an empty trace" 1 'empty.swf.gz: the file is empty.*fetch it again' --trace "$TAP_DIR/empty.swf.gz" --matrix "$matrix" --nodes 4
refuses "a directory as a trace" 1 'is a directory: name a file' --trace "$TAP_DIR" --matrix "$matrix" --nodes 4
refuses "a directory as a matrix" 1 'is a directory: name a file' --trace "$trace" --matrix "$TAP_DIR" --nodes 4
{ printf '\xef\xbb\xbf' && cat "$trace"; } >"$TAP_DIR/mark.swf"
refuses "a byte order mark" 1 'mark.swf:1: a byte order mark.*sed' --trace "$TAP_DIR/mark.swf" --matrix "$matrix" --nodes 4
printf '1 1 0 10 2 -1 -1 -1 -1 -1 1 1 1 1 1 -1 -1 -1\0 and more\n' >"$TAP_DIR/zero.swf"
refuses "a trace that is no text" 1 'zero.swf:1: a byte here is 0' --trace "$TAP_DIR/zero.swf" --matrix "$matrix" --nodes 4
printf 'program,partner,speedup\na,a,1\n\0' >"$TAP_DIR/zero.csv"
refuses "a matrix that is no text" 1 'zero.csv:3: a byte here is 0' --trace "$trace" --matrix "$TAP_DIR/zero.csv" --nodes 4
sed '4s/,[0-9.]*$/,1e-300/' "$matrix" >"$TAP_DIR/slow.csv"
refuses "a speed-up that cannot be" 1 'slow.csv:4: .*0.01 to 100' --trace "$trace" --matrix "$TAP_DIR/slow.csv" --nodes 4

# usage NAME REGEX OPTION...: the same beside what is needed.
usage() {
	refuses "$1" 2 "$2" --trace "$trace" --matrix "$matrix" --nodes 4 "${@:3}"
}
usage "two lists of policies" '--policy is there twice.*commas' --policy random --policy before
usage "an option that is there twice" '--seed is there twice' --seed 1 --seed 2
usage "an empty list of policies" '--policy: .*empty' --policy ''
usage "a list that ends with a comma" '--policy: .*empty' --policy before,
usage "an empty list of controls" '--control: .*empty' --control ''
usage "an empty setting" '--settings: .*empty' --settings stripe_explore=1%,,stripe_wait=1h
usage "a setting of others" '"foo" is unknown: .*poppad' --settings foo=bar
usage "controls that contradict each other" '--control: .*run the simulator once for each' --control permuted,names,additive
usage "noise without noise" '--noise.*leave one' --control zero --noise 3
usage "a file without a name" '--dump.*empty' --dump ''

if [ -w /dev/full ]; then
	# full NAME OPTION...: nothing can be written, which must not look like success.
	full() {
		runs "$1 on a full disk" 1 bash -c '"$@" >/dev/full' - "$SIMULATE" "${@:2}"
		is "$1 on a full disk: one error" "$ERR" "tests/sim/run: cannot write to standard output: No space left on device"
	}
	full "--help" --help
	full "a table" --trace "$trace" --matrix "$matrix" --nodes $nodes --policy exclusive
	full "JSON" --trace "$trace" --matrix "$matrix" --nodes $nodes --policy exclusive --json
	refuses "a dump on a full disk" 1 '--dump /dev/full: No space left' --trace "$trace" --matrix "$matrix" --nodes $nodes \
		--policy exclusive --dump /dev/full
else
	skip "there is no /dev/full" "a full disk"
fi
done_testing
