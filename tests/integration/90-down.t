#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A second sandbox beside the first: it boots, survives a crash, and leaves nothing behind.
. "$(dirname "$0")/lib.sh"

first_conf=$SLURM_CONF
second=$POPPA_SANDBOX/second
sandbox=$tree/contrib/sandbox

second() {
	local script=$1
	shift
	env -u SLURM_CONF -u POPPA_CONF POPPA_SANDBOX="$second" POPPA_SANDBOX_BUILD="${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}" \
		"$sandbox/$script" "$@"
}

on_exit rm -rf "$second"
on_exit second down

ok "boots beside the first" second up
ok "a second up finds it running" second up
like "its nodes have names" "$(second env sinfo -h -p real -o %N)" "^n[b-k]?0$"
unlike "of their own" "$(second env sinfo -h -p real -o %N)" "^$SANDBOX_REAL_NODE$"
second env -u poppa-demo sbatch --wrap 'setsid sleep 987 & sleep 987' >/dev/null
second env -u poppa-demo sbatch -p fake -N2 --wrap 'setsid sleep 987 & srun sleep 987' >/dev/null
two_jobs_run() {
	[ "$(second env squeue -h -t running | wc -l)" = 2 ]
}
ok "jobs run on it" wait_until 30 two_jobs_run
for name in munged slurmctld slurmd mariadb "slurmd-$(second env sh -c 'echo $SANDBOX_FAKE_PREFIX')2"; do
	ok "kill -9 of $name" second ctl kill -KILL "$name"
done
node=$(second env sh -c 'echo $SANDBOX_REAL_NODE' 2>/dev/null)
ok "up cleans up after the crash and boots again" second up
second env -u poppa-demo sbatch --wrap 'sleep 987' >/dev/null
ok "down" second down
ok "down again" second down

is "no process of it is left" "$(grep -l -s "${second%d}[d]" /proc/[0-9]*/environ /proc/[0-9]*/cmdline | xargs)" ""
is "no mount" "$(grep -F "$second" /proc/self/mounts)" ""
is "no cgroup" "$(find /sys/fs/cgroup -maxdepth 3 -name "*$node*" 2>/dev/null)" ""
is "no socket" "$(grep -F "$second" /proc/net/unix)" ""
is "nothing but logs, programs and homes in its directory" \
	"$(find "$second" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | xargs)" "home lock log usr"
is "the first one never noticed" "$(SLURM_CONF=$first_conf scontrol ping | grep -c 'is UP')" 1
done_testing
