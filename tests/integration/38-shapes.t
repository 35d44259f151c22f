#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Lanes of whole sockets beside stripes: one shape a node at a time, restarts, filling, refusals, the usual shape, the history.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"

FIRST=0-7
SECOND=8-15
own=$(id -u poppa-demo)
keep_conf
on_exit forget_lesson

ended() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }
# refused WHAT MESSAGE OPTION...
refused() {
	local what=$1 message=$2
	shift 2
	like "$what is refused, with the fix" "$(as_user sbatch -o /dev/null "$@" --wrap true 2>&1)" "$message"
}

wait_until 60 fake_idle || diag "the fake nodes are not idle"
teach_pairs </dev/null
# The map is compared with the jobs' records every two seconds.
echo "DebugFlags=SelectType" >>"$SLURM_CONF"
ctl reconfigure stripe_wait=0

diag "a node gives lanes of one shape"
running A --colocate=shape:socket -n1 -w "${NODE}1"
a=$job
is "a job of one task has a whole socket" "$(cores_of "$a")" $FIRST
is "all CPUs of it are counted" "$(job_field "$a" NumCPUs)" 8
is "and SystemComment shows it" "$(mark_of "$a")" "colocate: shape:socket shape=socket lane=0"
is "that is what poppa lanes says" "$(poppa lanes --node "${NODE}1" --shape socket --json | jq -c '.lanes[0].cores')" "[0,1,2,3,4,5,6,7]"
is "which shows stripes unless it is asked" "$(poppa lanes --node "${NODE}1" --json | jq -c '.lanes[0].cores')" "[0,2,4,6,8,10,12,14]"
sleeper S --colocate=shape:stripe -n1 -w "${NODE}1"
s=$job
ok "a job that asks for a stripe does not join it" waits "$s"
# Jobs behind it may not take its node.
scontrol hold "$s"
running B --colocate -n8 -w "${NODE}1"
b=$job
is "one that does not ask for a shape has the other socket" "$(cores_of "$b")" $SECOND
is "and shows it" "$(mark_of "$b")" "colocate: stripe shape=socket lane=1 beside=$a"
sleeper C --colocate=shape:socket -n1 -w "${NODE}1"
c=$job
ok "then the node is full" waits "$c"
ok "slurmctld's log says which lanes they are" \
	grep -q "select/stripe: JobId=$b on ${NODE}1, shape=socket lane 1, beside $a\$" "$(ctl log slurmctld)"
like "poppa job, too" "$(as_user poppa job "$b")" "${NODE}1\), lane 1 of whole sockets"
is "as JSON" "$(as_user poppa job --json "$b" | jq -r .lane_shape)" socket
running D --colocate -n8 -w "${NODE}2"
d=$job
is "an empty node gives stripes" "$(cores_of "$d")" $EVEN
sleeper E --colocate=shape:socket -n1 -w "${NODE}2"
e=$job
ok "and then no sockets" waits "$e"
scontrol hold "$e"
running F --colocate -n8 -w "${NODE}2"
f=$job
is "it is filled with stripes" "$(cores_of "$f")" $ODD

diag "restarts"
everything() { for j in $a $b $d $f; do echo "$j $(nodes_of "$j") $(cores_of "$j")"; done; }
all=$(everything)
saves_jobs
ctl kill -KILL slurmctld
wait_until 10 is_gone slurmctld
ctl start slurmctld
wait_until 60 nodes_answer
is "all jobs keep their cores when slurmctld is killed and started" "$(everything)" "$all"
scancel "$a"
ok "a socket that became free goes to the job that waits for one" wait_until 60 is_state "$c" RUNNING
is "it is the first one" "$(cores_of "$c")" $FIRST
is "the other one's job stays where it is" "$(cores_of "$b")" $SECOND
scontrol release "$s"
ok "the one that asks for a stripe waits on" waits "$s"
scancel "$b" "$c"
ok "until the node is empty" wait_until 60 is_state "$s" RUNNING
is "then it has a stripe" "$(cores_of "$s")" $EVEN
scontrol release "$e"
scancel "$d" "$f"
ok "and the other node gives sockets" wait_until 60 is_state "$e" RUNNING
is "from the first on" "$(cores_of "$e")" $FIRST
clear_jobs

diag "suspended, reconfigured, requeued"
running A --colocate=shape:socket -n1 -w "${NODE}1"
a=$job
scontrol suspend "$a"
running B --colocate -n8 -w "${NODE}1"
b=$job
is "a suspended job keeps its socket" "$(cores_of "$b")" $SECOND
sleeper C --colocate=shape:socket -n1 -w "${NODE}1"
c=$job
sleeper S --colocate=shape:stripe -n1 -w "${NODE}1"
s=$job
scontrol reconfigure
wait_until 30 nodes_answer
ok "no third one comes, after a reconfiguration either" waits "$c"
is "nor one that asks for a stripe" "$(state "$s")" PENDING
is "the others are where they were" "$(cores_of "$a") $(cores_of "$b")" "$FIRST $SECOND"
scontrol resume "$a"
wait_running "$a"
is "resumed, it has the socket that it had" "$(cores_of "$a")" $FIRST
scontrol requeue "$a"
wait_running "$c"
is "a requeued job gives its socket up" "$(cores_of "$c")" $FIRST
# Nobody is before it where the node is empty.
scancel "$s" "$b"
run_again "$a"
wait_running "$a"
is "and has one again when it starts again" "$(cores_of "$a")" $SECOND
is "as SystemComment shows" "$(mark_of "$a")" "colocate: shape:socket shape=socket lane=1 beside=$c"
clear_jobs

diag "nodes that go and come"
running A --colocate=shape:socket -n1 -w "${NODE}1"
a=$job
scontrol update node="${NODE}1" state=drain reason=test
sleeper B --colocate=shape:socket -n1
ok "another node takes the next job" wait_until 30 is_state "$job" RUNNING
nok "a draining node takes no partner" test "$(nodes_of "$job")" = "${NODE}1"
scontrol update node="${NODE}1" state=resume
scancel "$job"
wait_until 30 ended "$job"
wait_until 30 nodes_answer
running C --colocate=shape:socket -n1
is "resumed, its other socket is filled before another node is opened" "$(nodes_of "$job") $(cores_of "$job")" "${NODE}1 $SECOND"
c=$job
scontrol update node="${NODE}1" state=down reason=test
wait_until 30 is_state "$a" PENDING
wait_until 30 is_state "$c" PENDING
scancel "$a" "$c"
wait_until 30 nodes_answer || {
	scontrol update node="${NODE}1" state=resume
	wait_until 30 nodes_answer
}
running D --colocate=shape:stripe -n1 -w "${NODE}1"
is "a node that was down gives lanes of either shape again" "$(cores_of "$job")" $EVEN
clear_jobs

diag "updates"
sleeper A --colocate=shape:socket -N1 -n4 --begin=now+600
a=$job
ok "a waiting job takes a smaller size" scontrol update jobid="$a" NumTasks=2
nok "and none that can never run" scontrol update jobid="$a" NumTasks=64
nok "nor more sockets than a lane has" scontrol update jobid="$a" ReqSockets=2
scontrol update jobid="$a" StartTime=now
wait_running "$a"
is "it runs on a whole socket" "$(cores_of "$a") $(job_field "$a" NumCPUs)" "$FIRST 8"
clear_jobs
# Slurm 26.05 lets no running job shrink that gave a count of tasks.
running A --colocate=shape:socket -N2
a=$job
scontrol update jobid="$a" NumNodes=1 >/dev/null
is "a running job that gives a node back keeps its socket of the other one" "$(job_field "$a" NumNodes) $(cores_of "$a")" "1 $FIRST"
left=$(nodes_of "$a")
running B --colocate=shape:socket -N1 -n1
is "and has a partner there" "$(nodes_of "$job") $(cores_of "$job")" "$left $SECOND"
clear_jobs

diag "several nodes"
running wide --colocate=shape:socket -N2 -n16
wide=$job
is "a socket of each" "$(cores_of "$wide")" $FIRST
running mate --colocate=shape:socket -N2 -n16
is "its partner has the others of the same nodes" "$(nodes_of "$job") $(cores_of "$job")" "$(nodes_of "$wide") $SECOND"
running lone --colocate=shape:socket,spread -n1
lone=$job
sleeper third --colocate=shape:socket -n1 -w "$(nodes_of "$lone")"
ok "spread leaves the other socket idle" waits "$job"
clear_jobs

diag "what no lane of whole sockets is"
refused "a shape that is none" "shape:row is unknown: choose shape:stripe or shape:socket" -p fake --colocate=shape:row -n1
refused "a node with one socket" "lanes of whole sockets that are as large as stripes: leave shape:socket out" -p real --colocate=shape:socket -n1
refused "more than a socket" "--sockets-per-node=2 is more than the 1 socket of a lane" \
	-p fake --colocate=shape:socket -N1 -n2 --sockets-per-node=2
refused "a job that names both shapes" "stripe and shape:socket exclude each other" -p fake --colocate=stripe,shape:socket -n1
running eight --colocate=shape:socket -N1 -n8 --ntasks-per-socket=8
is "eight tasks on a socket fit, which no stripe has" "$(cores_of "$job")" $FIRST
clear_jobs

diag "the usual shape"
ctl reconfigure stripe_shape=socket
is "poppa lanes shows it" "$(poppa lanes --node "${NODE}1" --json | jq -c '.lanes[1].cores')" "[8,9,10,11,12,13,14,15]"
running G --colocate -n1 -w "${NODE}1"
is "a job that does not ask has a socket" "$(cores_of "$job")" $FIRST
running H --colocate=shape:stripe -n1 -w "${NODE}2"
is "one that asks has a stripe" "$(cores_of "$job")" $EVEN
running I --colocate -n1 -w "${NODE}2"
is "and is joined by one that does not" "$(cores_of "$job")" $ODD
running J --colocate -p real -n1
like "nodes with one socket have stripes" "$(mark_of "$job")" "^colocate: stripe lane="
scancel "$job"
clear_jobs
ctl reconfigure stripe_shape= stripe_shape_on=2x8:socket
running K --colocate -n1 -w "${NODE}1"
is "by the size of the node" "$(cores_of "$job")" $FIRST
clear_jobs
ctl reconfigure stripe_shape_on=

diag "preemption"
sed -i -e '1a PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE' \
	-e "\$a PartitionName=urgent Nodes=$SANDBOX_REAL_NODE,${NODE}[1-4] PriorityTier=10 PreemptMode=OFF MaxTime=1-0 DefaultTime=60 DefMemPerCPU=1000" "$SLURM_CONF"
ctl restart slurmctld
wait_until 60 nodes_answer
running victim --colocate=shape:socket -n1 -w "${NODE}1"
victim=$job
# Its lanes are of two sizes, so it asks for the CPUs of the smaller one: Slurm finds these in the other half of the lane.
submit -p urgent -J urgent -o /dev/null --colocate=shape:stripe -n1 --mem=100 -w "${NODE}1" --wrap "exec sleep 3600"
urgent=$job
wait_running "$urgent"
is "a job that may preempt has its whole lane" "$(cores_of "$urgent")" $EVEN
ok "and the job whose lane overlaps with it is gone" is_state "$victim" PENDING
scancel "$urgent" "$victim"
wait_until 60 ended "$urgent"
put_conf_back
echo "DebugFlags=SelectType" >>"$SLURM_CONF"
ctl restart slurmctld
wait_until 60 nodes_answer

diag "the history"
has_row() { awk -F'\t' -v j="$own:$1" -v p="$own:$2" '$1 == j && $2 == p { found = 1 } END { exit !found }' "$HISTORY"; }
running L --colocate=shape:socket,class:shape-a -n1 -w "${NODE}1"
l=$job
running M --colocate=class:shape-b -n1 -w "${NODE}1"
m=$job
scancel "$l" "$m"
wait_until 60 ended "$l"
wait_until 60 ended "$m"
report_node "$m" "${NODE}1" ".partners = [$l]" '.degradation = 0.3' '.co_ns = 100000000000'
report_node "$l" "${NODE}1" ".partners = [$m]" '.degradation = 0.1' '.co_ns = 100000000000'
ok "what is learned on whole sockets is kept apart" wait_until 60 has_row shape-a+2x8x1s shape-b+2x8x1s
ok "also of the partner that did not ask for a shape" wait_until 60 has_row shape-b+2x8x1s shape-a+2x8x1s
is "poppa pairs shows it" "$(poppa pairs --json | jq -c --arg c "$own:shape-b+2x8x1s" '[.pairs[] | select(.class == $c)] | length')" 1
clear_jobs
ok "slurmctld logged no fault of the plugin" \
	eval '! grep "select/stripe: .*\(differed\|cannot follow\|no memory\)" "$(ctl log slurmctld)"'

done_testing
