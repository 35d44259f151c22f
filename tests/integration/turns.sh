# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the tests of turns share: pairs of jobs that slow each other down, and looks at who is held. A test sources it after
# bill.sh.
#
#   turns_begin              short turns, and shutters that a program can show which is mostly asleep
#   pair SECONDS [PEACE]     two such jobs, ${pair[0]} and ${pair[1]}; from PEACE seconds on they suit each other
#   pair_runs                waits for both, and lets them run before all else that this machine does
#   turning, beside          true while the jobs of the node take turns, or do not
#   out ID NAME              what a job printed at its end: progress, seconds
#   off_by ID                how far what the program of one of the pair, settled, has lost is from the interval in its bill
#   ran_for SECONDS          true when so much time has passed since $began, in seconds of $SECONDS
#   end_programs ID...       has their programs say what they have made, and waits until the jobs have ended
#   slices                   how many slices there have been
#   frozen ID                true where the freezer of its step is, in which Slurm and poppad write; anything_held: any step's
#   looks N [SECONDS]        of N looks, a millisecond or more apart, as many as that time has: how often the one and the other was frozen, and both

PROGRAMS=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/tests/integration
FILE=$(home_of poppa-demo)/quarrel
LOSS=0.75 # of each job beside the other one
CGROUP=/sys/fs/cgroup/freezer/slurm_$SANDBOX_REAL_NODE/uid_$(id -u poppa-demo)

# Shutters long enough for a program that is mostly asleep.
turns_settings=(poppa_period=300ms poppa_shutter=20ms poppa_overhead_max=0 poppa_min_blocks=4 poppa_turn=300ms)
turns_begin() {
	ctl reconfigure "${turns_settings[@]}" poppa_turns=yes
	on_exit ctl reconfigure --reset
	on_exit rm -f "$FILE"
}

pair() {
	local i
	for i in 0 1; do
		submit -n1 --colocate -J turns$i -o "$(home_of poppa-demo)/turns-%j.out" --wrap "srun $PROGRAMS/quarrel $FILE $i $1 $LOSS ${2:-}"
		pair[i]=$job
	done
}
pair_runs() { wait_running "${pair[0]}" && wait_running "${pair[1]}" && wait_until 20 all_work 2 "$PROGRAMS/quarrel $FILE "; }
out() { sed -n "s/.*$2=\([0-9.]*\).*/\1/p" "$(home_of poppa-demo)/turns-$1.out"; }
off_by() {
	local id=$1 other=${pair[0]}
	[ "$other" != "$id" ] || other=${pair[1]}
	# D leaves out what shutters held, for which nobody pays, and what the program could do while they held the other one.
	awk -v p="$(out "$id" progress)" -v s="$(out "$id" seconds)" -v z="$(value "$(part "$id")" stopped)" -v l="$LOSS" \
		-v ci="$(value "$(part "$id")" ci)" -v os="$(out "$other" seconds)" -v oz="$(value "$(part "$other")" stopped)" \
		'BEGIN {
			if (split(ci, end, "[.][.]") != 2) {
				print 1
				exit
			}
			lost = 1 - (p - l * oz * os) / (s * (1 - z))
			off = lost < end[1] ? end[1] - lost : 0
			print (lost > end[2] ? lost - end[2] : off)
		}'
}
ran_for() { [ $((SECONDS - began)) -ge "$1" ]; }
end_programs() {
	local id
	for id in "$@"; do scancel -s TERM "$id.0"; done
	for id in "$@"; do wait_end "$id"; done
}
turning() { holds '.totals.turns.on'; }
beside() { holds '.totals.turns.on | not'; }
slices() { status '.totals.turns.slices'; }
frozen() { grep -q FR "$CGROUP/job_$1/step_0/freezer.state"; }
anything_held() { grep -q FR "$CGROUP"/job_*/step_0/freezer.state; }
looks() {
	perl -MTime::HiRes=time,usleep -e '
		my ($n, $s, @f) = @ARGV; my @c = (0, 0, 0); my $end = time + $s;
		for (1 .. $n) {
			last if time > $end;
			my @is = map { my $t = ""; if (open my $h, "<", $_) { $t = <$h> } $t =~ /^FR/ ? 1 : 0 } @f;
			$c[0] += $is[0]; $c[1] += $is[1]; $c[2] += $is[0] && $is[1];
			usleep 1000;
		}
		print "@c\n"' "$1" "${2:-1000}" "$CGROUP/job_${pair[0]}/step_0/freezer.state" "$CGROUP/job_${pair[1]}/step_0/freezer.state"
}
