#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa report: sums, CSV, JSON and the page, from rows that sacct printed.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
here=$(dirname "$0")
rows=$here/bills.txt
export TZ=UTC
"$here/../gen/bills_gen" 2000 >"$TAP_DIR/many.txt"

# sums FILE: runs, raw and charged billing times seconds of the co-located jobs, added up by awk.
sums() {
	awk -F'|' 'NR > 1 && $15 ~ /(colocate|poppa): / {
		split($13, t, /[=,]/); split($15, raw, / raw=/)
		n++; charged += t[2] * $12; all += (raw[2] ? raw[2] + 0 : t[2]) * $12
	} END { printf "%d %.0f %.0f\n", n, all, charged }' "$1"
}

needs jq
for file in "$rows" "$TAP_DIR/many.txt"; do
	for by in user job account partition qos program day; do
		runs "by $by" 0 "$POPPA" report --input "$file" --by $by --json
		is "by $by: silent on stderr" "$ERR" ""
		is "by $by: totals" "$(jq -r '.total | "\(.jobs) \(.raw) \(.charged)"' <<<"$OUT")" "$(sums "$file")"
		if [ $by = job ]; then
			is "by job: lines add up" "$(jq -r '[.groups[] | .charged * .elapsed_s] | add' <<<"$OUT")" \
				"$(jq -r .total.charged <<<"$OUT")"
		else
			is "by $by: lines add up" "$(jq -r '[.groups[] | .charged] | add' <<<"$OUT")" \
				"$(jq -r .total.charged <<<"$OUT")"
		fi
	done
	is "bars over time add up, without what still runs" "$(jq -r '[.slots[].charged] | add' <<<"$OUT")" \
		"$(jq -r '.total.charged - ([.groups[] | select(.name == "running") | .charged] | add // 0)' <<<"$OUT")"
done
runs "small" 0 "$POPPA" report --input "$rows" --json
is "counts" "$(jq -c '.total | [.jobs, .priced, .no_data, .unsettled, .open]' <<<"$OUT")" "[17,12,3,1,1]"
is "jobs that did not opt in" "$(jq .others <<<"$OUT")" 1
is "reasons" "$(jq -c '[.nodata[] | [.reason, .jobs]]' <<<"$OUT")" '[["no-record",1],["no-time",1],["too-few-blocks",1]]'
is "pairs by program" "$(jq -c '.pairs[] | select(.program == "lammps" and .partner == "gromacs|x") | [.runs, .beside_s, .degradation]' <<<"$OUT")" \
	"[1,600,0.2]"
is "who suffers beside whom" "$(jq -c '.programs[] | select(.name == "gromacs") | [.suffered, .caused]' <<<"$OUT")" "[0.3,0.3]"
is "prices in units of the solo price" "$(jq -c '.programs[] | select(.name == "none") | [.practice[2], .thesis[2], .ours[2]] | map(. * 1000 | round)' <<<"$OUT")" \
	"[1347,750,1333]"

runs "text" 0 "$POPPA" report --input "$rows"
like "text: a line a user" "$OUT" $'\n''ada +15 +3 +0\.4 '
like "text: all" "$OUT" 'all co-located jobs +17 +3 .* 20\.7 %'
like "text: no data" "$OUT" 'No discount for want of data: no-record \(1 job,'
like "text: without a price" "$OUT" 'Without a price yet: 1 ended, 1 not ended\.'
runs "by job, text" 0 "$POPPA" report --input "$rows" --by job
like "by job: why a job has no discount" "$OUT" $'\n''20 +ada +short .* too-few-blocks'
is "no control characters" "$(LC_ALL=C tr -d '\n\40-\176' <<<"$OUT" | wc -c)" 0
runs "many, text" 0 "$POPPA" report --input "$TAP_DIR/many.txt" --by program
like "against plain runs" "$OUT" 'Against plain runs, [0-9]+ pairs made in the time that they shared: STP 0\.[89][0-9]+, SEE 1\.[0-9]+\.'

# Against plain runs: by hand from plain_runs.txt, in which md-1 takes 500 s and md-7 to md-12 took 560 s at the median.
plain=$here/plain_runs.txt
runs "plain runs, by job" 0 "$POPPA" report --input "$plain" --by job
like "plain runs: what a job made" "$OUT" $'\n''101 +root +md-1 .* 1\.120  priced'
like "plain runs: one that is uncertain" "$OUT" $'\n''105 +root +wx .* 1\.100[?] priced'
like "plain runs: one that cannot be compared" "$OUT" $'\n''104 +root +new .* -  priced'
like "plain runs: a pair, without its energy" "$OUT" 'Against plain runs, 2 pairs made in the time that they shared: STP 1\.1[0-9]+, SEE -\.'
like "plain runs: why others have no figure" "$OUT" 'No certain figure against plain runs: apart \(1 job\), one-run \(1 job\), part-of-nodes \(1 job\), no-run \(1 job\), other-cpus \(1 job\), not-completed \(1 job\)'
runs "plain runs, --json" 0 "$POPPA" report --input "$plain" --by job --json
is "plain runs: the evidence" "$(jq -c '.groups[] | select(.job == 101) | .compact | [.progress, .plain_runs, .plain_s, (.apart * 1000 | round), .doubt]' <<<"$OUT")" '[1.12,3,560,27,""]'
is "plain runs: no figure, and why" "$(jq -c '[.groups[] | select(.job == 109 or .job == 110) | .compact | [.progress, .doubt]]' <<<"$OUT")" '[[null,"not-completed"],[null,"other-cpus"]]'
# (1.12 + 1.10 * 0.88 / 0.90) / 2: the second one was alone for a sixth of its time.
is "plain runs: a pair in the time that it shared" "$(jq -c '[.gains.list[] | select(.class == "root/cfd" and .beside == "root/md-1") | (.measured * 10000 | round), .pairs, .expected]' <<<"$OUT")" '[10978,1,null]'
is "plain runs: an uncertain pair stands apart" "$(jq -c '[.gains.list[] | select(.beside == "root:weather") | .measured, .uncertain, .uncertain_pairs]' <<<"$OUT")" '[null,1.375,1]'
is "plain runs: sums leave it out" "$(jq -c '[.total.compared, .compact.pairs, .compact.unsure]' <<<"$OUT")" '[7,2,1]'
runs "plain runs, csv" 0 "$POPPA" report --input "$plain" --by job --csv
like "plain runs, csv: columns" "$OUT" ',charged,progress,plain_runs,apart,doubt,degradation,'
like "plain runs, csv: a job" "$OUT" ',1000,1000,1\.12,3,0\.0267857,,0\.1,'

# What is expected comes from a pair history, of which the file's owner sees all.
history=$TAP_DIR/poppa_pairs
while read -r class beside d; do
	printf '%s\t%s\t%s\t40000\t20\t1790000000\t20\t%s\t0.0001\n' "$class" "$beside" "$d" "$d"
done >"$history" <<-END
	0/md-# 0/cfd 0.1
	0/cfd 0/md-# 0.2
	0/md-# 0/md-# 0.3
	0/cfd 0/cfd 0.4
	0:weather 0/cfd 0.2
	0/cfd 0:weather 0.2
	4000000000/<i>&' 0/cfd 0.2
END
runs "expected" 0 "$POPPA" report --input "$plain" --history "$history" --json
is "expected: beside what was measured" "$(jq -c '[.gains.list[] | select(.class == "root/cfd" and .beside == "root/md-1") | (.measured * 100 | round), (.expected > 1.1)]' <<<"$OUT")" '[110,true]'
is "expected: of the class of --colocate" "$(jq -c '[.gains.list[] | select(.class == "root/cfd" and .beside == "root:weather") | .uncertain, (.expected > 1)]' <<<"$OUT")" '[1.375,true]'
is "expected: of a class that no bill has" "$(jq -c '[.gains.list[] | select(.class == "root/cfd" and (.beside | startswith("4000000000"))) | .pairs, (.expected > 0)]' <<<"$OUT")" '[0,true]'
is "expected: as poppa pairs has it" \
	"$(jq '.gains.list[] | select(.class == "root/cfd" and .beside == "root/md-1") | .expected * 10000 | round' <<<"$OUT")" \
	"$("$POPPA" pairs --history "$history" --class 0/cfd --json | jq '.pairs[] | select(.beside == "0/md-#") | .both * 10000 | round')"
runs "map of gains" 0 "$POPPA" report --input "$plain" --history "$history" --html "$TAP_DIR/map.html"
page=$(cat "$TAP_DIR/map.html")
like "map of gains: measured" "$page" '<text class="middle gain measured" [^>]*>\+10</text>'
like "map of gains: uncertain" "$page" '<text class="middle gain measured" [^>]*>\+38[?]</text>'
like "map of gains: expected" "$page" '<rect class="gain[123] expected"[^>]*/>'
like "map of gains: the evidence of a cell" "$page" '<title>root/cfd beside root/md-1: measured 1\.098 \(1 pair\), uncertain - \(0 pairs\), 0\.1 hours shared</title>'
like "map of gains: names are escaped" "$page" '<th scope="row">eve/&lt;b&gt;&amp;</th>'
is "map of gains: and nowhere raw" "$(grep -c -e '<b>&' -e '<i>&' <<<"$page")" 0
if python=$(python_with html); then
	like "map of gains: the page is whole" "$("$python" "$here/page_check.py" "$TAP_DIR/map.html" 2>&1)" '^good: [5-9] tables, 3 plots$'
fi
runs "no map without plain runs" 0 "$POPPA" report --input "$rows" --html -
unlike "no map without plain runs: nothing of it" "$OUT" 'Gains by pair'
runs "map of what is expected only" 0 "$POPPA" report --input "$rows" --history "$history" --html -
unlike "map of what is expected only: nothing is measured" "$OUT" '<rect class="[a-z0-9]* measured"'
runs "--history without a form for it" 2 "$POPPA" report --input "$rows" --history "$history"
is "--history without a form for it: says so" "$ERR" "poppa report: --history goes with --html or --json"
runs "--history of no file" 1 "$POPPA" report --input "$rows" --json --history "$TAP_DIR/none"
like "--history of no file: names it" "$ERR" "^poppa report: $TAP_DIR/none: No such file"
printf 'x\t\n\001\n' >"$TAP_DIR/broken"
runs "--history that is broken" 1 "$POPPA" report --input "$rows" --json --history "$TAP_DIR/broken"
like "--history that is broken: names it and the fix" "$ERR" "^poppa report: $TAP_DIR/broken: no line of it can be read.*Name a whole copy"

runs "csv" 0 "$POPPA" report --input "$rows" --by job --csv
like "csv: no formulas" "$OUT" "\"'=cmd\(\)\""
is "csv: no cell begins a formula" "$(grep -c -E '(^|,)"?[=+@]' <<<"$OUT")" 0
if python=$(python_with csv); then
	is "csv: a spreadsheet reads the same sums" "$("$python" -c '
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
print(len(rows), sum(int(r["raw"]) * int(r["elapsed_s"]) for r in rows), sum(int(r["charged"]) * int(r["elapsed_s"]) for r in rows))' "$TAP_DIR/out")" "$(sums "$rows")"
	for file in "$rows" "$TAP_DIR/many.txt"; do
		runs "page" 0 "$POPPA" report --input "$file" --html "$TAP_DIR/page.html"
		is "page: silent" "$OUT$ERR" ""
		like "page: whole, alone, named and readable" "$("$python" "$here/page_check.py" "$TAP_DIR/page.html" 2>&1)" \
			'^good: [5-9] tables, [23] plots$'
	done
	like "page: large amounts are grouped" "$(cat "$TAP_DIR/page.html")" '<td>[0-9]{1,3}(,[0-9]{3})+[.][0-9]</td>'
	is "page: all of them" "$(grep -c -E '<td>[0-9]{4,}[.]' "$TAP_DIR/page.html")" 0
	# The check finds what it is to find.
	sed 's/<caption><span>[^<]*<.span><.caption>//; s/--soft:#57606a/--soft:#a7a0aa/; s/scope="row"//; s/<.main>/<img>&/' \
		"$TAP_DIR/page.html" >"$TAP_DIR/bad.html"
	bad=$("$python" "$here/page_check.py" "$TAP_DIR/bad.html" 2>&1)
	for fault in "without a caption" "light: soft on bg" "th without scope" "<img>"; do
		like "the check sees a fault: $fault" "$bad" "$fault"
	done
else
	skip "there is no python3" "csv and page"
fi
runs "page to standard output" 0 "$POPPA" report --input "$rows" --html -
like "page: names are escaped" "$OUT" '&lt;script&gt;alert\(1\)&lt;/script&gt;'
is "page: and nowhere raw" "$(grep -c '<script' <<<"$OUT")" 0
umask 077
runs "page with a umask" 0 "$POPPA" report --input "$rows" --html "$TAP_DIR/own.html"
is "page: the umask counts" "$(stat -c %a "$TAP_DIR/own.html")" 600
ln -s own.html "$TAP_DIR/link.html"
runs "page into a link" 0 "$POPPA" report --input "$rows" --html "$TAP_DIR/link.html"
is "page into a link: it stays a link" "$(stat -c %F "$TAP_DIR/link.html")" "symbolic link"
runs "page nowhere" 1 "$POPPA" report --input "$rows" --html "$TAP_DIR/none/page.html"
like "page nowhere: names it" "$ERR" "^poppa report: --html: .*$TAP_DIR/none/page.html"

# Names that want out of their cell.
{
	head -n 1 "$rows"
	grep '^12|' "$rows" | sed "s/[^|]*$/\"><img src=x onerror=alert(1)>'\&amp;/"
	grep '^13|' "$rows" | sed 's/[^|]*|[^|]*$/@SUM(1+1),"x"/'
} >"$TAP_DIR/names.txt"
runs "names, page" 0 "$POPPA" report --input "$TAP_DIR/names.txt" --by program --html -
is "names: no element" "$(grep -c '<img' <<<"$OUT")" 0
like "names: as text" "$OUT" '&quot;&gt;&lt;img src=x onerror=alert\(1\)&gt;&#39;&amp;amp;'
runs "names, csv" 0 "$POPPA" report --input "$TAP_DIR/names.txt" --by job --csv
like "names: quoted" "$OUT" "\"'@SUM\(1\+1\),\"\"x\"\"\""

head -n 1 "$rows" >"$TAP_DIR/empty.txt"
runs "no jobs" 0 "$POPPA" report --input "$TAP_DIR/empty.txt"
like "no jobs: says so" "$OUT" "There are none among 0 jobs"
for form in --json --csv "--html=-"; do
	runs "no jobs, $form" 0 "$POPPA" report --input "$TAP_DIR/empty.txt" "$form"
done
like "no jobs, page: says so" "$OUT" '<p>There are none among 0 jobs'
is "no jobs, page: has no empty tables or times" "$(grep -c -E '<table|<svg|<dl|from -' <<<"$OUT")" 0
{ head -n 1 "$rows" && grep -E '^(23|24)[|]' "$rows"; } >"$TAP_DIR/open.txt"
runs "no prices, page" 0 "$POPPA" report --input "$TAP_DIR/open.txt" --html -
like "no prices, page: how many have ended" "$OUT" '<dt>Ended, no price yet</dt><dd>1</dd>'
like "no prices, page: and how many have not" "$OUT" '<dt>Not ended</dt><dd>1</dd>'

# Names that are too long for their place lose their middle, in columns as a terminal counts them.
"$here/../gen/bills_gen" 400 long >"$TAP_DIR/long.txt"
runs "long names" 0 "$POPPA" report --input "$TAP_DIR/long.txt" --by program
like "long names: the end is kept" "$OUT" $'\n''ft_production_~_member_9 +[0-9]'
like "long names: wide characters" "$OUT" $'\n''分子動力学シミ~階の計算 {6}[0-9]'
runs "long names, page" 0 "$POPPA" report --input "$TAP_DIR/long.txt" --html -
like "long names, page: in the map, with the whole on its own" "$OUT" \
	'<th scope="col" title="ft_production_run_of_the_ensemble_with_nested_domains_member_9">ft_production_…_member_9</th>'
like "long names, page: says that there are more" "$OUT" 'Of the 14 programs'
like "long names, page: also of prices" "$OUT" 'The plot has the 12 programs'
{ cat "$rows" && echo "99|half a row"; } >"$TAP_DIR/bad.txt"
runs "a bad row" 1 "$POPPA" report --input "$TAP_DIR/bad.txt"
is "a bad row: is named" "$ERR" "poppa report: 1 row is left out; line 20: 2 fields instead of 16"
like "a bad row: the others are shown" "$OUT" 'all co-located jobs +17 '
runs "standard input" 0 "$POPPA" report --input - --json <"$rows"
is "standard input: the same" "$(jq .total.jobs <<<"$OUT")" 17

# What would have been charged, by hand: of what "none" has charged, "thesis" takes 0.64 at a degradation of 0.2 and 0.25
# at 0.5. ada pays 1000 * 0.99 * 0.64 = 634, bob's second job 25, and cy's resized one 10240 and then 5120.
{
	head -n 1 "$rows"
	cat <<-END
		1|1|c1|ada|phys|std|normal|COMPLETED|1|1790000000|1790003600|3600|billing=990,cpu=8,node=1|0|colocate: stripe; poppa: d=0.2000 ci=0.190..0.210 co=1.00 dco=0.2000 stopped=0.0100 partners=2 raw=1000 charged=990 policy=none backend=perf|a
		2|2|c1|bob|chem|std|normal|COMPLETED|1|1790000000|1790003600|3600|billing=980,cpu=8,node=1|0|colocate: stripe; poppa: nodata=no-record stopped=0.0200 raw=1000 charged=980 policy=none|b
		3|3|c1|bob|chem|std|normal|COMPLETED|1|1790000000|1790007200|7200|billing=100,cpu=8,node=1|0|colocate: stripe; poppa: d=0.5000 ci=0.490..0.510 co=1.00 dco=0.5000 stopped=0.0000 raw=100 charged=100 policy=none backend=perf|b
		4|4|c1|cy|chem|std|normal|RESIZING|1|1790000000|1790000040|40|billing=16000,cpu=16,node=2|0||c
		4|4|c1|cy|chem|std|normal|COMPLETED|1|1790000040|1790000100|60|billing=8000,cpu=8,node=1|0|colocate: stripe; poppa: d=0.2000 ci=0.190..0.210 co=1.00 dco=0.2000 stopped=0.0000 raw=8000 charged=8000 policy=none backend=perf earlier=16000:40|c
		5|5|c1|dee|chem|std|normal|RUNNING|1|1790000000|Unknown|3600|billing=1000,cpu=8,node=1|0|colocate: stripe|d
	END
} >"$TAP_DIR/none.txt"
none=$TAP_DIR/none.txt
runs "what if" 0 "$POPPA" report --input "$none" --what-if --json
is "what if: totals are what would have been charged" "$(jq -c '.total | [.raw, .charged, .no_data]' <<<"$OUT")" '[12640000,10307200,1]'
is "what if: and what was, and the difference" "$(jq -c '.what_if | .policy, (.total | [.charged_now, .charged, .gain, .no_data])' <<<"$OUT")" \
	$'"thesis"\n[12532000,10307200,2224800,1]'
is "what if: who would gain most is first" "$(jq -c '.what_if.groups[] | [.name, .charged_now, .charged, .gain]' <<<"$OUT")" \
	'["ada",3564000,2282400,1281600]
["bob",4248000,3708000,540000]
["cy",1120000,716800,403200]
["dee",3600000,3600000,0]'
runs "what if: without it" 0 "$POPPA" report --input "$none" --json
is "what if: without it nothing would be" "$(jq -c '[.what_if, .total.charged]' <<<"$OUT")" '[null,12532000]'
runs "what if: by job" 0 "$POPPA" report --input "$none" --what-if --by job --json
is "what if: by job: each bill" "$(jq -c '[.groups[] | [.job, .charged]] | sort' <<<"$OUT")" '[[1,634],[2,980],[3,25],[4,5120],[4,10240],[5,1000]]'
runs "what if: a floor" 0 "$POPPA" report --input "$none" --what-if=thesis/floor=6000 --by job --json
is "what if: a floor: earlier sizes have the share of the last" "$(jq -c '[.groups[] | select(.job == 4) | .charged] | sort' <<<"$OUT")" '[6000,12000]'
runs "what if: the interval's end" 0 "$POPPA" report --input "$none" --what-if=thesis/estimate=upper --by job --json
is "what if: the interval's end: is in the price" "$(jq -c '.groups[] | select(.job == 1) | .charged' <<<"$OUT")" 618
runs "what if: text" 0 "$POPPA" report --input "$none" --what-if=solo/cap=0.3
like "what if: text: says that it is not so" "$OUT" $'\n''This is what would have been charged under solo/cap=0\.3, and not what was charged\.'$'\n'
like "what if: text: a line each" "$OUT" $'\n''ada +1 +0 +990\.0 +792\.0 +198\.0 +- +0'$'\n''cy .*'$'\n''bob +2 +1 +1180\.0 +1120\.0 +60\.0 +- '
unlike "what if: text: is not what sreport has" "$OUT" sreport
runs "what if: the policy that it was" 0 "$POPPA" report --input "$plain" --what-if=none --json
is "what if: the policy that it was: no gain" "$(jq -c '.what_if | [.total.gain, ([.groups[].gain] | max)]' <<<"$OUT")" '[0,0]'
# 500 s on half of two nodes against 560 s on one save 60, as 103 does; 660 - 600 * 2 * (1 - 0.83 / 2) is -42, 106 saves 260, and
# eve's two 100 each. Of the others there is a doubt, or no degradation.
runs "what if: node hours" 0 "$POPPA" report --input "$plain" --what-if --json
is "what if: node hours: by hand" "$(jq -c '.what_if | (.total, .groups[]) | [.name, .saved_node_s, .node_jobs]' <<<"$OUT")" \
	$'[null,538,6]\n["root",338,4]\n["eve",200,2]'
runs "what if: losses" 0 "$POPPA" report --input "$rows" --what-if=none
like "what if: losses: have a sign" "$OUT" $'\n''bob +2 +0 +1019\.3 +1132\.4 +-113\.1 +- '
for file in "$none" "$plain" "$TAP_DIR/many.txt"; do
	runs "what if: page" 0 "$POPPA" report --input "$file" --what-if=none --html "$TAP_DIR/if.html"
	if python=$(python_with html); then
		like "what if: page: whole and readable" "$("$python" "$here/page_check.py" "$TAP_DIR/if.html" 2>&1)" '^good: [0-9]+ tables, [23] plots$'
	fi
done
like "what if: page: thousands of a loss are grouped" "$(cat "$TAP_DIR/if.html")" '<td>-[0-9]{1,3}(,[0-9]{3})+\.[0-9]</td>'
runs "what if: page by thesis" 0 "$POPPA" report --input "$none" --what-if --html -
for in in title h1; do
	like "what if: page: the $in says it" "$OUT" "<$in>What co-located jobs would have been charged under thesis</$in>"
done
like "what if: page: and that it is not so" "$OUT" '<b>This is not what was charged\.</b>'
like "what if: page: a line each" "$OUT" '<th scope="row">bob</th><td>2</td><td>1</td><td>1,180\.0</td><td>1,030\.0</td><td>150\.0</td><td>-</td><td>0</td>'
runs "what if: page without it" 0 "$POPPA" report --input "$none" --html -
unlike "what if: page without it: nothing of it" "$OUT" 'would have (been )?charged|harged now|not what was'
runs "what if: csv" 0 "$POPPA" report --input "$none" --what-if=tiers:0.1=0.2:0.4=0.6 --csv
like "what if: csv: columns of its own" "$OUT" ',charged_billing_s,charged_now_billing_s,what_if,discount,'
like "what if: csv: both amounts and the policy" "$OUT" $'\n''ada,1,1,0,0,0,3600,3600000,2851200,3564000,tiers:0\.1=0\.2:0\.4=0\.6,0\.208,'
runs "what if: csv by job" 0 "$POPPA" report --input "$none" --what-if --csv --by job
like "what if: csv by job: both amounts" "$OUT" ',1000,634,990,thesis,'
runs "what if: no jobs" 0 "$POPPA" report --input "$TAP_DIR/empty.txt" --what-if
like "what if: no jobs: says so" "$OUT" "There are none among 0 jobs"
runs "what if: no jobs, page" 0 "$POPPA" report --input "$TAP_DIR/empty.txt" --what-if --html -
is "what if: no jobs, page: has no empty table" "$(grep -c '<table' <<<"$OUT")" 0
for bad in auction thesis/cap=2 linear "" none/x=1; do
	runs "what if: $bad" 2 "$POPPA" report --input "$rows" "--what-if=$bad"
	is "what if: $bad: one line" "$(wc -l <<<"$ERR")" 1
	like "what if: $bad: names the option" "$ERR" '^poppa report: --what-if: '
done
runs "what if: of nothing known" 2 "$POPPA" report --what-if=auction
like "what if: of nothing known: what there is" "$ERR" 'thesis, solo, linear:FACTOR, .*none'

for bad in "--by colour" "--csv --json" "--csv --html x" "--input $rows -u ada" "-a -u ada" "surplus"; do
	# shellcheck disable=SC2086
	runs "$bad" 2 "$POPPA" report $bad
	is "$bad: one line" "$(wc -l <<<"$ERR")" 1
done

# What sacct is asked, and in which words it says no.
cat >"$TAP_DIR/sacct" <<-END
	#!/bin/bash
	printf '%s\n' "\$SLURM_TIME_FORMAT" "\$@" >"$TAP_DIR/asked"
	for a; do case \$a in --delimiter=*) d=\${a#*=} ;; esac; done
	/usr/bin/sed "s/|/\$d/g" "$rows"
END
chmod +x "$TAP_DIR/sacct"
runs "with sacct" 0 env PATH="$TAP_DIR" "$POPPA" report -S 2026-11-01 -E now -u 'ada;id,bob' -A '$(id)' -r std -j 12,13 --json
is "with sacct: the same sums" "$(jq -r '.total | "\(.jobs) \(.raw) \(.charged)"' <<<"$OUT")" "$(sums "$rows")"
asked=$(cat "$TAP_DIR/asked")
for arg in '%s' --allocations --duplicates --parsable2 --noconvert --starttime=2026-11-01 --endtime=now "--user=ada;id,bob" '--accounts=$(id)' --partition=std --jobs=12,13; do
	is "with sacct: $arg" "$(grep -c -x -F -e "$arg" <<<"$asked")" 1
done
delimiter=$(sed -n 's/^--delimiter=//p' <<<"$asked")
runs "with sacct again" 0 env PATH="$TAP_DIR" "$POPPA" report -u ada
is "with sacct: the delimiter cannot be foreseen" "$([ "$delimiter" != "$(sed -n 's/^--delimiter=//p' "$TAP_DIR/asked")" ] && echo yes)" yes
like "with sacct: thirty days" "$(cat "$TAP_DIR/asked")" '--starttime=now-30days'
done_testing
