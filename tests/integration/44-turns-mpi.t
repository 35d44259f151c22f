#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An MPI job of two nodes that talks over TCP all the time goes through slices of a second, the longest that there are.
# POPPA_TURN_SECONDS: for so long, 25 by default.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

PROGRAMS=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/tests/integration
freezer=/sys/fs/cgroup/freezer
[ -w "$freezer/cgroup.procs" ] || skip_all "needs a cgroup v1 freezer at $freezer"
seconds=${POPPA_TURN_SECONDS:-25}
length=$((seconds + 15))
[ -x "$PROGRAMS/pingpong" ] || skip_all "no MPI compiler: pingpong was not built"

# TCP, and mpirun and its daemon on the other node look every second whether the other end is there: pingpong does so for
# what its ranks send each other, this for the rest. OpenMPI 4.1 has no other time-out of its own.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_oob_tcp_keepalive_time=1 OMPI_MCA_oob_tcp_keepalive_intvl=1 OMPI_MCA_oob_tcp_keepalive_probes=2
submit -p fake -N2 -n2 --ntasks-per-node=1 -o "$(home_of poppa-demo)/pingpong.%j" \
	--wrap "mpirun -np 2 --map-by node $PROGRAMS/pingpong $length"
ok "an MPI job of two nodes runs" wait_running "$job"
ranks() { pgrep -f "^$PROGRAMS/pingpong $length"; }
both_there() { [ "$(ranks | wc -l)" = 2 ]; }
ok "with a rank on each" wait_until 30 both_there
# tree PID: the process, and all below it.
tree() {
	local p
	echo "$1"
	for p in $(pgrep -P "$1"); do tree "$p"; done
}
# Those nodes of the sandbox have no cgroups. The job is held with its launchers, as poppad does it: on the first node mpirun
# with its sruns and a rank, on the other one OpenMPI's daemon and a rank.
step=()
launchers=()
for pid in $(ranks); do
	step+=("$freezer/pingpong-$$-${#step[@]}")
	mkdir "${step[-1]}"
	on_exit rmdir "${step[-1]}"
	launcher=$(ps -o ppid= -p "$pid")
	launchers+=("$(cat "/proc/${launcher// /}/comm")")
	for p in $(tree "${launcher// /}"); do echo "$p" >"${step[-1]}/cgroup.procs"; done
done
on_exit eval 'scancel "$job"; wait_end "$job"'
is "the job has a launcher on each node" "$(printf '%s\n' "${launchers[@]}" | sort | xargs)" "mpirun orted"
# Where a job has other co-runners on another node, its nodes do not agree on all slices. So they do not here.
turn=(1000 900)
held=()
for n in 0 1; do
	"$PROGRAMS/turns_kill" --turn "${turn[n]}" --for "$seconds" "${step[n]}" >"$POPPA_SANDBOX/tmp/${step[n]##*/}" 2>&1 &
	held+=($!)
done
for n in 0 1; do
	wait "${held[n]}"
	is "node $n: nothing stays held" "$?" 0
	said=$(cat "$POPPA_SANDBOX/tmp/${step[n]##*/}")
	diag "$said"
	cmp_num "node $n: it was held in slices" "$(sed -n 's/.*slices=\([0-9]*\).*/\1/p' <<<"$said")" '>=' $((seconds / 4))
	rm -f "$POPPA_SANDBOX/tmp/${step[n]##*/}"
done
ok "the job ends" wait_end "$job" 60
is "by itself, and well" "$(job_field "$job" JobState) $(job_field "$job" ExitCode)" "COMPLETED 0:0"
out=$(cat "$(home_of poppa-demo)/pingpong.$job")
diag "$(grep ^rank <<<"$out")"
is "with all that was sent, on connections that were looked after" \
	"$(grep -c 'rank=[01] kept_alive=[1-9][0-9]* rounds=[1-9][0-9]* wrong=0$' <<<"$out")" 2
# srun tells that it binds nobody here, and that mpirun ends its daemon.
is "and nothing else to say" "$(grep -v -E '^(rank=|srun: (cluster configuration lacks|Job step aborted))' <<<"$out")" ""
done_testing
