#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa profile: the histogram of a program whose reuse distances are known, which programs suit one cache, what slurmctld
# keeps of classes, and errors.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}" "${WALK:?is the program to profile}"
needs jq valgrind

lines=3000 times=40
words='walking,the walk'"'"'s own words'

runs "profile" 0 "$POPPA" profile -o "$TAP_DIR/small" -- "$WALK" $lines $times
is "the program's output is untouched, and there is no other" "$OUT,$ERR" "$words"
runs "as text" 0 "$POPPA" profile -- "$WALK" $lines $times
# Addresses differ from run to run, and with them what shares a line.
is "without --output it is on standard output, behind the program's" "$(sed '1d; s/[=:].*//' <<<"$OUT" | head -n 6)" \
	"$(sed 's/[=:].*//' "$TAP_DIR/small" | head -n 6)"
is "at most 20 buckets" "$([ "$(grep -c ^Bucket "$TAP_DIR/small")" -le 20 ] && echo yes)" yes
runs "as JSON" 0 "$POPPA" profile --json -- "$WALK" $lines $times
json=$(sed 1d <<<"$OUT")
# A compiler that does not optimise has references of its own between two lines of the walk.
is "nearly all of the walk comes again when it has seen the other lines" \
	"$(jq "[.buckets[] | select(.from >= 2048 and .from < 32768) | .references] | add >= $lines * ($times - 1)" <<<"$json")" true
is "which is more than at any other distance, but for the shortest" \
	"$(jq '[.buckets[] | select(.from > 0)] | max_by(.references) | .from >= 2048 and .from < 32768' <<<"$json")" true
is "its first round is cold" "$(jq ".cold >= $lines and .cold < $lines * 3" <<<"$json")" true
is "all references are there" "$(jq '([.buckets[].references] | add) + .cold == .references' <<<"$json")" true
is "instructions are, too" "$(jq ".instructions > .references" <<<"$json")" true

runs "more lines than are watched" 0 "$POPPA" profile -o "$TAP_DIR/large" -- "$WALK" 200000 3
runs "--references" 0 "$POPPA" profile --references 200000 --json -o "$TAP_DIR/part" -- "$WALK" $lines 1000000
is "so many are counted, and the program does not go on" "$(sed -n '$p' <<<"$OUT" | jq .references)" 200000

runs "compare" 0 "$POPPA" profile --compare --cache 512 --json "$TAP_DIR/small" "$TAP_DIR/large" "$TAP_DIR/part"
is "all pairs are there, the best one first" \
	"$(jq '(.groups | length) == 3 and (.groups | map(.comb) | . == sort) and .threshold <= .groups[2].comb' <<<"$OUT")" true
is "those that fit are the best" "$(jq -c '.groups[0].files | map(split("/") | last)' <<<"$OUT")" '["small","part"]'
is "nobody is faster beside others" "$(jq '[.groups[].speed[] | . > 0 and . < 1.001] | all' <<<"$OUT")" true
is "a program in a larger cache misses less" "$(jq '.programs | map(.alone) | .[0] < .[1]' <<<"$OUT")" true
runs "three lanes" 0 "$POPPA" profile --compare --lanes 3 "$TAP_DIR/small" "$TAP_DIR/large" "$TAP_DIR/part"
like "a table" "$OUT" 'COMB +AVG +PROGRAMS AND THEIR SPEEDS'

# refuses NAME STATUS REGEX OPTION...: one line on stderr.
refuses() {
	runs "$1" "$2" "$POPPA" profile "${@:4}"
	like "$1: says what is wrong" "$ERR" "^poppa profile: .*$3"
	is "$1: in one line" "$(wc -l <<<"$ERR")" 1
}
refuses "no program" 2 'Name it after --'
refuses "a program that is not there" 1 'none-such is not in PATH' -- none-such
refuses "a file that is none" 1 "$TAP_DIR/small is no program" -- "$TAP_DIR/small"
refuses "a program that fails" 1 'false failed with exit status 1' -- false
refuses "one that is ended" 1 'ended by signal 9' -- sh -c 'kill -9 $$'
refuses "a folder that is not there" 1 "--output: .*$TAP_DIR/none/x" -o "$TAP_DIR/none/x" -- true
refuses "too few references" 2 '--references' -n 0 -- true
refuses "compare and run" 2 'leave --output and --references out' --compare -o x -- "$TAP_DIR/small"
refuses "compare nothing" 2 'which histograms' --compare
refuses "one program on two lanes" 1 'groups of 2 out of 1' --compare "$TAP_DIR/small"
refuses "no file" 1 "$TAP_DIR/none" --compare "$TAP_DIR/none" "$TAP_DIR/small"
echo "Line=32" >"$TAP_DIR/bad"
refuses "a bad file" 1 "$TAP_DIR/bad, line 1: .*64 bytes" --compare "$TAP_DIR/bad" "$TAP_DIR/small"
head -c 100000 /dev/zero >"$TAP_DIR/long"
# What slurmctld keeps of classes.
kept=$TAP_DIR/kept/poppa_profiles
mkdir "$TAP_DIR/kept"
runs "no profile yet" 0 "$POPPA" profile --list --profiles "$kept"
is "says so" "$OUT" "No class has a profile."
runs "import" 0 "$POPPA" profile --import 7:small --profiles "$kept" "$TAP_DIR/small"
is "is silent" "$OUT$ERR" ""
runs "import of another" 0 "$POPPA" profile --profiles "$kept" --import 7@large "$TAP_DIR/large"
runs "a class again" 0 "$POPPA" profile --import 7:small --profiles "$kept" "$TAP_DIR/part"
runs "list" 0 "$POPPA" profile --list --profiles "$kept"
like "a line each, and a heading" "$OUT" $'^CLASS [^\n]*\n7:small +20[0-9-]+ [0-9:]+ +[0-9.e+]+ +[01]\\.[0-9]+ +[0-9.]+%\n7@large [^\n]*$'
runs "list --json" 0 "$POPPA" profile --list --json --profiles "$kept"
is "the latest histogram of a class is its own" "$(jq -c '.profiles[] | select(.class == "7:small") | .references' <<<"$OUT")" 200000
is "and it is known since when" "$(jq ".profiles | map(.imported) | min > $(date +%s) - 300" <<<"$OUT")" true
refuses "remove what is not there" 1 'the class "7:none" has no profile' --remove 7:none --profiles "$kept"
printf '7:half\t5\tLine=64\tRef' >>"$kept"
runs "remove" 0 "$POPPA" profile --remove 7:small --profiles "$kept"
like "a line that cannot be read is told of" "$ERR" '1 lines could not be read; .*/poppa_profiles\.damaged has them'
is "and kept" "$(grep -c ^7:half "$kept.damaged")" 1
is "the other class stays" "$("$POPPA" profile --list --json --profiles "$kept" | jq -c '[.profiles[].class]')" '["7@large"]'
cp "$kept" "$TAP_DIR/before"
for bad in $'7:bad\tclass' $'7:bad\001class' $'7:bad\nclass'; do
	refuses "the class $(printf %q "$bad")" 2 'has a control character: name the class as .poppa pairs. does' \
		--import "$bad" --profiles "$kept" "$TAP_DIR/small"
done
refuses "import of a bad histogram" 1 "$TAP_DIR/none: " --import 7:x --profiles "$kept" "$TAP_DIR/none"
refuses "a bad class" 1 '"#x" is no class: name it as "poppa pairs" does' --import '#x' --profiles "$kept" "$TAP_DIR/small"
refuses "a folder that there is not" 1 "$TAP_DIR/none: No such file.*only slurmctld's host has it" --import 7:x --profiles "$TAP_DIR/none/p" "$TAP_DIR/small"
refuses "import without a file" 2 'which histogram' --import 7:x --profiles "$kept"
refuses "import of two" 2 'which histogram' --import 7:x --profiles "$kept" "$TAP_DIR/small" "$TAP_DIR/large"
refuses "list with a word" 2 '"x" is one word too many' --list --profiles "$kept" x
refuses "import and compare" 2 'choose one of' --import 7:x --compare "$TAP_DIR/small"
refuses "import and run" 2 'no program is run' --import 7:x -n 5 "$TAP_DIR/small"
refuses "--profiles alone" 2 'goes with --import' --profiles "$kept" -- true
refuses "--json with --remove" 2 'goes with --list' --json --remove 7@large --profiles "$kept"
is "nothing of that has changed the file" "$(cmp "$kept" "$TAP_DIR/before" && echo same)" same
if [ "$(id -u)" = 0 ]; then
	chmod a+x "$TAP_DIR"
	chown nobody:nogroup "$TAP_DIR/kept"
	rm "$kept"
	# A process that has been another user's may not be traced, and with sanitizers it would trace itself to find leaks.
	runs "import by root into the folder of another user" 0 \
		env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" "$POPPA" profile --import 7:small --profiles "$kept" "$TAP_DIR/small"
	is "the file is that user's" "$(stat -c %U:%a "$kept")" nobody:600
	# The owner leads root to a file that root may read by a group that the owner is not in.
	install -m 640 -g 4711 "$kept" "$TAP_DIR/secret"
	ln -sf ../secret "$kept"
	runs "import where a link leads to what the owner may not read" 1 setpriv --groups 0,4711 \
		env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" "$POPPA" profile --import 7:other --profiles "$kept" "$TAP_DIR/small"
	like "root has left its own groups" "$ERR" "cannot (open|read) $kept: Permission denied"
else
	skip "only root can give a folder away" "import where a link leads to what the owner may not read"
	skip "only root can give a folder away" "root has left its own groups"
	skip "only root can give a folder away" "import by root into the folder of another user"
	skip "only root can give a folder away" "the file is that user's"
fi
fix='write one with: poppa profile --output FILE -- PROGRAM'
refuses "noise" 1 "$TAP_DIR/long is no histogram, which has [0-9]* bytes at most: $fix" --compare "$TAP_DIR/long" "$TAP_DIR/small"
refuses "a bad file, with the fix" 1 "$TAP_DIR/bad, line 1: .*$fix" --compare "$TAP_DIR/bad" "$TAP_DIR/small"
mkfifo "$TAP_DIR/fifo"
for one in "--compare $TAP_DIR/fifo $TAP_DIR/small" "--import 7:x --profiles $TAP_DIR/profiles $TAP_DIR/fifo" "--list --profiles $TAP_DIR/fifo"; do
	# shellcheck disable=SC2086 # words
	runs "a pipe: $one" 1 timeout 20 "$POPPA" profile $one
	like "is refused" "$ERR" "^poppa profile: $TAP_DIR/fifo is no regular file"
done
refuses "a file that is too long" 1 "$TAP_DIR/long" --compare "$TAP_DIR/long" "$TAP_DIR/small"
mkdir "$TAP_DIR/bin"
without=$(PATH=$TAP_DIR/bin "$POPPA" profile -- "$WALK" 1 1 2>&1)
is "without valgrind the package is named" "$without" \
	"poppa profile: valgrind is not in PATH: install the package valgrind"
done_testing
