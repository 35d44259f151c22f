#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A co-runner cheats in every way that was thought of: its victim's degradation is right, or its bill says that it is not known.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
contend=$build/contrib/workloads/contend
[ -x "$contend" ] || skip_all "mpicc was not found, so there is no workload with a heartbeat"
line=/dev/shm/poppa-test-46.$$
on_exit rm -f "$line"
# Each way needs a program of a certain name.
bin=$(mktemp -d "$POPPA_SANDBOX/tmp/cheats.XXXXXX")
on_exit rm -rf "$bin"
chmod 755 "$bin"
for name in cheat sleep bash slurmstepd mpirun; do install -m 755 "$build/tests/integration/cheat" "$bin/$name"; done

ctl reconfigure --reset >/dev/null
ctl reconfigure poppa_period=200ms poppa_shutter=20ms poppa_overhead_max=20% poppa_adaptive=no poppa_min_blocks=8 \
	poppa_settle_timeout=10s >/dev/null
on_exit ctl reconfigure --reset

operations=500000000
most_wrong=0.05

# new_line: cache lines as contend makes them.
new_line() {
	rm -f "$line"
	truncate -s $((128 * 511)) "$line" && chmod 666 "$line"
}

# victim: runs a fixed amount of work as poppa-demo, whose processor time is how long that takes.
victim() {
	SUBMIT_USER=poppa-demo submit --colocate -n1 -J victim -o victim.%j \
		--wrap "srun bash -c 'TIMEFORMAT=\"took %U %S\"; time $contend --line $line --work $operations'"
	wait_end "$job" 120
}

took() {
	awk '/^took/ { print $2 + $3 }' "$(home_of poppa-demo)/victim.$1"
}

line_moves() {
	local was
	was=$(od -An -tu8 -N8 "$line")
	sleep 0.05
	[ "$was" != "$(od -An -tu8 -N8 "$line")" ]
}

# Slurm ends what is in a step's cgroup, and waits for what a user has hidden below it.
swept() {
	local at
	at=$(echo /sys/fs/cgroup/freezer/slurm_"$SANDBOX_REAL_NODE"/uid_*/job_"$1")
	if [ -d "$at" ]; then
		find "$at" -mindepth 3 -name cgroup.procs -exec cat {} + 2>/dev/null | while read -r pid; do kill -9 "$pid"; done
		find "$at" -mindepth 2 -depth -type d -exec rmdir {} + 2>/dev/null
	fi
	job_ended "$1"
}

solo() {
	new_line
	victim
	alone+=("$job")
}

way=() cheater=() beside=() alone=()
# against NAME COMMAND: a victim's run beside a co-runner whose step is that command.
against() {
	local cheat
	new_line
	SUBMIT_USER=poppa-guest submit --colocate -n1 -J cheat -o /dev/null --wrap "srun $2"
	cheat=$job
	if ! wait_running "$cheat" || ! wait_until 20 line_moves; then
		fail "$1: the co-runner works"
		scancel "$cheat"
		return
	fi
	victim
	way+=("$1") cheater+=("$cheat") beside+=("$job")
	scancel "$cheat"
	wait_until 60 swept "$cheat" || diag "$1: job $cheat does not end"
}

# beside_a_decoy PROGRAM WAY: that works, and a task that the step shows does nothing.
beside_a_decoy() {
	echo "bash -c '$bin/$1 $2 $line & exec $bin/cheat idle $line'"
}

# below_a_launcher WAY: a launcher in the step makes poppad stop its tasks one by one.
below_a_launcher() {
	echo "bash -c '$bin/cheat $1 $line & exec sleep 1000'"
}

solo
against "does not cheat" "$bin/cheat honest $line"
against "is called sleep" "$(beside_a_decoy sleep honest)"
against "is called bash" "$(beside_a_decoy bash honest)"
against "is called slurmstepd" "$(beside_a_decoy slurmstepd honest)"
against "is called mpirun, and alone" "$bin/mpirun honest $line"
against "is resumed by its user" "$bin/sleep resume $line"
against "has lost its first thread" "$bin/cheat headless $line"
against "forks faster than a scan" "$(below_a_launcher chain)"
against "shows a stopped task" "bash -c '$bin/sleep honest $line & $bin/cheat idle $line & kill -STOP \$!; wait'"
against "traces itself" "$bin/cheat traced $line"
against "waits for a vfork" "$bin/cheat blocked $line"
against "is nobody's child" "$bin/cheat orphan $line"
if [ -d /sys/fs/cgroup/freezer ]; then
	against "hides in .x" "$(below_a_launcher hide)"
	against "hides deep down" "$(below_a_launcher deep)"
	against "thaws its own cgroup" "$bin/sleep thaw $line"
	against "moves a thread" "$(below_a_launcher threads)"
	against "forks into new cgroups" "$(below_a_launcher flash)"
else
	skip "users make no cgroups under cgroup v2" "cgroups of the user's own"
fi
against "does not cheat either" "$bin/cheat honest $line"
solo

calc() { awk "BEGIN { print ($1) }"; }
base=$(calc "($(took "${alone[0]}") + $(took "${alone[1]}")) / 2")
diag "alone the work takes $(took "${alone[0]}") s and $(took "${alone[1]}") s"
cmp_num "at least ten ways were tried" "${#way[@]}" '>=' 12
diag "$(printf '%-28s %6s %8s %6s  %s' "the co-runner" "true D" reported "+-" flag)"
silent=0 named=0 honest_wrong=0
for ((i = 0; i < ${#way[@]}; i++)); do
	wait_settled "${beside[i]}" || diag "${way[i]}: not settled"
	text=$(part "${beside[i]}")
	# While it stood still, the victim was not slowed down.
	held=$(in_ledger "select json_extract(body, '\$.paused_ns') / 1e9 from record where job = ${cheater[i]}")
	ran=$(sacct_field "${beside[i]}" ElapsedRaw)
	true_d=$(calc "(1 - $base / $(took "${beside[i]}")) / (1 - ${held:-0} / ($ran > 0 ? $ran : 1))")
	said=$(value "$text" dco)
	[ -n "$said" ] || said=$(value "$text" d)
	range=$(value "$text" ci)
	half=$(calc "(${range##*..} + 0 - (${range%%..*} + 0)) / 2")
	flag=$(tr ' ' '\n' <<<"$text" | grep -E '^(nodata|culprit)=' | xargs)
	wrong=$(calc "(${said:-0} > $true_d ? ${said:-0} - $true_d : $true_d - ${said:-0}) - $half > $most_wrong")
	state=well
	if [ -n "$flag" ]; then
		state=flagged
	elif [ "$wrong" = 1 ]; then
		state=WRONG
		silent=$((silent + 1))
	fi
	diag "$(printf '%-28s %6.3f %8s %6.3f  %s' "${way[i]}" "$true_d" "${said:--}" "$half" "$state $flag")"
	[ "$(value "$text" culprit)" != "${cheater[i]}" ] || named=$((named + 1))
	case ${way[i]} in
	"does not cheat"*)
		cmp_num "beside one that ${way[i]} there is something to see" "$true_d" '>' 0.05
		[ $state = well ] || honest_wrong=$((honest_wrong + 1))
		;;
	esac
done
if [ "$honest_wrong" = 0 ]; then
	is "no victim's degradation is wrong by more than $most_wrong without a flag" "$silent" 0
else
	skip "the machine is too busy: $honest_wrong of 2 measurements beside who does not cheat fail" "a flag for each wrong degradation"
fi
diag "$named bills name the co-runner"
done_testing
