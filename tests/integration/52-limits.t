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
done_testing
