# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the tests of time limits share: jobs whose nodes say that they lose time, and where they end. A test sources it
# after bill.sh and settle.sh.
#
#   limited MINUTES ARG...     a co-located job with that limit, which runs until it is ended
#   tells ID [ASSIGNMENT...]   its node says that it has lost half of its time so far; fails without a ledger
#   length ID                  how many seconds after its start the job ends
#   longer ID SECONDS          true when that is more
#   limit ID, limit_part ID    its TimeLimit, and what SystemComment says of it
#   a_pass                     a job has been moved that was told of after all others: slurmctld has looked at these, too
#   ran_for ID SECONDS         true when it began so long ago

limited() {
	lone -t "$1" "${@:2}" --wrap 'sleep 900'
	wait_running "$job" || bail_out "job $job does not run"
}
started() { date -d "$(job_field "$1" StartTime)" +%s; }
ends() { date -d "$(job_field "$1" EndTime)" +%s; }
declare -A told=()
tells() {
	local id=$1 ran
	shift
	told[$id]=$((${told[$id]:-0} + 1))
	ran=$(($(date +%s) - $(started "$id") + 1))
	report_node "$id" "$(job_field "$id" NodeList)" '.final = false' ".seq = ${told[$id]}" ".co_ns = ${ran}000000000" \
		'.variance = 0.000001' "$@"
}
length() { echo $(($(ends "$1") - $(started "$1"))); }
longer() { [ "$(length "$1")" -gt "$2" ]; }
limit() { job_field "$1" TimeLimit; }
limit_part() { sed -n 's/^\(.*; \)\?poppa-limit: \([^;]*\).*$/\2/p' <<<"$(job_field "$1" SystemComment)"; }
a_pass() {
	limited 2 "$@"
	tells "$job"
	wait_until 60 longer "$job" 200
	scancel "$job"
}
ran_for() { [ $(($(date +%s) - $(started "$1"))) -ge "$2" ]; }
