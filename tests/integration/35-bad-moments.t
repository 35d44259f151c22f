#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmctld killed or restarted at any moment of a stream of co-located jobs and others: each lane has one
# job at most, no job is lost, none shares a node with what it must not, and no node is left behind.
#
#   POPPA_KILLS=200 POPPA_KILLS_SEED=1234 tests/integration/35-bad-moments.t
#
# Slurm itself saves its state five seconds after a change at the soonest, and a kill -9 takes along what it
# was told since then: a job that was submitted in that time is gone, whatever plugins there are. The names of
# the jobs stand in the file that the next slurmctld reads, so after each kill this test looks there, and
# the jobs that Slurm has saved are those of which none may be lost. An ordinary end saves all, unless Slurm
# was at work on its jobs at that moment, and then its log says so.
#
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
ACCOUNT=poppa-moments
# shellcheck source=tests/integration/kills.sh
. "$(dirname "$0")/kills.sh"

KILLS=${POPPA_KILLS:-8}
SEED=${POPPA_KILLS_SEED:-$(date +%s)}
STATE=$POPPA_SANDBOX/state/slurmctld
LOG=$(ctl log slurmctld)
touch "$DIR"/{lost,moments}
dice "$SEED"
diag "$KILLS kills with POPPA_KILLS_SEED=$SEED"

clean_up() {
	is_gone slurmctld && ctl start slurmctld
	scancel -A $ACCOUNT
	wait_until 60 stream_over
	attend
	drop_account
	if [ -e "$SLURM_CONF.moments" ]; then mv "$SLURM_CONF.moments" "$SLURM_CONF"; fi
	ctl reconfigure --reset
}
on_exit clean_up

# Jobs of an earlier test that ended a moment ago would run again for a slurmctld that is killed now: it saves that first.
ctl restart slurmctld
wait_until 60 nodes_answer

# --- The stream. Names have one length, so that none is a part of another, and differ from run to run.

declare -A tasks=() # of each job that was accepted
number=0 tag=$(printf '%08x' "$(date +%s)")
# job TASKS OPTION...
job() {
	local count=$1 name=own
	shift
	[[ $* != *--colocate* ]] || name=co
	number=$((number + 1))
	name=$(printf '%s-%s-%05d' $name "$tag" $number)
	send fake -J "$name" --mem=1000 "$@" && tasks[$name]=$count
}

send_one() {
	local seconds nodes
	pick 7 && seconds=$((picked + 1))
	pick 3 && nodes=$((picked + 1))
	pick 8
	case $picked in
	0) job 1 -N1 -n4 --wrap "sleep $((seconds / 3))" ;;
	1) job 1 -N2 --wrap "sleep $((seconds / 3))" ;;
	2) job 3 --colocate -N1 --array=1-3 --wrap "sleep $seconds" ;;
	3) job 2 --colocate -N2 --array=0-1 --wrap "sleep $seconds" ;;
	4) job 1 --colocate=spread -N1 --wrap "sleep $seconds" ;;
	*) job 1 --colocate -N$nodes -n$((nodes * 3)) --wrap "sleep $seconds" ;;
	esac
}

top_up() {
	local n
	for ((n = $(in_queue fake); n < 10; n++)); do send_one; done
}

# some STATE: a job of the stream, at random.
some() {
	local all
	mapfile -t all < <(squeue -h -r -A $ACCOUNT -t "$1" -o %A)
	[ "${#all[@]}" -gt 0 ] || return 1
	pick "${#all[@]}"
	chosen=${all[picked]}
}

suspended=
# Where slurmctld has forgotten that it suspended a job, the job still stands still.
resume() {
	local id
	if [ -n "$suspended" ] && [ "$(squeue -h -j "$suspended" -o %t)" = R ]; then scontrol suspend "$suspended"; fi
	suspended=
	for id in $(squeue -h -r -A $ACCOUNT -t S -o %A); do scontrol resume "$id"; done
} 2>>"$DIR/meddled"

# meddle: what users and administrators do meanwhile.
meddle() {
	resume
	pick 4
	case $picked in
	0) some R && scontrol suspend "$chosen" && suspended=$chosen ;;
	1) some R && scontrol requeue "$chosen" ;;
	2) some R,PD && scancel "$chosen" ;;
	esac
} 2>>"$DIR/meddled"

newest_saved() { grep -q -a -E "(co|own)-$tag-$(printf '%05d' $number)" "$STATE/job_state"; }

# moment: waits for the moment of the next kill, which is named in $moment.
moment() {
	pick 5
	case $picked in
	0)
		moment=any
		wait_until 15 newest_saved
		nap 2000
		;;
	1)
		moment=submission
		send_one
		nap 150
		;;
	2)
		moment=burst
		job 4 --colocate -N1 --array=1-4 --wrap "sleep 3"
		job 1 --colocate -N3 --wrap "sleep 3"
		nap 400
		;;
	3)
		moment=scheduling
		wait_until 15 newest_saved
		some R && scancel "$chosen"
		some R && scancel "$chosen"
		nap 400
		;;
	4)
		moment=reconfiguration
		timeout 10 scontrol reconfigure 2>/dev/null &
		nap 300
		;;
	esac
}

# What slurmctld will find when it starts: while it exchanges the file there is only the one before.
declare -A kept=() forgotten=()
saved() {
	local file=$STATE/job_state name
	local -A found=()
	[ -e "$file" ] || file=$file.old
	while read -r name; do found[$name]=1; done < <(grep -a -o -E "(co|own)-$tag-[0-9]{5}" "$file" | sort -u)
	for name in "${!tasks[@]}"; do
		[ -z "${kept[$name]:-}${forgotten[$name]:-}" ] || continue
		if [ -n "${found[$name]:-}" ]; then
			kept[$name]=1
		else
			forgotten[$name]=1
			[ "$1" != end ] || echo "$name, which slurmctld had not saved when it was told to end" >>"$DIR/lost"
		fi
	done
}

# The map of the lanes is compared with Slurm's records every two seconds while Slurm logs selections.
cp -p "$SLURM_CONF" "$SLURM_CONF.moments"
sed -i 's/^DebugFlags=.*/&,SelectType/' "$SLURM_CONF"
ctl reconfigure poppa_settle_timeout=3s
first_line=$(($(wc -l <"$LOG") + 1))
make_account
is "a fake node has two lanes of eight CPUs" "$(lanes_of "${FAKE}1" | tr , '\n' | wc -l) $(lanes_of "${FAKE}1" | wc -l)" "16 2"
began=$SECONDS
# Not in ok's subshell, which would forget it.
wait_until 20 send_one || bail_out "no job is accepted: $(tail -n 3 "$DIR/sbatch")"
top_up

for ((kill = 1; kill <= KILLS; kill++)); do
	meddle
	moment
	pick 3
	if [ "$picked" = 0 ]; then
		how=end
		before=$(wc -l <"$LOG")
		ctl stop slurmctld
		grep -q 'can not save state' <(tail -n "+$((before + 1))" "$LOG") && how="end without saving"
	else
		how="kill"
		ctl kill -9 slurmctld
	fi
	wait_until 30 is_gone slurmctld
	echo "$how $moment" >>"$DIR/moments"
	saved "$how"
	nap 1000
	start slurmctld || break
	look
	attend
	nap 1000
	top_up
	look
	[ $((kill % 20)) != 0 ] || diag "$kill kills after $((SECONDS - began)) s, ${#tasks[@]} jobs, $(places_seen) places of jobs looked at"
done
wait
is "slurmctld could be started again" "$(cat "$DIR/unstarted")" ""
is "all kills were made" "$(wc -l <"$DIR/moments")" "$KILLS"
diag "at $((SECONDS - began)) s the stream ends; killed (ended) at:" "$(sort "$DIR/moments" | uniq -c)"

# --- The end of the stream.
resume
# A job whose end slurmctld has forgotten is found missing when its node registers, 20 s after its start.
asked=$SECONDS
over() {
	resume
	look
	stream_ends && return
	if [ $((SECONDS - asked)) -ge 8 ]; then
		scontrol reconfigure
		asked=$SECONDS
	fi
	return 1
}
ok "no job is stuck" wait_until 120 over
stream_over || diag "$(squeue -h -r -A $ACCOUNT -o '%A %j %T %r')"
wait_until 30 idle || attend
ok "no node is stuck" wait_until 30 idle
idle || diag "$(sinfo -N -o '%N %T %E')"
look
# A start that slurmctld has forgotten, or an id that it gives out again, meets what still runs on the node.
is "nodes were drained for what Slurm itself forgets, and for nothing else" \
	"$(grep -v ' Duplicate jobid$' "$DIR/attended" | sort -u)" ""
[ ! -s "$DIR/numberless" ] || diag "jobs that Slurm never asks slurmdbd about again, cancelled:" "$(sort -u "$DIR/numberless" | xargs)"
[ ! -s "$DIR/attended" ] || diag "nodes that an administrator had to resume:" "$(sort "$DIR/attended" | uniq -c)"

# --- What became of the jobs. The last that was seen of each counts; what has ended is purged in time.
for name in "${!tasks[@]}"; do
	[ -n "${forgotten[$name]:-}" ] || echo "$name ${tasks[$name]}"
done >"$DIR/expected"
awk '
	# last TASK STATE: also of an array that has not been split, as 1-3,5.
	function last(task, state,   i, n, part, end) {
		if (task == "-") { was[$1, task] = state; return }
		n = split(task, part, ",")
		for (i = 1; i <= n; i++) {
			if (split(part[i], end, "-") == 1) end[2] = end[1]
			for (task = end[1]; task <= end[2]; task++) was[$1, task + 0] = state
		}
	}
	NR == FNR { want[$1] = $2; next }
	$1 in want { sub(/%.*/, "", $3); last($3, $4) }
	END {
		for (at in was) {
			split(at, part, SUBSEP)
			has[part[1]]++
			print "ends", was[at]
			if (was[at] ~ /PENDING|RUNNING|SUSPENDED|COMPLETING|CONFIGURING|REQUEUE/)
				print "lost", part[1], part[2], was[at]
		}
		for (name in want)
			if (has[name] != want[name])
				print "lost", name, "of whose", want[name], "tasks were seen", has[name] + 0
	}' "$DIR/expected" "$DIR/states" >"$DIR/ends"
diag "${#tasks[@]} jobs, of which slurmctld had not saved ${#forgotten[@]} when it was killed; their tasks:" \
	"$(sed -n 's/^ends //p' "$DIR/ends" | sort | uniq -c)"
is "0 lost: all other jobs have ended" "$(sed -n 's/^lost //p' "$DIR/ends"; cat "$DIR/lost")" ""
is "no lane was wrong or given twice" "$(sort -u "$DIR/lanes")" ""
cmp_num "and they were looked at" "$(places_seen)" '>=' "$KILLS"
faults() { tail -n "+$first_line" "$LOG" | grep -E 'select/stripe: .*(differed|cannot follow|no memory)|prep/poppa: .*damaged|fatal:|assert|Segmentation'; }
is "slurmctld logged no fault of the plugins" "$(faults)" ""
# on_nodes: prints what jobs have left on the nodes.
on_nodes() {
	local n
	for n in 1 2 3 4; do pgrep -a --ns "$(ctl pid "slurmd-$FAKE$n")" --nslist pid -u poppa-demo; done
}
# A run of which slurmctld knows nothing ends when its node registers.
nothing_on_nodes() {
	[ -n "$(on_nodes)" ] || return 0
	if [ $((SECONDS - asked)) -ge 8 ]; then
		scontrol reconfigure
		asked=$SECONDS
	fi
	return 1
}
asked=$SECONDS
ok "no process is left" wait_until 60 nothing_on_nodes || diag "$(on_nodes)" "$(squeue -h -o '%A %j %T %N')"
if [ "$tap_failed" != 0 ]; then
	at=$(mktemp -d "$POPPA_SANDBOX/log/moments.XXXX")
	cp -r "$DIR/." "$at"
	diag "what was seen is kept in $at"
fi
done_testing
