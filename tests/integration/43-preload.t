#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# heartbeat=auto in plugstack.conf: MPI programs of co-located jobs are measured without a script of the site.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
program=$build/tests/unit/heartbeat/waiting
# Where configure was told: the sandbox may have installed the suite elsewhere.
lib=$(grep -a -o -m1 '/[[:print:]]*/libpoppa-heartbeat-mpi\.so' \
	"$(find "$POPPA_SANDBOX/usr" -name spank_colocate.so -print -quit)")
stack=$POPPA_SANDBOX/etc/plugstack.conf
[ -e "$lib" ] || bail_out "libpoppa-heartbeat-mpi.so is not installed where the plugin looks for it: ${lib:-nowhere}"
tmp=$(mktemp -d)
chmod 777 "$tmp"
on_exit rm -rf "$tmp"

# heartbeat VALUE: what the next step's slurmstepd reads.
cp -p "$stack" "$tmp/saved"
on_exit cp -p "$tmp/saved" "$stack"
heartbeat() {
	sed "s|spank_colocate.so.*|spank_colocate.so${1:+ heartbeat=$1}|" "$tmp/saved" >"$stack.new"
	mv "$stack.new" "$stack"
}
preload_of() { # preload_of OPTION... : LD_PRELOAD of a task
	as_user srun -Q -n1 "$@" sh -c 'echo "$LD_PRELOAD"' 2>&1
}

is "without it nobody gets the library" "$(preload_of --colocate)" ""
heartbeat auto
is "with it a co-located task does" "$(preload_of --colocate)" "$lib"
is "another job's does not" "$(preload_of)" ""
is "what the user preloads comes first" \
	"$(as_user env LD_PRELOAD=libm.so.6 srun -Q --colocate -n1 sh -c 'echo "$LD_PRELOAD"')" "libm.so.6:$lib"
is "who has it already has it once" \
	"$(as_user env LD_PRELOAD="$lib" srun -Q --colocate -n1 sh -c 'echo "$LD_PRELOAD"')" "$lib"
is "POPPA_HEARTBEAT_MPI=no keeps it out" "$(preload_of --colocate --export=ALL,POPPA_HEARTBEAT_MPI=no)" ""
is "other programs say nothing of it" "$(as_user srun -Q --colocate -n1 sh -c 'ls / >/dev/null; echo fine' 2>&1)" fine
SUBMIT_USER=poppa-demo submit --colocate -n1 -o nested.%j --wrap 'echo "$LD_PRELOAD"; srun sh -c "echo \$LD_PRELOAD"'
wait_end "$job"
is "a batch script has it, and its steps have it once" "$(cat "$(home_of poppa-demo)/nested.$job")" "$lib"$'\n'"$lib"
heartbeat off
is "heartbeat=off is as without it" "$(preload_of --colocate)" ""
ctl reconfigure stripe_default=real >/dev/null
on_exit ctl reconfigure --reset
heartbeat auto
is "a job that the site has opted in has it, too" "$(preload_of)" "$lib"
ctl reconfigure --reset

# What is linked with one kind of MPI, by name.
if [ -x "$program" ]; then
	for value in openmpi mpich; do
		heartbeat $value
		is "heartbeat=$value and a shell" "$(preload_of --colocate)" "$lib"
		# The dynamic loader tells what it loads, and the program is not run.
		is "heartbeat=$value and a program of Open MPI" \
			"$(as_user srun -Q --colocate -n1 --export=ALL,LD_TRACE_LOADED_OBJECTS=1 "$program" 2>/dev/null | grep -c -F "$lib")" \
			"$([ $value = openmpi ] && echo 1 || echo 0)"
	done
else
	skip "configure found no mpicc" "programs of one kind of MPI"
fi

# A mistake in plugstack.conf.
log=$(ctl log slurmd)
complaints() {
	grep -c 'spank_colocate.so in plugstack.conf: heartbeat=on is unknown: choose one of off, auto' "$log"
}
before=$(complaints)
heartbeat on
ctl restart slurmd
wait_until 60 nodes_answer
is "slurmd's log names a bad value" "$(complaints)" $((before + 1))
is "no user sees it, and the plugin works as without" "$(preload_of --colocate)" ""
sed -i 's|heartbeat=on|hartbeat=auto|' "$stack"
is "nor with an unknown argument" "$(preload_of --colocate)" ""
is "sbatch goes on" "$(as_user sbatch --test-only --colocate -n1 --wrap true 2>&1 | grep -c -i error)" 0
heartbeat auto
ctl restart slurmd
wait_until 60 nodes_answer

# Hostile programs: each fails by itself, and the node goes on.
head -c 100 "$build/poppa" >"$tmp/cut"
{ head -c 64 "$build/poppa"; head -c 4096 /dev/zero | tr '\0' '\377'; } >"$tmp/counts"
mkfifo "$tmp/fifo"
printf '#!/nonexistent\n' >"$tmp/script"
install -m 111 "$(type -P true)" "$tmp/unreadable"
chmod 755 "$tmp/cut" "$tmp/counts" "$tmp/fifo" "$tmp/script"
for file in cut counts fifo script .; do
	as_user timeout -k 5 60 srun -Q --colocate -n1 "$tmp/$file" >/dev/null 2>&1 </dev/null
	status=$?
	ok "a program that is none ($file) fails, and soon" test "$status" != 0 -a "$status" != 124 -a "$status" != 137
done
ok "one that cannot be read runs" as_user srun -Q --colocate -n1 "$tmp/unreadable"
is "the node runs the next job" "$(preload_of --colocate)" "$lib"

# Two jobs of two ranks each, by srun and by mpirun, whose workers contend for a line of this file.
if [ ! -x "$program" ]; then
	skip "configure found no mpicc" "MPI programs are measured"
	done_testing
	exit
fi
line=/dev/shm/poppa-test-43.$$
on_exit rm -f "$line"
: >"$line"
chmod 666 "$line"
ctl reconfigure poppa_period=50ms >/dev/null
SUBMIT_USER=poppa-demo submit --colocate -n1 -o mpirun.%j --wrap "mpirun --oversubscribe --bind-to none -n 2 $program $line"
by_mpirun=$job
SUBMIT_USER=poppa-guest submit --colocate -n1 -o srun.%j --wrap "srun --mpi=pmix --overcommit -n2 $program $line"
by_srun=$job
ok "two co-located MPI jobs run" eval 'wait_running "$by_mpirun" && wait_running "$by_srun"'
wait_until 20 all_work 4 "$program $line"
for how in mpirun srun; do
	id=by_$how
	ok "both ranks of $how publish" \
		wait_until 30 holds "any(.jobs[]; .job == ${!id} and .backend == \"heartbeat\" and .counted_tasks == 2)"
	ok "what they publish can be used ($how)" wait_until 60 holds "any(.jobs[]; .job == ${!id} and .used > 0)"
done
# Slurm's way: ranks that are killed leave files in /dev/shm.
scancel "$by_mpirun" "$by_srun"
wait_end "$by_mpirun"
wait_end "$by_srun"
is "the programs' output is their own" \
	"$(cat "$(home_of poppa-demo)/mpirun.$by_mpirun" "$(home_of poppa-guest)/srun.$by_srun" | grep -c poppa)" 0
done_testing
