# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the tests that kill daemons at random share: dice, the stream of jobs, and what must hold at every
# moment. A test sources it after lib.sh and sets ACCOUNT, which its jobs are of. A job that did not opt in
# has a name that begins with "own".
#
#   $DIR                       a directory for the time of the test, with a file for each kind of finding
#   dice SEED                  makes pick and nap repeatable
#   pick NUMBER                a random number below it, in $picked
#   nap MILLISECONDS           sleeps for up to that
#   make_account, drop_account the account, with poppa-demo in it
#   send PARTITION OPTION...   a job of the stream
#   in_queue PARTITION         how many of its jobs wait or have just begun
#   look                       at all jobs: what is wrong with their lanes goes to $DIR/lanes, and the name,
#                              id, task and state of each to $DIR/states
#   attend                     what an administrator does after a crash
#   start DAEMON               what cannot be started goes to $DIR/unstarted
#   stream_over, stream_ends   true when none of its jobs is left, after attending to them
#   idle                       true when all nodes are

FAKE=$SANDBOX_FAKE_PREFIX
DIR=$(mktemp -d)
on_exit rm -rf "$DIR"
touch "$DIR"/{lanes,states,attended,numberless,unstarted,submitted,killed}

dice() { RANDOM=$1; }
# The number is in a variable and not printed: a command substitution would not advance RANDOM here.
pick() { picked=$((RANDOM * 32768 + RANDOM)) && picked=$((picked % $1)); }
nap() {
	pick "$1"
	sleep "$(printf '%d.%03d' $((picked / 1000)) $((picked % 1000)))"
}

make_account() {
	sacctmgr -i add account "$ACCOUNT" >/dev/null
	sacctmgr -i add user poppa-demo account="$ACCOUNT" >/dev/null
}
drop_account() { sacctmgr -i delete account "$ACCOUNT"; }

send() {
	local id partition=$1
	shift
	id=$(as poppa-demo timeout 20 sbatch --parsable -A "$ACCOUNT" -p "$partition" -t 1 -o /dev/null "$@" 2>>"$DIR/sbatch") || return
	sent=${id%%;*}
	echo "$sent $(date +%s)" >>"$DIR/submitted"
}

# A job that has run for long is not counted: slurmctld may have forgotten its end, and shows it as running until it
# asks the node. Counting it would end the stream.
in_queue() { squeue -h -r -A "$ACCOUNT" -p "$1" -o '%t %M' | awk '$1 != "R" || $2 ~ /^0:[01]/' | wc -l; }

# update_waiting JOB COMMAND...: a slurmctld killed while it asked slurmdbd for a job's number goes on waiting for that
# after its start, forever, and changes nothing of the job: an administrator can only cancel it.
declare -A refusals=()
update_waiting() {
	local id=$1
	shift
	[[ $("$@" 2>&1) == *"DB index is being set"* ]] || return 0
	refusals[$id]=$((${refusals[$id]:-0} + 1))
	[ "${refusals[$id]}" -ge 3 ] || return 0
	scancel "$id" && echo "$id" >>"$DIR/numberless"
}

# Releases jobs that Slurm holds back because they could not be started or were requeued, and resumes the nodes that it
# has drained for that.
attend() {
	local id reason node state
	while read -r id reason; do
		case $reason in
		*held* | *Held*) update_waiting "$id" scontrol release "$id" ;;
		BeginTime) update_waiting "$id" scontrol update job "$id" StartTime=now ;;
		esac
	done < <(squeue -h -r -A "$ACCOUNT" -t PD -o '%A %r')
	while read -r node state reason; do
		echo "$node $state $reason" >>"$DIR/attended"
		scontrol update node="$node" state=resume
	done < <(sinfo -h -N -o '%N %T %E' | grep -E ' (drain|down|drng|fail)[a-z*]*' | sort -u)
} >/dev/null 2>&1

stream_over() { [ -z "$(squeue -h -A "$ACCOUNT" 2>&1)" ]; }
stream_ends() {
	attend
	sleep 1
	stream_over
}
idle() { [ "$(sinfo -h -N -o '%N %T' | sort -u | grep -v ' idle$')" = "" ]; }

# --- What must hold at every moment.

# lanes_of NODE: the CPUs of each of its lanes, one line each.
lanes_of() {
	local spec
	spec=$(scontrol -o show node "$1" | tr ' ' '\n' |
		awk -F= '{ v[$1] = $2 } END { print "pack:" v["Sockets"], "core:" v["CoresPerSocket"], "pu:" v["ThreadsPerCore"] }')
	poppa lanes --topology "$spec" --json | jq -r '.lanes[].pus | sort | join(",")'
}

# cpus LIST: 0-2,5 as 0,1,2,5.
cpus() {
	local part out=
	for part in ${1//,/ }; do out+=" $(seq -s ' ' "${part%-*}" "${part#*-}")"; done
	# shellcheck disable=SC2086
	set -- $out
	(IFS=, && echo "$*")
}

# snapshot: one answer of slurmctld, as "state NAME ID TASK STATE" of every job, and "place ID NAME NODES
# CPUS" of what those have that run or are suspended.
snapshot() {
	scontrol -d show job 2>/dev/null | awk -v account="$ACCOUNT" '
		/^JobId=/ {
			name = id = ""; task = "-"; mine = has = 0
			for (i = 1; i <= NF; i++) {
				if (sub(/^JobId=/, "", $i)) id = $i
				else if (sub(/^JobName=/, "", $i)) name = $i
				else if (sub(/^ArrayTaskId=/, "", $i)) task = $i
			}
		}
		$0 ~ " Account=" account "( |$)" { mine = 1 }
		mine && / JobState=/ {
			sub(/JobState=/, "", $1)
			print "state", name, id, task, $1
			has = $1 == "RUNNING" || $1 == "SUSPENDED"
		}
		has && / CPU_IDs=/ { sub(/Nodes=/, "", $1); sub(/CPU_IDs=/, "", $2); print "place", id, name, $1, $2 }'
}

declare -A expanded=() hosts=() lanes_are=()
# Each co-located job has one whole lane of each of its nodes, and has it alone; no other job is there.
looks=0
look() {
	local kind job name nodes list node lane here=0
	local -A owner=() colocated=() own=()
	snapshot >"$DIR/snapshot"
	sed -n 's/^state //p' "$DIR/snapshot" >>"$DIR/states"
	while read -r kind job name nodes list; do
		[ "$kind" = place ] || continue
		[ -n "${expanded[$list]:-}" ] || expanded[$list]=$(cpus "$list")
		[ -n "${hosts[$nodes]:-}" ] || hosts[$nodes]=$(scontrol show hostnames "$nodes")
		lane=${expanded[$list]}
		for node in ${hosts[$nodes]}; do
			here=$((here + 1))
			if [[ $name == own* ]]; then
				own[$node]=$job
				continue
			fi
			colocated[$node]=$job
			[ -n "${lanes_are[$node]:-}" ] || lanes_are[$node]=$(lanes_of "$node" | xargs)
			[[ " ${lanes_are[$node]} " == *" $lane "* ]] ||
				echo "job $job on $node has $list, which is no lane" >>"$DIR/lanes"
			[ -z "${owner[$node/$lane]:-}" ] ||
				echo "jobs ${owner[$node/$lane]} and $job both have $list of $node" >>"$DIR/lanes"
			owner[$node/$lane]=$job
		done
	done <"$DIR/snapshot"
	for node in "${!own[@]}"; do
		[ -z "${colocated[$node]:-}" ] ||
			echo "job ${own[$node]}, which did not opt in, is on $node beside ${colocated[$node]}" >>"$DIR/lanes"
	done
	looks=$((looks + 1))
	echo "$here" >>"$DIR/seen"
}

# places_seen: how often a job on a node was looked at, those in subshells included.
places_seen() {
	awk '{ n += $1 } END { print n + 0 }' "$DIR/seen"
}

# --- Daemons.

# Tries several times, since a daemon that it needs may not have started yet.
start() {
	local try
	for try in 1 2 3 4; do
		is_gone "$1" || return 0
		[ "$try" = 1 ] || attend
		if ctl start "$1" >"$DIR/start" 2>&1; then return 0; fi
		sleep 1
	done
	is_gone "$1" && { echo "$1: $(tail -n 3 "$DIR/start")" >>"$DIR/unstarted"; return 1; }
	return 0
}
