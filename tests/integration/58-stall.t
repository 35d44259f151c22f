#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld's StateSaveLocation stands still, as on a file server that hangs, while runs are settled: slurmctld
# serves on, as stock Slurm does, and afterwards nothing was refunded twice or not at all.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/settle.sh
. "$(dirname "$0")/settle.sh"
# shellcheck source=tests/integration/slowfs.sh
. "$(dirname "$0")/slowfs.sh"

reason=$(no_fuse) && skip_all "$reason"
state=$POPPA_SANDBOX/state/slurmctld
stall_seconds=10

ctl stop slurmctld
on_exit ctl start slurmctld
serve "$state" "$state" || bail_out "$state cannot be served: $(cat "$slowfs_control.out")"
on_exit ctl stop slurmctld
on_exit ctl reconfigure --reset
on_exit answers
ctl start slurmctld
ctl reconfigure poppa_settle_timeout=4s

# serves NAME: slurmctld answers a question, and takes the write lock on jobs for a change.
serves() {
	ok "$1: squeue answers" timeout 60 squeue -h
	ok "$1: and a job can be changed" timeout 60 scontrol update JobId="$witness" Nice=$((RANDOM % 99))
}

submit -p fake -N1 -H --wrap true
witness=$job
since=$EPOCHREALTIME
before=$(raw_usage)
settled=()
# The file of the refunds; then all files, those of slurmctld's own, too.
for name in refunds all; do
	lone --wrap 'sleep 2'
	wait_running "$job"
	report_node "$job" "$(job_field "$job" NodeList)" || bail_out "the ledger took no record"
	if [ "$name" = refunds ]; then
		stalls '* /poppa_refunds'
		ok "a settlement cannot enter its refund" wait_until 90 waited '^write /poppa_refunds$'
		serves "$name"
	else
		stalls '* /?*'
		ok "a settlement cannot use any file" wait_until 90 waited '^[a-z]+ /poppa_[a-z.]+$'
		serves "$name"
		sleep "$stall_seconds"
		serves "$name, at the end"
		ok "$name: nor can slurmctld save its jobs" waited '^[a-z]+ /job_state'
	fi
	nok "$name: all the while no price is made" settled "$job"
	answers
	wait_end "$job"
	ok "$name: it goes on when they answer" wait_settled "$job"
	agree "$name" "$job"
	settled+=("$job")
done
cmp_num "each was refunded once" "$(apart "${settled[@]}")" '<=' 0.01
done_testing
