#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The ledger as an administrator meets it: prices changed by hand, what it turns away, what its log proves, and
# what becomes of a file that is damaged.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

needs() {
	local c
	for c in "$@"; do command -v "$c" >/dev/null || bail_out "$c is not installed: see contrib/sandbox/install-deps"; done
}
needs jq sqlite3 munge unmunge

file=$POPPA_SANDBOX/state/ledger/ledger.sqlite
munge_socket=$(sed -n 's/^MungeSocket=//p' "$POPPA_CONF")
port=$(sed -n 's/^LedgerListen=.*://p' "$POPPA_CONF")
node1=$(sinfo -h -N -p fake -o %N | sort | sed -n 1p)
node2=$(sinfo -h -N -p fake -o %N | sort | sed -n 2p)

# price ID: the "poppa" part of the job's SystemComment in slurmctld.
price() {
	job_field "$1" SystemComment | sed -n 's/^\(.*; \)\?poppa: \([^;]*\).*$/\2/p'
}
# price_in_sacct ID: the same in slurmdbd.
price_in_sacct() {
	sacct_field "$1" SystemComment | sed -n 's/^\(.*; \)\?poppa: \([^;]*\).*$/\2/p'
}
has_price() {
	[ -n "$(price "$1")" ] && [ "$(price "$1")" = "$(price_in_sacct "$1")" ]
}
billing() {
	tr , '\n' <<<"$1" | sed -n 's/^billing=//p'
}
raw_usage() {
	sshare -n -P -U -u poppa-demo -o RawUsage | tail -n 1
}
in_ledger() {
	sqlite3 -readonly "$file" "$1"
}

# door LINE: what the ledger answers to a line.
door() {
	exec 3<>"/dev/tcp/127.0.0.1/$port" && printf '%s\n' "$1" >&3 && timeout 10 head -n 1 <&3
	exec 3>&-
}
# seal [ENCODER...] <JSON: a credential that anybody may open.
seal() {
	"$@" munge --socket="$munge_socket" | tr -d '\n'
}
# ask USER JSON: the ledger's reply to USER.
ask() {
	local line
	line=$(printf '%s' "$2" | if [ "$1" = root ]; then seal; else seal as "$1"; fi)
	door "$line" | if [ "$1" = root ]; then
		unmunge --socket="$munge_socket" --metadata=/dev/null
	else
		as "$1" unmunge --socket="$munge_socket" --metadata=/dev/null
	fi
}
# refused KIND: how often the ledger has turned that away, ever.
refused() {
	ask root '{"op":"status","nonce":"n"}' | jq ".refused.$1.count // 0"
}
# record JOB NODE UID START MORE...: a final record with half of its time lost.
record() {
	jq -c -n --argjson job "$1" --arg node "$2" --argjson uid "$3" --argjson start "$4" --argjson last "${5:-$4}" '
		{op: "record", nonce: "n", records: [{cluster: "sandbox", job: $job, restart: 0, node: $node, uid: $uid,
		seq: 9, final: true, lane: 0, cores: 8, start: $start, end: $last, co_ns: 2000000000, solo_ns: 0, paused_ns: 0,
		unmeasured_ns: 0, blocks: 99, used: 99, degradation: 0.5, variance: 0.0001, thesis_degradation: null,
		method: "robust", backend: "heartbeat", partners: [1]}]}'
}

ctl reconfigure poppa_settle_timeout=4s
on_exit ctl reconfigure --reset

# --- A price that an administrator changes.
over=$(home_of)/ledger-over
rm -f "$over"
on_exit rm -f "$over"
submit -p fake -N1 --colocate --wrap "sleep 8; until [ -e $over ]; do sleep 0.1; done"
changed=$job
wait_running "$changed"
wait_until 6 sh -c "sacct -X -n -j $changed | grep -q RUNNING"
like "the price of a running job is not changed" "$(poppa settle --job "$changed" --full --reason early 2>&1)" 'still runs'
like "nor that of a job that nobody knows" "$(poppa settle --job 4000000 --full --reason none 2>&1)" 'unknown'
touch "$over"
wait_end "$changed"
ok "a job is settled" wait_until 60 has_price "$changed"
raw=$(billing "$(job_tres "$changed")")
like "a user may not change a price" "$(as_user poppa settle --job "$changed" --charge 1 --reason please 2>&1)" 'only root'
like "nor ask the ledger to" "$(ask poppa-demo '{"op":"change","nonce":"n"}')" 'not allowed'
like "nor may it be raised above raw" \
	"$(poppa settle --job "$changed" --charge $((raw + 1)) --reason more 2>&1)" 'more than'
nok "nor changed without a reason" poppa settle --job "$changed" --charge 1
is "a dry run changes nothing" \
	"$(poppa settle --job "$changed" --full --reason x --dry-run 2>&1; in_ledger "select count(*) from change where job = $changed")" \
	"poppa settle: job $changed is charged $raw already
0"
elapsed=$(sacct_field "$changed" ElapsedRaw)
before=$(raw_usage)
answer=$(poppa settle --job "$changed" --charge $((raw / 4)) --reason 'a disk was broken' --json)
is "root changes it, and it is written" "$(jq -c '[.before, .charged, .written]' <<<"$answer")" "[$raw,$((raw / 4)),true]"
is "scontrol shows the new charge" "$(billing "$(job_tres "$changed")")" $((raw / 4))
is "sacct, too" "$(billing "$(sacct_field "$changed" AllocTRES)")" $((raw / 4))
like "with the comment" "$(price_in_sacct "$changed")" "charged=$((raw / 4)) .*changed=1"
cmp_num "sshare gave the difference back, within 1 %" \
	"$(awk -v a="$before" -v b="$(raw_usage)" -v w=$(((raw - raw / 4) * elapsed)) \
		'BEGIN { d = (a - b) / w - 1; print d < 0 ? -d : d }')" '<=' 0.01
why=$(as_user poppa why "$changed" | tr '\n' ' ')
like "poppa why tells the user who and why" "$why" "an administrator changed its price from $raw to $((raw / 4)): \"a disk was broken\""
unlike "and complains of nothing" "$why" 'show this to the administrators'
ok "a degradation can be set" poppa settle --job "$changed" --degradation 0.5 --reason 'as measured elsewhere'
is "and the run's policy makes the price of it" "$(billing "$(sacct_field "$changed" AllocTRES)")" $((raw / 4))
before=$(raw_usage)
ok "and the full price" poppa settle --job "$changed" --full --reason 'it was not broken'
is "which sacct shows" "$(billing "$(sacct_field "$changed" AllocTRES)")" "$raw"
cmp_num "and sshare took back" \
	"$(awk -v a="$before" -v b="$(raw_usage)" -v w=$(((raw - raw / 4) * elapsed)) \
		'BEGIN { d = (b - a) / w - 1; print d < 0 ? -d : d }')" '<=' 0.01
is "the log has who, why, and both prices" "$(poppa ledger export | jq -c 'select(.kind == "event" and .what == "changed" and
	.settlement.job == '"$changed"') | [.by_uid, .reason, .old.charged, .settlement.charged]' | head -n 1)" \
	"[0,\"a disk was broken\",$raw,$((raw / 4))]"
# shellcheck disable=SC2016
submit -p fake -N1 --colocate --requeue --wrap '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || scontrol requeue "$SLURM_JOB_ID"; sleep 1'
requeued() { [ "$(job_field "$job" Restarts)" = 1 ]; }
wait_until 60 requeued # or it waits for its first start
run_again "$job"
wait_end "$job"
ok "a run is settled whose first start was requeued at once" wait_until 60 eval '[[ $(price_in_sacct "$job") == *restart=1* ]]'
like "and is found, though that may have had no time to be charged" \
	"$(poppa settle --job "$job" --full --reason x --dry-run 2>&1)" "job $job is charged [1-9][0-9]* already"
# A slurmctld that is killed with the change in its hands writes it all the same.
poppa settle --job "$changed" --charge 7 --reason 'killed meanwhile' --wait 0 >/dev/null
on_exit ctl start slurmctld
ctl kill -9 slurmctld
wait_until 10 sh -c "! '$tree/contrib/sandbox/ctl' pid slurmctld"
ctl start slurmctld
shows_seven() {
	[ "$(billing "$(sacct_field "$changed" AllocTRES)")" = 7 ] && [ "$(billing "$(job_tres "$changed")")" = 7 ]
}
ok "a change outlives a kill -9 of slurmctld" wait_until 60 shows_seven

# --- What is turned away, and counted.
for kind in malformed oversized replayed invalid not_allowed malformed_records future_records foreign_records; do
	declare "was_$kind=$(refused "$kind")"
done
grew() {
	local was=was_$1
	cmp_num "$1 is counted" "$(refused "$1")" '>' "${!was}"
}
door hello >/dev/null
grew malformed
(
	exec 3<>"/dev/tcp/127.0.0.1/$port"
	trap '' PIPE
	head -c 300000 /dev/zero | tr '\0' x >&3
) 2>/dev/null
wait_until 10 eval '[ "$(refused oversized)" -gt "$was_oversized" ]'
grew oversized
line=$(printf '{"op":"status","nonce":"n"}' | seal)
door "$line" >/dev/null
door "$line" >/dev/null
grew replayed
door "$(sed 's/.\{9\}$/AAAAAAAA:/' <<<"$(printf '{"op":"status","nonce":"n"}' | seal)")" >/dev/null
grew invalid
ask poppa-demo '{"op":"unsettled","cluster":"sandbox","nonce":"n"}' >/dev/null
grew not_allowed
ask root '{"op":"record","nonce":"n","records":[{"job":1}]}' >/dev/null
grew malformed_records
like "a record of the future is refused" \
	"$(ask root "$(record 1 "$node1" 1 "$(date +%s)" $(($(date +%s) + 4000)))")" 'lies in the future'
grew future_records
rm -f "$over"
submit -p fake -N1 -w "$node1" --colocate --wrap "sleep 2; until [ -e $over ]; do sleep 0.1; done"
foreign=$job
wait_running "$foreign"
ask root "$(record "$foreign" "$node2" "$(id -u poppa-demo)" "$(date +%s)")" >/dev/null
touch "$over"
wait_end "$foreign"
ok "a job is settled that another node sent a record of" wait_until 60 has_price "$foreign"
like "which has no part in its price" "$(price "$foreign")" '^nodata=no-record'
grew foreign_records
is "and is marked in the ledger" "$(in_ledger "select foreign_node from record where job = $foreign and node = '$node2'")" 1
like "and in the log" "$(grep "left out" "$(ctl log ledgerd)" | tail -n 1)" "in the name of node $node2 from local is left out"
like "poppa ledger check shows the counts" "$(poppa ledger check)" 'turned away: [0-9]+ replayed'
like "and so does poppa doctor" "$(poppa doctor 2>&1)" 'replayed'

# --- What the log proves.
head=$(poppa ledger check | sed -n 's/^head //p')
ok "the ledger is sound and has the head that was noted" poppa ledger check --head "$head"
copies=$(mktemp -d)
on_exit rm -rf "$copies"
poppa ledger backup "$copies/copy"
sqlite3 "$copies/copy" 'drop trigger event_unchanged; update event set by_uid = 1 where id = 1'
like "an entry that was changed is found" "$(poppa ledger check --file "$copies/copy")" 'event 1 of the log is not what it was'

# --- A file that is damaged.
submit -n1 --colocate --wrap 'sleep 2'
measured=$job
wait_end "$measured"
ok "a job on a node with poppad is settled" wait_until 60 has_price "$measured"
has_record() {
	[ "$(in_ledger "select count(*) from record where job = $measured and final" 2>/dev/null)" = 1 ]
}
ok "and the ledger has its record" wait_until 30 has_record
prices=$(in_ledger "select count(*) from settlement")
before=$(raw_usage)
shown=$(price "$changed")
ctl stop ledgerd
on_exit ctl start ledgerd
rm -f "$file-wal" "$file-shm"
head -c 100 /dev/urandom | dd of="$file" conv=notrunc status=none
ctl start ledgerd
aside=$(compgen -G "$file.damaged-*" | tail -n 1)
ok "a damaged file is set aside" [ -n "$aside" ]
on_exit rm -f "$aside" "$aside-wal" "$aside-shm"
like "and the log says so, and what to do" "$(grep damaged "$(ctl log ledgerd)" | tail -n 1)" 'poppa ledger rebuild'
is "and so do the metrics, as long as it lies there" "$(poppa metrics --ledger | sed -n 's/^poppa_ledger_set_aside{.*} //p')" \
	"$(compgen -G "$file.damaged-*[0-9]" | wc -l)"
is "the new one is empty" "$(in_ledger 'select count(*) from settlement')" 0
# A poppad that starts asks at once; others do within minutes.
ctl restart poppad
ok "the node sends its record again" wait_until 60 has_record
rebuilt=$(poppa ledger rebuild --json)
# slurmctld may have told the new ledger already what it was still writing back.
cmp_num "the prices are brought back, but for what sacct does not show" "$(jq '.restored + .known' <<<"$rebuilt")" \
	'>' $((prices / 2))
[ "$(jq .restored <<<"$rebuilt")" = "$prices" ] || diag "$(jq .restored <<<"$rebuilt") of $prices"
like "what is lost is listed" "$(jq -r '.lines[]' <<<"$rebuilt")" "job $changed: its price is back; who changed it"
is "the second time there is nothing to do" "$(poppa ledger rebuild --json | jq -c '[.restored, .known > 0]')" '[0,true]'
is "the ledger has the job's last price" "$(in_ledger "select charged from settlement where job = $changed")" 7
is "and says how it came by it" "$(in_ledger "select distinct kind from event where job = $changed")" restored
ok "it is sound" poppa ledger check
ctl restart slurmctld
wait_until 20 sh -c 'scontrol ping | grep -q UP'
sleep 3
is "no job is settled again" "$(in_ledger "select count(*) from event where kind = 'settled' and job in ($changed, $foreign, $measured)")" 0
is "nor its price changed" "$(price "$changed")" "$shown"
cmp_num "nor its refund given twice" \
	"$(awk -v a="$before" -v b="$(raw_usage)" 'BEGIN { d = b / (a > 0 ? a : 1) - 1; print d < 0 ? -d : d }')" '<=' 0.001
like "a price that was brought back can be changed" \
	"$(poppa settle --job "$changed" --full --reason 'after all' 2>&1)" "charged $raw instead of 7"
ok "and the log stays sound" poppa ledger check

# --- Back to a copy, as in docs/operations.md: what came after it comes again.
kept=$copies/kept
ok "the ledger is copied" poppa ledger backup "$kept"
submit -n1 --colocate --wrap 'sleep 2'
measured=$job
wait_end "$measured"
ok "a job ends after that and is settled" wait_until 60 has_price "$measured"
ok "and the ledger has its record" wait_until 30 has_record
shown=$(price "$measured")
ok "the copy is sound" poppa ledger check --file "$kept"
ctl stop ledgerd
mkdir "${file%/*}/before"
on_exit rm -rf "${file%/*}/before"
mv "$file"* "${file%/*}/before"
ok "it is put in the ledger's place" poppa ledger backup --file "$kept" "$file"
chown slurm: "$file"
ctl start ledgerd
is "where the job is not known" "$(in_ledger "select count(*) from settlement where job = $measured")" 0
ctl restart poppad
ok "the node sends its record again" wait_until 60 has_record
ok "and rebuild brings the price back" poppa ledger rebuild
is "which is the same" "$(in_ledger "select json_extract(body, '$.text') from settlement where job = $measured")" "$shown"
is "and was not made again" "$(in_ledger "select count(*) from event where kind = 'settled' and job = $measured")" 0
ok "the log is sound" poppa ledger check
done_testing
