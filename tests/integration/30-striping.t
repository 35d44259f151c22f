#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Striping on the sandbox: lanes, partners, waiting, restarts, nodes that come and go, stock behaviour.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

sleeper_options=(--mem=2000)
jobs_on() { squeue -h -p fake -t R,S -w "$1" -o %i | sort | xargs; }
is_mark() { [ "$(mark_of "$1")" = "$2" ]; }

# A kill before slurmctld has saved its state would lose it in any case, and so may an end while it is at work on that.
restart() {
	saves_jobs
	if [ "$1" = kill ]; then
		ctl kill -KILL slurmctld
		wait_until 10 is_gone slurmctld
		ctl start slurmctld
	else
		ctl restart slurmctld
	fi
	wait_until 60 nodes_answer
}

PLUGIN_DIRS=$(sed -n 's/^PluginDir=//p' "$SLURM_CONF")
# use_plugins DIRS: slurmctld with another PluginDir.
use_plugins() {
	sed -i "s|^PluginDir=.*|PluginDir=$1|" "$SLURM_CONF"
	ctl restart slurmctld
	wait_until 60 nodes_answer
}

TMP=$(mktemp -d)
chmod 755 "$TMP"
cleanup() {
	scontrol update partition=fake state=up
	scontrol update node="${NODE}[1-4]" state=resume
	clear_jobs
	grep -q "^PluginDir=$PLUGIN_DIRS\$" "$SLURM_CONF" || use_plugins "$PLUGIN_DIRS"
	ctl reconfigure --reset
	rm -rf "$TMP"
}
on_exit cleanup
forget_pairs

wait_until 60 fake_idle || diag "the fake nodes are not idle"

diag "two jobs of two nodes"
running A --colocate -N2 --ntasks-per-node=8
a=$job
running B --colocate -N2 --ntasks-per-node=8
b=$job
is "the first job has the even cores" "$(cores_of "$a")" $EVEN
is "the second one the odd cores" "$(cores_of "$b")" $ODD
is "of the same nodes" "$(nodes_of "$b")" "$(nodes_of "$a")"
is "the first one shows its lane" "$(mark_of "$a")" "colocate: stripe lane=0"
is "the second one its lane and partner" "$(mark_of "$b")" "colocate: stripe lane=1 beside=$a"
ok "and slurmctld's log has a line for it" \
	grep -q "select/stripe: JobId=$b on $(nodes_of "$b" | sed 's/[][]/\\&/g'), lane 1, beside $a\$" "$(ctl log slurmctld)"
running C --colocate -n4
c=$job
is "a job of four tasks has a whole lane" "$(cores_of "$c")" $EVEN
ok "the third job goes elsewhere" eval '[ "$(jobs_on "$(nodes_of "$c")")" = "$c" ]'
running D -n2
d=$job
is "a job that did not opt in shares no node with those that did" "$(jobs_on "$(nodes_of "$d")")" "$d"
running E --colocate -N1 -n8
e=$job
is "a half-occupied node is filled before an empty one is opened" "$(nodes_of "$e")" "$(nodes_of "$c")"
sleeper F --colocate -n1 -w "$(nodes_of "$d")"
f=$job
sleeper G -n1 -w "$(nodes_of "$c")"
g=$job
ok "no co-located job joins one that did not opt in" waits "$f"
is "nor the other way round" "$(state "$g")" PENDING

diag "restarts"
everything() { for j in $a $b $c $d $e; do echo "$j $(nodes_of "$j") $(cores_of "$j")"; done; }
before=$(everything)
restart kill
is "all jobs keep their cores when slurmctld is killed and started" "$(everything)" "$before"
scancel "$a"
wait_until 30 is_state "$a"
running H --colocate -N2 -n16 -w "$(nodes_of "$b")"
h=$job
is "after it, a lane that became free is given out again" "$(cores_of "$h")" $EVEN
is "beside the job that stayed" "$(nodes_of "$h")" "$(nodes_of "$b")"
clear_jobs

diag "waiting for a lane"
# Ends by limits: what jobs of earlier tests have lost is not to be expected of these.
ctl reconfigure stripe_timelimit=wall
for j in 1 2 3 4; do sleeper "W$j" --colocate -N2 -n16 -t 30; done
sleeper W5 --colocate -N2 -n16 -t 30
w=$job
sleeper W6 -N1 -n1 -t 30
o=$job
ok "a job for which no lane is free waits" waits "$w"
is "one that did not opt in too" "$(state "$o")" PENDING
start_of() { squeue -h --start -j "$1" -o %S; }
has_start() { [ "$(start_of "$1")" != N/A ]; }
wait_until 30 has_start "$w"
first=$(date -d "$(squeue -h -p fake -t R -o %e | sort | head -n 1)" +%s)
start=$(date -d "$(start_of "$w")" +%s)
ok "squeue --start expects it within two minutes of the first end" \
	eval '[ $start -ge $first ] && [ $start -le $((first + 120)) ]' || diag "end $first, start $start"
as_user sbatch --test-only -p fake --colocate -N2 -n16 --mem=2000 --wrap true >"$TMP/test-only" 2>&1
ok "sbatch --test-only finds a start" eval 'grep -q "to start at" "$TMP/test-only"'
scancel -n W1
wait_running "$w"
is "it starts when a lane is free" "$(state "$w")" RUNNING
ctl reconfigure stripe_timelimit=
clear_jobs

diag "what jobs ask of their partners"
sleeper alone --colocate=spread -n1 -w "${NODE}1"
a=$job
sleeper picky --colocate=not:loud -n1 -w "${NODE}2"
b=$job
wait_running "$a"
wait_running "$b"
running loud --colocate -n1
c=$job
is "spread and not: keep a job off, so an empty node is opened" "$(jobs_on "$(nodes_of "$c")")" "$c"
running quiet --colocate=with:"$b" -n1
d=$job
is "with: leads to the partner" "$(nodes_of "$d")" "${NODE}2"
running limit --colocate=max-degradation:5 -n1
f=$job
is "max-degradation prefers an empty node to a partner that the history does not know" "$(jobs_on "$(nodes_of "$f")")" "$f"
sleeper more --colocate=with:"$b" -n1
e=$job
ok "with: waits for a lane beside the partner" waits "$e"
clear_jobs

diag "max-degradation on probation"
base=()
for n in 1 2 3 4; do
	running "base$n" --colocate -n1 -w "$NODE$n"
	base[n]=$job
done
# probation_mark JOB: what its SystemComment should say of its partner.
probation_mark() { echo "colocate: max-degradation:5 lane=1 beside=${base[${1#"$NODE"}]} probation"; }
apart() { sed -n 's/^.*; poppa-apart: \([^;]*\).*$/\1/p' <<<"$(job_field "$1" SystemComment)"; }
# unkept RESTART: its node says that it cannot keep the limit.
unkept() { report_node "$limit" "$(nodes_of "$limit")" ".restart = $1" '.final = false' '.unkept = true'; }
sleeper stays --colocate=max-degradation:5 --no-requeue -n1
stays=$job
running limit --colocate=max-degradation:5 -n1
limit=$job
first=$(nodes_of "$limit")
like "where no node is empty it shares with one that the history does not know" "$(mark_of "$limit")" \
	"^$(probation_mark "$first")\$"
ok "one that may not be requeued waits" waits "$stays"
scancel "${base[${first#"$NODE"}]}"
wait_until 30 eval '[ "$(jobs_on "$first")" = "$limit" ]'
sleeper plain --colocate -n1 -w "$first"
plain=$job
ok "nobody is put beside a job whose limit is not known to hold" waits "$plain"
scancel "$plain" "$stays"
running limit --colocate=max-degradation:5 -n1
limit=$job
first=$(nodes_of "$limit")
unkept 0
ok "where the node cannot keep the limit, the job is requeued" wait_until 30 is_state "$limit" PENDING
is "SystemComment says whom it has left" "$(apart "$limit")" "times=1 restart=0 from=${base[${first#"$NODE"}]}"
ok "slurmctld's log has a line for it" grep -q "prep/poppa: JobId=$limit is requeued: its max-degradation cannot be kept \
beside JobId=${base[${first#"$NODE"}]}\$" "$(ctl log slurmctld)"
is "and the partner runs on" "$(state "${base[${first#"$NODE"}]}")" RUNNING
run_again "$limit"
wait_running "$limit"
second=$(nodes_of "$limit")
nok "it does not come back to that one" test "$second" = "$first"
like "but may try another one" "$(mark_of "$limit")" "^$(probation_mark "$second");.* poppa-apart: "
unkept 1
ok "and leaves that, too" wait_until 30 is_state "$limit" PENDING
like "that was the last time" "$(apart "$limit")" '^times=2 restart=1 from=[0-9]+,[0-9]+$'
run_again "$limit"
ok "now it waits for a partner that is known, or an empty node" waits "$limit"
like "poppa why tells it" "$(as_user poppa why "$limit" | tr '\n' ' ')" \
	" run was ended and the job requeued, because its max-degradation could not be kept"
scancel "${base[${second#"$NODE"}]}"
wait_running "$limit"
is "which it gets" "$(nodes_of "$limit") $(jobs_on "$second")" "$second $limit"
clear_jobs

diag "the pair history"
HISTORY=$(scontrol show config | sed -n 's/^StateSaveLocation *= *//p')/poppa_pairs
[ ! -e "$HISTORY" ] || cp -p "$HISTORY" "$TMP/history"
restore_history() { if [ -e "$TMP/history" ]; then cp -p "$TMP/history" "$HISTORY"; else rm -f "$HISTORY"; fi; }
on_exit restore_history
now=$(date +%s)
own=$(id -u poppa-demo)
printf "$own:%s\t$own:%s\t%s\t1000\t1\t$now\n" test-mine test-good 0.02 test-good test-mine 0.02 \
	test-mine test-bad 0.5 test-bad test-mine 0.3 >"$HISTORY"
printf "%s\t%s\t0.01\t1000\t1\t$now\n" test-mine test-bad test-bad test-mine >>"$HISTORY" # others' classes of these names
running bad --colocate=class:test-bad -n1 -w "${NODE}1"
running good --colocate=class:test-good -n1 -w "${NODE}2"
sleep 4 # slurmctld looks at the file every three seconds
running mine --colocate=class:test-mine -n1
is "the partner that suits best is chosen" "$(nodes_of "$job")" "${NODE}2"
scancel "$job"
wait_until 30 is_state "$job"
scancel -n good
wait_until 30 eval '[ -z "$(jobs_on "${NODE}2")" ]'
running limit --colocate=class:test-mine,max-degradation:10 -n1
nok "max-degradation refuses a partner that is known to be bad" test "$(nodes_of "$job")" = "${NODE}1"
running good --colocate=class:test-good -n1 -w "$(nodes_of "$job")"
is "and takes one that is known to be good" "$(state "$job")" RUNNING
restore_history
clear_jobs

diag "suspended, requeued"
running A --colocate -n1 -w "${NODE}1"
a=$job
scontrol suspend "$a"
running B --colocate -n1 -w "${NODE}1"
b=$job
is "a suspended job keeps its lane" "$(cores_of "$b")" $ODD
sleeper C --colocate -n1 -w "${NODE}1"
c=$job
sleeper D -n1 -w "${NODE}1"
d=$job
ok "no third one comes" waits "$c"
is "nor one that did not opt in" "$(state "$d")" PENDING
restart plain
ok "nor after a restart" waits "$c"
scontrol resume "$a"
wait_running "$a"
is "resumed, it has the lane that it had" "$(cores_of "$a")" $EVEN
scontrol requeue "$a"
wait_running "$c"
is "a requeued job gives its lane up" "$(cores_of "$c")" $EVEN
run_again "$a"
wait_until 30 is_mark "$a" "colocate: stripe"
is "and no longer shows one" "$(mark_of "$a")" "colocate: stripe"
clear_jobs

diag "nodes that go and come"
running A --colocate -n1 -w "${NODE}1"
a=$job
scontrol update node="${NODE}1" state=drain reason=test
running B --colocate -n1
b=$job
ok "a draining node takes no partner" eval '[ "$(nodes_of "$b")" != "${NODE}1" ]'
scontrol update node="${NODE}1" state=resume
scancel "$b"
wait_until 30 is_state "$b"
wait_until 30 nodes_answer
running C --colocate -n1
c=$job
is "resumed, it is filled first again" "$(nodes_of "$c")" "${NODE}1"
scontrol update node="${NODE}1" state=down reason=test
wait_until 30 is_state "$a" PENDING
wait_until 30 nodes_answer || {
	scontrol update node="${NODE}1" state=resume
	wait_until 30 nodes_answer
}
running D --colocate -n1 -w "${NODE}1"
d=$job
is "a node that was down has all its lanes again" "$(cores_of "$d")" $EVEN
scontrol reconfigure
wait_until 30 nodes_answer
running E --colocate -n1
e=$job
is "a reconfiguration keeps who is where" "$(nodes_of "$e")" "$(nodes_of "$d")"
clear_jobs

diag "settings"
running two --colocate -n1 -w "${NODE}1"
ctl reconfigure stripe_lanes=4
running L0 --colocate -n1 -w "${NODE}1"
is "with more lanes, those are given out of which no job has a core" "$(cores_of "$job")" 1,5,9,13
ctl reconfigure stripe_lanes=3
sleeper L1 --colocate -n1 -w "${NODE}1"
ok "with others of which each has a core of a job, none" waits "$job"
clear_jobs
ctl reconfigure stripe_lanes=4
four=
for j in 1 2 3 4; do
	running "L$j" --colocate -n1 -w "${NODE}1"
	four+=" $job"
done
is "four lanes, four jobs" "$(for j in $four; do cores_of "$j"; done | sort | xargs)" \
	"0,4,8,12 1,5,9,13 2,6,10,14 3,7,11,15"
ctl reconfigure stripe_lanes=1 2>/dev/null
sleeper L5 --colocate -n1 -w "${NODE}1"
j=$job
ok "with a bad value the node is still full" waits "$j"
ok "and the log says which key it is" eval 'grep -q "select/stripe: PrEpParameters: stripe_lanes" "$(ctl log slurmctld)"'
ctl reconfigure --reset
clear_jobs

diag "stock behaviour"
running keep --colocate -n8 -w "${NODE}4"
k=$(squeue -h -n keep -o %i)
cores=$(cores_of "$k")
saves_jobs
mkdir "$TMP/plugins"
for f in "${PLUGIN_DIRS%%:*}"/*.so; do
	case $f in
	*/select_*) ;;
	*) ln -s "$f" "$TMP/plugins/" ;;
	esac
done
use_plugins "$TMP/plugins:${PLUGIN_DIRS#*:}"
is "taken out of PluginDir, running co-located jobs go on" "$(state "$k") $(cores_of "$k")" "RUNNING $cores"
nok "where the rest of the suite is still there, new ones are refused" \
	eval 'as_user sbatch -p fake --colocate --wrap true >"$TMP/refused" 2>&1'
like "with the reason" "$(cat "$TMP/refused")" "--colocate: striping is not active on this cluster"
ok "and others are taken" running stock -n1 -w "${NODE}3"
use_plugins "$PLUGIN_DIRS"
is "and when it is back" "$(state "$k") $(cores_of "$k")" "RUNNING $cores"
clear_jobs

ok "slurmctld logged no fault of the plugin" \
	eval '! grep "select/stripe: .*\(differed\|cannot follow\|no memory\)" "$(ctl log slurmctld)"'

done_testing
