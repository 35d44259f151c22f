#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa trial: programs whose losses are known, on a machine that may be busy: they sleep. And errors.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}" "${BEATS:?is the program to try}"
needs jq
[ "$(nproc)" -ge 2 ] || skip_all "one core has no two lanes"

line=$TAP_DIR/line
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)

# between NAME JSON PATH LOW HIGH
between() {
	local v
	v=$(jq "$3" <<<"$2")
	cmp_num "$1 ($v)" "$v" '>=' "$4"
	cmp_num "$1, from above" "$v" '<=' "$5"
}

# --- a counter: 4 times as slow together, so 0.5 times the work ---
runs "beside itself" 0 trial --time 12 --rounds 3 --json --html "$TAP_DIR/page.html" -- "$BEATS" "$line" 0 4 -- "$BEATS" "$line" 1 4
json=$OUT
is "it is silent but for the result" "$ERR" ""
between "it loses three quarters" "$json" '.programs[0].degradation' 0.6 0.85
between "so does the other" "$json" '.programs[1].degradation' 0.6 0.85
is "by its own beats" "$(jq -c '[.programs[].counter]' <<<"$json")" '["heartbeat","heartbeat"]'
between "the node does half of the work" "$json" .stp 0.35 0.75
is "within its interval" "$(jq '.stp_lo <= .stp and .stp <= .stp_hi' <<<"$json")" true
is "the programs', too" "$(jq 'all(.programs[]; .lo <= .degradation and .degradation <= .hi)' <<<"$json")" true
like "the verdict is no advice to do it" "$(jq -r .verdict <<<"$json")" '^(do-not|uncertain)$'
like "and says why" "$(jq -r .why <<<"$json")" 'the node does (only )?0\.[3-7]|other processes used'
is "what it would pay falls with what it loses" \
	"$(jq '.programs[0] | (.price.solo - (1 - .degradation) | fabs) < 0.001 and .price.thesis < .price.solo and .price.none == 1' <<<"$json")" true
is "there are three rounds of the one pair" "$(jq -c '[.rounds, (.pairs | length), (.pairs[0].rounds | length)]' <<<"$json")" '[3,1,3]'
is "each with the rates of compact, alone and together" "$(jq '[.pairs[0].rounds[].rate[] | length] | all(. == 3)' <<<"$json")" true
like "the page is there" "$(head -c 15 "$TAP_DIR/page.html")" '<!DOCTYPE html>'
is "nothing is left" "$(left)" 0

between "what others used of the cores is told" "$json" .others 0 1
is "and where it is much, nothing is certain" "$(jq '.others <= 0.1 or .verdict == "uncertain"' <<<"$json")" true

# --- complete runs ---
runs "two that sleep" 0 trial --time 8 --rounds 3 -- sleep 0.3 -- sh -c 'sleep 0.2'
if grep -q '^verdict: not certain: other processes' <<<"$OUT"; then
	skip "others used the cores" "they gain all that there is"
	skip "others used the cores" "a sleeper loses nothing"
else
	like "they gain all that there is" "$OUT" 'together (5[5-9]|6[0-9]) min: (1\.[89]|2\.[01])[0-9]* times the work of this node \('
	like "a sleeper loses nothing" "$OUT" 'sleep 0\.3 loses -?[0-9]\.[0-9] % \(-?[0-9.]+ to -?[0-9.]+\); would pay thesis (1\.00|0\.9[0-9])'
fi
like "the verdict is last" "$(tail -n 1 <<<"$OUT")" '^verdict: (co-locate: together the node does [12]\.[0-9]+ times the work|not certain: other processes used [1-9][0-9]+ % of the cores)'
is "on one screen" "$([ "$(wc -l <<<"$OUT")" -le 24 ] && echo yes)" yes

# Runs of two beside each other take some 0.9 s in place of 0.3 s.
runs "many runs in a phase" 0 trial --time 12 --rounds 3 --json -- "$BEATS" "$line" 0 3 300 -- "$BEATS" "$line" 1 3 300
is "complete runs count, and their loss is by their counter's name or by runs" "$(jq -c '[.programs[].counter]' <<<"$OUT")" '["heartbeat","heartbeat"]'
between "most of what a program does is lost" "$OUT" '[.programs[].degradation] | add / 2' 0.45 0.8
between "and with it the work of the node" "$OUT" .stp 0.4 1

runs "a line for the shell" 0 trial --time 4 --rounds 1 --json -- 'sleep 0.1; sleep 0.1' -- sleep 0.2
is "is named as it was written" "$(jq -r '.programs[0].command' <<<"$OUT")" 'sleep 0.1; sleep 0.1'
is "one round is never certain" "$(jq -c '[.verdict, .stp_lo, .stp_hi]' <<<"$OUT")" '["uncertain",null,null]'
like "which is said" "$(jq -r .why <<<"$OUT")" 'one round .*--rounds'

# --- three programs ---
runs "three programs" 0 trial --time 12 --rounds 2 --json -- "$BEATS" "$line" 0 8 -- "$BEATS" "$line" 1 8 -- sleep 0.2
is "all pairs are tried" "$(jq -c '[.pairs[].programs]' <<<"$OUT")" '[[0,1],[0,2],[1,2]]'
is "two of them are together and one is alone" "$(jq -c '[.best[] | length] | sort' <<<"$OUT")" '[1,2]'
is "and not those that slow each other down" "$(jq '.best | index([[0,1]])' <<<"$OUT")" null
between "which gains" "$OUT" .stp 1.1 2.2
runs "as text" 0 trial --time 3 --rounds 1 -- sleep 0.1 -- sleep 0.2 -- sleep 0.15
like "which are best together" "$OUT" 'best together: sleep 0\.[0-9]+ and sleep 0\.[0-9]+'

# --- what is not known ---
runs "no counter and no end" 0 trial --time 4 --rounds 2 --json -- "$BEATS" "$line" 0 1 0 -- sleep 0.2
is "there is no figure" "$(jq -c '[.stp, .stp_lo, .programs[0].degradation, .programs[0].counter, .verdict]' <<<"$OUT")" '[null,null,null,null,"uncertain"]'
like "and the reason is given" "$(jq -r .why <<<"$OUT")" 'not known: no run of .*beats.* has ended within [0-9.]+ s, and it has no counter: give more --time'
runs "one that no library may be preloaded to" 0 trial --time 4 --rounds 1 --json -- sh -c "[ -z \"\$LD_PRELOAD\" ] || exit 3; exec $BEATS $line 0 1 0" -- sleep 0.2
is "is measured without" "$(jq -c '[.stp, .verdict]' <<<"$OUT")" '[null,"uncertain"]'
is "what no data cost nobody knows" "$(jq -c '[.programs[0].price[]] | unique' <<<"$OUT")" '[null]'
runs "a name that is cut within a character" 0 trial --time 4 --rounds 1 --json -- sh -c "sleep 9 # $(printf 'é%.0s' $(seq 60))" -- sh -c "sleep 9 #$(printf 'é%.0s' $(seq 60))"
like "is still a text" "$(jq -r '.programs[].note' <<<"$OUT")" 'é.* has ended within'
runs "short processes that publish their progress" 0 trial --time 8 --rounds 2 --json -- sh -c "while :; do $BEATS $line 2 1 150; done" -- sleep 0.2
is "are seen too late to be counted" "$(jq -c '[.stp, .verdict]' <<<"$OUT")" '[null,"uncertain"]'
is "nothing is left of all these" "$(left)" 0

# --- the programs' surroundings ---
cat >"$TAP_DIR/surroundings" <<-'END'
	#!/bin/sh
	{ grep Cpus_allowed_list "/proc/$$/status"; echo "$SLURM_CPU_BIND $OMPI_MCA_hwloc_base_binding_policy $SLURM_EXPORT_ENV"; } >>"$0.$1"
	read -r line && echo "$line" >>"$0.$1"
	echo noise; echo noise >&2
	setsid sleep 0.3
END
chmod +x "$TAP_DIR/surroundings"
runs "what programs see" 0 trial --time 3 --rounds 1 --json -- "$TAP_DIR/surroundings" a -- "$TAP_DIR/surroundings" b
is "their output is not shown" "$ERR" ""
is "launchers are told not to bind" "$(grep -v Cpus "$TAP_DIR/surroundings.a" | sort -u)" "none none ALL"
if [ "$(nproc)" = 2 ]; then
	is "compact it has both cores, on a lane one" "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$TAP_DIR/surroundings.a" | sort -u | tr '\n' ' ')" "0 $cpus "
	is "the other has the other one" "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$TAP_DIR/surroundings.b" | sort -u | tr '\n' ' ')" "$cpus 1 "
else
	skip "more than two cores have other lanes" "which cores programs get"
fi

# --- errors ---
# refuses NAME STATUS REGEX ARG...
refuses() {
	runs "$1" "$2" trial "${@:4}"
	like "$1: what is wrong" "$ERR" "$3"
	is "$1: in one line, and no result" "$(wc -l <<<"$ERR"),$OUT" "1,"
}
refuses "no command" 2 'Name two: poppa trial -- \./a -- \./b$'
refuses "one command" 2 'only one program: name a second' -- true
refuses "no dashes" 2 'write -- before each command' true
refuses "an empty command" 2 'a command is empty' -- true -- -- true
refuses "nine commands" 2 'more than 8 commands' -- a -- a -- a -- a -- a -- a -- a -- a -- a
refuses "one lane" 2 '\-\-lanes' --lanes 1 -- true -- true
refuses "no time" 2 '\-\-time' --time 0 -- true -- true
refuses "no rounds" 2 '\-\-rounds' --rounds x -- true -- true
refuses "a page that cannot be written" 1 'cannot write /nonexistent/page' --html /nonexistent/page -- true -- true
refuses "a page that is a directory" 1 'is a directory' --html "$TAP_DIR" -- true -- true
refuses "two results in one stream" 2 'name a file$' --json --html - -- true -- true
refuses "no such program" 1 'cannot run ./nothing: No such file' --time 4 -- ./nothing -- true
refuses "one that fails" 1 'sh -c echo why it did >&2; exit 3 failed with exit status 3: why it did$' --time 4 -- sh -c 'echo why it did >&2; exit 3' -- true
refuses "one that dies" 1 'was ended by signal 9, Killed' --time 4 -- true -- sh -c 'kill -9 $$'
refuses "a hostile message" 1 'status 1: \?\[31mred' --time 4 -- true -- sh -c 'printf "\033[31mred" >&2; exit 1'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	runs "without rights" 0 setpriv --reuid 65534 --regid 65534 --clear-groups "$POPPA" trial --time 2 --rounds 1 --json -- sleep 0.2 -- sleep 0.2
	is "it measures all the same" "$(jq '.stp > 1.5' <<<"$OUT")" true
else
	skip "only root can become another user" "without rights"
fi
runs "with nothing in PATH but the basics" 0 env -i PATH=/usr/bin:/bin "$POPPA" trial --time 2 --rounds 1 --json -- sleep 0.2 -- sleep 0.2
runs "one core" 1 taskset -c "${cpus%%[,-]*}" "$POPPA" trial --time 4 -- true -- true
is "one core: what is wrong, and what to do" "$ERR" "poppa trial: 2 lanes need 2 cores of one socket, and this process may use fewer: allow it more (salloc, taskset), run it on another node"
done_testing
