#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What people see of prices: poppa why and poppa report on settled jobs, and who sees what.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

dbd=$POPPA_SANDBOX/etc/slurmdbd.conf
# Jobs of a test before this one that ended in the second in which it begins would be of its reports, too.
nobody_runs() { [ -z "$(squeue -h -o %i)" ]; }
wait_until 30 nobody_runs || diag "jobs of another test run: $(squeue -h -o '%i %u %T' | xargs)"
sleep 2
began=$(date +%Y-%m-%dT%H:%M:%S)

# sums ARG...: rows, and billing times seconds, of the settled jobs that sacct shows with these options. The comment of a job
# that was resized is in its last row; slurmdbd may have put it into those of its earlier sizes as well, or not.
# A size that lasted for no second has a row, and nobody prices that.
sums() {
	sacct -D -X -n -P "$@" -o JobIDRaw,ElapsedRaw,AllocTRES,State,SystemComment | awk -F'|' '
		{ split($3, t, /billing=/); id[NR] = $1; seconds[NR] = $2; charged[NR] = (t[2] + 0) * $2; resized[NR] = $4 == "RESIZING" }
		$5 ~ /poppa: / && !resized[NR] { last[NR] = settled[$1] = 1 }
		END { for (i = 1; i <= NR; i++) if (resized[i] ? settled[id[i]] && seconds[i] : last[i]) { n++; sum += charged[i] }
			printf "%d %.0f\n", n, sum }'
}

# row_says ID STATE: sacct has heard of it.
row_says() {
	[ "$(sacct_field "$1" State)" = "$2" ]
}

ctl reconfigure poppa_settle_timeout=4s
on_exit ctl reconfigure --reset

# --- Jobs with neither a degradation nor a co-runner; looked at below, when they have ended.
submit -n1 -p fake --wrap 'sleep 1'
plain=$job
submit -n1 -p fake --colocate -J 'no data' --wrap 'sleep 2'
nodata=$job
over=$(home_of)/people-over
rm -f "$over"
on_exit rm -f "$over"
submit -n1 --colocate -J alone --wrap "srun sleep 8; until [ -e $over ]; do sleep 0.1; done"
alone=$job
wait_running "$alone"
wait_until 30 row_says "$alone" RUNNING
is "a job that runs" "$(as_user poppa why "$alone" --json | jq -r .status)" running
unlike "of which the ledger knows nothing yet: its owner is not turned away" "$(as_user poppa why "$alone")" 'ledger'
touch "$over"
wait_end "$alone"
ok "a job without co-runners is settled" wait_until 60 in_database "$alone"
why_agrees "alone" "$alone" "$SANDBOX_REAL_NODE"

# --- What takes its time meanwhile: a job that is requeued, arrays and heterogeneous jobs. None is on the node of the pair below.
# shellcheck disable=SC2016
submit -n1 -p fake --colocate --requeue -J again --wrap '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || sleep 300; sleep 3'
again=$job
wait_running "$again"
sleep 1
scontrol requeue "$again"
submit -n1 -p fake --colocate -J members --array=1-2 --wrap 'sleep 1'
array=$job
submit -n1 -p fake --colocate -J parts : -n1 -p fake --colocate --wrap 'sleep 1'
het=$job

# --- A pair of two users; the node is a fake one, so this test reports what its poppad would.
pair=()
owner=([1]=poppa-demo [2]=poppa-guest)
node=${SANDBOX_FAKE_PREFIX}4
for i in 1 2; do
	SUBMIT_USER=${owner[i]} submit -n1 -p fake -w "$node" --colocate -J "people$i" --wrap 'sleep 6'
	pair[i]=$job
done
for i in 1 2; do
	wait_running "${pair[i]}"
	report_node "${pair[i]}" "$node" ".uid = $(id -u "${owner[i]}")" ".partners = [${pair[3 - i]}]" ".lane = $((i - 1))" ||
		fail "the ledger takes a record of job $i of the pair"
done
for i in 1 2; do
	wait_end "${pair[i]}"
	ok "job $i of the pair is settled" wait_until 60 in_database "${pair[i]}"
	why_agrees "job $i of the pair" "${pair[i]}" "$node" "${pair[3 - i]}" "${owner[i]}"
done
is "report pairs the programs" \
	"$(as_user poppa report -a -j "${pair[1]},${pair[2]}" --json | jq -r '[.pairs[] | "\(.program) \(.partner)"] | sort | join(",")')" \
	"people1 people2,people2 people1"
screen=$(as_user poppa job "${pair[1]}")
like "job shows both on one screen" "$screen" $'\n'"Nodes        1 node \\($node\\), lane [01]"$'\n'
like "with the partner" "$screen" $'\n'"Beside       ${pair[2]} \\(people2\\), for 100 % of its time"$'\n'
like "and the price that sacct shows" "$screen" $'\n'"Price        billing $(db_billing "${pair[1]}") instead of "
is "and so does its JSON" "$(as_user poppa job --json "${pair[1]}" | jq -r '"\(.price.charged) \(.limit_s) \(.price.partners[0])"')" \
	"$(db_billing "${pair[1]}") 3600 ${pair[2]}"
is "partners have names where sacct shows them" \
	"$(as_user poppa why "${pair[1]}" | tr '\n' ' ' | grep -o 'shared its nodes: [^.]*')" "shared its nodes: ${pair[2]} (people2)"
is "report adds up what sacct shows" \
	"$(as_user poppa report -a -j "${pair[1]},${pair[2]}" --json | jq -r '.total | "\(.jobs) \(.charged)"')" \
	"$(sums -j "${pair[1]},${pair[2]}")"

# --- What their owner is told before the next one of that name: both users have such jobs, and each hears of their own.
advice=$(as_user poppa advise --json -n1 -p fake -J people7 --wrap 'sleep 1')
is "advice: the class" "$(member "$advice" .class)" 'people#'
is "advice: rests on the runs that sacct shows of one's own" "$(member "$advice" .evidence.runs)" \
	"$(as_user sacct -D -X -n -P -u poppa-demo -S now-90days -o JobName%99,SystemComment%999 | grep -c '^people[0-9]*|.* dco=')"
runs_of_it=$(as_user sacct -D -X -n -P -u poppa-demo -S now-90days -o JobName,ElapsedRaw,SystemComment | grep '^people[0-9]*|.* dco=' |
	sed 's/^[^|]*|\([0-9]*\)|.* co=\([0-9.]*\) dco=\([0-9.-]*\) .*/\1 \2 \3/' | awk '{ s += $1 * $2; l += $1 * $2 * $3 } END { print l / s }')
cmp_num "advice: the loss is that of their bills, by the time beside others" "$(jq --argjson sacct "$runs_of_it" '(.loss.mean - $sacct) | fabs' <<<"$advice")" '<' 0.001
is "advice: under the cluster's policy" "$(member "$advice" .price.unknown)" null
cmp_num "advice: a discount" "$(member "$advice" .price.rate.mean)" '<' 1
is "advice: sbatch tells both starts" "$(jq -c '[.start[].unknown]' <<<"$advice")" '[null,null]'
is "advice: of what nobody ran" "$(as_user poppa advise --json -n1 -p fake -J unheard-of --wrap 'sleep 1' | jq -r .verdict)" unknown
is "advice: submits nothing" "$(squeue -h -o %j | grep -c -e people7 -e unheard-of)" 0

# --- Each run of a requeued job has its own price, also where slurmdbd has no comment for the first.
run_again "$again"
wait_end "$again" 90
reasons() {
	local run
	for run in 0 1; do
		as_user poppa why "$again.$run" --json | jq -r '"\(.restart) \(.price.nodata)"'
	done
}
wait_until 60 in_database "$again"
is "both runs of a requeued job have a price" "$(reasons)" $'0 no-record\n1 no-record'

# --- Arrays and heterogeneous jobs: each task and each component is a line of its own, and has a price.
all_settled() {
	[ "$(sacct -X -n -P -j "$array,$het" -o SystemComment | grep -c 'poppa: ')" = 4 ]
}
ok "the tasks of an array and the components of a heterogeneous job are settled" wait_until 90 all_settled
is "report has a line for each" "$(as_user poppa report -j "$array,$het" --by job --json | jq -r '[.groups[].id] | sort | join(" ")')" \
	"$(printf '%s\n' "${array}_1" "${array}_2" "$het+0" "$het+1" | sort | paste -s -d ' ')"
is "which adds up what sacct shows" "$(as_user poppa report -j "$array,$het" --json | jq -r '.total | "\(.jobs) \(.charged)"')" \
	"$(sums -j "$array,$het")"
for id in "${array}_2" "$het+1"; do
	like "why takes $id" "$(as_user poppa why "$id" | tr '\n' ' ')" "^Job ${id/+/[+]} "
done

# --- Jobs that have not started, or never will.
submit -n1 -p fake --colocate --hold -J held --wrap true
held=$job
submit -n1 -p fake --colocate --dependency="afterok:$held" -J behind --wrap true
behind=$job
says() {
	as_user poppa why "$1" | tr '\n' ' ' | grep -q -E "$2"
}
ok "why of a job that is held" wait_until 30 says "$held" 'has not started\. It is held: .*scontrol release'
ok "why of a job that waits for it" wait_until 30 says "$behind" "has not started\. It waits for other jobs: .*$held"
as_user scancel "$behind" "$held"
for id in "$held" "$behind"; do
	wait_end "$id"
	ok "why of a job that was cancelled before it started" wait_until 30 says "$id" 'CANCELLED before it started'
done

# --- Somebody else.
turned_away() {
	poppa metrics --ledger | awk '/^poppa_ledger_up/ { up = $NF } /^poppa_ledger_refused_total.*not_allowed/ { n = $NF } END { print up ? n + 0 : "no ledger" }'
}
before=$(turned_away)
cmp_num "the ledger counts whom it turns away" "$before" ">=" 0
json=$(as poppa-guest poppa why "$alone" --json)
is "others see what sacct shows them" "$(member "$json" .price.charged)" "$(db_billing "$alone")"
is "and nothing from the ledger" "$(member "$json" '.nodes | length')" 0
like "which says so" "$(member "$json" .no_ledger)" 'not allowed'
is "without a knock at its door, which administrators would have to look into" "$(turned_away)" "$before"
is "and the arithmetic fits the rounded facts, too" "$(member "$json" .price.calculation.fits)" true
is "report without -a has one's own jobs" "$(as poppa-guest poppa report -S "$began" --json |
	jq -c '[.groups[].name] - ["poppa-guest"]')" "[]"
cmp_num "with -a everybody's" "$(as poppa-guest poppa report -a -S "$began" --json | jq '[.groups[].name] | index("poppa-demo") + 1')" '>' 0
cp -p "$dbd" "$dbd.before"
on_exit eval "mv '$dbd.before' '$dbd'; '$tree/contrib/sandbox/ctl' restart slurmdbd"
echo PrivateData=jobs,users >>"$dbd"
ctl restart slurmdbd
ok "slurmdbd is back, with PrivateData=jobs" wait_until 30 sacct -n -j "$alone"
is "then others see nothing but their own" "$(as poppa-guest poppa report -a -S "$began" --json |
	jq -c '[([.groups[].name] - ["poppa-guest"]), .others, ([.programs[].name] - ["people2"]), [.pairs[].partner // empty]]')" "[[],0,[],[]]"
is "the owner of a job has its partner's number, and no name" \
	"$(as_user poppa why "${pair[1]}" | tr '\n' ' ' | grep -o 'shared its nodes: [^.]*')" "shared its nodes: ${pair[2]}"
is "nor has anything that report writes the other's job" \
	"$(for form in --by=job --csv --json --html=-; do as_user poppa report -a -j "${pair[1]},${pair[2]}" $form; done |
		grep -c -E 'people2|poppa-guest')" 0
is "nor job" "$(as poppa-guest poppa job "$alone" 2>&1)" \
	"poppa job: sacct shows you no job $alone: it does not exist, is not known there yet, or is not yours to see"
is "nor why" "$(as poppa-guest poppa why "$alone" 2>&1)" \
	"poppa why: sacct shows you no job $alone: it does not exist, is not known there yet, or is not yours to see"
is "the owner still does" "$(as_user poppa why "$alone" --json | jq -r .price.charged)" "$(db_billing "$alone")"

# --- Jobs without a price, once they have ended.
wait_end "$plain"
wait_end "$nodata"
# Where a test has made the ledger anew, slurmctld waits until all nodes have noticed: for 330 s (NEW_LEDGER_MS).
ok "a job without data is settled" wait_until 400 in_database "$nodata"
like "a job without data: why" "$(as_user poppa why "$nodata" | tr '\n' ' ')" \
	"Job $nodata \(no data\) .* It has no discount \(no-record\): .* the full billing of $(db_billing "$nodata") is charged"
like "a job that did not opt in, on one screen" "$(as_user poppa job "$plain")" $'\n'"Price        It was not co-located: "
like "a job that did not opt in" "$(as_user poppa why "$plain" | tr '\n' ' ')" "was not submitted with --colocate"

# --- Everybody's, for the administrators.
# A job of an earlier test may be settled between two looks.
looked_at_rest() {
	by_sacct=$(sums -a -S now-1days)
	by_report=$(poppa report -S now-1days --json | jq -r '.total | "\(.priced + .no_data) \(.charged)"')
	[ "$by_sacct" = "$(sums -a -S now-1days)" ]
}
wait_until 90 looked_at_rest || diag "some job is settled all the time"
is "report adds up everybody's jobs as sacct does" "$by_report" "$by_sacct"
[ "$by_report" = "$by_sacct" ] || diag "sacct has: $(sacct -a -D -X -n -P -S now-1days -o JobID,State,ElapsedRaw,SystemComment | grep 'poppa: ' |
	cut -d '|' -f 1-3 | sort | xargs)"
page=$POPPA_SANDBOX/tmp/people.html
on_exit rm -f "$page"
ok "and writes a page" poppa report -S now-1days --html "$page"
like "with all of them" "$(cat "$page")" '<dt>Co-located jobs</dt><dd>[0-9]+</dd>.*</html>'
done_testing
