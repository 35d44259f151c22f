#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What users submit with --colocate: every row of docs/submissions.md works striped or is refused with its reason.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"

sleeper_options=(--colocate)
HOME_DIR=$(home_of)
TABLE=$tree/docs/submissions.md

TMP=$(mktemp -d)
cp -p "$SLURM_CONF" "$TMP/slurm.conf"
put_back() {
	clear_jobs
	scontrol delete reservation=colocated
	scontrol update node="${NODE}1" AvailableFeatures= ActiveFeatures=
	cat "$TMP/slurm.conf" >"$SLURM_CONF"
	ctl restart slurmctld
	wait_until 60 nodes_answer
	rm -rf "$TMP"
}
on_exit put_back
forget_pairs

# row TEXT: the row of the table that begins with it; what follows tests it.
rows=0
row() {
	rows=$((rows + 1))
	diag "$1"
	ok "docs/submissions.md has the row $1" grep -q -F "| $1 |" "$TABLE"
}

starts_again() {
	run_again "$1"
	wait_running "$1"
}
# refused NAME REASON OPTION...
refused() {
	local name=$1 reason=$2 out rc
	shift 2
	out=$(as_user sbatch -p fake --colocate "$@" --wrap true 2>&1)
	rc=$?
	like "$name is refused with its reason" "$rc $out" "^1 .*--colocate: .*$reason"
}

row '`-N`, `--ntasks-per-node`'
running A -N2 --ntasks-per-node=8
a=$job
running B -N2 --ntasks-per-node=3
is "two jobs on the same nodes" "$(nodes_of "$job") $(cores_of "$a") $(cores_of "$job")" "$(nodes_of "$a") $EVEN $ODD"
is "the lane is what is counted" "$(job_field "$job" NumCPUs)" 16
refused "more than a lane" 'ntasks-per-node=8' -N1 --ntasks-per-node=9
clear_jobs

row '`-n`'
running A -n12
is "as many lanes as the tasks need" "$(job_field "$job" NumNodes) $(job_field "$job" NumCPUs)" "2 16"
refused "more than all lanes hold" 'fewer tasks' -n33
scontrol update partition=fake MaxNodes=2
refused "more than the lanes of the nodes that the partition gives a job" 'another partition' -n17
sacctmgr -i add qos wide set Flags=PartitionMaxNodes >/dev/null
ok "with a QOS that lifts such limits Slurm decides" wait_until 30 eval \
	'! as_user sbatch --test-only -p fake --colocate -n17 --wrap true 2>&1 | grep -q -e --colocate:'
sacctmgr -i delete qos wide >/dev/null
scontrol update partition=fake MaxNodes=UNLIMITED
clear_jobs

row '`-c`'
running A -n3 -c4
is "tasks of four CPUs, two in a lane" "$(job_field "$job" NumNodes)" 2
refused "a task wider than a lane" 'cpus-per-task=8' -c9
clear_jobs

row '`--mem`'
running A -N1 --mem=8000 -w "${NODE}1"
running B -N1 --mem=8000 -w "${NODE}1"
is "two halves of a node" "$(cores_of "$job")" $ODD
refused "more than the lane's share" 'at most' --mem=8001
refused "all of it" 'leave --mem out' --mem=0
clear_jobs

row '`--mem-per-cpu`'
running A -N1 --mem-per-cpu=1000 -w "${NODE}1"
is "of the whole lane" "$(job_tres "$job")" "cpu=8,mem=8000M,node=1,billing=8000"
refused "more than the lane's share" 'mem-per-cpu=1000M' --mem-per-cpu=1001
clear_jobs
# Also where Slurm itself counts the CPUs of the tasks alone; the partition's own is 1000M.
for tasks in -n4 "-n4 --ntasks-per-socket=2" "-n1 -c3" "-n2 -c3"; do
	# shellcheck disable=SC2086
	running A $tasks -w "${NODE}1"
	is "of the whole lane, $tasks" "$(job_tres "$job")" "cpu=8,mem=8000M,node=1,billing=8000"
	# shellcheck disable=SC2086
	running B $tasks --mem-per-cpu=500 -w "${NODE}1"
	is "of the whole lane, $tasks --mem-per-cpu" "$(job_tres "$job")" "cpu=8,mem=4000M,node=1,billing=8000"
	is "which stays what was asked for, $tasks" "$(job_field "$job" MinMemoryCPU)" 500M
	clear_jobs
done
refused "more than the share of a lane of which the tasks need a part" '8 CPUs of a lane .*mem-per-cpu=1000M' -n2 -c3 --mem-per-cpu=1100
clear_jobs

row 'arrays'
sleeper A -n1 --array=0-3
a=$job
wait_until 30 eval '[ "$(squeue -h -t R -j $a -r | wc -l)" = 4 ]'
is "two elements a node" "$(squeue -h -r -t R -j "$a" -o %N | sort | uniq -c | awk '{ print $1 }' | xargs)" "2 2"
clear_jobs

row 'heterogeneous jobs'
# Without an MPI plugin: with several components srun may wait for ever for mpi/pmix's thread at its end.
out=$(as_user sbatch --parsable -p fake -o "$HOME_DIR/het.out" --colocate -n2 : -p fake --colocate=class:b -n2 \
	--wrap 'srun --mpi=none --het-group=0,1 bash -c "echo \$SLURM_PROCID"')
a=${out%%;*}
jobs_submitted+=("$a")
wait_end "$a"
is "all components run" "$(job_field "$a+0" JobState) $(job_field "$a+1" JobState)" "COMPLETED COMPLETED"
is "their steps together" "$(sort -n "$HOME_DIR/het.out" | xargs)" "0 1 2 3"

row '`-w`, `-x`'
running A -n1 -x "${NODE}[1-3]"
is "-x" "$(nodes_of "$job")" "${NODE}4"
running B -N2 -n2 -w "${NODE}[3-4]"
is "-w" "$(nodes_of "$job")" "${NODE}[3-4]"
refused "a node that is too small" '--nodelist: ' -p real -w "$SANDBOX_REAL_NODE" -N1 -n64
clear_jobs

row '`--constraint`'
scontrol update node="${NODE}1" AvailableFeatures=striped ActiveFeatures=striped
running A -n1 -C striped
running B -n1 -C striped
is "both on the node that has it" "$(nodes_of "$job") $(cores_of "$job")" "${NODE}1 $ODD"
sleeper C -n1 -C striped
ok "the third waits for it" waits "$job"
refused "more than the lanes with the feature hold" '--constraint: 9 tasks .* fewer tasks' -n9 -C striped
nok "a feature that no node has is for Slurm to refuse" \
	grep -q -e --colocate: <<<"$(as_user sbatch -p fake --colocate -n1 -C nowhere --wrap true 2>&1)"
clear_jobs

row 'reservations'
scontrol create reservation=colocated nodes="${NODE}3" users=poppa-demo starttime=now duration=60 >/dev/null
running A -n1 --reservation=colocated
running B -n1 --reservation=colocated
is "both lanes of the reserved node" "$(nodes_of "$job") $(cores_of "$job")" "${NODE}3 $ODD"
running C -n1
nok "others stay out" test "$(nodes_of "$job")" = "${NODE}3"
clear_jobs
scontrol delete reservation=colocated

row '`--test-only`'
like "says when it could start" "$(as_user sbatch --test-only -p fake --colocate -N2 -n16 --wrap true 2>&1)" "to start at"
refused "what can never run" 'a lane holds 8' --test-only -N1 -n9

row '`--begin`, hold, release'
sleeper A -n1 --begin=now+3
a=$job
sleeper B -n1 --hold
b=$job
# Without any change in between it is up to the main scheduler, which looks once a minute.
ok "begins later" wait_running "$a" 90
is "is held" "$(state "$b")" PENDING
scontrol release "$b"
ok "is released" wait_running "$b"
is "and joins the first" "$(nodes_of "$b")" "$(nodes_of "$a")"
clear_jobs

row 'dependencies'
running A -n1
a=$job
sleeper B -n1 -d "afterany:$a"
b=$job
is "waits for the other's end" "$(state "$b")" PENDING
scancel "$a"
ok "and then runs" wait_running "$b"
clear_jobs

row 'requeue'
running A -n1
a=$job
scontrol requeue "$a"
ok "starts again" starts_again "$a"
is "it was restarted" "$(job_field "$a" Restarts)" 1
is "runs again on a whole lane" "$(cores_of "$a")" $EVEN
clear_jobs

row 'suspend, resume'
running A -n1 -w "${NODE}1"
a=$job
scontrol suspend "$a"
running B -n1 -w "${NODE}1"
is "keeps its lane, the other one is free" "$(cores_of "$job")" $ODD
scontrol resume "$a"
ok "goes on" wait_running "$a"
clear_jobs

row '`scontrol update` of a waiting job'
sleeper A -N1 -n4 --begin=now+600
a=$job
ok "a smaller size" scontrol update jobid="$a" NumTasks=2
ok "a time limit" scontrol update jobid="$a" TimeLimit=5
nok "a size that can never run" scontrol update jobid="$a" NumTasks=64
nok "or nodes of a shape that there is not: sockets" scontrol update jobid="$a" ReqSockets=3
nok "or threads" scontrol update jobid="$a" ReqThreads=2
scontrol update jobid="$a" StartTime=now
wait_running "$a"
is "runs on a whole lane" "$(cores_of "$a") $(job_field "$a" TimeLimit)" "$EVEN 00:05:00"
clear_jobs

# Slurm 26.05 lets no running job shrink that gave a count of tasks.
row 'shrinking a running job'
running A -N2
a=$job
scontrol update jobid="$a" NumNodes=1 >/dev/null
is "it has one node less" "$(job_field "$a" NumNodes) $(cores_of "$a")" "1 $EVEN"
left=$(nodes_of "$a")
running B -N1 -n1
is "its partner joins it on the node that it has" "$(nodes_of "$job") $(cores_of "$job")" "$left $ODD"
submit -p fake -J C -o /dev/null -N3 --exclusive --wrap "exec sleep 600"
ok "the node that it gave back is anybody's" wait_running "$job"
clear_jobs

row 'growing a running job'
running A -n1
a=$job
out=$(as_user sbatch -p fake --colocate -n1 -d "expand:$a" --wrap true 2>&1)
like "is Slurm's to refuse" "$? $out" '^1 .*not supported'
nok "by an update, too" scontrol update jobid="$a" NumNodes=3
is "and it goes on" "$(state "$a") $(cores_of "$a")" "RUNNING $EVEN"
clear_jobs

row 'nodes down, drained, resumed'
running A -n1 -w "${NODE}2"
a=$job
scontrol update node="${NODE}2" state=drain reason=test
running B -n1
nok "no partner comes to a draining node" test "$(nodes_of "$job")" = "${NODE}2"
scontrol update node="${NODE}2" state=resume
wait_until 30 nodes_answer
running C -n1 -w "${NODE}2"
is "and one when it is resumed" "$(cores_of "$job")" $ODD
clear_jobs

row '`salloc`, several steps'
out=$(as_user salloc -Q -p fake --colocate -N1 -n4 bash -c '
	srun -n1 --exact sleep 2 & srun -n1 --exact sleep 2 & srun -n2 --exact echo step; wait; echo done' 2>&1)
is "steps share the lane" "$out" $'step\nstep\ndone'

row '`srun --overlap`'
out=$(as_user salloc -Q -p fake --colocate -N1 -n8 bash -c '
	srun -n8 sleep 5 & sleep 1; srun --overlap -n1 echo overlaps; wait' 2>&1)
is "a step over another" "$out" overlaps

row '`--exclusive`, `--oversubscribe`, `-O`, `-S`, `--reboot`'
refused --exclusive exclusive --exclusive
refused --oversubscribe oversubscribe --oversubscribe
refused -O overcommit -O -n4
refused -S core-spec -S1

row '`spread`, `with:`, `max-degradation:`'
running A --colocate=spread -n1
ctl reconfigure stripe_alone=no
for key in spread with:"$job" max-degradation:20; do
	refused "$key, where nobody may keep others off," "${key%%:*}.*stripe_alone=no" --colocate="$key"
done
refused "spread of one component" 'spread.*stripe_alone=no' -n1 : -p fake --colocate=spread -n1
is "what was submitted before stays" "$(state "$job")" RUNNING
running B -n1
scontrol update partition=fake ExclusiveUser=YES
refused "a partition that keeps other users off" 'ExclusiveUser=YES.*another partition' -n1
sleeper C -n1 -H -p real
nok "and a job cannot be moved there" scontrol update jobid="$job" Partition=fake
scontrol update partition=fake ExclusiveUser=NO
ctl reconfigure stripe_alone=
scontrol update partition=fake ExclusiveUser=YES
ok "where they may be kept off it is open" as_user sbatch --test-only -Q -p fake --colocate -n1 --wrap true
scontrol update partition=fake ExclusiveUser=NO
clear_jobs

row 'nothing, where the site has `stripe_default`'
ctl reconfigure stripe_default=fake
submit -p fake -o /dev/null -H -n1 --wrap true
is "a job without the option asks for a lane" "$(job_field "$job" MinCPUsNode)" 8
scancel "$job"
submit -p fake -o /dev/null -H -n1 --exclusive --wrap true
is "one that has no lane is a plain job" "$(job_field "$job" MinCPUsNode)" 1
scancel "$job"

row '`--colocate=no`'
submit -p fake -o /dev/null -H -n1 --colocate=no --wrap true
is "it is a plain job where the site has a default, too" "$(job_field "$job" MinCPUsNode)" 1
scancel "$job"
like "another key beside it is refused" "$(as_user sbatch -p fake --colocate=no,spread --wrap true 2>&1)" 'no and spread exclude each other'
ctl reconfigure stripe_default=

row 'slurmrestd, `"spank_environment":["COLOCATE=KEY"]`'
ok "21-defaults.t asks slurmrestd" grep -q spank_environment "$(dirname "$0")/21-defaults.t"

row 'licences'
# With a node of a cloud that never comes, whose resources nobody can find missing.
sed -i -e '1a Licenses=solver:1\nGresTypes=slot,gpu' \
	-e "\$a SuspendProgram=/bin/true\nResumeProgram=/bin/true\nResumeTimeout=60000\nSuspendTime=86400" \
	-e "\$a SuspendExcNodes=$SANDBOX_REAL_NODE,${NODE}[1-4]" \
	-e "\$a NodeName=gres1 NodeAddr=127.0.0.1 Port=250 Sockets=2 CoresPerSocket=8 RealMemory=16000 Gres=slot:3,gpu:4 State=CLOUD" \
	-e "\$a NodeName=big1 NodeAddr=127.0.0.1 Port=251 Sockets=2 CoresPerSocket=8 RealMemory=64000 Weight=9 State=CLOUD" \
	-e "\$a PartitionName=mixed Nodes=${NODE}1,big1 DefMemPerCPU=1000 MaxTime=1-0" \
	-e "\$a PartitionName=gpus Nodes=gres1 DefMemPerCPU=100 DefMemPerGPU=3000 MaxTime=1-0" \
	-e "\$a PartitionName=gres Nodes=gres1 DefMemPerCPU=100 MaxTime=1-0" "$SLURM_CONF"
ctl restart slurmctld
wait_until 60 nodes_answer
running A -n1 -L solver
a=$job
sleeper B -n1 -L solver
b=$job
ok "one waits for the licence" waits "$b"
scancel "$a"
ok "and has it then" wait_running "$b"
clear_jobs

# Of memory nobody gets more than the share, whatever node it is and whatever the memory comes with.
for options in --mem=8001 --mem-per-cpu=1001; do
	submit -p mixed -o /dev/null --colocate -n1 $options --wrap true
	wait_until 60 eval '[ -n "$(cores_of $job)" ]'
	is "more than a small node's share is had on a big one, $options" "$(nodes_of "$job")" big1
	scancel "$job"
	submit -p mixed -o /dev/null --colocate -n1 -x big1 --mem=8000 --wrap "exec sleep 600"
	ok "the share itself on the small one" wait_running "$job"
	is "of which it takes a lane" "$(nodes_of "$job") $(job_field "$job" NumCPUs)" "${NODE}1 8"
	scancel "$job"
	wait_end "$job"
done

row '`--gres`'
submit -p gres -o /dev/null --colocate -n1 --gres=slot:2 --wrap true
a=$job
wait_until 30 eval '[ -n "$(cores_of $a)" ]'
submit -p gres -o /dev/null --colocate -n1 --gres=slot:2 --wrap true
b=$job
ok "a lane without enough of them is not taken" waits "$b"
# Short: it must not delay the one that waits, or backfill leaves it alone.
submit -p gres -o /dev/null --colocate -n1 --gres=slot:1 -t 10 --wrap true
wait_until 30 eval '[ -n "$(cores_of $job)" ]'
is "two jobs with their shares" "$(cores_of "$a") $(cores_of "$job")" "$EVEN $ODD"
refused "GPUs with more CPUs than a lane has" 'cpus-per-gpu=2' -p gres -N1 --gres=gpu:4 --cpus-per-gpu=3
refused "or with more tasks" 'fewer tasks' -p gres --gpus=4 --ntasks-per-gpu=3
refused "or with more memory" 'mem-per-gpu=2000M' -p gres -N1 --gpus-per-node=4 --mem-per-gpu=2001
refused "or with more memory for as many as Slurm may take" 'mem-per-gpu=2000M.*gpus-per-node' -p gres --gpus=4 --mem-per-gpu=2001
refused "or for as many tasks" 'mem-per-gpu=2666M' -p gres -n3 --gpus-per-task=1 --mem-per-gpu=2667
submit -p gpus -o /dev/null -H --colocate -n1 --gres=gpu:3 --wrap true
is "a default that is more is replaced by the share" "$(job_field "$job" MinMemoryNode)" 8000M
scancel "$a" "$b" "$job"

row 'preemption'
sed -i -e '1a PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE' \
	-e "\$a PartitionName=urgent Nodes=${NODE}[1-4] PriorityTier=10 PreemptMode=OFF MaxTime=1-0 DefaultTime=60 DefMemPerCPU=1000" "$SLURM_CONF"
ctl restart slurmctld
wait_until 60 nodes_answer
running A -n1 -w "${NODE}1" --requeue
a=$job
running B -n1 -w "${NODE}1" --requeue
b=$job
submit -p urgent -J U -o /dev/null --colocate -n1 -w "${NODE}1" --wrap "exec sleep 600"
u=$job
wait_running "$u" 60
is "a job that comes first takes one lane" "$(squeue -h -t R -w "${NODE}1" -o %i | wc -l)" 2
scancel "$u"
for id in "$a" "$b"; do
	job_runs "$id" || starts_again "$id"
done
is "and gives it back" "$(squeue -h -t R -w "${NODE}1" -o %j | sort | xargs)" "A B"
submit -p urgent -J V -o /dev/null -N1 -n16 -w "${NODE}1" --wrap "exec sleep 600"
ok "one that did not opt in takes the node" wait_running "$job" 60
is "alone" "$(squeue -h -t R -w "${NODE}1" -o %j)" V
scancel "$job"

is "every row of the table is tested" "$rows" "$(grep -c '^| [^-]' "$TABLE" | awk '{ print $1 - 1 }')"
done_testing
