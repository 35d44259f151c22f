#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Limits count the discounted price: what a settlement gives back lets the next job run.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

# A job of 6 seconds costs 100 billing minutes and gets 90 of them back, whatever is measured.
WORK='sleep 6'
LIMIT_ROOM=50

# used WHAT NAME: billing minutes that count against the limit, of an account or a QOS.
used() {
	scontrol -o show assoc_mgr flags="$1" |
		grep -E "^(ClusterName=[^ ]* Account=$2 UserName= |QOS=$2\()" |
		sed -n 's/.*GrpTRESMins=[^ ]*billing=[^(]*(\([0-9]*\)).*/\1/p' | head -n 1
}

waits_for() {
	[ "$(job_field "$1" JobState) $(job_field "$1" Reason)" = "PENDING $2" ]
}

# tight WHAT NAME REASON SBATCH-ARG...: sacctmgr's entity NAME gets a limit that one job's raw price goes
# beyond and its discounted one does not.
tight() {
	local what=$1 name=$2 reason=$3 flag=assoc before after next first
	shift 3
	[ "$what" = account ] || flag=qos
	before=$(used $flag "$name")
	like "$what $name: its usage is known" "$before" '^[0-9]+$'
	sacctmgr -i -Q modify "$what" "$name" set GrpTRESMins=billing=$((before + LIMIT_ROOM)) >/dev/null
	# Nothing is settled without the ledger.
	ctl stop ledgerd
	submit -p real -n1 --colocate "$@" --wrap "$WORK"
	first=$job
	ok "$what $name: a job runs below the limit" wait_end "$first"
	submit -p real -n1 --colocate "$@" --wrap 'true'
	next=$job
	ok "$what $name: its raw price is beyond the limit, the next one waits" wait_until 20 waits_for "$next" "$reason"
	ctl start ledgerd
	ok "$what $name: the job is settled" wait_until 90 settled "$first"
	ok "$what $name: and what it got back lets the next one run" wait_end "$next" 60
	# Until then its own raw price counts, too.
	ok "$what $name: and is settled itself" wait_until 90 settled "$next"
	after=$(used $flag "$name")
	cmp_num "$what $name: about a tenth of the raw price counts" "$((after - before))" '<=' "$LIMIT_ROOM"
	sacctmgr -i -Q modify "$what" "$name" set GrpTRESMins=billing=-1 >/dev/null
}

ctl reconfigure poppa_price=tiers:0=0.9 poppa_settle_timeout=60s
on_exit ctl reconfigure --reset
on_exit ctl start ledgerd

on_exit sacctmgr -i -Q modify account demo set GrpTRESMins=billing=-1
tight account demo AssocGrpBillingMinutes

sacctmgr -i -Q add qos tight part >/dev/null
on_exit sacctmgr -i -Q delete qos tight part
sacctmgr -i -Q modify user poppa-demo set qos+=tight >/dev/null
on_exit sacctmgr -i -Q modify user poppa-demo set qos-=tight
tight qos tight QOSGrpBillingMinutes --qos=tight

scontrol update PartitionName=real QOS=part
on_exit scontrol update PartitionName=real QOS=
tight qos part QOSGrpBillingMinutes

# A QOS that charges half: the refund is of what was charged.
sacctmgr -i -Q modify qos tight set UsageFactor=0.5 >/dev/null
before=$(used qos tight)
submit -p real -n1 --colocate --qos=tight --wrap "$WORK"
wait_end "$job"
ok "with UsageFactor=0.5 a job is settled" wait_until 90 settled "$job"
cmp_num "and a tenth of half its price counts" "$(($(used qos tight) - before))" '<=' 10
cmp_num "which is more than nothing taken off" "$(($(used qos tight) - before))" '>=' 0

# --- What is given back goes by the UsageFactor that the job was charged with, whatever has become of its QOS.
# Usage in billing seconds, of an account of its own.
sacctmgr -i -Q add account factors >/dev/null
sacctmgr -i -Q add user poppa-demo account=factors >/dev/null
on_exit sacctmgr -i -Q delete account factors
sacctmgr -i -Q modify account factors set RawUsage=0 >/dev/null
usage() { sshare -n -P -U -u poppa-demo -A factors -o RawUsage | tail -n 1; }
# slurmctld does not show a UsageFactor; a limit that is set with it tells that it has come.
has_come() { scontrol show assoc_mgr flags=qos qos="$1" | grep -q "GrpJobs=77"; }
is_gone_qos() { ! scontrol show assoc_mgr flags=qos qos="$1" | grep -q "^QOS=$1("; }
for how in changed gone; do
	qos=factor_$how
	sacctmgr -i -Q add qos "$qos" UsageFactor=0.5 >/dev/null
	on_exit sacctmgr -i -Q delete qos "$qos"
	sacctmgr -i -Q modify user poppa-demo where account=factors set qos+="$qos" >/dev/null
	before=$(usage)
	ctl stop ledgerd
	submit -p real -n1 -A factors --colocate --qos="$qos" --wrap "$WORK"
	ok "UsageFactor $how: a job ends" wait_end "$job"
	full=$(($(usage) - before))
	cmp_num "UsageFactor $how: half of its time was charged" \
		"$((2 * full - 1000 * $(sacct_field "$job" ElapsedRaw)))" '<=' 10
	if [ $how = changed ]; then
		sacctmgr -i -Q modify qos "$qos" set UsageFactor=0.1 GrpJobs=77 >/dev/null
		ok "UsageFactor changed: slurmctld knows" wait_until 10 has_come "$qos"
	else
		sacctmgr -i -Q modify user poppa-demo where account=factors set qos-="$qos" >/dev/null
		sacctmgr -i -Q delete qos "$qos" >/dev/null
		ok "UsageFactor gone: slurmctld knows" wait_until 10 is_gone_qos "$qos"
		# One that begins anew has what was written down.
		ctl restart slurmctld
	fi
	ctl start ledgerd
	ok "UsageFactor $how: the job is settled" wait_until 90 settled "$job"
	is "UsageFactor $how: a tenth is charged" "$(shown_billing "$job")" 100
	cmp_num "UsageFactor $how: a tenth of what was charged is left" "$(usage)" '>=' "$((before + full / 10 - 10))"
	cmp_num "UsageFactor $how: and not more" "$(usage)" '<=' "$((before + full / 10 + 10))"
done

# --- A job that was suspended: fair-share and limits count that time like any other, so a share of it is given back.
before=$(usage)
ctl stop ledgerd
submit -p real -n1 -A factors --colocate --wrap 'sleep 20'
wait_running "$job"
sleep 2
scontrol suspend "$job"
sleep 6
scontrol resume "$job"
sleep 2
scancel "$job"
ok "suspended: a job ends" wait_end "$job"
full=$(($(usage) - before))
diag "suspended: $full for $(sacct_field "$job" ElapsedRaw) s without that time"
ctl start ledgerd
ok "suspended: the job is settled" wait_until 90 settled "$job"
is "suspended: a tenth is charged" "$(shown_billing "$job")" 100
cmp_num "suspended: a tenth of what was charged is left" "$(usage)" '>=' "$((before + full / 10 - 10))"
cmp_num "suspended: and not more" "$(usage)" '<=' "$((before + full / 10 + 10))"

# --- A user who is deleted before the settlement: Slurm hands the usage to the account, and so goes what is given back.
account_usage() { sshare -n -P -A heirs -o Account,User,RawUsage | awk -F'|' '$2 == "" { print $3 }'; }
is_gone_user() { ! scontrol -o show assoc_mgr flags=assoc account=heirs | grep -q "UserName=poppa-demo"; }
sacctmgr -i -Q add account heirs >/dev/null
on_exit sacctmgr -i -Q delete account heirs
for user in poppa-demo slurm; do
	sacctmgr -i -Q add user "$user" account=heirs >/dev/null
done
before=$(account_usage)
ctl stop ledgerd
submit -p real -n1 -A heirs --colocate --wrap "$WORK"
ok "deleted user: a job ends" wait_end "$job"
full=$(($(account_usage) - before))
cmp_num "deleted user: its time was charged" "$full" '>=' 5000
sacctmgr -i -Q delete user poppa-demo where account=heirs >/dev/null
ok "deleted user: slurmctld knows" wait_until 10 is_gone_user
cmp_num "deleted user: the account keeps the usage" "$(account_usage)" '>=' "$((before + full - 10))"
ctl start ledgerd
ok "deleted user: the job is settled" wait_until 90 settled "$job"
is "deleted user: a tenth is charged" "$(shown_billing "$job")" 100
cmp_num "deleted user: a tenth of what was charged is left" "$(account_usage)" '>=' "$((before + full / 10 - 10))"
cmp_num "deleted user: and not more" "$(account_usage)" '<=' "$((before + full / 10 + 10))"
# What changes among the account's users has Slurm make its usage anew.
sacctmgr -i -Q delete user slurm where account=heirs >/dev/null
sacctmgr -i -Q add user poppa-demo account=heirs >/dev/null
ok "deleted user: is back" wait_until 10 eval '! is_gone_user'
cmp_num "deleted user: it stays so" "$(account_usage)" '<=' "$((before + full / 10 + 10))"

# --- A partition whose QOS is another by the settlement: what is given back goes to the one that was charged.
sacctmgr -i -Q add qos later >/dev/null
on_exit sacctmgr -i -Q delete qos later
scontrol update PartitionName=real QOS=part
before=$(used qos part)
ctl stop ledgerd
submit -p real -n1 -A factors --colocate --wrap "$WORK"
ok "partition QOS: a job ends" wait_end "$job"
cmp_num "partition QOS: its time was charged" "$(($(used qos part) - before))" '>=' 80
scontrol update PartitionName=real QOS=later
ctl start ledgerd
ok "partition QOS: the job is settled" wait_until 90 settled "$job"
cmp_num "partition QOS: a tenth of what was charged is left" "$(($(used qos part) - before))" '<=' "$LIMIT_ROOM"
done_testing
