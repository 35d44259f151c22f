#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs of poppa-farm: their finished tasks are measured and priced, and a job that was cancelled goes on from its journal.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
recommend=$build/contrib/workloads/recommend
graph=/dev/shm/poppa-test-farm.$$
home=$(home_of poppa-demo)
on_exit rm -f "$graph"
"$recommend" --graph "$graph" --queries 400000 >"$home/queries" || bail_out "no graph"
on_exit rm -f "$home/queries"
ctl reconfigure poppa_period=100ms poppa_shutter=20ms poppa_overhead_max=0 poppa_min_blocks=4 poppa_settle_timeout=60s
on_exit ctl reconfigure --reset

# farm NAME: a co-located job of all queries; its summary is in the user's folder.
farm() {
	local user=poppa-demo
	[ "$1" = first ] || user=poppa-guest
	SUBMIT_USER=$user submit --colocate -n1 -J "$1" -o "$1.%j" --wrap \
		"exec poppa-farm --json --journal $1.done --server '$recommend --graph $graph' $home/queries"
}
# Slurm and poppa-farm write of the end there, too.
summary() { grep '^{' "$(home_of "$1")/$3" | jq -c "$2"; }
none_runs() { ! pgrep -u "$1" -x 'recommend|poppa-farm' >/dev/null; }

farm first
first=$job
farm second
second=$job
ok "two jobs of poppa-farm run side by side" eval 'wait_running "$first" && wait_running "$second"'
for i in first second; do
	ok "tasks that end are what poppad counts of the $i one" \
		wait_until 30 holds "any(.jobs[]; .job == ${!i} and .backend == \"heartbeat\" and .counted_tasks >= 1)"
	ok "which is enough to measure it" wait_until 60 holds "any(.jobs[]; .job == ${!i} and .used > 8)"
done
workers=$(pgrep -u poppa-demo -x recommend)
is "its worker is on one processor, that of its lane" "$(taskset -cp "${workers%%[!0-9]*}" | sed 's/.*: //' | grep -c '^[0-9]*$')" 1
scancel "$first" "$second"
ok "they end soon when they are cancelled" eval 'wait_end "$first" 20 && wait_end "$second" 20'
for user in demo guest; do
	[ $user = demo ] && name=first id=$first || name=second id=$second
	out=$name.$id
	ok "poppa-farm of poppa-$user ends" wait_until 20 grep -q '^{' "$(home_of poppa-$user)/$out"
	is "and has told what is done" "$(summary poppa-$user '[.end, .done > 1000, .failed, .done + .left == .tasks]' "$out")" \
		'["signal",true,0,true]'
	ok "and left nothing that runs" wait_until 20 none_runs poppa-$user
	ok "its job has a price" wait_settled "$id" 60
	like "by what was measured of it" "$(part "$id")" '^d=-?[0-9.]+ .*backend=heartbeat'
done

# One whose time is over, a minute later. At its start it is told 25 s, as if the limit had been extended later. It asks Slurm.
SUBMIT_USER=poppa-guest submit --colocate -n1 -t1 -J limited -o limited.%j --wrap \
	"SLURM_JOB_END_TIME=\$((\$(date +%s) + 25)) exec poppa-farm --json --journal limited.done --grace 5s --server '$recommend --graph $graph' $home/queries"
limited=$job
ok "a job with a limit of a minute runs" wait_running "$limited"

# The same job again. The rest of the queries is short now: the file is cut behind what is done.
was=$(summary poppa-demo .done "first.$first")
head -n $((was + 5000)) "$home/queries" >"$home/queries.cut" && mv "$home/queries.cut" "$home/queries"
chown poppa-demo "$home/queries"
farm first
ok "the same job goes on where it was" eval 'wait_end "$job" 60'
is "and does the rest" "$(summary poppa-demo "[.end, .failed, .done == .tasks, .skipped >= $was - 5000 and .skipped <= $was]" "first.$job")" \
	'["all",0,true,true]'
ok "at its limit the other one ends" wait_end "$limited" 120
ok "by itself" wait_until 20 grep -q '^{' "$(home_of poppa-guest)/limited.$limited"
is "with all that is done in its summary and in its journal" \
	"$(summary poppa-guest '[.end == "time" and .seconds > 40, .done > 1000, .failed, .done + .left == .tasks]' "limited.$limited") $(($(wc -l <"$(home_of poppa-guest)/limited.done") - 1))" \
	"[true,true,0,true] $(summary poppa-guest .done "limited.$limited")"
ok "and nothing that runs" wait_until 20 none_runs poppa-guest
rm -f "$home/first.done" "$(home_of poppa-guest)/second.done" "$(home_of poppa-guest)/limited.done"
done_testing
