#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kill -9 of any daemon, or of a node, at any moment of a stream of co-located jobs: afterwards each run
# has one price, the same everywhere, and no job, lane, node or process is left behind. It comes late:
# slurmctld gives ids out again after a kill, and a node that has seen one refuses it.
#
#   POPPA_KILLS=200 POPPA_KILLS_SEED=1234 tests/integration/80-kills.t
#
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
ACCOUNT=poppa-kills
# shellcheck source=tests/integration/kills.sh
. "$(dirname "$0")/kills.sh"

KILLS=${POPPA_KILLS:-30}
SEED=${POPPA_KILLS_SEED:-$(date +%s)}
W=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/contrib/workloads/contend
SETTLE_TIMEOUT=6
# slurmctld saves its state some seconds after a change: a kill takes along what it was told since.
UNSAVED=10

dice "$SEED"
diag "$KILLS kills with POPPA_KILLS_SEED=$SEED"
touch "$DIR/stopped"

# --- The stream.

send_fake() {
	local seconds nodes form
	pick 8 && seconds=$((picked + 1))
	pick 3 && nodes=$((picked / 2 + 1))
	pick 6 && form=$picked
	case $form in
	0) send fake --colocate -N$nodes --wrap "sleep $seconds; exit 3" ;;
	1) send fake --colocate -N1 --array=1-2 --wrap "sleep $seconds" ;;
	2) send fake --colocate -N$nodes --no-requeue --wrap "sleep $seconds" ;;
	*) send fake --colocate -N$nodes --wrap "sleep $seconds" ;;
	esac
}

send_real() {
	pick 5
	if [ -x "$W" ]; then
		send real --colocate -n1 --wrap "srun $W --line $(home_of)/kills-line --seconds $((picked + 4))"
	else
		send real --colocate -n1 --wrap "sleep $((picked + 4))"
	fi
}

top_up() {
	local n
	for ((n = $(in_queue real); n < 3; n++)); do send_real; done
	for ((n = $(in_queue fake); n < 8; n++)); do send_fake; done
}

# Processes of the jobs that are stopped, and their cgroups that are frozen, of this sandbox's real node.
# A cgroup of poppad's own may be frozen for good: it stops nobody while it is empty.
stopped() {
	local file pid
	for pid in $(pgrep -u poppa-demo -r T); do
		grep -q -E "slurm_$SANDBOX_REAL_NODE/|/${SANDBOX_REAL_NODE}_slurmstepd" "/proc/$pid/cgroup" && echo "$pid"
	done 2>/dev/null
	find /sys/fs/cgroup \( -path "*slurm_$SANDBOX_REAL_NODE/*" -o -path "*poppa_$SANDBOX_REAL_NODE*" -o \
		-path "*${SANDBOX_REAL_NODE}_slurmstepd.scope*" \) \
		\( -name freezer.state -exec grep -lv THAWED {} + -o -name cgroup.events -exec grep -l 'frozen 1' {} + \) 2>/dev/null |
		while read -r file; do
			[ -z "$(cat "${file%/*}/cgroup.procs" 2>/dev/null)" ] || echo "$file"
		done
}
nothing_stopped() { [ -z "$(stopped)" ]; }

# --- Kills.

# choose: who is killed, in $victim.
choose() {
	pick 100
	case $((picked < 30 ? 0 : picked < 42 ? 1 : picked < 54 ? 2 : picked < 68 ? 3 : picked < 82 ? 4 : picked < 94 ? 5 : 6)) in
	0) victim=slurmctld ;;
	1) victim=slurmdbd ;;
	2) victim=mariadb ;;
	3) victim=ledgerd ;;
	4) victim=poppad ;;
	5) pick 4 && victim=slurmd-$FAKE$((picked + 1)) ;;
	6) pick 4 && victim=node-$FAKE$((picked + 1)) ;;
	esac
}

count_settlements() { in_ledger "select count(*) from settlement"; }

# moment: waits for the moment, which is named in $moment: any; just after a job was ended; or just
# after the ledger has a price that Slurm has yet to be told.
moment() {
	local id before end=$((SECONDS + 3))
	pick 3
	case $picked in
	0)
		moment=any
		nap 1500
		;;
	1)
		moment=end
		id=$(squeue -h -A $ACCOUNT -t R -o %A | shuf -n 1 --random-source=<(yes "$RANDOM"))
		[ -z "$id" ] || scancel "$id" 2>/dev/null
		nap 1000
		;;
	2)
		moment=settling
		before=$(count_settlements)
		while [ "$SECONDS" -lt "$end" ] && [ "$(count_settlements)" = "$before" ]; do sleep 0.02; done
		nap 60
		;;
	esac
}

settings() {
	ctl reconfigure poppa_period=100ms poppa_overhead_max=0 poppa_min_blocks=4 poppa_settle_timeout=${SETTLE_TIMEOUT}s
}

daemons="mariadb slurmdbd slurmctld ledgerd poppad slurmd $(for i in 1 2 3 4; do echo "slurmd-$FAKE$i"; done | xargs)"
all_run() {
	local d
	for d in $daemons; do is_gone "$d" && start "$d"; done
	return 0
}

clean_up() {
	all_run
	scancel -A $ACCOUNT
	wait_until 60 stream_over
	attend
	drop_account
	ctl reconfigure --reset
	rm -f "$(home_of)/kills-line"
}
on_exit clean_up

settings >/dev/null
make_account
[ -x "$W" ] || diag "mpicc was not found, so the jobs of the real node have no heartbeat"
began=$(date +%s)
wait_until 20 send_fake || bail_out "no job is accepted: $(tail -n 3 "$DIR/sbatch")"
top_up
sleep 1

for ((kill = 1; kill <= KILLS; kill++)); do
	top_up
	look
	choose
	moment
	now=$EPOCHREALTIME
	ctl kill -9 "$victim" 2>/dev/null
	echo "${now%.*} $victim $moment" >>"$DIR/killed"
	wait_until 10 is_gone "$victim"
	case $victim in
	poppad) wait_until 5 nothing_stopped || stopped | sed "s/^/after kill $kill: /" >>"$DIR/stopped" ;;
	node-*) victim=slurmd-${victim#node-} ;;
	esac
	nap 1500
	start "$victim" || break
	look
	attend
	[ $((kill % 20)) != 0 ] || diag "$kill kills after $(($(date +%s) - began)) s, $(wc -l <"$DIR/submitted") jobs submitted, $(count_settlements) runs settled"
done
is "each daemon could be started again" "$(cat "$DIR/unstarted")" ""
is "all kills were made" "$(wc -l <"$DIR/killed")" "$KILLS"

# --- The end of the stream.
diag "at $SECONDS s the stream ends"
all_run
if ! wait_until 60 stream_ends; then
	diag "ended by scancel: $(squeue -h -r -A $ACCOUNT -o '%A %T %r;' | xargs)"
	scancel -A $ACCOUNT
fi
ok "no job is stuck" wait_until 60 stream_ends
wait_until 30 idle || attend
ok "no node is stuck" wait_until 30 idle
[ ! -s "$DIR/attended" ] || diag "nodes that an administrator had to resume:" "$(sort "$DIR/attended" | uniq -c)"
[ ! -s "$DIR/numberless" ] || diag "jobs that Slurm never asks slurmdbd about again, cancelled:" "$(sort -u "$DIR/numberless" | xargs)"
is "no lane was wrong or given twice" "$(sort -u "$DIR/lanes")" ""
cmp_num "and they were looked at" "$(places_seen)" '>=' "$KILLS"
is "nothing stayed stopped when poppad was killed" "$(cat "$DIR/stopped")" ""
ok "nothing is stopped now" wait_until 10 nothing_stopped
# A comment has nowhere to go where slurmdbd never heard of an array task's start: such a run has its price
# and is tried again and again.
waiting() {
	runs_that_wait | while read -r job start; do
		[ -n "$(in_ledger "select 1 from settlement where job = $job and start = $start")" ] || echo "job $job, start $start"
	done
}
wait_until $((SETTLE_TIMEOUT * 5 + 60)) nothing_waits ||
	diag "$(runs_that_wait | wc -l) runs have yet to show their comment in slurmdbd"
is "nothing waits for its price" "$(waiting)" ""

diag "at $SECONDS s all has its price"

# --- The bill. slurmdbd's rows that have an end are the runs; one without is of a run that slurmctld has
# forgotten. Job ids are given out again after a kill: with its start an id is of one run.
rows() {
	SLURM_TIME_FORMAT=%s sacct -D -X -n -P -a -A $ACCOUNT -S "$(at "$began")" -E "$(at "$(next_hour)")" \
		-o JobIDRaw,Submit,Start,End,ElapsedRaw,State,AllocCPUS,AllocTRES |
		awk -F'|' -v OFS='|' '{
			billing = $8; if (!sub(/.*billing=/, "", billing)) billing = ""; sub(/,.*/, "", billing)
			for (i = 2; i <= 4; i++) if ($i !~ /^[0-9]+$/) $i = 0
			print $1, $2, $3, $4, $5, $6, $7, billing }'
}

# shown: what slurmctld still has, as JOB|START|BILLING. One that was cancelled before its next start shows
# what its last one had, for no time.
shown() {
	SLURM_TIME_FORMAT=%s scontrol -o show job 2>/dev/null | awk -v account="$ACCOUNT" -v began="$began" '
		{ delete v }
		$0 ~ " Account=" account " " && / (Alloc)?TRES=[^ ]*billing=/ && / StartTime=[0-9]/ && !/ JobState=(PENDING|RUNNING)/ {
			for (i = 1; i <= NF; i++) { n = index($i, "="); v[substr($i, 1, n - 1)] = substr($i, n + 1) }
			billing = v["AllocTRES"] v["TRES"]; sub(/.*billing=/, "", billing); sub(/,.*/, "", billing)
			if (v["StartTime"] >= began && v["EndTime"] != v["StartTime"]) print v["JobId"] "|" v["StartTime"] "|" billing }'
}

rows >"$DIR/rows"
shown >"$DIR/shown"
tr ' ' '|' <"$DIR/killed" >"$DIR/kills"
tr ' ' '|' <"$DIR/submitted" >"$DIR/sent"
cp "$LEDGER"* "$DIR"
sqlite3 "$DIR/bill" <<-END
	CREATE TABLE slurm (job INT, submit INT, start INT, finish INT, elapsed INT, state TEXT, cpus INT, billing INT);
	CREATE TABLE shown (job INT, start INT, billing INT);
	CREATE TABLE kills (at INT, victim TEXT, moment TEXT);
	CREATE TABLE sent (job INT, at INT);
	.import $DIR/rows slurm
	.import $DIR/shown shown
	.import $DIR/kills kills
	.import $DIR/sent sent
	ATTACH '$DIR/${LEDGER##*/}' AS ledger;
	CREATE TABLE run AS SELECT * FROM slurm WHERE start > 0 AND finish > 0 AND billing <> '';
	CREATE TABLE price AS SELECT job, restart, start, finish, raw, charged,
		json_extract(body, '$.degradation') AS d, json_extract(body, '$.stopped') AS z,
		(SELECT count(*) FROM event e WHERE e.job = s.job AND e.restart = s.restart AND e.kind = 'settled'
			AND json_extract(e.body, '$.start') = s.start) AS events
		FROM settlement s WHERE start >= $began;
END

# Slurm's own fix for rows of forgotten runs, which would count on for ever.
fix_rows() {
	echo y | timeout 30 sacctmgr show runawayjobs
	echo n | timeout 30 sacctmgr -n show runawayjobs | grep 'No runaway jobs'
}

# query SQL: rows of the comparison, one line each.
query() { sqlite3 "$DIR/bill" "$1" 2>&1; }

# forgotten AT: whether slurmctld was killed before it had saved what it was told then.
forgotten() { echo "EXISTS (SELECT 1 FROM kills WHERE victim = 'slurmctld' AND at BETWEEN $1 AND $1 + $UNSAVED)"; }
# Where slurmctld forgot a start and made another, the row keeps the first.
priced="EXISTS (SELECT 1 FROM price WHERE price.job = run.job AND price.start BETWEEN run.start AND run.finish)"
# slurmctld told slurmdbd of the whole run, and was killed before it had saved any of it.
forgotten_whole="finish - submit < $UNSAVED AND $(forgotten finish)"

diag "$(wc -l <"$DIR/submitted") jobs, $(query 'SELECT count(*) FROM run') runs, $(query 'SELECT count(*) FROM price') prices, of which $(
	query 'SELECT count(*) FROM price WHERE d IS NOT NULL') were measured; $(places_seen) places of jobs looked at"
diag "kills: $(query 'SELECT count(*) || " " || victim FROM kills GROUP BY victim' | paste -s -d , | sed 's/,/, /g')"
diag "$(query "SELECT count(*) FROM run WHERE NOT $priced AND elapsed = 0") runs that were requeued in the second of their start, for nothing, have none"
is "0 lost: each run that took time has a price" \
	"$(query "SELECT * FROM run WHERE NOT $priced AND elapsed > 0 AND NOT ($forgotten_whole)")" ""
is "0 doubled: none has two" "$(query 'SELECT job, start, count(*) FROM price GROUP BY job, start HAVING count(*) > 1')" ""
is "nor two for parts of it" "$(query 'SELECT a.job, a.start, a.finish, b.start FROM price a, price b
	WHERE a.job = b.job AND a.start < b.start AND a.finish > b.start')" ""
is "the ledger's log has each price once" "$(query 'SELECT * FROM price WHERE events <> 1')" ""
is "charged is raw*(1-stopped)*(1-d)^2" "$(query 'SELECT * FROM price WHERE abs(charged -
	raw * (1 - coalesce(z, 0)) * (1 - max(coalesce(d, 0), 0)) * (1 - max(coalesce(d, 0), 0))) > 0.51')" ""
is "raw is that of the CPUs" "$(query 'SELECT * FROM run JOIN price USING (job, finish) WHERE raw <> 1000 * cpus')" ""
is "sacct has what the ledger charged" "$(query 'SELECT * FROM run JOIN price USING (job, finish) WHERE billing <> charged')" ""
is "so has scontrol" "$(query 'SELECT * FROM shown LEFT JOIN price USING (job, start)
	WHERE price.job IS NULL OR billing <> charged')" ""
# A row has no start where slurmctld was killed before it told slurmdbd. A run of no time may share its row
# with the next start of the job, as does one that was forgotten as a whole and made anew, even before the
# forgotten one has ended on its node, and one that slurmdbd was not told of at all has none. One that slurmdbd was told of by its end alone has a row without
# account and time of eligibility (58-crashes.t).
unknown() {
	query "SELECT p.job, p.start FROM price p WHERE p.finish - p.start > 1 AND NOT EXISTS (
		SELECT 1 FROM slurm WHERE slurm.job = p.job AND (p.start BETWEEN slurm.start AND slurm.finish OR
			slurm.start = 0 AND slurm.finish = p.finish OR
			slurm.submit <= p.start AND slurm.start > p.start AND $(forgotten p.start)))" |
		while IFS='|' read -r job start; do
			# sacct lists a row that has lost its start or its account only when it is asked for the job.
			SLURM_TIME_FORMAT=%s sacct -D -X -n -P -j "$job" -o JobIDRaw,Start |
				grep -q -E "^$job\|($start|None|Unknown)$" ||
				grep -q "prep/poppa: job $job: neither .* knows its run of $start any more" "$(ctl log slurmctld)" ||
				echo "job $job, start $start"
		done
}
is "no price is of a run that slurmdbd does not know" "$(unknown)" ""
absent='FROM sent WHERE NOT EXISTS (SELECT 1 FROM slurm WHERE slurm.job = sent.job AND submit BETWEEN sent.at - 25 AND sent.at + 1)'
endless='FROM slurm WHERE start > 0 AND finish = 0'
diag "killed with slurmctld before it had saved them: $(query "SELECT count(*) $absent") jobs before their start, $(query "SELECT count(*) $endless") runs before their end, $(
	query "SELECT count(*) FROM run WHERE NOT $priced AND $forgotten_whole") after it, which keep their full price"
is "no other job is lost" "$(query "SELECT * $absent AND NOT $(forgotten at)")" ""
# An array's task has its id, and its row, from its start on.
is "nor any other run" "$(query "SELECT * $endless AND NOT $(forgotten submit) AND NOT $(forgotten start)")" ""
ok "rows of forgotten runs are ended" fix_rows
ok "usage is rolled up" roll_up
is "sreport adds up to what sacct shows" "$(sreport_sum poppa-demo $ACCOUNT)" "$(sacct_sum -A $ACCOUNT)"
[ "$tap_failed" = 0 ] || diag "its tables are kept: $(mktemp -d "$POPPA_SANDBOX/log/kills.XXXX" | tee >(xargs -I{} cp -r "$DIR/." {}))"
done_testing
