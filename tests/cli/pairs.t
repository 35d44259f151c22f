#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa pairs and poppa plan: what was measured, what is expected of pairs that have never met, and who sees what.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
needs jq

history=$TAP_DIR/poppa_pairs
row() { printf '%s\t%s\t%s\t40000\t20\t1790000000\t20\t%s\t0.0001\n' "$@" "$3"; }
# "loud" slows down all that it has met, itself not so much; "mine" has met all but that.
{
	row 7/loud 7/loud 0.3
	for one in a b c d; do
		row "8/$one" 7/loud 0.7
		row 7/loud "8/$one" 0.5
		row "8/$one" 8/mine 0.05
		row 8/mine "8/$one" 0.05
		for two in a b c d; do row "8/$one" "8/$two" 0.05; done
	done
} >"$history"

runs "pairs" 0 "$POPPA" pairs --history "$history"
is "one line for each pair that has met, and a heading" "$(wc -l <<<"$OUT")" 34
like "what was measured, expected and made" "$OUT" $'\n8/a +7/loud +70\\.0% +20 +10\\.0 +(69|70)\\.[0-9]% +[0-9.]+\\.\\. *[0-9.]+% +0\\.[0-9]+\n'
runs "pairs of a class" 0 "$POPPA" pairs --history "$history" --class 8/mine
like "a pair that has never met is expected to lose" "$OUT" '8/mine +7/loud +- +- +- +[3-6][0-9]\.[0-9]% '
runs "pairs --json" 0 "$POPPA" pairs --history "$history" --class 8/mine --json
is "never met" "$(jq -c '.pairs[] | select(.beside == "7/loud") | [.measured, .runs]' <<<"$OUT")" "[null,0]"
is "the interval holds what is expected" "$(jq '[.pairs[] | .expected90[0] <= .expected and .expected <= .expected90[1]] | all' <<<"$OUT")" true
is "with that one both make less than one after the other, with the others not" \
	"$(jq -c '[.pairs[] | select(.both < 0.99) | .beside]' <<<"$OUT")" '["7/loud"]'

# Gains from spreading: mine is certain, the others are not.
gains=$TAP_DIR/gains
spread() { printf '#spread\t%s\tn-%s\t16\tall\t%s\t%s\t%s\t0.0001\t1790000000\t%s\t1600\t0.0001\t1790000000\n' "$@"; }
{
	cat "$history"
	spread 8 a 8/mine 4 2400 3
	spread 8 b 8/a 1 2400 3
	spread 7 c 7/loud 0 0 2
	spread 8 d 8@alone 5 1760 2
} >"$gains"
runs "pairs with gains" 0 "$POPPA" pairs --history "$gains"
like "gains stand below the pairs" "$OUT" $'\n\nCLASS +GAIN +ERROR +SPREAD +PLAIN +CO-LOCATED +DOUBT\n7/loud +- +- unknown +0 +2 no-run\n'
like "a certain one has its class" "$OUT" $'\n8/mine +\\+50\\.0% +1\\.[0-9]% High +4 +3 *\n'
like "and an uncertain one the doubt" "$OUT" $'\n8/a +\\+50\\.0%\\? +- unknown +1 +3 one-run'
runs "gains in JSON" 0 "$POPPA" pairs --history "$gains" --json
is "have all there is" "$(jq -r '.classes[] | "\(.class) \(if .gain then .gain * 100 | round else null end) \(.error != null) \(.spread_class) \(.plain_runs) \(.colocated_runs) \(.doubt)"' <<<"$OUT")" \
	"$(printf '%s\n' "7/loud null false unknown 0 2 no-run" "8/a 50 false unknown 1 3 one-run" "8/mine 50 true High 4 3 " "8@alone 10 true Low 5 2 ")"
runs "gain of a class" 0 "$POPPA" pairs --history "$gains" --class 8/mine --json
is "is of that class alone" "$(jq -c '[.classes[].class]' <<<"$OUT")" '["8/mine"]'
runs "gain of a class without runs" 0 "$POPPA" pairs --history "$gains" --class 8/b --json
is "is unknown" "$(jq -c '.classes[] | [.gain, .plain_runs, .colocated_runs, .doubt]' <<<"$OUT")" '[null,0,0,"no-run"]'

# What a miss costs: mine is certain, the others are not.
costs=$TAP_DIR/costs
{
	cat "$history"
	printf '#miss\t%s\t%s\t0.8\t0.0001\t%s\t%s\t1790000000\n' 7/loud 1 60 0 8/a 3 60 1 8/mine 4 30 0.01
} >"$costs"
runs "pairs with costs of misses" 0 "$POPPA" pairs --history "$costs"
like "costs stand below the pairs, with the doubt" "$OUT" \
	$'\n\nCLASS +BASE +ERROR +MISS +ERROR +RUNS +DOUBT\n7/loud +0\\.8 +- +60 +- +1 one-run\n8/a +0\\.8 +2\\.9% +60 +70\\.7% +3 apart\n8/mine +0\\.8 +2\\.5% +30 +5\\.8% +4 *$'
runs "costs in JSON" 0 "$POPPA" pairs --history "$costs" --json
is "have all there is" "$(jq -r '.miss_costs[] | "\(.class) \(.base_cycles) \(.base_error != null) \(.miss_cycles) \(.miss_error != null) \(.runs) \(.doubt)"' <<<"$OUT")" \
	"$(printf '%s\n' "7/loud 0.8 false 60 false 1 one-run" "8/a 0.8 true 60 true 3 apart" "8/mine 0.8 true 30 true 4 ")"
runs "costs of a class" 0 "$POPPA" pairs --history "$costs" --class 8/mine+4n --json
is "are of that class alone, whatever the variant" "$(jq -c '[.miss_costs[] | .class, (.miss_cycles * 10 | round), .runs]' <<<"$OUT")" '["8/mine+4n",300,4]'
runs "costs of a class without runs" 0 "$POPPA" pairs --history "$costs" --class 8/b --json
is "are unknown" "$(jq -c '.miss_costs[] | [.base_cycles, .miss_cycles, .miss_error, .runs, .doubt]' <<<"$OUT")" '[null,null,null,0,"no-run"]'

runs "a class that is not there" 1 "$POPPA" pairs --history "$history" --class 9/none
is "it is named" "$ERR" 'poppa pairs: the pair history has no class "9/none" that you may see; "poppa pairs" lists them'
long=$(printf '%300s' x | tr ' ' y)
for bad in "" "#8" $'8@\033[31mred' "8@$long" "8@lmp+4n+$long"; do
	runs "the class $(printf '%.20q' "$bad")" 2 "$POPPA" pairs --history "$history" --class "$bad"
	like "is none, and what one looks like is said" "$ERR" '^poppa pairs: --class: "[^[:cntrl:]]{0,63}" is no class: name it as "poppa pairs" does, such as 1000@lmp,'
done
runs "no file" 1 "$POPPA" pairs --history "$TAP_DIR/none"
like "it is named, with the fix" "$ERR" "^poppa pairs: $TAP_DIR/none: No such file or directory: only slurmctld's host has it"
: >"$TAP_DIR/empty"
runs "an empty history" 0 "$POPPA" pairs --history "$TAP_DIR/empty"
is "says so" "$OUT" "The pair history has no pair yet."

runs "plan" 0 bash -c 'printf "# three jobs\n8/mine 4\n7/loud 4\n8/a 4\n" | "$1" plan --history "$2"' - "$POPPA" "$history"
like "the two that suit share" "$OUT" $'  3  8/a +4 nodes\n +4 beside job 1, 8/mine: both make 1\\.0[0-9]\n'
like "and the other one is alone" "$OUT" $'  2  7/loud +4 nodes\n +alone: [^\n]*\n  3'
like "each says why" "$OUT" $'\n +shares with 8/mine: together 1\\.0[0-9] of one after the other\n8 nodes'
like "what it comes to" "$OUT" '8 nodes, 4 of them with two jobs, where they make 1\.0[0-9]+ of what'
# Why: what decides is said with its limit.
printf '%s\r\n' '8/mine 4' '7/loud 4' '8/a 4' >"$TAP_DIR/queue"
# why_of JOB OPTION...: the sentence of a job of that file.
why_of() {
	"$POPPA" plan "$TAP_DIR/queue" --history "$history" --json "${@:2}" | jq -r --argjson j "$1" '.jobs[$j - 1].why'
}
like "the first one: nobody is there, and then somebody comes" "$(why_of 1)" '^alone at first: no other job has a lane free; then job 3, 8/a, comes beside it$'
like "alone: the two would make too little" "$(why_of 2)" '^alone: beside 8/mine both would make 0\.[0-9]+ of one after the other, less than 0\.97 \(stripe_gain_min\)$'
like "alone: one would lose too much" "$(why_of 2 --settings stripe_gain_min=-50%)" \
	'^alone: beside 8/mine (it|that one) would go at 0\.[0-9]+ of the speed on whole nodes, less than 0\.75 \(stripe_victim_max\)$'
like "alone: an empty node brings more" "$(why_of 2 --settings stripe_gain_min=-50%,stripe_victim_max=100%)" \
	'^alone: an empty node brings [0-9.]+ of a lane, and a lane beside 8/mine brings -?[0-9.]+, with what that one loses$'
like "shares" "$(why_of 3)" '^shares with 8/mine: together 1\.0[0-9] of one after the other$'
is "--nodes: too few suit, so it waits, and the next one does not" "$(why_of 2 --nodes 4 | cut -d: -f1),$(why_of 3 --nodes 4 | cut -d: -f1)" "waits,shares with 8/mine"
like "waits: some suit, but too few" "$(why_of 2 --nodes 6)" '^waits: it needs 4 nodes, and only 2 suit: beside 8/mine both would make .*\(stripe_gain_min\)$'
is "waits: too few are there at all" "$(why_of 1 --nodes 3)" "waits: it needs 4 nodes, and only 3 have a free lane"
like "does not wait where nobody does" "$(why_of 2 --nodes 4 --settings stripe_wait=0)" '^shares with 8/mine: .*, as nothing better is free$'
runs "plan with too few nodes" 0 "$POPPA" plan "$TAP_DIR/queue" --history "$history" --nodes 4 --json
is "uses no more of them, and tells who waits" "$(jq -c '[.nodes, .shared_nodes, .waiting, [.jobs[].waits], .jobs[1].alone]' <<<"$OUT")" '[4,4,1,[false,true,false],0]'
like "in the text, too" "$("$POPPA" plan "$TAP_DIR/queue" --history "$history" --nodes 4)" '4 nodes, 4 of them with two jobs, .*; 1 job waits$'

# Where the jobs come from.
runs "plan -" 0 bash -c '"$1" plan - --history "$2" --json <"$3"' - "$POPPA" "$history" "$TAP_DIR/queue"
is "is standard input" "$(jq -c '[.jobs[].class]' <<<"$OUT")" '["8/mine","7/loud","8/a"]'
runs "a file twice" 2 "$POPPA" plan "$TAP_DIR/queue" --history "$history" --input "$TAP_DIR/queue"
like "is too much" "$ERR" '^poppa plan: the jobs are in one file'
runs "a file and the queue" 2 "$POPPA" plan "$TAP_DIR/queue" --history "$history" --queue
runs "no nodes" 2 "$POPPA" plan "$TAP_DIR/queue" --history "$history" --nodes 0
printf '\xef\xbb\xbf8|4|mine\n8|2|my step|7\n' >"$TAP_DIR/listed"
runs "plan with what squeue prints" 0 "$POPPA" plan "$TAP_DIR/listed" --history "$history" --json
is "names the classes of these jobs" "$(jq -c '[.jobs[] | .class, .nodes]' <<<"$OUT")" '["8/mine",4,"8/my step|#",2]'
for bad in '8|x|mine' '8|4|' '8|0|mine' '99999999999|4|mine'; do
	runs "\"$bad\"" 1 bash -c 'echo "$3" | "$1" plan --history "$2"' - "$POPPA" "$history" "$bad"
	like "\"$bad\": the line and what it should be" "$ERR" '^poppa plan: standard input, line 1: a job is CLASS \[NODES\].*UID\|NODES\|NAME'
done
runs "a zero byte" 1 bash -c 'printf "8/a\n8/b\0 4\n" | "$1" plan --history "$2"' - "$POPPA" "$history"
like "is in no job" "$ERR" 'standard input, line 2: a job is'
mkfifo "$TAP_DIR/fifo"
runs "a list from a pipe that nobody writes" 1 timeout 20 "$POPPA" plan "$TAP_DIR/fifo" --history "$history"
like "has no job" "$ERR" '^poppa plan: no job'
runs "a list from a pipe" 0 bash -c '"$1" plan --history "$2" --json <(sleep 0.2; cat "$3")' - "$POPPA" "$history" "$TAP_DIR/queue"
is "is read" "$(jq '.jobs | length' <<<"$OUT")" 3

# The cluster's queue, by a squeue that prints what ours asks for: two co-located jobs, a plain one and one with a class.
mkdir "$TAP_DIR/slurm" "$TAP_DIR/nothing"
cat >"$TAP_DIR/slurm/squeue" <<'END'
#!/bin/sh
case "$*" in *--array*PENDING,RUNNING*UserID*NumNodes*system_comment*Name*) ;; *) exit 1 ;; esac
printf '8\0374\037colocate: stripe lane=0\037mine\n'
printf '8\0371\037\037plain\n'
printf '8\0374\037site: x; colocate: class:big waits-for-partner-until=2026-01-01T00:00:00\037a|b\n'
printf '8\0372\037colocate: stripe\037my job 7\n'
END
chmod +x "$TAP_DIR/slurm/squeue"
runs "plan --queue" 0 env PATH="$TAP_DIR/slurm:$PATH" "$POPPA" plan --queue --history "$history" --json
is "has the co-located jobs" "$(jq -c '[.jobs[] | .class, .nodes]' <<<"$OUT")" '["8/mine",4,"8:big",4,"8/my job #",2]'
runs "plan --queue without squeue" 1 env PATH="$TAP_DIR/nothing" "$POPPA" plan --queue --history "$history"
is "says so" "$ERR" "poppa plan: squeue is not in PATH"
printf '#!/bin/sh\n' >"$TAP_DIR/slurm/squeue"
runs "an empty queue" 1 env PATH="$TAP_DIR/slurm:$PATH" "$POPPA" plan --queue --history "$history"
like "says so" "$ERR" '^poppa plan: no co-located job waits or runs'
printf '#!/bin/sh\necho JOBID\n' >"$TAP_DIR/slurm/squeue"
runs "another squeue" 1 env PATH="$TAP_DIR/slurm:$PATH" "$POPPA" plan --queue --history "$history"
like "is not believed" "$ERR" 'squeue prints something else'

# Histories that are none, or not whole.
for c in pairs plan; do
	runs "$c of a history from a pipe" 1 timeout 20 "$POPPA" "$c" --history "$TAP_DIR/fifo"
	is "$c: says so" "$ERR" "poppa $c: $TAP_DIR/fifo is no regular file: copy what it gives into one, and name that"
done
runs "profiles from a pipe" 1 timeout 20 "$POPPA" pairs --history "$history" --profiles "$TAP_DIR/fifo" --settings stripe_cache=16M
like "say so" "$ERR" 'fifo is no regular file'
{ echo "# a comment" && row 8/a 8/b nan && row 8/a 8/b -7; } >"$TAP_DIR/nan"
printf 'x\0\0\n\n' >"$TAP_DIR/zeros"
while read -r kind line; do
	runs "a history of $kind alone" 1 "$POPPA" pairs --history "$TAP_DIR/$kind"
	like "is named, with the fix" "$ERR" "^poppa pairs: $TAP_DIR/$kind: no line of it can be read, line $line is the first: .*poppa_pairs with --history$"
	is "and nothing else is said" "$OUT" ""
done <<<$'nan 2\nzeros 1'
sed 's/$/\r/' "$history" >"$TAP_DIR/windows"
is "lines may end as on Windows" "$("$POPPA" pairs --history "$TAP_DIR/windows")" "$("$POPPA" pairs --history "$history")"
{ echo && cat "$history" && row 8/a 8/b 2 && echo rubbish; } >"$TAP_DIR/some"
runs "some bad lines" 0 "$POPPA" pairs --history "$TAP_DIR/some"
is "the first is named" "$ERR" "poppa: $TAP_DIR/some: 2 lines could not be read and were passed over, the first is line $(($(wc -l <"$history") + 2))"
is "the others count" "$OUT" "$("$POPPA" pairs --history "$history")"

# Each is best beside the other.
{ row 8/x 8/x 0.2 && row 8/y 8/y 0.2 && row 8/x 8/y 0 && row 8/y 8/x 0; } >"$TAP_DIR/two"
printf '8/x 6\n8/y 4\n' >"$TAP_DIR/jobs"
runs "plan --json" 0 "$POPPA" plan --history "$TAP_DIR/two" --input "$TAP_DIR/jobs" --json
is "a smaller job shares a part of the nodes" \
	"$(jq -c '[.nodes, .shared_nodes, (.jobs[] | .class, .nodes, .alone), (.jobs[1].beside[0] | .job, .class, .nodes)]' <<<"$OUT")" \
	'[6,4,"8/x",6,2,"8/y",4,0,1,"8/x",4]'
runs "plan where pairs must gain more" 0 "$POPPA" plan --history "$TAP_DIR/two" --input "$TAP_DIR/jobs" --json --settings stripe_gain_min=50%
is "has nobody share" "$(jq -c '[.nodes, .shared_nodes]' <<<"$OUT")" '[10,0]'
# y is 8 % slower beside x than on whole nodes.
printf '8/x 4\n8/y 4\n' >"$TAP_DIR/even"
{ row 8/x 8/x 0.3 && row 8/y 8/y 0 && row 8/x 8/y 0 && row 8/y 8/x 0.08; } >"$TAP_DIR/victim"
for most in 10% 5% 100%,stripe_gain_min=50%; do
	runs "plan with a victim, $most" 0 "$POPPA" plan --history "$TAP_DIR/victim" --input "$TAP_DIR/even" --json \
		--settings "stripe_victim_max=$most"
	is "has it share only where that is asked for" "$(jq .shared_nodes <<<"$OUT")" "$([ "$most" = 10% ] && echo 4 || echo 0)"
done
runs "plan with settings that there are not" 1 "$POPPA" plan --history "$history" --settings stripe_gain=2%
like "names what is wrong" "$ERR" '^poppa plan: --settings: .*stripe_gain'
runs "plan with settings of others" 1 "$POPPA" plan --history "$history" --settings gain_min=2%
like "names what is wrong, too" "$ERR" '^poppa plan: --settings: gain_min=2% is no setting'
# The name of a job stands for what such jobs run.
{ sed 's,8/x,8@x,g' "$TAP_DIR/two" && printf '#ran\t8\t1790000000\tx\tstep-#\n'; } >"$TAP_DIR/programs"
runs "plan with the name of a job" 0 bash -c 'printf "8/step-7 6\n8/y 4\n8/step 1\n" | "$1" plan --history "$2" --json' - "$POPPA" "$TAP_DIR/programs"
is "it is known by its program, and a name that is not known stays" \
	"$(jq -c '[.shared_nodes, .jobs[].class]' <<<"$OUT")" '[4,"8@x","8/y","8/step"]'
runs "pairs of the name of a job" 0 "$POPPA" pairs --history "$TAP_DIR/programs" --class 8/step-9 --json
is "are those of its program" "$(jq -r '.pairs[0].class' <<<"$OUT")" 8@x
# Variants are classes by themselves, and one that has not met anybody is expected as its class.
{ row 8@x+4n 8@y 0.3 && row 8@x 8@y 0.1 && row 8@y 8@x 0.1 && row 8@z+2n 8@y 0.2; } >"$TAP_DIR/variants"
runs "pairs with variants" 0 "$POPPA" pairs --history "$TAP_DIR/variants" --json
is "shows their names" "$(jq -c '[.pairs[].class]' <<<"$OUT")" '["8@x","8@x+4n","8@y","8@z+2n"]'
for one in 8@x+4n 8@x+64n 8@z 8@z+8n+2x8x1; do
	runs "pairs of $one" 0 "$POPPA" pairs --history "$TAP_DIR/variants" --class "$one" --json
	is "are of it, beside all" "$(jq -r '[.pairs[] | .class, .beside] | unique | join(" ")' <<<"$OUT" | tr ' ' '\n' | sort | tr '\n' ' ')" \
		"$(printf '%s\n' 8@x 8@x+4n 8@y 8@z 8@z+2n "$one" | sort -u | tr '\n' ' ')"
done
runs "pairs of a class of which a variant has met others" 0 "$POPPA" pairs --history "$TAP_DIR/variants" --class 8@z --json
is "are expected as those of the variant" "$(jq '.pairs[] | select(.beside == "8@y") | .runs == 0 and .expected > 0.1 and .expected < 0.25' <<<"$OUT")" true
runs "pairs of a variant of no class" 1 "$POPPA" pairs --history "$TAP_DIR/variants" --class 8@w+2n
runs "plan with sizes" 0 bash -c 'printf "8@x 4\n8@y 4\n" | "$1" plan --history "$2" --json' - "$POPPA" "$TAP_DIR/variants"
is "names the classes as they were named" "$(jq -c '[.jobs[].class]' <<<"$OUT")" '["8@x","8@y"]'
for bad in "8/a x" "8/a 0" "8/a 1 2"; do
	runs "\"$bad\"" 1 bash -c 'printf "8/a\n%s\n" "$3" | "$1" plan --history "$2"' - "$POPPA" "$history" "$bad"
	like "\"$bad\": the line and what it should be" "$ERR" '^poppa plan: standard input, line 2: a job is CLASS \[NODES\]'
done
runs "no jobs" 1 bash -c '"$1" plan --history "$2" </dev/null' - "$POPPA" "$history"
is "no jobs: says so" "$ERR" "poppa plan: no job: name one a line, CLASS [NODES]"
runs "a long comment" 0 bash -c '{ printf "8/a\n#" && printf "%02000d 8/b\n" 0; } | "$1" plan --history "$2" --json' - "$POPPA" "$history"
is "is no job" "$(jq -c '[.jobs[].class]' <<<"$OUT")" '["8/a"]'
runs "a folder" 1 "$POPPA" plan --history "$history" --input "$TAP_DIR"
is "is named, with what is wrong" "$ERR" "poppa plan: $TAP_DIR: Is a directory"
runs "a class that is not UTF-8" 0 bash -c 'printf "8/\377\n" | "$1" plan --history "$2" --json' - "$POPPA" "$history"
is "is shown as poppa shows such names" "$(jq -r '.jobs[0].class' <<<"$OUT")" "8/?"
row $'8/\377' $'8/\377' 0.2 >"$TAP_DIR/bytes"
runs "and in the history" 0 "$POPPA" pairs --history "$TAP_DIR/bytes" --json
is "too" "$(jq -r '.pairs[0].class' <<<"$OUT")" "8/?"
runs "jobs that cannot be read" 1 "$POPPA" plan --history "$history" --input "$TAP_DIR/none"
is "they are named" "$ERR" "poppa plan: $TAP_DIR/none: No such file or directory"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod a+rx "$TAP_DIR"
	echo 7/loud >"$TAP_DIR/loud"
	chmod a+r "$history" "$TAP_DIR/loud"
	# Where others may run it.
	cp "$POPPA" "$TAP_DIR/poppa"
	as() { setpriv --reuid "$1" --regid "$1" --clear-groups "$TAP_DIR/poppa" "${@:2}"; }
	runs "another user" 0 as 8 pairs --history "$history" --json
	is "sees one's own classes only" "$(jq -c '[.pairs[] | .class, .beside | split("/")[0]] | unique' <<<"$OUT")" '["8"]'
	{ row 8@lu 7@cg 0.2 && row 7@cg 7@cg 0.2 && row 8@lu 8@lu 0.2; } >"$TAP_DIR/programs"
	chmod a+r "$TAP_DIR/programs"
	runs "programs, of another user" 0 as 8 pairs --history "$TAP_DIR/programs" --json
	is "are their own" "$(jq -c '[.pairs[] | .class, .beside] | unique' <<<"$OUT")" '["8@lu"]'
	chmod a+r "$gains"
	runs "gains, of another user" 0 as 8 pairs --history "$gains" --json
	is "are their own" "$(jq -c '[.classes[].class]' <<<"$OUT")" '["8/a","8/mine","8@alone"]'
	chmod a+r "$costs"
	runs "costs of misses, of another user" 0 as 8 pairs --history "$costs" --json
	is "are their own" "$(jq -c '[.miss_costs[].class]' <<<"$OUT")" '["8/a","8/mine"]'
	runs "and asks for no other" 1 as 8 pairs --history "$history" --class 7/loud
	runs "nor plans with it" 1 as 8 plan --history "$history" --input "$TAP_DIR/loud"
	is "which is said" "$ERR" 'poppa plan: "7/loud" is another user'"'"'s class'
else
	skip "only root can be another user" "another user sees one's own classes only"
fi

# Profiles: two kinds of programs, one of which needs the cache that jobs share. "new" has never met anybody.
kinds=$TAP_DIR/kinds profiles=$TAP_DIR/profiles
for one in a1 a2 b1 b2; do for two in a1 a2 b1 b2; do
	row "8/$one" "8/$two" "$([ "${one%?}" = "${two%?}" ] && echo 0.14 || echo 0)"
done; done >"$kinds"
printf 'Line=64\nReferences=1e6\nInstructions=3e6\nCold=3e3\nBucket0=5e5 10\nBucket14=4.97e5 4e5\n' >"$TAP_DIR/big"
printf 'Line=64\nReferences=1e6\nInstructions=3e6\nCold=0\nBucket0=6e5 10\nBucket1=4e5 50\n' >"$TAP_DIR/small"
for class in a1 a2 b1 b2 new; do
	runs "a profile of $class" 0 "$POPPA" profile --import "8/$class" --profiles "$profiles" \
		"$TAP_DIR/$([[ $class = b* ]] && echo small || echo big)"
done
use=(--profiles "$profiles" --settings stripe_cache=16M)
runs "pairs of a class that has never run" 0 "$POPPA" pairs --history "$kinds" "${use[@]}" --class 8/new --json
is "its profile tells beside whom it loses" \
	"$(jq -c '[.pairs[] | select(.beside != "8/new") | {(.beside): (.expected > 0.12)}] | add' <<<"$OUT")" \
	'{"8/a1":true,"8/a2":true,"8/b1":false,"8/b2":false}'
is "which is not measured" "$(jq -c '[.pairs[].runs] | add' <<<"$OUT")" 0
runs "without profiles" 1 "$POPPA" pairs --history "$kinds" --class 8/new
runs "what was measured well" 0 "$POPPA" pairs --history "$kinds" "${use[@]}" --class 8/a1 --json
is "stays" "$(jq -c '[.pairs[] | select(.runs > 0) | .expected * 100 | round]' <<<"$OUT")" "[14,14,0,0]"
# planned OPTION...: whom the last one of three jobs would share nodes with.
planned() {
	printf '8/%s 4\n' "${jobs[@]}" | "$POPPA" plan --history "$kinds" --json "$@" | jq -r '.jobs[2].beside[0].class // "nobody"'
}
jobs=(b1 b2 new)
is "who is not known has empty nodes" "$(planned)" nobody
is "who has a profile shares with whom it suits" "$(planned "${use[@]}")" 8/b1
jobs=(a1 a2 new)
is "and with no others" "$(planned "${use[@]}")" nobody
# To "new" a miss costs next to nothing, by its nodes.
cheap=$TAP_DIR/cheap
{ cat "$kinds" && printf '#miss\t8/new\t4\t0.8\t0.0001\t4\t0.0001\t1790000000\n'; } >"$cheap"
runs "pairs of a class to which misses cost little" 0 "$POPPA" pairs --history "$cheap" "${use[@]}" --class 8/new --json
is "does not lose where its profile alone tells that it does" \
	"$(jq -c '[.pairs[] | select(.beside != "8/new") | {(.beside): (.expected > 0.12)}] | add' <<<"$OUT")" \
	'{"8/a1":false,"8/a2":false,"8/b1":false,"8/b2":false}'
jobs=(b1 b2 new)
much=(--profiles "$profiles" --settings "stripe_cache=16M,stripe_gain_min=10%")
is "plan has it share where it gains much by that" "$(planned "${much[@]}")" 8/b1
is "and not where its misses tell that it gains little" "$(planned "${much[@]}" --history "$cheap")" nobody
runs "profiles without a cache" 1 "$POPPA" plan --history "$kinds" --profiles "$profiles" --input "$TAP_DIR/jobs"
like "tell how to name it" "$ERR" '^poppa plan: --profiles: .*--settings stripe_cache=SIZE'
runs "profiles that are not there" 1 "$POPPA" pairs --history "$kinds" --profiles "$TAP_DIR/none" --settings stripe_cache=16M
like "are named" "$ERR" "^poppa pairs: --profiles: $TAP_DIR/none: No such file"
runs "a profile of a variant" 1 "$POPPA" profile --import 8/a1+4n --profiles "$profiles" "$TAP_DIR/big"
like "is of the class" "$ERR" "is a variant of a class.*--import '8/a1'"
# Trials: what poppa trial --json has printed becomes a part of what slurmctld, and poppa pairs, go by.
mkdir "$TAP_DIR/state"
trials=$TAP_DIR/state/poppa_trials
two() { printf '{"programs":[{"command":"./a","degradation":%s,"price":{"thesis":1}},{"command":"./b","degradation":%s,"price":{}}],"stp":1.3,"stp_lo":1.2,"stp_hi":1.4,"verdict":"colocate","why":"%s"}' "$1" "$2" "${3:-x}"; }
two '0.12,"lo":0.10,"hi":0.14' '0.3,"lo":0.295,"hi":0.305' >"$TAP_DIR/trial"
# both_of FILE: what it tells, as "CLASS BESIDE MEASURED TRIALS" of each pair, without --history's.
both_of() { "$POPPA" pairs --history "$TAP_DIR/empty" --trials "$1" --json | jq -c '.pairs[] | [.class, .beside, (.measured * 1000 | round), .from_trials, .runs]'; }
runs "import from a file" 0 "$POPPA" pairs --import --trials "$trials" --class 7@lmp --class 8:cfd "$TAP_DIR/trial"
like "says what is in, and how to take it away" "$OUT" '^Trial [0-9a-f]{16} is in\..* --forget [0-9a-f]{16}"'
id=$(cut -d ' ' -f 2 <<<"$OUT")
is "the file is for its owner only" "$(stat -c %a "$trials")" 600
is "both directions are there, in the order of the programs" "$(both_of "$trials")" \
	"$(printf '%s\n' '["7@lmp","8:cfd",120,1,0]' '["8:cfd","7@lmp",300,1,0]')"
cp "$trials" "$TAP_DIR/before"
runs "the same trial again" 0 "$POPPA" pairs --import --trials "$trials" --class 7@lmp --class 8:cfd "$TAP_DIR/trial"
is "counts once" "$OUT" "Trial $id was imported before, and counts once."
runs "the same trial, written otherwise, from standard input" 0 bash -c 'jq .why=2 "$3" | "$1" pairs --import --json --trials "$2" --class 7@lmp --class 8:cfd' - "$POPPA" "$trials" "$TAP_DIR/trial"
is "is the same" "$(jq -c . <<<"$OUT")" "{\"trial\":\"$id\",\"new\":false,\"losses\":2,\"left_out\":0}"
runs "with other classes" 1 "$POPPA" pairs --import --trials "$trials" --class 7@lmp --class 8:other "$TAP_DIR/trial"
like "it is to be taken away first" "$ERR" "^poppa pairs: trial $id was imported with other classes.*--forget $id"
is "and nothing has changed" "$(cmp "$trials" "$TAP_DIR/before" && echo same)" same
runs "another trial of the pair" 0 bash -c '"$1" pairs --import --json --trials "$2" --class 7@lmp --class 8:cfd -' - "$POPPA" "$trials" < <(two '0.16,"lo":0.14,"hi":0.18' 'null,"lo":null,"hi":null')
is "what it does not know is left out" "$(jq -c '[.new, .losses, .left_out]' <<<"$OUT")" '[true,1,1]'
is "with a line" "$ERR" "poppa: ./b beside ./a: the trial does not know what it loses: left out"
is "both trials count" "$(both_of "$trials" | head -n 1)" '["7@lmp","8:cfd",139,2,0]'
runs "pairs with trials" 0 "$POPPA" pairs --history "$history" --trials "$trials"
like "a pair of which a trial tells is marked" "$OUT" $'\n8:cfd +7@lmp +30\\.0% +0 +0\\.2 [^\n]* trial\n'
like "and others are not" "$OUT" $'\n8/mine +8/a +5\\.0% +20 +10\\.0 [^\n]*[0-9]\n'
like "trials stand below, with as how many minutes of a run they count" "$OUT" \
	$'\n\nTRIAL +IMPORTED +CLASS +BESIDE +MEASURED +95% +MINUTES\n'"$id"$' +20[0-9-]+ [0-9:]+ +7@lmp +8:cfd +12\\.0% +10\\.0\\.\\. +14\\.0% +7\\.4\n'"$id"$' [^\n]* 8:cfd +7@lmp [^\n]* 10\\.0\n'
runs "of a class" 0 "$POPPA" pairs --history "$history" --trials "$trials" --class 8:cfd --json
is "only its own" "$(jq -c '[.trials[] | [.class, .beside, .measured, .interval, .seconds > 0]]' <<<"$OUT")" '[["8:cfd","7@lmp",0.3,[0.295,0.305],true]]'
like "plan goes by it" "$("$POPPA" plan --history "$TAP_DIR/empty" --trials "$trials" --json <<<$'7@lmp\n8:cfd' | jq -r '.jobs[1].why')" '7@lmp'
# Runs of jobs count as ever, and where they say otherwise they alone.
{ row 7@lmp 8:cfd 0.9 && row 8:cfd 7@lmp 0.31; } >"$TAP_DIR/ran"
runs "beside runs" 0 "$POPPA" pairs --history "$TAP_DIR/ran" --trials "$trials" --json
is "what contradicts them does not count" "$(jq -c '[.pairs[] | .measured >= 0.3, .from_trials]' <<<"$OUT")" '[true,0,true,1]'
is "and says so" "$(jq -c '[.trials[] | .seconds > 0]' <<<"$OUT")" '[false,true,false]'
# A job's name counts as what such jobs run, once that is known.
runs "import by a job's name" 0 "$POPPA" pairs --import --trials "$TAP_DIR/state/named" --class 7/step-1 --class 8:cfd "$TAP_DIR/trial"
printf '#ran\t7\t1790000000\twrf\tstep-#\n' >"$TAP_DIR/names"
is "is the program's" "$("$POPPA" pairs --history "$TAP_DIR/names" --trials "$TAP_DIR/state/named" --json | jq -c '[.pairs[].class]')" '["7@wrf","8:cfd"]'
runs "import of everybody's class" 0 "$POPPA" pairs --import --trials "$TAP_DIR/state/shared" --class weather --class 8:cfd "$TAP_DIR/trial"
is "says when it counts" "$ERR" 'poppa: "weather" names no user: it is the class of jobs with --colocate=class:weather, and only where stripe_classes=shared is set'
# More programs than two have what pairs of them lose.
three='{"programs":[{"command":"a","degradation":0.4},{"command":"b","degradation":0.5},{"command":"c","degradation":0.6}],"pairs":PAIRS}'
pairs3='[{"programs":[0,2],"degradation":[0.1,null],"lo":[0.1,null],"hi":[0.1,null],"stp":1},{"programs":[1,2],"degradation":[0.2,-0.01],"lo":[0.1,-0.02],"hi":[0.3,0.01],"stp":1},{"programs":[0,1],"degradation":null,"lo":null,"hi":null,"stp":1}]'
runs "import of three" 0 "$POPPA" pairs --import --json --trials "$TAP_DIR/state/three" --class 7@a --class 7@b --class 7@c <<<"${three/PAIRS/$pairs3}"
is "pairs of them are in" "$(both_of "$TAP_DIR/state/three")" \
	"$(printf '%s\n' '["7@a","7@c",100,1,0]' '["7@b","7@c",200,1,0]' '["7@c","7@b",-10,1,0]')"
is "and three are not known" "$(jq .left_out <<<"$OUT"),$(wc -l <<<"$ERR")" 3,3

# refuses NAME STATUS REGEX OPTION...: one line on stderr, and the file stays as it is.
cp "$trials" "$TAP_DIR/before"
refuses() {
	runs "$1" "$2" "$POPPA" pairs --trials "$trials" "${@:4}" <"${INPUT:-/dev/null}"
	like "$1: says what is wrong" "$(tail -n 1 <<<"$ERR")" "^poppa pairs: .*$3"
	is "$1: nothing has changed" "$(cmp "$trials" "$TAP_DIR/before" && echo same)" same
}
classes=(--import --class 7@lmp --class 8:cfd)
refuses "nothing to import" 1 'standard input: line 1: .*give it what "poppa trial --json" prints' "${classes[@]}"
bad_json() { printf '%s' "$1" >"$TAP_DIR/input" && INPUT=$TAP_DIR/input refuses "$1" 1 "standard input: $2" "${classes[@]}"; }
bad_json '{"programs":[' 'line 1: '
bad_json '[1]' 'there is no array "programs"'
bad_json '{"programs":{}}' 'there is no array "programs"'
bad_json '{"programs":[{"degradation":0.1}]}' '"programs" has 1; a trial of 2 to 16'
bad_json '{"programs":[1,2]}' 'programs\[0\] is no object'
bad_json '{"programs":[{},{}]}' 'programs\[0\]: degradation is no number, and not null'
bad_json "$(two '"0.1","lo":0,"hi":1' null)" 'programs\[0\]: degradation is no number'
bad_json "$(two '1.5,"lo":0,"hi":1' null)" 'programs\[0\]: degradation 1.5 is not from -1 to 1'
bad_json "$(two '0.1,"lo":0,"hi":1' '0.1,"lo":0.2,"hi":0.3')" 'programs\[1\]: degradation 0.1 is not from lo, 0.2, to hi, 0.3'
bad_json "$(two '0.1,"lo":0,"hi":1,"lo":2' null)" 'line 1: duplicate'
printf '%s' "$(two 'null,"lo":null,"hi":null' '0.1,"lo":null,"hi":0.2')" >"$TAP_DIR/input"
INPUT=$TAP_DIR/input refuses "a trial that knows nothing" 1 'knows no loss' "${classes[@]}"
like "says of which program it knows no interval" "$ERR" './b beside ./a: the trial does not know how certain its loss is'
three_bad() { printf '%s' "${three/PAIRS/$1}" >"$TAP_DIR/input" && INPUT=$TAP_DIR/input refuses "pairs $1" 1 "standard input: $2" "${classes[@]}"; }
three_bad null '3 programs, and no "pairs"'
three_bad '[{"programs":[0,3],"degradation":[0,0],"lo":[0,0],"hi":[0,0]}]' 'pairs\[0\]: "programs" is not the numbers of two programs, from 0 to 2'
three_bad '[{"programs":[0,0.5]}]' 'pairs\[0\]: "programs" is not'
three_bad '[{"programs":[1,1]}]' 'pairs\[0\]: these are no two programs'
three_bad '[{"programs":[0,1],"degradation":null,"lo":null,"hi":null},{"programs":[1,0],"degradation":null,"lo":null,"hi":null}]' 'pairs\[1\]: .*they were there before'
three_bad '[{"programs":[0,1],"degradation":[0.1],"lo":[0,0],"hi":[0,0]}]' 'pairs\[0\]: .* are not arrays of two'
refuses "too few classes" 1 'the trial has 2 programs, and 1 class is named: .*in this order: ./a, ./b$' --import --class 7@lmp "$TAP_DIR/trial"
refuses "no class" 1 '2 programs, and 0 classes are named' --import "$TAP_DIR/trial"
refuses "too many classes" 1 '2 programs, and 3 classes are named' "${classes[@]}" --class 9 "$TAP_DIR/trial"
for bad in '' '#7' $'7\tb' $'7\033[31m' $'7@\xff' $'7@\xe2\x80\xae' "$(printf 'x%.0s' {1..256})"; do
	refuses "the class $(printf %q "${bad:0:9}")" 2 'is no class: name it as .poppa pairs. does' --import --class 7@lmp --class "$bad" "$TAP_DIR/trial"
done
like "control characters are not shown" "$("$POPPA" pairs --import --class $'7\033[31m' 2>&1)" '"7\?\[31m"'
printf '%s' "$(jq -c '.programs[0].command = "a\u001b[31m\n"' "$TAP_DIR/trial")" >"$TAP_DIR/input"
like "nor those of a command" "$("$POPPA" pairs --import --trials "$trials" --class 7@lmp <"$TAP_DIR/input" 2>&1)" 'order: a\?\[31m\?, ./b$'
refuses "two words" 2 '"y" is too much' "${classes[@]}" x y
refuses "a word without --import" 2 '"x" is too much' --history "$history" x
refuses "two classes without --import" 2 'one class, unless' --history "$history" --class 8/a --class 8/b
refuses "import and forget" 2 'choose one of' "${classes[@]}" --forget "$id"
refuses "import into a history" 2 'do not go with' "${classes[@]}" --history "$history"
refuses "forget with a class" 2 'the trial alone' --forget "$id" --class 7@lmp
refuses "forget what is not there" 1 'there is no trial "0123"' --forget 0123
refuses "a pipe" 1 'fifo is no regular file' "${classes[@]}" "$TAP_DIR/fifo"
refuses "no such file" 1 'none: No such file' "${classes[@]}" "$TAP_DIR/none"
head -c 2000000 /dev/zero | tr '\0' ' ' >"$TAP_DIR/input"
INPUT=$TAP_DIR/input refuses "more than is read" 1 'standard input: File too large' "${classes[@]}"
runs "no folder" 1 "$POPPA" pairs --trials "$TAP_DIR/none/t" "${classes[@]}" "$TAP_DIR/trial"
like "is slurmctld's" "$ERR" "$TAP_DIR/none: No such file.*only slurmctld's host has it"

# A line that cannot be read loses nothing else; nor does a kill, as the file is replaced.
printf '%s\t7:half\t8' "$id" >>"$trials"
runs "forget" 0 "$POPPA" pairs --trials "$trials" --forget "$id"
like "a line that cannot be read is told of" "$ERR" '1 lines could not be read; .*/poppa_trials\.damaged has them'
is "and kept" "$(grep -c 7:half "$trials.damaged")" 1
is "the other trial stays" "$(both_of "$trials")" '["7@lmp","8:cfd",160,1,0]'
runs "the trial that was forgotten, with other classes" 0 "$POPPA" pairs --trials "$trials" --import --class 7@x --class 8:cfd "$TAP_DIR/trial"

# What others may have written is not believed.
chmod 622 "$trials"
cp -p "$trials" "$TAP_DIR/before"
refuses "a file that others may write" 1 'can be written by others' "${classes[@]}" "$TAP_DIR/trial"
refuses "to be shown" 1 'can be written by others' --history "$history"
chmod 600 "$trials"
ln -s "$trials" "$TAP_DIR/state/link"
runs "a link" 1 "$POPPA" pairs --trials "$TAP_DIR/state/link" "${classes[@]}" "$TAP_DIR/trial"
like "is refused" "$ERR" 'it is a link'
if [ "$(id -u)" = 0 ]; then
	chown nobody "$trials"
	refuses "a stranger's file" 1 'belongs to uid [0-9]+, who may not say what jobs lose' "${classes[@]}" "$TAP_DIR/trial"
	chmod a+x "$TAP_DIR"
	chown nobody:nogroup "$TAP_DIR/state"
	# A process that has been another user's may not be traced, and with sanitizers it would trace itself to find leaks.
	runs "import by root into the folder of another user" 0 \
		env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" "$POPPA" pairs --trials "$TAP_DIR/state/own" "${classes[@]}" "$TAP_DIR/trial"
	is "the file is that user's" "$(stat -c %U:%a "$TAP_DIR/state/own")" nobody:600
	if command -v setpriv >/dev/null; then
		cp "$POPPA" "$TAP_DIR/poppa" && chmod 755 "$TAP_DIR" "$TAP_DIR/poppa" && chmod a+r "$TAP_DIR/trial"
		runs "another user" 1 setpriv --reuid 12345 --regid 12345 --clear-groups "$TAP_DIR/poppa" pairs --trials "$TAP_DIR/state/own" "${classes[@]}" "$TAP_DIR/trial"
		like "may not" "$ERR" 'only root and SlurmUser may change it|Permission denied'
	fi
else
	skip "only root can give files away" "a stranger's file"
fi

# As slurmctld's own: where nobody has shared nodes yet there is no history, and trials are shown.
mkdir "$TAP_DIR/bin" "$TAP_DIR/saved"
printf '#!/bin/sh\necho "StateSaveLocation = %s/saved"\n' "$TAP_DIR" >"$TAP_DIR/bin/scontrol"
chmod +x "$TAP_DIR/bin/scontrol"
PATH=$TAP_DIR/bin:$PATH
runs "import for slurmctld" 0 "$POPPA" pairs "${classes[@]}" "$TAP_DIR/trial"
runs "pairs" 0 "$POPPA" pairs --json
is "shows it at once" "$(jq -c '[.pairs[].from_trials]' <<<"$OUT")" '[1,1]'
cp "$history" "$TAP_DIR/saved/poppa_pairs"
chmod 666 "$TAP_DIR/saved/poppa_trials"
runs "pairs with trials that others may write" 0 "$POPPA" pairs --json
is "goes on without, as slurmctld does" "$(jq -c '[.pairs[].from_trials] | max' <<<"$OUT")" 0
like "and says so" "$ERR" 'can be written by others.*: trials are left out'
done_testing
