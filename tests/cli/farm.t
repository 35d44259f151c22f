#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa-farm: tasks, their failures, journals, servers, and each way to end it.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
: "${FARM:?is the program to test}"
needs jq pgrep

# farm WANTED ARG...: runs it with the input on standard input; output in $OUT, errors in $ERR, the exit status is checked.
farm() {
	local name=$1 wanted=$2 status
	shift 2
	OUT=$("$FARM" "$@" 2>"$TAP_DIR/err")
	status=$?
	ERR=$(cat "$TAP_DIR/err")
	is "$name: exit status" "$status" "$wanted"
}
# tasks N COMMAND: N lines with the same command; @ is the line.
tasks() {
	local i
	for ((i = 1; i <= $1; i++)); do
		printf 'k%d\t%s\n' $((i % 7)) "${2//@/$i}"
	done
}
field() {
	jq -r "$1" <<<"$OUT"
}
journal=$TAP_DIR/journal

# --- what runs ---
farm "all succeed" 0 < <(tasks 40 'echo @')
is "nothing is said but what tasks say" "$(sort -n <<<"$OUT")" "$(seq 40)"
is "and no error" "$ERR" ""
farm "a summary" 0 --json < <(tasks 40 'echo @')
is "has the fields that were promised" "$(jq -c '[.tasks, .done, .failed, (.seconds > 0)]' <<<"$OUT")" '[40,40,0,true]'
is "each worker has a processor" "$(field '[.workers[].cpu] | unique | length')" "$(nproc)"
is "and all tasks are theirs" "$(field '[.workers[].tasks] | add')" 40
is "what tasks print is on standard error then" "$(sort -n <<<"$ERR")" "$(seq 40)"
printf 'a\techo from a file' >"$TAP_DIR/tasks"
farm "a file, whose last line has no end" 0 "$TAP_DIR/tasks"
is "is run" "$OUT" "from a file"
farm "no task at all" 0 --json </dev/null
is "is none" "$(field .tasks)" 0
farm "the environment" 0 --workers 1 < <(printf '\n\n\techo "$POPPA_FARM_WORKER $POPPA_FARM_LINE"; cat; taskset -cp $$ | grep -c "list: [0-9]*$"\n')
like "names worker and line" "$OUT" $'^0 3\n1'

# --- failures ---
{ tasks 3 'exit @'; echo 'no tab'; tasks 3 'kill -9 $$'; tasks 3 true; } >"$TAP_DIR/tasks"
farm "some fail" 1 --json --retries 2 "$TAP_DIR/tasks"
is "all others are done" "$(jq -c '[.tasks, .done, .failed, .retried]' <<<"$OUT")" '[10,3,7,12]'
like "each is named with the reason" "$ERR" 'poppa-farm: line 2 failed: exit status 2: exit 2'
like "killed ones, too" "$ERR" 'line 5 failed: signal 9 \(Killed\): kill -9 \$\$'
like "and lines that are no tasks" "$ERR" 'line 4 is no task: it has no tab: write KEY, a tab and the command'
like "the count is last" "$(tail -n 1 <<<"$ERR")" '^poppa-farm: 7 of 10 tasks failed$'
farm "many fail" 1 < <(tasks 100 false)
is "twenty are told one by one" "$(grep -c '^poppa-farm: line' <<<"$ERR")" 20
like "and the others counted" "$ERR" 'and 80 more'
farm "a command that steers terminals" 1 < <(printf '\tfalse \033[2J\n')
is "is printed without that" "$(head -n 1 <<<"$ERR")" "poppa-farm: line 1 failed: exit status 1: false ?[2J"
mkdir "$TAP_DIR/done"
farm "a task that succeeds at the third try" 0 --json --retries 2 < <(printf '\t[ -e %s/2 ] || { [ -e %s/1 ] && touch %s/2; touch %s/1; exit 1; }\n' "$TAP_DIR/done"{,,,})
is "is done" "$(jq -c '[.done, .retried]' <<<"$OUT")" '[1,2]'

farm "a command that is longer than the system takes" 1 --json < <(printf '\ttrue; # %0140000d\n\ttrue # %0100000d\n' 1 2)
is "is no task, and others are" "$(jq -c '[.tasks, .done, .failed]' <<<"$OUT")" '[2,1,1]'
like "is told so" "$ERR" 'line 1 is no task: its command is longer than the [0-9]+ bytes that one may have here: put it into a script'

# --- output ---
farm "outputs in files" 0 --output "$TAP_DIR/out" < <(tasks 5 'echo out @; echo err @ >&2')
is "nothing else is printed" "$OUT$ERR" ""
is "each has its file" "$(cat "$TAP_DIR/out/3.out")" $'out 3\nerr 3'

# --- journal ---
{ tasks 20 'echo @'; echo $'\tfalse'; } >"$TAP_DIR/tasks"
farm "with a journal" 1 --journal "$journal" "$TAP_DIR/tasks"
farm "once more" 1 --json --journal "$journal" "$TAP_DIR/tasks"
is "only what failed runs again" "$(jq -c '[.tasks, .done, .skipped, .failed]' <<<"$OUT")" '[21,20,20,1]'
sed -i 's/^\(.*\)echo 7$/\1echo seven/' "$TAP_DIR/tasks"
farm "a line that has changed" 1 --journal "$journal" "$TAP_DIR/tasks"
is "is another task" "$OUT" seven
# The first one has the journal when a task of it runs; only then the second one starts, or it may be first.
"$FARM" --journal "$journal" < <(printf '\ttouch %s\n' "$TAP_DIR/holds"; sleep 30) 2>/dev/null &
holder=$!
wait_until 20 test -e "$TAP_DIR/holds"
ERR=$("$FARM" --journal "$journal" </dev/null 2>&1)
like "a second one is refused" "$ERR" 'another poppa-farm uses this journal'
kill "$holder"
wait "$holder"
is "one that waits for input ends by a signal" $? 3

# --- killed at any moment, it goes on where it was ---
most=$((60 * $(nproc)))
tasks "$most" "echo x >>$TAP_DIR/ran.@; sleep 0.02" >"$TAP_DIR/tasks"
rm -f "$journal"
runs=0
lines() { cat "$journal" 2>/dev/null | wc -l; }
goes_on() { [ "$(lines)" -gt $((before + 1)) ]; }
for i in 1 2 3 4 5; do
	before=$(lines)
	"$FARM" --journal "$journal" "$TAP_DIR/tasks" &
	victim=$!
	wait_until 10 goes_on
	sleep "0.0$((i % 3 + 1))"
	kill -9 "$victim" 2>/dev/null && runs=$((runs + 1))
	wait "$victim" 2>/dev/null
	# A task that was being started has the lock until it is gone, too.
	flock -w 10 "$journal" true
done
cmp_num "it was killed" "$runs" '>=' 1
farm "and goes on" 0 --json --journal "$journal" "$TAP_DIR/tasks"
is "to the end" "$(field ".done == $most and .skipped > 0")" true
is "no task was left out" "$(cat "$TAP_DIR"/ran.* | wc -l | awk -v least="$most" -v most=$((most + runs * $(nproc))) '{print ($1 >= least && $1 <= most)}')" 1
is "and no task is left of what was killed" "$(pgrep -f "$TAP_DIR/ran" | wc -l)" 0

# --- signals and time ---
rm -f "$journal"
{ tasks "$(nproc)" 'trap "" TERM; sleep 321.'"$$"; tasks 5 'echo @'; } >"$TAP_DIR/tasks"
"$FARM" --json --grace 500ms --journal "$journal" "$TAP_DIR/tasks" >"$TAP_DIR/killed" 2>"$TAP_DIR/err" &
victim=$!
for _ in $(seq 100); do
	[ "$(pgrep -c -f "^sleep 321.$$\$")" -ge "$(nproc)" ] && break
	sleep 0.05
done
kill "$victim"
wait "$victim"
is "SIGTERM: exit status" $? 3
is "nothing is left, also of what does not listen" "$(pgrep -c -f "^sleep 321.$$\$")" 0
is "what ran is neither done nor failed" "$(jq -c '[.done, .failed, .left, .end]' "$TAP_DIR/killed")" "[0,0,$(($(nproc) + 5)),\"signal\"]"
like "the user is told" "$(cat "$TAP_DIR/err")" 'ended by a signal, [0-9]+ of the tasks read are left: the same command goes on with them'
# Of Slurm's signals at a job's end, this process's may come last.
"$FARM" --json --workers 2 --grace 1s < <(tasks 9 'echo $$ >'"$TAP_DIR"'/first.@; exec sleep 322.'"$$") >"$TAP_DIR/killed" 2>"$TAP_DIR/err" &
victim=$!
for _ in $(seq 100); do
	[ -s "$TAP_DIR/first.1" ] && [ "$(pgrep -c -f "^sleep 322.$$\$")" -ge 2 ] && break
	sleep 0.05
done
kill "$(cat "$TAP_DIR/first.1")" "$victim"
wait "$victim"
is "a task that was ended just before has not failed" "$(jq -c '[.done, .failed, .left, .end]' "$TAP_DIR/killed")" '[0,0,9,"signal"]'
# A terminal that is closed, and sbatch --signal.
for signal in HUP USR1; do
	"$FARM" --json --workers 1 --grace 1s < <(tasks 2 'trap "" HUP; sleep 323.'"$$"' & wait') >"$TAP_DIR/killed" 2>"$TAP_DIR/err" &
	victim=$!
	for _ in $(seq 100); do
		pgrep -f "^sleep 323.$$\$" >/dev/null && break
		sleep 0.05
	done
	kill "-$signal" "$victim"
	# A terminal that goes away may tell twice; that does not shorten the grace.
	[ "$signal" != HUP ] || kill -HUP "$victim"
	wait "$victim"
	is "SIG$signal: a clean end" "$? $(jq -c '[.left, .end]' "$TAP_DIR/killed")" '3 [2,"signal"]'
	is "SIG$signal: nothing is left" "$(pgrep -c -f "^sleep 323.$$\$")" 0
done
# Not where the user has said that it goes on, as with nohup.
sh -c "trap '' HUP; exec \"\$0\" --json --workers 1" "$FARM" < <(tasks 2 'echo >'"$TAP_DIR"'/begun; sleep 0.5') >"$TAP_DIR/killed" 2>"$TAP_DIR/err" &
victim=$!
for _ in $(seq 100); do
	[ -e "$TAP_DIR/begun" ] && break
	sleep 0.05
done
kill -HUP "$victim"
wait "$victim"
is "SIGHUP that is ignored ends nothing" "$? $(jq -c '[.done, .end]' "$TAP_DIR/killed")" '0 [2,"all"]'
farm "the time is over" 3 --json --time 300ms --grace 200ms < <(tasks 50 'sleep 0.2')
is "which the summary says" "$(field .end)" time
SLURM_JOB_END_TIME=$(($(date +%s) + 2)) farm "so is that of the Slurm job" 3 --grace 1s < <(tasks 300 'sleep 0.1')
like "before Slurm ends it" "$ERR" 'as its time is over'
# A limit that moves; the second time it does not.
mkdir "$TAP_DIR/bin"
cat >"$TAP_DIR/bin/squeue" <<-END
	#!/bin/sh
	echo "\$* \$SLURM_TIME_FORMAT" >>"$TAP_DIR/asked"
	echo $(($(date +%s) + 6))
END
chmod +x "$TAP_DIR/bin/squeue"
begun=$(date +%s%N)
PATH="$TAP_DIR/bin:$PATH" SLURM_JOB_ID=77 SLURM_JOB_END_TIME=$(($(date +%s) + 3)) farm "a limit that has moved" 3 --json --grace 1s --workers 1 < <(tasks 300 'sleep 0.1')
cmp_num "holds (ms)" "$((($(date +%s%N) - begun) / 1000000))" '>=' 3000
is "and ends it" "$(field .end)" time
is "squeue was asked for it" "$(head -n 1 "$TAP_DIR/asked")" "-h -j 77 -o %e %s"
printf '#!/bin/sh\nexec sleep 324\n' >"$TAP_DIR/bin/squeue"
PATH="$TAP_DIR/bin:$PATH" SLURM_JOB_ID=77 SLURM_JOB_END_TIME=$(($(date +%s) + 3)) farm "where Slurm does not answer, the last one" 3 --json --grace 1s --workers 1 < <(tasks 300 'sleep 0.1')
is "ends it" "$(field .end)" time

# --- servers ---
cat >"$TAP_DIR/server" <<'END'
while read -r line; do
	case $line in
	bad) echo "I do not like it" ;;
	end) exit 7 ;;
	*) echo "$line" >>"$1"; echo ok ;;
	esac
done
echo end >>"$1"
END
{ tasks 200 'n@'; echo $'a\tbad'; echo $'a\tend'; } >"$TAP_DIR/tasks"
farm "servers" 1 --json --server "bash $TAP_DIR/server $TAP_DIR/served" "$TAP_DIR/tasks"
is "answer for each task" "$(jq -c '[.done, .failed]' <<<"$OUT")" '[200,2]'
like "or say why not" "$ERR" 'line 201 failed: the server says "I do not like it": bad'
like "or end" "$ERR" 'line 202 failed: the server ended \(exit status 7\): end'
is "each task was theirs once" "$(grep -c '^n' "$TAP_DIR/served")" 200
cmp_num "they end with their input" "$(grep -c '^end$' "$TAP_DIR/served")" '>=' 1
for ((i = 1; i <= 400; i++)); do
	((i % 40)) && printf 'k%d\tn%d\n' $((i % 7)) "$i" || printf 'k%d\tend\n' $((i % 7))
done >"$TAP_DIR/tasks"
farm "servers that end in the middle" 1 --json --server "bash $TAP_DIR/server $TAP_DIR/again" "$TAP_DIR/tasks"
is "fail the task that they had, and no other" "$(jq -c '[.done, .failed]' <<<"$OUT")" '[390,10]'
is "what they were given besides is done once" "$(grep '^n' "$TAP_DIR/again" | sort | uniq -c | awk '{ print $1 }' | sort | uniq -c | xargs)" "390 1"
cat >"$TAP_DIR/ahead" <<'END'
while read -r line; do
	read -t 0 && echo ahead >>"$1"
	echo ok
done
END
farm "servers of short tasks" 0 --json --workers 1 --server "bash $TAP_DIR/ahead $TAP_DIR/had" < <(tasks 500 'n@')
cmp_num "have the next one already, mostly" "$(grep -c ahead "$TAP_DIR/had")" '>=' 50
farm "servers of long ones" 0 --json --workers 1 --server 'while read -r line; do sleep 0.02; read -t 0 && echo more || echo ok; done' < <(tasks 8 'n@')
is "have not" "$(field .done)" 8
farm "a server that says what nobody asked for" 0 --json --workers 1 --server 'while read -r line; do sleep 0.05; printf "ok\nmore\n"; done' < <(tasks 3 'n@')
is "is started anew, and nothing is done that it has not done" "$(jq -c '.done + .failed' <<<"$OUT")" 3
like "which is told" "$ERR" 'a server says "more" though it has no task, and is ended'
farm "a server that begins with a word of its own" 1 --json --workers 1 --server 'echo ready; sleep 5; while read -r line; do echo ok; done' < <(tasks 2 'n@')
is "has done nothing by that" "$(jq -c '[.done, .failed]' <<<"$OUT")" '[0,2]'
like "and is told why" "$ERR" 'line 1 failed: the server was ended: it answered before it had read the task'
farm "a server that ends with one" 0 --json --workers 1 --server 'while read -r line; do echo ok; done; echo bye' < <(tasks 3 'n@')
like "is told that it may have said too much before" "$ERR" 'a server says "bye" though it has no task, and is ended'
farm "a server that ends after each task" 0 --json --workers 1 --server 'read -r line && echo ok' < <(tasks 5 'n@')
is "fails none that it did not begin" "$(field .done)" 5
farm "one that answers before it has read all" 1 --json --workers 1 --server 'head -c 1000 >/dev/null; echo ok; sleep 30' < <(printf '\t%0200000d\n' 1)
like "has not done the task" "$ERR" 'line 1 failed: the server was ended: it answered before it had read the task'
farm "an answer that is too long" 1 --server 'read -r line; printf "%0300d\n" 1; sleep 30' < <(tasks 1 'n@')
like "is named" "$ERR" 'the server was ended: its answer is longer than 255 bytes'
farm "a server that floods" 1 --server 'yes | tr -d "\n"' < <(tasks 2 x)
farm "one that never reads" 3 --time 300ms --grace 100ms --server "sleep 322.$$" < <(printf '\t%0200000d\n' 1)
is "is ended" "$(pgrep -c -f "^sleep 322.$$\$")" 0

# 300 MiB of tasks, while the first one takes its time.
SECONDS=0
for ((i = 0; i < 400; i++)); do printf '\t%0800000d\n' 1; done 2>/dev/null |
	"$FARM" --workers 1 --grace 1s --server 'exec sleep 60' 2>/dev/null &
farm_pid=$!
peak() { awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$farm_pid/status"; }
# It reads until it wants no more.
last=0
until [ "$(peak)" -ge 60 ] && [ "$(peak)" = "$last" ] || [ "$SECONDS" -ge 60 ]; do
	last=$(peak)
	sleep 1
done
cmp_num "tasks that wait take little memory (MiB)" "$(peak)" '<=' 140
cmp_num "though as much as it may have was read" "$(peak)" '>=' 60
kill -TERM "$farm_pid"
wait "$farm_pid"

# --- on a terminal ---
bar="a bar shows what is done, and is gone at the end"
if python=$(python_with pyte); then
	tasks 4 "while [ -e $TAP_DIR/held ] && [ @ != 1 ]; do sleep 0.05; done; [ @ != 2 ]" >"$TAP_DIR/tasks"
	touch "$TAP_DIR/held"
	OUT=$(TERM=xterm "$python" "$here/on-terminal" 24x200 'wait:1 of 4 done, 2 running(, [0-9]+ s left)?\n' "remove:$TAP_DIR/held" \
		"$FARM" --workers 2 "$TAP_DIR/tasks" 2>&1)
	is "$bar" "$(sed -e 's/, [0-9]* s left$//' -e '/^$/d' -e 's/: while .*//' <<<"$OUT")" "\
[#######                       ] 1 of 4 done, 2 running
left:
poppa-farm: line 2 failed: exit status 1
poppa-farm: 1 of 4 tasks failed
modes: as before"
else
	skip "the terminal emulator python3-pyte is not installed" "$bar"
fi

# --- the example of docs/farm.md, as it is there ---
mkdir "$TAP_DIR/example"
printf '#!/bin/sh\necho "$@"\n' >"$TAP_DIR/example/simulate"
chmod +x "$TAP_DIR/example/simulate"
page_commands docs/farm.md >"$TAP_DIR/example/typed"
ok "the page's command" env PATH="$(dirname "$FARM"):$PATH" sh -c "cd '$TAP_DIR/example' && . ./typed"
is "runs both tasks" "$(cat "$TAP_DIR"/example/out/*.out)" $'north 1\nnorth 2'
is "and writes down that they are done" "$(wc -l <"$TAP_DIR/example/done")" 3

# --- keys ---
for policy in affinity stealing queue; do
	farm "policy $policy" 0 --json --policy "$policy" < <(tasks 100 true)
	is "runs all ($policy)" "$(field .done)" 100
done

# --- what the caller has left ---
(
	trap '' CHLD
	exec "$FARM" --json < <(tasks 3 true) >"$TAP_DIR/ignored"
)
is "where SIGCHLD is ignored tasks are noticed all the same" "$(jq .done "$TAP_DIR/ignored")" 3
mkfifo "$TAP_DIR/fifo"
"$FARM" "$TAP_DIR/fifo" &
sleep 0.5
kill $!
wait $! 2>/dev/null
is "a signal ends it while it waits for a pipe that nobody writes" $? 143

# --- bad input ---
farm "no such file" 3 /nonexistent/tasks
is "is named" "$ERR" "poppa-farm: /nonexistent/tasks: No such file or directory"
farm "a journal that is none" 3 --journal /etc/passwd </dev/null
like "is named, too" "$ERR" '^poppa-farm: /etc/passwd: this file is no journal of poppa-farm: name another one$'
head -c 5000 "$FARM" >"$TAP_DIR/program"
printf '\0\1 no line' >>"$TAP_DIR/one-line"
for file in program one-line; do
	cp "$TAP_DIR/$file" "$TAP_DIR/$file.before"
	farm "a file that is no text ($file)" 3 --journal "$TAP_DIR/$file" </dev/null
	like "is no journal ($file)" "$ERR" 'this file is no journal of poppa-farm'
	is "and stays as it was ($file)" "$(cmp "$TAP_DIR/$file" "$TAP_DIR/$file.before" && echo same)" same
done
printf 'poppa-f' >"$TAP_DIR/torn"
farm "a journal that a crash has cut in its first line" 0 --json --journal "$TAP_DIR/torn" < <(tasks 3 true)
is "begins anew" "$(field .done) $(head -n 1 "$TAP_DIR/torn")" "3 poppa-farm 1"
farm "a file in the place of a folder" 2 --output "$TAP_DIR/torn" </dev/null
like "is no folder" "$ERR" 'output=.*/torn: Not a directory'
for bad in '--workers=0' '--retries=-1' '--time=5' '--grace=x' '--policy=best' '--schedule=gap=0' '--schedule=foo=1' 'a b' '--server=cat --output=x'; do
	# shellcheck disable=SC2086
	farm "$bad" 2 $bad </dev/null
	like "$bad is explained" "$ERR" '^poppa-farm: '
done
done_testing
