#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Work that fits into its time limit alone also ends beside a partner that slows it down, though daemons are killed while
# its end moves. With stripe_timelimit=wall it is killed.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

PROGRAMS=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/tests/integration
FILE=$(home_of)/quarrel
LOSS=0.6
# Seconds alone. The limit is 120: what the program waits for a processor of a busy machine is not given back to it, for no
# co-runner causes that.
WORK=80

on_exit rm -f "$FILE"
on_exit ctl reconfigure --reset
# Shutters long enough for a program that is mostly asleep.
settings=(poppa_period=300ms poppa_shutter=20ms poppa_overhead_max=0 poppa_min_blocks=4 poppa_turns=no)

# pair: a job with that work, and its partner; their ids are in $worker and $partner.
pair() {
	submit -p real -n1 --colocate -t 20 -o /dev/null --wrap "srun $PROGRAMS/quarrel $FILE 0 900 $LOSS"
	partner=$job
	wait_running "$partner"
	submit -p real -n1 --colocate -t 2 -o "$(home_of)/work-%j.out" --wrap "srun $PROGRAMS/quarrel $FILE 1 900 $LOSS 900 $WORK"
	worker=$job
	wait_running "$worker"
}
end() { date -d "$(job_field "$worker" EndTime)" +%s; }
begin() { date -d "$(job_field "$worker" StartTime)" +%s; }
moved() { [ "$(($(end) - $(begin)))" -gt "$1" ]; }

ctl reconfigure "${settings[@]}"
pair
ok "the end moves" wait_until 110 moved 150
for daemon in poppad ledgerd slurmctld poppad; do
	# slurmctld saves its jobs within seconds where the disk is not busy, and a moved end with them.
	[ $daemon != slurmctld ] || {
		saved=$(mktemp)
		ok "slurmctld saves the job" wait_until 60 test "$POPPA_SANDBOX/state/slurmctld/job_state" -nt "$saved"
		rm -f "$saved"
	}
	ctl kill -9 "$daemon"
	wait_until 30 is_gone "$daemon"
	sleep 1
	ctl start "$daemon"
	ok "$daemon is killed: the end stays moved" wait_until 30 moved 150
	sleep 4
done
ok "it ends" wait_end "$worker" 480
diag "its end: $(($(end) - $(begin))) s; $(cat "$(home_of)/work-$worker.out")"
is "after all of its work, and not by its limit" "$(job_field "$worker" JobState)" COMPLETED
cmp_num "which took longer than the limit that was asked for: seconds" \
	"$(sed -n 's/.*seconds=\([0-9.]*\).*/\1/p' "$(home_of)/work-$worker.out")" '>' 150
ok "it is settled" wait_settled "$worker"
like "and the bill says how far its end was moved" "$(part "$worker")" ' extended=[0-9]+'
end_jobs "$partner"

ctl reconfigure "${settings[@]}" stripe_timelimit=wall
pair
ok "with stripe_timelimit=wall it ends, too" wait_end "$worker" 240
is "but is killed at its limit" "$(job_field "$worker" JobState)" TIMEOUT
end_jobs "$partner"
done_testing
