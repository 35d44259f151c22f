#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa top: tables for scripts, and the screen on a terminal that is resized, loses poppad, and is quit.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
needs jq perl

here=$(cd "$(dirname "$0")" && pwd)
export POPPA_CONF=$TAP_DIR/poppa.conf
unset SLURMD_NODENAME
echo "RunDir=$TAP_DIR/run-%n" >"$POPPA_CONF"
mkdir -p "$TAP_DIR/run-n1"

for mode in "" --batch --json; do
	# shellcheck disable=SC2086
	runs "top $mode without poppad" 1 "$POPPA" top $mode
	like "top $mode without poppad: says so" "$ERR" "^poppa top: poppad does not run here"
	is "top $mode without poppad: one line" "$(wc -l <<<"$ERR")" 1
done
for bad in "--times 0" "--delay 1ms" "--delay soon" "surplus"; do
	# shellcheck disable=SC2086
	runs "top $bad" 2 "$POPPA" top $bad
	like "top $bad: names it" "$ERR" "^poppa top: .*${bad##* }"
done

serve() {
	cp "$1" "$TAP_DIR/answer"
	"$here/answers" "$TAP_DIR/run-n1/poppad.sock" "$TAP_DIR/answer" &
	server=$!
	for _ in $(seq 100); do
		[ -S "$TAP_DIR/run-n1/poppad.sock" ] && return
		sleep 0.1
	done
}

serve "$here/status.json"
runs "top not on a terminal" 1 "$POPPA" top </dev/null
is "top not on a terminal: says what to do" "$ERR" "poppa top: this is no terminal: use --batch"
runs "top -b -n 2" 0 "$POPPA" top -b -n 2 -d 100ms
is "top -b -n 2: two tables" "$(grep -c 'JOB USER' <<<"$OUT")" 2
like "top -b: node and jobs" "$OUT" "poppad    9.8.7 on node n1, cluster sandbox; 2 jobs; "
like "top -b: shutters and how many a second" "$OUT" "shutters  [0-9]+, [0-9]+\.[0-9][0-9]/s, 3 dropped, period 0.400 s \(longer, for the cost\), longest stop 3.46 ms"
like "top -b: turns" "$OUT" "turns     jobs run one after the other, 0.5 s each: 321 slices, 4 disturbed"
like "top -b: cost" "$OUT" "cost      jobs held stopped 0.250 %, lately 0.230 % \(model 0.521 %, at most 0.500 %\), [0-9.]+ % of a core"
like "top -b: who reacts to shutters" "$OUT" "NOTE      job 13 reacts to shutters that stop nobody: no discount"
like "top -b: jobs by their ids" "$OUT" $'\n'" +12 ann [^"$'\n'"]*"$'\n'" +13 "
like "top -b: a job" "$OUT" "      12 ann         0     2   41.25   40.0\.\.42.5      95 +[0-9.]+   0.25 running perf      13"
like "top -b: what is not known is not made up" "$OUT" "      13 b.ob.       1     1       - +-       0 +0.0      - stopped none      12:0.08,14:0.02"
is "top -b: nothing on stderr" "$ERR" ""
runs "top --json -n 2" 0 "$POPPA" top --json -n 2 -d 100ms
is "top --json: a line a table" "$(wc -l <<<"$OUT")" 2
is "top --json: rates follow from two answers" \
	"$(jq -s '.[1].rates | (.shutters_s * .interval_s | round == 20) and (.shutter_cpu * .interval_s * 100 | round == 1)' <<<"$OUT")" true
is "top --json: a job's blocks, too" "$(jq -s '.[1] | .jobs[0].blocks_s * .rates.interval_s | round' <<<"$OUT")" 10
if ! python=$(python_with pyte); then
	skip "the terminal emulator python3-pyte is not installed" "top on a terminal"
	rm "$TAP_DIR/answer"
	"$POPPA" top -b -n 1 >/dev/null 2>&1
	done_testing
	exit
fi
# on_terminal NAME ARG...: like runs, on a terminal of the sort $TERM.
on_terminal() {
	local name=$1
	shift
	runs "$name" 0 "$python" "$here/on-terminal" "$@"
	[ -z "$ERR" ] || echo "# ${ERR//$'\n'/$'\n'# }"
}
runs "TERM that is none" 1 env TERM=no-such-terminal "$python" "$here/on-terminal" 24x80 "$POPPA" top
like "TERM that is none: says so" "$OUT" "TERM=no-such-terminal is no terminal that is known here"
for TERM in vt100 xterm screen linux; do
	export TERM
	on_terminal "top on $TERM" 24x100 'wait:13 b"ob' q "$POPPA" top -d 200ms
	like "top on $TERM: the jobs below the heading" "$OUT" "JOB USER [^"$'\n'"]*CO-RUNNERS"$'\n'" +12 ann "
	like "top on $TERM: leaves it as it was" "$OUT" "modes: as before"
done
export TERM=xterm
on_terminal "top follows a change of size" 24x100 'wait:CO-RUNNERS' 'resize:12x40' 'wait:DEGR % 95% *\n +12 ann .*41.25   4 *\n' \
	'resize:30x120' 'wait:CO-RUNNERS' q "$POPPA" top -d 10s
on_terminal "top on a terminal ends after so many tables" 24x80 'wait:JOB USER' "$POPPA" top -d 100ms -n 3
is "top ends with its terminal, also where nothing else ends it" "$("$python" - "$POPPA" <<'END'
import os, pty, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
pid, fd = pty.fork()
if not pid:
    os.execv(sys.argv[1], [sys.argv[1], "top", "-d", "60s"])
os.read(fd, 1)
os.close(fd)
for _ in range(200):
    if os.waitpid(pid, os.WNOHANG)[0]:
        print("ended")
        break
    time.sleep(0.1)
else:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    print("runs on")
END
)" ended
on_terminal "top follows what happens to poppad" 24x100 'wait:JOB USER' "remove:$TAP_DIR/answer" \
	'wait:12 ann(.*\n)*poppa(d at|d does)' 'wait:poppad does not' q "$POPPA" top -d 200ms
wait "$server"

# A job that had a counter.
sed -e 's/@N[^@]*@/1/g' -e 's/"counted_tasks": 2/"counted_tasks": 0/' "$here/status.json" >"$TAP_DIR/lost.json"
serve "$TAP_DIR/lost.json"
runs "top -b of a job without a counter" 0 "$POPPA" top -b -n 1
like "top -b: who has no counter any more" "$OUT" "NOTE      job 12 has no counter any more, so its time is not measured"
unlike "top -b: but not who never had one" "$OUT" "NOTE      job 13 has no counter"
rm "$TAP_DIR/answer"
"$POPPA" top -b -n 1 >/dev/null 2>&1
wait "$server"

# Many jobs on a small terminal: the table scrolls below its heading.
jq -c '.jobs = [range(1; 40) as $i | .jobs[1] + {job: (1000 + $i)}]' <(sed 's/@N[^@]*@/1/g' "$here/status.json") >"$TAP_DIR/many.json"
serve "$TAP_DIR/many.json"
on_terminal "top scrolls" 16x100 'wait:USER .*\n +1001 ann' key:npage 'wait:USER .*\n +10(0[2-9]|10) ann' key:npage key:npage key:npage key:npage \
	'wait:USER .*\n +10[23]. ann(.*\n)*.* 1039 ann' key:home 'wait:USER .*\n +1001 ann' q "$POPPA" top -d 10s
rm "$TAP_DIR/answer"
"$POPPA" top -b -n 1 >/dev/null 2>&1
wait "$server"
done_testing
