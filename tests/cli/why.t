#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa why: the sentences and the arithmetic of prices, from rows that sacct printed.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
rows=$(dirname "$0")/bills.txt
export TZ=UTC

# why JOB [OPTION...]: its text in one line.
why() {
	runs "job $1" 0 "$POPPA" why --input "$rows" "$@"
	OUT=$(tr '\n' ' ' <<<"$OUT" | tr -s ' ')
	is "job $1: silent on stderr" "$ERR" ""
}

# says NAME TEXT
says() {
	local rc=1
	[[ $OUT == *"$2"* ]] && rc=0
	tap "$1" $rc
	[ $rc = 0 ] || printf '# not in: %s\n# wanted: %s\n' "$OUT" "$2"
}

why 12
says "who, where, when" "Job 12 (lammps) of ada, account phys, in partition std ran from 2026-09-21 14:13:20 to 2026-09-21 14:23:20 (600 s) and ended as COMPLETED."
says "beside whom" "shared its nodes: 13 (gromacs|x)."
says "what was measured" "20.0 % less progress beside them than alone: its degradation is D = 0.2000; the true value is between 0.180 and 0.220 with 95 % confidence."
says "time held stopped" "nobody pays for that (Z = 0.0061)."
says "the formula" "Policy thesis charges raw x (1 - Z) x (1 - D)^2:"
says "the arithmetic" "1000 x (1 - 0.0061) x (1 - 0.2)^2 = 636.10"
says "the charge" "a billing of 636 is charged for each of the 600 seconds instead of 1000: 36.4 % less."
unlike "it was its user's wish" "$OUT" "the site"
sed 's/|colocate: stripe; /|colocate: stripe by-site lane=1 beside=13; /' "$rows" >"$TAP_DIR/by-site"
runs "a job that the site has opted in" 0 "$POPPA" why --input "$TAP_DIR/by-site" 12
like "the site's wish is told" "$OUT" "Its user did not ask for --colocate: the site co-locates"
why 14
says "a cap" "1000 x (1 - 0) x (1 - 0.3) = 700.00 The policy takes at most 30 % off"
why 15
says "a floor" "= 700.00 The policy lets a degradation bring no charge below 900: 900.00 counts."
why 16
says "the favourable end of the interval" "10000 x (1 - 0) x (1 - 0.32)^2 = 4624.00 D is here the end of the interval that favours the user"
says "partners that are not shown have no name" "shared its nodes: 13, 17 (<script>alert(1)</script>) and 3 more."
says "what each partner cost" "Of this, 0.210 comes from job 13. Of this, 0.060 comes from job 17."
says "a job that may spin" "Its tasks may wait for each other in a loop"
says "nodes without data" "Only 3 of its 4 nodes have data"
says "time not measured" "12 % of its time was not measured"
why 17
says "tiers" "1000 x (1 - 0) x (1 - 0.35) = 650.00"
why 18
says "linear" "1000 x (1 - 0) x (1 - 1.5 x 0.25) = 625.00"
why 19
says "none" "1000 x (1 - 0.01) = 990.00"
why 20
says "no data: why" "It has no discount (too-few-blocks): there were too few measurements"
says "no data: what it means" "the job pays what Slurm counted. So the full billing of 1000 is charged"
why 21
says "no record" "no node of the job sent what it had measured in time"
why 22
says "not co-located" "It was not submitted with --colocate"
why 23
says "running" "Its price is made when it has left its nodes"
why 24
says "not settled" "Its price has not been made yet"
why 25_1
says "the latest run of an array's task" "Job 25_1 (again, run 2)"
says "and its price" "= 810.00"
why 25.0
says "an earlier run" "It has no discount (no-time)"
why 26
says "a charge that does not follow" "These facts give a billing between 810 and 810, but 300 is charged: please show this to the administrators."
why 27
says "a policy of a later release" "policy auction, which this release of poppa cannot work out"
why 28
says "noise below 0" "counts as 0."
says "no steering of the terminal" "(noise?[31mred)"

# A resized job has a row for each size; the run is told of by the last size's, wherever it stands.
{
	sed -n '1p' "$rows"
	sed -n '/^12|/s/ raw=/ earlier=2000:100 raw=/p' "$rows"
	sed -n '/^12|/{s/|COMPLETED|/|RESIZING|/; s/|1790000000|1790000600|600|/|1789999900|1790000000|100|/; p}' "$rows"
} >"$TAP_DIR/resized.txt"
runs "a resized job" 0 "$POPPA" why --input "$TAP_DIR/resized.txt" 12
like "a resized job: the row of its last size" "$(tr '\n' ' ' <<<"$OUT")" "ended as COMPLETED"

# Without data, too, nobody pays for time held stopped.
sed '/^21|/{s/billing=1000/billing=968/; s/nodata=no-record raw=1000 charged=1000/nodata=uncertain stopped=0.0317 raw=1000 charged=968/; }' "$rows" >"$TAP_DIR/stopped.txt"
runs "no data, stopped" 0 "$POPPA" why --input "$TAP_DIR/stopped.txt" 21
like "no data, stopped: for how long" "$(tr '\n' ' ' <<<"$OUT")" 'For 3\.17 % of its time it was held stopped .* nobody pays for that \(Z = 0\.0317\)'
like "no data, stopped: the arithmetic" "$OUT" $'\n    1000 x \(1 - 0\.0317\) = 968\.30\n'
like "no data, stopped: the charge" "$(tr '\n' ' ' <<<"$OUT")" 'billing of 968 is charged'

# A co-runner that kept the job from being measured is named, with data and without.
for facts in nodata=unmeasured "d=0.1 co=0.5 stopped=0 partners=13 unmeasured=0.50"; do
	sed "/^21|/s/nodata=no-record/$facts/; /^21|/s/policy=[a-z]*/& culprit=13/" "$rows" >"$TAP_DIR/culprit.txt"
	runs "a culprit" 0 "$POPPA" why --input "$TAP_DIR/culprit.txt" 21
	like "a culprit is named beside ${facts%% *}" "$(tr '\n' ' ' <<<"$OUT")" 'Job 13 ran while it was to stand still'
	is "and in JSON" "$("$POPPA" why --json --input "$TAP_DIR/culprit.txt" 21 | jq .price.culprit)" 13
done

# What is held for turns is degradation.
sed '/^21|/{s/billing=1000/billing=250/; s/nodata=no-record raw=1000 charged=1000/d=0.5000 ci=0.495..0.505 co=0.53 dco=0.9434 stopped=0.0000 turned=0.4500 partners=13 raw=1000 charged=250/; s/policy=[a-z]*/policy=thesis backend=perf/; }' "$rows" >"$TAP_DIR/turned.txt"
runs "turns" 0 "$POPPA" why --input "$TAP_DIR/turned.txt" 21
like "turns: for how long, and what that is" "$(tr '\n' ' ' <<<"$OUT")" 'For 45\.0 % of the run it was held for the turns of its co-runners, .* its degradation is D = 0\.5000; the true value'
is "turns: in JSON" "$("$POPPA" why --json --input "$TAP_DIR/turned.txt" 21 | jq .price.turned)" 0.45

# A job that ended before it started. Slurm 22.05 gives it a start, and releases may show its option.
{
	sed -n '1p' "$rows"
	echo '30|30|c1|ada|phys|std|normal|CANCELLED by 1000|1790002995|1790003010|1790003010|0||0||gone'
	echo '31|31|c1|ada|phys|std|normal|CANCELLED by 1000|1790002995|Unknown|1790003010|0||0|colocate: stripe|gone'
	echo '32|32|c1|ada|phys|std|normal|CANCELLED by 1000|1790002995|Unknown|1790003010|0|billing=8000,cpu=8,mem=8000M|0||gone'
	echo '41|40_1|c1|ada|phys|std|normal|COMPLETED|1790002995|1790003000|1790003050|50|billing=500,cpu=8,node=1|0||many'
	echo '40|40_2|c1|ada|phys|std|normal|COMPLETED|1790002995|1790003000|1790003050|50|billing=500,cpu=8,node=1|0||many'
	echo '50|50+0|c1|ada|phys|std|normal|COMPLETED|1790002995|1790003000|1790003050|50|billing=500,cpu=8,node=1|0||parts'
	echo '23|23|c1|ada|phys|std|normal|PENDING|1790003995|Unknown|Unknown|0||0||waits'
} >"$TAP_DIR/others.txt"
for job in 30 31 32; do
	runs "job $job never started" 0 "$POPPA" why --input "$TAP_DIR/others.txt" $job
	is "job $job never started: says so, and no more" "$(tr '\n' ' ' <<<"$OUT" | tr -s ' ')" \
		"Job $job (gone) of ada, account phys, in partition std ended as CANCELLED before it started, on 2026-09-21 15:03:30. It used nothing, so nothing is charged and there is no price. "
done
like "job 31 never started, --json" "$("$POPPA" why --json --input "$TAP_DIR/others.txt" 31)" '"status": "never-started"'
runs "report on jobs that never started" 0 "$POPPA" report --input "$TAP_DIR/others.txt"
unlike "report on jobs that never started: waits for no price" "$OUT" "Without a price yet"
runs "an array" 0 "$POPPA" why --input "$TAP_DIR/others.txt" 40
like "an array: for which task this is the answer" "$(tr '\n' ' ' <<<"$OUT")" \
	'^40 is an array: this is about 40_2 alone\. "poppa report --by job -j 40" has a line for each\. Job 40_2 '
runs "an array's task" 0 "$POPPA" why --input "$TAP_DIR/others.txt" 40_1
like "an array's task: needs no such word" "$OUT" '^Job 40_1 '
runs "a heterogeneous job" 0 "$POPPA" why --input "$TAP_DIR/others.txt" 50
like "a heterogeneous job: for which part this is the answer" "$(tr '\n' ' ' <<<"$OUT")" '^50 is a heterogeneous job: this is about 50\+0 alone\. '
runs "a job that waits" 0 "$POPPA" why --input "$TAP_DIR/others.txt" 23
is "a job that waits: whether it opted in is not known" "$(tr '\n' ' ' <<<"$OUT")" \
	"Job 23 (waits) of ada, account phys, in partition std has not started. If it was submitted with --colocate, its price is made after it has run. "

# A job that may not start yet: sacct does not show it, squeue does.
mkdir "$TAP_DIR/slurm"
sed -n '1p' "$rows" >"$TAP_DIR/header.txt"
printf '#!/bin/sh\ncat %q\n' "$TAP_DIR/header.txt" >"$TAP_DIR/slurm/sacct"
printf '#!/bin/sh\ncat %q\n' "$TAP_DIR/waiting.txt" >"$TAP_DIR/slurm/squeue"
printf '#!/bin/sh\necho "SystemComment=$(cat %q)"\n' "$TAP_DIR/comment.txt" >"$TAP_DIR/slurm/scontrol"
chmod +x "$TAP_DIR"/slurm/*
# waits REASON DEPENDENCY SENTENCE
waits() {
	echo "60|ada|phys|std|normal|$1|$2|a|name" >"$TAP_DIR/waiting.txt"
	runs "$1" 0 env PATH="$TAP_DIR/slurm:$PATH" "$POPPA" why 60
	is "$1: in words" "$(tr '\n' ' ' <<<"$OUT")" \
		"Job 60 (a|name) of ada, account phys, in partition std has not started. $3 "
}
if_asked="If it was submitted with --colocate, its price is made after it has run."
: >"$TAP_DIR/comment.txt"
waits JobHeldUser "(null)" "It is held: its owner lets it go by \"scontrol release 60\". $if_asked"
waits JobHeldAdmin "(null)" "An administrator holds it, and only an administrator can let it go. $if_asked"
waits Dependency "afterok:59(unfulfilled)" "It waits for other jobs: afterok:59(unfulfilled). $if_asked"
waits DependencyNeverSatisfied "afterok:59(failed)" \
	"It waits for other jobs in vain, and never starts unless that is changed: afterok:59(failed). $if_asked"
waits BeginTime "(null)" "It waits for the time from which it may start. $if_asked"
echo "colocate: stripe" >"$TAP_DIR/comment.txt"
waits Priority "(null)" "Slurm gives as the reason: Priority. Its price is made after it has run."
echo "colocate: stripe waits-for-partner-until=2026-11-25T21:30:00; other: x" >"$TAP_DIR/comment.txt"
waits Resources "(null)" "Slurm gives as the reason: Resources. Lanes that are free now bring too \
little, or both jobs would lose there: it waits for a better partner or an empty node until 2026-11-25T21:30:00 at most, and then shares (stripe_wait). Its \
price is made after it has run."
echo "colocate: stripe waits-for-start-of=4711" >"$TAP_DIR/comment.txt"
waits Resources "(null)" "Slurm gives as the reason: Resources. A lane is free, but it and its partner there are expected to end \
later than their limits say, as these count progress: it waits until job 4711 has started, which comes before it and would have \
to wait longer. Its price is made after it has run."
: >"$TAP_DIR/waiting.txt"
runs "not in squeue either" 1 env PATH="$TAP_DIR/slurm:$PATH" "$POPPA" why 60

# A job that has left its partners: while it waits, and of the run that ended so and of a later one.
echo "60|ada|phys|std|normal|BeginTime|(null)|a|name" >"$TAP_DIR/waiting.txt"
echo "colocate: max-degradation:5; poppa-apart: times=2 restart=1 from=12,13  StdErr=/x; y" >"$TAP_DIR/comment.txt"
waits BeginTime "(null)" "An earlier run was ended and the job requeued, because its max-degradation could not be kept, or what it \
lost could not be measured, beside jobs 12, 13. It is not placed beside them again. That was the last time: from now on only \
partners do of which it is known that they suit it. It waits for the time from which it may start. Its price is made after it \
has run."
: >"$TAP_DIR/comment.txt"
sed -e '/^25|/s/colocate: stripe;/colocate: max-degradation:5; poppa-apart: times=1 restart=0 from=13;/' "$rows" >"$TAP_DIR/apart.txt"
runs "the run that ended so" 0 "$POPPA" why --input "$TAP_DIR/apart.txt" 25.0
like "in words" "$(tr '\n' ' ' <<<"$OUT")" " This run was ended and the job requeued, because .* beside job 13\. It is not placed beside that job again\."
runs "a later one" 0 "$POPPA" why --input "$TAP_DIR/apart.txt" 25.1
like "a later one: in words" "$(tr '\n' ' ' <<<"$OUT")" " An earlier run was ended and the job requeued, because .* beside job 13\."
sed -i 's/times=1/times=+1/' "$TAP_DIR/apart.txt"
runs "what is no such text" 0 "$POPPA" why --input "$TAP_DIR/apart.txt" 25.0
unlike "is not told" "$OUT" "requeued"

# slurmdbd has the option of a run, and not yet whom the job has left.
{
	cat "$TAP_DIR/header.txt"
	echo "62|62|c1|ada|phys|std|normal|REQUEUED|$(($(date +%s) - 60))|$(($(date +%s) - 50))|$(date +%s)|50|billing=1000,cpu=8|0|colocate: max-degradation:5; poppa-limit: asked=60 set=120 cap=0 restart=0 extended=3600|left"
} >"$TAP_DIR/left.txt"
printf '#!/bin/sh\ncat %q\n' "$TAP_DIR/left.txt" >"$TAP_DIR/slurm/sacct"
echo "colocate: max-degradation:5; poppa-apart: times=1 restart=0 from=12  StdErr=/dev/null" >"$TAP_DIR/comment.txt"
runs "a run that ended so, before it is told" 0 env PATH="$TAP_DIR/slurm:$PATH" "$POPPA" why 62
like "in words, too" "$(tr '\n' ' ' <<<"$OUT")" " This run was ended and the job requeued, because .* beside job 12\."

# What became of the limit of a job that runs, as slurmctld shows it.
{
	cat "$TAP_DIR/header.txt"
	echo "61|61|c1|ada|phys|std|normal|RUNNING|$(($(date +%s) - 60))|$(($(date +%s) - 50))|Unknown|50|billing=1000,cpu=8|0||going"
} >"$TAP_DIR/running.txt"
printf '#!/bin/sh\ncat %q\n' "$TAP_DIR/running.txt" >"$TAP_DIR/slurm/sacct"
# limit PART: the sentences of a job whose limit has that part.
limit() {
	echo "colocate: stripe lane=0; poppa-limit: $1 Comment=x; y StdErr=/z" >"$TAP_DIR/comment.txt"
	runs "$1" 0 env PATH="$TAP_DIR/slurm:$PATH" "$POPPA" why 61
	OUT=$(tr '\n' ' ' <<<"$OUT")
}
until=$(($(date +%s) + 600))
limit "asked=5 set=5 cap=0 restart=0 extended=0 refused=$until"
says "a job that keeps others from being measured: until when that counts" "It keeps other jobs from being measured, so \
nothing is added to its time limit until $(date -d "@$until" '+%F %T'), or longer if it goes on to do so."
limit "asked=5 set=5 cap=0 restart=0 extended=0 refused=$(($(date +%s) - 5))"
unlike "and no longer than that" "$OUT" "keeps other jobs"
limit "asked=3 set=7 cap=0 restart=0 extended=183 bound=partition"
says "an end that was moved" "The end of its time limit was moved by 183 s for what it lost to others. It was not moved \
further because of a bound of Slurm's: partition."
limit "asked=3 set=7 cap=0 restart=1 extended=183"
unlike "what an earlier run was given" "$OUT" "was moved"

# What keeps partners off is said, with a discount and without one.
sed -e '/^12|/s/colocate: stripe;/colocate: max-degradation:20,class:x lane=0 beside=13;/' \
	-e '/^21|/s/colocate: stripe;/colocate: spread lane=0;/' \
	-e '/^14|/s/colocate: stripe;/colocate: not:spread,class:with lane=0;/' "$rows" >"$TAP_DIR/alone.txt"
runs "spread" 0 "$POPPA" why --input "$TAP_DIR/alone.txt" 21
like "spread: what the price leaves out" "$(tr '\n' ' ' <<<"$OUT")" "--colocate=spread, which can keep other jobs off its nodes\. What it kept empty is not in its price"
runs "max-degradation" 0 "$POPPA" why --input "$TAP_DIR/alone.txt" 12
like "max-degradation: the same" "$(tr '\n' ' ' <<<"$OUT")" "--colocate=max-degradation:20,class:x, which can"
for job in 13 14; do
	runs "job $job" 0 "$POPPA" why --input "$TAP_DIR/alone.txt" $job
	unlike "job $job kept nobody off" "$OUT" "kept empty"
done

# Every reason that docs/pricing.md has is explained.
mapfile -t reasons < <(sed -n '/`nodata=` is one of/,/A job without data/p' "$(dirname "$0")/../../docs/pricing.md" |
	sed 's/.*`nodata=` is one of//; s/A job without data.*//' | grep -o '`[a-z-]*`' | tr -d '`')
tap "docs/pricing.md lists the reasons" "$([ "${#reasons[@]}" -ge 7 ] && echo 0 || echo 1)"
for reason in "${reasons[@]}"; do
	sed "s/nodata=no-record/nodata=$reason/" "$rows" >"$TAP_DIR/reason.txt"
	runs "$reason" 0 "$POPPA" why --input "$TAP_DIR/reason.txt" 21
	like "$reason is explained" "$(tr '\n' ' ' <<<"$OUT")" "It has no discount \($reason\): "
	[[ $OUT == *"gives this word"* ]]
	tap "$reason: in words of its own" "$((1 - $?))"
done

# Against plain runs, with the evidence, or with the reason why there is no figure.
plain=$(dirname "$0")/plain_runs.txt
# against JOB: what is said of it.
against() {
	runs "plain runs of $1" 0 "$POPPA" why --input "$plain" "$1"
	OUT=$(tr '\n' ' ' <<<"$OUT" | tr -s ' ')
}
against 101
says "plain runs: the job, the pair and the evidence" "Against plain runs: the same name without --colocate took 560 s with as many CPUs \
(median of 3 runs, 3 % apart), so it made 1.12 times their progress. Job 102 made 1.10 times that of its own (2 plain runs). So \
their STP is 1.10 in the time that they shared: 1 is as much as one after the other on whole nodes."
against 105
says "one plain run" "(1 run), so it made 1.10 times their progress. This is uncertain: one run does not show how much they differ."
says "one plain run: so the pair is uncertain, too" "So their STP is 1.38 in the time that they shared, which is uncertain:"
against 106
says "one plain run of the partner" "That of the partner is uncertain: one run does not show how much they differ."
against 103
says "no plain run of the partner" "Its partner 104 cannot be compared with plain runs: no run of that name completed without --colocate."
against 104
says "no plain run" "It cannot be compared with plain runs: no run of that name completed without --colocate."
against 107
says "plain runs on parts of nodes" "This is uncertain: they left CPUs of their nodes idle or to other jobs."
against 108
says "plain runs that differ" "50 % apart), so it made 1.00 times their progress. This is uncertain: they differ too much to have done the same work."
against 109
says "a job that failed" "It cannot be compared with plain runs: it did not complete in one size."
against 110
says "plain runs of another size" "It cannot be compared with plain runs: its runs without --colocate had other numbers of CPUs."
against 113
says "a job without data" "(median of 2 runs, 0 % apart), so it made 1.10 times their progress."
is "plain runs, --json" "$("$POPPA" why --json --input "$plain" 101 | jq -c '.compact | [.progress, .plain_runs, .doubt, (.stp * 10000 | round)]')" '[1.12,3,"",10978]'
is "a plain run itself has none, --json" "$("$POPPA" why --json --input "$plain" 201 | jq -c .compact)" null

# sacct is asked for the runs of the job's and its partner's user, by name where sacct can look that up.
cat >"$TAP_DIR/slurm/sacct" <<-END
	#!/bin/bash
	printf '%s\n' "\$@" - >>"$TAP_DIR/asked"
	cat $(printf %q "$(realpath "$plain")")
END
: >"$TAP_DIR/asked"
runs "plain runs from sacct" 0 env PATH="$TAP_DIR/slurm:$PATH" "$POPPA" why 102
like "plain runs from sacct: said" "$(tr '\n' ' ' <<<"$OUT")" "median of 2 runs, 0 % apart"
asked=$(cat "$TAP_DIR/asked")
for arg in --user=root --starttime=2026-08-22T14:13:20 --endtime=2026-10-21T14:23:20; do
	is "plain runs from sacct: $arg" "$(grep -c -x -F -e "$arg" <<<"$asked")" 1
done
is "plain runs from sacct: names with digits are left to us" "$(grep -c -e --name <<<"$asked")" 0
: >"$TAP_DIR/asked"
runs "plain runs from sacct by name" 0 env PATH="$TAP_DIR/slurm:$PATH" "$POPPA" why 111
is "plain runs from sacct by name: these" "$(grep -c -x -F -e '--name=<b>&' "$TAP_DIR/asked")" 1

# A calculator agrees with every charge that is said to follow.
if python=$(python_with json); then
	for job in 12 13 14 15 16 17 18 19 25 28; do
		runs "job $job --json" 0 "$POPPA" why --json --input "$rows" $job
		is "job $job: the numbers give the charge" "$("$python" -c '
import json, math, sys
price = json.load(sys.stdin)["price"]
c = price["calculation"]
product = eval(c["numbers"].replace("x", "*").replace("^", "**"))
assert abs(product - c["product"]) < 1e-9 * price["raw"], (product, c)
assert c["fits"] and c["least"] <= price["charged"] <= c["most"], c
print(math.floor(c["amount"] + 0.5) - price["charged"])' <<<"$OUT" 2>&1)" 0
	done
	runs "job 26 --json" 0 "$POPPA" why --json --input "$rows" 26
	like "job 26: does not fit" "$OUT" '"fits": false'
else
	skip "there is no python3" "the numbers give the charge"
fi

runs "no such job" 1 "$POPPA" why --input "$rows" 99
is "no such job: says so" "$ERR" "poppa why: sacct shows you no job 99: it does not exist, is not known there yet, or is not yours to see"
runs "no such run" 1 "$POPPA" why --input "$rows" 12.7
is "no such run: says so" "$ERR" "poppa why: sacct shows you no such run of job 12: it does not exist, is not known there yet, or is not yours to see"
runs "no job" 2 "$POPPA" why
like "no job: says so" "$ERR" "a job id is needed"
for bad in x 12x "12;id" "" 12.x --user=ada; do
	runs "\"$bad\"" 2 "$POPPA" why --input "$rows" "$bad"
	is "\"$bad\": one line" "$(wc -l <<<"$ERR")" "$([[ $bad == --* ]] && echo 2 || echo 1)"
done
runs "two jobs" 2 "$POPPA" why --input "$rows" 12 13
runs "no file" 1 "$POPPA" why --input "$TAP_DIR/none" 12
like "no file: names it" "$ERR" "cannot open $TAP_DIR/none: No such file"
echo "something else" >"$TAP_DIR/else"
runs "another file" 1 "$POPPA" why --input "$TAP_DIR/else" 12
like "another file: says what is wanted" "$ERR" "$TAP_DIR/else: there is no header line of \"sacct -X -P -o JobIDRaw,"
runs "no sacct" 1 env PATH="$TAP_DIR" "$POPPA" why 12
is "no sacct: says so" "$ERR" "poppa why: sacct is not in PATH"
printf '#!/bin/sh\necho "sacct: error: slurmdbd is away" >&2\necho more >&2\nexit 1\n' >"$TAP_DIR/sacct"
chmod +x "$TAP_DIR/sacct"
runs "sacct fails" 1 env PATH="$TAP_DIR" "$POPPA" why 12
is "sacct fails: its own words" "$ERR" "poppa why: sacct: error: slurmdbd is away"
done_testing
