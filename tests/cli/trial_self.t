#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa trial --self: programs whose tasks are too many, just right, one only, or not counted. They sleep, so that a busy machine
# does not matter.
set -uo pipefail
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${POPPA:?is the program to test}" "${BEATS:?is the program to try}"
needs jq
[ "$(nproc)" -ge 2 ] || skip_all "one core has no two lanes"
line=$TAP_DIR/line

self() { trial --self "$@"; }
# tasks N SLOW: a program of so many tasks, each SLOW times as slow while another one runs.
tasks() {
	local i text=
	for i in $(seq 0 $(($1 - 1))); do text+="$BEATS $line $i $2 & "; done
	echo "$text wait"
}
# Where others used the cores nothing is certain, and that is said.
verdict_is() {
	if jq -e --arg want "$2" '.others > 0.1 or .verdict == $want' <<<"$OUT" >/dev/null; then pass "$1"; else fail "$1" "$OUT"; fi
}

# Together each of two makes a sixth: one of them alone makes three times what both do. Of eight rounds one may meet a machine
# that stands still for a moment, and the interval still does not reach 1.
runs "two that slow each other down" 0 self --time 16 --rounds 8 --json -- sh -c "$(tasks 2 6)"
is "are two tasks" "$(jq .tasks <<<"$OUT")" 2
cmp_num "one makes more than both" "$(jq .half <<<"$OUT")" '>' 2
is "within its interval" "$(jq '.half_lo <= .half and .half <= .half_hi and (.rounds | length) == 8' <<<"$OUT")" true
verdict_is "fewer of them are faster" fewer
is "it is silent but for the result" "$ERR" ""
is "nothing is left" "$(left)" 0

runs "four that do not" 0 self --time 16 --rounds 8 --json -- sh -c "$(tasks 4 1)"
is "are four tasks" "$(jq .tasks <<<"$OUT")" 4
is "half of them make half" "$(jq '.others > 0.1 or (.half_lo < 0.6 and .half_hi > 0.4)' <<<"$OUT")" true
verdict_is "all of them are to stay" all
runs "as text" 0 self --time 4 --rounds 2 -- sh -c "$(tasks 2 6)"
like "the figure" "$OUT" '^half of the 2 tasks of .* make [23]\.[0-9]+ times the work of all \('
like "and the verdict" "$(tail -n 1 <<<"$OUT")" '^verdict: (fewer tasks: half of the tasks of .*: try fewer|not certain: other processes)'

runs "one task" 0 self --time 3 --rounds 2 --json -- "$BEATS" "$line" 0 1
is "has no half" "$(jq -c '[.half, .verdict]' <<<"$OUT")" '[null,"uncertain"]'
like "which is said" "$(jq -r .why <<<"$OUT")" 'one task'
runs "tasks that nothing counts" 0 self --time 24 --rounds 2 --json -- sh -c "$BEATS $line 0 1 0 & $BEATS $line 1 1 0 & wait"
is "tell nothing" "$(jq -c '[.half, .verdict]' <<<"$OUT")" '[null,"uncertain"]'
runs "one round" 0 self --time 3 --rounds 1 --json -- sh -c "$(tasks 2 6)"
is "is never certain" "$(jq -c '[.half_lo, .verdict]' <<<"$OUT")" '[null,"uncertain"]'
runs "a program that ends" 0 self --time 6 --rounds 2 --json -- sh -c "$BEATS $line 0 6 1500 & $BEATS $line 1 6 1500 & wait"
is "is run again" "$(jq '.seconds > 4' <<<"$OUT")" true
runs "a program that fails" 1 self --time 3 -- sh -c 'echo no input >&2; exit 3'
like "is named" "$ERR" 'failed with exit status 3: no input'

# --- Kills: nothing stays stopped, and nothing runs on.
for sig in INT KILL; do
	"$POPPA" trial --self --time 60 -- sh -c "$(tasks 4 6)" >/dev/null 2>&1 &
	keeper=$!
	for _ in $(seq 200); do [ "$(pgrep -c -f "^$BEATS $line ")" = 4 ] && break; sleep 0.05; done
	sleep 2
	is "its tasks run before it is killed ($sig)" "$(pgrep -c -f "^$BEATS $line ")" 4
	kill -"$sig" "$keeper"
	for _ in $(seq 200); do pgrep -f "^$BEATS $line " >/dev/null || break; sleep 0.05; done
	is "none is left after it ($sig)" "$(pgrep -c -f "^$BEATS $line ")" 0
	wait
done

# --- Wrong usage.
runs "no program" 2 self --time 3
like "asks for one" "$ERR" 'which program'
runs "two programs" 2 self -- true -- true
like "are one too many" "$ERR" 'one program'
runs "some lanes only" 2 self --lanes 2 -- true
runs "a page" 2 self --html "$TAP_DIR/page.html" -- true
like "is not there" "$ERR" 'no page of --self'
done_testing
