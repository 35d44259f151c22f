#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld's StateSaveLocation stands still, as on a file server that hangs, while runs are settled: slurmctld
# serves on, as stock Slurm does, and afterwards nothing was refunded twice or not at all.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/settle.sh
. "$(dirname "$0")/settle.sh"

module=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/tests/integration/.libs/stalled.so
[ -r "$module" ] || skip_all "$module is not built"
stall=$POPPA_SANDBOX/tmp/stall
rm -f "$stall" "$stall.log"
install -m 666 /dev/null "$stall.log"

ctl stop slurmctld
on_exit ctl restart slurmctld
on_exit rm -f "$stall" "$stall.log"
on_exit ctl reconfigure --reset
STALL=$stall LD_PRELOAD=$module ctl start slurmctld
ctl reconfigure poppa_settle_timeout=4s

# waits CALL FILE: slurmctld is at it, and does not come back from it. Both are regular expressions.
waits() {
	grep -q "^$1 .*/$2\$" "$stall.log"
}

# serves NAME: slurmctld answers a question, and takes the write lock on jobs for a change.
serves() {
	ok "$1: squeue answers" timeout 60 squeue -h
	ok "$1: and a job can be changed" timeout 60 scontrol update JobId="$witness" Nice=1
	ok "$1: the files stood still all the while" test -e "$stall"
}

submit -p fake -N1 -H --wrap true
witness=$job
since=$EPOCHREALTIME
before=$(raw_usage)
settled=()
for what in poppa_refunds state/slurmctld/; do
	lone --wrap 'sleep 2'
	wait_running "$job"
	report_node "$job" "$(job_field "$job" NodeList)" || bail_out "the ledger took no record"
	: >"$stall.log"
	echo "$what" >"$stall"
	if [ "$what" = poppa_refunds ]; then
		ok "a settlement cannot enter its refund" wait_until 90 waits write poppa_refunds
	else
		ok "a settlement cannot write any file" wait_until 90 waits '[a-z0-9]*' 'poppa_[a-z_.]*'
	fi
	serves "$what"
	rm "$stall"
	wait_end "$job"
	ok "and goes on when $what does" wait_settled "$job"
	agree "$what" "$job"
	settled+=("$job")
done
cmp_num "each was refunded once" "$(apart "${settled[@]}")" '<=' 0.01
done_testing
