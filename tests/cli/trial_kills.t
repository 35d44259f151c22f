#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa trial is killed at any moment, either of its processes or from the terminal: nothing of it is left running or stopped.
# POPPA_KILLS: how often, 12 by default.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}" "${BEATS:?is the program to try}"
needs jq pgrep
[ "$(nproc)" -ge 2 ] || skip_all "one core has no two lanes"

line=$TAP_DIR/line

# --- kills: at any moment, of either process or by the terminal, nothing is left running or stopped ---
# worker KEEPER: the process that runs the trial.
worker() {
	for _ in $(seq 200); do
		pgrep -P "$1" -o && return
		sleep 0.05
	done
}
kills=${POPPA_KILLS:-12}
killed=0 wrong=
for i in $(seq "$kills"); do
	# Programs that leave their parent and start others.
	"$POPPA" trial --time 4 --rounds 2 -- "$BEATS" "$line" 0 2 -- sh -c "setsid $BEATS $line 1 2 & (setsid $BEATS $line 2 2 &); exec $BEATS $line 3 2" \
		>"$TAP_DIR/killed.out" 2>&1 &
	keeper=$!
	sleep "0.$((i * 7 % 9 + 1))"
	# From the fourth on, while they take turns.
	[ "$i" -lt 4 ] || for _ in $(seq 200); do
		ps -eo stat,args | grep -q "^T.*$line" && break
		sleep 0.1
	done
	case $((i % 4)) in
	0) kill -9 "$keeper" ;;
	1) kill -9 "$(worker "$keeper")" ;;
	2) kill -INT "$keeper" ;;
	3) kill -TERM "$(worker "$keeper")" ;;
	esac && killed=$((killed + 1))
	wait "$keeper" 2>/dev/null
	n=$(left)
	[ "$n" = 0 ] || wrong+=" $i: $n;"
done
is "$kills trials were killed" "$killed" "$kills"
is "nothing was left of any" "$wrong" ""
"$POPPA" trial --time 60 --rounds 2 -- "$BEATS" "$line" 0 2 -- "$BEATS" "$line" 1 2 >"$TAP_DIR/killed.out" 2>&1 &
keeper=$!
kill -9 "$(worker "$keeper")"
wait "$keeper"
is "a trial whose worker was killed has failed" $? 1
like "and says so" "$(cat "$TAP_DIR/killed.out")" 'was ended by signal 9, Killed; all that it has started was ended'

# --- what is not the trial's ---
sh -c "sleep 3219.$$ & exec '$POPPA' trial --time 2 --rounds 1 --json -- sleep 0.1 -- sh -c 'sleep 3218.$$ & exec sleep 0.2'" >"$TAP_DIR/heir.out" 2>&1
like "children that a shell has left to it" "$(cat "$TAP_DIR/heir.out")" '"verdict"'
is "are not ended, while those of the programs are" "$(pgrep -c -f "^sleep 321[89].$$\$")" 1
pkill -f "^sleep 3219.$$\$"
(while :; do pkill -CONT -f "^$BEATS $line 1 4\$"; sleep 0.005; done) &
resumer=$!
runs "programs that somebody resumes" 0 trial --time 9 --rounds 2 --json -- "$BEATS" "$line" 0 4 -- "$BEATS" "$line" 1 4
kill "$resumer"
wait "$resumer" 2>/dev/null
is "are not taken for stopped" "$(jq '.programs[0] | .degradation == null or .degradation > 0.3' <<<"$OUT")" true
(trap '' HUP && exec "$POPPA" trial --time 3 --rounds 1 --json -- sleep 0.1 -- sleep 0.2) >"$TAP_DIR/nohup.out" 2>&1 &
keeper=$!
sleep 1
kill -HUP "$keeper" "$(worker "$keeper")"
wait "$keeper"
is "nohup holds" $? 0
done_testing
