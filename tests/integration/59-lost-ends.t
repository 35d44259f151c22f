#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A run of whose end slurmdbd never hears: it was down, and slurmctld, which had kept the news for it in memory,
# was killed. Its row would count on until slurmctld is back, at full price, however long that takes.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
ACCOUNT=poppa-ends-$$

crash() {
	ctl kill -9 "$1"
	wait_until 10 is_gone "$1"
}
clean_up() {
	local d
	for d in slurmdbd slurmctld; do is_gone "$d" && ctl start "$d"; done
	scancel "${jobs_submitted[@]}"
	for d in "${jobs_submitted[@]}"; do wait_end "$d" 30; done
	sacctmgr -i delete account "$ACCOUNT"
	ctl reconfigure --reset
}
on_exit clean_up
ctl reconfigure poppa_settle_timeout=4s
sacctmgr -i add account "$ACCOUNT" >/dev/null
sacctmgr -i add user poppa-demo account="$ACCOUNT" >/dev/null

# row JOB FIELDS: of the run that began at $began.
row() { SLURM_TIME_FORMAT=%s sacct -D -X -n -P -j "$1" -o "Start,$2" | sed -n "s/^$began|//p"; }
has_row() { [ -n "$(row "$1" State)" ]; }
row_is() { [[ $(row "$1" State,AllocTRES) == $2*"|"*"billing=$3"* ]]; }
is_waiting() { [ "$(job_field "$1" JobState)" = PENDING ]; }
usage() { sshare -n -P -U -u poppa-demo -A "$ACCOUNT" -o RawUsage | tail -n 1; }
price_of() { in_ledger "select charged from settlement where job = $1 and start = $began"; }
is_priced() { [ "$(price_of "$1")" = 2000 ]; }

submit -A "$ACCOUNT" -p fake -N1 --colocate --requeue -o /dev/null --wrap 'sleep 300'
requeued=$job
wait_running "$requeued"
began=$(date -d "$(job_field "$requeued" StartTime)" +%s)
ok "slurmdbd has heard of the start of a run" wait_until 20 has_row "$requeued"
report_node "$requeued" "$(job_field "$requeued" NodeList)" || bail_out "the ledger took no record"
sleep 4
crash slurmdbd
scontrol requeuehold "$requeued"
ok "which is requeued while slurmdbd is down" wait_until 30 is_waiting "$requeued"
ended=$(date +%s)
sleep 8 # slurmctld saves its jobs within five seconds
scontrol reconfigure # and its usage
crash slurmctld
ctl start slurmdbd
ctl start slurmctld
is "slurmctld, killed, knows of the requeue" "$(job_field "$requeued" Restarts)" 1
like "slurmdbd does not: its row is that of one that runs" "$(row "$requeued" State)" RUNNING
ok "the run has its price" wait_until 60 is_priced "$requeued"
ok "slurmdbd's row gets its end and its price" wait_until 90 row_is "$requeued" REQUEUED 2000
cmp_num "the end is that of the run" "$(($(row "$requeued" End) - ended))" '<=' 0
cmp_num "and not its start, as that of a row which is ended by hand" "$(row "$requeued" ElapsedRaw)" '>' 3
is "sshare has what is charged" "$(usage)" "$((2000 * $(row "$requeued" ElapsedRaw)))"
like "no row is left without an end" "$(timeout 30 sacctmgr -n show runawayjobs </dev/null 2>&1)" 'No runaway jobs'
ok "nothing is tried again" wait_until 60 nothing_waits
done_testing
