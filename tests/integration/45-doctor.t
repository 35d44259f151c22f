#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What doctor, top, status and metrics say of a cluster in good times and in bad: a refused setting, a daemon that is down,
# a job that stays stopped.
. "$(dirname "$0")/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
contend=$build/contrib/workloads/contend
node=$SANDBOX_REAL_NODE
line=/dev/shm/poppa-test-45.$$
on_exit rm -f "$line"
# poppad counts how often the guard had to step in, and others are not to wonder why.
on_exit ctl restart poppad
on_exit ctl reconfigure --reset

doctor() {
	poppa doctor -N "$node" 2>&1
}

# faults TEXT: the lines of doctor's that say FAIL.
faults() {
	grep '^FAIL' <<<"$1"
}

# --- all is well ---
# poppad hears of settings when slurmd has read them; where a test before this one has changed them several times in a row,
# slurmd may have missed the last one.
at_rest() {
	local said
	said=$(doctor)
	grep -q '^OK *settling' <<<"$said" && grep -q '^OK *settings of poppad' <<<"$said"
}
earlier_prices
ctl reconfigure --reset
wait_until 150 at_rest || diag "runs still wait for a bill, or poppad for its settings"
out=$(doctor)
is "doctor finds no fault in a cluster that is up" "$(faults "$out")" ""
for check in "Slurm +[0-9.]+, for which" "munge" "ledger +poppa-ledgerd .* answers" "clock of the ledger +agrees" "settling" "poppad" "guard" \
	"slurmd to poppad" "priority of poppad" "settings of poppad" "spool" "room for the spool" "TRESBillingWeights" "freezer"; do
	like "doctor has looked at: ${check%% +*}" "$out" $'\n'"OK +$check"
done
like "and at what is held stopped" "$out" $'\n'"(OK|WARN) +held +nothing stays stopped"
ok "and its exit status says so" poppa doctor -N "$node"
ok "a user may run it, too" as_user poppa doctor -N "$node"

# --- two co-located jobs ---
ctl reconfigure poppa_period=100ms poppa_overhead_max=50% poppa_adaptive=no >/dev/null
for user in poppa-demo poppa-guest; do
	SUBMIT_USER=$user submit --colocate -n1 -o /dev/null --wrap "srun $contend --line $line --seconds 600 --private 60"
	ok "a co-located job of $user runs" wait_running "$job"
done
ok "shutters of these settings open" wait_until 60 holds '(.settings | contains("poppa_period=100ms")) and .totals.shutters > 5'

# --- a bad setting ---
good=$(status .settings)
ctl reconfigure poppa_shutter=fast >/dev/null
ok "a refused setting shows in the status, with its key" wait_until 10 holds '(.bad_settings // "") | test("poppa_shutter")'
is "the last good settings stay in force" "$(status .settings)" "$good"
like "top notes it" "$(poppa top -N "$node" -b -n 1 -d 100ms)" $'\n'"NOTE +PrEpParameters refused: poppa_shutter"
like "status in words, too" "$(poppa status -N "$node")" $'\n'"NOTE +PrEpParameters refused: poppa_shutter"
is "so do the metrics" "$(metric poppa_settings_good)" 0
out=$(doctor)
like "doctor finds it in slurm.conf" "$out" $'\n'"FAIL +PrEpParameters +poppa_shutter.* -> correct it in slurm.conf"
like "and on the node" "$out" $'\n'"FAIL +settings of poppad .*poppa_shutter.* -> correct PrEpParameters"
like "what does not depend on it is looked at all the same" "$out" $'\n'"OK +ledger +poppa-ledgerd .* answers"
is "the ledger is found" "$(poppa metrics --ledger 2>&1 | sed -n 's/^poppa_ledger_up{.*} //p')" 1
before=$(status .totals.shutters)
ok "shutters go on" wait_until 20 holds ".totals.shutters > $before"
ctl reconfigure poppa_shutter=4ms >/dev/null
ok "a good one is taken" wait_until 10 holds '.bad_settings == null and (.settings | test("poppa_shutter=4ms"))'
is "and the metrics are content" "$(metric poppa_settings_good)" 1
ctl reconfigure poppa_shutter=5ms poppa_price=cheap >/dev/null
ok "poppad refuses a price policy that is none, too, with its key" wait_until 10 holds '(.bad_settings // "") | test("poppa_price=cheap")'
like "and all that came with it" "$(status .settings)" poppa_shutter=4ms
like "doctor says the same of poppad" "$(doctor)" $'\n'"FAIL +settings of poppad .*poppa_price=cheap"
ctl reconfigure --reset >/dev/null
# Until poppad has them doctor speaks of the refused ones.
ok "the settings of before are taken again" wait_until 10 holds '.bad_settings == null'

# --- something is missing ---
ctl stop ledgerd
out=$(doctor)
like "doctor finds a ledger that does not answer" "$out" $'\n'"FAIL +ledger .* -> start poppa-ledgerd"
is "and only that" "$(faults "$out" | wc -l)" 1
nok "its exit status says so" poppa doctor -N "$node"
is "the metrics have it, too" "$(poppa metrics --ledger 2>/dev/null | sed -n 's/^poppa_ledger_up{.*} //p')" 0
ctl start ledgerd

ctl stop poppad
for c in "status" "top -b -n 1" "top --json -n 1"; do
	# shellcheck disable=SC2086
	like "poppa $c says that poppad does not run" "$(poppa $c -N "$node" 2>&1)" "^poppa ${c%% *}: poppad does not answer at .*: is it running\? \(poppad\(8\)\)$"
done
like "so does a user's" "$(as_user poppa top -N "$node" -b -n 1 2>&1)" "^poppa top: poppad does not answer"
is "the metrics have it" "$(metric poppa_up)" 0
like "doctor has the fix" "$(doctor)" $'\n'"FAIL +poppad .* -> start poppad"
ctl start poppad
ok "started again, all is well" wait_until 20 eval '[ -z "$(faults "$(doctor)")" ]'

# --- something stays stopped ---
# Guard and poppad are both halted where they stand, as soon as something is seen held: the longest shutters leave
# time for that.
ctl reconfigure poppa_shutter=100ms poppa_period=100ms poppa_overhead_max=0 poppa_adaptive=no >/dev/null
before=$(status .totals.shutters)
ok "shutters are long" wait_until 20 holds ".bad_settings == null and (.settings | test(\"poppa_shutter=100ms\")) and .totals.shutters > $before + 5"
pids="$(status .guard_pid) $(ctl pid poppad)"
# Whatever happens here, the two go on, and with them everybody else.
# shellcheck disable=SC2086
on_exit kill -CONT $pids
held() {
	local p
	for p in $(pgrep -x contend); do
		# Another sandbox on this machine may have such tasks, too.
		grep -q -s -z -x -F "SLURM_CONF=$SLURM_CONF" "/proc/$p/environ" &&
			grep -q -s '^State:.[TD]' "/proc/$p/status" && return
	done
	return 1
}
# halt: the shutter may end before both are halted.
halt() {
	held || return
	# shellcheck disable=SC2086
	kill -STOP $pids
	sleep 0.1
	held && return
	# shellcheck disable=SC2086
	kill -CONT $pids
	return 1
}
ok "both are halted in the midst of a shutter" wait_until 60 halt
out=$(timeout 60 poppa doctor -N "$node" 2>&1)
# shellcheck disable=SC2086
kill -CONT $pids
like "doctor finds what stays stopped" "$out" $'\n'"FAIL +held +[0-9]+ (process|cgroup)[^"$'\n'"]* still held stopped -> "
like "and that poppad does not answer" "$out" $'\n'"FAIL +poppad .*gave no answer within"
ok "and is content when they go on" wait_until 60 eval 'doctor | grep -q -E "^(OK|WARN)  +held +nothing stays stopped"'
done_testing
