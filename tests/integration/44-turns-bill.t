#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A bad pair takes turns: it makes more than side by side, its bill is right, and people see it.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/turns.sh
. "$(dirname "$0")/turns.sh"

turns_begin

pair 900
ok "two jobs run" pair_runs
began=$SECONDS
ok "they take turns" wait_until 120 turning
held=$((SECONDS - began))
like "poppad says so in its log" "$(grep 'take turns of' "$(ctl log poppad)")" "jobs (${pair[0]}, ${pair[1]}|${pair[1]}, ${pair[0]}) take turns of 0.3 s"
sleep 1
# Longer than it takes from one slice side by side to the next.
read -r first second both < <(looks 10000)
diag "of 10000 looks: held ${pair[0]} $first, ${pair[1]} $second, both $both"
cmp_num "one is held for about half of the time" "$first" '>' 3000
cmp_num "and so is the other one" "$second" '>' 3000
cmp_num "but never both" "$both" '<' 100
cmp_num "nor always one of them" "$((first + second))" '<' 9980
like "poppa status tells it" "$(poppa status -N "$SANDBOX_REAL_NODE")" $'\nturns     jobs run one after the other, 0.3 s each: [0-9]+ slices'
like "and so does poppa top" "$(poppa top -b -n1 -N "$SANDBOX_REAL_NODE" 2>&1)" $'\nturns     jobs run one after the other'
is "and poppa metrics" "$(metric poppa_turns_active)" 1
cmp_num "and for how long each was held" "$(metric poppa_job_turned_seconds_total "jobid=\"${pair[0]}\"")" '>' 1
wait_until 900 ran_for $((4 * held + 70))
end_programs "${pair[@]}"
ok "both are settled" eval 'wait_settled "${pair[0]}" && wait_settled "${pair[1]}"'
for i in 0 1; do
	text=$(part "${pair[i]}")
	progress=$(out "${pair[i]}" progress) seconds=$(out "${pair[i]}" seconds)
	diag "job ${pair[i]}: progress $progress of $seconds s; $text"
	cmp_num "job $i made more than it would have side by side" "$progress" '>' \
		"$(awk -v s="$seconds" -v l="$LOSS" 'BEGIN { print 1.2 * s * (1 - l) }')"
	like "its bill names the turns" "$text" 'd=0\.[0-9]+ .* turned=0\.[2-4][0-9]* '
	cmp_num "what it has lost is in its D's interval, within two points" "$(off_by "${pair[i]}")" '<' 0.02
	like "poppa why tells it" "$(poppa why "${pair[i]}" | tr '\n' ' ')" 'of the run it was held for the turns of its co-runners'
done
done_testing
