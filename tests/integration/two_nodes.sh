# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Two nodes with the same pair of jobs each, without Slurm: registrations and freezer cgroups of the test's own. A test
# sources it after tap.sh, which may be by lib.sh.
#
#   node LETTER SEED SETTINGS CMD...   begins the poppad of that node, with these settings. The seeds of its jobs, 1 and 2,
#                                      begin with SEED. Each job has one task, CMD and the job's number less one; it goes on
#                                      where the node has been begun before
#   stop_poppads                       ends both
#   step_of LETTER JOB                 the freezer of that job's task
#   $dir                               a folder for them: LETTER/log has the shutter log, LETTER/poppad.err what it says
set -u

build=${POPPA_SANDBOX_BUILD:-${POPPA_SANDBOX:-$PWD}/build}
[ -x "$build/poppad" ] || build=$PWD
[ -x "$build/poppad" ] || skip_all "no poppad in $build: run it in the build folder, or set POPPA_SANDBOX_BUILD"
freezer=/sys/fs/cgroup/freezer
[ "$(id -u)" = 0 ] || skip_all "needs root"
[ -w "$freezer/cgroup.procs" ] || skip_all "needs a cgroup v1 freezer at $freezer"

dir=$(mktemp -d /tmp/poppa-nodes.XXXXXX)
name=nodestest$$
pids=()
daemons=()

stop_poppads() {
	local p
	for p in "${daemons[@]}"; do kill "$p"; done
	for p in "${daemons[@]}"; do wait "$p"; done
	daemons=()
} 2>/dev/null

step_of() {
	echo "$freezer/slurm_$name$1/uid_0/job_$2/step_0"
}

nodes_end() {
	local n j
	stop_poppads
	kill -9 "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	for n in a b; do
		for j in 1 2; do rmdir "$(step_of $n $j)" "$(dirname "$(step_of $n $j)")"; done
		rmdir "$freezer/slurm_$name$n/uid_0" "$freezer/slurm_$name$n"
	done 2>/dev/null
	rm -rf "$dir"
}

node() {
	local n=$1 home=$dir/$1 seed=$2 settings=$3 j
	shift 3
	mkdir -p "$home/run/jobs"
	printf '%s\n' "RunDir=$home/run" "SpoolDir=$home/spool" "ShutterLog=$home/log" LedgerUser=root >"$home/poppa.conf"
	printf '%s\n' ClusterName=c "NodeName=$name$n" SlurmctldHost=localhost CgroupMountpoint=/sys/fs/cgroup \
		"PrEpParameters=\"$settings,poppa_ledger=localhost:1\"" >"$home/run/cluster.conf"
	for j in 1 2; do
		if [ ! -d "$(step_of "$n" $j)" ]; then
			mkdir -p "$(step_of "$n" $j)"
			"$@" $((j - 1)) >/dev/null &
			pids+=($!)
			echo $! >"$(step_of "$n" $j)/cgroup.procs"
		fi
		printf '%s\n' "JobId=$j" Restart=0 Uid=0 "Registered=$(date +%s)" "Seed=$seed$(printf %030d "$j")" >"$home/run/jobs/$j.0"
	done
	"$build/poppad" -N "$name$n" -c "$home/poppa.conf" 2>>"$home/poppad.err" &
	daemons+=($!)
}
