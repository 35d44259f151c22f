#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What poppad takes: next to nothing without jobs, and little for a loop of the shutter.
. "$(dirname "$0")/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
loop=$build/tests/bench/loop

no_jobs() {
	[ "$(status '.jobs | length')" = 0 ]
}

# Context switches of all threads so far: each wake-up ends in one.
switches() {
	awk '/ctxt_switches/ { n += $2 } END { print n }' /proc/"$1"/task/*/status
}

memory() { # memory PID FILE FIELD: KiB
	awk -v field="$3:" '$1 == field { print $2 }' "/proc/$1/$2"
}

# --- idle ---
ok "no job is left" wait_until 60 no_jobs
daemon=$(status .pid) guard=$(status .guard_pid)
# The tick that saw the last job go, and what the request above has woken.
sleep 3
before=$(switches "$daemon") guard_before=$(switches "$guard")
sleep 10
cmp_num "without jobs poppad wakes up less than once a second" $(($(switches "$daemon") - before)) '<' 10
cmp_num "and its guard" $(($(switches "$guard") - guard_before)) '<' 10
cmp_num "poppad's resident memory is below 8 MiB" "$(memory "$daemon" status VmRSS)" '<' 8192
cmp_num "and its guard's" "$(memory "$guard" status VmRSS)" '<' 8192
diag "resident $(memory "$daemon" status VmRSS) and $(memory "$guard" status VmRSS) KiB," \
	"of which $(memory "$daemon" smaps_rollup Private_Dirty) and" \
	"$(memory "$guard" smaps_rollup Private_Dirty) KiB are written and theirs alone"

kept=/sys/fs/cgroup/freezer/poppa_$SANDBOX_REAL_NODE
if [ -d /sys/fs/cgroup/freezer ]; then
	is "it keeps an empty cgroup frozen, for cheaper shutters" "$(cat "$kept/freezer.state" "$kept/cgroup.procs")" FROZEN
else
	skip "there is no freezer of cgroup v1" "it keeps an empty cgroup frozen"
fi

# --- one loop, beside a straightforward one in the same run ---

# What share of the straightforward one's time it takes depends on who else has the processors at the moment:
# tests/bench/run loop measures that on a quiet machine and judges it (at most a quarter). Here it is to be dearer in
# no case where each call meets its task in a known state.
# check NAME OPTION...: leaves the ratio of the numbers of readings in $readings, empty when it is skipped.
readings=
check() {
	local name=$1 out status
	shift
	out=$("$loop" --tasks 16 --loops 40 --json "$@" 2>&1)
	status=$?
	readings=
	case $status in
	0) ;;
	77)
		skip "${out#skipped: }" "$name"
		return
		;;
	*)
		fail "$name" "$out"
		return
		;;
	esac
	readings=$(jq -r .ratio_readings <<<"$out")
	diag "ours $(jq -r '.ours.calls | round' <<<"$out") us of stop calls, resume calls and readings," \
		"straightforward $(jq -r '.straightforward.calls | round' <<<"$out") us, ratio $(jq -r .ratio <<<"$out")"
	cmp_num "$name" "$(jq -r .ratio <<<"$out")" '<' 1
}

check "with heartbeats a loop over 16 tasks costs less than a straightforward one" --counter heartbeat
check "with perf events, too, where each call meets its task as on a node with a processor for each" --counter perf --staged
# What a reading takes depends on whether its task runs just then; how many there are does not.
if [ -z "$readings" ]; then
	skip "no perf event counts here" "of readings it takes at most a quarter"
else
	cmp_num "of readings it takes at most a quarter" "$readings" '<=' 0.25
fi
done_testing
