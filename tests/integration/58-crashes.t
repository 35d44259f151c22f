#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What crashes leave behind: the records of a node that was booted anew arrive once and are priced, what
# sshare shows for an account is what sacct adds up to, whoever was killed before, and a run that slurmctld
# forgets takes nothing from the one that comes instead.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

# A program that is mostly asleep: what it loses shows at once, whoever else is on this machine.
QUARREL=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/tests/integration/quarrel
NODE=$SANDBOX_REAL_NODE
RUN=$POPPA_SANDBOX/run/poppa-$NODE
SPOOL=$POPPA_SANDBOX/spool/poppa-$NODE
JOBS=$POPPA_SANDBOX/state/slurmctld/job_state
MARK=$POPPA_SANDBOX/tmp/crashes-mark
# What another run of this test was charged is not to be counted.
ACCOUNT=poppa-crashes-$$

crash() {
	ctl kill -9 "$1"
	wait_until 10 is_gone "$1"
}
clean_up() {
	local d
	for d in mariadb slurmdbd slurmctld ledgerd slurmd; do is_gone "$d" && ctl start "$d"; done
	ctl restart poppad
	scontrol update NodeName="$NODE" State=RESUME
	scancel "${jobs_submitted[@]}"
	for d in "${jobs_submitted[@]}"; do wait_end "$d" 30; done
	sacctmgr -i delete account "$ACCOUNT"
	ctl reconfigure --reset
	rm -f "$(home_of)/crashes-quarrel" "$POPPA_SANDBOX/tmp/crashes-jobs" "$MARK" "$POPPA_SANDBOX/tmp/crashes-registration"
	wait_until 60 nodes_answer
}
on_exit clean_up
# Nothing is settled without its records.
# Shutters long enough for a program that is mostly asleep.
ctl reconfigure poppa_period=100ms poppa_shutter=20ms poppa_overhead_max=20% poppa_min_blocks=4 poppa_settle_timeout=30m

# --- A node that is booted anew while the ledger is down.
diag "a node is booted anew"
# pair SECONDS: two jobs on the real node; their ids are added to $jobs.
jobs=()
pair() {
	local i
	for i in 0 1; do
		submit -p real -n1 --colocate --no-requeue -o /dev/null --wrap "srun $QUARREL $(home_of)/crashes-quarrel $i $1 0.4"
		jobs+=("$job")
	done
}
# A record's name has its run's start as well, a checkpoint's has not.
files() { find "$1" -maxdepth 1 -regex '.*/[0-9]+\.[0-9]+\(\.[0-9]+\)?' | wc -l; }
has_files() { [ "$(files "$1")" -ge "$2" ]; }
sum_of() { in_ledger "select $1 from record where job = $2 and node = '$NODE'"; }
# measured ID ID: poppad knows what both lose, and better than it has to.
measured() {
	holds "[.jobs[] | select((.job == $1 or .job == $2) and .used >= 16 and .degradation != null and
		(.ci95 != null) and .ci95[1] - .ci95[0] < 0.3)] | length == 2"
}
# well_measured ID ID: a point, for a pair that runs.
well_measured() {
	wait_until 20 all_work 2 "$QUARREL $(home_of)/crashes-quarrel "
	ok "what a pair loses becomes known" wait_until 120 measured "$@"
	diag "$(status '.jobs[] | {job, used, blocks, degradation, ci95} | tojson')"
}
# Each checkpoint is written every five seconds.
has_checkpoints() { [ "$(find "$SPOOL/state" -maxdepth 1 -regex '.*/[0-9]+\.[0-9]+' -newer "$MARK" | wc -l)" -ge 2 ]; }

wait_until 60 nothing_runs
wait_until 30 eval '[ "$(files "$SPOOL/records")" = 0 ]' || diag "the spool has records of earlier jobs"
crash ledgerd
pair 600
wait_running "${jobs[0]}"
wait_running "${jobs[1]}"
well_measured "${jobs[@]:0:2}"
scancel "${jobs[@]:0:2}"
wait_end "${jobs[0]}"
wait_end "${jobs[1]}"
ok "the records of two ended jobs stay in the spool" wait_until 30 has_files "$SPOOL/records" 2
pair 600
wait_running "${jobs[2]}"
wait_running "${jobs[3]}"
well_measured "${jobs[@]:2:2}"
touch "$MARK"
ok "those that run have checkpoints of that" wait_until 30 has_checkpoints
crash poppad
crash slurmd
for i in 1 2 3; do
	find /sys/fs/cgroup -path "*slurm_$NODE/*" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u | xargs -r kill -9 2>/dev/null
	find /sys/fs/cgroup -path "*${NODE}_slurmstepd.scope/*" -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u | xargs -r kill -9 2>/dev/null
	sleep 0.3
done
rm -rf "${RUN:?}"/*
scontrol update NodeName="$NODE" State=DOWN Reason=58-crashes.t
ok "Slurm ends what ran there" eval 'wait_end "${jobs[2]}" && wait_end "${jobs[3]}"'
# The monotonic clock begins anew below what the checkpoints have, and the node was away for a while.
sleep 6
ok "poppad starts after the boot" env POPPA_BOOTED=60 "$tree/contrib/sandbox/ctl" start poppad
nok "with another boot id" cmp -s "$POPPA_SANDBOX/run/boot-id" /proc/sys/kernel/random/boot_id
ctl start slurmd >/dev/null 2>&1 || { scontrol update NodeName="$NODE" State=RESUME && ctl start slurmd >/dev/null 2>&1; }
ok "slurmd has told it of the cluster, and it makes records of the checkpoints" wait_until 30 has_files "$SPOOL/records" 4
is "which it does not keep" "$(files "$SPOOL/state")" 0
ctl start ledgerd
compared=0
for id in "${jobs[@]}"; do
	ok "job $id is settled" wait_settled "$id" 90
	ok "as sacct shows it" wait_until 30 in_database "$id"
	is "with one record, the last" "$(sum_of "group_concat(final)" "$id")" 1
	is "and one price" "$(in_ledger "select count(*) from settlement where job = $id")" 1
	cmp_num "no time of it is negative" "$(sum_of "min(json_extract(body, '\$.co_ns'), json_extract(body, '\$.solo_ns'),
		json_extract(body, '\$.paused_ns'), json_extract(body, '\$.unmeasured_ns'))" "$id")" '>=' 0
	# What was measured counts whole, however long the node was away.
	d=$(in_ledger "select json_extract(body, '$.degradation') from settlement where job = $id")
	all="(max((select finish - start from settlement where job = $id) * 1e9,
		json_extract(body, '\$.co_ns') + json_extract(body, '\$.solo_ns') + json_extract(body, '\$.paused_ns'))
		- json_extract(body, '\$.paused_ns'))"
	if [ -n "$d" ]; then
		want=$(sum_of "json_extract(body, '\$.degradation') * json_extract(body, '\$.co_ns') / $all" "$id")
		cmp_num "its degradation is that of its time beside the other" \
			"$(awk -v a="$d" -v b="$want" 'BEGIN { d = a - b; print d < 0 ? -d : d }')" '<=' 0.01
		compared=$((compared + 1))
	else
		# The last blocks before a crash may say that the ones before were worth less than it seemed.
		is "its degradation is unknown because its record is too vague" "$(value "$(part "$id")" nodata) $(
			sum_of "1.96 * json_extract(body, '\$.co_ns') / $all > 0.25 / sqrt(json_extract(body, '\$.variance'))" "$id")" "uncertain 1"
	fi
done
cmp_num "most of the degradations are known" "$compared" '>=' 3
ok "the spool is empty" wait_until 20 eval '[ "$(files "$SPOOL/records")" = 0 ]'
before=$(in_ledger 'select count(*), (select count(*) from event) from record')
ctl restart poppad
sleep 3
is "another boot sends nothing again" "$(in_ledger 'select count(*), (select count(*) from event) from record')" "$before"
scontrol update NodeName="$NODE" State=RESUME 2>/dev/null
ok "and the node has jobs again" wait_until 60 nodes_answer

# --- Fair-share.
diag "usage, charged and given back"
sacctmgr -i add account "$ACCOUNT" >/dev/null
sacctmgr -i add user poppa-demo account="$ACCOUNT" >/dev/null
usage() { sshare -n -P -U -u poppa-demo -A "$ACCOUNT" -o RawUsage | tail -n 1; }
charged_for() { sacct_sum -A "$ACCOUNT"; }
share() { submit -A "$ACCOUNT" -p fake -N1 --colocate -o /dev/null --wrap 'sleep 5'; }
apart() { awk -v a="$(usage)" -v b="$(charged_for)" 'BEGIN { d = b > 0 ? a / b - 1 : 9; print d < 0 ? -d : d }'; }
is_same() { awk -v d="$(apart)" 'BEGIN { exit !(d <= 0.01) }'; }
# same NAME: within a hundredth, as the seconds are whole ones and a little decays; soon, where slurmctld has just
# started and its settler has not.
same() {
	wait_until 15 is_same
	cmp_num "$1" "$(apart)" '<=' 0.01
}
first=()
for i in 1 2 3; do
	share
	first+=("$job")
done
for i in "${first[@]}"; do wait_end "$i"; done
# shellcheck disable=SC2317
in_sacct() { [ "$(charged_for)" = "$(($(for i in "${first[@]}"; do echo "+ 8000 * $(db_field "$i" ElapsedRaw)"; done | xargs)))" ]; }
ok "slurmdbd has the full price of three jobs" wait_until 30 in_sacct
same "sshare has it, too"
# Their full price is what Slurm has saved.
ctl restart slurmctld
crash ledgerd
crash slurmdbd
crash mariadb
ctl start ledgerd
for i in "${first[@]}"; do
	report_node "$i" "$(job_field "$i" NodeList)" || bail_out "the ledger took no record of $i"
done
for i in "${first[@]}"; do ok "job $i is settled without slurmdbd" wait_settled "$i"; done
ctl start mariadb
# The settler meets the outage at its first check, half a second after it has written the price.
ok "slurmctld's log has a line of the outage" wait_until 20 eval 'grep -q "prep/poppa: slurmdbd does not answer" "$(ctl log slurmctld)"'
ctl start slurmdbd
for i in "${first[@]}"; do ok "slurmdbd is told of $i later" wait_until 60 in_database "$i"; done
same "a quarter is left in sshare, as in sacct"
is "which is what was asked for" "$(db_billing "${first[0]}")" 2000
these="job in ($(IFS=,; echo "${first[*]}"))"
crash slurmctld
ctl start slurmctld
same "nor does a kill of slurmctld bring the full price back"
is "or settle anything again" "$(in_ledger "select count(*) from event where kind = 'settled' and $these")" 3

saved_as() { grep -q -a "$1" "$JOBS"; }
# save_jobs: slurmctld has saved its jobs just now, and does not for the next five seconds.
save_jobs() {
	local this=$job name=crashes-save-$job-$$
	submit -H -J "$name" -p fake -N1 -o /dev/null --wrap true
	wait_until 15 saved_as "$name"
	job=$this
}

# Slurm saves usage every five minutes, and jobs, whose records show what was refunded, within five seconds: a
# refund may be in either and not in the other, or in neither.
for saved in nothing jobs usage; do
	share
	wait_end "$job"
	save_jobs
	report_node "$job" "$(job_field "$job" NodeList)"
	ok "another job is settled" wait_settled "$job"
	case $saved in
	jobs) saves_jobs ;;
	usage) scontrol reconfigure ;;
	esac
	crash slurmctld
	ctl start slurmctld
	ok "slurmctld is killed when it has saved $saved since: slurmdbd has the price" wait_until 60 in_database "$job"
	is "which is the same" "$(db_billing "$job")" 2000
	same "and sshare the refund, once"
	crash slurmctld
	ctl start slurmctld
	ok "it is killed again" wait_until 60 in_database "$job"
	same "and sshare is right"
done

# --- What Slurm forgets when it is killed: what it has charged since it last saved the usage.
before=$(usage)
share
wait_end "$job"
saves_jobs # and not its usage
crash slurmctld
ctl start slurmctld
is "slurmctld, killed at once after the end of a job, knows that" "$(job_field "$job" JobState)" COMPLETED
diag "usage: $before before it, $(usage) now"
report_node "$job" "$(job_field "$job" NodeList)"
ok "the job is settled" wait_settled "$job"
ok "and slurmdbd told" wait_until 60 in_database "$job"
cmp_num "what was not charged for it is not given back" "$(usage)" '>=' "$((before * 99 / 100))"

# --- A run that slurmctld forgets as a whole: it saves its state five seconds after a change, and a job that
# was released, started and ended since then is started anew, in the same row of slurmdbd. The run has its
# price in the ledger, where its record is, and the row that of the other one.
diag "a run that is forgotten"
# forget_since FILE: slurmctld is killed before it has saved anything since FILE was copied from its jobs.
forget_since() {
	crash slurmctld
	cp -p "$1" "$JOBS" && cp -p "$1" "$JOBS.old"
	ctl start slurmctld
}
# is_kept START: the settler has written down that the run waits for its price.
is_kept() {
	grep -q "\"start\":$1" "$POPPA_SANDBOX/state/slurmctld/"poppa_{unsettled,arrived}
}
name=crashes-run-$$
submit -H -J "$name" -A "$ACCOUNT" -p fake -N1 --colocate -o /dev/null --wrap 'sleep 1'
wait_until 30 saved_as "$name" && cp -p "$JOBS" "$POPPA_SANDBOX/tmp/crashes-jobs"
scontrol release "$job"
wait_end "$job" 30
again=$(date -d "$(job_field "$job" StartTime)" +%s)
report_node "$job" "$(job_field "$job" NodeList)"
ok "the settler knows the run" wait_until 10 is_kept "$again"
forget_since "$POPPA_SANDBOX/tmp/crashes-jobs"
is "slurmctld has forgotten it" "$(job_field "$job" JobState)" PENDING
ctl reconfigure poppa_settle_timeout=4s
scontrol release "$job"
wait_end "$job" 60
report_node "$job" "$(job_field "$job" NodeList)" '.degradation = 0.2'
ok "the run that came instead is settled" wait_settled "$job" 60
runs() { in_ledger "select group_concat(charged, ' ') from (select charged from settlement where job = $job and start >= $again order by start)"; }
ok "so is the forgotten one" wait_until 30 eval '[ "$(runs)" = "2000 5120" ]'
# The forgotten one is written until slurmdbd shows it or its row is another's, the later one likewise.
ok "neither is written any more" wait_until 120 nothing_waits
# shellcheck disable=SC2317
row_has_price() {
	wait_until 10 in_database "$job" && return
	part "$job"
	sacct -D -X -n -P -j "$job" -o JobIDRaw,Start,End,AllocTRES,SystemComment
	return 1
}
ok "slurmdbd's row has the price of the later one" row_has_price
is "by its own degradation" "$(db_billing "$job")" 5120
is "and its time" "$(date -d "$(db_field "$job" Start)" +%s)" "$(date -d "$(job_field "$job" StartTime)" +%s)"

# --- A run that slurmctld forgets as a whole, and of whose start slurmdbd never heard: slurmctld tells of new
# jobs every five seconds, and of ends at once. So slurmdbd has made a row of the end alone, without user,
# account and time of eligibility, which no report counts and sacct lists only when it is asked for the job.
diag "a run that is forgotten, and of which slurmdbd has heard the end alone"
in_sacct_at_all() { [ -n "$(sacct -D -X -n -P -j "$1" -o JobIDRaw)" ]; }
row_of_run() { SLURM_TIME_FORMAT=%s sacct -D -X -n -P -j "$job" -o Start,End,AllocTRES,SystemComment | grep "^$again|[1-9]"; }
listed() { sacct -D -X -a -n -P -S today -o JobIDRaw,AllocTRES | grep "^$job|.*billing=[1-9]"; }
forget_end() {
	local marker name=crashes-end-$1-$$
	wait_until 60 nodes_answer
	wait_until 60 nothing_runs
	submit -H -J "$name" -p fake -N1 -o /dev/null --wrap true
	marker=$job
	wait_until 30 saved_as "$name" && cp -p "$JOBS" "$POPPA_SANDBOX/tmp/crashes-jobs"
	# slurmdbd has just been told of all jobs, and is told again in 5 s.
	submit -H -p fake -N1 -o /dev/null --wrap true
	wait_until 15 in_sacct_at_all "$job" || return
	scancel "$job"
	submit -A "$ACCOUNT" -p fake -N1 --colocate -o /dev/null --wrap 'sleep 1'
	wait_until 8 job_ended "$job"
	again=$(date -d "$(job_field "$job" StartTime)" +%s)
	wait_until 5 is_kept "$again"
	forget_since "$POPPA_SANDBOX/tmp/crashes-jobs"
	scancel "$marker"
	[ -z "$(job_field "$job" JobState)" ] && [ -n "$(row_of_run)" ] && [ -z "$(listed)" ]
}
attempts=0
until forget_end $attempts; do
	attempts=$((attempts + 1))
	[ "$attempts" -lt 8 ] || bail_out "slurmctld tells slurmdbd of starts too soon for this test"
done
ok "the run has its price" wait_until 60 eval '[ "$(runs)" = 8000 ]'
ok "its row has it" wait_until 60 eval 'row_of_run | grep -q "poppa: nodata=no-record raw=8000 charged=8000"'
ok "and nothing is tried again" wait_until 60 nothing_waits

# --- What has arrived is in a file of its own while the settler cannot take it, here for want of its journal
# of refunds; and a slurmctld that ends then leaves that to the next one, which adds to it.
diag "runs that arrive one after the other where they cannot be taken"
STATE=$POPPA_SANDBOX/state/slurmctld
wait_until 60 nodes_answer
ctl stop ledgerd
submit -p fake -N1 --colocate -o /dev/null --wrap 'sleep 1'
earlier=$job
wait_end "$job" 60
earlier_start=$(date -d "$(job_field "$job" StartTime)" +%s)
ok "one waits for its price" wait_until 10 is_kept "$earlier_start"
ctl stop slurmctld
mv "$STATE/poppa_unsettled" "$STATE/poppa_arrived"
mv "$STATE/poppa_refunds" "$POPPA_SANDBOX/tmp/poppa_refunds"
mkdir "$STATE/poppa_refunds"
ctl start slurmctld
wait_until 60 nodes_answer
submit -p fake -N1 --colocate -o /dev/null --wrap 'sleep 1'
wait_end "$job" 60
second_start=$(date -d "$(job_field "$job" StartTime)" +%s)
ok "so does the next one" wait_until 10 grep -q "\"start\":$second_start" "$STATE/poppa_arrived"
ok "and the first is not forgotten" grep -q "\"job\":$earlier,.*\"start\":$earlier_start\|\"start\":$earlier_start.*\"job\":$earlier" "$STATE/poppa_arrived"
ctl stop slurmctld
rmdir "$STATE/poppa_refunds"
mv "$POPPA_SANDBOX/tmp/poppa_refunds" "$STATE/poppa_refunds"
ctl start ledgerd
ctl start slurmctld
wait_until 60 nodes_answer
for id in "$earlier" "$job"; do ok "job $id is settled once it can be" wait_settled "$id" 60; done

# --- An id that slurmctld gives out again while the node has the file of the job that had it before: of another user, as
# slurmd wrote it, with the other id in it. A prolog that takes it for its own run's would have the node measure that one.
diag "an id that is given out again"
LEFT=$POPPA_SANDBOX/tmp/crashes-registration
# told KEY: what the node has been told of the job.
told() { sed -n "s/^$1=//p" "$RUN/jobs/$job.0" 2>/dev/null; }
is_registered() { [ "$(told Uid)" = "$1" ]; }
wait_until 60 nothing_runs
SUBMIT_USER=poppa-guest submit -p real -n1 --colocate -o /dev/null --wrap 'sleep 60'
wait_running "$job"
wait_until 20 is_registered "$(id -u poppa-guest)"
cp -p "$RUN/jobs/$job.0" "$LEFT"
old=$(told Registered)
scancel "$job"
wait_end "$job"
submit -H -p real -n1 --colocate -o /dev/null --wrap 'sleep 600'
# slurmd asks slurmctld within seconds whether a job without a step is over. Here the prolog comes first.
ctl kill -STOP slurmd
on_exit ctl kill -CONT slurmd
sed -i "s/^JobId=.*/JobId=$job/" "$LEFT" && mv "$LEFT" "$RUN/jobs/$job.0"
ok "poppad takes the file for a job's" wait_until 20 holds "[.jobs[] | select(.job == $job)] | length == 1"
is "and it lies there still" "$(told Registered)" "$old"
scontrol release "$job"
wait_running "$job"
ctl kill -CONT slurmd
ok "the prolog registers the run that starts now" wait_until 20 is_registered "$(id -u poppa-demo)"
began=$(told Registered)
ok "poppad knows it and no other" wait_until 20 holds "[.jobs[] | select(.job == $job) | .uid] == [$(id -u poppa-demo)]"
scancel "$job"
wait_end "$job"
node_records() { in_ledger "select group_concat(uid || ' ' || start, ', ') from (select uid, start from record
	where job = $job and node = '$NODE' and final order by start)"; }
both="$(id -u poppa-guest) $old, $(id -u poppa-demo) $began"
ok "both have a record, each its own user and start" wait_until 30 eval '[ "$(node_records)" = "$both" ]'
diag "$(node_records)"
ok "the job is settled" wait_settled "$job"
unlike "by its own record" "$(part "$job")" no-record
done_testing
