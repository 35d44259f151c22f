#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmdbd is down. Prices take no room among the news that slurmctld keeps for it. And a run of whose end it
# never hears, since slurmctld was killed meanwhile, gets that: its row would count on until slurmctld is back,
# at full price, however long that takes.
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

# --- Prices that are made while slurmdbd is down.
queue() { sdiag | sed -n 's/^DBD Agent queue size: *//p'; }
ctl reconfigure poppa_settle_timeout=30m
outage=()
for i in 1 2 3 4 5 6; do
	submit -A "$ACCOUNT" -p fake -N1 --colocate -o /dev/null --wrap 'sleep 1'
	outage+=("$job")
done
for i in "${outage[@]}"; do wait_end "$i"; done
logged=$(wc -l <"$(ctl log slurmctld)")
crash slurmdbd
report_node "${outage[0]}" "$(job_field "${outage[0]}" NodeList)" || bail_out "the ledger took no record"
ok "a job is settled without slurmdbd" wait_settled "${outage[0]}"
knows_of_outage() { grep -q 'prep/poppa: slurmdbd does not answer' <(tail -n "+$((logged + 1))" "$(ctl log slurmctld)"); }
ok "which is noticed" wait_until 30 knows_of_outage
# The price itself is kept only where it was made before the outage was noticed. The end of a job always is.
submit -A "$ACCOUNT" -p fake -N1 -o /dev/null --wrap true
wait_end "$job"
before=$(queue)
cmp_num "slurmctld keeps what slurmdbd is to hear of a job" "$before" '>' 0
for i in "${outage[@]:1}"; do report_node "$i" "$(job_field "$i" NodeList)"; done
for i in "${outage[@]:1}"; do ok "job $i is settled, too" wait_settled "$i"; done
cmp_num "and of the others nothing is kept for slurmdbd" "$(queue)" '<=' "$before"
ctl start slurmdbd
for i in "${outage[@]}"; do
	ok "slurmdbd has the price of $i when it is back" wait_until 60 in_database "$i"
	is "once it is told" "$(db_billing "$i")" 2000
done

# --- A run of whose end slurmdbd never hears.
ctl reconfigure poppa_settle_timeout=4s
# The next slurmctld tells slurmdbd within seconds that the job waits again, in the same row. Where that comes
# before the run's end has been written, Slurm itself has no row for the run any more.
lose_end() {
	wait_until 60 nothing_waits # and so nothing is given back from now on
	usage_before=$(usage)
	submit -A "$ACCOUNT" -p fake -N1 --colocate --requeue -o /dev/null --wrap 'sleep 300'
	requeued=$job
	wait_running "$requeued"
	began=$(date -d "$(job_field "$requeued" StartTime)" +%s)
	wait_until 20 has_row "$requeued" || bail_out "slurmdbd has not heard of the start of job $requeued"
	report_node "$requeued" "$(job_field "$requeued" NodeList)" || bail_out "the ledger took no record"
	sleep 4
	crash slurmdbd
	scontrol requeuehold "$requeued"
	wait_until 30 is_waiting "$requeued"
	ended=$(date +%s)
	saves_jobs
	scontrol reconfigure # saves its usage
	crash slurmctld
	ctl start slurmdbd
	ctl start slurmctld
	was=$(row "$requeued" State)
}
is_taken() { [[ $(row "$requeued" State) == PENDING* ]]; }
attempts=0
lose_end
until wait_until 90 eval 'is_taken || row_is "$requeued" REQUEUED 2000' && ! is_taken; do
	attempts=$((attempts + 1))
	[ "$attempts" -lt 5 ] || break
	diag "the row of job $requeued was the next run's before it had the end of this one: once more"
	scancel "$requeued"
	lose_end
done
ok "a run is requeued while slurmdbd is down" is_waiting "$requeued"
is "slurmctld, killed, knows of the requeue" "$(job_field "$requeued" Restarts)" 1
like "slurmdbd does not: its row is that of one that runs" "$was" RUNNING
ok "the run has its price" wait_until 60 is_priced "$requeued"
ok "slurmdbd's row gets its end and its price" row_is "$requeued" REQUEUED 2000
cmp_num "the end is that of the run" "$(($(row "$requeued" End) - ended))" '<=' 0
cmp_num "and not its start, as that of a row which is ended by hand" "$(row "$requeued" ElapsedRaw)" '>' 3
# A little decays each minute, and each usage is shown without its fraction.
charged=$((2000 * $(row "$requeued" ElapsedRaw)))
grown=$(($(usage) - usage_before))
cmp_num "sshare has what is charged" "$grown" '<=' "$((charged + 1))"
cmp_num "and no less" "$grown" '>=' "$((charged * 999 / 1000))"
# Rows of other tests, which kill slurmctld, too, do not count. Without an answer sacctmgr would ask for ever.
runaway=$(yes N | timeout 30 sacctmgr -n show runawayjobs 2>&1 | head -n 100)
like "slurmdbd is asked for rows without an end" "$runaway" 'unaway jobs'
is "none of these jobs has one" "$(awk '{ print $1 }' <<<"$runaway" | grep -x -F "$(printf '%s\n' "${jobs_submitted[@]}")" | xargs)" ""
ok "nothing is tried again" wait_until 60 nothing_waits
done_testing
