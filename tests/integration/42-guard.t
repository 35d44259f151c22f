#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever happens to poppad, nothing that it stopped stays stopped. Without Slurm: see poppad_kill.c and
# turns_kill.c.
. "$(dirname "$0")/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
poppad=$(command -v poppad)
longest=0 kills=0 host=0 long=
# How often poppad is killed in each way.
kills_each=${KILLS:-200}

fact() {
	grep -o -E "(^| )$1=[0-9.]+" <<<"$out" | cut -d = -f 2
}

# blows NAME CAUSE METHOD TIMES [CGROUP]: nothing may be stuck, nor held for more than 50 ms, not counting time in
# which the machine did not let even those run that come before the guard.
blows() {
	local version=${5:-1} name status
	name="$4 times $1, with $3 and cgroup v$version"
	# shellcheck disable=SC2086
	out=$("$build/tests/integration/poppad_kill" --poppad "$poppad" --cause "$2" --method "$3" --kills "$4" --cgroup "$version" $long 2>&1)
	status=$?
	diag "$out"
	if [ "$status" = 77 ]; then
		skip "${out#skipped: }" "$name"
		return
	fi
	is "$name: nothing is stuck" "$status" 0
	[ "$status" = 0 ] || return
	is "$name: always resumed within 50 ms${long:+ more than a long block}" "$(fact over_50ms)" 0
	host=$((host + $(fact host_50ms)))
	# Where poppad hangs in the few instructions between its note of a call and the call nobody can tell whether it
	# was made, see poppad(8). That is one blow of many thousands.
	case $2 in stop | thread)
		cmp_num "$name: what its user stops then stays stopped, but for one at most" "$(fact woken)" '<=' 1
		;;
	esac
	if [ "$2" = kill ]; then
		cmp_num "$name: some of that was in a shutter" "$(fact caught_in_shutter)" '>' 0
		kills=$((kills + $4))
		longest=$(printf '%s\n' "$longest" "$(fact held_ms)" | sort -g | tail -n 1)
	fi
}

blows "nothing happens" none sigstop 40
control=$(fact held_ms)
blows "nothing happens" none freezer 40
control=$(printf '%s\n' "$control" "$(fact held_ms)" | sort -g | tail -n 1)
blows "killed" kill sigstop "$kills_each"
blows "killed" kill freezer "$kills_each"
blows "killed" kill freezer 100 2
diag "$kills kills: nothing was held for longer than $longest ms; where nobody was killed: $control ms"
blows "stopped by a signal" stop sigstop 25
blows "stopped by a signal" stop freezer 25
blows "stopped by a signal" stop freezer 10 2
blows "one of its threads hangs" thread sigstop 25
blows "one of its threads hangs" thread freezer 25
blows "killed with its guard, and repaired or started," both sigstop 25
blows "killed with its guard, and repaired or started," both freezer 25
blows "killed with its guard, and repaired or started," both freezer 25 2
blows "out of memory" oom sigstop 5
blows "out of memory" oom freezer 5
blows "its disk is full, killed with its guard and repaired" full sigstop 5
blows "its disk is full, killed with its guard and repaired" full freezer 5
blows "its clock is set" clock sigstop 10
blows "its clock is set" clock freezer 10

# Long blocks hold for 22 ms longer, and the guard gives them that.
long="--long 40"
blows "killed in long blocks" kill sigstop $((kills_each / 3))
blows "killed in long blocks" kill freezer $((kills_each / 3))
blows "stopped by a signal in long blocks" stop freezer 10
blows "one of its threads hangs in long blocks" thread freezer 10
long=

diag "$host times for more than 50 ms only because the machine itself stood still"

# --- whoever holds jobs for turns is killed ---
for options in "-n 60" "-n 20 -b"; do
	# shellcheck disable=SC2086
	out=$("$build/tests/integration/turns_kill" $options 2>&1)
	status=$?
	if [ "$status" = 77 ]; then
		skip "${out#skipped: }" "turns_kill $options"
		continue
	fi
	diag "$out"
	is "turns_kill $options: nothing stays held, and what was suspended stays so" "$status" 0
	is "turns_kill $options: nor for 50 ms more than its slice" "$(fact late)" 0
done

# --- the test itself ends early ---
# remains PID: the cgroups of that test.
remains() {
	find /sys/fs/cgroup -maxdepth 3 -name "*killtest$1*" 2>/dev/null
}
# frozen PID: looks for a second.
frozen() {
	perl -MTime::HiRes=usleep -e '
		for (1 .. 2000) {
			for (glob "/sys/fs/cgroup/freezer/slurm_killtest$ARGV[0]/uid_0/job_*/step_0/freezer.state") {
				open my $f, "<", $_ or next;
				exit 0 if <$f> =~ /^FR/;
			}
			usleep 500;
		}
		exit 1' "$1"
}
name="ended in the midst of a shutter, this test leaves no cgroup, and so nothing in one"
if [ -e /sys/fs/cgroup/freezer/cgroup.procs ]; then
	"$build/tests/integration/poppad_kill" --poppad "$poppad" --method freezer --kills 1000 >/dev/null 2>&1 &
	pid=$!
	on_exit kill "$pid"
	ok "another such test comes to a shutter" wait_until 30 frozen "$pid"
	kill "$pid"
	wait "$pid"
	is "$name" "$(remains "$pid")" ""
else
	skip "there is no freezer of cgroup v1" "$name"
fi
done_testing
