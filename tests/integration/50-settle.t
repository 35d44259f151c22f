#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From measured degradation to the bill: every place where Slurm counts, jobs without data, and each
# daemon of the way down and up again.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

W=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/contrib/workloads
# Seconds, as PriorityDecayHalfLife in the sandbox's slurm.conf.
HALF_LIFE=604800

raw_usage() {
	sshare -n -P -U -u poppa-demo -A demo -o RawUsage | tail -n 1
}

# Billing minutes, as GrpTRESMins counts them.
limit_usage() {
	sshare -n -P -U -u poppa-demo -A demo -o GrpTRESRaw | tail -n 1 | tr , '\n' | sed -n 's/^billing=//p'
}

# apart ID...: how far that has grown from what is charged for these jobs, as a share of it, since it was $before at
# the time $since. What earlier jobs used decays meanwhile, once in PriorityCalcPeriod=1 (minute).
apart() {
	sacct -D -X -n -P -j "$(IFS=,; echo "$*")" -o ElapsedRaw,AllocTRES |
		awk -F'[|,]' -v a="$before" -v b="$(raw_usage)" -v s="$since" -v t="$EPOCHREALTIME" -v h="$HALF_LIFE" '
			{ for (i = 2; i <= NF; i++) if (sub(/^billing=/, "", $i)) w += $1 * $i }
			END { d = b - a * 0.5 ^ ((t - s) / h) - w; d = (d < 0 ? -d : d) - a * (1 - 0.5 ^ (60 / h))
				print (w > 0 ? (d < 0 ? 0 : d / w) : 9) }'
}

log_lines() {
	grep -c "$2" "$(ctl log "$1")"
}

# settlements: how many the ledger has made since it was made.
settlements() {
	in_ledger 'select count(*) from settlement'
}

# agree NAME ID: all places show the same price, and the price is the one the facts give.
agree() {
	local text raw charged want
	text=$(part "$2")
	raw=$(value "$text" raw)
	charged=$(value "$text" charged)
	is "$1: scontrol shows the charge" "$(shown_billing "$2")" "$charged"
	ok "$1: sacct shows the same charge and comment" wait_until 30 in_database "$2"
	want=$(awk -v raw="$raw" -v d="$(value "$text" d)" -v z="$(value "$text" stopped)" \
		'BEGIN { if (d < 0) d = 0; print raw * (1 - z) * (1 - d) ^ 2 }')
	# d and stopped are printed with four decimals.
	cmp_num "$1: charged is raw*(1-stopped)*(1-d)^2" \
		"$(awk -v a="$charged" -v b="$want" -v raw="$raw" 'BEGIN { d = a - b; if (d < 0) d = -d; print d / raw }')" \
		'<=' 0.0008
}

# run_pair: two contending jobs side by side, ended and settled: $first, $second and ${pair[1,2]}.
run_pair() {
	local i
	for i in 1 2; do
		submit -n1 --colocate -J settle$i --wrap "srun $W/contend --line $POPPA_SANDBOX/home/poppa-demo/settle-line --seconds 20"
		pair[i]=$job
	done
	first=${pair[1]} second=${pair[2]}
	ok "a pair ends and is settled" eval 'wait_end "$first" 90 && wait_end "$second" 90 && wait_settled "$first" && wait_settled "$second"'
}

# lone ARG...: a co-located job without a partner, on a fake node.
lone() {
	submit -p fake -N1 --colocate "$@"
	[ -n "$job" ]
}

# Enough blocks in a short run, also on a busy machine.
ctl reconfigure poppa_period=100ms poppa_overhead_max=0 poppa_min_blocks=4 poppa_settle_timeout=60s
on_exit ctl reconfigure --reset

# Earlier jobs: Slurm itself adds a suspended job's time up differently in the two places.
wait_until 60 nothing_runs
wait_until 120 nothing_waits || diag "earlier jobs still wait for their price"
roll_up
reported=$(sreport_sum poppa-demo) accounted=$(sacct_sum -u poppa-demo)
[ "$reported" = "$accounted" ] || diag "sreport counts $reported for earlier jobs, sacct $accounted"

# --- A measured pair.
if [ -x "$W/contend" ]; then
	on_exit rm -f "$POPPA_SANDBOX/home/poppa-demo/settle-line"
	# On a busy machine short windows see a job that waits for a processor: long ones, and if even their
	# measurement says too little for a price, once more.
	ctl reconfigure poppa_shutter=20ms poppa_overhead_max=20%
	for attempt in 1 2 3; do
		before=$(raw_usage)
		since=$EPOCHREALTIME
		run_pair
		[[ $(part "$first")$(part "$second") == *nodata=* ]] || break
		diag "attempt $attempt: $(part "$first") / $(part "$second")"
	done
	for i in 1 2; do
		text=$(part "${pair[i]}")
		like "job $i of the pair is settled with its facts" "$text" \
			'^d=-?[0-9.]+ .* co=[0-9.]+ (dco=-?[0-9.]+ )?stopped=[0-9.]+ partners=[0-9]+ raw=1000 charged=[0-9]+ policy=thesis backend=heartbeat'
		is "and names the other job" "$(value "$text" partners)" "${pair[3 - i]}"
		cmp_num "and it was co-located nearly all the time" "$(value "$text" co)" '>' 0.6
		cmp_num "and pays less than Slurm charged" "$(value "$text" charged)" '<' 1000
		like "and keeps the mark of its option" "$(job_field "${pair[i]}" SystemComment)" '^colocate: '
		agree "job $i" "${pair[i]}"
	done
	cmp_num "sshare's raw usage grew by what is charged, within 1 %" "$(apart "${pair[@]}")" '<=' 0.01
	cmp_num "and limits count the same, in minutes" "$(awk -v u="$(raw_usage)" -v m="$(limit_usage)" \
		'BEGIN { d = u / 60 - m; print d < 0 ? -d : d }')" '<=' 1
	like "the pair history learned from it" \
		"$(cat "$POPPA_SANDBOX/state/slurmctld/poppa_pairs" 2>&1)" 'settle1.*settle2'
	# One that is alone, then beside one, alone again, and beside another.
	contend() {
		submit -n1 --colocate -J "$1" --wrap "srun $W/contend --line $POPPA_SANDBOX/home/poppa-demo/settle-line --seconds $2"
	}
	contend stays 40
	stays=$job
	wait_running "$stays"
	came=()
	for i in 1 2; do
		sleep 5
		contend comes$i 9
		came[i]=$job
		wait_end "$job" 60
	done
	wait_end "$stays" 90
	ok "a job whose partners came and went is settled" wait_settled "$stays"
	text=$(part "$stays")
	if [[ $text == *nodata=* ]]; then
		skip "the machine is too busy for a measurement: $text" "of partners that came and went"
	else
		is "it names both" "$(value "$text" partners | tr , '\n' | cut -d: -f1 | sort -n | paste -s -d,)" "${came[1]},${came[2]}"
		cmp_num "it was beside one for part of its time" "$(value "$text" co)" '>' 0.2
		cmp_num "and alone for the rest" "$(value "$text" co)" '<' 0.85
		cmp_num "which has no degradation" "$(awk -v d="$(value "$text" d)" -v want="$(in_ledger "select
			json_extract(body, '\$.degradation') * json_extract(body, '\$.co_ns') / (json_extract(body, '\$.co_ns') +
			json_extract(body, '\$.solo_ns') + json_extract(body, '\$.unmeasured_ns')) from record where job = $stays")" \
			'BEGIN { d -= want; print d < 0 ? -d : d }')" '<=' 0.02
		agree "partners that came and went" "$stays"
	fi
	ctl reconfigure poppa_shutter= poppa_overhead_max=0
else
	skip "mpicc was not found, so there is no workload with a heartbeat" "a measured pair"
	lone --wrap 'sleep 2'
	wait_end "$job"
	wait_settled "$job"
	first=$job
fi

# --- A batch script without srun: its shell is no task, and what it starts may come and go between two looks.
if [ -x "$W/contend" ]; then
	shell_job() {
		submit -p real -n1 --colocate -o /dev/null --wrap "$1"
		scripts+=("$job")
	}
	# told ID MODE...: the share of the run that the node's record tells of as that.
	told() {
		local id=$1 sum=0
		shift
		for mode in "$@"; do sum+=" + json_extract(body, '$.${mode}_ns')"; done
		in_ledger "select ($sum) / 1e9 / $(sacct_field "$id" ElapsedRaw) from record where job = $id"
	}
	contend="$W/contend --line $POPPA_SANDBOX/home/poppa-demo/settle-line"
	busy='bash -c "while [ \$SECONDS -lt 12 ]; do seq 20000 >/dev/null; done"'
	for script in "$contend --seconds 12 & wait" "sleep 4; $contend --seconds 6; sleep 4" \
		'for i in $(seq 12); do seq 300000 >/dev/null; sleep 0.7; done' "$busy"; do
		scripts=()
		shell_job "$contend --seconds 14"
		shell_job "$script"
		for i in "${scripts[@]}"; do
			wait_end "$i"
			ok "\"${script//$W\//}\": job $i is settled" wait_settled "$i"
			cmp_num "all of its time is told of" "$(told "$i" co solo paused unmeasured)" '>' 0.85
			diag "$(part "$i")"
		done
		case $script in
		*'& wait') cmp_num "a program in the background is seen" "$(told "${scripts[1]}" co paused)" '>' 0.6 ;;
		"$busy") cmp_num "nobody is alone beside a busy shell" "$(told "${scripts[0]}" solo)" '<' 0.5 ;;
		*)
			cmp_num "what nobody saw is not measured" "$(told "${scripts[1]}" unmeasured)" '>' 0.1
			like "and marked" "$(part "${scripts[1]}")" ' unmeasured=(0\.[0-9]|1\.)|nodata='
			;;
		esac
	done
fi

# --- Jobs without a partner on nodes without poppad, so that only settlement is tested.
ctl reconfigure poppa_settle_timeout=4s

# --- Jobs that are not co-located are nobody's business.
submit -p fake -n1 --wrap 'sleep 1'
plain=$job
wait_end "$plain"

# --- Every way to end.
submit -p fake -N1 --colocate --wrap 'exit 3'
failed=$job
submit -p fake -N1 --colocate --array=1-2 --wrap 'sleep 1'
array=$job
lone --wrap 'sleep 300'
cancelled=$job
lone -t 1 --signal=B:KILL@55 --wrap 'sleep 300'
killed=$job
wait_running "$cancelled"
scancel "$cancelled"
for i in "$failed" "$cancelled"; do
	ok "job $i, $(wait_end "$i"; job_field "$i" JobState), is settled" wait_settled "$i"
	agree "job $i" "$i"
done
for i in 1 2; do
	id=$(squeue -h -t all -r -o '%A %F_%K' | awk -v t="${array}_$i" '$2 == t { print $1 }')
	ok "array task $i is settled" wait_settled "$id"
	ok "with its own comment in sacct" wait_until 30 sh -c \
		"sacct -X -n -P -j ${array}_$i -o SystemComment | grep -q 'poppa: '"
done
ok "job $killed, killed before its time limit, is settled" wait_settled "$killed" 90
is "a job without --colocate keeps its price" "$(shown_billing "$plain")" 1000
is "and no comment" "$(part "$plain")" ""

# --- What others have written beside it.
lone --wrap 'sleep 4'
noted=$job
wait_running "$noted"
scontrol update JobId="$noted" AdminComment='jobstats: H4sIAAAA;x=1'
ok "a job with a comment of the site's is settled" wait_settled "$noted"
agree "its price" "$noted"
is "the site's comment is as it was" "$(job_field "$noted" AdminComment)" 'jobstats: H4sIAAAA;x=1'
is "in sacct, too" "$(sacct_field "$noted" AdminComment)" 'jobstats: H4sIAAAA;x=1'
like "and SystemComment keeps the mark of the option" "$(job_field "$noted" SystemComment)" '^colocate: .*; poppa: '

# --- Requeued: each start is a run of its own.
# shellcheck disable=SC2016
lone --requeue --wrap '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || sleep 300'
requeued=$job
wait_running "$requeued"
sleep 1
scontrol requeue "$requeued"
run_again "$requeued"
ok "the first run of a requeued job is settled" wait_until 60 run_settled "$requeued" 0
ok "and the second" wait_until 200 run_settled "$requeued" 1
wait_settled "$requeued"
is "and the job shows its last" "$(value "$(part "$requeued")" restart)" 1

# --- No poppad: the price stays, and says so.
ctl stop poppad
on_exit ctl start poppad
ctl reconfigure poppa_settle_timeout=2s
submit -n1 --colocate --wrap 'sleep 1'
nodata=$job
wait_end "$nodata"
ok "a job on a node without poppad is settled after the time-out" wait_settled "$nodata"
is "at the full price, and says why" "$(part "$nodata")" \
	"nodata=no-record raw=1000 charged=1000 policy=thesis"
is "which Slurm shows" "$(shown_billing "$nodata")" 1000
ok "and so does sacct" wait_until 30 in_database "$nodata"

# --- The policy of the partition, of the QOS before it, and a bad one.
# priced_by ARGUMENT...: the policy of a job that is settled with these settings.
priced_by() {
	ctl reconfigure "$@"
	submit -n1 --colocate --wrap 'sleep 1'
	wait_end "$job"
	wait_settled "$job"
	value "$(part "$job")" policy
}
qos=$(sacct_field "$nodata" QOS)
complaint='poppa_price=cheap: price policy "cheap" is unknown'
errors=$(log_lines slurmctld "prep/poppa: PrEpParameters: $complaint.*; the settings of before stay in force")
errors_of_all=$(log_lines slurmctld "$complaint")
is "a partition has a price policy of its own" \
	"$(priced_by poppa_price_partition=real:linear:2/cap=0.3)" linear:2/cap=0.3
is "that of the QOS comes before it" "$(priced_by "poppa_price_qos=$qos:solo")" solo
is "the ledger has a price's policy and the version of its formula" \
	"$(in_ledger "select json_extract(body, '\$.policy'), json_extract(body, '\$.version') from settlement where job = $nodata")" \
	"thesis|$(sed -n 's/^#define PRICE_VERSION //p' "$tree/src/accounting/record/price.h")"
is "a bad policy leaves the last good one in force" "$(priced_by poppa_price=cheap)" solo
is "and is logged once" "$(($(log_lines slurmctld "prep/poppa: PrEpParameters: $complaint.*; the settings of before stay in force") - errors))" 1
is "by each of the three plugins that read the settings" "$(($(log_lines slurmctld "$complaint") - errors_of_all))" 3
ctl restart slurmctld
is "also in a slurmctld that starts with it" "$(priced_by poppa_settle_timeout=3s)" solo
ctl reconfigure --reset

# --- slurmctld restarts while a job waits for its records.
ctl reconfigure poppa_settle_timeout=10m
submit -n1 --colocate --wrap 'sleep 1'
waiting=$job
wait_end "$waiting"
sleep 2
is "without its record a job is not settled before the time-out" "$(part "$waiting")" ""
ctl restart slurmctld
sleep 2
is "nor because slurmctld restarts" "$(part "$waiting")" ""
ctl start poppad
ok "it is settled when the record comes" wait_settled "$waiting"
unlike "and not as one without a record" "$(part "$waiting")" 'no-record'
is "a record that comes after settlement changes nothing" "$(part "$nodata")" \
	"nodata=no-record raw=1000 charged=1000 policy=thesis"

# --- A reconfiguration, for which newer releases begin a new slurmctld beside the old one, and a restart: between
# the ends of runs and their settlement, and in the middle of that. Of two of the runs nothing but the plugin tells.
is_same() { awk -v d="$(apart "${runs[@]}")" 'BEGIN { exit !(d <= 0.01) }'; }
is_up() { scontrol ping | grep -q UP; }
has_slurmctld() {
	case $1 in
	reconfigure) scontrol reconfigure ;;
	restart) ctl restart slurmctld ;;
	esac
	wait_until 20 is_up
}
for how in reconfigure restart; do
	before=$(raw_usage)
	since=$EPOCHREALTIME
	lone --wrap 'sleep 2'
	ended=$job
	runs=("$ended")
	lone --requeue --wrap 'sleep 300'
	runs+=("$job")
	lone --requeue --wrap 'sleep 300'
	runs+=("$job")
	declare -A began=() was_on=()
	for i in "${runs[@]}"; do
		wait_until 30 eval '[ "$(job_field "$i" JobState)" != PENDING ]'
		began[$i]=$(date -d "$(job_field "$i" StartTime)" +%s)
		was_on[$i]=$(job_field "$i" NodeList)
	done
	wait_end "$ended"
	sleep 2
	# What waits is written down once a second: of the second one's end that has yet to come.
	scontrol requeuehold "${runs[1]}"
	sleep 0.3
	scontrol requeuehold "${runs[2]}"
	has_slurmctld $how
	is "$how: nothing is settled for it" "$(part "$ended")" ""
	for i in "${runs[@]}"; do
		report_node "$i" "${was_on[$i]}" ".start = ${began[$i]} | .end = ${began[$i]}" || bail_out "the ledger took no record"
		has_slurmctld $how
	done
	for i in "${runs[@]}"; do
		ok "$how: job $i is settled" wait_until 60 run_settled "$i" 0
		is "$how: with its record" "$(in_ledger "select charged from settlement where job = $i")" 2000
	done
	of_runs="job in ($(IFS=,; echo "${runs[*]}"))"
	is "$how: each once" "$(in_ledger "select count(*) from event where kind = 'settled' and $of_runs")" 3
	ok "$how: and nothing waits any more" wait_until 90 nothing_waits
	wait_until 30 is_same
	cmp_num "$how: sshare has what sacct adds up to" "$(apart "${runs[@]}")" '<=' 0.01
	scancel "${runs[@]}"
done

# --- The ledger is down: no conclusion without it.
ctl reconfigure poppa_settle_timeout=30s
wait_until 10 sh -c 'scontrol ping | grep -q UP'
errors=$(log_lines slurmctld 'stay unsettled')
ctl stop ledgerd
on_exit ctl start ledgerd
submit -n1 --colocate --wrap 'sleep 1'
outage=$job
wait_end "$outage"
sleep 6
is "while the ledger is down a job stays unsettled" "$(part "$outage")" ""
# A run whose record slurmctld no longer has, since the next run took its place.
lone --requeue --hold --wrap 'sleep 300'
forgotten=$job
scontrol release "$forgotten"
wait_running "$forgotten"
scontrol requeuehold "$forgotten"
wait_until 20 sh -c "scontrol show job $forgotten | grep -q JobState=PENDING"
is "and slurmctld's log says so once" "$(($(log_lines slurmctld 'stay unsettled') - errors))" 1
ctl restart slurmctld
ctl start ledgerd
ok "a run that only the plugin remembers is settled across a restart of slurmctld" \
	wait_until 90 run_settled "$forgotten" 0
ok "it is settled when the ledger is back" wait_settled "$outage" 90
unlike "with what the node had kept" "$(part "$outage")" 'no-record'

# --- slurmdbd is down: slurmctld shows the price at once, the database as soon as it can.
ctl stop slurmdbd
on_exit ctl start slurmdbd
submit -n1 --colocate --wrap 'sleep 1'
late=$job
wait_end "$late"
ok "without slurmdbd a job is settled" wait_settled "$late"
ctl start slurmdbd
ok "and sacct shows it once slurmdbd is back" wait_until 90 in_database "$late"

# --- Settled stays settled.
before=$(raw_usage)
count=$(settlements)
text=$(part "$first")
scontrol reconfigure
ctl restart slurmctld
wait_until 10 sh -c 'scontrol ping | grep -q UP'
sleep 3
is "a restart of slurmctld changes no settlement" "$(part "$first")" "$text"
ok "nor what sacct shows" in_database "$first"
is "settles nothing again" "$(settlements)" "$count"
cmp_num "and refunds nothing again" \
	"$(awk -v a="$before" -v b="$(raw_usage)" 'BEGIN { d = b / (a > 0 ? a : 1) - 1; print d < 0 ? -d : d }')" '<=' 0.001
ctl kill -9 slurmctld
wait_until 10 sh -c "! '$tree/contrib/sandbox/ctl' pid slurmctld"
ctl start slurmctld
is "nor does a kill -9" "$(part "$first")" "$text"
sleep 3
ok "sacct still shows it" in_database "$first"
is "and the ledger has no more settlements" "$(settlements)" "$count"
ctl kill -9 ledgerd
wait_until 10 sh -c "! '$tree/contrib/sandbox/ctl' pid ledgerd"
ctl start ledgerd
is "a kill -9 of the ledger loses none" "$(settlements)" "$count"

# --- The file, with the daemon at work on it.
copies=$(mktemp -d)
on_exit rm -rf "$copies"
ok "the ledger's file is sound" poppa ledger check
ok "it can be copied while it is in use" poppa ledger backup "$copies/ledger"
is "the copy has as many settlements" "$(poppa ledger check --file "$copies/ledger" --json | jq .settlements)" "$count"
is "the export too" "$(poppa ledger export | jq -c 'select(.kind == "settlement")' | wc -l)" "$count"
nok "a user cannot read it" as_user poppa ledger export

# --- sreport adds up what sacct shows.
wait_until 60 nothing_runs
ok "usage is rolled up" roll_up
is "sreport's sum grew by that of the settled jobs" "$(($(sreport_sum poppa-demo) - reported))" "$(($(sacct_sum -u poppa-demo) - accounted))"

# --- The ledger's door.
munge=$(sed -n 's/^MungeSocket=//p' "$POPPA_CONF")
port=$(sed -n 's/^LedgerListen=.*://p' "$POPPA_CONF")
reply=$(exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'hello\n' >&3 && timeout 5 head -c 6 <&3)
is "a line that is no credential is answered" "$reply" "MUNGE:"
nok "a line without end is cut off" bash -c "
	exec 3<>/dev/tcp/127.0.0.1/$port
	trap '' PIPE
	for i in \$(seq 100); do head -c 8192 /dev/zero >&3 || exit 1; sleep 0.01; done"
foreign=$(printf '{"op":"unsettled","cluster":"sandbox","nonce":"x"}' |
	as_user munge --socket="$munge" | tr -d '\n')
answer=$(exec 3<>"/dev/tcp/127.0.0.1/$port" && printf '%s\n' "$foreign" >&3 && timeout 5 head -n 1 <&3)
like "a user may not ask for everybody's jobs" \
	"$(as_user unmunge --socket="$munge" <<<"$answer" 2>&1)" 'not allowed'
answer=$(exec 3<>"/dev/tcp/127.0.0.1/$port" && printf '%s\n' "$foreign" >&3 && timeout 5 head -n 1 <&3)
like "a credential counts once" \
	"$(as_user unmunge --socket="$munge" <<<"$answer" 2>&1)" '[Rr]eplayed'
ok "and the ledger serves on" ctl pid ledgerd
done_testing
