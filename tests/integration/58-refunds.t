#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld is killed with a refund in its memory and no line of it in the journal yet, after all that it can save
# was saved: the next slurmctld gives the difference back once.
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
server=$!
on_exit ctl stop slurmctld
on_exit ctl reconfigure --reset
on_exit answers
ctl start slurmctld
ctl reconfigure poppa_settle_timeout=4s
# Or the refund that cannot enter is another job's.
wait_until 60 nothing_runs
ok "earlier jobs have their price" wait_until 120 nothing_waits

# No two saves have the same time.
usage_files() {
	stat -c %y "$state/assoc_usage" "$state/qos_usage"
}
other_files() {
	[ "$(usage_files)" != "$files" ]
}

submit -p fake -N1 -H --wrap true
witness=$job
since=$EPOCHREALTIME
before=$(raw_usage)
lasting || bail_out "job $job does not run"
report_node "$job" "$(job_field "$job" NodeList)" || bail_out "the ledger took no record"
stalls 'write /poppa_refunds'
over
ok "a refund cannot enter the journal" wait_until 90 waited '^write /poppa_refunds$'
is "the job shows no price yet" "$(part "$job")" ""
full=$(($(shown_billing "$job") * $(db_field "$job" ElapsedRaw)))
cmp_num "slurmctld has made the refund" $(($(raw_usage) - before)) '<' $((full / 2))
files=$(usage_files)
# slurmctld answers, and then saves everything.
scontrol reconfigure
ok "a job can be changed" timeout 60 scontrol update JobId="$witness" Nice=1
saves_jobs
nok "slurmctld saves no usage before the line is there" wait_until 5 other_files
# What the file server has not written by now it never writes.
ctl kill -9 slurmctld
kill -9 "$server"
wait_until 30 is_gone slurmctld
umount -l "$state"
ctl start slurmctld
ok "the next slurmctld settles the run" wait_settled "$job"
agree "killed" "$job"
cmp_num "it was refunded once" "$(apart "$job")" '<=' 0.01
done_testing
