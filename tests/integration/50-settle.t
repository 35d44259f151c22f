#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From the end of a run to the bill: every place where Slurm counts, jobs without data, and each daemon of the
# way down and up again.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/settle.sh
. "$(dirname "$0")/settle.sh"

ctl reconfigure poppa_period=100ms poppa_overhead_max=0 poppa_min_blocks=4 poppa_settle_timeout=60s
on_exit ctl reconfigure --reset

note_usage

# --- Jobs without a partner on nodes without poppad, so that only settlement is tested.
ctl reconfigure poppa_settle_timeout=4s

# What is settled here stays so to the end.
lasting || bail_out "job $job does not run"
first=$job
report_node "$first" "$(job_field "$first" NodeList)" || bail_out "the ledger took no record"
over
wait_end "$first"
ok "a job with a record is settled" wait_settled "$first"
like "with a discount" "$(part "$first")" '^d=0[.]5.* raw=8000 charged=2000 '
agree "with a record" "$first"

# --- What doctor counts before the suite is taken out, or slurmctld is stopped for good: here no node ever reports.
doctor_counts() {
	grep -qE "settling +$1 ended runs? waits? for a bill" <<<"$(poppa doctor 2>&1)"
}
ctl reconfigure poppa_settle_timeout=60s
submit -p fake -N1 --colocate --wrap 'sleep 1'
late=$job
wait_end "$late"
ok "doctor counts a run that the ledger has not heard of" doctor_counts '[1-9][0-9]*'
ctl reconfigure poppa_settle_timeout=4s
ok "which is settled" wait_settled "$late"
ok "and is not counted any more once sacct shows it" wait_until 60 doctor_counts 0
ok "which it does by then" in_database "$late"

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
lasting || bail_out "job $job does not run"
noted=$job
scontrol update JobId="$noted" AdminComment='jobstats: H4sIAAAA;x=1'
over
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
# From Slurm 23.11 on a reconfiguration begins a new slurmctld, which finds the last good settings in its state.
of_prep="prep/poppa: PrEpParameters: $complaint.*; the \(settings of before stay\|last good settings are\) in force"
errors=$(log_lines slurmctld "$of_prep")
errors_of_all=$(log_lines slurmctld "$complaint")
is "a partition has a price policy of its own" \
	"$(priced_by poppa_price_partition=real:linear:2/cap=0.3)" linear:2/cap=0.3
is "that of the QOS comes before it" "$(priced_by "poppa_price_qos=$qos:solo")" solo
is "the ledger has a price's policy and the version of its formula" \
	"$(in_ledger "select json_extract(body, '\$.policy'), json_extract(body, '\$.version') from settlement where job = $nodata")" \
	"thesis|$(sed -n 's/^#define PRICE_VERSION //p' "$tree/src/accounting/record/price.h")"
is "a bad policy leaves the last good one in force" "$(priced_by poppa_price=cheap)" solo
is "and is logged once" "$(($(log_lines slurmctld "$of_prep") - errors))" 1
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
usage_agrees

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
