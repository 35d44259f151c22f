# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the tests of lanes share: jobs on the fake nodes, and what they have there. A test sources it after lib.sh.
#
#   NODE                       the fake nodes' names are this and 1 to 4
#   EVEN, ODD                  the cores of their two lanes, as cores_of prints them
#   sleeper NAME OPTION...     a job that sleeps there; its id is in $job. running: and waits until it runs
#   sleeper_options            what each of them has
#   state ID                   as squeue has it, empty when it is gone; is_state ID [STATE]
#   waits ID                   it waits although the schedulers have looked at it
#   nodes_of ID, cores_of ID   what it has; mark_of ID: what SystemComment says of that
#   clear_jobs                 ends all jobs there
#   HISTORY                    the pair history's file
#   teach_pairs                slurmctld starts anew with the history on stdin; for forget_lesson at the end
#   met CLASS CLASS D          its lines for two classes that have lost D beside each other, without evidence of several runs
#   keep_conf                  keeps slurm.conf as it is now; put_conf_back gives that back, as forget_lesson does
#   forget_lesson              ends all jobs there, and puts the history and the settings back

# shellcheck source=tests/integration/schedulers.sh
. "$tests_dir/integration/schedulers.sh"

NODE=$SANDBOX_FAKE_PREFIX
EVEN=0,2,4,6,8,10,12,14
ODD=1,3,5,7,9,11,13,15
sleeper_options=()

sleeper() {
	local name=$1
	shift
	submit -p fake -J "$name" -o /dev/null "${sleeper_options[@]}" "$@" --wrap "exec sleep 3600"
}

running() {
	sleeper "$@"
	wait_running "$job"
}

state() { squeue -h -o %T -j "$1" 2>/dev/null; }
is_state() { [ "$(state "$1")" = "${2:-}" ]; }
waits() { looked_at "$1" && is_state "$1" PENDING; }
nodes_of() { squeue -h -o %N -j "$1" 2>/dev/null; }
cores_of() { scontrol -d show job "$1" | grep -o 'CPU_IDs=[^ ]*' | sort -u | cut -d= -f2 | xargs; }
mark_of() { job_field "$1" SystemComment; }

fake_idle() { [ "$(sinfo -h -p fake -N -t idle | wc -l)" = 4 ]; }
nothing_left() { [ -z "$(squeue -h -p fake)" ] && fake_idle; }
HISTORY=$POPPA_SANDBOX/state/slurmctld/poppa_pairs
taught=
teach_pairs() {
	ctl stop slurmctld </dev/null
	[ -n "$taught" ] || [ ! -e "$HISTORY" ] || cp -p "$HISTORY" "$HISTORY.before"
	taught=yes
	cat >"$HISTORY"
	ctl start slurmctld
	wait_until 60 nodes_answer
}
met() {
	local own
	own=$(id -u poppa-demo)
	printf "$own:%s\t$own:%s\t%s\t1000\t5\t$EPOCHSECONDS\n" "$1" "$2" "$3" "$2" "$1" "$3"
}
conf_kept=
keep_conf() {
	conf_kept=$(mktemp)
	cp -p "$SLURM_CONF" "$conf_kept"
}
put_conf_back() { cat "$conf_kept" >"$SLURM_CONF"; }
forget_lesson() {
	[ -z "$conf_kept" ] || put_conf_back
	rm -f "$conf_kept"
	clear_jobs
	is_gone slurmctld || ctl stop slurmctld
	[ -z "$taught" ] || rm -f "$HISTORY"
	[ ! -e "$HISTORY.before" ] || mv "$HISTORY.before" "$HISTORY"
	ctl start slurmctld
	ctl reconfigure --reset
	wait_until 60 nodes_answer
}

clear_jobs() {
	scancel -p fake
	wait_until 60 nothing_left
}
