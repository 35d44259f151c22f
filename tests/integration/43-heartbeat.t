#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# MPI programs that publish nothing themselves: poppad measures them by the preload, however they got it.
. "$(dirname "$0")/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
program=$build/tests/unit/heartbeat/waiting
lib=$(find "$POPPA_SANDBOX/usr" -name libpoppa-heartbeat-mpi.so)
[ -x "$program" ] && [ -n "$lib" ] || skip_all "configure found no mpicc"

# Two jobs of two ranks each, whose workers contend for a line of this file.
line=/dev/shm/poppa-test-43.$$
on_exit rm -f "$line"
: >"$line"
chmod 666 "$line"
ctl reconfigure poppa_period=50ms >/dev/null
on_exit ctl reconfigure --reset

run="mpirun --oversubscribe --bind-to none -n 2"
SUBMIT_USER=poppa-demo submit --colocate -n1 -o plain.%j --wrap "$run $program $line"
plain=$job
SUBMIT_USER=poppa-guest submit --colocate -n1 -o preload.%j --wrap "$run -x LD_PRELOAD=$lib $program $line"
preload=$job
ok "two co-located MPI jobs run" eval 'wait_running "$plain" && wait_running "$preload"'
wait_until 20 all_work 4 "$program $line"
ok "with the preload both ranks publish" \
	wait_until 30 holds "any(.jobs[]; .job == $preload and .backend == \"heartbeat\" and .counted_tasks == 2)"
unlike "without it none does" "$(status ".jobs[] | select(.job == $plain) | .backend")" heartbeat
ok "what they publish can be used" wait_until 60 holds "any(.jobs[]; .job == $preload and .used > 0)"
# Slurm's way: ranks that are killed leave files in /dev/shm.
scancel "$plain" "$preload"
wait_end "$plain"
wait_end "$preload"
is "the program's output is its own" \
	"$(grep -v 'slurmstepd\|CANCELLED\|^ *$' "$(home_of poppa-guest)/preload.$preload" | grep -c poppa)" 0

# --- a site's TaskProlog, as the manual page has it ---
conf=$POPPA_SANDBOX/etc/slurm.conf prolog=$POPPA_SANDBOX/etc/task-prolog
sed -n '/^#!\/bin\/sh$/,/^\.EE$/p' "$tree/src/heartbeat/poppa-heartbeat-mpi.7" | grep -v '^\.' |
	sed -e 's|\\-|-|g' -e "s|^lib=.*|lib=$lib|" >"$prolog"
chmod 755 "$prolog"
cp "$conf" "$conf.saved-43"
put_back() {
	[ -e "$conf.saved-43" ] || return 0
	mv "$conf.saved-43" "$conf"
	rm -f "$prolog"
	scontrol reconfigure
}
on_exit put_back
echo "TaskProlog=$prolog" >>"$conf"
scontrol reconfigure
# A step that starts while slurmd takes the change up may fail: a first one finds out when it has.
ready() { [ "$(as_user srun -Q --colocate -n1 printenv LD_PRELOAD 2>/dev/null)" = "$lib" ]; }
ok "TaskProlog can give it to every co-located task" wait_until 30 ready
is "and leaves the other jobs' alone" "$(as_user srun -Q -n1 sh -c 'echo "none: $LD_PRELOAD"')" "none: "
is "what the user preloads stays behind it" \
	"$(as_user env LD_PRELOAD=libm.so.6 srun -Q --colocate -n1 printenv LD_PRELOAD)" "$lib:libm.so.6"
put_back
done_testing
