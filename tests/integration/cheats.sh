# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The ways in which a co-runner cheats, and what its victim's bill says of each: the same for a node of the sandbox
# with cgroup v1 and for emulated machines with v2. A test sources it after lib.sh and bill.sh. The victim's program
# goes slower by $loss while the cheat works, so its true degradation is known.
#
#   ways                       calls way NAME COMMAND of the test for each, and no_way NAME REASON for those that
#                              this version of cgroups leaves to nobody; the test has:
#                                $cgroups    the version, 1 or 2; before it calls ways with 1, it calls keep_a_cgroup
#                                            NODE, so that the cheat has a cgroup of an earlier job
#                                $bin        a folder with cheat under each of $names, and victim
#                                $rest       microseconds for which both rest after as much work; 0 = never
#   play NAME COMMAND NODE     one way: a co-runner whose step is that command, and a victim of $seconds beside it on
#                              NODE. It may be called in a subshell. The test has:
#                                on_node NODE CMD   prints what that shell command prints there
#                                favoured NODE CHEAT VICTIM  when both work, gives them priority before what else the
#                                                   machine does, where it does anything else
#                                $played     a folder with a file for each way played
#                                $patience   seconds after which a victim of $seconds must have ended
#                                shutters_of NODE   what its poppad has made of all shutters so far, as JSON; if there
#                                                   is such a function, a bill that is wrong is told with it
#   judge_ways                 prints the table, and counts a point for each way played

names="cheat sleep bash slurmstepd mpirun"
loss=0.4
most_wrong=0.05

# beside_a_decoy PROGRAM WAY: that works, and a task that the step shows does nothing.
beside_a_decoy() {
	echo "bash -c '$bin/$1 $2 LINE $rest & exec $bin/cheat idle LINE $rest'"
}

# below_a_launcher WAY: a launcher in the step makes poppad stop its tasks one by one.
below_a_launcher() {
	echo "bash -c '$bin/cheat $1 LINE $rest & exec sleep 10000'"
}

ways() {
	local own='/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/x'
	way "does not cheat" "$bin/cheat honest LINE $rest"
	way "is called sleep" "$(beside_a_decoy sleep honest)"
	way "is called bash" "$(beside_a_decoy bash honest)"
	way "is called slurmstepd" "$(beside_a_decoy slurmstepd honest)"
	way "is called mpirun, and alone" "$bin/mpirun honest LINE $rest"
	way "is resumed by its user" "$bin/sleep resume LINE $rest"
	way "has lost its first thread" "$bin/cheat headless LINE $rest"
	way "forks faster than a scan" "$(below_a_launcher chain)"
	way "shows a stopped task" "bash -c '$bin/sleep honest LINE $rest & $bin/cheat idle LINE $rest & kill -STOP \$!; wait'"
	way "traces itself" "$bin/cheat traced LINE $rest"
	way "waits for a vfork" "$bin/cheat blocked LINE $rest"
	way "is nobody's child" "$bin/cheat orphan LINE $rest"
	way "has too long a path" "$bin/cheat far LINE $rest"
	way "works in short tasks" "$bin/cheat churn LINE $rest"
	way "works when it seems stopped" "$bin/sleep decoy LINE $rest"
	way "hides in .x" "$(below_a_launcher hide)"
	way "hides deep down" "$(below_a_launcher deep)"
	way "thaws its own cgroup" "$bin/sleep thaw LINE $rest"
	way "moves a thread" "$(below_a_launcher threads)"
	way "forks into new cgroups" "$(below_a_launcher flash)"
	if [ "$cgroups" = 2 ]; then
		way "may make no cgroup" "bash -c '! mkdir $own && exec $bin/cheat honest LINE $rest'"
	else
		no_way "may make no cgroup" "each user may, as Slurm gives them a step's cgroups of version 1"
	fi
	strays "is counted elsewhere" "$bin/sleep strayed LINE $rest"
	strays "has a thread counted elsewhere" "$bin/sleep strayed_thread LINE $rest"
	strays "forks elsewhere, called sleep" "$(beside_a_decoy sleep strayed_chain)"
	strays "works elsewhere when it seems stopped" "$bin/sleep strayed_decoy LINE $rest"
}

# strays NAME COMMAND: a way that needs a cgroup of an ended job.
strays() {
	if [ "$cgroups" = 2 ]; then
		no_way "$1" "cgroup version 2 counts a process where it is held"
	else
		way "$1" "$2"
	fi
}

# keep_a_cgroup NODE: under cgroup version 1 a job of the cheat's user leaves a cgroup of cpuacct that is theirs.
keep_a_cgroup() {
	SUBMIT_USER=poppa-guest submit -w "$1" -n1 -J keeps -o /dev/null \
		--wrap "srun sh -c 'mkdir \$(sed -n s,^[0-9]*:[a-z,]*cpuacct[a-z,]*:,/sys/fs/cgroup/cpuacct,p /proc/self/cgroup)/../kept'"
	wait_until "$patience" job_ended "$job"
}

# cgroups_of NODE JOB: patterns for the cgroups in which a job's tasks begin, of either version.
cgroups_of() {
	local task="slurmstepd.scope/job_$2/step_0/user/task_*"
	echo "/sys/fs/cgroup/freezer/slurm_$1/uid_*/job_$2/step_0 /sys/fs/cgroup/system.slice/$1_$task /sys/fs/cgroup/system.slice/$task"
}

# Under cgroup version 2 users have no cgroups of their own unless a site delegates some, as it does for containers.
# There may be several, so all of the answer is read: on_node fails where its reader goes away first.
was_delegated() {
	[ -n "$(on_node "$1" "for d in $(cgroups_of "$1" "$2"); do
		chown $3 \$d/cgroup.procs \$d/cgroup.threads \$d/cgroup.subtree_control \$d && echo delegated
	done 2>/dev/null")" ]
}

# Slurm ends what is in its own cgroups, and waits for what a user has hidden below them.
swept() {
	on_node "$1" "for d in $(cgroups_of "$1" "$2"); do
		find \$d -mindepth 2 -name cgroup.procs -exec cat {} + | xargs -r kill -9
		find \$d -mindepth 1 -depth -type d -exec rmdir {} +
	done 2>/dev/null"
	job_ended "$2"
}

play() {
	local name=$1 line=/dev/shm/poppa-cheat-$BASHPID-$SECONDS cheat victim said before={} after={}
	if declare -F shutters_of >/dev/null; then before=$(shutters_of "$3"); fi
	on_node "$3" "truncate -s 128 $line && chmod 666 $line"
	SUBMIT_USER=poppa-guest submit -w "$3" --colocate -n1 -J cheat -o /dev/null --wrap "srun ${2//LINE/$line}"
	cheat=$job
	SUBMIT_USER=poppa-demo submit -w "$3" --colocate -n1 -J victim -o victim.%j \
		--wrap "srun $bin/victim $line $seconds $rest $loss"
	victim=$job
	if [ "$cgroups" = 2 ] && [[ $2 =~ ' '(hide|deep|thaw|threads|flash)' ' ]]; then
		wait_until "$patience" was_delegated "$3" "$cheat" poppa-guest
	fi
	wait_until "$patience" eval "job_ended $cheat || favoured $3 $cheat $victim"
	wait_until "$patience" eval "job_ended $victim || job_ended $cheat"
	said=$(on_node "$3" "cat $(home_of poppa-demo)/victim.$victim")
	if declare -F shutters_of >/dev/null; then after=$(shutters_of "$3"); fi
	{
		echo "$cheat $victim $name|$said"
		shutters_between "$before" "$after"
	} >"$played/$(printf %05d "$cheat")"
	kill_steps "$cheat" "$victim"
	wait_until 2 swept "$3" "$cheat" || scancel "$cheat" "$victim"
	wait_until "$patience" swept "$3" "$cheat" || diag "$name: job $cheat does not end"
	on_node "$3" "rm -f $line"
}

calc() {
	awk "BEGIN { print ($1) }"
}

# judge CHEAT VICTIM NAME|WORKED SHUTTERS: is the bill right, or does it say that nothing is known, and because of whom?
judge() {
	local cheat=$1 victim=$2 name=${3%|*} worked beside text true_d said flag stopped bill
	read -r _ worked _ beside <<<"${3##*|}"
	if [ -z "$beside" ]; then
		fail "$name: the co-runner and its victim work" "${3##*|}"
		return
	fi
	wait_settled "$victim" || diag "$name: not settled"
	text=$(part "$victim")
	# While the cheat was held its victim was not slowed down, and that time is none of the degradation.
	stopped=$(in_ledger "select max(json_extract(body, '\$.paused_ns')) / 1e9 from record where job = $cheat")
	true_d=$(calc "$loss * ($beside > $worked - ${stopped:-0} ? 1 : $beside / ($worked - ${stopped:-0}))")
	said=$(value "$text" dco)
	[ -n "$said" ] || said=$(value "$text" d)
	flag=$(tr ' ' '\n' <<<"$text" | grep -E '^(unmeasured|nodata|culprit)=' | xargs)
	bill=WRONG
	if [ -n "$said" ] && [ "$(calc "($said - $true_d) ^ 2 <= $most_wrong ^ 2")" = 1 ]; then
		bill=right
	elif [ "$(value "$text" culprit)" = "$cheat" ]; then
		bill=flagged
	fi
	diag "$(printf '%-28s %6.3f %8s  %-8s %s' "$name" "$true_d" "${said:--}" $bill "$flag")"
	if [ $bill = WRONG ]; then
		fail "$name: the bill is right" "$text; worked $worked s, of that $beside beside, $stopped while the co-runner was held; shutters: $4"
	else
		pass "$name: the bill is $bill"
	fi
}

judge_ways() {
	local file cheat victim rest_of shutters
	diag "$(printf '%-28s %6s %8s  %-8s %s' "the co-runner" "true D" reported bill flag)"
	for file in "$played"/*; do
		{
			read -r cheat victim rest_of
			read -r shutters
		} <"$file"
		judge "$cheat" "$victim" "$rest_of" "$shutters"
	done
}
