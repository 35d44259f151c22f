#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page of poppa trial: what it says of results made up here, and that nothing in them can harm it.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

: "${WRITE_TRIAL_PAGE:?writes the page of a trial}"
needs jq
python=$(python_with html) || skip_all "there is no python3"
export TZ=UTC

# page NAME FILE [FILTER]: the page of that result, or of what jq makes of it, into $PAGE.
page() {
	jq "${3:-.}" "$2" >"$TAP_DIR/result.json"
	runs "$1: is written" 0 "$WRITE_TRIAL_PAGE" "$TAP_DIR/result.json"
	PAGE=$OUT
	cp "$TAP_DIR/out" "$TAP_DIR/page.html"
	is "$1: silent" "$ERR" ""
	like "$1: whole, alone, named and readable" "$("$python" "$here/page_check.py" "$TAP_DIR/page.html" 2>&1)" '^good: '
	unlike "$1: no figure is nonsense" "$PAGE" '"-?(nan|inf)|[ >]-?(nan|inf)[ <]|[^0-9]-0[.]0* |="-"'
}

page "co-locate" "$here/trial_colocate.json"
like "co-locate: the answer" "$PAGE" '<div class="verdict good">.<h1>Co-locate</h1>'
like "co-locate: why" "$PAGE" '<p>Together they make 30 % more work'
like "co-locate: an hour of work of each" "$PAGE" '120 min</span>, together <span class="nowrap">92 min</span>: <strong>1[.]30 times the work of this node'
like "co-locate: what it saves" "$PAGE" '<dt>Node-hours saved</dt><dd>23[.]1 %</dd>'
like "co-locate: what a program loses and pays" "$PAGE" '<td>11[.]6 %</td><td class="soft"><span class="nowrap">10[.]8 % to</span> <span class="nowrap">12[.]4 %</span></td>.<td>0[.]78</td>.<td>0[.]88</td>.<td>1[.]00</td>.<td class="text">heartbeat</td>'
like "co-locate: loss by co-runner" "$PAGE" '>B beside A</text>'
is "co-locate: a mark for each figure of a round" "$(grep -c '<title>round ' <<<"$PAGE")" $((6 * 7))
unlike "co-locate: two programs need no map" "$PAGE" 'All pairs'

page "do not" "$here/trial_do_not.json"
like "do not: the answer" "$PAGE" '<div class="verdict bad">.<h1>Do not <span class="nowrap">co-locate</span></h1>'
like "do not: what sharing would cost" "$PAGE" '<dt>More node-hours for the same work</dt><dd>23[.]2 %</dd>'
unlike "do not: saves nothing" "$PAGE" 'Node-hours saved'
like "do not: an axis does not round its numbers" "$PAGE" '>0[.]775</text>.*>1[.]000</text>'

page "uncertain" "$here/trial_uncertain.json"
like "uncertain: the answer" "$PAGE" '<div class="verdict open">.<h1>Not certain</h1>'
like "uncertain: no time" "$PAGE" 'how long they take together is not known'
like "uncertain: the note" "$PAGE" '<span class="note">nothing counts its progress: perf_event_paranoid is 4'
like "uncertain: a price that is not known" "$PAGE" '<td class="none">not known</td>'
like "uncertain: a plot without figures" "$PAGE" '<h2>Work of the node by pair</h2>.<p>not known</p>'
page "wide interval" "$here/trial_colocate.json" '.verdict = "uncertain"'
like "wide interval: more rounds help" "$PAGE" '<h1>Not certain: run the trial longer</h1>'

page "four" "$here/trial_four.json"
like "four: best pairing" "$PAGE" '<p>A and C together: 1[.]23 times the work.*<p>B and D together: 1[.]13 times'
is "four: the map shows it" "$(grep -c '<td class="[a-z0-9]* best" title="[ABCD] and [ABCD]: ' <<<"$PAGE")" 4
like "four: a pair that is not known" "$PAGE" '<td>not known</td>'
is "four: a line for each co-runner" "$(grep -c ' beside .</text>' <<<"$PAGE")" 12
is "four: no text of a user is a tag" "$(grep -c -i -E '<(script|b|i)>' <<<"$PAGE")" 0
like "four: it is shown as a text" "$PAGE" '<bdi>&lt;script&gt;alert\(1\)&lt;/script&gt; &amp; &quot;quotes&quot;'
like "four: what looks like the template's tags stays" "$PAGE" '<bdi>\./\{\{version\}\} \{\{#programs\}\} %s%n &lt;/title&gt;'
is "four: no control characters, no change of direction" "$(LC_ALL=C grep -c -a -e $'\033' -e $'\a' -e $'\xe2\x80\xae' <<<"$PAGE")" 0
cmp_num "four: the longest command is shortened" "$(grep -o '<bdi>[^<]*</bdi>' <<<"$PAGE" | sed 's/&[a-z0-9#]*;/x/g' | LC_ALL=C.UTF-8 awk '{ if (length > most) most = length } END { print most }')" '<=' $((90 + 11))

# widest: how far a plot's lines and marks go.
widest() {
	grep -o -E ' (x|x1|x2|cx)="[^"]*"' <<<"$PAGE" | tr -d '"' | cut -d = -f 2 | sort -g | sed -n '1p;$p' | tr '\n' ' '
}
page "an absurd interval" "$here/trial_colocate.json" '.pairs[0] += {stp_lo: -80, stp_hi: 1e6, lo: [-50, -1e9], hi: [1e300, 40]}'
like "an absurd interval: stays within the plot" "$(widest)" '^[0-9.]+ [1-8]?[0-9]{2}([.][0-9]+)? $'
page "no loss at all" "$here/trial_colocate.json" '.programs[0] += {degradation: 0, lo: -0.0004, hi: 0.0004}'
like "no loss at all: is known" "$PAGE" '<td>0[.]0 %</td><td class="soft"><span class="nowrap">0[.]0 % to</span>'
page "one round" "$here/trial_colocate.json" '.pairs[0].rounds |= .[:1]'
page "many rounds" "$here/trial_colocate.json" '.pairs[0].rounds |= [range(40) as $i | .[]]'
is "many rounds: the plot has the first hundred" "$(grep -c '<title>round ' <<<"$PAGE")" 700
page "many programs" "$here/trial_colocate.json" '.programs |= [range(28) as $i | .[0]] | .best = [range(28) | [.]] | .pairs[0].programs = [0, 27]'
like "many programs: names beyond Z" "$PAGE" '>A and P28</text>'
like "many programs: the map says what it shows" "$PAGE" 'Of the first 14 programs'
page "a pair of nobody" "$here/trial_colocate.json" '.pairs += [.pairs[0] + {programs: [0, 7]}, .pairs[0] + {programs: [-1, 1]}, .pairs[0] + {programs: "x"}, 3]'
is "a pair of nobody: is left out" "$(grep -c '<th scope="row"><span class="nowrap">A and ' <<<"$PAGE")" 7
page "nothing" "$here/trial_colocate.json" '{}'
page "nothing of two programs" "$here/trial_colocate.json" '{programs: [{}, {}], pairs: [{programs: [0, 1]}]}'
like "nothing of two programs: says so" "$PAGE" 'not known'
page "other types" "$here/trial_colocate.json" 'map_values(if type == "string" then 1 elif type == "number" then "<b>" else . end) | .programs[0] = 3 | .pairs[0].rounds = [3, {rate: 5}, {rate: [[1, "<b>"]]}] | .best = 5'
is "other types: no tag" "$(grep -c '<b>' <<<"$PAGE")" 0

runs "a full disk" 1 bash -c '"$0" "$1" >/dev/full' "$WRITE_TRIAL_PAGE" "$here/trial_four.json"
# The check of colours sees the verdict's and the lanes'.
sed 's/--good:#[0-9a-f]*/--good:#9f9/; s/[.]lane0{fill:#[0-9a-f]*/.lane0{fill:#456/' "$TAP_DIR/page.html" >"$TAP_DIR/bad.html"
bad=$("$python" "$here/page_check.py" "$TAP_DIR/bad.html" 2>&1)
like "the check sees a verdict that is hard to read" "$bad" 'light: good on stripe'
like "the check sees a lane that is hard to read" "$bad" 'light: text on lane0'
done_testing
