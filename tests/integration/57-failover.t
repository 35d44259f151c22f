#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two slurmctlds: the one in charge is killed while it settles jobs, the other takes over, and the first
# comes back. Each run is settled once, and lanes stay who they belong to.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

W=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/contrib/workloads/contend

clean_up() {
	scancel "${jobs_submitted[@]}"
	ctl pid slurmctld || ctl start slurmctld
	ctl controllers 1
	ctl reconfigure --reset
	wait_until 60 nodes_answer
	rm -f "$(home_of)/failover-line"
}
on_exit clean_up

kill_it() {
	ctl kill -9 "$1"
	wait_until 10 is_gone "$1"
}
# in_charge primary|backup: that one answers, having read its state.
in_charge() {
	local log
	log=$(ctl log "$([ "$1" = primary ] && echo slurmctld || echo slurmctld-backup)")
	scontrol ping | grep -q "($1) at .* is UP" && timeout 5 squeue -h >/dev/null &&
		[ "$(grep -E 'Running as primary controller|running in background mode' "$log" | tail -n 1 | grep -c primary)" = 1 ]
}
# A job of the fake nodes, whose records never come: it waits for the time-out.
lone() { submit -p fake -N1 --colocate -o /dev/null "$@"; }
# A measured one.
real() {
	if [ -x "$W" ]; then
		submit -n1 --colocate -o /dev/null --wrap "srun $W --line $(home_of)/failover-line --seconds 6"
	else
		submit -n1 --colocate -o /dev/null --wrap "sleep 6"
	fi
}

run_count() { in_ledger "select count(*) from settlement where job = $1"; }
prices() { in_ledger "select count(*) from settlement where job in ($(IFS=,; echo "$*"))"; }
any_price() { [ "$(prices "$@")" -gt 0 ]; }
all_end() {
	local i
	for i; do wait_end "$i" 90 || return 1; done
}
# once ID: one price and one entry of the ledger's log, and Slurm shows it everywhere.
once() {
	local found
	wait_until 90 settled "$1"
	wait_until 60 in_database "$1"
	found="$(run_count "$1") $(in_ledger "select count(*) from event where job = $1 and kind = 'settled'")"
	is "job $1 is settled once" "$found" "1 1"
	is "as scontrol shows it" "$(shown_billing "$1")" "$(in_ledger "select charged from settlement where job = $1")"
	ok "and sacct" in_database "$1"
}

ctl reconfigure poppa_period=100ms poppa_overhead_max=0 poppa_min_blocks=4 poppa_settle_timeout=10s >/dev/null
ok "a second slurmctld starts, on a host name and an address of its own" ctl controllers 2
ok "the first is in charge" in_charge primary
nok "the second stands by" in_charge backup
wait_until 60 nodes_answer

lone -w "${NODE}1" --wrap 'sleep 600'
left=$job
lone -w "${NODE}1" --wrap 'sleep 600'
right=$job
ok "two jobs share a node" eval 'wait_running "$left" && wait_running "$right"'

# --- Killed between the ledger and Slurm, and told to take over.
real
first=$job
real
batch="$first $job"
for i in 1 2 3; do
	lone -w "$NODE$((i + 1))" --wrap "sleep $i"
	batch+=" $job"
done
# shellcheck disable=SC2086
ok "jobs end" all_end $batch
# What slurmctld forgets is another matter.
saves_jobs
# shellcheck disable=SC2086
wait_until 30 any_price $batch
# shellcheck disable=SC2086
diag "the first is killed with $(prices $batch) of 5 prices in the ledger"
kill_it slurmctld
scontrol takeover >/dev/null 2>&1
ok "the second takes over" wait_until 60 in_charge backup
ok "and hears from the nodes" wait_until 60 nodes_answer
for i in $batch; do once "$i"; done
is "jobs that run have their lanes" "$(cores_of "$left") $(cores_of "$right")" "$EVEN $ODD"
scancel "$left"
wait_end "$left"
lone -w "${NODE}1" --wrap 'sleep 600'
left=$job
ok "a job that comes now gets the lane that is free" wait_running "$left"
is "and no other" "$(cores_of "$left") $(cores_of "$right")" "$EVEN $ODD"

# --- The first comes back while the second settles.
real
batch=$job
lone -w "${NODE}2" --wrap 'sleep 1'
batch+=" $job"
# shellcheck disable=SC2086
ok "jobs end under the second" all_end $batch
ok "the first comes back" ctl start slurmctld
ok "and is in charge" wait_until 60 in_charge primary
nok "the second stands by again" in_charge backup
wait_until 60 nodes_answer
for i in $batch; do once "$i"; done

# --- Nobody calls the second one: it finds out. What it knew of jobs is long out of date.
real
batch=$job
lone -w "${NODE}3" --wrap 'sleep 1'
batch+=" $job"
# shellcheck disable=SC2086
ok "jobs end under the first" all_end $batch
saves_jobs
count=$(in_ledger "select count(*) from settlement")
kill_it slurmctld
ok "the second takes over by itself when the first does not answer" wait_until 120 in_charge backup
wait_until 60 nodes_answer
for i in $batch; do once "$i"; done
is "the jobs still have their lanes" "$(cores_of "$left") $(cores_of "$right")" "$EVEN $ODD"
ok "nothing waits for its price" wait_until 60 nothing_waits
ok "the second has settled nothing that was settled" \
	[ "$(in_ledger "select count(*) from settlement")" -le $((count + 2)) ]

# --- One controller again.
ctl start slurmctld
ok "the first is in charge at last" wait_until 60 in_charge primary
scancel "$left" "$right"
wait_end "$left"
wait_end "$right"
ok "there is one slurmctld again" ctl controllers 1
ok "which hears from the nodes" wait_until 60 nodes_answer
lone --wrap 'sleep 1'
wait_end "$job"
once "$job"
done_testing
