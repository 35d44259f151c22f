#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppad on a real cluster: what it measures, what it leaves alone, and what it survives.
. "$(dirname "$0")/lib.sh"
# shellcheck source=contrib/sandbox/lib.sh
. "$tree/contrib/sandbox/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
contend=$build/contrib/workloads/contend
run_dir=$POPPA_SANDBOX/run/poppa-$SANDBOX_REAL_NODE
log=$(ctl log poppad)
line=/dev/shm/poppa-test-40.$$
on_exit rm -f "$line"

# tasks_of ID: the pids of the job's contend processes.
tasks_of() {
	local p
	for p in $(scontrol listpids "$1" 2>/dev/null | awk 'NR > 1 { print $1 }' | sort -un); do
		case $(readlink "/proc/$p/exe") in */contend) echo "$p" ;; esac
	done
}

# A task that its user or Slurm has stopped is in state T, or D where Slurm froze it.
state_of() {
	awk '/^State:/ { print $2 }' "/proc/$1/status"
}

logged() {
	grep -qE "$1" <(tail -n "+$((log_from + 1))" "$log")
}

new_log() {
	log_from=$(wc -l <"$log")
}

pair() {
	SUBMIT_USER=poppa-demo submit --colocate -n1 -o "$1.%j" --wrap "srun $contend --line $line --seconds $2 --private 60; exit 7"
	first=$job
	SUBMIT_USER=poppa-guest submit --colocate -n1 -o "$1.%j" --wrap "srun $contend --line $line --seconds $2 --private 60"
	second=$job
}

on_exit ctl reconfigure --reset
ok "it runs, with a guard" holds '.guard_pid > 0'
own=/proc/$(status .pid)/autogroup
if [ -e "$own" ]; then
	like "no session of a user's goes before its own" "$(cat "$own")" 'nice -15$'
else
	skip "this kernel does not share processors out among sessions" "no session of a user's goes before its own"
fi
is "a second one for the same node is refused" \
	"$(poppad -N "$SANDBOX_REAL_NODE" 2>&1 | grep -c 'runs already')" 1
is "so is a repair beside it" "$(poppad --repair -N "$SANDBOX_REAL_NODE" 2>&1 | grep -c 'runs already')" 1
like "it needs root and says so" "$(as_user poppad -N "$SANDBOX_REAL_NODE" 2>&1)" "must run as root"

# --- settings ---
new_log
ctl reconfigure poppa_period=50ms poppa_overhead_max=0 >/dev/null
ok "a new period is followed" wait_until 10 logged 'new settings: poppa_period=50ms'
ctl reconfigure "poppa_price=g"$'\374'"nstig" >/dev/null
ok "the status tells of one that is not UTF-8, too" wait_until 10 holds '(.bad_settings // "") | test("^poppa_price=g[?]nstig")'
is "as the doctor does" "$(poppa doctor --json -N "$SANDBOX_REAL_NODE" 2>/dev/null | jq '[.checks[] | select(.detail | test("poppa_price=g[?]nstig"))] | length > 0')" true
ctl reconfigure poppa_price=thesis >/dev/null
new_log
ctl reconfigure poppa_period=soon >/dev/null
ok "a bad one is an error that names the key" wait_until 10 logged 'error: .*poppa_period.*stay in force'
like "and the last good one stays in force" "$(status .settings)" '^poppa_period=50ms,'
new_log
ctl restart poppad
ok "also when poppad starts with the bad one" wait_until 10 logged 'error: .*poppa_period.*the last good settings are in force'
like "which the status shows" "$(status .settings)" '^poppa_period=50ms,'
like "with the reason" "$(status .bad_settings)" '^poppa_period: .*in force$'
ctl stop poppad
rm "$POPPA_SANDBOX/spool/poppa-$SANDBOX_REAL_NODE/poppa_settings"
new_log
ctl start poppad
ok "where there were none it has the defaults, and says so" wait_until 10 logged 'error: .*poppa_period.*the defaults are in force'
like "as does the status" "$(status '.settings + .bad_settings')" '^poppa_period=400ms,.*the defaults are in force$'
ctl reconfigure poppa_period=50ms poppa_overhead_max=0 >/dev/null
ok "a good one is followed" wait_until 10 holds '.bad_settings == null and (.settings | test("^poppa_period=50ms,"))'

# --- the cost of shutters ---
# At a period of 50 ms a pair would be held for 2.7 % of its time.
capped() {
	new_log
	ctl reconfigure poppa_overhead_max=0.5% >/dev/null
	wait_until 10 holds '.totals.cost.capped and .totals.period_s > 0.3' &&
		logged 'the period is 3[0-9]* ms for now instead of 50 ms'
}
uncapped() {
	new_log
	ctl reconfigure poppa_overhead_max=0 >/dev/null
	wait_until 10 holds '.totals.period_s == 0.05' && logged 'the period is 50 ms again'
}

# --- a pair ---
pair pair 300
one=$first two=$second
ok "two co-located jobs run" eval 'wait_running "$one" && wait_running "$two"'
ok "both are found, with one task each" \
	wait_until 20 holds '[.jobs[] | select(.tasks == 1 and .backend == "heartbeat")] | length == 2'
ok "shutters go on" wait_until 20 holds '.totals.active and .totals.shutters > 5'
ok "some of them are long" wait_until 30 holds '.totals.long_blocks > 1'
ok "poppa_overhead_max lengthens the period" capped
ok "and gives it back" uncapped
is "each has a seed for its shutters" "$(cat "$run_dir/jobs/$one.0" "$run_dir/jobs/$two.0" | grep -cE '^Seed="[0-9a-f]{32}"$')" 2
seed=$(sed -n 's/^Seed="\(.*\)"$/\1/p' "$run_dir/jobs/$one.0")
unlike "which Slurm does not show to its user" "$(as_user scontrol -dd show job "$one")" "$seed"
nok "and whose file is root's" as_user cat "$run_dir/jobs/$one.0"
is "each is the other's partner" "$(status ".jobs[] | select(.job == $one) | .partners | @csv")" "$two"
is "their lanes differ" "$(status '[.jobs[].lane] | sort | @csv')" 0,1
is "a user sees one's own jobs only" \
	"$(as_user poppa status -N "$SANDBOX_REAL_NODE" --json | jq -r '[.jobs[].job] | @csv')" "$one"
like "a user cannot hold the shutters" "$(ask_poppad '{"op":"hold","seconds":5}' poppa-demo)" 'only root'
like "nonsense is answered with an error" "$(ask_poppad 'nonsense')" '"error"'
like "an unknown request, too" "$(ask_poppad '{"op":"dance"}')" '"error"'

ask_poppad '{"op":"hold","seconds":60}' >/dev/null
before=$(status .totals.shutters)
sleep 1
is "root can hold them" "$(status .totals.shutters)" "$before"
ok "held time counts as not measured" wait_until 5 holds '[.jobs[] | select(.unmeasured_s > 0)] | length == 2'
ask_poppad '{"op":"release"}' >/dev/null
ok "and release them" wait_until 10 holds ".totals.shutters > $before + 3"

# --- the shutter log ---
conf=$POPPA_SANDBOX/etc/poppa.conf shutters=$POPPA_SANDBOX/tmp/shutters
cp "$conf" "$conf.saved"
echo "ShutterLog=$shutters" >>"$conf"
ctl kill -HUP poppad
rows() { cat "$shutters"/*.csv 2>/dev/null | wc -l; }
ok "the shutter log is written when asked for" wait_until 20 eval '[ "$(rows)" -gt 100 ]'
is "by its contract" "$(head -qn1 "$shutters"/*.csv)" block,job,task,region,k,start_ns,dur_ns,progress,cycles,lent_ns
is "and poppa estimate reads both jobs in it" \
	"$(poppa estimate --json "$shutters"/*.csv | jq -r '[.jobs[] | select(.blocks > 0) | .job] | sort | @csv')" "$one,$two"
mv "$conf.saved" "$conf"
ctl kill -HUP poppad
rm -rf "$shutters"

# --- the guard dies ---
new_log
kill -9 "$(status .guard_pid)"
ok "a dead guard is replaced" wait_until 10 logged 'guard.* has died'
before=$(status .totals.shutters)
ok "and shutters go on" wait_until 10 holds ".guard_pid > 0 and .totals.shutters > $before + 3"

# --- a job is suspended ---
scontrol suspend "$two"
stopped() { for p in $(tasks_of "$two"); do case $(state_of "$p") in [TD]) ;; *) return 1 ;; esac; done; }
ok "a suspended job stops" wait_until 20 stopped
ok "and is known to be stopped" wait_until 10 holds "any(.jobs[]; .job == $two and .state == \"stopped\")"
woken=0
sleep 2.5
for _ in $(seq 100); do
	stopped || woken=$((woken + 1))
	sleep 0.02
done
is "no shutter wakes it" "$woken" 0
solo=$(status ".jobs[] | select(.job == $one) | .solo_s")
sleep 1.5
cmp_num "the other one's time counts as alone" "$(status ".jobs[] | select(.job == $one) | .solo_s")" '>' "$solo"
scontrol resume "$two"
before=$(status .totals.shutters)
ok "resumed, it is measured again" wait_until 15 holds ".totals.shutters > $before + 3"

# --- poppad dies ---
co=$(status ".jobs[] | select(.job == $one) | .co_s")
mark=$(mktemp)
on_exit rm -f "$mark"
checkpoints() { find "$POPPA_SANDBOX/spool/poppa-$SANDBOX_REAL_NODE/state" -type f -newer "$mark" | wc -l; }
wait_until 20 eval '[ "$(checkpoints)" -ge 2 ]'
mapfile -t tasks < <(tasks_of "$one" && tasks_of "$two")
ctl kill -9 poppad
none_stopped() {
	local p
	for p in "${tasks[@]}"; do [ "$(state_of "$p")" != T ] || return; done
	[ -z "$(frozen_cgroups)" ]
}
# 42-guard says how soon.
ok "nothing stays stopped after kill -9 of poppad" wait_until 5 none_stopped
ctl start poppad >/dev/null 2>&1 || ctl restart poppad
ok "started again, it goes on where it was" \
	wait_until 15 holds "any(.jobs[]; .job == $one and .co_s >= $co and .unmeasured_s > 0)"
ok "with shutters" wait_until 15 holds '.totals.shutters > 3'

# They end as if their time were over.
scancel -s USR1 "$one.0"
scancel -s USR1 "$two.0"
ok "the first job ends" wait_end "$one" 90
ok "the second job ends" wait_end "$two" 90
is "with its own exit status" "$(job_field "$one" ExitCode)" 7:0
is "their output is that of the program and nothing else" \
	"$(cat "$(home_of)/pair.$one" "$(home_of poppa-guest)/pair.$two" | grep -vc '^contend: ')" 0
gone() { holds '.jobs | length == 0' && [ -z "$(ls "$run_dir/jobs")" ]; }
ok "poppad takes them off its list" wait_until 20 gone
# But for what is kept of records that were acknowledged, which ledger that was, what it said of slow refill, and the settings.
spool_empty() {
	[ -z "$(find "$POPPA_SANDBOX/spool/poppa-$SANDBOX_REAL_NODE" -type f -not -path '*/sent/*' -not -name ledger -not -name prior -not -name poppa_settings)" ]
}
ok "and the ledger has acknowledged their records" wait_until 30 spool_empty

# --- nobody there: no wake-ups ---
switches() { awk '/ctxt_switches/ { n += $2 } END { print n }' /proc/"$(ctl pid poppad)"/task/*/status; }
quiet() {
	local n
	n=$(switches)
	sleep 1
	[ "$(switches)" = "$n" ]
}
# What it was asked before wakes it, too.
wait_until 20 quiet
before=$(switches)
sleep 5
cmp_num "with no job it wakes up less than once a second" $(($(switches) - before)) '<' 5
cmp_num "and its resident memory is below 8 MiB" \
	"$(awk '/^VmRSS/ { print $2 }' /proc/"$(ctl pid poppad)"/status)" '<' 8192
done_testing
