#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A pair that is wrongly expected to lose, by what others have shown, is tried now and then: as long as stripe_explore says,
# and never with a job that has max-degradation.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"

LOG=$(ctl log slurmctld)
own=$(id -u poppa-demo)
sleeper_options=(-t 600)
on_exit forget_lesson
# What is drawn depends on when the history was written. By this time all pairs of "mine" are drawn well.
LUCKY=1700178561

of() { sleeper "$1" --colocate=class:"$1" -n1 "${@:2}"; }
lesson() { printf "$own:%s\t$own:%s\t%s\t%s\t%s\t$EPOCHSECONDS\n" "$@"; }
age() { echo $((EPOCHSECONDS - $(date -d "$(job_field "$1" StartTime)" +%s))); }
since() { [ $((EPOCHSECONDS - $1)) -ge "$2" ]; }
starts() { grep -c "select/stripe: JobId=$1 starts to explore" "$LOG"; }

wait_until 60 fake_idle || diag "the fake nodes are not idle"
# Four that are well with each other; and "mine", which has met others only, and has lost beside these.
teach_pairs < <(
	rest=(.05 .1 .02 .07)
	for i in 0 1 2 3; do
		for k in 0 1 2 3; do
			lesson "test-p$i" "test-p$k" "$([ $i = $k ] && echo .05 || echo "${rest[(i + 3 * k) % 4]}")" 36000 10
		done
	done
	lesson test-mine test-mine .02 3600 1
	n=0
	for d in .77 .55 .69; do
		lesson test-mine test-bad$n $d 600 1
		lesson test-bad$n test-mine $d 600 1
		n=$((n + 1))
	done
)
ctl stop slurmctld </dev/null
touch -d @$LUCKY "$HISTORY"
ctl start slurmctld
wait_until 60 nodes_answer
ctl reconfigure stripe_wait=1h stripe_explore=0%
for i in 0 1 2 3; do
	of test-p$i -w "$NODE$((i + 1))"
	wait_running "$job"
	partners+=("$job")
done
of test-mine
mine=$job
ok "a job waits that is expected to lose beside all" waits "$mine"
ctl reconfigure stripe_explore=100%
from=$EPOCHSECONDS
like "also where it may try them, as they would be together for long" \
	"$(waits "$mine" && mark_of "$mine")" "^colocate: class:test-mine waits-for-partner-until="
sleeper test-limited --colocate=class:test-mine,max-degradation:10 -n1
limited=$job
ok "so does one with a limit for what it loses" waits "$limited"
# Four lanes save four seconds a second. Then the partners have a minute or so left, for which two lanes are charged.
ok "time is saved" wait_until 90 since "$from" 60
left=$((($(age "${partners[0]}") + 40 + 59) / 60))
for one in "${partners[@]}"; do scontrol update jobid="$one" timelimit=$left; done
looked_at "$mine"
wait_running "$mine"
like "a partner that ends soon is tried" "$(mark_of "$mine")" "^colocate: class:test-mine lane=[01] beside=[0-9]+\$"
is "the log has one line about it" "$(starts "$mine")" 1
ok "the job with a limit tries none" waits "$limited"
is "nor did the others" "$(grep -c "select/stripe: .* starts to explore" "$LOG")" "$(starts "$mine")"
done_testing
