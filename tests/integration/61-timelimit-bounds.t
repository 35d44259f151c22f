#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What bounds a time limit that counts progress: Slurm's limits of QOS, association and group, reservations and
# deadlines. And what else moves ends: suspension, preemption, arrays, heterogeneous jobs.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/settle.sh
. "$(dirname "$0")/settle.sh"
# shellcheck source=tests/integration/timelimit.sh
. "$(dirname "$0")/timelimit.sh"

F=$SANDBOX_FAKE_PREFIX
# much ID: its node says that it loses so much that only a bound holds its end.
much() { tells "$1" '.degradation = 0.82'; }
bound() { limit_part "$1" | sed -n 's/.* bound=\([a-z]*\)$/\1/p'; }
is_bound() { [ "$(bound "$1")" = "$2" ]; }
# bounded NAME ID SECONDS BOUND: the points of a job whose end moved up to there.
bounded() {
	ok "$1: the end moves" wait_until 30 is_bound "$2" "$4"
	is "$1: and no further" "$(length "$2") $(bound "$2")" "$3 $4"
}
db() { sacctmgr -i -Q "$@" >/dev/null; }
reserve() {
	scontrol create reservation Users=root Duration=20 ReservationName="$1" "${@:2}" >/dev/null || bail_out "no reservation $*"
}
in_seconds() { date -d "@$(($(date +%s) + $1))" +%Y-%m-%dT%H:%M:%S; }
free() { [ "$(squeue -h -u poppa-demo -p fake,bounds_short,bounds_over)" = "" ]; }
clear_all() {
	scancel -u poppa-demo
	wait_until 60 free
}

# Preemption, for the time of this test.
cp -p "$SLURM_CONF" "$SLURM_CONF.before"
# shellcheck disable=SC2016
on_exit eval 'mv "$SLURM_CONF.before" "$SLURM_CONF"; ctl restart slurmctld'
printf '%s\n' PreemptType=preempt/qos PreemptMode=CANCEL >>"$SLURM_CONF"
ctl restart slurmctld
accounts=(bounds bounds_group bounds_pair bounds_job bounds_total bounds_running)
db add account "${accounts[@]}"
on_exit db delete account "${accounts[@]}"
db add qos bounds_wall bounds_wide bounds_first bounds_part bounds_double bounds_low bounds_high
on_exit db delete qos bounds_wall bounds_wide bounds_first bounds_part bounds_double bounds_low bounds_high
db modify qos bounds_wall set MaxWall=4
db modify qos bounds_wide set MaxWall=6 Flags=PartitionTimeLimit
db modify qos bounds_first set MaxWall=6 Flags=PartitionTimeLimit,OverPartQOS
db modify qos bounds_part set MaxWall=7
db modify qos bounds_double set UsageFactor=2
db modify qos bounds_low set GraceTime=25 PreemptMode=cancel
db modify qos bounds_high set Preempt=bounds_low
db add user poppa-demo account="$(IFS=,; echo "${accounts[*]}")"
db modify user poppa-demo where account=bounds set qos+=bounds_wall,bounds_wide,bounds_first,bounds_low,bounds_high MaxWall=5
db modify user poppa-demo where account=bounds_pair set qos+=bounds_double
db modify account bounds_group set GrpWall=4
db modify account bounds_pair set GrpWall=12
part="Nodes=$SANDBOX_FAKE_NODES MaxTime=3 DefMemPerCPU=1000 TRESBillingWeights=CPU=1000"
# shellcheck disable=SC2086
scontrol create PartitionName=bounds_short QOS=bounds_part $part && scontrol create PartitionName=bounds_over $part OverTimeLimit=3 ||
	bail_out "no partitions"
on_exit scontrol delete PartitionName=bounds_short
on_exit scontrol delete PartitionName=bounds_over
on_exit clear_all
wait_until 60 nodes_answer

diag "limits of QOS, association and group"
# It has no record until it is behind its end.
limited 1 -p bounds_over
over=$job
limited 2 -A bounds_group
group=$job
much "$group"
limited 2 -A bounds_pair --qos=bounds_double
pair=$job
much "$pair"
limited 2 -A bounds_pair --qos=bounds_double
pair2=$job
much "$pair2"
limited 2 -A bounds --qos=bounds_wall
wall=$job
much "$wall"
limited 2 -A bounds
assoc=$job
much "$assoc"
limited 2 -A bounds -p bounds_short --qos=bounds_wide
wide=$job
much "$wide"
limited 2 -A bounds -p bounds_short --qos=bounds_first
first=$job
much "$first"
bounded "MaxWall of a QOS" "$wall" 240 maxwall
bounded "MaxWall of an association" "$assoc" 300 maxwall
bounded "MaxWall of a partition's QOS, in place of these and of MaxTime" "$wide" 420 maxwall
bounded "MaxWall of a QOS that comes before the partition's" "$first" 360 maxwall
scancel "$wall" "$assoc" "$wide" "$first"

diag "limits on resources times minutes"
within() { [ "$(length "$1")" -ge "$2" ] && [ "$(length "$1")" -le "$3" ]; }
limited 2 -A bounds_job
of_job=$job
limited 2 -A bounds_total
total=$job
limited 2 -A bounds_running
running=$job
# Five minutes of one job.
cpus=cpu=$((5 * $(job_field "$of_job" NumCPUs)))
db modify user poppa-demo where account=bounds_job set MaxTRESMinsPerJob="$cpus"
db modify account bounds_total set GrpTRESMins="$cpus"
db modify account bounds_running set GrpTRESRunMins="$cpus"
for job in "$of_job" "$total" "$running"; do much "$job"; done
bounded MaxTRESMinsPerJob "$of_job" 300 tresmins
ok "GrpTRESMins: the end moves" wait_until 30 is_bound "$total" grptresmins
ok "GrpTRESMins: to where running jobs have used it up" within "$total" 297 300
ok "GrpTRESRunMins: the end moves" wait_until 30 is_bound "$running" grptresrunmins
ok "GrpTRESRunMins: until the rest of running jobs is as much" within "$running" 297 380

diag "GrpWall, OverTimeLimit"
# Slurm adds up once in a minute.
ok "GrpWall: the end moves to where the group's time is used up" wait_until 90 within "$group" 240 252
is "GrpWall: and no further" "$(bound "$group")" grpwall
ok "GrpWall, UsageFactor=2 and two jobs: their ends move to where it is used up" \
	wait_until 90 eval 'within "$pair" 172 196 && within "$pair2" 172 196'
is "and no further" "$(bound "$pair") $(bound "$pair2")" "grpwall grpwall"
ok "beyond its end a job runs on for OverTimeLimit" wait_until 60 ran_for "$over" 62
is "which is no extension" "$(job_field "$over" JobState) $(limit_part "$over")" "RUNNING "
tells "$over" '.degradation = 0.6'
ok "and moves its end, too" wait_until 30 longer "$over" 140
ok "the end of a group's time is still where it was" within "$group" 240 252
clear_all

diag "reservations"
limited 2 -w "${F}1"
future=$job
at=$(in_seconds 240)
reserve bounds_future Nodes="${F}1" StartTime="$at" Flags=maint,ignore_jobs
on_exit scontrol delete ReservationName=bounds_future
much "$future"
limited 2 -w "${F}2"
float=$job
reserve bounds_float Nodes="${F}2" StartTime="$(in_seconds 240)" Flags=time_float,ignore_jobs
on_exit scontrol delete ReservationName=bounds_float
much "$float"
scontrol create reservation ReservationName=bounds_own Users=poppa-demo Nodes="${F}3" StartTime=now EndTime="$(in_seconds 240)" >/dev/null
on_exit scontrol delete ReservationName=bounds_own
limited 2 --reservation=bounds_own
own=$job
much "$own"
limited 3 -w "${F}4"
begun=$job
tells "$begun"
ok "a job beside none: the end moves" wait_until 30 longer "$begun" 350
before=$(length "$begun")
reserve bounds_begun Nodes="${F}4" StartTime=now Flags=maint,ignore_jobs
on_exit scontrol delete ReservationName=bounds_begun
much "$begun"
ok "maintenance that will begin: the end moves" wait_until 30 is_bound "$future" reservation
is "maintenance that will begin: up to there" "$(job_field "$future" EndTime)" "$at"
ok "the job's own reservation: the end moves" wait_until 30 is_bound "$own" reservation
is "the job's own reservation: up to where that ends" "$(job_field "$own" EndTime)" \
	"$(scontrol show reservation bounds_own | sed -n 's/.*EndTime=\([^ ]*\).*/\1/p')"
ok "a reservation that floats: the end moves" wait_until 30 is_bound "$float" reservation
cmp_num "a reservation that floats: as far as one can begin" "$(($(ends "$float") - $(date +%s)))" '>' 215
cmp_num "a reservation that floats: and no further" "$(($(ends "$float") - $(date +%s)))" '<=' 240
ok "maintenance that has begun meanwhile" wait_until 30 is_bound "$begun" reservation
is "lets no end move further" "$(length "$begun")" "$before"
scontrol delete ReservationName=bounds_future
ok "without the reservation the end moves on" wait_until 30 longer "$future" 400
for r in float own begun; do scontrol delete ReservationName=bounds_$r 2>/dev/null; done
clear_all

diag "deadline, --time-min"
reserve bounds_min Nodes="${F}4" StartTime="$(in_seconds 200)"
on_exit scontrol delete ReservationName=bounds_min
limited 30 -w "${F}4" --time-min=1
min=$job
started_with=$(limit "$min")
much "$min"
limited 2 -x "${F}4" --deadline="$(in_seconds 240)"
deadline=$job
much "$deadline"
like "--time-min: the job starts with less" "$started_with" '^00:0[123]:00$'
ok "--time-min: the end moves" wait_until 30 is_bound "$min" reservation
like "--time-min: what it has got counts as asked for" "$(limit_part "$min")" "^asked=${started_with:4:1} "
is "--time-min: up to what comes then" "$(job_field "$min" EndTime)" \
	"$(scontrol show reservation bounds_min | sed -n 's/.*StartTime=\([^ ]*\).*/\1/p')"
ok "--deadline: the end moves" wait_until 30 is_bound "$deadline" deadline
is "--deadline: up to there" "$(job_field "$deadline" EndTime)" "$(job_field "$deadline" Deadline)"
scancel "$min" "$deadline"
scontrol delete ReservationName=bounds_min
wait_until 60 free

diag "suspension, arrays, heterogeneous jobs, EndTime"
limited 3
stopped=$job
tells "$stopped"
lone -t 3 --array=0-1 --wrap 'sleep 900'
array=$job
wait_until 30 eval 'job_runs "${array}_0" && job_runs "${array}_1"' || bail_out "the array does not run"
# The last task has the array's id.
task=$(job_field "${array}_0" JobId)
tells "$task"
submit -p fake -N1 --colocate -t 3 --wrap 'sleep 900' : -p fake -N1 --colocate -t 4
het=$job
wait_running "$het"
tells "$((het + 1))"
ok "a task of an array" wait_until 30 longer "$task" 350
is "moves its end, and not that of others" "$(length "${array}_1") $(limit_part "${array}_1")" "180 "
ok "a component of a heterogeneous job" wait_until 30 longer "$((het + 1))" 470
is "moves its end, and not that of others" "$(length "$het") $(limit_part "$het")" "180 "
ok "the end of a job moves" wait_until 30 longer "$stopped" 355
before=$(length "$stopped")
scontrol suspend "$stopped"
suspended=$(date +%s)
at=$(date -d "@$(($(ends "$task") - 20))" +%Y-%m-%dT%H:%M:%S)
as_user scontrol update JobId="$task" EndTime="$at"
later=$(($(ends "$het") + 25))
scontrol update JobId="$het" EndTime="$(date -d "@$later" +%Y-%m-%dT%H:%M:%S)"
a_pass
is "an EndTime that the user sets is a bound, to the second" "$(job_field "$task" EndTime) $(bound "$task")" "$at scontrol"
wait_until 60 eval '[ $(($(date +%s) - suspended)) -ge 20 ]'
scontrol resume "$stopped"
susp=$(($(date +%s) - suspended))
a_pass
near() { [ $((${1#-} - $2)) -ge -4 ] && [ $(($1 - $2)) -le 4 ]; }
ok "time for which a job was suspended is added" near "$(length "$stopped")" $((before + susp))
tells "$stopped" ".co_ns -= ${susp}000000000"
tells "$het"
a_pass
ok "and is no loss" near "$(length "$stopped")" $((before + susp))
ok "from an EndTime that an operator sets the end moves" longer "$het" $((later - $(started "$het") + 180))
clear_all

diag "preemption with a grace time"
limited 5 -w "${F}1" -A bounds --qos=bounds_low
low=$job
tells "$low"
wait_until 30 longer "$low" 500
submit -p fake -w "${F}1" -N1 --exclusive -A bounds --qos=bounds_high -t 1 --wrap 'sleep 1'
high=$job
ok "a preempted job has its grace time" wait_until 30 eval '! longer "$low" 200'
before=$(length "$low")
much "$low"
a_pass -x "${F}1"
is "which is not extended" "$(length "$low")" "$before"
ok "and then makes room" wait_end "$high" 90
is "at that end" "$(job_field "$low" JobState)" PREEMPTED
done_testing
