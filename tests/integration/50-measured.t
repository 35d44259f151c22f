#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From measured degradation to the bill: a pair, partners that come and go, and scripts whose tasks poppad has to find.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/settle.sh
. "$(dirname "$0")/settle.sh"

W=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/contrib/workloads
# run_pair: two contending jobs side by side, ended and settled: $first, $second and ${pair[1,2]}.
run_pair() {
	local i
	for i in 1 2; do
		submit -n1 --colocate -J settle$i --wrap "srun $W/contend --line $POPPA_SANDBOX/home/poppa-demo/settle-line --seconds 14"
		pair[i]=$job
	done
	first=${pair[1]} second=${pair[2]}
	ok "a pair ends and is settled" eval 'wait_end "$first" 90 && wait_end "$second" 90 && wait_settled "$first" && wait_settled "$second"'
}

# Enough blocks in a short run, also on a busy machine.
ctl reconfigure poppa_period=100ms poppa_overhead_max=0 poppa_min_blocks=4 poppa_settle_timeout=60s
on_exit ctl reconfigure --reset

note_usage

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
		why_agrees "job $i" "${pair[i]}" "$SANDBOX_REAL_NODE" "${pair[3 - i]}"
	done
	cmp_num "sshare's raw usage grew by what is charged, within 1 %" "$(apart "${pair[@]}")" '<=' 0.01
	cmp_num "and limits count the same, in minutes" "$(awk -v u="$(raw_usage)" -v m="$(limit_usage)" \
		'BEGIN { d = u / 60 - m; print d < 0 ? -d : d }')" '<=' 1
	ok "the pair history learned from it, by the program that poppad saw" \
		wait_until 60 grep -q '@contend.*@contend' "$POPPA_SANDBOX/state/slurmctld/poppa_pairs"
	ok "and which jobs ran it, and for how long" wait_until 60 grep -q '^#ran.*contend.*settle#[[:space:]]' "$POPPA_SANDBOX/state/slurmctld/poppa_pairs"
	# One that is alone, then beside one, alone again, and beside another.
	contend() {
		submit -n1 --colocate -J "$1" --wrap "srun $W/contend --line $POPPA_SANDBOX/home/poppa-demo/settle-line --seconds $2"
	}
	contend stays 300
	stays=$job
	wait_running "$stays"
	came=()
	for i in 1 2; do
		sleep 3
		contend comes$i 7
		came[i]=$job
		wait_end "$job" 60
	done
	sleep 3
	scancel -s USR1 "$stays.0"
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
fi

# --- A batch script without srun: its shell is no task, and what it starts may come and go between two looks.
if [ -x "$W/contend" ]; then
	shell_job() {
		submit -p real -n1 --colocate -o /dev/null --wrap "$1"
		next+=("$job")
	}
	# told ID MODE...: the share of the run that the node's record tells of as that.
	told() {
		local id=$1 sum=0
		shift
		for mode in "$@"; do sum+=" + json_extract(body, '$.${mode}_ns')"; done
		in_ledger "select ($sum) / 1e9 / $(sacct_field "$id" ElapsedRaw) from record where job = $id"
	}
	# alone_beside ID OTHER: of the time that both ran, so much counts as the first one's alone. Slurm may take some
	# seconds to start the second job, or to end it.
	alone_beside() {
		SLURM_TIME_FORMAT=%s sacct -n -X -P -j "$1,$2" -o JobIDRaw,Start,End | awk -F'|' -v solo="$(told "$1" solo)" -v id="$1" '
			NR == 1 || $2 > from { from = $2 }
			NR == 1 || $3 < to { to = $3 }
			$1 == id { ran = $3 - $2 }
			END {
				both = to - from
				print (both > 0 ? (solo * ran - (ran - both)) / both : 1)
			}'
	}
	contend="$W/contend --line $POPPA_SANDBOX/home/poppa-demo/settle-line"
	# Slurm tells of starts and ends in whole seconds, and poppad sees a job some moments after it: in 20 seconds that
	# is little.
	busy='bash -c "while [ \$SECONDS -lt 20 ]; do seq 20000 >/dev/null; done"'
	# A pair is looked at while the next one runs: settling takes its time.
	looked_at() {
		for i in "${scripts[@]}"; do
			ok "\"${script//$W\//}\": job $i is settled" wait_settled "$i"
			cmp_num "all of its time is told of" "$(told "$i" co solo paused unmeasured)" '>' 0.85
			diag "$(part "$i")"
		done
		case $script in
		*'& wait') cmp_num "a program in the background is seen" "$(told "${scripts[1]}" co paused)" '>' 0.6 ;;
		"$busy") cmp_num "nobody is alone beside a busy shell" "$(alone_beside "${scripts[@]}")" '<' 0.4 ;;
		*)
			cmp_num "what nobody saw is not measured" "$(told "${scripts[1]}" unmeasured)" '>' 0.1
			like "and marked" "$(part "${scripts[1]}")" ' unmeasured=(0\.[0-9]|1\.)|nodata='
			;;
		esac
	}
	script='' scripts=() next=()
	for next_script in "$contend --seconds 8 & wait" "sleep 3; $contend --seconds 4; sleep 3" \
		'for i in $(seq 8); do seq 300000 >/dev/null; sleep 0.7; done' "$busy" ''; do
		next=()
		if [ -n "$next_script" ]; then
			shell_job "$contend --seconds $([ "$next_script" = "$busy" ] && echo 22 || echo 10)"
			shell_job "$next_script"
		fi
		[ -z "$script" ] || looked_at
		script=$next_script scripts=("${next[@]}")
		for i in "${scripts[@]}"; do wait_end "$i"; done
	done
fi

# --- sreport adds up what sacct shows.
usage_agrees
done_testing
