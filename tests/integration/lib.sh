# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the integration tests share: the running sandbox's environment, jobs by their ids, and TAP.
#
# A test is an executable tests/integration/NN-NAME.t that sources this file first. It needs a running
# sandbox (contrib/sandbox/up), can be run alone and leaves the cluster as it was: jobs that submit()
# started are cancelled at its end, and daemons and settings it changed must be put back with on_exit.
#
#   as_user CMD...             runs CMD as poppa-demo; as USER CMD... as USER
#   submit ARG...              runs sbatch as poppa-demo, or as SUBMIT_USER; the job id is in $job
#   wait_running ID [SECONDS]  waits until the job runs
#   wait_end ID [SECONDS]      waits until the job has ended and left its nodes
#   job_field ID KEY           one field of "scontrol show job"
#   sacct_field ID FIELD       one field of the job in sacct
#   status FILTER              applies jq's FILTER to the status of the real node's poppad, as root sees it
#   holds FILTER               succeeds when the result is true
#   ctl ARG...                 contrib/sandbox/ctl; is_gone DAEMON succeeds when the daemon does not run
#   earlier_prices             has slurmctld make the prices of all that has run, so that it learns nothing of that later on
#   nothing_waits              true when no run waits for its price; runs_that_wait: "JOB START" of each that does
#   forget_pairs               lets partners be chosen without what earlier tests have taught, until the test ends
#   saves_jobs                 waits until slurmctld has saved what has changed of its jobs, which takes five seconds
#   ask_poppad JSON [USER]     the real node's poppad answers one line with one line
#   on_exit CMD...             runs CMD when the test ends, however it ends; the last one is run first

tests_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tree=$(dirname "$tests_dir")
# shellcheck source=tests/tap.sh
. "$tests_dir/tap.sh"

if [ "${POPPA_TEST_INSIDE:-}" != "$$" ]; then
	"$tree/contrib/sandbox/env" true || bail_out "no sandbox runs: start one with contrib/sandbox/up"
	export POPPA_TEST_INSIDE=$$
	exec "$tree/contrib/sandbox/env" bash "$0" "$@"
fi

# Commands that fail must not end the test: points are counted, not exit statuses.
set +e -u -o pipefail

jobs_submitted=()
exit_commands=()
job=

at_exit() {
	local i status=$?
	for ((i = ${#exit_commands[@]} - 1; i >= 0; i--)); do
		eval "${exit_commands[i]}" >/dev/null 2>&1
	done
	if [ "${#jobs_submitted[@]}" -gt 0 ]; then
		end_jobs "${jobs_submitted[@]}" >/dev/null 2>&1
	fi
	[ "$tap_done" = yes ] || {
		diag "the test ended before its last line"
		exit 1
	}
	exit "$status"
}
trap at_exit EXIT

on_exit() {
	exit_commands+=("$(printf '%q ' "$@")")
}

as() {
	local user=$1
	shift
	"$tree/contrib/sandbox/env" -u "$user" "$@"
}

as_user() {
	as poppa-demo "$@"
}

ctl() {
	"$tree/contrib/sandbox/ctl" "$@"
}

is_gone() {
	! ctl pid "$1" >/dev/null 2>&1
}

status() {
	poppa status -N "$SANDBOX_REAL_NODE" --json | jq -r "$1"
}

# What became of all shutters so far, as JSON, by status; and what was added between two such texts, without zeros.
SHUTTERS='.totals | {shutters} + .discarded | tostring'
shutters_between() {
	jq -nc --argjson a "$1" --argjson b "$2" '$b | with_entries(.value -= ($a[.key] // 0)) | with_entries(select(.value != 0))'
}

holds() {
	[ "$(status "$1")" = true ]
}

# Where nothing is saved in that time nothing was left to save.
saves_jobs() {
	local mark
	mark=$(mktemp)
	wait_until 8 test "$POPPA_SANDBOX/state/slurmctld/job_state" -nt "$mark"
	rm -f "$mark"
}

ask_poppad() {
	as "${2:-root}" perl -MIO::Socket::UNIX -e '
		my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "$ARGV[0]: $!\n";
		print $s "$ARGV[1]\n"; $s->flush; print scalar <$s>' "$POPPA_SANDBOX/run/poppa-$SANDBOX_REAL_NODE/poppad.sock" "$1"
}

submit() {
	local out
	job=
	out=$(as "${SUBMIT_USER:-poppa-demo}" sbatch --parsable "$@") || return
	job=${out%%;*}
	jobs_submitted+=("$job")
}

# job_field ID KEY: prints the value up to the next KEY=, so a comment keeps its blanks.
job_field() {
	scontrol -d show job "$1" 2>/dev/null |
		awk -v key="$2" '{
			n = split($0, part, " ")
			for (i = 1; i <= n; i++)
				if (index(part[i], key "=") == 1) {
					value = substr(part[i], length(key) + 2)
					while (++i <= n && part[i] !~ /^[A-Z][A-Za-z:\/]*=/) value = value " " part[i]
					print value
					exit
				}
		}'
}

# run_again ID: lets a requeued job start. Slurm holds it back for two minutes, because a node refuses a job that starts
# in the same second in which its last run ended there. Fails when slurmctld does not take the update within 30 s: one
# that has just started changes nothing of a job until slurmdbd has told it the job's number.
run_again() {
	wait_until 30 sh -c "scontrol show job $1 | grep -q JobState=PENDING"
	sleep 2
	wait_until 30 scontrol update jobid="$1" StartTime=now
}

# nodes_answer: succeeds when every node can be given jobs. One that is returned to service has to register first.
nodes_answer() {
	! sinfo -h -N -o %T | grep -q -E '\*|unknown|down'
}

runs_that_wait() {
	jq -rn 'reduce (inputs | if type == "array" then .[] else . end) as $run ({};
			if $run.gone then del(.["\($run.job) \($run.start)"]) else .["\($run.job) \($run.start)"] = 1 end) |
		keys[]' "$POPPA_SANDBOX/state/slurmctld/poppa_unsettled"
}
nothing_waits() {
	local runs
	[ -e "$POPPA_SANDBOX/state/slurmctld/poppa_unsettled" ] || return 0
	runs=$(runs_that_wait) && [ -z "$runs" ]
}
earlier_prices() {
	nothing_waits && return
	ctl reconfigure poppa_settle_timeout=1s
	wait_until 120 nothing_waits
	ctl reconfigure --reset
}

forget_pairs() {
	local history=$POPPA_SANDBOX/state/slurmctld/poppa_pairs
	earlier_prices
	[ -e "$history" ] || return 0
	ctl stop slurmctld
	mv "$history" "$history.kept"
	on_exit mv "$history.kept" "$history"
	ctl start slurmctld
	wait_until 60 nodes_answer
}

# job_tres ID: the TRES that were allocated. Newer releases of Slurm show them apart from those asked for.
job_tres() {
	local tres
	tres=$(job_field "$1" AllocTRES)
	echo "${tres:-$(job_field "$1" TRES)}"
}

job_runs() {
	[ "$(job_field "$1" JobState)" = RUNNING ]
}

job_ended() {
	case $(job_field "$1" JobState) in
	COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | OUT_OF_MEMORY | DEADLINE | BOOT_FAIL | PREEMPTED) return 0 ;;
	*) return 1 ;;
	esac
}

wait_running() {
	wait_until "${2:-30}" job_runs "$1" && return 0
	diag "job $1 did not start: $(job_field "$1" JobState) $(job_field "$1" Reason)"
	return 1
}

# at_exit calls it, and there a return without an argument has the status of the command before the trap.
all_ended() {
	local id
	for id; do job_ended "$id" || return 1; done
}

# kill_steps ID...: kills the first step of these jobs, and their scripts end by themselves. Slurm itself takes three seconds
# to end a job that has processes. Do not use it for MPI programs of several ranks: they leave files in /dev/shm.
kill_steps() {
	local id steps=()
	# scancel tries for a minute and a half to reach a step of a job that waits, so only jobs that run are named.
	for id in $(squeue -h -t running -j "$(IFS=,; echo "$*")" -o %A 2>/dev/null); do steps+=("$id.0"); done
	[ "${#steps[@]}" = 0 ] || scancel -s KILL "${steps[@]}" 2>/dev/null
}

# end_jobs ID...: ends jobs and waits until they have ended.
end_jobs() {
	local id
	kill_steps "$@"
	wait_until 1 all_ended "$@" || scancel "$@" 2>/dev/null
	for id; do wait_end "$id" 90; done
}

wait_end() {
	wait_until "${2:-60}" job_ended "$1" && return 0
	diag "job $1 did not end: $(job_field "$1" JobState) $(job_field "$1" Reason)"
	return 1
}

sacct_field() {
	sacct -X -n -P -j "$1" -o "$2" | head -n 1
}

# favour PID...: these run before all else that this machine does, but for poppad: no user can have a job of a higher
# priority. The kernel shares processors out among sessions first.
favour() {
	local pid
	for pid; do
		[ ! -e "/proc/$pid/autogroup" ] || echo -10 >"/proc/$pid/autogroup"
		renice -n -10 -p "$pid" >/dev/null 2>&1
	done
	return 0
}

# all_work COUNT COMMAND: favours the processes whose command line begins so; fails while there are fewer.
all_work() {
	local pids
	mapfile -t pids < <(pgrep -f "^$2")
	[ "${#pids[@]}" -ge "$1" ] && favour "${pids[@]}"
}

home_of() {
	echo "$POPPA_SANDBOX/home/${1:-poppa-demo}"
}

# metric NAME [LABEL]: values of a metric in what poppa metrics prints of this machine's node, as root.
metric() {
	poppa metrics -N "$SANDBOX_REAL_NODE" 2>/dev/null | sed -n "s/^$1\({[^}]*${2:-}[^}]*}\)\{0,1\} //p"
}

# The test before may have started slurmctld anew, and then the nodes have to register first.
wait_until 60 nodes_answer || diag "not every node answers: $(sinfo -h -N -o '%N %T' | xargs)"
