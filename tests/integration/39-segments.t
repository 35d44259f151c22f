#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that still runs teaches the pair history, once, whatever kills slurmctld meanwhile; and its price teaches no more than
# what it has not told yet. The fake nodes have no poppad, so this test reports for them.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"

own=$(id -u poppa-demo)
on_exit forget_lesson
on_exit ctl reconfigure --reset

of() { running "$1" -n1 -t 30 --colocate=class:"$1" -w "${NODE}1"; }
# tells ID PARTNER SECONDS D [ASSIGNMENT...]: the node's record so far of a job: so much time beside its partner, and what it lost.
seq=0
tells() {
	seq=$((seq + 1))
	report_node "$1" "${NODE}1" ".seq = $seq" '.final = false' ".partners = [$2]" ".co_ns = ${3}000000000" ".degradation = $4" "${@:5}"
}
# learned CLASS PARTNER: what the history has of the two: degradation, seconds, runs of evidence.
learned() {
	awk -F'\t' -v j="$own:$1" -v p="$own:$2" '{ sub(/\+[0-9]+x[0-9]+x[0-9]+$/, "", $1); sub(/\+[0-9]+x[0-9]+x[0-9]+$/, "", $2) }
		$1 == j && $2 == p { printf "%.2f %.0f %d\n", $3, $4, $7 }' "$HISTORY"
}
has_learned() { [ "$(learned "$1" "$2")" = "$3" ]; }
# told_of ID: how many lines there are of what that job has told.
told_of() { awk -F'\t' -v j="$1" '$1 == "#told" && $3 == j' "$HISTORY" | wc -l; }
# ran NAME: the program that jobs of that name run, and how long.
ran() { awk -F'\t' -v u="$own" -v n="$1" '$1 == "#ran" && $2 == u && $5 == n { print $4, $6 }' "$HISTORY"; }
has_run() { [ "$(ran "$1")" = "$2" ]; }
ended() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }
killed() {
	ctl kill -9 slurmctld
	wait_until 30 is_gone slurmctld
	ctl start slurmctld
	wait_until 60 nodes_answer
}

earlier_prices
ctl reconfigure poppa_settle_timeout=30m
teach_pairs </dev/null
of seg-long
long=$job
of seg-beside
beside=$job
is "two share a node" "$(nodes_of "$beside")" "$(nodes_of "$long")"
saves_jobs

tells "$long" "$beside" 100 0.3 '.program = "seg-prog"'
ok "what a job shows while it runs is learned" wait_until 90 has_learned seg-long seg-beside "0.30 100 0"
is "poppa pairs shows it, as no run yet" \
	"$(poppa pairs --json | jq -c '[.pairs[] | select(.class | test("seg-long([+]|$)")) | [.measured, .runs]]')" "[[0.3,0]]"
is "the history has what was told" "$(told_of "$long")" 1

diag "slurmctld is killed"
killed
# Both are in one pass, so the first has been looked at once the second is learned.
tells "$beside" "$long" 150 0.1
ok "another job tells after that" wait_until 90 has_learned seg-beside seg-long "0.10 150 0"
is "and nothing counts twice" "$(learned seg-long seg-beside)" "0.30 100 0"
tells "$long" "$beside" 200 0.2 '.program = "seg-prog"'
ok "what is new is learned" wait_until 90 has_learned seg-long seg-beside "0.20 200 0"
tells "$long" "$beside" 400 0.25 '.program = "seg-prog"'
sleep 12
killed
ok "a kill soon after a job has told loses nothing" wait_until 90 has_learned seg-long seg-beside "0.25 400 0"
ok "jobs of its name are known by the program" wait_until 120 has_run seg-long "seg-prog "

diag "the job ends"
scancel "$long"
wait_until 60 ended "$long"
tells "$long" "$beside" 500 0.22 '.final = true'
ok "it has a price" wait_until 90 run_settled "$long" 0
ok "it has taught what the whole run shows, once, and is one run" wait_until 60 has_learned seg-long seg-beside "0.22 500 1"
is "what it had told is not kept any longer" "$(told_of "$long") $(told_of "$beside")" "0 1"
killed
is "nor learned again" "$(learned seg-long seg-beside)" "0.22 500 1"
scancel "$beside"
wait_until 60 ended "$beside"
tells "$beside" "$long" 150 0.1 '.final = true'
ok "one that has told all before adds its evidence" wait_until 90 has_learned seg-beside seg-long "0.10 150 1"

jobs_submitted=()
done_testing
