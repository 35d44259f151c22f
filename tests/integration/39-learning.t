#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What runs teach the pair history: of each partner that a job had, one after the other, also of one that slurmctld has
# forgotten. The fake nodes have no poppad, so this test reports for them.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"

own=$(id -u poppa-demo)
keep_conf
on_exit forget_lesson

# of CLASS: a job of that class on the first fake node, which runs until it is ended.
of() { running "$1" -n1 --colocate=class:"$1" -w "${NODE}1"; }
# The fake nodes are of another type than the real one, as a rule, and that is in the names of classes.
# row CLASS PARTNER: what the history has of the two, on nodes of whatever type: the degradation and the seconds.
row() {
	awk -F'\t' -v j="$1" -v p="$2" \
		'{ sub(/\+[0-9]+x[0-9]+x[0-9]+$/, "", $1); sub(/\+[0-9]+x[0-9]+x[0-9]+$/, "", $2) }
		$1 == j && $2 == p { printf "%.3f %.0f\n", $3, $4 }' "$HISTORY"
}
# learned CLASS PARTNER: the same of classes that the user has named.
learned() { row "$own:$1" "$own:$2"; }
# pairs_of END: what poppa pairs has of classes with that end, but for the type of nodes.
pairs_of() {
	poppa pairs --json | jq -c --arg tail "$1" \
		'[.pairs[] | (.class, .beside) |= sub("\\+[0-9]+x[0-9]+x[0-9]+$"; "") | select(.class | endswith($tail)) | .beside]'
}
has_learned() { [ -n "$(learned "$@")" ]; }
ended() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }
forgotten() { ! scontrol show job "$1" >/dev/null 2>&1; }

earlier_prices
ctl reconfigure poppa_settle_timeout=30m
sed -i 's/^\(\t*\)MinJobAge=.*/\1MinJobAge=2/' "$SLURM_CONF"
teach_pairs </dev/null

of learn-long
long=$job
of learn-first
first=$job
is "two share a node" "$(nodes_of "$first")" "$(nodes_of "$long")"
scancel "$first"
wait_until 60 ended "$first"
ok "the first partner's node tells what it has lost" \
	report_node "$first" "${NODE}1" '.degradation = 0.3' ".partners = [$long]" '.co_ns = 20000000000'
of learn-second
second=$job
ok "that is learned" wait_until 60 has_learned learn-first learn-long
is "as it was told" "$(learned learn-first learn-long)" "0.300 20"
ok "slurmctld forgets the first partner" wait_until 180 forgotten "$first"
# Or it forgets the jobs that end from now on before their nodes have reported.
put_conf_back
scontrol reconfigure
scancel "$long"
wait_until 60 ended "$long"
# A quarter of its time was beside the first one.
report_node "$long" "${NODE}1" ".partners = [$first, $second]" '.co_ns = 80000000000' '.degradation = 0.3' \
	'.partner_degradation = [0.15, 0.15]' '.partner_ns = [20000000000, 60000000000]'
ok "the job has a price" wait_until 60 run_settled "$long" 0
ok "its second partner is learned" wait_until 60 has_learned learn-long learn-second
is "by the time with it" "$(learned learn-long learn-second)" "0.200 60"
ok "and so is the first one" wait_until 60 has_learned learn-long learn-first
is "whose class its price has" "$(learned learn-long learn-first)" "0.600 20"
is "poppa pairs shows what was measured" "$(pairs_of learn-long | jq length)" 2

# A node of an earlier release knows what each cost, and not for how long it was there.
of learn-old
old=$job
scancel "$old"
wait_until 60 ended "$old"
report_node "$old" "${NODE}1" ".partners = [$first, $second]" '.partner_degradation = [0.2, 0.3]'
ok "a record of an earlier release gives a price" wait_until 60 run_settled "$old" 0
of learn-last
last=$job
scancel "$last"
wait_until 60 ended "$last"
report_node "$last" "${NODE}1" ".partners = [$second]" '.degradation = 0.1'
ok "what comes after it is learned" wait_until 60 has_learned learn-last learn-second
is "and from that nothing" "$(learned learn-old learn-second)$(learned learn-old learn-first)" ""

# Without class: a job's kind is the program that used most of its time, as its node tells, whatever the job's name.
has_row() { [ "$(row "$1" "$2")" = "$3" ]; }
# program_run NAME D: a job of that name beside the second partner loses D in 20 s, and its node names its program.
program_run() {
	running "$1" -n1 --colocate -w "${NODE}1"
	scancel "$job"
	wait_until 60 ended "$job"
	report_node "$job" "${NODE}1" ".partners = [$second]" ".degradation = $2" '.co_ns = 20000000000' '.program = "learn-prog"'
}
program_run learn-step-1 0.2
ok "a job without a class is learned by its program" wait_until 60 has_row "$own@learn-prog" "$own:learn-second" "0.200 20"
program_run learn-other 0.4
ok "one of another name that runs the same adds to it" wait_until 60 has_row "$own@learn-prog" "$own:learn-second" "0.300 40"
# took NAME: how long jobs of that name usually run, as the history says.
took() { awk -F'\t' -v u="$own" -v n="$1" '$1 == "#ran" && $2 == u && $5 == n { print $6 }' "$HISTORY"; }
has_time() { [ -n "$(took "$1")" ]; }
submit -p fake -J learn-quick -o /dev/null --colocate -n1 -w "${NODE}1" --wrap "sleep 5"
wait_end "$job"
report_node "$job" "${NODE}1" ".partners = [$second]" '.program = "learn-prog"'
ok "how long jobs of a name run is learned" wait_until 60 has_time learn-quick
cmp_num "seconds" "$(took learn-quick)" '>=' 4
is "of one that was cancelled it is not" "$(took learn-step-#)" ""
running learn-step-2 -n1 --colocate -w "${NODE}1"
scancel "$second"
wait_until 60 ended "$second"
report_node "$second" "${NODE}1" ".partners = [$job]" '.degradation = 0.1' '.co_ns = 20000000000'
ok "one that still runs is known by its name, but for the number in it" \
	wait_until 60 has_row "$own:learn-second" "$own@learn-prog" "0.100 20"
is "poppa pairs shows the class to its user and to root" \
	"$(pairs_of @learn-prog)" "[\"$own:learn-second\"]"

# slurmctld has forgotten most of them by now, so nobody waits for their ends; forget_lesson cancels the others.
jobs_submitted=()
done_testing
