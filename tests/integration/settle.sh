# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the tests of settlement share: usage in sshare, and the same price in every place. A test sources it after bill.sh.
#
#   raw_usage, limit_usage     what the account demo has used, in billing seconds and billing minutes
#   apart ID...                how far usage has grown from what these jobs are charged, since $since
#   log_lines DAEMON REGEX     how many lines of its log match
#   settlements                how many the ledger has made
#   agree NAME ID              points: all places show the same price, which the facts give
#   lone ARG...                a co-located job without a partner, on a fake node
#   lasting ARG...             one that has run for two seconds when this returns, and runs until over is called
#   note_usage                 what earlier jobs used, and usage_agrees: sreport and sacct have grown alike since

# Seconds, as PriorityDecayHalfLife in the sandbox's slurm.conf.
HALF_LIFE=604800

raw_usage() {
	sshare -n -P -U -u poppa-demo -A demo -o RawUsage | tail -n 1
}

# Billing minutes, as GrpTRESMins counts them.
limit_usage() {
	sshare -n -P -U -u poppa-demo -A demo -o GrpTRESRaw | tail -n 1 | tr , '\n' | sed -n 's/^billing=//p'
}

# apart ID...: how far that has grown from what is charged for these jobs, as a share of it, since it was $before at
# the time $since. What earlier jobs used decays meanwhile, once in PriorityCalcPeriod=1 (minute).
apart() {
	sacct -D -X -n -P -j "$(IFS=,; echo "$*")" -o ElapsedRaw,AllocTRES |
		awk -F'[|,]' -v a="$before" -v b="$(raw_usage)" -v s="$since" -v t="$EPOCHREALTIME" -v h="$HALF_LIFE" '
			{ for (i = 2; i <= NF; i++) if (sub(/^billing=/, "", $i)) w += $1 * $i }
			END { d = b - a * 0.5 ^ ((t - s) / h) - w; d = (d < 0 ? -d : d) - a * (1 - 0.5 ^ (60 / h))
				print (w > 0 ? (d < 0 ? 0 : d / w) : 9) }'
}

log_lines() {
	grep -c "$2" "$(ctl log "$1")"
}

# settlements: how many the ledger has made since it was made.
settlements() {
	in_ledger 'select count(*) from settlement'
}

# agree NAME ID: all places show the same price, and the price is the one the facts give.
agree() {
	local text raw charged want
	text=$(part "$2")
	raw=$(value "$text" raw)
	charged=$(value "$text" charged)
	is "$1: scontrol shows the charge" "$(shown_billing "$2")" "$charged"
	# What slurmdbd does not take while slurmctld starts, it is sent again after 30 s.
	ok "$1: sacct shows the same charge and comment" wait_until 90 in_database "$2"
	want=$(awk -v raw="$raw" -v d="$(value "$text" d)" -v z="$(value "$text" stopped)" \
		'BEGIN { if (d < 0) d = 0; print raw * (1 - z) * (1 - d) ^ 2 }')
	# d and stopped are printed with four decimals.
	cmp_num "$1: charged is raw*(1-stopped)*(1-d)^2" \
		"$(awk -v a="$charged" -v b="$want" -v raw="$raw" 'BEGIN { d = a - b; if (d < 0) d = -d; print d / raw }')" \
		'<=' 0.0008
}

# lone ARG...: a co-located job without a partner, on a fake node.
lone() {
	submit -p fake -N1 --colocate "$@"
	[ -n "$job" ]
}

# lasting ARG..., over: a test that does something before the job's end must not race with it.
over=$(home_of)/settle-over
on_exit rm -f "$over"
has_run() {
	job_runs "$1" && [[ $(job_field "$1" RunTime) != 00:00:0[01] ]]
}
lasting() {
	rm -f "$over"
	lone "$@" --wrap "until [ -e $over ]; do sleep 0.1; done" && wait_until 60 has_run "$job"
}
over() {
	touch "$over"
}

# Earlier jobs: Slurm itself adds a suspended job's time up differently in the two places.
note_usage() {
	wait_until 60 nothing_runs
	wait_until 120 nothing_waits || diag "earlier jobs still wait for their price"
	roll_up
	reported=$(sreport_sum poppa-demo) accounted=$(sacct_sum -u poppa-demo)
	[ "$reported" = "$accounted" ] || diag "sreport counts $reported for earlier jobs, sacct $accounted"
}

usage_agrees() {
	wait_until 60 nothing_runs
	ok "usage is rolled up" roll_up
	is "sreport's sum grew by that of the settled jobs" "$(($(sreport_sum poppa-demo) - reported))" "$(($(sacct_sum -u poppa-demo) - accounted))"
}
