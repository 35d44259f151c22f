#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppad and the ledger with the capabilities that their systemd units leave them, and with no others.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$tests_dir/integration/bill.sh"
# shellcheck source=tests/integration/settle.sh
. "$tests_dir/integration/settle.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
contend=$build/contrib/workloads/contend
units=$POPPA_SANDBOX/usr/lib/systemd/system
numbers=/usr/include/linux/capability.h
control=$tree/contrib/sandbox/ctl
[ -x "$contend" ] || skip_all "mpicc was not found, so there is no workload with a heartbeat"
[ -r "$units/poppad.service" ] || bail_out "there is no unit in $units: make install puts it there"
[ -r "$numbers" ] || bail_out "$numbers is missing: contrib/sandbox/install-deps installs it"

# capabilities UNIT: those of its CapabilityBoundingSet.
capabilities() {
	sed -n 's/^CapabilityBoundingSet=//p' "$units/$1.service" | xargs
}

# confined UNIT CMD...: runs CMD, and what that starts, with what the unit leaves.
confined() {
	local set
	set=$(capabilities "$1")
	set=${set,,}
	set=${set//cap_/+}
	setpriv --inh-caps -all --ambient-caps -all --bounding-set "-all,${set// /,}" --no-new-privs "${@:2}"
}

# bit NAME: of a capability in the kernel's masks, by its number in the kernel's header.
bit() {
	echo $((1 << $(awk -v name="$1" '$1 == "#define" && $2 == name { print $3 }' "$numbers")))
}

# mask UNIT: its capabilities as the kernel shows them, without those that this machine, which may be a container, lacks itself.
mask() {
	local name sum=0
	for name in $(capabilities "$1"); do sum=$((sum | $(bit "$name"))); done
	printf '%016x' $((sum & 16#$(of self CapBnd)))
}

lacks() {
	local name
	for name in $(capabilities "$1"); do [ $((16#$(of self CapBnd) & $(bit "$name"))) != 0 ] || echo "$name"; done | xargs
}

# of PID FIELD...: these lines of its status.
of() {
	local pid=$1 field
	shift
	for field; do awk -v field="$field:" '$1 == field { print $2 }' "/proc/$pid/status"; done | xargs
}

# tasks ID...: the pids of the jobs' contend processes.
tasks() {
	local id p
	for id; do
		for p in $(scontrol listpids "$id" 2>/dev/null | awk 'NR > 1 { print $1 }' | sort -un); do
			case $(readlink "/proc/$p/exe") in */contend) echo "$p" ;; esac
		done
	done
}

# kill_in_hold "PID..." TASK...: kills these processes as soon as one of the tasks is stopped or frozen; a task never sleeps by
# itself. Prints whether one was.
kill_in_hold() {
	perl -MTime::HiRes=time,usleep -e '
		my ($victims, @tasks) = @ARGV;
		my ($end, $held) = (time + 20, 0);
		while (!$held && time < $end) {
			for (@tasks) {
				open my $f, "<", "/proc/$_/stat" or next;
				$held = 1 if <$f> =~ /\) [TtD] /;
			}
			usleep 200 unless $held;
		}
		kill KILL => split / /, $victims;
		print $held ? "held\n" : "free\n"' "$@"
}

# used PID: its processor time in clock ticks; nothing of a task that does not run.
used() {
	awk '{ sub(/.*\) /, ""); if ($1 == "R" || $1 == "S") print $12 + $13 }' "/proc/$1/stat"
}

# all_go_on PID...: each of the tasks runs, and has used a processor after the call.
all_go_on() {
	local p now=()
	for p; do now+=("$(used "$p")"); done
	for p; do
		[ -n "${now[0]}" ] && wait_until 3 eval '[ "$(used '"$p"')" -gt "${now[0]}" ]' || return 1
		now=("${now[@]:1}")
	done
}

# Enough blocks in a short run, and a good part of the time held.
quick_shutters="poppa_period=100ms poppa_shutter=20ms poppa_overhead_max=40% poppa_min_blocks=4 poppa_settle_timeout=60s"
# shellcheck disable=SC2086
ctl reconfigure $quick_shutters
on_exit ctl reconfigure --reset

# --- both start with them ---
on_exit ctl restart poppad
on_exit ctl restart ledgerd
ctl stop poppad
ctl stop ledgerd
like "the unit of the ledger names capabilities" "$(capabilities poppa-ledgerd)" '^CAP_[A-Z_]+( CAP_[A-Z_]+)*$'
like "and poppad's" "$(capabilities poppad)" '^CAP_[A-Z_]+( CAP_[A-Z_]+)*$'
unlike "which are not all that root has" " $(capabilities poppad) " ' CAP_(SYS_ADMIN|SETUID|SYS_MODULE|NET_ADMIN) '
diag "what the units leave and this machine itself lacks: $({ lacks poppa-ledgerd && lacks poppad; } | grep . || echo nothing)"
ok "the ledger starts with those of its unit" confined poppa-ledgerd "$control" start ledgerd
is_gone ledgerd && bail_out "so nothing else can be shown"
is "and can get no others" "$(of "$(ctl pid ledgerd)" CapBnd NoNewPrivs)" "$(mask poppa-ledgerd) 1"
is "as LedgerUser it has none" "$(of "$(ctl pid ledgerd)" CapEff CapPrm)" "0000000000000000 0000000000000000"
ok "poppad starts with those of its unit" confined poppad "$control" start poppad
is_gone poppad && bail_out "so nothing else can be shown"
is "and has and can get no others" "$(of "$(ctl pid poppad)" CapEff CapPrm CapBnd NoNewPrivs)" \
	"$(mask poppad) $(mask poppad) $(mask poppad) 1"
ok "its guard runs" wait_until 10 holds '.guard_pid > 0'
is "and can get no others either" "$(of "$(status .guard_pid)" CapBnd NoNewPrivs)" "$(mask poppad) 1"

# --- a pair of two users is stopped, measured and resumed ---
line=/dev/shm/poppa-test-47.$$
on_exit rm -f "$line"
pair() {
	SUBMIT_USER=poppa-demo submit --colocate -n1 -o /dev/null --wrap "srun $contend --line $line --seconds $1"
	one=$job
	SUBMIT_USER=poppa-guest submit --colocate -n1 -o /dev/null --wrap "srun $contend --line $line --seconds $1"
	two=$job
}
for attempt in 1 2 3; do
	pair 20
	wait_running "$one" && wait_running "$two" && wait_until 10 all_work 2 "$contend"
	wait_end "$one" 90 && wait_end "$two" 90 && wait_settled "$one" && wait_settled "$two"
	[[ $(part "$one")$(part "$two") == *nodata=* ]] || break
	# On a busy machine a measurement may say too little for a price.
	diag "attempt $attempt: $(part "$one") / $(part "$two")"
done
for id in "$one" "$two"; do
	like "job $id is measured and settled" "$(part "$id")" '^d=-?[0-9.]+ .*charged=[0-9]+ .*backend=heartbeat'
	cmp_num "it was stopped for its co-runner" "$(value "$(part "$id")" stopped)" '>' 0
	is "and resumed: it ended well" "$(job_field "$id" JobState)" COMPLETED
done

# --- poppad is killed while it holds a task ---
# seen ID...: poppad has a task of each, and opens shutters.
seen() {
	holds "[.jobs[] | select(.tasks == 1)] | length == 2" && holds '.totals.active and .totals.shutters > 2'
}
for method in sigstop freezer; do
	# shellcheck disable=SC2086
	ctl reconfigure $quick_shutters poppa_pause=$method
	pair 300
	wait_running "$one" && wait_running "$two"
	kills=8 held=0 stuck=0 unstarted=0
	for ((i = 0; i < kills; i++)); do
		wait_until 30 seen || break
		mapfile -t pids < <(tasks "$one" "$two")
		[ "$(kill_in_hold "$(ctl pid poppad)" "${pids[@]}")" = free ] || held=$((held + 1))
		# Nobody but the guard is left to resume them.
		all_go_on "${pids[@]}" || stuck=$((stuck + 1))
		confined poppad "$control" start poppad >/dev/null 2>&1 || unstarted=$((unstarted + 1))
	done
	is "$method: poppad is killed $kills times beside a pair" "$i" "$kills"
	cmp_num "$method: most of that while it holds a task" "$held" '>' $((kills / 2))
	is "$method: its guard resumes every task" "$stuck" 0
	is "$method: and poppad starts again with what it has" "$unstarted" 0
	# As after a kill of both: ExecStopPost of the unit.
	wait_until 30 seen
	mapfile -t pids < <(tasks "$one" "$two")
	caught=$(kill_in_hold "$(status .guard_pid) $(ctl pid poppad)" "${pids[@]}")
	is "$method: poppad and its guard are killed while a task is held" "$caught" held
	nok "$method: then nobody resumes it" all_go_on "${pids[@]}"
	ok "$method: poppad --repair with the unit's capabilities" confined poppad poppad --repair -N "$SANDBOX_REAL_NODE"
	ok "$method: resumes it" all_go_on "${pids[@]}"
	ok "$method: poppad starts again" confined poppad "$control" start poppad
	end_jobs "$one" "$two"
done
is "the ledger has still no capability" "$(of "$(ctl pid ledgerd)" CapEff CapBnd)" "0000000000000000 $(mask poppa-ledgerd)"
done_testing
