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

KILLS=${POPPA_KILLS:-30}
SEED=${POPPA_KILLS_SEED:-$(date +%s)}
W=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/contrib/workloads/contend
ACCOUNT=poppa-kills
FAKE=$SANDBOX_FAKE_PREFIX
SETTLE_TIMEOUT=6
# slurmctld saves its state some seconds after a change: a kill takes along what it was told since.
UNSAVED=10

RANDOM=$SEED
diag "$KILLS kills with POPPA_KILLS_SEED=$SEED"
DIR=$(mktemp -d)
on_exit rm -rf "$DIR"
: >"$DIR/submitted"
: >"$DIR/lanes"
: >"$DIR/stopped"
: >"$DIR/killed"

# pick NUMBER: a random number below it, in $picked. A subshell would have dice of its own.
pick() { picked=$((RANDOM * 32768 + RANDOM)) && picked=$((picked % $1)); }

# nap MILLISECONDS: sleeps for up to that.
nap() {
	pick "$1"
	sleep "$(printf '%d.%03d' $((picked / 1000)) $((picked % 1000)))"
}

# --- The stream.

# send PARTITION OPTION...: a co-located job of the stream.
send() {
	local id partition=$1
	shift
	id=$(as poppa-demo timeout 20 sbatch --parsable -A $ACCOUNT -p "$partition" --colocate -t 1 -o /dev/null "$@") || return
	echo "${id%%;*} $(date +%s)" >>"$DIR/submitted"
}

send_fake() {
	local seconds nodes form
	pick 8 && seconds=$((picked + 1))
	pick 3 && nodes=$((picked / 2 + 1))
	pick 6 && form=$picked
	case $form in
	0) send fake -N$nodes --wrap "sleep $seconds; exit 3" ;;
	1) send fake -N1 --array=1-2 --wrap "sleep $seconds" ;;
	2) send fake -N$nodes --no-requeue --wrap "sleep $seconds" ;;
	*) send fake -N$nodes --wrap "sleep $seconds" ;;
	esac
}

send_real() {
	pick 5
	if [ -x "$W" ]; then
		send real -n1 --wrap "srun $W --line $(home_of)/kills-line --seconds $((picked + 4))"
	else
		send real -n1 --wrap "sleep $((picked + 4))"
	fi
}

# in_queue PARTITION: how many wait or have just begun. A job whose end slurmctld has forgotten runs on for
# it until it asks the node, and then the stream would dry up.
in_queue() { squeue -h -r -A $ACCOUNT -p "$1" -o '%t %M' | awk '$1 != "R" || $2 ~ /^0:[01]/' | wc -l; }

top_up() {
	local n
	for ((n = $(in_queue real); n < 3; n++)); do send_real; done
	for ((n = $(in_queue fake); n < 8; n++)); do send_fake; done
} 2>>"$DIR/sbatch"

# What an administrator does after a crash: Slurm holds a job back that could not be started, or was
# requeued, and drains the node where that was.
attend() {
	local id reason node state
	while read -r id reason; do
		case $reason in
		*held* | *Held*) scontrol release "$id" ;;
		BeginTime) scontrol update job "$id" StartTime=now ;;
		esac
	done < <(squeue -h -r -A $ACCOUNT -t PD -o '%A %r')
	while read -r node state reason; do
		echo "$node $state $reason" >>"$DIR/attended"
		scontrol update node="$node" state=resume
	done < <(sinfo -h -N -o '%N %T %E' | grep -E ' (drain|down|drng|fail)[a-z*]*' | sort -u)
} >/dev/null 2>&1

# --- What must hold at every moment.

# lanes_of NODE: the CPUs of each of its lanes, one line each.
lanes_of() {
	local spec
	spec=$(scontrol -o show node "$1" | sed 's/.* CoresPerSocket=\([0-9]*\).* Sockets=\([0-9]*\).* ThreadsPerCore=\([0-9]*\).*/pack:\2 core:\1 pu:\3/')
	[[ $spec == pack:* ]] || spec=$(scontrol -o show node "$1" |
		tr ' ' '\n' | awk -F= '{ v[$1] = $2 } END { print "pack:" v["Sockets"], "core:" v["CoresPerSocket"], "pu:" v["ThreadsPerCore"] }')
	poppa lanes --topology "$spec" --json | jq -r '.lanes[].pus | sort | join(",")'
}

# cpus LIST: 0-2,5 as 0,1,2,5.
cpus() {
	local part out=
	for part in ${1//,/ }; do out+=" $(seq -s ' ' "${part%-*}" "${part#*-}")"; done
	# shellcheck disable=SC2086
	set -- $out
	(IFS=, && echo "$*")
}

declare -A expanded
# look: each running job of the stream has one whole lane of each of its nodes, and has it alone.
looks=0 seen=0
look() {
	local job nodes list node lane
	local -A owner=()
	while read -r job nodes list; do
		[ -n "${expanded[$list]:-}" ] || expanded[$list]=$(cpus "$list")
		lane=${expanded[$list]}
		for node in $(scontrol show hostnames "$nodes"); do
			seen=$((seen + 1))
			grep -q -x "$lane" "$DIR/lanes-$([ "$node" = "$SANDBOX_REAL_NODE" ] && echo real || echo fake)" ||
				echo "job $job on $node has $list, which is no lane" >>"$DIR/lanes"
			[ -z "${owner[$node/$lane]:-}" ] ||
				echo "jobs ${owner[$node/$lane]} and $job both have $list of $node" >>"$DIR/lanes"
			owner[$node/$lane]=$job
		done
	done < <(scontrol -d show job 2>/dev/null | awk -v account="$ACCOUNT" '
		/^JobId=/ { split($1, id, "="); mine = running = 0 }
		$0 ~ " Account=" account "( |$)" { mine = 1 }
		/ JobState=RUNNING/ { running = 1 }
		mine && running && / CPU_IDs=/ { sub(/Nodes=/, "", $1); sub(/CPU_IDs=/, "", $2); print id[2], $1, $2 }')
	looks=$((looks + 1))
}

# Processes of the jobs that are stopped, and their cgroups that are frozen, of this sandbox's real node.
# A cgroup of poppad's own may be frozen for good: it stops nobody while it is empty.
stopped() {
	local file
	pgrep -u poppa-demo -r T
	find /sys/fs/cgroup \( -path "*slurm_$SANDBOX_REAL_NODE/*" -o -path "*poppa_$SANDBOX_REAL_NODE*" -o \
		-path "*${SANDBOX_REAL_NODE}_slurmstepd.scope*" \) \
		\( -name freezer.state -exec grep -lv THAWED {} + -o -name cgroup.events -exec grep -l 'frozen 1' {} + \) 2>/dev/null |
		while read -r file; do
			[ -z "$(cat "${file%/*}/cgroup.procs" 2>/dev/null)" ] || echo "$file"
		done
}
nothing_stopped() { [ -z "$(stopped)" ]; }

# --- Kills.

gone() { ! ctl pid "$1" >/dev/null 2>&1; }

# start NAME: again and again, since what it needs may be on its way up, too.
start() {
	local try
	for try in 1 2 3 4; do
		gone "$1" || return 0
		[ "$try" = 1 ] || attend
		if ctl start "$1" >"$DIR/start" 2>&1; then return 0; fi
		sleep 1
	done
	gone "$1" && { echo "$1: $(tail -n 3 "$DIR/start")" >>"$DIR/unstarted"; return 1; }
	return 0
}

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
	for d in $daemons; do gone "$d" && start "$d"; done
	return 0
}

clean_up() {
	all_run
	scancel -A $ACCOUNT
	wait_until 60 stream_over
	attend
	sacctmgr -i delete account $ACCOUNT
	ctl reconfigure --reset
	rm -f "$(home_of)/kills-line"
}
stream_over() {
	[ -z "$(squeue -h -A $ACCOUNT 2>&1)" ]
}
on_exit clean_up

settings >/dev/null
sacctmgr -i add account $ACCOUNT >/dev/null
sacctmgr -i add user poppa-demo account=$ACCOUNT >/dev/null
lanes_of "$SANDBOX_REAL_NODE" >"$DIR/lanes-real"
lanes_of "${FAKE}1" >"$DIR/lanes-fake"
is "a fake node has two lanes of eight CPUs" "$(tr , '\n' <"$DIR/lanes-fake" | wc -l) $(wc -l <"$DIR/lanes-fake")" "16 2"
[ -x "$W" ] || diag "mpicc was not found, so the jobs of the real node have no heartbeat"
began=$(date +%s)
ok "the stream begins" wait_until 20 send_fake
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
	wait_until 10 gone "$victim"
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
is "each daemon could be started again" "$(cat "$DIR/unstarted" 2>/dev/null)" ""
is "all kills were made" "$(wc -l <"$DIR/killed")" "$KILLS"

# --- The end of the stream.
diag "at $SECONDS s the stream ends"
all_run
stream_ends() {
	attend
	sleep 1
	stream_over
}
if ! wait_until 60 stream_ends; then
	diag "ended by scancel: $(squeue -h -r -A $ACCOUNT -o '%A %T %r;' | xargs)"
	scancel -A $ACCOUNT
fi
ok "no job is stuck" wait_until 60 stream_ends
idle() { [ "$(sinfo -h -N -o '%N %T' | sort -u | grep -v ' idle$')" = "" ]; }
wait_until 30 idle || attend
ok "no node is stuck" wait_until 30 idle
[ ! -s "$DIR/attended" ] || diag "nodes that an administrator had to resume:" "$(sort "$DIR/attended" | uniq -c)"
is "no lane was wrong or given twice" "$(cat "$DIR/lanes")" ""
cmp_num "and they were looked at" "$seen" '>=' "$KILLS"
is "nothing stayed stopped when poppad was killed" "$(cat "$DIR/stopped")" ""
ok "nothing is stopped now" wait_until 10 nothing_stopped
# A comment has nowhere to go where slurmdbd never heard of an array task's start: such a run has its price
# and is tried again and again.
waiting() {
	jq -r '.[] | "\(.job) \(.start)"' "$POPPA_SANDBOX/state/slurmctld/poppa_unsettled" | while read -r job start; do
		[ -n "$(in_ledger "select 1 from settlement where job = $job and start = $start")" ] || echo "job $job, start $start"
	done
}
wait_until $((SETTLE_TIMEOUT * 5 + 60)) nothing_waits ||
	diag "$(jq length "$POPPA_SANDBOX/state/slurmctld/poppa_unsettled") runs have yet to show their comment in slurmdbd"
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

# Slurm's own mend for rows of forgotten runs, which would count on for ever.
mend_rows() {
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
	query 'SELECT count(*) FROM price WHERE d IS NOT NULL') were measured; $seen places of jobs looked at"
diag "kills: $(query 'SELECT count(*) || " " || victim FROM kills GROUP BY victim' | paste -s -d , | sed 's/,/, /g')"
is "0 lost: each run has a price" "$(query "SELECT * FROM run WHERE NOT $priced AND NOT ($forgotten_whole)")" ""
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
# with the next start of the job, and one that slurmdbd was not told of at all has none.
unknown() {
	query 'SELECT p.job, p.start FROM price p WHERE p.finish - p.start > 1 AND NOT EXISTS (
		SELECT 1 FROM slurm WHERE slurm.job = p.job AND (p.start BETWEEN slurm.start AND slurm.finish OR
			slurm.start = 0 AND slurm.finish = p.finish))' |
		while IFS='|' read -r job start; do
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
is "nor any other run" "$(query "SELECT * $endless AND NOT $(forgotten submit)")" ""
ok "rows of forgotten runs are ended" mend_rows
ok "usage is rolled up" roll_up
is "sreport adds up to what sacct shows" "$(sreport_sum poppa-demo $ACCOUNT)" "$(sacct_sum -A $ACCOUNT)"
[ "$tap_failed" = 0 ] || diag "its tables are kept: $(mktemp -d "$POPPA_SANDBOX/log/kills.XXXX" | tee >(xargs -I{} cp -r "$DIR/." {}))"
done_testing
