# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What tests of prices share: a job's settlement as each place shows it, and sums over many jobs.

LEDGER=$POPPA_SANDBOX/state/ledger/ledger.sqlite

comment_part() {
	sed -n 's/^\(.*; \)\?poppa: \([^;]*\).*$/\2/p' <<<"$1" | sed 's/ *$//'
}

# part ID: the "poppa" part of the job's SystemComment, empty while it is not settled.
part() {
	comment_part "$(job_field "$1" SystemComment)"
}

# value TEXT KEY: one of the key=value facts.
value() {
	tr ' ' '\n' <<<"$1" | sed -n "s/^$2=//p"
}

settled() {
	[ -n "$(part "$1")" ]
}

shown_billing() {
	job_field "$1" TRES | tr , '\n' | sed -n 's/^billing=//p'
}

db_billing() {
	sacct_field "$1" AllocTRES | tr , '\n' | sed -n 's/^billing=//p'
}

# in_database ID: slurmdbd has the settlement that slurmctld shows.
in_database() {
	[ "$(comment_part "$(sacct_field "$1" SystemComment)")" = "$(part "$1")" ] &&
		[ "$(db_billing "$1")" = "$(shown_billing "$1")" ]
}

# in_ledger QUERY: rows of the ledger, whether poppa-ledgerd runs or not.
in_ledger() {
	sqlite3 -readonly "$LEDGER" "$1" 2>/dev/null
}

nothing_runs() {
	[ -z "$(squeue -h -t running,completing)" ]
}

# What is settled later gives usage back later.
nothing_waits() {
	local file=$POPPA_SANDBOX/state/slurmctld/poppa_unsettled
	[ ! -e "$file" ] || grep -q -x '\[\]' "$file"
}

# Sums of billing times seconds since the cluster's first hour. sreport is asked hour by hour: a longer
# span reads the daily sums, which the day's end makes.
first_hour=$(($(stat -c %Y "$POPPA_SANDBOX/instance") / 3600 * 3600))
at() {
	date -d "@$1" +%Y-%m-%dT%H:%M:%S
}
next_hour() {
	echo $(($(date +%s) / 3600 * 3600 + 3600))
}
roll_up() {
	sacctmgr -i rollup "$(at "$first_hour")" "$(at "$(next_hour)")"
}

# sacct_sum OPTION...: over the runs that sacct selects.
sacct_sum() {
	sacct -D -X -n -P -S "$(at "$first_hour")" -E "$(at "$(next_hour)")" -o ElapsedRaw,AllocTRES "$@" |
		awk -F'[|,]' '{ for (i = 2; i <= NF; i++) if (sub(/^billing=/, "", $i)) sum += $1 * $i } END { print sum + 0 }'
}

# sreport_sum USER [ACCOUNT]
sreport_sum() {
	local hour
	for ((hour = first_hour; hour < $(next_hour); hour += 3600)); do
		sreport -n -P -t Seconds -T billing cluster AccountUtilizationByUser \
			Start="$(at "$hour")" End="$(at $((hour + 3600)))"
	done | awk -F'|' -v user="$1" -v account="${2:-}" \
		'$3 == user && (account == "" || $2 == account) { sum += $NF } END { print sum + 0 }'
}
