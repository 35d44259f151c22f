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

ctl stop slurmctld
on_exit ctl start slurmctld
serve "$state" "$state" || bail_out "$state cannot be served: $(cat "$slowfs_control.out")"
on_exit ctl stop slurmctld
on_exit ctl reconfigure --reset
on_exit answers
ctl start slurmctld
ctl reconfigure poppa_settle_timeout=4s
# Or the settlement that is held up is another job's.
wait_until 60 nothing_runs
ok "earlier jobs have their price" wait_until 120 nothing_waits

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
	lasting || bail_out "job $job does not run"
	report_node "$job" "$(job_field "$job" NodeList)" || bail_out "the ledger took no record"
	if [ "$name" = refunds ]; then
		stalls '* /poppa_refunds'
		over
		ok "a settlement cannot enter its refund" wait_until 90 waited '^write /poppa_refunds$'
		serves "$name"
	else
		stalls '* /?*'
		over
		ok "a settlement cannot use any file" wait_until 90 waited '^[a-z]+ /poppa_(arrived|refunds|unsettled)'
		serves "$name"
		ok "$name: nor can slurmctld save its jobs" wait_until 90 waited '^[a-z]+ /job_state'
		serves "$name, at the end"
	fi
	nok "$name: all the while no price is made" settled "$job"
	answers
	wait_end "$job"
	ok "$name: it goes on when they answer" wait_settled "$job"
	agree "$name" "$job"
	settled+=("$job")
done
cmp_num "each was refunded once" "$(apart "${settled[@]}")" '<=' 0.01

# slurmctld waits for the pair history when it starts, but not for long.
late() { log_lines slurmctld 'poppa_pairs cannot be read in time'; }
before=$(late)
ctl stop slurmctld
[ -e "$state/poppa_pairs" ] || on_exit rm -f "$state/poppa_pairs"
touch "$state/poppa_pairs"
chown --reference="$state" "$state/poppa_pairs"
# Not its lookup: that would hold the folder's lock, for which Slurm's own files wait, too.
stalls 'open /poppa_pairs'
ok "slurmctld starts though the pair history cannot be read" ctl start slurmctld
serves "then"
is "with one line about it" "$(late)" $((before + 1))
answers
done_testing
