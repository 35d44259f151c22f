#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A pair that certainly loses by sharing is not made while there is better: an empty node, a better partner, and for a
# while (stripe_wait) the hope of one.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"

LOG=$(ctl log slurmctld)
own=$(id -u poppa-demo)
# No job ends by its limit before another one's wait is over.
sleeper_options=(-t 600)

restart() {
	saves_jobs
	ctl restart slurmctld
	wait_until 60 nodes_answer
}
on_exit forget_lesson

# Each line in both directions: what two classes have lost beside each other, with the evidence of five runs.
certain() { printf "$own:%s\t$own:%s\t%s\t1000\t5\t$EPOCHSECONDS\t5\t%s\t0.0001\n" "$1" "$2" "$3" "$3" "$2" "$1" "$3" "$3"; }

# of CLASS OPTION...: a job of that class, which may have the first two nodes only. beside: and waits until it runs.
of() { sleeper "$1" --colocate=class:"$1" -x "${NODE}[3-4]" "${@:2}"; }
beside() {
	of "$@"
	wait_running "$job"
}
lines() { grep -c "select/stripe: JobId=$1 waits for a better partner" "$LOG"; }
seconds() { date -d "$(job_field "$1" "$2")" +%s; }
has_start() { [ "$(squeue -h --start -j "$1" -o %S)" != N/A ]; }
gone() { is_state "$1"; }

wait_until 60 fake_idle || diag "the fake nodes are not idle"
earlier_prices
ctl reconfigure stripe_wait=1h
teach_pairs < <(
	certain test-mine test-bad 0.8
	certain test-mine test-good 0.05
	met test-new test-bad 0.9
	met test-calm test-bad 0.01
	printf "#ran\t$own\t$EPOCHSECONDS\tsleep\ttest-quick-#\t40\t3\n"
)

diag "better is taken"
beside test-bad -w "${NODE}1"
bad=$job
beside test-mine -n1
is "an empty node comes before a partner beside whom both lose" "$(nodes_of "$job")" "${NODE}2"
scancel "$job"
wait_until 60 gone "$job"
beside test-good -w "${NODE}2"
good=$job
beside test-mine -n1
is "and so does a better partner" "$(nodes_of "$job")" "${NODE}2"

diag "the lane beside the good one is taken now"
taken=$job
of test-mine -n1
mine=$job
ok "the next one waits, though a lane is free" waits "$mine"
is "of the node of the bad one" "$(squeue -h -t R -w "${NODE}1" -o %i)" "$bad"
like "Slurm gives a reason of its own" "$(job_field "$mine" Reason)" '^(Resources|Priority)$'
until=$(date -d "@$(($(seconds "$mine" EligibleTime) + 3600))" +%Y-%m-%dT%H:%M:%S)
is "SystemComment says until when" "$(mark_of "$mine")" "colocate: class:test-mine waits-for-partner-until=$until"
like "and so does poppa why" "$(as_user poppa why "$mine" | tr '\n' ' ')" "waits for a better partner or an empty node until $until"
wait_until 60 has_start "$mine"
is "Slurm expects its start then" "$(squeue -h --start -j "$mine" -o %S)" "$until"
of test-new -n1 -t 10
ok "one whose partner is expected to lose, without evidence, waits as well" waits "$job"
is "but for a quarter of its time limit at most" \
	"$(mark_of "$job")" "colocate: class:test-new waits-for-partner-until=$(date -d "@$(($(seconds "$job" EligibleTime) + 150))" +%Y-%m-%dT%H:%M:%S)"
scancel "$job"
wait_until 60 gone "$job"
sleeper test-quick-7 --colocate=class:test-new -x "${NODE}[3-4]" -n1 -t 10
ok "so does a job of a name whose jobs are short" waits "$job"
is "but at most three times as long as these run" \
	"$(mark_of "$job")" "colocate: class:test-new waits-for-partner-until=$(date -d "@$(($(seconds "$job" EligibleTime) + 120))" +%Y-%m-%dT%H:%M:%S)"
scancel "$job"
wait_until 60 gone "$job"
of test-calm -n1 -t 10
wait_running "$job" 60
is "a later job that suits the bad one takes the lane meanwhile" "$(nodes_of "$job")" "${NODE}1"
looked_at "$mine"
is "no lane is left: the job before it waits for any, and not for a partner" "$(mark_of "$mine")" "colocate: class:test-mine"
scancel "$job"
wait_until 60 gone "$job"
ok "the job before it goes on waiting" waits "$mine"
is "the log has one line each time that it begins to" "$(lines "$mine")" 2

diag "slurmctld starts anew"
restart
ok "its first decision knows the history: the job waits" waits "$mine"
scancel "$taken"
wait_running "$mine"
is "it starts when a lane beside the better partner is free" "$(nodes_of "$mine")" "${NODE}2"
like "and shows what it has" "$(mark_of "$mine")" "^colocate: class:test-mine lane=[01] beside=$good$"

diag "several nodes"
scancel "$mine" "$good"
wait_until 60 gone "$mine"
wait_until 60 gone "$good"
of test-mine -N2
both=$job
ok "a job waits whose other node is empty" waits "$both"
scancel "$both"
wait_until 60 gone "$both"
sleeper test-mine --colocate=class:test-mine -x "${NODE}4" -N2
wait_running "$job"
is "with two empty nodes it takes these" "$(nodes_of "$job")" "${NODE}[2-3]"
scancel "$job"
wait_until 60 gone "$job"

diag "nothing better comes"
running test-fill -n1 --exclusive -w "${NODE}2"
ctl reconfigure stripe_wait=15s
of test-mine -n1
mine=$job
wait_running "$mine" 150
is "then it shares" "$(nodes_of "$mine")" "${NODE}1"
cmp_num "not before the time is over" $(($(seconds "$mine" StartTime) - $(seconds "$mine" EligibleTime))) '>=' 15
scancel "$mine"
wait_until 60 gone "$mine"
ctl reconfigure stripe_wait=0
of test-mine,max-degradation:50 -n1
ok "max-degradation keeps a job from it for good" waits "$job"
# Its planned start would be put off by others there.
scancel "$job"
of test-mine -n1 -t 10
wait_running "$job" 60
is "with stripe_wait=0 others take what comes" "$(nodes_of "$job")" "${NODE}1"

diag "a pair that has never met"
clear_jobs
# "loud" slows down all that it has met, itself not so much, and "mine" has met all but that.
teach_pairs < <(
	printf "$own:met-loud\t$own:met-loud\t0.3\t40000\t20\t$EPOCHSECONDS\n"
	# "x" gains by a partner more than "a" loses, which is used to worse.
	printf "$own:met-%s\t$own:met-%s\t%s\t40000\t20\t$EPOCHSECONDS\n" x x 0.4 x a 0 a x 0.32
	for one in a b c d; do
		printf "$own:met-$one\t$own:met-loud\t0.7\t40000\t20\t$EPOCHSECONDS\n$own:met-loud\t$own:met-$one\t0.5\t40000\t20\t$EPOCHSECONDS\n"
		for two in a b c d; do printf "$own:met-$one\t$own:met-$two\t0.05\t1000\t5\t$EPOCHSECONDS\n"; done
		met "met-$one" met-mine 0.05
	done
)
beside met-loud -w "${NODE}1"
loud=$job
beside met-mine -n1
is "an empty node comes before a partner beside whom it is expected to lose" "$(nodes_of "$job")" "${NODE}2"
scancel "$job"
wait_until 60 gone "$job"
beside met-a -w "${NODE}2"
beside met-mine -n1
is "and so does one beside whom it is not" "$(nodes_of "$job")" "${NODE}2"
of met-mine -n1 -t 10
wait_running "$job" 60
is "where nothing else is free it shares with that one" "$(nodes_of "$job")" "${NODE}1"
is "which is still there" "$(job_field "$loud" JobState)" RUNNING

diag "what the site asks for"
clear_jobs
ctl reconfigure stripe_wait=1h stripe_gain_min=50%
beside met-a -w "${NODE}2"
running test-fill -n1 --exclusive -w "${NODE}1"
of met-mine -n1
ok "where pairs must gain half as much again a job waits" waits "$job"
ctl reconfigure stripe_gain_min=
wait_running "$job" 90
is "where less will do it shares" "$(nodes_of "$job")" "${NODE}2"
clear_jobs
ctl reconfigure stripe_wait=0
beside met-x -w "${NODE}2"
running test-fill -n1 --exclusive -w "${NODE}1"
ctl reconfigure stripe_wait=1h
of met-a -n1
ok "a job waits that would be far slower than on whole nodes" waits "$job"
ctl reconfigure stripe_victim_max=100%
wait_running "$job" 90
is "where that is allowed it shares" "$(nodes_of "$job")" "${NODE}2"
clear_jobs
ctl reconfigure stripe_lanes=4 stripe_wait=0 stripe_victim_max=
beside met-a -w "${NODE}2"
one=$job
beside met-b -w "${NODE}2"
two=$job
running test-fill -n1 --exclusive -w "${NODE}1"
ctl reconfigure stripe_wait=1h stripe_gain_min=50%
of met-mine -n1
mine=$job
ok "with four lanes it waits as well" waits "$mine"
ctl reconfigure stripe_gain_min=
wait_running "$mine" 90
like "until less will do" "$(mark_of "$mine")" "^colocate: class:met-mine lane=[0-3] beside=($one,$two|$two,$one)\$"
scancel "$mine"
wait_until 60 gone "$mine"
ctl reconfigure stripe_wait=0
beside met-loud -w "${NODE}2"
ctl reconfigure stripe_wait=1h
of met-mine -n1
ok "and all that are on a node count: one that does not suit is enough" waits "$job"
ctl reconfigure stripe_lanes=2 stripe_wait=0

ok "slurmctld logged no fault of the plugin" \
	eval '! grep "select/stripe: .*\(differed\|cannot follow\|no memory\)" "$LOG"'
done_testing
