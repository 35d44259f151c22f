#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Turns end when the jobs suit each other, and neither kills of poppad and its guard nor what Slurm does to a job in a slice
# leave anything held or set going.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/turns.sh
. "$(dirname "$0")/turns.sh"

turns_begin

# --- They suit each other after a while.
pair 300 130
ok "two jobs run" pair_runs
ok "they take turns" wait_until 240 turning
ok "until they suit each other" wait_until 220 beside
like "poppad says so" "$(grep 'run side by side again' "$(ctl log poppad)")" "jobs (${pair[0]}, ${pair[1]}|${pair[1]}, ${pair[0]}) run side by side again"
read -r first second both < <(looks 1000)
cmp_num "and then only shutters hold them" "$((first + second))" '<' 300
end_jobs "${pair[@]}"

# --- What others do in a slice.
pair 900
ok "two more run" pair_runs
ok "they take turns" wait_until 240 turning
# Each of them meets a slice by chance. Something else may have ended one before.
before=$(status .totals.turns.disturbed)
signalled() {
	scancel -s USR1 "${pair[0]}.0"
	sleep 0.5
	holds ".totals.turns.disturbed > $before"
}
ok "a signal ends a slice" wait_until 30 signalled
# These are ten seconds, in which a busy machine answers few questions, so the test looks at the cgroups.
read -r first second both < <(looks 2000 5)
cmp_num "then for a while only shutters hold them" "$((first + second))" '<' 600
ok "and then they take turns again" eval 'n=$(slices) && wait_until 60 eval "[ \"\$(slices)\" -gt $n ]"'
scontrol suspend "${pair[0]}"
ok "a job is suspended in turns" wait_until 30 eval '[ "$(job_field "${pair[0]}" JobState)" = SUSPENDED ]'
ok "then there are no turns" wait_until 10 beside
# Slurm freezes it two seconds later; slices before that are shorter than these looks.
ok "and it is frozen by Slurm" wait_until 20 eval '[ "$(looks 700 | cut -d" " -f1)" = 700 ]'
read -r first second both < <(looks 3000)
is "it stays suspended" "$first" 3000
is "and the other one runs" "$second" 0
scontrol resume "${pair[0]}"
ok "resumed, it runs" wait_until 10 eval '! frozen "${pair[0]}"'
ok "and the two take turns again" wait_until 240 turning

# --- Kills in slices.
for what in poppad guard both; do
	ok "$what: they take turns" wait_until 240 turning
	ok "$what: somebody is held" wait_until 10 anything_held
	pid=$(ctl pid poppad) guard=$(status .guard_pid)
	case $what in
	poppad) kill -9 "$pid" ;;
	guard) kill -9 "$guard" ;;
	both) kill -9 "$guard" "$pid" ;;
	esac
	if [ "$what" != guard ]; then
		[ "$what" = poppad ] || { sleep 0.5 && poppad --repair -N "$SANDBOX_REAL_NODE" -c "$POPPA_CONF"; }
		sleep 0.4
		is "$what: nothing stays held" "$(looks 200)" "0 0 0"
		ctl start poppad
	else
		ok "$what: there is another one" wait_until 10 eval '[ "$(status .guard_pid)" != "$guard" ] && [ "$(status .guard_pid)" != 0 ]'
	fi
done
ctl reconfigure "${turns_settings[@]}" poppa_turns=no
ok "turned off, the setting ends the turns" wait_until 10 beside
end_jobs "${pair[@]}"
done_testing
