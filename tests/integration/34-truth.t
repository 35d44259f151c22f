#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the scheduler says comes true: who is accepted runs, expected starts, backfill with co-located jobs.
# shellcheck source=tests/integration/clouds.sh
. "$(dirname "$0")/clouds.sh"

N=one
# fresh LINES: an empty cluster; its nodes and settings.
fresh() {
	cloud_kill $N
	rm -rf "${CLOUD:?}/$N"
	cloud_configure $N wrapped <<-END
		SchedulerParameters=default_queue_depth=1000,sched_interval=1,bf_interval=1,bf_continue,bf_resolution=60,bf_window=100000
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
has_nodes() { cloud $N squeue -h -t CF,R -o %i | grep -q -x "$1"; }
run() { send "$@" && wait_until 30 has_nodes "$job"; }
# Both schedulers have had several turns.
waits() { sleep 5 && ! has_nodes "$1"; }
gone() { ! cloud $N squeue -h -o %i | grep -q -x "$1"; }
nobody() { [ -z "$(cloud $N squeue -h -o %i)" ]; }
clear_jobs() {
	cloud $N squeue -h -o %i | xargs -r env SLURM_CONF="$CLOUD/$N/slurm.conf" scancel
	wait_until 30 nobody
}
seconds() { date -d "$1" +%s 2>/dev/null || echo 0; }
start_of() { seconds "$(cloud $N squeue -h --start -j "$1" -o %S)"; }
end_of() { seconds "$(cloud $N squeue -h -j "$1" -o %e)"; }
has_start() { [ "$(start_of "$1")" -gt 0 ]; }
nodes_of() { cloud $N squeue -h -j "$1" -o %N; }

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
	esac
}
fresh "NodeName=c[1-4] Sockets=2 CoresPerSocket=8 RealMemory=64000 Feature=red
NodeName=d[1-2] Sockets=1 CoresPerSocket=12 ThreadsPerCore=2 RealMemory=48000"
RANDOM=${POPPA_TEST_SEED:-11}
accepted=0
refused=0
wrong=
for ((i = 0; i < 40; i++)); do
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
		[[ $said == *rror:* ]] || wrong+="${o[*]}: refused without a reason: $said"$'\n'
	fi
done
diag "$accepted were accepted, $refused refused"
is "all that were accepted ran, and --test-only had said the same" "$wrong" ""
cmp_num "some were accepted" "$accepted" ">=" 10
cmp_num "and some refused" "$refused" ">=" 3

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
send --colocate -n8 -t 30
a=$job
send --colocate -N2 -n16 -t 30
b=$job
send -n1 -t 30
c=$job
wait_until 30 has_start "$a"
wait_until 30 has_start "$b"
wait_until 30 has_start "$c"
# expect NAME FROM TO JOB: Slurm plans in steps of a minute.
expect() {
	local start
	start=$(start_of "$4")
	ok "$1" test "$start" -ge "$2" -a "$start" -le $(($3 + 120))
}
expect "a lane is free when the first job ends" "$(end_of "${firsts[0]}")" "$(end_of "${firsts[0]}")" "$a"
# For what is further off Slurm's plugin takes the ends of several jobs together.
expect "two on different nodes when the next one ends" "$(end_of "${firsts[1]}")" "$(end_of "${partners[1]}")" "$b"
start=$(start_of "$c")
ok "for a job that did not opt in both lanes must be free" test "$start" -ge "$(end_of "${partners[0]}")"
tested=$(cloud $N sbatch --test-only --colocate -n8 -t 30 -o /dev/null --wrap true 2>&1 | sed -n 's/.* to start at \([^ ]*\) .*/\1/p')
ok "--test-only names a start that is not before the first end" test "$(seconds "$tested")" -ge "$(end_of "${firsts[0]}")"
cloud $N scancel "${firsts[0]}"
ok "when that job ends early, the first that waits has its lane" wait_until 30 has_nodes "$a"
is "there" "$(nodes_of "$a")" c1
clear_jobs

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
