#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which runs tell what a class gains from spreading, and what a cache miss costs it, and that poppa pairs shows both. The
# fake nodes have no poppad, so this test reports for them, also the line that only nodes with a PMU find.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"

own=$(id -u poppa-demo)
guest=$(id -u poppa-guest)
class=$own@spread-prog
# Runs of less than 20 s do not count.
seconds=24

# job_of NAME OPTION...: a job that sleeps and completes; its id is in $job. END has it do something else at its end.
job_of() {
	local name=$1
	shift
	submit -p fake -J "$name" -o /dev/null "$@" --wrap "sleep $seconds; ${END:-true}"
}
# shared NAME: a job of a lane on each of the first two nodes completes, and its nodes say that it has lost a little.
shared() {
	local node
	job_of "$1" --colocate -N2 -n16 --ntasks-per-node=8 -w "${NODE}1,${NODE}2"
	wait_end "$job" 90
	for node in 1 2; do
		report_node "$job" "$NODE$node" '.degradation = 0.1' '.program = "spread-prog"' \
			".miss_line = [$node, $((100 * node))]" '.miss_blocks = 40' || return
	done
	wait_until 60 run_settled "$job" 0
}
# cost KEY: what poppa pairs shows of what a miss costs the class.
cost() { poppa pairs --json | jq -r --arg class "$class" '.miss_costs[] | select(.class == $class) | '"$1"; }
# gain KEY: what poppa pairs shows of the class.
gain() { poppa pairs --json | jq -r --arg class "$class" '.classes[] | select(.class == $class) | '"$1"; }
has_gain() { [ "$(gain "$1" 2>/dev/null)" = "$2" ]; }

on_exit forget_lesson
earlier_prices
ctl reconfigure poppa_settle_timeout=30m
teach_pairs </dev/null

ok "a job of a lane on each of two nodes has its price" shared spread-1
lanes=("$job")
ok "it is a co-located run without a plain one" wait_until 30 has_gain .colocated_runs 1
is "its nodes have told what a miss costs it, and one run is not enough" "$(cost '"\(.runs) \(.doubt)"')" "1 one-run"
is "so there is no gain" "$(gain '"\(.gain) \(.spread_class) \(.plain_runs) \(.doubt)"')" "null unknown 0 no-run"

# Of these the first two are plain runs of as many CPUs.
plain=()
job_of spread-2 -N1 -n1 --exclusive -w "${NODE}1"
plain+=("$job")
job_of spread-3 -N1 -n16 -w "${NODE}2"
plain+=("$job")
job_of spread-4 -N1 -n12 -w "${NODE}3"
plain+=("$job")
END=false job_of spread-5 -N1 --exclusive -w "${NODE}4"
plain+=("$job")
for id in "${plain[@]}"; do wait_end "$id" 90; done
is "two of a whole node have completed, one of a part, and one has failed" \
	"$(for id in "${plain[@]}"; do job_field "$id" JobState; done | xargs)" "COMPLETED COMPLETED COMPLETED FAILED"
SUBMIT_USER=poppa-guest job_of spread-6 -N1 --exclusive -w "${NODE}3"
guests=$job
job_of spread-other -N1 --exclusive -w "${NODE}4"
other=$job
ok "another such job, too" shared spread-7
lanes+=("$job")
wait_end "$guests" 60
wait_end "$other" 60
ok "both co-located runs count" wait_until 30 has_gain .colocated_runs 2
ok "and the two plain ones" wait_until 90 has_gain .plain_runs 2
is "there is no doubt" "$(gain .doubt)" ""
is "nor about the cost of a miss: the geometric means of the nodes, whose lines are a factor of 2 apart" \
	"$(cost '"\(.runs) \(.doubt) \(.base_cycles * 1000 | round) \(.miss_cycles * 10 | round)"')" "2  1414 1414"
# log_mean ID ID: the mean of the logarithms of both times. sacct and slurmctld may differ by a second, 2 % of the mean; what
# was lost is 10 %.
log_mean() { sacct -X -n -P -j "$1,$2" -o ElapsedRaw | awk '{ sum += log($1) } END { print sum / NR }'; }
cmp_num "the gain is by the times that the four took, without what the co-located ones have lost" \
	"$(gain .gain | awk -v plain="$(log_mean "${plain[0]}" "${plain[1]}")" -v lanes="$(log_mean "${lanes[@]}")" \
		'{ off = $1 - (exp(plain - lanes) / 0.9 - 1); print off < 0 ? -off : off }')" '<' 0.05
cmp_num "with an error" "$(gain .error)" '>=' 0.02
like "and a class" "$(gain .spread_class)" '^(Low|Medium)$'
like "in text, too" "$(poppa pairs)" "$class +[+-][0-9.]+% +[0-9.]+% (Low|Medium) +2 +2 "
# One more co-located run has the history read again, with all plain runs that have ended.
ok "a last such job has its price" shared spread-8
ok "it counts" wait_until 30 has_gain .colocated_runs 3
is "and none of the other plain jobs does: a part of a node, a failed one, another user's" "$(gain .plain_runs)" 2
is "nor is anything known of other names, or of the other user" \
	"$(awk -F'\t' '$1 == "#spread" { print $2, $3, $4 }' "$HISTORY")" "$own spread-# 16"
is "no class of the other user is there" "$(poppa pairs --json | jq --arg uid "$guest@" '[.classes[] | select(.class | startswith($uid))] | length')" 0

jobs_submitted=()
done_testing
