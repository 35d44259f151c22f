#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The profile of a class that has never run tells slurmctld whom it suits: from its import, while slurmctld runs and over a
# restart, until it is removed. So does a trial that is imported.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/lanes.sh
. "$(dirname "$0")/lanes.sh"

own=$(id -u poppa-demo)
LOG=$(ctl log slurmctld)
PROFILES=$(dirname "$HISTORY")/poppa_profiles
TRIALS=$(dirname "$HISTORY")/poppa_trials
histograms=$(mktemp -d)
forget() {
	rm -rf "$PROFILES" "$TRIALS" "$histograms"
	forget_lesson
}
on_exit forget
[ ! -e "$PROFILES" ] && [ ! -e "$TRIALS" ] || skip_all "there are profiles or trials already"

# in_use N: wait until the log's latest word is that so many are.
latest() { grep -o 'profiles of [0-9]* classes are in use' "$LOG" | tail -n 1 | tr -dc 0-9; }
in_use() { [ "$(latest)" = "$1" ]; }
ended() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }
# placed: the node of a job of the class that has never run, which is then ended again. Two nodes have a free lane.
placed() {
	sleeper profile-new --colocate=class:profile-new -n1 -x "${NODE}[3-4]"
	wait_running "$job"
	nodes_of "$job"
	scancel "$job"
	wait_until 60 ended "$job"
}

printf 'Line=64\nReferences=1e6\nInstructions=3e6\nCold=3e3\nBucket0=5e5 10\nBucket14=4.97e5 4e5\n' >"$histograms/big"
printf 'Line=64\nReferences=1e6\nInstructions=3e6\nCold=0\nBucket0=6e5 10\nBucket1=4e5 50\n' >"$histograms/small"
ctl reconfigure stripe_wait=1s stripe_cache=16M
# Two kinds that lose beside their own kind; nothing tells of which one the new class is.
for one in a1 a2 b1 b2; do for two in a1 a2 b1 b2; do
	d=$([ "${one%?}" = "${two%?}" ] && echo 0.14 || echo 0)
	printf "$own:profile-%s\t$own:profile-%s\t%s\t40000\t20\t$EPOCHSECONDS\t20\t%s\t0.0001\n" "$one" "$two" "$d" "$d"
done; done >"$histograms/lesson"
teach_pairs <"$histograms/lesson"
running profile-a1 -n1 --colocate=class:profile-a1 -w "${NODE}1"
first=$job
running profile-b1 -n1 --colocate=class:profile-b1 -w "${NODE}2"
second=$job
usual=$(placed)
like "a class of which nothing is known goes where there is a lane" "$usual" "^${NODE}[12]\$"
# The history has both kinds alike, so either can be the one that needs the cache: that of the node where the class goes.
near=a far=b other=${NODE}2
[ "$usual" = "${NODE}1" ] || { near=b far=a other=${NODE}1; }

for class in ${near}1 ${near}2 ${far}1 ${far}2 new; do
	ok "the profile of $class is imported" poppa profile --import "$own:profile-$class" \
		"$histograms/$([[ $class = $far* ]] && echo small || echo big)"
done
is "the file is slurmctld's" "$(stat -c %U:%a "$PROFILES")" "$(stat -c %U "$(dirname "$PROFILES")"):600"
is "a user may not" "$(as_user poppa profile --remove "$own:profile-new" >/dev/null 2>&1; echo $?)" 1
ok "slurmctld notices while it runs" wait_until 60 in_use 5
is "now the class goes where its profile says that it suits" "$(placed)" "$other"
is "poppa pairs says why" \
	"$(poppa pairs --class "$own:profile-new" --json | jq -c --arg near "profile-${near}1" --arg far "profile-${far}1" \
	'def beside($name): .pairs[] | select(.beside | endswith($name)) | .expected; beside($near) > beside($far) + 0.05')" true

saves_jobs
ctl restart slurmctld
wait_until 60 nodes_answer
ok "it is known after a restart" wait_until 60 in_use 5
is "and the class goes there" "$(placed)" "$other"

for class in ${near}1 ${near}2 ${far}1 ${far}2 new; do
	ok "the profile of $class is removed" poppa profile --remove "$own:profile-$class"
done
ok "slurmctld notices that, too" wait_until 60 in_use 0
is "the class goes where it went before" "$(placed)" "$usual"
ctl reconfigure stripe_cache=0
ok "without a cache no profile is in use" wait_until 60 in_use 0

# A trial says of the class that it loses much beside the one to which it goes.
trials_in_use() { [ "$(grep -o '[0-9]* losses of trials are in use' "$LOG" | tail -n 1 | tr -dc 0-9)" = "$1" ]; }
logs() { grep -q "$1" "$LOG"; }
printf '{"programs":[{"command":"./new","degradation":0.2,"lo":0.19,"hi":0.21},{"command":"./near","degradation":0.2,"lo":0.19,"hi":0.21}]}' >"$histograms/trial"
import() { poppa pairs --import --class "$own:profile-new" --class "$own:profile-${near}1" <"$histograms/trial"; }
from_trials() { poppa pairs --class "$own:profile-new" --json | jq '[.pairs[].from_trials] | add'; }
ok "a trial is imported" import
is "poppa pairs shows it at once" "$(from_trials)" 1
is "the file is slurmctld's" "$(stat -c %U:%a "$TRIALS")" "$(stat -c %U "$(dirname "$TRIALS")"):600"
is "a user may not" "$(as_user poppa pairs --forget 0123456789abcdef >/dev/null 2>&1; echo $?)" 1
ok "slurmctld takes it in while it runs" wait_until 60 trials_in_use 2
is "now the class goes elsewhere" "$(placed)" "$other"
cp "$TRIALS" "$histograms/before"
ok "the same trial again" import
is "counts once" "$(cmp "$TRIALS" "$histograms/before" && from_trials)" 1
is "nothing of it is in the history's file" "$(grep -c -P 'profile-new\t.*\t0\.2\t' "$HISTORY")" 0
saves_jobs
ctl restart slurmctld
wait_until 60 nodes_answer
ok "it is known after a restart" wait_until 60 trials_in_use 2
is "and the class goes there" "$(placed)" "$other"
printf '0123456789abcdef\t%s:profile-new\tx\n' "$own" >>"$TRIALS"
ok "a bad line is passed over" wait_until 60 logs "$TRIALS: 1 lines could not be read"
: >"$TRIALS.new"
chmod 666 "$TRIALS.new"
mv "$TRIALS.new" "$TRIALS"
ok "what others may have written is refused" wait_until 60 logs "$TRIALS can be written by others.*the last good trials stay in use"
is "and the class goes where it went" "$(placed)" "$other"
rm "$TRIALS"
ok "a trial is gone with its file" wait_until 60 trials_in_use 0
is "and the class goes where it went before" "$(placed)" "$usual"
trial=$(import | cut -d ' ' -f 2)
ok "slurmctld takes it in again" wait_until 60 trials_in_use 2
ok "it is taken away" poppa pairs --forget "$trial"
ok "slurmctld notices" wait_until 60 trials_in_use 0
scancel "$first" "$second"
done_testing
