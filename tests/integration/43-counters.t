#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where poppad takes progress from: a recording, a PMU that may not be there, and what it says about that.
. "$(dirname "$0")/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
contend=$build/contrib/workloads/contend
conf=$POPPA_SANDBOX/etc/poppa.conf
recording=$POPPA_SANDBOX/tmp/recording.csv
log=$(ctl log poppad)
line=/dev/shm/poppa-test-43.$$

new_log() {
	log_from=$(wc -l <"$log")
}

# count_logged REGEX: lines since new_log.
count_logged() {
	tail -n "+$((log_from + 1))" "$log" | grep -cE "$1"
}

logged() {
	[ "$(count_logged "$1")" -gt 0 ]
}

# counter LINE...: poppa.conf with these lines more, and a poppad that has read nothing else.
counter() {
	cp "$conf.saved" "$conf"
	printf '%s\n' "$@" >>"$conf"
	new_log
	ctl restart poppad >/dev/null
}

# Four tasks each, so that what is said once is not said once a task.
pair() {
	SUBMIT_USER=poppa-demo submit --colocate -n1 -o "$1.%j" --wrap "for i in 1 2 3; do $contend --line $line --seconds $2 --private 600 & done; srun $contend --line $line --seconds $2 --private 600; wait"
	one=$job
	SUBMIT_USER=poppa-guest submit --colocate -n1 -o "$1.%j" --wrap "srun $contend --line $line --seconds $2 --private 600"
	two=$job
}

cp "$conf" "$conf.saved"
on_exit rm -f "$recording" "$line" "$conf.saved"
on_exit ctl restart poppad
on_exit cp "$conf.saved" "$conf"
on_exit ctl reconfigure --reset
ctl reconfigure poppa_period=20ms poppa_overhead_max=0 >/dev/null
# A step that is started while slurmd reads its configuration anew fails.
ok "the node takes jobs" wait_until 30 as_user timeout 10 srun -n1 -w "$SANDBOX_REAL_NODE" true

# --- a recording ---
ok "a recording of two jobs is made" eval \
	'"$build/tests/gen/shutterlog_gen" --seed 3 --phases 1 --d-min 0.3 --d-max 0.6 --length 60s --late 0 "$recording" >/dev/null'
recorded=$(poppa estimate --json "$recording" | jq -c '[.jobs[].degradation] | sort')
counter Counter=replay "ReplayLog=$recording"
pair counters 400
ok "two innocent jobs run" eval 'wait_running "$one" && wait_running "$two"'
wait_until 20 all_work 5 "$contend --line $line"
ok "whose progress comes from the recording" \
	wait_until 90 holds '[.jobs[] | select(.backend == "replay" and .counted_tasks == .tasks)] | length == 2'
ok "shutters read it" wait_until 60 holds '[.jobs[] | select(.used >= 40)] | length == 2'
played=$(status '[.jobs[].degradation] | sort | tojson')
diag "recorded $recorded, played $played"
is "and find its degradations, though the jobs have none" \
	"$(jq -n --argjson a "$recorded" --argjson b "$played" '[$a, $b] | transpose | map((.[0] - .[1]) | fabs < 0.05) | all')" true
like "the doctor objects" "$(poppa doctor -N "$SANDBOX_REAL_NODE" 2>&1)" 'FAIL +counter replay .*instead of reading its jobs'

counter Counter=replay
ok "a recording that is not named is asked for" wait_until 60 logged 'counter replay: .*ReplayLog=FILE'
sleep 3
is "once, however many tasks there are" "$(count_logged 'counter replay')" 1

# --- a PMU ---
counter Counter=perf
if poppa doctor -N "$SANDBOX_REAL_NODE" 2>&1 | grep -q 'usable here:.*perf'; then
	ok "perf counts on this machine's PMU" \
		wait_until 20 holds '[.jobs[] | select(.backend == "perf")] | length == 2'
else
	ok "a PMU that is missing is reported, with the fix" wait_until 60 logged 'warning: counter perf: .*passed through'
	sleep 3
	is "once, however many tasks there are" "$(count_logged 'counter perf')" 1
	is "and nothing is counted" "$(status '[.jobs[].counted_tasks] | add')" 0
fi

# --- an event that nobody knows ---
counter Counter=perf PerfEvent=perf::NO_SUCH_EVENT
ok "an unknown event is reported by its name, with the key" \
	wait_until 60 logged 'counter perf: .*perf::NO_SUCH_EVENT.*PerfEvent'

# --- a function whose calls would be dear ---
counter Counter=uprobe "Uprobe=libc.so.6:getpid"
ok "a function that would have to be single-stepped is refused" \
	wait_until 60 logged 'counter uprobe: .*getpid.*single-step'
end_jobs "$one" "$two"
done_testing
