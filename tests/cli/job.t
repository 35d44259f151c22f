#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa job: one screen on a job, from what a stand-in for sacct prints of its price and of its steps.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
needs jq
export TZ=UTC
here=$(cd "$(dirname "$0")" && pwd)
mkdir "$TAP_DIR/slurm"
bills=$TAP_DIR/bills.txt usage=$TAP_DIR/usage.txt
# The stand-in puts the delimiter in place of each "|", also of one in a name.
bills_again() {
	sed 's/gromacs|x$/gromacs/' "$here/bills.txt" >"$bills"
}
bills_again
# It answers the question about prices with one file and that about steps with another.
cat >"$TAP_DIR/slurm/sacct" <<-END
	#!/bin/bash
	for w; do case \$w in --delimiter=*) b=\${w#*=} ;; --format=JobIDRaw,Start,*) steps=yes ;; esac; done
	if [ -n "\$steps" ]; then cat $(printf %q "$usage"); else sed "s/|/\$b/g" $(printf %q "$bills"); fi
END
printf '#!/bin/sh\ncat %q 2>/dev/null\n' "$TAP_DIR/waiting.txt" >"$TAP_DIR/slurm/squeue"
printf '#!/bin/sh\n[ ! -s %q ] || echo "SystemComment=$(cat %q)"\n' "$TAP_DIR/comment.txt" "$TAP_DIR/comment.txt" >"$TAP_DIR/slurm/scontrol"
chmod +x "$TAP_DIR"/slurm/*
: >"$TAP_DIR/comment.txt"
# A job id that an earlier run and other jobs have, too: only the run that was asked for counts.
cat >"$usage" <<-'END'
	12|1789990000|00:00:07|||16G|20|billing=1000,cpu=8,mem=16G,node=1|n9
	12.0|1789990000|00:00:07|9G|8||||n9
	12|1790000000|01:08:00|||16G|20|billing=636,cpu=8,mem=16G,node=1|n1
	12.batch|1790000000|00:01.500|2048K|1||||n1
	12.0|1790000001|01:07:58|1300M|8||||n1
	12.extern|1790000000|00:00:00||1||||n1
	13|1790000010|1-00:00:00|||8G|20|billing=7159,cpu=8,mem=8G,node=1|n1
	13.0|1790000010|1-00:00:00|7G|1||||n1
	14|1790001000|13:19.000||||10|billing=700,cpu=8,mem=16G,node=1|n[1-2]
	14.0|1790001000|13:19.000|1G|8||||n[1-2]
	21|1790003000|00:30.000|||500Mc|60|billing=1000,cpu=8,node=1|n1
	22|1790003000|06:40.000|||16G|60|billing=500,cpu=8,mem=16G,node=1|n1
	22.0|1790003000|06:40.000|512M|2||||n1
	23|1790004000|00:00:00|||16G|60|billing=1000,cpu=8,mem=16G,node=1|n1
END

job() {
	runs "job $*" "${STATUS:-0}" env PATH="$TAP_DIR/slurm:$PATH" "$POPPA" job "$@"
}
# has NAME LINE: a line of the screen.
has() {
	like "$1" $'\n'"$OUT"$'\n' $'\n'"$(sed 's/[][().^+*|]/\\&/g' <<<"$2")"$'\n'
}

job 12
is "job 12: the whole screen" "$OUT" "\
Job          12 (lammps) of ada, account phys, partition std: COMPLETED
Nodes        1 node (n1)
Time         0:10:00 of 0:20:00
Processors   8 CPUs, 85.0 % used: 1:08:00 of 1:20:00
Memory       1.3 GiB in its largest task, of 8 in step 0; it had 16.0 GiB in all
Beside       13 (gromacs), for 100 % of its time
Degradation  20.0 % (95 % interval: 18.0 to 22.0 %)
Price        billing 636 instead of 1000 for each second: 36.4 % less, 218400 saved in all
Advice       nothing to change"
is "job 12: silent on stderr" "$ERR" ""

json=$(PATH="$TAP_DIR/slurm:$PATH" "$POPPA" job --json 12)
is "--json: who and when" "$(jq -c '[.job, .id, .restart, .user, .name, .state, .status, .elapsed_s]' <<<"$json")" \
	'[12,"12",0,"ada","lammps","COMPLETED","priced",600]'
is "--json: what it used" "$(jq -c '[.nodes, .node_list, .cpus, .cpu_s, .cpu_efficiency, .task_memory, .step, .step_tasks, .memory, .limit_s]' <<<"$json")" \
	"[1,\"n1\",8,4080,0.85,$((1300 << 20)),\"0\",8,$((16 << 30)),1200]"
is "--json: its price" "$(jq -c '.price | [.raw, .charged, .saved, .degradation, .ci95, .co, .partners, .nodata]' <<<"$json")" \
	'[1000,636,218400,0.2,[0.18,0.22],1,[13],""]'
is "--json: the same price as why" "$(jq -c '.price | [.raw, .charged, .degradation, .ci95, .co]' <<<"$json")" \
	"$("$POPPA" why --json --input "$bills" 12 | jq -c '.price | [.raw, .charged, .degradation, .ci95, .co]')"
is "--json: its bill in sentences" "$(jq -r .bill <<<"$json")" "It lost 20.0 % of its time (between 18.0 and 22.0 % with 95 % \
confidence) beside job 13: a billing of 636 is charged for each of its 600 seconds instead of 1000, 36.4 % less. \"poppa why 12\" \
explains it."
unlike "--json: the bill names no partner, whoever asks" "$(jq -r .bill <<<"$json")" gromacs

# Lanes, and limits that count progress.
sed -i '/^12|/s/colocate: stripe;/colocate: stripe lane=0,1 beside=13;/; /^12|/s/ raw=/ extended=90 bound=partition raw=/' "$bills"
job 12
has "lanes" "Nodes        1 node (n1), lanes 0,1"
has "a limit that was moved" "Time         0:10:00 of 0:20:00; the limit's end was moved by 0:01:30 for what it lost, not further, for a bound: partition"
bills_again

job 14
has "much was lost: the advice" "Advice       it lost much beside others: --colocate=max-degradation:25 sets a limit to that (poppa-colocate(7))"
has "nodes as Slurm writes them" "Nodes        1 node (n[1-2])"
job 13
has "a day of processor time is more than it had, and shown as it is" "Processors   8 CPUs, 2160.0 % used: 24:00:00 of 1:06:40"
job 21
has "no data: why" "Degradation  not measured (no-record)"
has "no data: the price" "Price        billing 1000 for each second, the full one"
has "memory that was asked for by CPU" "Memory       what it used is not known; it had 3.9 GiB in all"
job 20
has "no data that more time would cure" "Advice       nothing to change: it was too short beside others to be measured"
has "without steps in sacct" "Processors   8 CPUs"
for reason in no-signal no-core; do
	sed -i "/^21|/s/nodata=[a-z-]*/nodata=$reason/" "$bills"
	job 21
	like "$reason: what its owner can do" "$OUT" $'\nAdvice       (let the program publish|give it no more tasks)'
done
bills_again
job 22
has "a plain job" "Price        It was not co-located: it was never stopped, measured or repriced."
has "a plain job: its processors" "Processors   8 CPUs, 100.0 % used: 0:06:40 of 0:06:40"
has "a plain job: its advice" "Advice       ask for less memory: its tasks used at most 7 % of it"
unlike "a plain job has no degradation" "$OUT" Degradation
sed -i 's/^22\(.*\)|512M|2|/22\1|8G|2|/' "$usage"
job 22
has "a plain job that fits" "Advice       \"poppa advise SCRIPT\" tells what --colocate would bring for it"
sed -i '/^22|/s/|50|/|120|/' "$bills"
job 22
has "processors that wait" "Advice       ask for fewer CPUs, or find out what they wait for: on average 3.3 of 8 worked"
bills_again

echo "colocate: stripe lane=1 beside=12; poppa-limit: asked=60 set=62 cap=0 restart=0 extended=120" >"$TAP_DIR/comment.txt"
job 23
has "a job that runs: its lane" "Nodes        1 node (n1), lane 1"
has "a job that runs: its limit" "Time         0:00:50 of 1:00:00; the limit's end was moved by 0:02:00 for what it lost"
has "a job that runs: no processor time yet" "Processors   8 CPUs, how much they work is known when it has ended (sstat -j 23)"
has "a job that runs: no price yet" "Price        Its price is made when it has left its nodes."
has "a job that runs: where to look" "Advice       \"poppa top\" on one of its nodes shows what is measured now"
: >"$TAP_DIR/comment.txt"
job 24
like "not settled: says so" "$OUT" $'\nPrice        Its price has not been made yet; until then the full billing of 1000 '
job 25_1
has "an array's task, the latest run" "Job          25_1 (again, run 2) of ada, account phys, partition std: COMPLETED"
job 25_1.0
has "an earlier run" "Degradation  not measured (no-time)"
{
	sed -n '1p' "$here/bills.txt"
	echo '40|40_2|c1|ada|phys|std|normal|COMPLETED|1790002995|1790003000|1790003050|50|billing=500,cpu=8,node=1|0||many'
	echo '50|50+0|c1|ada|phys|std|normal|COMPLETED|1790002995|1790003000|1790003050|50|billing=500,cpu=8,node=1|0||parts'
	echo '30|30|c1|ada|phys|std|normal|CANCELLED by 1000|1790002995|1790003010|1790003010|0||0||gone'
} >"$bills"
job 40
has "an array: of which task this is" "40 is an array: this is 40_2 alone."
job 50
has "a heterogeneous job: of which part" "50 is a heterogeneous job: this is 50+0 alone."
job 30
is "a job that never started" "$OUT" "\
Job          30 (gone) of ada, account phys, partition std: CANCELLED
Price        It never started, so nothing is charged.
Advice       none: it never started"
echo "60|ada|phys|std|normal|Resources|(null)|a|name" >"$TAP_DIR/waiting.txt"
sed -i 2,99d "$bills"
job 60
is "a job that waits" "$OUT" "\
Job          60 (a|name) of ada, account phys, partition std: PENDING
Price        If it was submitted with --colocate, it is made after it has run.
Advice       \"poppa why 60\" says what it waits for"
echo "colocate: stripe" >"$TAP_DIR/comment.txt"
job 60
has "a job that waits for lanes" "Price        Its price is made after it has run."
rm "$TAP_DIR/waiting.txt" "$TAP_DIR/comment.txt"

STATUS=1 job 99
is "no such job: one line" "$ERR" "poppa job: sacct shows you no job 99: it does not exist, is not known there yet, or is not yours to see"
STATUS=2 job
is "no job: one line" "$ERR" "poppa job: a job id is needed, such as 12, 12_3 or 12.1"
STATUS=2 job 12x
is "no job id: one line" "$(wc -l <<<"$ERR")" 1

# Without an answer about the steps the rest is shown all the same.
bills_again
sed -i 's/then cat .*; else/then echo "sacct: error: too old" >\&2; exit 1; else/' "$TAP_DIR/slurm/sacct"
job 12
is "sacct knows no steps: says so" "$ERR" "poppa job: what it used is not known: sacct: error: too old"
has "sacct knows no steps: the price" "Price        billing 636 instead of 1000 for each second: 36.4 % less, 218400 saved in all"
done_testing
