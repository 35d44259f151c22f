#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa map: decisions on recorded counters, and recordings that are none.
set -uo pipefail
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${POPPA:?is the program to test}"
MAPPER=${MAPPER:-build/tests/sim/mapper/mapper}
needs jq awk

columns=interval,app,task,pu,instructions,cycles,inter,intra,local,remote,stalls
machine="pack:2 core:4 pu:2"
# Two applications of eight tasks each, whose tasks are on both sockets and share data: in hwloc's description PU n is on core n / 2.
awk -v columns=$columns 'BEGIN {
	print columns
	for (i = 1; i <= 12; i++)
		for (t = 0; t < 16; t++)
			print i "," 1 + t % 2 "," t "," t ",140000000,200000000,400000,0,1000,0,160000000"
}' </dev/null >"$TAP_DIR/apart"

runs "a replay" 0 "$POPPA" map --json --topology "$machine" --replay "$TAP_DIR/apart"
is "has all intervals" "$(jq -c '[.intervals, (.steps | length)]' <<<"$OUT")" '[12,12]'
is "nothing moves before it was seen seven times" "$(jq -c '[.steps[:6][].moves | length] | add' <<<"$OUT")" 0
is "then each application gets a socket" "$(jq -c '.steps[7].moves as $m | [range(16) as $t | {app: ($t % 2), socket: (([$m[] | select(.task == $t).to] + [$t])[0] >= 8)}] |
	group_by(.app) | map(map(.socket) | unique | length)' <<<"$OUT")" '[1,1]'
is "what is known of them" "$(jq -c '.steps[11].apps[0] | [.tasks, .coherence, .high_ipc, .spc]' <<<"$OUT" | sed 's/\.0//')" '[8,"high",false,400]'
is "the same again gives the same" "$("$POPPA" map --json --topology "$machine" --replay "$TAP_DIR/apart" | jq -c .steps)" "$(jq -c .steps <<<"$OUT")"
runs "as text" 0 "$POPPA" map --topology "$machine" --replay "$TAP_DIR/apart"
like "the reasons" "$OUT" 'interval 7: app 1 shares much, IPC 0\.70, SPC 400; app 2 shares much'
like "and the moves" "$OUT" 'task [0-9]+ of app [12]: PU [0-9]+ -> [0-9]+'
like "and a sum" "$(tail -n 1 <<<"$OUT")" '^12 intervals, [1-9][0-9]* moves, [0-9]+ us for the longest decision$'
runs "other constants" 0 "$POPPA" map --json --topology "$machine" --set history=1,majority=0 --replay "$TAP_DIR/apart"
cmp_num "decide at once" "$(jq '.steps[0].moves | length' <<<"$OUT")" '>' 0
runs "constants that nobody reaches" 0 "$POPPA" map --json --topology "$machine" --set high_coherence=1,low_coherence=0.5 --replay "$TAP_DIR/apart"
is "move nothing" "$(jq .moves <<<"$OUT")" 0

refuses() { # NAME STATUS PATTERN ARGUMENT...
	local name=$1 status=$2 pattern=$3
	shift 3
	runs "$name" "$status" "$POPPA" map "$@"
	like "$name: says it" "$ERR" "^poppa map: .*$pattern"
	is "$name: in a line" "$(wc -l <<<"$ERR")" 1
}
row=1,1,1,0,1,1,0,0,0,0,0
recording() { printf '%s\n' "$@" >"$TAP_DIR/recording"; }
refuses "no file" 2 '--replay is needed.*interval,app'
refuses "a file that is not there" 1 'none' --replay "$TAP_DIR/none"
refuses "an unknown constant" 2 'speed' --set speed=1 --replay "$TAP_DIR/apart"
refuses "a wrong topology" 1 'neither a file' --topology "two sockets" --replay "$TAP_DIR/apart"
recording "$columns"
refuses "an empty recording" 1 'nothing was measured' --topology "$machine" --replay "$TAP_DIR/recording"
recording "${columns%,stalls}" "${row%,0}"
refuses "a column that is missing" 1 'no column is named "stalls"' --topology "$machine" --replay "$TAP_DIR/recording"
recording "$columns" "$row" "${row/1,1,1/1,2,1}"
refuses "a task that is there twice" 1 'line 3: task 1 is in interval 1 twice' --topology "$machine" --replay "$TAP_DIR/recording"
{
	echo "$columns"
	seq -f "1,1,%.0f,0,1,1,0,0,0,0,0" 4097
} >"$TAP_DIR/recording"
refuses "more tasks than anybody maps" 1 'line 4098: interval 1 has more than 4096 tasks' --topology "$machine" --replay "$TAP_DIR/recording"
recording "$columns" "2${row#1}" "$row"
refuses "intervals out of order" 1 'line 3: interval 1 follows interval 2' --topology "$machine" --replay "$TAP_DIR/recording"
recording "$columns" 1,1,1,16,1,1,0,0,0,0,0
refuses "a PU that is not there" 1 'PU 16' --topology "$machine" --replay "$TAP_DIR/recording"
recording "$columns" 1,1,1,0,1,-1,0,0,0,0,0
refuses "a count below 0" 1 'line 2: cycles' --topology "$machine" --replay "$TAP_DIR/recording"
recording "$columns" 1,1,1,0,1,1e9,0,0,0,0,0
refuses "no whole number" 1 'line 2: cycles' --topology "$machine" --replay "$TAP_DIR/recording"
recording "$columns" 1,1,1,0,1,1,0,0,9223372036854775807,9223372036854775807,0
refuses "more than any processor counts" 1 'line 2: local' --topology "$machine" --replay "$TAP_DIR/recording"

# --- the document about simulated machines ---
# All its numbers but the time of a decision come from what the mapper decides.
document=$(dirname "$0")/../../docs/results/mapper.md
runs "the mixes of the paper are simulated" 0 "$MAPPER"
diff <(grep '^|' "$document" | grep -v ' decisions ') <(grep '^|' <<<"$OUT" | grep -v ' decisions ') >"$TAP_DIR/differs"
is "docs/results/mapper.md has what is decided now (tests/sim/mapper-mixes writes it)" "$(head -n 10 "$TAP_DIR/differs")" ""
cmp_num "and it has thirty mixes" "$(grep -c '^| *[0-9]* | ' "$document")" '>=' 30
done_testing
