#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Time limits count progress, so jobs that share are expected to end later than their limits say: none starts where that
# would put off a job before it, for which backfill has planned a start.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"

LOG=$(ctl log slurmctld)

on_exit forget_lesson

# of CLASS OPTION...: a job of that class, which may have the first two nodes only.
of() { sleeper "$1" --colocate=class:"$1" -x "${NODE}[3-4]" "${@:2}"; }
gone() { is_state "$1"; }
start_of() { squeue -h --start -j "$1" -o %S; }
is_planned() { [ "$(start_of "$1")" != N/A ]; }
lines() { grep -c "select/stripe: JobId=$1 waits until JobId=$2 has started" "$LOG"; }
shows() { mark_of "$1" | grep -q "$2"; }

wait_until 60 fake_idle || diag "the fake nodes are not idle"
earlier_prices
teach_pairs < <(
	met plan-loud plan-slow 0.5
	met plan-loud plan-quiet 0.05
)

diag "a job that wants both nodes is planned for the end of the last one there"
running plan-stock -N1 --exclusive -w "${NODE}2" -t 10
stock=$job
of plan-loud -w "${NODE}1" -t 5
loud=$job
wait_running "$loud"
sleeper plan-wide -N2 --exclusive -x "${NODE}[3-4]" -t 10
wide=$job
comes_first() { scontrol update JobId="$wide" Priority=1000000; }
comes_first
wait_until 60 is_planned "$wide"
planned=$(start_of "$wide")
is "when that one's limit ends" "$planned" "$(job_field "$stock" EndTime)"

diag "a job whose limit ends before that, but whose expected end does not"
of plan-slow -n1 -t 7
slow=$job
ok "it waits, though a lane is free" waits "$slow"
ok "SystemComment says for whose start" wait_until 30 shows "$slow" "^colocate: class:plan-slow waits-for-start-of=$wide$"
like "and so does poppa why" "$(as_user poppa why "$slow" | tr '\n' ' ')" "it waits until job $wide has started"
is "poppa plan --queue takes the one that runs and the one that waits" \
	"$(poppa plan --queue --json | jq -r '[.jobs[].class | sub("^[0-9]+:"; "")] | join(" ")')" "plan-loud plan-slow"
of plan-quiet -n1 -t 7
quiet=$job
ok "one that loses little there does not wait" wait_running "$quiet" 60
is "and is where the first one would have been" "$(nodes_of "$quiet")" "${NODE}1"
scancel "$quiet"
wait_until 60 gone "$quiet"
ok "the first one goes on waiting" waits "$slow"
is "the log has one line about it" "$(lines "$slow" "$wide")" 1
is "the planned start is as it was" "$(start_of "$wide")" "$planned"
of plan-slow -n1 -t 2
short=$job
ok "a shorter one of the same class, which ends in time, does not wait" wait_running "$short" 60
scancel "$short"
wait_until 60 gone "$short"

diag "the job before it has gone"
scontrol hold "$wide"
ok "then it starts" wait_running "$slow" 60
is "beside the one that was there" "$(nodes_of "$slow")" "${NODE}1"
like "and shows what it has" "$(mark_of "$slow")" "^colocate: class:plan-slow lane=[01] beside=$loud$"
scontrol release "$wide"
comes_first
is_later() { is_planned "$wide" && [[ $(start_of "$wide") > $planned ]]; }
ok "what waits now is planned for when both are expected to end" wait_until 60 is_later
scancel "$slow"
wait_until 60 gone "$slow"

diag "stripe_timelimit=wall"
ctl reconfigure stripe_timelimit=wall
on_time() { [ "$(start_of "$wide")" = "$planned" ]; }
ok "the wide one is planned as before" wait_until 60 on_time
of plan-slow -n1 -t 7
ok "limits are the ends, so the job starts" wait_running "$job" 60
is "and the planned start is as it was" "$(start_of "$wide")" "$planned"

diag "of the nodes that are free by then, those are kept that become free last"
scancel -p fake
wait_until 60 fake_idle
kept_for() { squeue -h -j "$1" -o %Y; }
keeps() { [ "$(kept_for "$1")" = "$2" ]; }
running plan-stock -N2 --exclusive -w "${NODE}[3-4]" -t 10
stock=$job
sleep 2
diag "and another one, which ends seconds later, may stay beside it"
running plan-quiet --colocate=class:plan-quiet -N1 -w "${NODE}2" -t 10
quiet=$job
sleeper plan-wide --colocate=class:plan-wide -N3 -t 10
ok "for a job on lanes: both nodes of the job that leaves, and the lane beside the other one" \
	wait_until 60 keeps "$job" "${NODE}[2-4]" ||
	diag "kept are $(kept_for "$job")"
is "for the second at which they are free" "$(start_of "$job")" "$(job_field "$stock" EndTime)"
scancel "$job" "$stock" "$quiet"
wait_until 60 fake_idle
sleeper plan-quiet --colocate=class:plan-quiet -N2 -w "${NODE}[3-4]" -t 10
wait_running "$job"
quiet=$job
sleeper plan-stock -N3 --exclusive -t 10
ok "for a job on whole nodes, too" wait_until 60 keeps "$job" "${NODE}[1,3-4]" || diag "kept are $(kept_for "$job")"
is "for when the co-located job has left them" "$(start_of "$job")" "$(job_field "$quiet" EndTime)"

ok "slurmctld logged no fault of the plugin" \
	eval '! grep "select/stripe: .*\(differed\|cannot follow\|no memory\)" "$LOG"'
done_testing
