#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa metrics: what Prometheus' own parser reads from it, its file, how many series it is, and the dashboards and rules that ask for it.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
needs jq perl

here=$(cd "$(dirname "$0")" && pwd)
contrib=$here/../../contrib
rules=$contrib/prometheus/poppa.rules.yml
dashboards=("$contrib/grafana/poppa-site.json" "$contrib/grafana/poppa-node.json" "$contrib/grafana/poppa-user.json")
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
is "of which the dashboards say the same" "$(grep -h -o 'of the last [0-9]* s' "${dashboards[@]}" | sort -u)" "of the last $window"
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
	'{"name":"poppa_job_degradation_ratio","type":"gauge","labels":{"node":"n1","cluster":"sandbox","user":"ann","jobid":"12","restart":"0"},"value":0.4125}'

# How many series that is, as the document says: of the node, and of each job that runs there.
runs "metrics --no-jobs" 0 "$POPPA" metrics --no-jobs
unlike "metrics --no-jobs: nothing of a job" "$OUT" 'poppa_job_|jobid|user='
fixed=$(grep -vc '^#' <<<"$OUT")
is "metrics --no-jobs: all that is of the node" "$fixed" "$(grep -v '^#' "$prom" | grep -vc '^poppa_job_')"
each=$(sed -n 's/^# TYPE \(poppa_job_[^ ]*\) .*/\1/p' "$prom" | grep -vc '^poppa_job_partner_')
series=$(tr '\n' ' ' <"$contrib/prometheus/README.md" | tr -d ,)
said() {
	sed -n "s/.*$1.*/\\1/p" <<<"$series"
}
is "a node's series are as many as the document says" "$(said 'A node has \([0-9]*\) series')" "$fixed"
is "and a job's" "$(said 'and \([0-9]*\) more for each co-located job')" "$each"
is "no job has more, but for its co-runners" \
	"$(grep -v '^#' "$prom" | grep -v '^poppa_job_partner_' | grep -o 'jobid="[0-9]*"' | sort | uniq -c | awk -v most="$each" '$1 > most')" ""
is "reasons are those of the document" "$(grep -c '^poppa_shutters_discarded_total' "$prom")" "$(said 'and the \([0-9]*\) reasons')"
is "its sum for a big cluster" "$(said 'two jobs each are \([0-9]*\) series')" "$((1300 * (fixed + 2 * each)))"
is "and without jobs" "$(said 'then 1300 nodes have \([0-9]*\) series')" "$((1300 * fixed))"

# The units' commands, with directories of this test's own in the place of the host's.
unit_writes() {
	local unit=$here/../../etc/$1.service.in file=$2 run dirs dir
	run=$(sed -n '/^ExecStart=/,/[^\\]$/p' "$unit" | sed -e 's/^ExecStart=//' -e 's/\\$//' -e 's/\$\$/$/g' -e "s|@bindir@/poppa|$POPPA|g" \
		-e "s|/var/lib|$TAP_DIR/var|g")
	for dirs in prometheus/node-exporter node_exporter/textfile_collector "prometheus/node-exporter node_exporter/textfile_collector"; do
		for dir in $dirs; do mkdir -p "$TAP_DIR/var/$dir"; done
		runs "$1, $dirs" 0 sh -c "$run"
		is "$1, $dirs: writes there" "$(cd "$TAP_DIR/var" && find . -type f | sort | paste -s -d ' ')" \
			"$(for dir in $dirs; do echo "./$dir/$file"; done | sort | paste -s -d ' ')"
		for dir in $dirs; do
			ok "$1 starts where there is $dir" grep -q -x "ConditionPathIsDirectory=|/var/lib/$dir" "$unit"
			ok "$1 may write to $dir" grep -q -E "^ReadWritePaths=(.* )?-/var/lib/$dir( |\$)" "$unit"
		done
		rm -r "${TAP_DIR:?}/var"
	done
	ok "$1: a timer runs it" test -e "$here/../../etc/$1.timer"
}
unit_writes poppa-metrics poppa.prom
unit_writes poppa-ledger-metrics poppa-ledger.prom

if python=$(python_with prometheus_client.parser); then
	value() {
		parsed "$prom" ".[] | select(.name == \"$1\" and (.labels | contains(${2:-{\}}))) | .value"
	}
	is "Prometheus' parser reads it all" "$(parsed "$prom" length)" "$(grep -vc '^#' "$prom")"
	is "up" "$(value poppa_up '{node: "n1", cluster: "sandbox"}')" 1
	is "guard" "$(value poppa_guard_up)" 1
	is "settings" "$(value poppa_settings_good)" 1
	is "nanoseconds become seconds" "$(value poppa_longest_stop_seconds)" 0.003456789
	is "a reason" "$(value poppa_shutters_discarded_total '{reason: "task-ended"}')" 2
	is "and one that there was none of" "$(value poppa_shutters_discarded_total '{reason: "guard-resumed"}')" 0
	is "the node's jobs" "$(value poppa_jobs) $(value poppa_jobs_measured) $(value poppa_jobs_without_signal) $(value poppa_jobs_stopped)" "2 1 1 1"
	is "what they lose, in all and at most" "$(value poppa_jobs_degradation_sum_ratio) $(value poppa_jobs_degradation_max_ratio)" "0.4125 0.4125"
	is "whose limit is not kept, and who reacts to shutters" "$(value poppa_jobs_limit_unkept) $(value poppa_jobs_shutter_sensing)" "1 1"
	is "the spool" "$(value poppa_spool_records) $(value poppa_spool_refused) $(value poppa_spool_bad)" "3 1 0"
	is "what it costs, and that it is held" "$(value poppa_cost_held_ratio) $(value poppa_cost_max_ratio) $(value poppa_period_lengthened)" "0.0023 0.005 1"
	is "who reacts to shutters" "$(value poppa_job_shutter_sensing '{jobid: "12"}') $(value poppa_job_shutter_sensing '{jobid: "13"}')" "0 1"
	is "a job's interval" "$(value poppa_job_degradation_low_ratio '{jobid: "12"}') $(value poppa_job_degradation_high_ratio)" "0.4 0.425"
	is "time held for turns" "$(value poppa_job_turned_seconds_total '{user: "ann"}')" 41.5
	is "a limit, and that it is not kept" "$(value poppa_job_max_degradation_ratio) $(value poppa_job_limit_unkept '{jobid: "13"}') $(value poppa_job_limit_unkept '{jobid: "12"}')" "0.05 1 0"
	is "a name with a quote and a backslash" "$(value poppa_job_unmeasured_seconds_total '{user: "b\"ob\\"}')" 100
	is "what is not known has no sample" "$(value poppa_job_degradation_ratio '{jobid: "13"}')" ""
	is "what each co-runner costs" "$(value poppa_job_partner_degradation_ratio '{jobid: "13", partner: "14"}')" 0.02
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

# The dashboards and rules ask for what is exported or recorded, and for all that tells whether something is wrong.
known+=$'\nnode_textfile_mtime_seconds' # node_exporter's own
known+=$'\n'$(sed -n 's/^  - record: //p' "$rules")
# names: those in queries, without what quotes hold, of metrics and of recorded series.
names() {
	sed 's/"[^"]*"//g' | grep -o -E '[a-z_]*(:?(poppa|node_textfile)_[a-z0-9_]+)(:[a-z0-9_]+)?' | sort -u
}
asked=
for dashboard in "${dashboards[@]}"; do
	which=$(basename "$dashboard" .json)
	is "$which is JSON with panels" "$(jq '.panels | length > 8' "$dashboard")" true
	here_asked=$(jq -r '.. | (.expr?, .definition?) | strings' "$dashboard" | names)
	is "all that $which asks for is exported or recorded" "$(comm -23 <(echo "$here_asked") <(sort -u <<<"$known"))" ""
	is "every panel of $which has a query" "$(jq '[.panels[] | select(([.targets[].expr | select(test("poppa_"))] | length) == 0)] | length' "$dashboard")" 0
	is "every panel of $which has a place and a number of its own" \
		"$(jq -c '[(.panels | length) - ([.panels[].id] | unique | length), (.panels | length) - ([.panels[].gridPos | [.x, .y]] | unique | length)]' "$dashboard")" "[0,0]"
	is "$which has the variables that its queries use" \
		"$(comm -23 <(jq -r '.. | (.expr?, .uid?) | strings' "$dashboard" | grep -o -E '\$\{?[a-z]+' | tr -d '${' | sort -u) <(jq -r '.templating.list[].name' "$dashboard" | sort -u))" ""
	asked+=$'\n'$here_asked
done
is "dashboards have numbers of their own" "$(jq -r .uid "${dashboards[@]}" | sort | uniq -d)" ""
rule_names=$(sed -n "s/^    expr: '\{0,1\}//p" "$rules" | sed "s/'\$//" | names)
is "all that the rules ask for is exported or recorded" "$(comm -23 <(echo "$rule_names") <(sort -u <<<"$known"))" ""
is "of which there is much" "$([ "$(wc -l <<<"$rule_names")" -ge 25 ] && echo yes)" yes
is "no recording rule keeps a job's number" "$(sed -n 's/^  - record: //p' "$rules" | wc -l)" "$(grep -c -E '^    expr: (count|sum|avg|max) by \(cluster(, user)?\)' "$rules")"
for m in poppa_up poppa_guard_up poppa_settings_good poppa_spool_records poppa_job_degradation_ratio poppa_cost_held_ratio poppa_job_shutter_sensing poppa_turns_active poppa_turn_slices_disturbed_total poppa_job_turned_seconds_total poppa_job_limit_unkept poppa_ledger_unsettled_runs poppa_ledger_refused_total poppa_ledger_set_aside; do
	like "a dashboard shows $m" "$asked" "(^|"$'\n'")$m("$'\n'"|$)"
done
is "labels in the dashboards' queries are those of the metrics" \
	"$(jq -r '.. | .expr? | strings' "${dashboards[@]}" | grep -o -E '[a-z_]+=~' | sort -u | tr -d '\n')" "cluster=~node=~user=~"
is "and in their legends" "$(jq -r '.. | .legendFormat? | strings' "${dashboards[@]}" | grep -o -E '\{\{[a-z_]+' | sort -u | tr -d '{\n')" "clusterjobidkindnodepartnerreasonuser"
done_testing
