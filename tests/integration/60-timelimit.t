#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The time limit of a co-located job counts its progress: its end moves with what records say that it has lost, within
# Slurm's limits, and neither a restart nor a lie moves it further. POPPA_KILLS=N: so many daemons are killed or restarted meanwhile.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/settle.sh
. "$(dirname "$0")/settle.sh"
# shellcheck source=tests/integration/timelimit.sh
. "$(dirname "$0")/timelimit.sh"

# kills DAEMON: and starts it again, unless that is the ledger.
kills() {
	ctl kill -9 "$1"
	wait_until 30 is_gone "$1"
	[ "$1" = ledgerd ] || ctl start "$1"
	wait_until 60 nodes_answer
}
on_exit clear_all
clear_all() {
	scancel -u poppa-demo -p fake
	wait_until 60 nothing_runs
}
on_exit ctl reconfigure --reset

diag "a job that loses half of its time"
limited 1
beyond=$job
tells "$beyond" '.degradation = 0.9'
limited 3
first=$job
tells "$first"
ok "its end moves" wait_until 60 longer "$first" 350
cmp_num "by what it will have lost then" "$(length "$first")" '<' 380
is "TimeLimit shows it in whole minutes" "$(limit "$first")" 00:07:00
like "SystemComment says what was asked for" "$(limit_part "$first")" '^asked=3 set=7 cap=0 restart=0 extended=18[0-9]$'
like "squeue knows what is left" "$(squeue -h -j "$first" -o %L)" '^[4-6]:[0-9][0-9]$'
is "five times the limit is the most" "$(length "$beyond") $(limit_part "$beyond")" \
	"360 asked=1 set=6 cap=0 restart=0 extended=300 bound=most"
moved=$(length "$first")

diag "slurmctld is killed, and so is the ledger"
saves_jobs
kills slurmctld
is "the end is as before" "$(length "$first")" "$moved"
a_pass
is "and no loss is counted twice" "$(length "$first")" "$moved"
kills ledgerd
sleep 12
is "without a ledger no end moves" "$(length "$first")" "$moved"
ctl start ledgerd

diag "what moves no end"
limited 5
sensing=$job
limited 5
culprit=$job
limited 5
blind=$job
tells "$blind" ".culprit = $culprit" '.unmeasured_ns = 40000000000' '.co_ns = 40000000000'
limited 5
early=$job
limited 5
hasty=$job
tells "$hasty" ".culprit = $early" '.unmeasured_ns = .co_ns / 2' '.co_ns = .co_ns / 2'
a_pass
tells "$sensing" '.sensing = true'
tells "$culprit"
tells "$early"
a_pass
is "a job that reacts to shutters is not moved" "$(length "$sensing") $(limit "$sensing")" "300 00:05:00"
is "nor one that keeps another from being measured" "$(length "$culprit") $(limit "$culprit")" "300 00:05:00"
like "for some time, as SystemComment says" "$(limit_part "$culprit")" '^asked=5 set=5 cap=0 restart=0 extended=0 refused=[0-9]+$'
ok "one that is named for some seconds at the start of a run is moved" longer "$early" 300
# Nobody names it any more.
scancel "$blind"
saves_jobs
kills slurmctld
tells "$culprit"
a_pass
is "also after slurmctld was killed" "$(length "$culprit") $(limit "$culprit")" "300 00:05:00"

scancel "$sensing" "$culprit" "$early" "$hasty"

diag "bounds"
most=$(scontrol show partition fake | sed -n 's/.*MaxTime=\([^ ]*\).*/\1/p')
scontrol update PartitionName=fake MaxTime=4
on_exit scontrol update PartitionName=fake MaxTime="$most"
limited 2
bounded=$job
tells "$bounded" '.degradation = 0.8'
ok "an end moves to the partition's MaxTime" wait_until 60 longer "$bounded" 200
is "and no further" "$(length "$bounded") $(limit "$bounded")" "240 00:04:00"
like "which SystemComment says" "$(limit_part "$bounded")" ' bound=partition$'
scontrol update PartitionName=fake MaxTime="$most"
limited 2
lowered=$job
tells "$lowered" '.degradation = 0.6'
wait_until 60 longer "$lowered" 240
as_user scontrol update JobId="$lowered" TimeLimit=3
a_pass
is "a limit that its user lowers is a bound" "$(length "$lowered") $(limit "$lowered")" "180 00:03:00"
scontrol requeuehold "$lowered"
held() { [ "$(job_field "$1" JobState)" = PENDING ] && [ "$(limit "$1")" = 00:02:00 ]; }
ok "a job that is requeued asks for what it asked for at first" wait_until 90 held "$lowered"

diag "stripe_timelimit=wall"
ctl reconfigure stripe_timelimit=wall
limited 5
wall=$job
tells "$wall"
sleep 22
is "ends do not move" "$(length "$wall") $(limit "$wall")" "300 00:05:00"
ctl reconfigure stripe_timelimit=
ok "until it is progress again" wait_until 60 longer "$wall" 400

diag "the end"
ok "a job is let run behind the limit that was asked for" wait_until 120 ran_for "$beyond" 95
ok "and behind the next look at limits" job_runs "$beyond"
scancel "$first"
wait_end "$first"
report_node "$first" "$(sacct_field "$first" NodeList)" ".seq = 99" || diag "the ledger took no final record"
ok "it is settled" wait_settled "$first"
like "and its bill says how far its end was moved" "$(part "$first")" ' extended=[0-9]+'

daemons=(slurmctld poppad ledgerd slurmd slurmdbd)
KILLS=${POPPA_KILLS:-6}
diag "each daemon in turn, $KILLS times: mostly kill -9, now and then a restart"
RANDOM=60
moving=() wrong=
# In minutes, and the most that is told of is lost: half, and what the interval adds to it.
ASKED=120
MOST=$((ASKED * 60 * 10000 / (10000 - 5020) + 2))
for i in 1 2 3; do
	lone -t "$ASKED" --wrap 'sleep 86400'
	moving+=("$job")
done
submit -p real -n1 --colocate -t "$ASKED" --wrap 'sleep 86400'
alone=$job
for job in "${moving[@]}" "$alone"; do wait_running "$job"; done
daemons+=("slurmd-$(job_field "${moving[0]}" NodeList)")
saves_jobs
# tells_of JOB HUNDREDTHS: as soon as there is a ledger.
tells_of() { wait_until 30 tells "$1" ".degradation = 0.$2"; }
# look JOB MOST: adds to $wrong what is not as it must be at every moment.
look() {
	local part seconds
	part=$(limit_part "$1") seconds=$(length "$1")
	[ "$seconds" -ge $((ASKED * 60)) ] && [ "$seconds" -le "$2" ] && [[ -z $part || $part == "asked=$ASKED "* ]] ||
		wrong+="$daemon, kill $kill: job $1 ends after $seconds s: $part"$'\n'
}
declare -A made=()
for ((kill = 1; kill <= KILLS; kill++)); do
	daemon=${daemons[kill % ${#daemons[@]}]} how=kill
	[ $((RANDOM % 4)) != 0 ] || how=restart
	for i in 0 1 2; do tells_of "${moving[i]}" "$((30 + (kill * 7 + i * 5) % 21))"; done
	sleep "$((RANDOM % 6)).$((RANDOM % 10))"
	if [ $how = kill ]; then
		ctl kill -9 "$daemon"
		wait_until 30 is_gone "$daemon"
		ctl start "$daemon"
	else
		ctl restart "$daemon"
	fi >/dev/null || wrong+="$daemon, kill $kill: it does not start"$'\n'
	made[$how $daemon]=$((${made[$how $daemon]:-0} + 1))
	wait_until 30 eval '[ -n "$(job_field "$alone" EndTime)" ]'
	for i in 0 1 2; do look "${moving[i]}" "$MOST"; done
	look "$alone" $((ASKED * 60))
	[ $((kill % 20)) != 0 ] || diag "$kill after $SECONDS s; wrong so far: ${wrong:-nothing}"
done
diag "$(for how in "${!made[@]}"; do echo "$how: ${made[$how]}"; done | sort)"
is "no limit is lost, and no loss counts twice" "$wrong" ""
for i in 0 1 2; do tells_of "${moving[i]}" 50; done
at_the_end() { [ "$(length "$1")" -le "$MOST" ] && [ "$(length "$1")" -ge $((MOST * 98 / 100)) ]; }
ok "and all end as the last records say" \
	wait_until 60 eval 'at_the_end "${moving[0]}" && at_the_end "${moving[1]}" && at_the_end "${moving[2]}"'
diag "$(for job in "${moving[@]}"; do limit_part "$job"; done)"
scancel "$alone"
done_testing
