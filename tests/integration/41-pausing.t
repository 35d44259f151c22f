#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Stopping and resuming on a real cluster, with all that jobs, their users and Slurm do meanwhile.
. "$(dirname "$0")/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
contend=$build/contrib/workloads/contend
beat=$build/tests/integration/beat
line=/dev/shm/poppa-test-41.$$
on_exit rm -f "$line"
on_exit ctl reconfigure --reset

job_status() {
	status ".jobs[] | select(.job == $1) | $2"
}

job_is() {
	[ "$(job_status "$1" "$2")" = "$3" ]
}

# use SETTING...: with shutters as often as can be, as the time of a test is short.
use() {
	ctl reconfigure --reset >/dev/null
	ctl reconfigure poppa_period=50ms poppa_overhead_max=0 poppa_adaptive=no "$@" >/dev/null
	wait_until 10 holds ".settings | contains(\"poppa_period=50ms\") and contains(\"${1:-}\")"
}

# more_shutters N [SECONDS]: waits for N that stopped somebody and were none too late.
more_shutters() {
	local want=$(($(good) + $1))
	wait_until "${2:-20}" good_are "$want"
}

good_are() {
	[ "$(good)" -ge "$1" ]
}

good() {
	status '.totals.shutters - ([.totals.discarded[]] | add // 0)'
}

# pids_of ID NAME...: processes of the job whose program is one of these.
pids_of() {
	local id=$1 p exe
	shift
	cat /sys/fs/cgroup/freezer/*/uid_*/job_"$id"/{,step_*/}cgroup.procs 2>/dev/null | sort -un | while read -r p; do
		exe=$(basename "$(readlink "/proc/$p/exe")")
		case " $* " in *" $exe "*) echo "$p" ;; esac
	done
}

task_of() {
	pids_of "$1" contend | head -n 1
}

state_of() {
	awk '/^State:/ { print $2 }' "/proc/$1/status"
}

is_stopped() {
	case $(state_of "$1") in [TD]) ;; *) return 1 ;; esac
}

# stays_stopped PID SECONDS: prints how often it was seen awake.
stays_stopped() {
	local end=$((SECONDS + $2)) woken=0
	while [ "$SECONDS" -lt "$end" ]; do
		is_stopped "$1" || woken=$((woken + 1))
		sleep 0.02
	done
	echo "$woken"
}

# stops WANTED PID...: how often each was seen stopped, or in a frozen cgroup; "PID COUNT" a line. Looks for two
# seconds, and on until the first WANTED of them were seen, but for half a minute at most. It goes before who computes:
# else it may miss all that happens.
stops() {
	chrt -f 1 perl -MTime::HiRes=time,usleep -e '
		my ($wanted, @pid) = @ARGV;
		my ($begun, %seen, %frozen) = (time);
		for my $p (@pid) {
			open my $f, "<", "/proc/$p/cgroup" or next;
			while (<$f>) { $frozen{$p} = "/sys/fs/cgroup/freezer$1/freezer.state" if /:freezer:(.*)/ }
		}
		while (time < $begun + 2 || (time < $begun + 30 && grep { !$seen{$_} } @pid[0 .. $wanted - 1])) {
			for my $p (@pid) {
				my ($stat, $state) = ("", "THAWED");
				if (open my $f, "<", "/proc/$p/stat") { $stat = <$f> // "" }
				if (open my $f, "<", $frozen{$p} // "") { $state = <$f> // "THAWED" }
				$seen{$p}++ if $stat =~ /\) [Tt] / || $state !~ /THAWED/;
			}
			usleep 300;
		}
		print "$_ ", $seen{$_} // 0, "\n" for @pid' "$@"
}

frozen_cgroups() {
	find /sys/fs/cgroup -path '*slurm*' -name freezer.state -exec grep -lv THAWED {} + 2>/dev/null
}

# nobody_left PID...: of these, and of cgroups, none is stopped; a shutter may be open at any one moment.
nobody_left() {
	local p
	for p; do ! is_stopped "$p" || return 1; done
	[ -z "$(frozen_cgroups)" ]
}

pair() {
	SUBMIT_USER=poppa-demo submit --colocate -n1 -o "pausing.%j" --wrap "srun $contend --line $line --seconds $1 --private 60; exit 7"
	one=$job
	SUBMIT_USER=poppa-guest submit --colocate -n1 -o "pausing.%j" --wrap "srun $contend --line $line --seconds $1 --private 60"
	two=$job
}

pair_runs() {
	wait_running "$one" && wait_running "$two" &&
		wait_until 20 holds '[.jobs[] | select(.tasks == 1 and .backend == "heartbeat")] | length == 2'
}

end_pair() {
	end_jobs "$one" "$two"
}

# --- the ways of pausing, and what comes between ---
for method in sigstop freezer auto; do
	ok "$method is taken up" use "poppa_pause=$method"
	pair 120
	ok "$method: a pair runs" pair_runs
	case $method in sigstop) how=sigstop ;; *) how=freezer ;; esac
	ok "$method: both are paused by $how" wait_until 10 holds "[.jobs[] | select(.pause == \"$how\")] | length == 2"
	ok "$method: shutters go on" more_shutters 10
	if [ "$method" = auto ]; then
		# It froze them, and so what was seen of "freezer" holds for it.
		ok "$method: the pair ends" end_pair
		continue
	fi
	task=$(task_of "$two")
	other=$(task_of "$one")
	cmp_num "$method: the tasks are seen stopped" "$(stops 2 "$task" "$other" | awk '$2 > 0' | wc -l)" '==' 2

	# Its user resumes a task again and again: with a signal only what a signal has stopped goes on.
	ran=$(job_status "$two" .ran_while_held)
	as poppa-guest perl -MTime::HiRes=time,usleep -e 'my ($p, $end) = (shift, time + 3);
		while (time < $end) { kill "CONT", $p; usleep 200 }' "$task" &
	resumer=$!
	if [ "$how" = sigstop ]; then
		ok "$method: a task that its user resumes meanwhile spoils shutters" \
			wait_until 30 holds "[.jobs[] | select(.job == $two)][0].ran_while_held > $ran + 3"
		wait "$resumer"
		cmp_num "$method: which are of no use" "$(status '.totals.discarded["ran-while-held"] // 0')" '>' 3
		ok "$method: and the log names the job" grep -q "job $two of uid .* runs while shutters hold it stopped" "$(ctl log poppad)"
	else
		wait "$resumer"
		# A late freeze by itself may spoil one or the other.
		cmp_num "$method: no signal sets a task going" "$(job_status "$two" .ran_while_held)" '<=' $((ran + 3))
	fi
	# On a busy machine a signal may take its time.
	cmp_num "$method: its co-runner stood still, but for moments" "$(job_status "$one" '.ran_while_held * 2')" '<=' \
		"$(job_status "$two" '.ran_while_held + 4')"

	scontrol suspend "$two"
	ok "$method: a suspended job is known to be" wait_until 10 job_is "$two" .state stopped
	blocks=$(job_status "$two" .blocks) time=$(job_status "$two" '.co_s + .solo_s + .unmeasured_s')
	is "$method: no shutter wakes it" "$(stays_stopped "$task" 2)" 0
	is "$method: no block of it is counted" "$(job_status "$two" .blocks)" "$blocks"
	cmp_num "$method: its time stands still" "$(job_status "$two" ".co_s + .solo_s + .unmeasured_s - $time")" '<' 0.5
	scontrol resume "$two"
	ok "$method: resumed, it has shutters again" more_shutters 3

	as poppa-guest kill -STOP "$task"
	ok "$method: a task that its user has stopped is known to be" wait_until 10 job_is "$two" .state stopped
	solo=$(job_status "$one" .solo_s)
	is "$method: it stays stopped" "$(stays_stopped "$task" 2)" 0
	# It counts as alone as soon as a scan has found that the stopped job has used no processor since the one before.
	ok "$method: the other one is alone meanwhile" wait_until 20 holds "[.jobs[] | select(.job == $one)][0].solo_s > $solo + 1"
	as poppa-guest kill -CONT "$task"
	ok "$method: its user lets it go on, with shutters" more_shutters 3

	strace -f -o "$POPPA_SANDBOX/tmp/strace.$$" -p "$task" 2>/dev/null &
	tracer=$!
	ok "$method: a task under strace is known to be" wait_until 10 job_is "$two" .state partly-stopped
	if [ "$method" = sigstop ]; then
		shutters=$(status .totals.shutters)
		sleep 1
		is "$method: no shutters then" "$(status .totals.shutters)" "$shutters"
	else
		ok "$method: it is frozen like any other" more_shutters 10
	fi
	kill "$tracer" 2>/dev/null
	wait "$tracer" 2>/dev/null
	rm -f "$POPPA_SANDBOX/tmp/strace.$$"
	ok "$method: afterwards there are" more_shutters 3
	is "$method: a debugger comes and goes" \
		"$(gdb -nx -batch -p "$task" -ex 'shell sleep 1.5' -ex detach 2>&1 | grep -c SIGSTOP)" 0
	ok "$method: and shutters go on" more_shutters 3
	ok "$method: nobody is left stopped" wait_until 5 nobody_left "$task" "$other"
	ok "$method: the pair ends" end_pair
done

# --- partners that come and go in the middle of shutters ---
SUBMIT_USER=poppa-demo submit --colocate -n1 -o pausing.%j --wrap "srun $contend --line $line --seconds 200 --private 60; exit 7"
long=$job short=()
wait_running "$long" && wait_until 20 holds "any(.jobs[]; .job == $long and .tasks == 1)"
for _ in 1 2 3 4 5; do
	SUBMIT_USER=poppa-guest submit --colocate -n1 -o /dev/null --wrap "srun $contend --line $line --seconds 1 --private 60"
	short+=("$job")
done
for job in "${short[@]}"; do wait_end "$job" 90; done
is "short partners in a row all end well" "$(for j in "${short[@]}"; do job_field "$j" JobState; done | sort | uniq -c | xargs)" "5 COMPLETED"
scancel -s USR1 "$long.0"
ok "so does the long one" wait_end "$long" 90
is "with its own exit status" "$(job_field "$long" ExitCode)" 7:0
is "and nothing but its own output" "$(grep -vc '^contend: ' "$(home_of)/pausing.$long")" 0

# --- children of children, as fast as they can be made ---
storm=/dev/shm/poppa-storm-41.$$
on_exit rm -f "$storm"
cat >"$storm" <<'END'
# Four at a time, each for some 5 ms of work, for 15 s, as few shutters meet no new one; every other one has a child itself.
use POSIX ":sys_wait_h";
my ($end, $n, $bad, $made) = (time + 15, 0, 0, 0);
while (time < $end || $n) {
	if ($n < 4 && time < $end) {
		my $pid = fork;
		if (!defined $pid) { $bad++; next }
		if (!$pid) {
			my $child = $made % 2 ? fork : 1;
			my $x = 0;
			$x += $_ for 1 .. 50000;
			if (!$child) { POSIX::_exit(0) }
			waitpid($child, 0) if $made % 2;
			POSIX::_exit($? ? 1 : 0);
		}
		$n++; $made++;
		next;
	}
	waitpid(-1, 0); $bad++ if $?; $n--;
}
print "made=$made bad=$bad\n";
exit($bad != 0);
END
chmod 644 "$storm"
for method in sigstop auto; do
	use "poppa_pause=$method"
	SUBMIT_USER=poppa-demo submit --colocate -n1 -o /dev/null --wrap "srun $contend --line $line --seconds 40 --private 60"
	one=$job
	# Beside its shell in the batch step: there auto stops one by one, too.
	SUBMIT_USER=poppa-guest submit --colocate -n1 -o pausing.%j --wrap "perl $storm"
	two=$job
	wait_running "$two"
	wait_until 10 job_is "$one" .backend heartbeat
	before=$(job_status "$one" .blocks) unmeasured=$(job_status "$one" .unmeasured_s)
	ok "$method: a storm of forks ends" wait_end "$two" 60
	diag "$method: $(cat "$(home_of poppa-guest)/pausing.$two"), $(($(job_status "$one" .blocks) - before)) blocks, discarded so far: $(status '.totals.discarded | tojson')"
	is "$method: none of it is left stopped" "$(job_field "$two" ExitCode)" 0:0
	cmp_num "$method: its co-runner was measured beside it" "$(job_status "$one" .blocks)" '>' "$before"
	cmp_num "$method: most of the time" "$(job_status "$one" ".unmeasured_s - $unmeasured")" '<' 12
	end_jobs "$one"
done

# --- mpirun in a batch script: the ranks are stopped, nobody else ---
for method in sigstop auto; do
	use "poppa_pause=$method"
	SUBMIT_USER=poppa-demo submit --colocate -n1 -o /dev/null --wrap "srun $contend --line $line --seconds 40 --private 60"
	one=$job
	SUBMIT_USER=poppa-guest submit --colocate -n1 -o pausing.%j --wrap "mpirun $contend --line $line --seconds 8 --private 60"
	two=$job
	wait_running "$two"
	ok "$method: mpirun's rank is found" wait_until 20 job_is "$two" .counted_tasks 1
	more_shutters 3
	task=$(task_of "$two")
	mapfile -t launcher < <(pids_of "$two" slurmstepd slurmstepd-wlm slurm_script bash dash mpirun mpirun.openmpi orterun orted)
	cmp_num "$method: a shell, mpirun and slurmstepd are with it" "${#launcher[@]}" '>=' 3
	seen=$(stops 1 "$task" "${launcher[@]}")
	cmp_num "$method: the rank is seen stopped" "$(awk -v p="$task" '$1 == p { print $2 }' <<<"$seen")" '>' 0
	is "$method: the launchers never" "$(awk -v p="$task" '$1 != p { n += $2 } END { print n + 0 }' <<<"$seen")" 0
	ok "$method: it ends" wait_end "$two" 60
	is "$method: well" "$(job_field "$two" ExitCode)" 0:0
	is "$method: with nothing but its own output" "$(grep -vc '^contend: ' "$(home_of poppa-guest)/pausing.$two")" 0
	end_jobs "$one"
done

# --- an interactive shell with job control ---
use poppa_pause=auto
SUBMIT_USER=poppa-guest submit --colocate -n1 -o /dev/null --wrap "srun $contend --line $line --seconds 90 --private 60"
one=$job
wait_running "$one"
typescript=$(home_of)/typescript.$$
keys=$(home_of)/keys.$$
mkfifo "$keys" && chown poppa-demo "$keys"
on_exit rm -f "$keys" "$typescript"
as_user script -qfec "srun --colocate -n1 -J pausing-pty --pty bash --norc -i" "$typescript" <"$keys" >/dev/null 2>&1 &
shell=$!
exec 9>"$keys"
typed() { grep -aqE "$1" "$typescript"; }
echo "PS1='> '; sleep 300 & echo here''we''are" >&9
ok "an interactive shell starts" wait_until 30 typed hereweare
pty=$(squeue -h -n pausing-pty -o %i | head -n 1)
jobs_submitted+=("$pty")
echo "timeout --foreground 6 $beat; echo status''=\$?" >&9
ok "its program is found" wait_until 15 job_is "$pty" .counted_tasks 1
ok "the shell is stopped with it, or it would notice" wait_until 5 job_is "$pty" .pause freezer
ok "shutters go on" more_shutters 10
ok "the program ends" wait_until 30 typed 'status=[0-9]'
ok "with its own exit status" typed 'status=124'
nok "and the shell saw nobody stop" typed Stopped
echo "$beat" >&9
ok "another one is found" wait_until 15 job_is "$pty" .counted_tasks 1
more_shutters 3
printf '\032' >&9
ok "Ctrl-Z stops it" wait_until 10 typed 'Stopped.*beat'
task=$(pids_of "$pty" beat)
is "and no shutter wakes it" "$(stays_stopped "$task" 2)" 0
echo "bg %2; echo running''again" >&9
wait_until 10 typed runningagain
ok "in the background it has shutters again" more_shutters 3
echo "kill %1 %2; wait; exit 5" >&9
exec 9>&-
wait "$shell"
is "the shell ends with its own exit status" "$?" 5
is "it spoke of stopping once, for Ctrl-Z" "$(grep -ac 'Stopped' "$typescript")" 1
scancel "$one"
done_testing
