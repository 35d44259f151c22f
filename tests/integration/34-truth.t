#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the scheduler says comes true: who is accepted runs, expected starts, backfill with co-located jobs.
# shellcheck source=tests/integration/clouds.sh
. "$(dirname "$0")/clouds.sh"

N=one
# fresh LINES [PARAMETERS]: an empty cluster; its nodes and settings, and more of SchedulerParameters.
fresh() {
	cloud_wipe $N
	cloud_configure $N wrapped <<-END
		SchedulerParameters=default_queue_depth=1000,sched_interval=1,bf_interval=1,bf_continue,bf_resolution=60,bf_window=100000${2:-}
		MinJobAge=3600
		NodeName=DEFAULT State=CLOUD
		$1
		PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefMemPerCPU=1000
	END
	cloud_start $N || bail_out "slurmctld does not start"
}
LIKE_NODES="NodeName=c[1-4] Sockets=2 CoresPerSocket=8 RealMemory=64000"

# send OPTION...: the job's id is in $job, and what sbatch says in $said.
send() {
	said=$(cloud $N sbatch --parsable -o /dev/null "$@" --wrap true 2>&1)
	job=${said##*$'\n'}
	[[ $job =~ ^[0-9]+$ ]]
}
run() { send "$@" && wait_until 30 has_nodes "$job"; }
gone() { ! cloud $N squeue -h -o %i | grep -q -x "$1"; }
nobody() { [ -z "$(cloud $N squeue -h -o %i)" ]; }
clear_jobs() {
	cloud $N squeue -h -o %i | xargs -r env SLURM_CONF="$CLOUD/$N/slurm.conf" scancel
	wait_until 30 nobody
}
seconds() { [ -n "$1" ] && date -d "$1" +%s 2>/dev/null || echo 0; }
start_of() { seconds "$(cloud $N squeue -h --start -j "$1" -o %S)"; }
end_of() { seconds "$(cloud $N squeue -h -j "$1" -o %e)"; }
has_start() { [ "$(start_of "$1")" -gt 0 ]; }
nodes_of() { cloud $N squeue -h -j "$1" -o %N; }
# start_if OPTION...: when the job would start if it was submitted now, or 0.
start_if() {
	seconds "$(cloud $N sbatch --test-only -o /dev/null "$@" --wrap true 2>&1 |
		sed -n 's/.* to start at \([^ ]*\) .*/\1/p')"
}
# within_minutes NAME START FROM [TO]: Slurm plans in steps of a minute.
within_minutes() {
	ok "$1" test "$2" -ge "$3" -a "$2" -le $((${4:-$3} + 120))
}

diag "who is accepted runs"
# No subshells: their random numbers are their own.
random_options() {
	o=(--colocate)
	case $((RANDOM % 4)) in
	0) o+=(-n$((RANDOM % 40 + 1))) ;;
	1) o+=(-N$((RANDOM % 7 + 1))) ;;
	2) o+=(-N$((RANDOM % 4 + 1)) --ntasks-per-node=$((RANDOM % 12 + 1))) ;;
	3) o+=(-n$((RANDOM % 6 + 1)) -c$((RANDOM % 12 + 1))) ;;
	esac
	case $((RANDOM % 5)) in
	0) o+=(--mem=$((RANDOM % 70 + 1))000) ;;
	1) o+=(--mem-per-cpu=$((RANDOM % 90 + 1))00) ;;
	esac
	case $((RANDOM % 6)) in
	0) o+=(-C red) ;;
	1) o+=(-w c1) ;;
	2) o+=(-x "c1,d1") ;;
	3) o+=(--hint=nomultithread) ;;
	4) o+=(-C "blue|red") ;;
	esac
	case $((RANDOM % 12)) in
	0) o+=(--gres=gpu:$((RANDOM % 5 + 1)) --cpus-per-gpu=$((RANDOM % 4 + 1))) ;;
	1) o+=(--gpus=$((RANDOM % 9 + 1)) --cpus-per-gpu=$((RANDOM % 5 + 1))) ;;
	2) o+=(--gpus-per-task=$((RANDOM % 3 + 1))) ;;
	3) o+=(--gpus=$((RANDOM % 6 + 1)) --ntasks-per-gpu=$((RANDOM % 6 + 1))) ;;
	4) [[ ${o[*]} == *--mem* ]] || o+=(--gpus-per-node=$((RANDOM % 4 + 1)) --mem-per-gpu=$((RANDOM % 40 + 1))000) ;;
	esac
}
fresh "GresTypes=gpu
NodeName=c[1-4] Sockets=2 CoresPerSocket=8 RealMemory=64000 Feature=red Gres=gpu:4
NodeName=d[1-2] Sockets=1 CoresPerSocket=12 ThreadsPerCore=2 RealMemory=48000 Feature=blue"
RANDOM=${POPPA_TEST_SEED:-11}
accepted=0
refused=0
wrong=
for ((i = 0; i < ${POPPA_TEST_ROUNDS:-40}; i++)); do
	random_options
	if tested=$(cloud $N sbatch --test-only -o /dev/null "${o[@]}" --wrap true 2>&1); then tested=yes; else tested="no: $tested"; fi
	# With -w, Slurm itself looks at no other nodes then, however many the job needs.
	[[ " ${o[*]} " != *" -w "* ]] || tested=
	if send "${o[@]}"; then
		accepted=$((accepted + 1))
		[[ $tested != no* ]] || wrong+="${o[*]}: accepted as $job, but --test-only says $tested"$'\n'
		wait_until 30 has_nodes "$job" || wrong+="${o[*]}: accepted, does not run on an empty cluster: $(cloud $N squeue -h -j "$job" -o %r)"$'\n'
		cloud $N scancel "$job"
		wait_until 30 gone "$job"
	else
		refused=$((refused + 1))
		[ "$tested" != yes ] || wrong+="${o[*]}: --test-only accepts it, and then: $said"$'\n'
		[[ $said == *rror:* || $said == *fatal:* ]] || wrong+="${o[*]}: refused without a reason: $said"$'\n'
		[[ $said == *--colocate:* ]] || diag "in Slurm's own words: ${o[*]}: $said"
	fi
done
diag "$accepted were accepted, $refused refused"
is "all that were accepted ran, and --test-only had said the same" "$wrong" ""
cmp_num "some were accepted" "$accepted" ">=" 10
cmp_num "and some refused" "$refused" ">=" 3

fresh "GresTypes=gpu
NodeName=b1 Sockets=2 CoresPerSocket=8 RealMemory=64000
NodeName=c1 Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=gpu:4"
run --colocate -N1 --gres=gpu:1
is "a job with a GPU runs where another node, else alike, has none" "$(nodes_of "$job")" c1

diag "expected starts"
fresh "$LIKE_NODES
PrEpParameters=stripe_match=any"
firsts=()
partners=()
for t in 50 90 130 170; do
	run --colocate -n8 -w "c$((${#firsts[@]} + 1))" -t $t
	firsts+=("$job")
	run --colocate -n8 -w "c${#firsts[@]}" -t $((t + 20))
	partners+=("$job")
done
# --test-only comes after what is planned for jobs that wait already.
within_minutes "--test-only: a lane is free when the first job ends" "$(start_if --colocate -n8 -t 30)" "$(end_of "${firsts[0]}")"
within_minutes "a job on two whole nodes does not wait for all co-located jobs" \
	"$(start_if -n32 -t 30)" "$(end_of "${partners[1]}")" "$(end_of "${firsts[2]}")"
send --colocate -n8 -t 30
a=$job
send --colocate -N2 -n16 -t 30
b=$job
send -n1 -t 30
c=$job
wait_until 30 has_start "$a"
wait_until 30 has_start "$b"
wait_until 30 has_start "$c"
within_minutes "squeue --start says so, too" "$(start_of "$a")" "$(end_of "${firsts[0]}")"
# For what is further off Slurm's plugin takes the ends of several jobs together.
within_minutes "two on different nodes when the next one ends" \
	"$(start_of "$b")" "$(end_of "${firsts[1]}")" "$(end_of "${partners[1]}")"
start=$(start_of "$c")
ok "for a job that did not opt in both lanes must be free" test "$start" -ge "$(end_of "${partners[0]}")"
cloud $N scancel "${firsts[0]}"
ok "when that job ends early, the first that waits has its lane" wait_until 30 has_nodes "$a"
is "there" "$(nodes_of "$a")" c1
clear_jobs

diag "expected starts beside a partner"
run --colocate -n8 -w c1 -t 300
b=$job
run --colocate -n8 -w c1 -t 50
a=$job
within_minutes "with: waits for a lane beside the partner, though nodes are empty" \
	"$(start_if --colocate=with:"$b" -n8 -t 30)" "$(end_of "$a")"
within_minutes "and takes such nodes as well" "$(start_if --colocate=with:"$b" -N2 -n16 -t 30)" "$(end_of "$a")"
within_minutes "a partner that ends leaves the job the empty nodes" \
	"$(start_if --colocate=with:"$a" -x c1 -n8 -t 30)" "$(end_of "$a")"
# A clock that is read after the answer may already show the next second.
now=$(date +%s)
within_minutes "spread waits for no partner" "$(start_if --colocate=spread -n8 -t 30)" "$now"
within_minutes "and has none" "$(start_if --colocate=spread -w c1 -n8 -t 30)" "$(end_of "$b")"
run --colocate=spread -n8 -w c2 -t 60
within_minutes "with: does not wait for one that it could share no node with" \
	"$(start_if --colocate=with:"$job" -n8 -t 30)" "$now"
run -n8 -w c3 -t 60
within_minutes "nor for one that did not opt in" "$(start_if --colocate=with:"$job" -n8 -t 30)" "$now"
ok "and starts" run --colocate=with:"$job" -n8
clear_jobs
run --colocate --array=0-1%1 -n8 -w c1 -t 200
a=$job
cloud $N scontrol update jobid="$a" ArrayTaskThrottle=2
cloud $N scontrol update jobid="${a}_1" ReqNodeList=c2 TimeLimit=50
wait_until 30 eval '[ "$(cloud $N squeue -h -t CF,R -j $a | wc -l)" = 2 ]'
within_minutes "with: an array waits for the last of its elements" \
	"$(start_if --colocate=with:"$a" -n8 -x "c[1-2]" -t 30)" "$(end_of "${a}_0")"
clear_jobs

diag "expected starts with lanes of whole sockets"
ends=()
run --colocate=shape:socket -n8 -w c1 -t 50
a=$job
run --colocate=shape:socket -n8 -w c1 -t 110
b=$job
for t in 170 230; do
	run --colocate=shape:stripe -n8 -w c2 -t $t
	ends+=("$job")
done
for i in 3 4; do run --exclusive -n8 -w c$i -t 300; done
within_minutes "who asks for a socket waits for the first end of one" "$(start_if --colocate=shape:socket -n8 -t 30)" "$(end_of "$a")"
within_minutes "who does not ask takes that, too" "$(start_if --colocate -n8 -t 30)" "$(end_of "$a")"
# c1 is empty before a stripe of c2 is free.
within_minutes "who asks for a stripe waits until a node of sockets is empty" "$(start_if --colocate=shape:stripe -n8 -t 30)" "$(end_of "$b")"
within_minutes "or for a stripe, where that is sooner" "$(start_if --colocate=shape:stripe -n8 -w c2 -t 30)" "$(end_of "${ends[0]}")"
within_minutes "and a node of stripes gives sockets when it is empty" \
	"$(start_if --colocate=shape:socket -n8 -w c2 -t 30)" "$(end_of "${ends[1]}")"
send --colocate=shape:stripe -n8 -t 30
c=$job
wait_until 30 has_start "$c"
within_minutes "squeue --start agrees" "$(start_of "$c")" "$(end_of "$b")"
cloud $N scancel "$a" "$b"
ok "and when both end early, it starts" wait_until 30 has_nodes "$c"
is "there" "$(nodes_of "$c")" c1
clear_jobs

diag "reservations of single cores"
cloud $N scontrol create reservation=few nodes=c1 corecnt=4 users=root starttime=now duration=60 >/dev/null
nok "a job that has no lane there is refused" send --colocate -n1 --reservation=few
ok "another is not" send -n1 --reservation=few
cloud $N scontrol create reservation=all nodes=c2 corecnt=16 users=root starttime=now duration=60 >/dev/null
ok "where they are all of a node's, it runs" run --colocate -n1 --reservation=all
clear_jobs
cloud $N scontrol delete reservation=few
cloud $N scontrol delete reservation=all

diag "expected starts where something else than a lane is short"
fresh "GresTypes=slot
NodeName=c[1-2] Sockets=2 CoresPerSocket=8 RealMemory=64000 Gres=slot:3"
run --colocate -n8 -w c1 --gres=slot:3 -t 300
run --colocate -n8 -w c2 -t 50
a=$job
run --colocate -n8 -w c2 -t 70
within_minutes "a node whose lane comes later may have it sooner" \
	"$(start_if --colocate -n8 --gres=slot:1 -t 30)" "$(end_of "$a")"

diag "expected starts with stripe_match=exact"
fresh "$LIKE_NODES
PrEpParameters=stripe_match=exact"
run --colocate -N2 -w "c[1-2]" -t 50
a=$job
run --colocate -N2 -w "c[1-2]" -t 300
b=$job
run --colocate -N2 -w "c[3-4]" -t 100
run --colocate -N2 -w "c[3-4]" -t 200
e=$job
within_minutes "two nodes have their lanes beside a job of two" "$(start_if --colocate -N2 -t 30)" "$(end_of "$a")"
within_minutes "one has no partner, and waits for an empty node" "$(start_if --colocate -N1 -t 30)" "$(end_of "$e")"
within_minutes "four have none, too" "$(start_if --colocate -N4 -t 30)" "$(end_of "$b")"
within_minutes "unless it is asked for" "$(start_if --colocate=with:"$b" -N1 -t 30)" "$(end_of "$a")"
send --colocate -N2 -t 30
c=$job
wait_until 30 has_start "$c"
within_minutes "squeue --start agrees" "$(start_of "$c")" "$(end_of "$a")"
cloud $N scancel "$a"
ok "when the first one ends early, the job that waits has its nodes" wait_until 30 has_nodes "$c"
is "beside the partner" "$(nodes_of "$c")" "$(nodes_of "$b")"

diag "partners among many groups"
fresh "NodeName=c[1-20] Sockets=2 CoresPerSocket=8 RealMemory=64000
PrEpParameters=stripe_match=exact" ",bf_window_linear=1"
for ((i = 1; i < 20; i += 2)); do run --colocate -N2 -w "c[$i-$((i + 1))]"; done
alone=
for ((i = 1; i < 20; i += 2)); do run --colocate -N2 -w "c$i" || alone+=" c$i"; done
is "a job that names one of its nodes finds its partner, whichever that is" "$alone" ""
clear_jobs
# The lanes beside the jobs of 300 minutes and more come one after the other.
for ((i = 1; i < 20; i += 2)); do
	run --colocate -N2 -w "c[$i-$((i + 1))]" -t $((300 + i))
	run --colocate -N2 -w "c[$i-$((i + 1))]" -t $((40 + 7 * i))
done
a=$job
send --colocate -N2 -w c19 -t 30
wait_until 30 has_start "$job"
within_minutes "and is told when that will be" "$(start_of "$job")" "$(end_of "$a")"

diag "expected starts with stripe_match=within:25%"
fresh "$LIKE_NODES
PrEpParameters=stripe_match=within:25%"
run --colocate -N4 -t 50
a=$job
run --colocate -N4 -t 300
within_minutes "three nodes beside a job of four" "$(start_if --colocate -N3 -t 30)" "$(end_of "$a")"
clear_jobs

diag "a job starts when it was told to, and not before"
# What is told for a moment when several jobs have ended is as near as Slurm's plugin looks: make it look at each.
# busy MATCH: six nodes with random jobs, all of which end minutes apart; their ids are in $running.
busy() {
	local i options
	fresh "NodeName=c[1-6] Sockets=2 CoresPerSocket=8 RealMemory=64000
PrEpParameters=stripe_match=$1" ",bf_window_linear=1"
	for ((i = 0; i < 14; i++)); do
		options=(--colocate -N$((RANDOM % 3 + 1)))
		case $((RANDOM % 7)) in
		0) options=(-n$((RANDOM % 20 + 1))) ;;
		1) options=(--colocate=not:r$((RANDOM % 14)) -N$((RANDOM % 3 + 1))) ;;
		2) options=(--colocate=spread -N1) ;;
		esac
		send -J "r$i" -t $(((i * 5 % 14 + 1) * 40 + RANDOM % 20)) "${options[@]}"
	done
	looked_at "$job" cloud $N
	cloud $N squeue -h -t PD -o %i | xargs -r env SLURM_CONF="$CLOUD/$N/slurm.conf" scancel
	running=$(cloud $N squeue -h -t CF,R -S e -o %i)
}
told_wrong=
waited=0
for match in any exact within:50% any exact within:50%; do
	busy "$match"
	for ((try = 0; try < 2; try++)); do
		options=(--colocate -N$((RANDOM % 4 + 1)))
		case $((RANDOM % 6)) in
		0) options=(--colocate=spread -N$((RANDOM % 2 + 1))) ;;
		1) options=(--colocate=with:"$(head -n $((RANDOM % 6 + 1)) <<<"$running" | tail -n 1)" -N$((RANDOM % 2 + 1))) ;;
		2) options=(-N1 -n$((RANDOM % 16 + 1))) ;;
		esac
		told=$(start_if -t 30 "${options[@]}")
		what="stripe_match=$match ${options[*]}: told $told"
		send -t 30 "${options[@]}"
		x=$job
		if [ "$told" -gt $(($(date +%s) + 60)) ]; then
			waited=$((waited + 1))
			for j in $running; do [ "$(end_of "$j")" -ge $((told - 60)) ] || cloud $N scancel "$j"; done
			waits "$x" || told_wrong+="$what, runs earlier"$'\n'
			for j in $running; do
				has_nodes "$j" && [ "$(end_of "$j")" -le $((told + 60)) ] && cloud $N scancel "$j"
			done
		fi
		wait_until 30 has_nodes "$x" ||
			told_wrong+="$what, waits longer: $(cloud $N squeue -h -t R,CF -o '%i %j %N %e' | xargs)"$'\n'
		running=$(cloud $N squeue -h -t CF,R -S e -o %i)
	done
done
is "nobody had been told a wrong start" "$told_wrong" ""
cmp_num "some had to wait" "$waited" ">=" 4

fresh "$LIKE_NODES"
diag "backfill: co-located jobs delay nobody"
run -N3 -n48 -t 60
p=$job
send -N4 -n64 -t 60
big=$job
wait_until 30 has_start "$big"
planned=$(start_of "$big")
ok "a job of all nodes is planned for when the others end" test "$planned" -ge "$(end_of "$p")"
send --colocate -n8 -t 120
long=$job
send --colocate -n8 -t 30
short=$job
send --colocate -n8 -t 40
other=$job
ok "a short co-located job fills the gap" wait_until 30 has_nodes "$short"
ok "and another one beside it" wait_until 30 has_nodes "$other"
is "on the same node" "$(nodes_of "$other")" "$(nodes_of "$short")"
ok "a long one waits, though a lane may be free for it" waits "$long"
is "and the plan stays" "$(start_of "$big")" "$planned"
cloud $N scancel "$other"
ok "also when a lane is free" waits "$long"
cloud $N scancel "$p" "$short"
ok "the large job runs when they end" wait_until 30 has_nodes "$big"
clear_jobs

diag "backfill: co-located jobs do not starve"
run -N3 -n48 -t 60
p=$job
send --colocate -N4 -n32 -t 60
wide=$job
wait_until 30 has_start "$wide"
planned=$(start_of "$wide")
send -n16 -t 120
long=$job
send --colocate -n8 -t 130
colong=$job
send -n16 -t 30
short=$job
ok "a short job fills the gap" wait_until 30 has_nodes "$short"
ok "long ones do not" waits "$long"
nok "co-located or not" has_nodes "$colong"
is "and the plan stays" "$(start_of "$wide")" "$planned"
cloud $N scancel "$p" "$short"
ok "the wide co-located job runs before those that came later" wait_until 30 has_nodes "$wide"
nok "and they wait" has_nodes "$long"

ok "slurmctld logged no fault of the plugin" \
	eval '! grep -a "select/stripe: .*\(differed\|cannot follow\|no memory\)" "$(cloud_log $N)"'
done_testing
