# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the tests of prices share: a job's price in each place that shows one, and records of nodes that
# have no poppad. A test sources it after lib.sh.
#
#   part ID                    the "poppa" part of the job's SystemComment, empty while it is not settled
#   value TEXT KEY             one of the key=value facts in such a text
#   settled ID                 true when the job shows its settlement; wait_settled ID [SECONDS]
#   shown_billing ID           billing in "scontrol show job"; db_billing ID: in sacct
#   in_database ID             true when it is settled and slurmdbd has what slurmctld shows
#   run_settled ID RESTART     true when the ledger has the price of that run
#   in_ledger QUERY            rows of the ledger, whether poppa-ledgerd runs or not
#   report_node ID NODE [ASSIGNMENT...]
#                              sends the last record of that node of a job, as its poppad would: half slowed
#                              down for all of its time unless assignments in jq's language say otherwise
#                              (".degradation = 0.2")
#   why_agrees NAME ID NODE [PARTNER [USER]]
#                              points: what why says of a job with a degradation to its owner is what sacct shows
#   nothing_runs               true when no job runs
#   sacct_sum OPTION...        billing times seconds of the runs that sacct selects, and
#   sreport_sum USER [ACCOUNT] that sreport adds up, which roll_up brings up to date

LEDGER=$POPPA_SANDBOX/state/ledger/ledger.sqlite
SETTLE_SECONDS=${SETTLE_SECONDS:-60}

comment_part() {
	sed -n 's/^\(.*; \)\?poppa: \([^;]*\).*$/\2/p' <<<"$1" | sed 's/ *$//'
}

part() {
	comment_part "$(job_field "$1" SystemComment)"
}

value() {
	tr ' ' '\n' <<<"$1" | sed -n "s/^$2=//p"
}

settled() {
	[ -n "$(part "$1")" ]
}

wait_settled() {
	wait_until "${2:-$SETTLE_SECONDS}" settled "$1"
}

billing_in() {
	tr , '\n' <<<"$1" | sed -n 's/^billing=//p'
}

shown_billing() {
	billing_in "$(job_tres "$1")"
}

# db_field ID FIELD: from the latest row of this very job, also where ID is that of its array.
db_field() {
	sacct -X -n -P -j "$1" -o "JobIDRaw,$2" | sed -n "s/^$1|//p" | tail -n 1
}

db_billing() {
	billing_in "$(db_field "$1" AllocTRES)"
}

in_database() {
	settled "$1" && [ "$(comment_part "$(db_field "$1" SystemComment)")" = "$(part "$1")" ] &&
		[ "$(db_billing "$1")" = "$(shown_billing "$1")" ]
}

in_ledger() {
	sqlite3 -readonly "$LEDGER" "$1" 2>/dev/null
}

run_settled() {
	[ "$(in_ledger "select count(*) from settlement where job = $1 and restart = $2")" = 1 ]
}

# ledger_says JSON: the ledger's answer to root.
ledger_says() {
	local munge port
	munge=$(sed -n 's/^MungeSocket=//p' "$POPPA_CONF")
	port=$(sed -n 's/^LedgerListen=.*://p' "$POPPA_CONF")
	(
		exec 3<>"/dev/tcp/127.0.0.1/$port" || exit 1
		munge --socket="$munge" --string "$1" | tr -d '\n' >&3
		echo >&3
		timeout 10 head -n 1 <&3 | unmunge --socket="$munge" --metadata=/dev/null
	)
}

report_node() {
	local id=$1 node=$2 change=. start request
	start=$(date -d "$(job_field "$id" StartTime)" +%s)
	shift 2
	while [ $# -gt 0 ]; do
		change+=" | $1"
		shift
	done
	request=$(jq -cn --argjson job "$id" --arg node "$node" --argjson uid "$(id -u poppa-demo)" --argjson start "$start" '
		{cluster: "sandbox", job: $job, restart: 0, node: $node, uid: $uid, seq: 1, final: true,
		 lane: 0, cores: 8, start: $start, end: $start, co_ns: 180000000000, solo_ns: 0, paused_ns: 0, unmeasured_ns: 0,
		 blocks: 100, used: 90, degradation: 0.5, variance: 0.0001, thesis_degradation: null,
		 method: "robust", backend: "heartbeat", partners: []} |'"$change"' |
		{op: "record", nonce: "test", records: [.]}')
	ledger_says "$request" | jq -e '.ok and all(.results[]; .ok)' >/dev/null
}

# member JSON FILTER
member() {
	jq -r "$2" <<<"$1"
}

why_agrees() {
	local json text user=${5:-poppa-demo}
	json=$(as "$user" poppa why "$2" --json)
	is "$1: why gives the billing that sacct shows" "$(member "$json" .price.charged)" "$(db_billing "$2")"
	is "$1: its arithmetic rounds to it" "$(member "$json" '.price.calculation.amount + 0.5 | floor')" "$(db_billing "$2")"
	is "$1: with all digits, from the ledger" \
		"$(member "$json" '.price.calculation | "\(.fits) \(.most - .least)"')" "true 0"
	is "$1: which the owner may ask" "$(member "$json" .no_ledger)" null
	is "$1: and which has the node" "$(member "$json" '.nodes[].node')" "$3"
	is "$1: beside whom" "$(member "$json" '.price.partners | join(" ")')" "${4:-}"
	text=$(as "$user" poppa why "$2" | tr '\n' ' ' | tr -s ' ')
	like "$1: in words" "$text" "Job $2 \([a-z0-9]+\) of $user, .*billing of $(db_billing "$2") is charged"
	like "$1: and numbers" "$text" "$(member "$json" .price.calculation.numbers | sed 's/[().^+*]/\\&/g') = "
}

nothing_runs() {
	[ -z "$(squeue -h -t running,completing)" ]
}

# Sums of billing times seconds since the cluster's first hour. sreport is asked hour by hour: for a longer span it
# reads daily sums, which slurmdbd makes only when the day has ended.
first_hour=$(($(stat -c %Y "$POPPA_SANDBOX/instance") / 3600 * 3600))
at() {
	date -d "@$1" +%Y-%m-%dT%H:%M:%S
}
next_hour() {
	echo $(($(date +%s) / 3600 * 3600 + 3600))
}
roll_up() {
	sacctmgr -i rollup "$(at "$first_hour")" "$(at "$(next_hour)")" 2>&1
}

# Of a run that began before the first hour only the time since then counts, as in sreport.
sacct_sum() {
	sacct -T -D -X -n -P -S "$(at "$first_hour")" -E "$(at "$(next_hour)")" -o ElapsedRaw,AllocTRES "$@" |
		awk -F'[|,]' '{ for (i = 2; i <= NF; i++) if (sub(/^billing=/, "", $i)) sum += $1 * $i } END { print sum + 0 }'
}

sreport_sum() {
	local hour
	for ((hour = first_hour; hour < $(next_hour); hour += 3600)); do
		sreport -n -P -t Seconds -T billing cluster AccountUtilizationByUser \
			Start="$(at "$hour")" End="$(at $((hour + 3600)))"
	done | awk -F'|' -v user="$1" -v account="${2:-}" \
		'$3 == user && (account == "" || $2 == account) { sum += $NF } END { print sum + 0 }'
}
