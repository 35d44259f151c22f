#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The sample workloads leave nothing behind, and the truth meter always resumes what it stops. TAP.
set -u
bin=contrib/workloads
# A build with sanitizers: MPI libraries keep memory until the end, which is none of our leaks.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
tests=0 failed=0

ok() # ok RC NAME
{
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests - $2"
	else
		echo "not ok $tests - $2"
		failed=1
	fi
}

# The third field of /proc/PID/stat; a command name here holds no blank.
state()
{
	local s
	s=$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null) && echo "$s"
}

# wait_for CONDITION...: at most 20 s
wait_for()
{
	for _ in $(seq 2000); do
		"$@" && return 0
		sleep 0.01
	done
	return 1
}

is_stopped() { [ "$(state "$1")" = T ]; }
is_running() { s=$(state "$1") && [ "$s" != T ]; }
is_gone() { [ ! -e "$1" ]; }

if [ ! -x $bin/contend ]; then
	echo "1..0 # SKIP the MPI workloads are not built: mpicc was not found"
	exit 77
fi
dir=$(mktemp -d) || exit 99
# What MPI leaves of its session goes with it.
export TMPDIR=$dir
pids=
finish()
{
	for p in $pids; do kill -CONT "$p" 2>/dev/null; kill -9 "$p" 2>/dev/null; done
	rm -rf "$dir"
}
trap finish EXIT
line=$dir/line

a=$($bin/contend --line "$line" --work 300000)
ok $? "contend runs"
b=$($bin/contend --line "$line" --work 300000)
[ -n "$a" ] && [ "$a" = "$b" ]
ok $? "the same work gives the same output ($a)"
c=$($bin/contend --line "$line" --work 300001)
[ "$a" != "$c" ]
ok $? "other work gives another checksum"
[ "$($bin/null --work 300000)" = "$($bin/null --work 300000)" ]
ok $? "null's output is reproducible"
[ "$($bin/stream --mib 2 --work 20000)" = "$($bin/stream --mib 2 --work 20000)" ]
ok $? "stream's output is reproducible"
[ "$($bin/llc --mib 2 --work 20000)" = "$($bin/llc --mib 2 --work 20000)" ]
ok $? "llc's output is reproducible"
is_gone "$line"
ok $? "the line file is removed by its last user"

# It has beaten, and so its signal handlers are there, too.
publishes() {
	page=$(find "/proc/$1/fd" -lname '/memfd:poppa-heartbeat*' 2>/dev/null | head -n 1)
	[ -n "$page" ] && [ "$(od -A n -t u8 -j 128 -N 8 "$page")" -gt 0 ]
}
$bin/contend --line "$line" --seconds 60 >/dev/null &
first=$!
pids="$pids $first"
wait_for publishes $first
$bin/contend --line "$line" --work 1000 >/dev/null && [ -e "$line" ]
ok $? "the line file stays while another uses it"
[ "$(stat -c %a "$line")" = 666 ]
ok $? "the line file is open to other users' jobs"
kill -TERM $first
wait $first 2>/dev/null
is_gone "$line"
ok $? "a terminated run removes the line file too"

echo precious >"$dir/mine"
! $bin/contend --line "$dir/mine" --work 1000 >/dev/null 2>&1 && [ "$(cat "$dir/mine")" = precious ]
ok $? "a file that is something else is refused and kept"
ln -s "$dir/mine" "$dir/link"
! $bin/contend --line "$dir/link" --work 1000 >/dev/null 2>&1
ok $? "a symbolic link is refused"
# Another user's job has made it and not opened it yet. root without this capability is a user like any other.
other=
[ "$(id -u)" != 0 ] || other="setpriv --bounding-set=-dac_override,-dac_read_search"
: >"$line"
chmod 000 "$line"
! $other cat "$line" 2>/dev/null
ok $? "there is a file that may not be opened"
(sleep 0.1; chmod 666 "$line") &
$other $bin/contend --line "$line" --work 1000 >/dev/null
ok $? "contend waits until it may"
! $bin/contend --private -1 2>/dev/null
ok $? "a bad option is an error"

# The truth meter. Nothing is asserted about the numbers: this machine may be busy.
$bin/contend --line "$line" --seconds 300 >/dev/null &
first=$!
$bin/contend --line "$line" --seconds 300 >/dev/null &
second=$!
pids="$pids $first $second"
wait_for publishes $first
wait_for publishes $second
out=$($bin/truth --victim $first --partner $second --solo 40ms --co 40ms --edge 5ms --for 1s --json)
ok $? "truth measures two running programs"
case $out in *'"counter": "heartbeat"'*'"degradation": '*) rc=0 ;; *) rc=1 ;; esac
ok $rc "its JSON has the counter and the degradation"
is_running $second
ok $? "the partner runs on after it"

out=$($bin/response --victim $first --partner $second --long 8ms --rest 40ms --for 2s --json)
ok $? "response measures them, too"
case $out in *'"truth": {"degradation": '*'"by_length": ['*'"robust": {'*) rc=0 ;; *) rc=1 ;; esac
ok $rc "its JSON has the truth, the response and what the estimator says"
is_running $second
ok $? "the partner runs on after that"

truth="truth --solo 60s --co 40ms --edge 5ms" response="response --long 60s --rest 40ms"
for meter in "$truth TERM" "$truth INT" "$truth KILL" "$response TERM" "$response KILL"; do
	sig=${meter##* } name=${meter%% *}
	# shellcheck disable=SC2086
	$bin/${meter% *} --victim $first --partner $second --for 60s >/dev/null 2>&1 &
	meter=$!
	pids="$pids $meter"
	wait_for is_stopped $second
	rc=$?
	# A background job of a script ignores SIGINT until truth sets its own handler.
	kill -$sig $meter
	wait_for is_running $second || rc=1
	wait $meter 2>/dev/null
	ok $rc "the partner is resumed when $name gets SIG$sig while it holds it"
done
! $bin/truth --victim $first 2>/dev/null
ok $? "a missing option is an error"
! $bin/truth --victim $first --partner 4194304 2>/dev/null
ok $? "a task that does not exist is an error"
echo "1..$tests"
exit $failed
