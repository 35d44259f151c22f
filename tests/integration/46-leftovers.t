#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a user hides below a step outlives the job: who is still there is not measured beside it, and the bill says why.
. "$(dirname "$0")/lib.sh"
. "$tests_dir/integration/bill.sh"
. "$tests_dir/integration/lanes.sh"

node=$SANDBOX_REAL_NODE
jobs_of=/sys/fs/cgroup/freezer/slurm_$node/uid_$(id -u poppa-guest)
contend=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/contrib/workloads/contend
line=/dev/shm/poppa-test-46.$$
[ -w /sys/fs/cgroup/freezer/cgroup.procs ] || skip_all "cgroup version 2: Slurm kills a job's cgroups as a whole"

end_hidden() {
	local pids
	mapfile -t pids < <(find "$jobs_of" -name cgroup.procs -exec cat {} + 2>/dev/null)
	[ "${#pids[@]}" = 0 ] || kill -9 "${pids[@]}"
}
# Slurm has drained the node and leaves its cgroup there.
put_back() {
	end_hidden
	put_conf_back
	rm -f "$conf_kept" "$line"
	scontrol reconfigure
	wait_until 30 hidden_has_ended
	find "$jobs_of" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null
	scontrol update nodename="$node" state=resume 2>/dev/null
	ctl reconfigure --reset >/dev/null
	wait_until 60 nodes_answer
}
hidden_has_ended() { [ -z "$(cat "$jobs_of"/job_*/step_0/own/cgroup.procs 2>/dev/null)" ]; }
hidden_runs() { [ -n "$(cat "$jobs_of/job_$1/step_0/own/cgroup.procs" 2>/dev/null)" ]; }
logged() { grep -q "$1" "$POPPA_SANDBOX/log/poppad.log"; }
unmeasured_for() { status ".jobs[] | select(.job == $1) | .unmeasured_s | floor"; }
is_unmeasured() { [ "$(unmeasured_for "$1")" -gt "$2" ]; }
is_measured_again() {
	local before
	before=$(unmeasured_for "$1")
	sleep 3
	[ "$(unmeasured_for "$1")" = "$before" ]
}
is_drained() { sinfo -h -n "$node" -o %T | grep -q drain; }

keep_conf
on_exit put_back
sed -i 's/^UnkillableStepTimeout=.*/UnkillableStepTimeout=10/' "$SLURM_CONF"
scontrol reconfigure

# shellcheck disable=SC2016 # the job expands it
SUBMIT_USER=poppa-guest submit -w "$node" --colocate -n1 -J hides -o /dev/null --wrap 'srun sh -c '"'"'
	own=/sys/fs/cgroup/freezer$(sed -n s,^[0-9]*:freezer:,,p /proc/self/cgroup)/own
	mkdir $own && echo $$ >$own/cgroup.procs
	while :; do :; done'"'"
hides=$job
wait_running "$hides"
wait_until 20 hidden_runs "$hides"
SUBMIT_USER=poppa-demo submit -w "$node" --colocate -n1 -J stays -o stays.%j --wrap "srun $contend --line $line --seconds 120 --private 60"
stays=$job
wait_running "$stays"
wait_until 30 holds ".jobs | length == 2 and all(.tasks > 0)"
wait_until 30 is_measured_again "$stays"
ok "while it runs, its co-runner's time counts" is_measured_again "$stays"
scancel "$hides"
if wait_until 60 is_drained; then
	ok "what is hidden outlives the job" hidden_runs "$hides"
	wait_until 30 logged "job $hides of uid .* has ended and left processes"
	ok "poppad names the job that has left it" logged "job $hides of uid .* has ended and left processes"
	seen=$(unmeasured_for "$stays")
	wait_until 30 is_unmeasured "$stays" $((seen + 8))
	ok "its co-runner is not measured meanwhile" is_unmeasured "$stays" $((seen + 8))
	end_hidden
	wait_until 30 hidden_has_ended
	# It may rest for a minute.
	wait_until 120 is_measured_again "$stays"
	ok "when it has been ended, its co-runner is alone" is_measured_again "$stays"
	scancel "$stays"
	wait_settled "$stays"
	like "the bill names the job" "$(part "$stays")" "culprit=$hides"
else
	nok "Slurm has ended what was hidden" hidden_runs "$hides"
fi
done_testing
