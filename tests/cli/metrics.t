#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa metrics: what Prometheus' own parser reads from it, its file, and the dashboard that asks for it.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
needs jq perl

here=$(cd "$(dirname "$0")" && pwd)
dashboard=$here/../../contrib/grafana/poppa.json
export POPPA_CONF=$TAP_DIR/poppa.conf
unset SLURMD_NODENAME
echo "RunDir=$TAP_DIR/run-%n" >"$POPPA_CONF"
mkdir -p "$TAP_DIR/run-n1"

# parsed FILE FILTER: the samples as Prometheus' parser for Python sees them, through jq. It refuses what is malformed.
parsed() {
	"$python" - "$1" <<-'END' | jq -r "$2"
		import json, sys
		from prometheus_client.parser import text_string_to_metric_families
		families = list(text_string_to_metric_families(open(sys.argv[1]).read()))
		names = [f.name for f in families]
		if len(set(names)) != len(names):
		    sys.exit("a metric appears twice")
		samples = [dict(name=s.name, labels=s.labels, value=s.value, type=f.type) for f in families for s in f.samples]
		keys = [(s["name"], tuple(sorted(s["labels"].items()))) for s in samples]
		if len(set(keys)) != len(keys):
		    sys.exit("a sample appears twice")
		json.dump(samples, sys.stdout)
	END
}

runs "metrics without poppad" 0 "$POPPA" metrics --node n1
like "metrics without poppad: up is 0" "$OUT" 'poppa_up\{node="n1"\} 0'
is "metrics without poppad: nothing else has a value" "$(grep -vc '^#' <<<"$OUT")" 1
like "metrics without poppad: says so" "$ERR" "^poppa metrics: poppad does not answer at .*run-n1/poppad.sock"
known=$(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' <<<"$OUT")
is "every metric has a help and a type, once" "$(sed -n 's/^# HELP \([^ ]*\) .*/\1/p' <<<"$OUT" | sort)" "$(sort -u <<<"$known")"
is "counters end in _total, and only they do" \
	"$(sed -n 's/^# TYPE \([^ ]*\) counter/\1/p' <<<"$OUT" | sort)" "$(grep '_total$' <<<"$known" | sort)"
window=$(sed -n 's/^# HELP poppa_cost_held_ratio .* of the last \([0-9]* s\) .*/\1/p' <<<"$OUT")
like "the cost is that of a number of seconds" "$window" '^[0-9]+ s$'
is "of which the dashboard says the same" "$(grep -o 'of the last [0-9]* s' "$dashboard" | sort -u)" "of the last $window"
is "and poppa(1)" "$(grep -o 'shares of the last [0-9]* s' "$here/../../src/cli/poppa.1")" "shares of the last $window"
runs "metrics of nowhere" 1 "$POPPA" metrics --output "$TAP_DIR/no/such/poppa.prom"
like "metrics of nowhere: names the file" "$ERR" "poppa metrics: --output: .*no/such/poppa.prom"
runs "metrics surplus" 2 "$POPPA" metrics surplus

cp "$here/status.json" "$TAP_DIR/answer"
"$here/answers" "$TAP_DIR/run-n1/poppad.sock" "$TAP_DIR/answer" &
server=$!
for _ in $(seq 100); do
	[ -S "$TAP_DIR/run-n1/poppad.sock" ] && break
	sleep 0.1
done
prom=$TAP_DIR/poppa.prom
echo old >"$prom"
chmod 600 "$prom"
before=$(stat -c %i "$prom")
runs "metrics --output" 0 "$POPPA" metrics --output "$prom"
is "metrics --output: prints nothing" "$OUT$ERR" ""
is "metrics --output: anybody may read it" "$(stat -c %a "$prom")" 644
is "metrics --output: a new file in the old one's place, and no other" \
	"$([ "$(stat -c %i "$prom")" != "$before" ] && echo new) $(find "$TAP_DIR" -maxdepth 1 -name 'poppa.prom*' | wc -l)" "new 1"
ln -s poppa.prom "$TAP_DIR/link.prom"
runs "metrics into a link" 0 "$POPPA" metrics --output "$TAP_DIR/link.prom"
is "metrics into a link: it stays a link" "$(stat -c %F "$TAP_DIR/link.prom")" "symbolic link"
mkfifo "$TAP_DIR/fifo.prom"
exec 9<>"$TAP_DIR/fifo.prom" # which makes that no side of it waits for the other
runs "metrics into a fifo" 0 "$POPPA" metrics --node n2 --output "$TAP_DIR/fifo.prom"
is "metrics into a fifo: it stays a fifo" "$(stat -c %F "$TAP_DIR/fifo.prom")" "fifo"
exec 9>&-
runs "metrics to standard output" 0 "$POPPA" metrics --output -
is "metrics to standard output: as many samples" "$(grep -vc '^#' <<<"$OUT")" "$(grep -vc '^#' "$prom")"
is "every line is a comment or a sample" "$(grep -v -c -E '^(# (HELP|TYPE) poppa_[a-z0-9_]+ .*|poppa_[a-z0-9_]+(\{[^}]*\})? -?[0-9.e+-]+)$' "$prom")" 0
runs "metrics --json" 0 "$POPPA" metrics --json
is "metrics --json: as many samples" "$(jq '.metrics | length' <<<"$OUT")" "$(grep -vc '^#' "$prom")"
is "metrics --json: names, types, labels, values" \
	"$(jq -c '.metrics[] | select(.name == "poppa_job_degradation_ratio")' <<<"$OUT")" \
	'{"name":"poppa_job_degradation_ratio","type":"gauge","labels":{"node":"n1","cluster":"sandbox","user":"ann","job":"12","restart":"0"},"value":0.4125}'

# The unit's command, with directories of this test's own in the place of the host's.
unit=$here/../../etc/poppa-metrics.service.in
run=$(sed -n '/^ExecStart=/,/[^\\]$/p' "$unit" | sed -e 's/^ExecStart=//' -e 's/\\$//' -e 's/\$\$/$/g' -e "s|@bindir@/poppa|$POPPA|g" \
	-e "s|/var/lib|$TAP_DIR/var|g")
for dirs in prometheus/node-exporter node_exporter/textfile_collector "prometheus/node-exporter node_exporter/textfile_collector"; do
	for dir in $dirs; do mkdir -p "$TAP_DIR/var/$dir"; done
	runs "the unit, $dirs" 0 sh -c "$run"
	is "the unit, $dirs: writes there" "$(cd "$TAP_DIR/var" && find . -type f | sort | paste -s -d ' ')" \
		"$(for dir in $dirs; do echo "./$dir/poppa.prom"; done | sort | paste -s -d ' ')"
	for dir in $dirs; do
		ok "the unit starts where there is $dir" grep -q -x "ConditionPathIsDirectory=|/var/lib/$dir" "$unit"
		ok "the unit may write to $dir" grep -q -E "^ReadWritePaths=(.* )?-/var/lib/$dir( |\$)" "$unit"
	done
	rm -r "${TAP_DIR:?}/var"
done

if python=$(python_with prometheus_client.parser); then
	value() {
		parsed "$prom" ".[] | select(.name == \"$1\" and (.labels | contains(${2:-{\}}))) | .value"
	}
	is "Prometheus' parser reads it all" "$(parsed "$prom" length)" "$(grep -vc '^#' "$prom")"
	is "up" "$(value poppa_up '{node: "n1", cluster: "sandbox"}')" 1
	is "guard" "$(value poppa_guard_up)" 1
	is "settings" "$(value poppa_settings_good)" 1
	is "nanoseconds become seconds" "$(value poppa_longest_stop_seconds)" 0.003456789
	is "a reason" "$(value poppa_shutters_discarded_total '{reason: "gone"}')" 2
	is "the spool" "$(value poppa_spool_records) $(value poppa_spool_refused) $(value poppa_spool_bad)" "3 1 0"
	is "what it costs, and that it is held" "$(value poppa_cost_held_ratio) $(value poppa_cost_max_ratio) $(value poppa_period_lengthened)" "0.0023 0.005 1"
	is "who reacts to shutters" "$(value poppa_job_shutter_sensing '{job: "12"}') $(value poppa_job_shutter_sensing '{job: "13"}')" "0 1"
	is "a job's interval" "$(value poppa_job_degradation_low_ratio '{job: "12"}') $(value poppa_job_degradation_high_ratio)" "0.4 0.425"
	is "time held for turns" "$(value poppa_job_turned_seconds_total '{user: "ann"}')" 41.5
	is "a limit, and that it is not kept" "$(value poppa_job_max_degradation_ratio) $(value poppa_job_limit_unkept '{job: "13"}') $(value poppa_job_limit_unkept '{job: "12"}')" "0.05 1 0"
	is "a name with a quote and a backslash" "$(value poppa_job_unmeasured_seconds_total '{user: "b\"ob\\"}')" 100
	is "what is not known has no sample" "$(value poppa_job_degradation_ratio '{job: "13"}')" ""
	is "what each co-runner costs" "$(value poppa_job_partner_degradation_ratio '{job: "13", partner: "14"}')" 0.02
	sed -i 's/"bad_settings": null/"bad_settings": "poppa_period: no"/; s/"guard_pid": 4243/"guard_pid": 0/' "$TAP_DIR/answer"
	"$POPPA" metrics --output "$prom"
	is "refused settings and a dead guard are seen" "$(value poppa_settings_good) $(value poppa_guard_up)" "0 0"
else
	skip "python3-prometheus-client is not installed" "Prometheus' parser reads it all"
fi
rm "$TAP_DIR/answer"
"$POPPA" metrics >/dev/null 2>&1
wait "$server"

# Of a ledger that does not answer, as scontrol knows of none here.
printf '#!/bin/sh\nexit 1\n' >"$TAP_DIR/scontrol"
chmod +x "$TAP_DIR/scontrol"
runs "metrics --ledger" 0 env PATH="$TAP_DIR:$PATH" "$POPPA" metrics --ledger
like "metrics --ledger: up is 0" "$OUT" 'poppa_ledger_up\{cluster=""\} 0'
like "metrics --ledger: says why" "$ERR" "^poppa metrics: where the ledger is is not known: slurmctld does not answer"
known+=$'\n'$(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' <<<"$OUT")

# The dashboard asks for what is exported, and for all that tells whether something is wrong.
is "the dashboard is JSON with panels" "$(jq '.panels | length > 10' "$dashboard")" true
asked=$(jq -r '.. | (.expr?, .definition?) | strings' "$dashboard" | grep -o -E 'poppa_[a-z0-9_]+' | sort -u)
is "all metrics that the dashboard asks for are exported" "$(comm -23 <(echo "$asked") <(sort -u <<<"$known"))" ""
is "every panel has a query" "$(jq '[.panels[] | select(([.targets[].expr | select(test("poppa_"))] | length) == 0)] | length' "$dashboard")" 0
for m in poppa_up poppa_guard_up poppa_settings_good poppa_spool_records poppa_job_degradation_ratio poppa_cost_held_ratio poppa_job_shutter_sensing poppa_turns_active poppa_turn_slices_disturbed_total poppa_job_turned_seconds_total poppa_job_limit_unkept poppa_ledger_unsettled_runs poppa_ledger_refused_total poppa_ledger_set_aside; do
	like "the dashboard shows $m" "$asked" "(^|"$'\n'")$m("$'\n'"|$)"
done
is "labels in the dashboard's queries are those of the metrics" \
	"$(jq -r '.. | .expr? | strings' "$dashboard" | grep -o -E '[a-z_]+=~' | sort -u | tr -d '\n')" "cluster=~node=~user=~"
done_testing
