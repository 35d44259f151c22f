#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What users and administrators see of two co-located jobs that are measured: top, status and metrics.
. "$(dirname "$0")/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
contend=$build/contrib/workloads/contend
node=$SANDBOX_REAL_NODE
line=/dev/shm/poppa-test-45.$$
on_exit rm -f "$line"
on_exit ctl reconfigure --reset

# --- two co-located jobs of two users ---
# On a busy host most blocks are of no use: long and frequent ones make up for that.
ctl reconfigure poppa_period=100ms poppa_shutter=20ms poppa_overhead_max=50% poppa_adaptive=no poppa_min_blocks=2 >/dev/null
SUBMIT_USER=poppa-demo submit --colocate -n1 -o "seeing.%j" --wrap "srun $contend --line $line --seconds 600 --private 60"
one=$job
SUBMIT_USER=poppa-guest submit --colocate -n1 -o "seeing.%j" --wrap "srun $contend --line $line --seconds 600 --private 60"
two=$job
ok "two co-located jobs run" eval 'wait_running "$one" && wait_running "$two"'
wait_until 20 all_work 2 "$contend --line $line"
degr='-?[0-9]+[.][0-9][0-9]' interval='-?[0-9]+[.][0-9][.][.]-?[0-9]+[.][0-9]'
# So well that the next few blocks do not make them uncertain again.
ok "the degradations of both become known" \
	wait_until 300 holds '[.jobs[] | select(.used >= 8 and .degradation != null and .ci95 != null and .ci95[1] - .ci95[0] < 0.4)] | length == 2'
diag "$(status '.jobs[] | {job, used, blocks, degradation, ci95} | tojson')"
# A few blocks more may make a degradation uncertain again for a moment.
row=" +$one poppa-de +[01] +1 +$degr +$interval +[0-9]+ +[0-9.]+ +[0-9]+\.[0-9][0-9] running +heartbeat +$two"
two_tables() {
	out=$(poppa top -N "$node" -b -n 2 -d 2s)
	grep -q -E "^$row$" <<<"$out"
}
wait_until 60 two_tables

is "top -b -n 2 prints two tables" "$(grep -c 'JOB USER .* CO-RUNNERS$' <<<"$out")" 2
is "with both jobs in each" "$(grep -c -E "^ +($one|$two) poppa-" <<<"$out")" 4
like "with user, lane, tasks, degradation and interval, blocks, state, counter and co-runner" "$out"$'\n' \
	$'\n'"$row"$'\n'
like "with shutters a second" "$out" $'\n'"shutters  [0-9]+, [0-9]+\.[0-9][0-9]/s, "
like "and what they cost" "$out" $'\n'"cost      jobs held stopped [0-9.]+ %, lately ([0-9.]+|-) % \(model [0-9.]+ %, at most [0-9.]+ %\), [0-9.]+ % of a core"
out=$(poppa top -N "$node" --json -n 1 -d 3s)
cmp_num "shutters a second are what the counts say" "$(jq '.rates.shutters_s' <<<"$out")" '>' 0
cmp_num "and so are a job's blocks" "$(jq "[.jobs[].blocks_s] | add" <<<"$out")" '>' 0
like "a user's top has one's own job" "$(as_user poppa top -N "$node" -b -n 1 -d 100ms)" $'\n'" +$one poppa-de"
unlike "and no other" "$(as_user poppa top -N "$node" -b -n 1 -d 100ms)" $'\n'" +$two "
out=$(poppa status -N "$node")
like "status shows root both jobs" "$out" $'\n'" +$one poppa-demo .*"$'\n'" +$two poppa-gues"
is "and a user one's own" "$(as poppa-guest poppa status -N "$node" --json | jq -r '[.jobs[].job] | @csv')" "$two"

# Whatever the daemon says, poppa(1) explains.
page=$(sed -e 's/\\-/-/g' -e 's/\\f[A-Z]//g' "$tree/src/cli/poppa.1")
missing=$(poppa status -N "$node" --json | jq -r 'del(.. | .discarded?) | [.. | objects | keys[]] | unique[]' |
	while read -r k; do grep -q -w -e "$k" <<<"$page" || echo "$k"; done)
is "every member of the status is in poppa(1)" "$missing" ""

# --- metrics ---
prom=$POPPA_SANDBOX/tmp/poppa-test.prom
on_exit rm -f "$prom"
ok "metrics are written to a file" poppa metrics -N "$node" --output "$prom"
python=
for p in python3 /usr/bin/python3; do
	"$p" -c 'import prometheus_client' 2>/dev/null && python=$p && break
done
if [ -n "$python" ]; then
	cat >"$prom.py" <<-'END'
		import json, sys
		from prometheus_client.parser import text_string_to_metric_families
		families = text_string_to_metric_families(open(sys.argv[1]).read())
		print(json.dumps([[s.name, s.labels, s.value] for f in families for s in f.samples]))
	END
	on_exit rm -f "$prom.py"
	parse() { samples=$("$python" "$prom.py" "$prom" 2>&1); }
	parse
	is "Prometheus' parser reads every sample" "$(jq length <<<"$samples")" "$(grep -vc '^#' "$prom")"
	is "both jobs are there" \
		"$(jq -r '[.[] | select(.[0] == "poppa_job_lane") | .[1].jobid | tonumber] | sort | @csv' <<<"$samples")" "$one,$two"
	is "poppad and its guard are up" \
		"$(jq -c '[.[] | select(.[0] == "poppa_up" or .[0] == "poppa_guard_up") | .[2] == 1]' <<<"$samples")" "[true,true]"
	degradations() {
		poppa metrics -N "$node" --output "$prom" && parse &&
			jq -e 'any(.[]; .[0] == "poppa_job_degradation_ratio" and .[2] < 1)' <<<"$samples"
	}
	ok "with a degradation that is known" wait_until 30 degradations
else
	skip "python3-prometheus-client is not installed" "Prometheus' parser reads every sample"
fi
cmp_num "shutters are counted" "$(metric poppa_shutters_total)" '>' 3
is "a user's metrics have one's own job only" \
	"$(as_user poppa metrics -N "$node" | sed -n 's/^poppa_job_lane{.*jobid="\([0-9]*\)".*/\1/p')" "$one"
poppa metrics --ledger >"$prom.ledger"
on_exit rm -f "$prom.ledger"
is "the ledger is up" "$(sed -n 's/^poppa_ledger_up{.*} //p' "$prom.ledger")" 1
is "every metric of the ledger has a sample, but for what it has never turned away" \
	"$(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$prom.ledger" | while read -r name; do grep -q "^${name}[{ ]" "$prom.ledger" || echo "$name"; done |
		grep -v '^poppa_ledger_refused_total$')" ""
as_user munge --socket="$(sed -n 's/^MungeSocket=//p' "$POPPA_CONF")" <<<'{"op":"settle","nonce":"n"}' | tr -d '\n' |
	sed 's/$/\n/' | timeout 10 bash -c "exec 3<>/dev/tcp/127.0.0.1/$(sed -n 's/^LedgerListen=.*://p' "$POPPA_CONF"); cat >&3; head -n 1 <&3" >/dev/null
like "what it turns away is counted by kind" "$(poppa metrics --ledger)" $'\n''poppa_ledger_refused_total\{[^}]*kind="not_allowed"\} [1-9]'
if command -v promtool >/dev/null; then
	poppa metrics -N "$node" >"$prom.node"
	on_exit rm -f "$prom.node"
	for part in node ledger; do
		is "promtool has nothing to say of the metrics of a $part" "$(promtool check metrics <"$prom.$part" 2>&1)" ""
	done
else
	skip "promtool is not installed (prometheus)" "promtool has nothing to say of the metrics"
fi
done_testing
