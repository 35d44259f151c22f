#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every way in which a job can end: each start of each job is priced once, and the ledger, scontrol, sacct,
# sshare and sreport show the same. The fake nodes have no poppad, so this test reports for them.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

# A core-second counts 1000, and a lane of a fake node has eight cores.
LANE=8000
node() {
	echo "$SANDBOX_FAKE_PREFIX$1"
}

# end NAME ARG...: submits a co-located job for the account of this test, known as NAME from then on.
declare -A id
names=()
end() {
	local name=$1
	shift
	submit -A ends -J "$name" -p fake --colocate "$@"
	id[$name]=$job
	names+=("$name")
	[ -n "$job" ] || fail "$name: submitted"
}

has_nodes() {
	[[ $(job_field "$1" NodeList) == [a-z]* ]]
}

# report NAME ASSIGNMENT...: what report_node says, for all nodes that the job has or had.
report() {
	local name=$1 n
	shift
	wait_until 90 has_nodes "${id[$name]}" || diag "$name: job ${id[$name]} did not start"
	for n in $(scontrol show hostnames "$(job_field "${id[$name]}" NodeList)"); do
		report_node "${id[$name]}" "$n" "$@" || bail_out "the ledger took no record of $name"
	done
}

ended_as() {
	[ "$(db_field "$1" State | cut -d' ' -f1)" = "$2" ]
}

# ledger_has ID RESTART COLUMN: of the settlement of that run.
ledger_has() {
	in_ledger "select $3 from settlement where job = $1 and restart = $2"
}

# priced NAME STATE CHARGED [RESTART]: the job's only or last run has that end and that price, everywhere.
priced() {
	local job_id=${id[$1]} restart=${4:-0}
	wait_settled "$job_id" 90 || diag "$1: job $job_id is $(job_field "$job_id" JobState)"
	ok "$1: sacct has the same price and comment" wait_until 90 in_database "$job_id"
	ok "$1: its end is $2" wait_until 10 ended_as "$job_id" "$2"
	is "$1: scontrol shows the charge" "$(shown_billing "$job_id")" "$3"
	is "$1: the ledger has it once" "$(ledger_has "$job_id" "$restart" charged)" "$3"
}

# first_priced NAME STATE CHARGED: the same of the first run of a job that has been requeued.
first_priced() {
	local job_id=${id[$1]}
	ok "$1: the first run is settled" wait_until 90 run_settled "$job_id" 0
	is "$1: at its own price" "$(ledger_has "$job_id" 0 charged)" "$3"
	ok "$1: which sacct shows beside its end, $2" wait_until 30 row_has "$job_id" "$2" "$3"
}

row_has() {
	sacct -D -X -n -P -j "$1" -o State,AllocTRES | grep -q -E "^$2[^|]*\|(.*,)?billing=$3(,|\$)"
}

# flagged NAME REASON: it ended without a discount and says why.
flagged() {
	priced "$1" COMPLETED "$LANE"
	is "$1: the reason" "$(value "$(part "${id[$1]}")" nodata)" "$2"
}

# qos_usage: what the partition's QOS was charged, which does not decay.
qos_usage() {
	scontrol show assoc_mgr flags=qos qos=ends_all | sed -n '/^QOS=ends_all(/,$s/^ *UsageRaw=//p' | head -n 1
}

# share FIELD: of the account that one decaying job was run for.
share() {
	sshare -n -P -A ends_decay -o "User,$1" | sed -n 's/^|//p'
}

# row_sum [HALVED]: billing times seconds of every run of this account in sacct; half of it for that QOS.
row_sum() {
	sacct -T -D -X -n -P -a -A ends -S "$(at "$first_hour")" -E "$(at "$(next_hour)")" -o QOS,ElapsedRaw,AllocTRES |
		awk -F'[|,]' -v halved="${1:-}" '{
			for (i = 3; i <= NF; i++) if (sub(/^billing=/, "", $i)) sum += $2 * $i * ($1 == halved ? 0.5 : 1)
		} END { print sum + 0 }'
}
# rolled_up: from when slurmdbd rolls up next.
rolled_up() {
	mysql --no-defaults -N -S "$POPPA_SANDBOX/run/mariadb/mariadb.sock" slurm_acct_db \
		-e 'select hourly_rollup from sandbox_last_ran_table'
}

# near NAME GOT WANTED: within a fiftieth.
near() {
	cmp_num "$1" "$(awk -v a="$2" -v b="$3" 'BEGIN { d = b > 0 ? a / b - 1 : 9; print d < 0 ? -d : d }')" '<=' 0.02
}

# Nothing is settled without its records, and these come when this test sends them.
ctl reconfigure poppa_settle_timeout=30m
on_exit ctl reconfigure --reset
# Preemption, and usage that decays fast, for the time of this test.
cp -p "$SLURM_CONF" "$SLURM_CONF.before"
# shellcheck disable=SC2016
on_exit eval 'mv "$SLURM_CONF.before" "$SLURM_CONF"; ctl restart slurmctld'
sed -i '/^PriorityDecayHalfLife=/d' "$SLURM_CONF"
printf '%s\n' PreemptType=preempt/qos PreemptMode=REQUEUE PriorityDecayHalfLife=2 >>"$SLURM_CONF"
sacctmgr -i -Q add account ends ends_decay ends_twin >/dev/null
sacctmgr -i -Q add user poppa-demo account=ends,ends_decay,ends_twin >/dev/null
sacctmgr -i -Q modify account ends_decay ends_twin set RawUsage=0 >/dev/null
sacctmgr -i -Q add qos ends_cancel PreemptMode=cancel >/dev/null
sacctmgr -i -Q add qos ends_requeue PreemptMode=requeue >/dev/null
sacctmgr -i -Q add qos ends_high Preempt=ends_cancel,ends_requeue UsageFactor=0.5 >/dev/null
sacctmgr -i -Q add qos ends_all Flags=NoDecay >/dev/null
sacctmgr -i -Q modify user poppa-demo where account=ends set qos+=ends_cancel,ends_requeue,ends_high >/dev/null
on_exit sacctmgr -i -Q delete qos ends_cancel ends_requeue ends_high ends_all
on_exit sacctmgr -i -Q delete account ends ends_decay ends_twin
ctl restart slurmctld
# Slurm lets usage decay every minute from now on.
started=$SECONDS
minute_over() {
	[ $((SECONDS - started)) -ge 63 ]
}
scontrol update PartitionName=fake QOS=ends_all
on_exit scontrol update PartitionName=fake QOS=
rows_before=$(row_sum ends_high) usage_before=$(qos_usage)

# --- A job that is settled when a part of its usage has decayed, which is below, and its twin of another
# account that has run for less and is settled without a discount.
submit -A ends_decay -p fake --colocate -N1 -x "$(node 1),$(node 2)" --wrap 'sleep 12'
id[decayed]=$job
submit -A ends_twin -p fake --colocate -N1 -x "$(node 1),$(node 2)" --wrap 'sleep 8'
id[twin]=$job

# --- Those that take long come first. Node 1 fails, node 2 is for preemption, the rest have nodes 3 and 4.
# shellcheck disable=SC2016
once='[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || sleep 300; sleep 2'
rest() {
	local name=$1
	shift
	end "$name" -N1 -x "$(node 1),$(node 2)" "$@"
}
rest timeout -t 1 --wrap 'sleep 300'
end node_fail -w "$(node 1)" -N1 --no-requeue --wrap 'sleep 300'
end node_again -w "$(node 1)" -N1 --requeue --wrap "$once"
end cut_off -w "$(node 2)" -N1 -q ends_cancel --wrap 'sleep 300'
end set_back -w "$(node 2)" -N1 -q ends_requeue --requeue --wrap "$once"
rest cancelled --wrap 'sleep 300'
rest never --hold --wrap true
for name in timeout node_fail node_again cut_off set_back; do
	report "$name"
done
# Slowed down half of the time and alone for the rest, then cancelled.
report cancelled '.solo_ns = .co_ns'
sleep 1
scancel "${id[never]}" "${id[cancelled]}"

ctl kill -9 "slurmd-$(node 1)"
scontrol update NodeName="$(node 1)" State=DOWN Reason=54-ends.t
on_exit eval "ctl start slurmd-$(node 1); scontrol update NodeName=$(node 1) State=RESUME"
end high1 -w "$(node 2)" -N1 -q ends_high --wrap 'sleep 3'
end high2 -w "$(node 2)" -N1 -q ends_high --wrap 'sleep 3'
report high1 '.degradation = 0.1'
report high2 '.degradation = 0.2'

# --- Ordinary ends, on two nodes.
rest completed --wrap 'sleep 3'
rest failed --wrap 'sleep 1; exit 3'
rest alone --wrap 'sleep 2'
rest stopped --wrap 'sleep 2'
rest company --wrap 'sleep 2'
rest task --array=1-2 --wrap 'sleep 2'
rest het --wrap 'sleep 2' : -A ends -p fake --colocate -N1 -x "$(node 1),$(node 2)"
id[het2]=$((job + 1))
end both -N2 -x "$(node 1),$(node 2)" --wrap 'sleep 2'
end one_of_two -N2 -x "$(node 1),$(node 2)" --wrap 'sleep 2'
for name in few noise blind sly; do
	rest "$name" --wrap 'sleep 1'
done
# A later word after the last one, the last one twice, and records of other jobs with this id.
report completed '.seq = 7'
report completed '.seq = 7'
report completed '.seq = 8 | .degradation = 0.9'
report completed '.seq = 9 | .degradation = 0.9 | .start -= 86400 | .end -= 86400'
report failed '.degradation = 0.2'
report alone '.solo_ns = .co_ns' '.co_ns = 0' '.degradation = null' '.variance = null'
report stopped '.paused_ns = .co_ns / 9'
report company '.partners = [101, 102, 103]' '.partner_degradation = [0.1, 0.15, 0.25]'
report het
report het2 '.degradation = 0.2'
report few '.degradation = null | .variance = null'
report noise '.variance = 0.1'
report blind '.degradation = null | .variance = null | .backend = "none"'
report sly '.sensing = true'
wait_until 60 has_nodes "${id[both]}"
wait_until 60 has_nodes "${id[one_of_two]}"
report_node "${id[both]}" "$(node 3)"
report_node "${id[both]}" "$(node 4)" '.degradation = 0.1'
report_node "${id[one_of_two]}" "$(node 3)"
report_node "${id[one_of_two]}" "$(node 4)" '.degradation = null | .variance = null'
for i in 1 2; do
	id[task$i]=$(squeue -h -t all -r -o '%A %F_%K' | awk -v t="${id[task]}_$i" '$2 == t { print $1 }')
	report task$i ".degradation = 0.$i"
done

priced completed COMPLETED 2000
priced failed FAILED 5120
priced cancelled CANCELLED 4500
priced alone COMPLETED "$LANE"
is "alone: it is no job without data" "$(value "$(part "${id[alone]}")" d)" 0.0000
priced stopped COMPLETED 1800
priced company COMPLETED 2000
is "company: each partner's part" "$(value "$(part "${id[company]}")" partners)" 101:0.100,102:0.150,103:0.250
priced task1 COMPLETED 6480
priced task2 COMPLETED 5120
# Slurm 26.05 bills a component for the core that it asked for, whatever it has been given.
wait_settled "${id[het]}" 90
het_raw=$(value "$(part "${id[het]}")" raw)
if [ "$(scontrol --version | sed 's/^[^ ]* //; s/[.].*//')" -lt 26 ]; then
	is "het: Slurm counts its lane" "$het_raw" "$LANE"
else
	is "het: Slurm counts what it asked for" "$het_raw" 1000
fi
priced het COMPLETED $((het_raw / 4))
priced het2 COMPLETED $((het_raw * 64 / 100))
priced both COMPLETED 7840
priced one_of_two COMPLETED 9000
is "one_of_two: flagged" "$(value "$(part "${id[one_of_two]}")" partial)" 1/2
flagged few too-few-blocks
flagged noise uncertain
flagged blind no-signal
flagged sly shutter-sensing
is "never: a job cancelled before it started has no price" "$(part "${id[never]}")" ""
is "never: nor is it in the ledger" "$(ledger_has "${id[never]}" 0 charged)" ""

priced node_fail NODE_FAIL 2000
first_priced node_again NODE_FAIL 2000
priced cut_off PREEMPTED 2000
first_priced set_back PREEMPTED 2000
priced high1 COMPLETED 6480
priced high2 COMPLETED 5120
ctl start "slurmd-$(node 1)"
# It may have returned by itself.
scontrol update NodeName="$(node 1)" State=RESUME 2>/dev/null
wait_until 60 nodes_answer
# The first run outlived its slurmd. What ends it would end the second one too, which has the same id. A job of
# another sandbox may have it, too, so this looks at one node alone.
no_old_run() {
	! pgrep --ns "$(ctl pid "slurmd-$(node 1)")" --nslist pid -f "slurmstepd: \\[${id[node_again]}\\.batch\\]"
}
wait_until 60 no_old_run
# slurmd looks once a second whether it is gone, and would take the second run for it.
sleep 3
for name in node_again set_back; do
	scontrol update JobId="${id[$name]}" StartTime=now
done
for name in node_again set_back; do
	wait_until 90 has_nodes "${id[$name]}"
	wait_running "${id[$name]}" 60
	report "$name" '.restart = 1 | .degradation = 0.2'
done
priced node_again COMPLETED 5120 1
priced set_back COMPLETED 5120 1
priced timeout TIMEOUT 2000

# --- The sums. The jobs of the other accounts are not settled yet.
wait_end "${id[decayed]}"
wait_end "${id[twin]}"
roll_up >/dev/null
is "sreport adds up what sacct shows" "$(sreport_sum poppa-demo ends)" "$(row_sum)"
decaying=$(for name in decayed twin; do db_field "${id[$name]}" ElapsedRaw,AllocTRES; done |
	awk -F'[|,]' '{ for (i = 2; i <= NF; i++) if (sub(/^billing=/, "", $i)) sum += $1 * $i } END { print sum }')
near "the partition's QOS was charged the same, with the UsageFactor of each job's own QOS" \
	"$(awk -v a="$usage_before" -v b="$(qos_usage)" -v d="$decaying" 'BEGIN { print b - a - d }')" \
	"$(awk -v a="$rows_before" -v b="$(row_sum ends_high)" 'BEGIN { print b - a }')"

# --- What is given back has decayed as the usage has that it is part of.
wait_until 90 minute_over
is "decayed: not settled yet" "$(part "${id[decayed]}")" ""
level=$(share LevelFS)
usage=$(share RawUsage)
# A job of each account that waits for as long as its account may not run any.
sacctmgr -i -Q modify account ends_decay ends_twin set GrpJobs=0 >/dev/null
for name in decay twin; do
	submit -A ends_$name -p fake --wrap true
	id[wait_$name]=$job
done
# factor NAME: the fair-share factor in the priority of its job, as sprio has it.
factor() {
	sprio -h -n -j "${id[wait_$1]}" -o '%f' | xargs
}
is_before() {
	awk -v a="$(factor "$1")" -v b="$(factor "$2")" 'BEGIN { exit !(a != "" && b != "" && a + 0 > b + 0) }'
}
ok "sprio: the job of the account that used more has a lower fair-share factor" wait_until 75 is_before twin decay
report twin '.degradation = null | .variance = null'
report decayed
wait_settled "${id[decayed]}"
left=$(share RawUsage)
is "decayed: a quarter is charged" "$(shown_billing "${id[decayed]}")" 2000
# A minute may end just then, which takes 1 - 0.693/120 a second off everything.
near "decayed: a quarter of its usage is left" \
	"$(awk -v a="$left" -v b="$usage" 'BEGIN { r = a / b; print r < 0.21 ? r / (1 - 0.693 / 120) ^ 60 : r }')" 0.25
level_rose() {
	awk -v a="$level" -v b="$(share LevelFS)" 'BEGIN { exit !(b > 1.5 * a) }'
}
ok "decayed: and its account has a better place in the queue" wait_until 75 level_rose
is "twin: is charged in full" "$(wait_settled "${id[twin]}"; shown_billing "${id[twin]}")" "$LANE"
ok "sprio: with what it was given back, its job comes first" wait_until 75 is_before decay twin
diag "fair-share factors: $(factor decay) and, without a discount, $(factor twin)"
scancel "${id[wait_decay]}" "${id[wait_twin]}"
# slurmdbd, too, is to roll up again what it hears of late; nothing of that is left for what follows.
for name in wait_decay wait_twin; do
	wait_until 30 ended_as "${id[$name]}" CANCELLED || diag "$name: slurmdbd does not know of its end"
done

# --- The hours before the one in which a job ended had its full price in them: they are rolled up again.
# slurmdbd notes how far it has rolled up when it starts, and then at each hour.
[ -n "$(rolled_up)" ] || ctl restart slurmdbd
has_rolled_up() { [ -n "$(rolled_up)" ]; }
ok "slurmdbd rolls up" wait_until 60 has_rolled_up
end long -N1 -x "$(node 1)" --wrap 'sleep 300'
report long
ok "long: slurmdbd knows that it runs" wait_until 30 ended_as "${id[long]}" RUNNING
roll_up >/dev/null
sleep 2
scancel "${id[long]}"
priced long CANCELLED 2000
start=$(date -d "$(db_field "${id[long]}" Start)" +%s)
is "long: it is to be rolled up from its start, not its end" "$(rolled_up)" "$start"

# --- A job that is resized: Slurm has a row for each size, and all of them have one share charged.
# sizes NAME: seconds and billing of each row, oldest first, and the seconds that the job had that size for.
# Slurm 22.05 has the job's own start in each.
sizes() {
	sacct -D -X -n -P -j "${id[$1]}" -o End,Start,ElapsedRaw,AllocTRES | sort |
		awk -F'[|,]' '{ for (i = 4; i <= NF; i++) if (sub(/^billing=/, "", $i)) print $3, $i, $2 == start ? $3 - before : $3
			start = $2; before = $3 }'
}
smaller() {
	as_user scontrol update JobId="${id[$1]}" NumNodes=1 >/dev/null
	rm -f "$(home_of poppa-demo)/slurm_job_${id[$1]}_resize."{sh,csh}
}
# They end when they are told: a job that has ended before it could be resized has one size.
until_told='trap "exit 0" USR1; sleep 300 & wait'
end resized -N2 -x "$(node 1),$(node 2)" --wrap "$until_told"
end resized_blind -N2 -x "$(node 1),$(node 2)" --wrap "$until_told"
for name in resized resized_blind; do
	wait_running "${id[$name]}" 60
	both=$(job_field "${id[$name]}" NodeList)
	sleep 3
	smaller $name
	kept=$(job_field "${id[$name]}" NodeList)
	gone=$(scontrol show hostnames "$both" | grep -v -x "$kept")
	if [ $name = resized ]; then
		report_node "${id[$name]}" "$kept" '.degradation = 0.5' || bail_out "the ledger took no record of $name"
		resized_gone=$gone
	else
		report_node "${id[$name]}" "$gone" '.degradation = null | .variance = null'
		report_node "${id[$name]}" "$kept" '.degradation = null | .variance = null'
	fi
	# Longer than the size before, so that the two can be told apart.
	sleep 3
	scancel -b -s USR1 "${id[$name]}"
done
wait_end "${id[resized]}"
is "resized: it waits for the node that it has left" "$(part "${id[resized]}")" ""
# Its QOS is charged for the other one at its end.
wait_end "${id[resized_blind]}"
usage_before=$(qos_usage)
report_node "${id[resized]}" "$resized_gone" '.degradation = 0.1'
wait_settled "${id[resized]}" 90
ok "resized: slurmdbd has its price and comment" wait_until 60 in_database "${id[resized]}"
mapfile -t rows <<<"$(sizes resized)"
is "resized: Slurm has two rows of it" "${#rows[@]}" 2
read -r first_s first_charged _ <<<"${rows[0]}"
read -r last_s last_charged small_s <<<"${rows[1]}"
is "resized: the price tells of both" "$(value "$(part "${id[resized]}")" earlier)" "16000:$first_s"
want=$(awk -v a="$first_s" -v b="$small_s" 'BEGIN { d = (0.5 * (a + b) + 0.1 * a) / (2 * a + b); printf "%.0f", 8000 * (1 - d) ^ 2 }')
near "resized: the degradation is that of all the time on all nodes" "$last_charged" "$want"
is "resized: which the ledger has" "$(ledger_has "${id[resized]}" 0 charged)" "$last_charged"
is "resized: the first size has the same share" "$first_charged" $((2 * last_charged))
diag "resized: the QOS was charged $usage_before, now $(qos_usage), rows ${rows[*]}"
near "resized: the usage of both sizes is given back" "$(awk -v a="$usage_before" -v b="$(qos_usage)" 'BEGIN { print a - b }')" \
	$((first_s * (16000 - first_charged) + small_s * (8000 - last_charged)))
like "resized: poppa why tells of it" "$(as_user poppa why "${id[resized]}" | tr '\n' ' ')" \
	"Before it was resized, for $first_s seconds, Slurm counted a billing of 16000: $first_charged of it are charged"
is "resized: poppa report adds up both" "$(as_user poppa report -j "${id[resized]}" --json | jq .total.charged)" \
	$((first_s * first_charged + last_s * last_charged))
like "resized: a changed price is that of all sizes, too" \
	"$(poppa settle --job "${id[resized]}" --charge 1000 --reason 'a disk was broken' 2>&1)" 'charged 1000 instead of'
is "resized: as slurmdbd shows" "$(sizes resized | awk '{ print $2 }' | paste -s)" $'2000\t1000'
flagged resized_blind too-few-blocks
is "resized_blind: both sizes at their full price" "$(sizes resized_blind | awk '{ print $2 }' | paste -s)" $'16000\t8000'
# It tells slurmdbd once more what its records show.
ctl restart slurmctld
restarted=$(ctl pid slurmctld)
wait_until 20 sh -c 'scontrol ping | grep -q UP'
sleep 5
is "resized: slurmctld lives" "$(ctl pid slurmctld)" "$restarted"
is "resized: a restart of slurmctld takes nothing off again" "$(sizes resized | awk '{ print $2 }' | paste -s)" $'2000\t1000'

# --- Out of memory, on the real node and with its limit in force.
conf=$POPPA_SANDBOX/etc/cgroup.conf
cp -p "$conf" "$conf.before"
on_exit eval "mv '$conf.before' '$conf'; ctl restart slurmd"
sed -i 's/^ConstrainRAMSpace=.*/ConstrainRAMSpace=yes/' "$conf"
ctl restart slurmd
submit -A ends -J memory -p real -n1 --mem=64 --colocate --wrap 'sleep 2; head -c 2G /dev/zero | tail'
id[memory]=$job
report memory '.cores = 1'
priced memory OUT_OF_MEMORY 250
done_testing
