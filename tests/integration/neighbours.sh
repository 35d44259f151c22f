# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Co-runners that are hard to stop or to look at, and how many blocks they leave to the job beside them: the same for a
# node of the sandbox with cgroup v1 and for emulated machines with v2. A test sources it after lib.sh.
#
#   neighbours NODE FILE WAY...  plays those ways there, one after the other, beside one victim; a line of FILE for each.
#                              It may be called in a subshell. The test has:
#                                node_status NODE FILTER   of the poppad there, as lib.sh's status
#                                preferred NODE COMMAND    gives the process whose command line begins so priority before
#                                                   all others, where the machine does anything else; fails where there is none
#                                on_node NODE CMD   prints what that shell command prints there
#                                $bin        a folder with crowd, cheat and victim; $rest as in cheats.sh
#                                $settling   blocks after which who was just made is idle, to poppad: 10 s
#                                $window     seconds in which blocks are counted
#                                $patience   seconds after which a job that can be measured must be
#   judge_neighbours FILE      counts the points of the ways played

# job_status JOB FILTER
job_status() {
	node_status "$where" ".jobs[] | select(.job == $1) | $2"
}

# blocks: how many blocks of the victim were of use so far, shams included.
blocks() {
	job_status "$one" '.blocks + .sham.blocks'
}

blocks_are() {
	[ "$(blocks)" -ge "$1" ]
}

more_blocks() {
	local want=$(($(blocks) + $1))
	wait_until "$2" blocks_are "$want"
}

usual_distance() {
	[ "$(node_status "$where" '.totals.cost.level == 0')" = true ]
}

all_there() {
	[ "$(job_status "$1" .tasks)" -gt "$2" ]
}

# counted: the victim's blocks in as long as $window. On a machine that is busy, asking takes some time, too.
counted() {
	local first last from to
	first=$(blocks)
	from=$EPOCHREALTIME
	sleep "$window"
	last=$(blocks)
	to=$EPOCHREALTIME
	awk -v n="$((last - first))" -v window="$window" -v from="$from" -v to="$to" \
		'BEGIN { printf "%.0f\n", n * window / (to - from) }'
}

# resumed_at_first JOB: whatever its user resumes from elsewhere spoils shutters, until poppad freezes the job.
resumed_at_first() {
	local ran
	ran=$(job_status "$1" .ran_while_held)
	on_node "$where" "setpriv --reuid poppa-guest --regid nogroup --clear-groups perl -MTime::HiRes=time,usleep -e '
		my (\$p, \$end) = (shift, time + 4);
		while (time < \$end) { kill \"CONT\", \$p; usleep 200 }' \$(pgrep -f '^$bin/cheat honest $line')" &&
		[ "$(job_status "$1" .ran_while_held)" -ge "$((ran + 3))" ]
}

# play_neighbour WAY: has a co-runner run "crowd WAY", with a launcher beside it, so that its tasks cannot be frozen as
# they are, and says how many blocks of the victim there were beside it, or what went wrong.
play_neighbour() {
	local two said before shutters='' settle=5 crowd=${1%%,*}
	[[ $1 != idle* && $1 != threads* ]] || settle=$settling
	SUBMIT_USER=poppa-guest submit -w "$where" --colocate -n1 -o /dev/null --wrap \
		"srun sh -c 'sleep 100000 & exec $bin/crowd $crowd $bin/cheat honest $line $rest'"
	two=$job
	if ! wait_running "$two" "$patience" >/dev/null; then
		said="does not start"
	elif ! wait_until "$patience" preferred "$where" "$bin/cheat honest $line"; then
		said="does not work"
	elif [[ $1 == idle* ]] && ! wait_until "$patience" all_there "$two" "${crowd#idle }"; then
		said="only $(job_status "$two" .tasks) processes are there"
	elif [[ $1 == *", resumed at first" ]] && ! resumed_at_first "$two"; then
		said="no shutter is spoilt"
	elif ! more_blocks "$settle" "$patience"; then
		said="the victim has no blocks: $(node_status "$where" '.totals.discarded | tostring')"
	# While thousands of processes are made, each of them is busy.
	elif ! wait_until "$patience" usual_distance; then
		said="the blocks do not come at their usual distance"
	else
		before=$(node_status "$where" "$SHUTTERS")
		said=$(counted)
		shutters=$(shutters_between "$before" "$(node_status "$where" "$SHUTTERS")")
	fi
	# With it end the thousands, one by one for Slurm, and at once for the kernel.
	on_node "$where" "pkill -KILL -f '^$bin/cheat honest $line'" >/dev/null
	kill_steps "$two"
	wait_until 2 job_ended "$two" || scancel "$two"
	wait_end "$two" "$patience" >/dev/null || said+=", and does not end"
	echo "$where|$1|$said|$shutters"
}

neighbours() {
	local where=$1 file=$2 line=/dev/shm/poppa-neighbours-$1 one
	shift 2
	on_node "$where" "truncate -s 128 $line && chmod 666 $line"
	SUBMIT_USER=poppa-demo submit -w "$where" --colocate -n1 -o /dev/null --wrap "srun $bin/victim $line 100000 $rest 0.4"
	one=$job
	wait_running "$one" "$patience"
	wait_until "$patience" preferred "$where" "$bin/victim $line"
	for way in "" "$@"; do
		play_neighbour "$way" >>"$file"
	done
	scancel "$one"
	wait_end "$one" "$patience"
	on_node "$where" "rm -f $line"
}

judge_neighbours() {
	local where way said shutters
	local -A honest
	diag "$(printf '%-12s %-14s %s' node "the co-runner" "the victim's blocks in $window s, and all shutters of that time")"
	while IFS='|' read -r where way said shutters; do
		diag "$(printf '%-12s %-14s %-6s %s' "$where" "${way:-honest}" "$said" "$shutters")"
		if [ -z "$way" ]; then
			honest[$where]=$said
			like "$where: beside an honest job there are blocks" "$said" '^[0-9]{2,}$'
		elif [[ $said =~ ^[0-9]+$ && ${honest[$where]} =~ ^[0-9]+$ ]]; then
			cmp_num "$where, $way: nine tenths of the blocks beside an honest job" "$said" '>=' "$((${honest[$where]} * 9 / 10))"
		else
			fail "$where, $way: there are blocks" "$said"
		fi
	done <"$1"
}
