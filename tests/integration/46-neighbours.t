#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that makes itself hard to stop or to look at keeps its co-runner from nothing: a user with thousands of idle
# processes, one whose task is stopped, traced or resumed all the time.
. "$(dirname "$0")/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
contend=$build/contrib/workloads/contend
[ -x "$contend" ] || skip_all "mpicc was not found, so there is no workload with a heartbeat"
crowd=$build/tests/integration/crowd
line=/dev/shm/poppa-test-46.$$
on_exit rm -f "$line"
on_exit ctl reconfigure --reset
window=10 # seconds in which blocks are counted

job_status() {
	status ".jobs[] | select(.job == $1) | $2"
}

# blocks: how many blocks of the victim were of use so far, shams included.
blocks() {
	job_status "$one" '.blocks + .sham.blocks'
}

blocks_are() {
	[ "$(blocks)" -ge "$1" ]
}

more_blocks() {
	local want=$(($(blocks) + $1))
	wait_until "$2" blocks_are "$want"
}

# counted: the victim's blocks within the window.
counted() {
	local before
	before=$(blocks)
	sleep "$window"
	echo $(($(blocks) - before))
}

# beside ARG...: has a co-runner run "crowd ARG...", with a launcher beside it, so that its tasks cannot be frozen as they are.
beside() {
	SUBMIT_USER=poppa-guest submit --colocate -n1 -o /dev/null --wrap \
		"srun sh -c 'sleep 1000 & exec $crowd $* $contend --line $line --seconds 300 --private 60'"
	two=$job
	wait_running "$two"
}

has_left() {
	[ -z "$(squeue -h -j "$1" -t all -o %T | grep COMPLETING)" ]
}

ctl reconfigure poppa_period=50ms poppa_overhead_max=2% poppa_adaptive=no >/dev/null
ok "short periods are taken up" wait_until 10 holds '.settings | contains("poppa_period=50ms")'
SUBMIT_USER=poppa-demo submit --colocate -n1 -o /dev/null --wrap "srun $contend --line $line --seconds 900 --private 60"
one=$job
ok "the victim runs" wait_running "$one"

beside
ok "beside an honest job it has blocks" more_blocks 5 30
honest=$(counted)
cmp_num "namely some" "$honest" '>' 20
scancel "$two"
wait_end "$two"

# Of 20,000 processes as many as the machine can number.
most=$(($(cat /proc/sys/kernel/pid_max) / 2))
[ "$most" -lt 20000 ] || most=20000
for way in "stopped" "traced" "resumed" "idle 2100" "idle $most"; do
	beside "$way"
	case $way in idle*) ok "$way: all are there" wait_until 60 holds "[.jobs[] | select(.job == $two)][0].tasks > ${way#idle }" ;; esac
	ok "$way: the victim has blocks" more_blocks 20 60
	# While thousands of processes are made, each of them is busy.
	ok "$way: at their usual distance" wait_until 120 holds '.totals.cost.level == 0'
	before=$(status '.totals.discarded | tostring')
	cmp_num "$way: nine tenths of those beside an honest job" "$(counted)" '>=' "$((honest * 9 / 10))"
	diag "$way: of no use were $before, then $(status '.totals.discarded | tostring')"
	scancel "$two"
	ok "$way: it ends" wait_end "$two" 90
	# Slurm takes its time to end thousands of processes.
	ok "$way: and leaves the node" wait_until 300 has_left "$two"
done

done_testing
