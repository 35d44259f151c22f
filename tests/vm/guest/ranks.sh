# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Two MPI jobs on both machines: their lanes, shutters and bills. Sourced by tests/vm/guest/check.

# ranks_began ID: each of its eight ranks has said where it runs.
ranks_began() {
	[ "$(grep -c '^rank ' "$(output "$1")")" = 8 ]
}

# all_begin ID: a job that cannot is shown, and then there is nothing to look at.
all_begin() {
	wait_until 1800 eval "ranks_began $1 || job_ended $1"
	ranks_began "$1" && return
	bail_out "job $1 is $(job_field "$1" JobState): $(tail -n 3 "$(output "$1")" | paste -s -d ' ')"
}

output() {
	echo "$(home_of "$(job_field "$1" UserId | cut -d'(' -f1)")/job.$1"
}

sorted() {
	tr -s ', ' '\n' | sort -n | paste -s -d ,
}

# common LIST LIST: the numbers in both.
common() {
	comm -12 <(tr , '\n' <<<"$1" | sort) <(tr , '\n' <<<"$2" | sort) | paste -s -d ,
}

# begin USER: a job with a rank for every two cores of a lane, on both nodes, that runs until its file is there.
begin() {
	SUBMIT_USER=$1 submit --colocate -N2 --ntasks-per-node=4 -c2 -o job.%j \
		--wrap "srun --mpi=pmix -c2 --cpu-bind=cores /mnt/rank /tmp/end.\$SLURM_JOB_ID"
}

# check_tasks ID NODE LANE: LANE is its processors, as poppa lanes has them; leaves in $seen where its tasks run.
check_tasks() {
	local id=$1 node=$2 lane=$3 name="job $1 on $2" socket said
	ask "$node" tasks "$id" >"$tmp/tasks"
	diag "$name: $(paste -s -d ';' "$tmp/tasks")"
	is "$name: four tasks" "$(grep -c '^task ' "$tmp/tasks")" 4
	seen=$(sed -n 's/^task [0-9]* \([^ ]*\) .*/\1/p' "$tmp/tasks" | sorted)
	is "$name: each task may run on cores of its own, and all of them are the lane" "$seen" "$lane"
	said=$(sed -n "s/^rank .* node $node .* cpus //p" "$(output "$id")" | sorted)
	is "$name: sched_getaffinity() tells the tasks the same" "$said" "$lane"
	is "$name: the job's cpuset is the lane" "$(sed -n 's/^job //p' "$tmp/tasks" | sorted)" "$lane"
	is "$name: so is what the kernel makes of it for each task" "$(sed -n 's/^task .* //p' "$tmp/tasks" | sort -u)" "$lane"
	is "$name: slurmctld has given it those cores" "$(job_field "$id" CPU_IDs)" "$lane"
	while read -r socket; do
		is "$name: half of the socket with processors $socket" "$(common "$socket" "$lane" | tr , '\n' | wc -l)" 4
	done <"$tmp/sockets.$node"
}

# measured NODE ID: enough blocks with its co-runner, stopped by the freezer, counted by heartbeats.
measured() {
	status_is "$1" "[.jobs[] | select(.job == $2)][0] | .blocks >= $blocks and .pause == \"freezer\" and .backend == \"heartbeat\""
}

# blocks_of NODE ID
blocks_of() {
	status_of "$1" ".jobs[] | select(.job == $2) | .blocks"
}

# show_status NODE: for the reader.
show_status() {
	diag "$1: $(status_of "$1" '[.jobs[] | {job, tasks, blocks, used, pause, backend, degradation, ci95, co_s}] + [.totals] | tostring')"
}

# Each component of OpenMPI that a rank only looks at takes its time here.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_coll=basic,libnbc OMPI_MCA_osc=pt2pt OMPI_MCA_io=ompio \
	OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none

for node in "${nodes[@]}"; do
	ask "$node" sockets >"$tmp/sockets.$node"
	is "$node has two sockets of eight cores" "$(paste -s -d ';' "$tmp/sockets.$node")" "0,1,2,3,4,5,6,7;8,9,10,11,12,13,14,15"
done

# One after the other: ranks that look for each other on a few real processors take very long.
begin poppa-demo
first=$job
ok "a job of 2 x 4 MPI ranks starts" wait_running "$first" 600
diag "the ranks find each other"
all_begin "$first"
begin poppa-guest
second=$job
ok "so does another one" wait_running "$second" 600
all_begin "$second"
is "both have both nodes" "$(job_field "$first" NodeList) $(job_field "$second" NodeList)" "n[1-2] n[1-2]"

diag "lanes"
for node in "${nodes[@]}"; do
	all=()
	"$guest/on" "$node" "poppa lanes --json" >"$tmp/lanes"
	is "$node: poppa lanes shows alternate cores" "$(jq -r '.lanes[].pus | sort | join(",")' "$tmp/lanes" | xargs)" \
		"0,2,4,6,8,10,12,14 1,3,5,7,9,11,13,15"
	for id in "$first" "$second"; do
		number=$(status_of "$node" ".jobs[] | select(.job == $id) | .lane")
		lane=$(jq -r ".lanes[] | select(.lane == $number) | .pus | sort | join(\",\")" "$tmp/lanes")
		check_tasks "$id" "$node" "$lane"
		all+=("$seen")
	done
	is "$node: the jobs' tasks share no core and leave none" "$(sorted <<<"${all[*]}")" "$(seq -s , 0 15)"
done

diag "shutters"
for node in "${nodes[@]}"; do
	for id in "$first" "$second"; do
		ok "$node: $blocks blocks of job $id, by the freezer and heartbeats" wait_until 3600 measured "$node" "$id"
	done
	show_status "$node"
	is "$node: both are seen frozen" "$(ask "$node" watch "$first" "$second" | xargs)" "$first yes $second yes"
	for id in "$first" "$second"; do
		is "$node: the shutter log has regions in which job $id ran alone, with progress" "$("$guest/on" "$node" \
			"cat $POPPA_SANDBOX/shutters/* | awk -F, -v job=$id '\$2 == job && \$4 == \"during\" && \$8 > 0 { n++ } END { print (n >= $blocks / 2) }'")" 1
	done
done

diag "poppad is killed"
declare -A before=() begun=()
for node in "${nodes[@]}"; do
	pid=$(status_of "$node" .pid)
	for id in "$first" "$second"; do
		before[$id]=$(blocks_of "$node" "$id")
	done
	is "$node: poppad is killed in a shutter, and its guard thaws what stays frozen" \
		"$(ask "$node" kill "$first" "$second" | sed 's/ .*//' | xargs)" "held thawed"
	is "$node: it starts again" "$(ask "$node" poppad)" started
	ok "$node: another process answers for both jobs" wait_until 1800 status_is "$node" \
		".pid != $pid and ([.jobs[].job] | sort) == [$first, $second]"
	for id in "$first" "$second"; do
		begun[$node.$id]=$(blocks_of "$node" "$id")
		# What came after the last checkpoint is lost.
		cmp_num "$node: it remembers the blocks of job $id (${before[$id]} shortly before the kill, ${begun[$node.$id]} now)" \
			"$((${begun[$node.$id]} * 2))" '>' "${before[$id]}"
	done
done
for node in "${nodes[@]}"; do
	for id in "$first" "$second"; do
		blocks=$((${begun[$node.$id]} + 5))
		ok "$node: and goes on with job $id, to $blocks" wait_until 3600 measured "$node" "$id"
	done
	show_status "$node"
done

diag "the jobs are told to end"
touch "/tmp/end.$first" "/tmp/end.$second"
for id in "$first" "$second"; do
	ok "job $id ends" wait_end "$id" 1800
	is "job $id has succeeded" "$(job_field "$id" JobState) $(job_field "$id" ExitCode)" "COMPLETED 0:0"
	like "job $id: its ranks have added up what they did" "$(tail -n 1 "$(output "$id")")" '^8 ranks, [1-9][0-9]* rounds, checksum '
done

diag "bills"
for id in "$first" "$second"; do
	other=$((first + second - id))
	ok "job $id is settled" wait_settled "$id" 1800
	ok "job $id: sacct has the same charge and comment as slurmctld" wait_until 300 in_database "$id"
	comment=$(db_field "$id" SystemComment)
	diag "job $id: $comment"
	diag "$(sacct -X -j "$id" -P -o JobID,State,NodeList,AllocTRES)"
	like "job $id: its SystemComment has a degradation, or that the emulation is too unsteady for one" "$comment" \
		'poppa: (d=-?[0-9.]+|nodata=(uncertain|unsteady)) '
	charged=$(value "$(part "$id")" charged)
	cmp_num "job $id: time held stopped is not charged" "$charged" '<' "$(value "$(part "$id")" raw)"
	cmp_num "job $id: the rest is" "$charged" '>' 0
	is "job $id: scontrol and sacct show that charge" "$(shown_billing "$id") $(db_billing "$id")" "$charged $charged"
	unlike "job $id: no node lacks" "$comment" 'partial=|no-record'
	is "job $id: the ledger has final records of both nodes" \
		"$(in_ledger "select group_concat(node) from (select node from record where job = $id and final and settled order by node)")" n1,n2
	is "job $id: each saw its co-runner, by heartbeats" \
		"$(in_ledger "select body from record where job = $id order by node" |
			jq -c '[.backend, (.blocks > 0), .partners]' | sort -u | xargs -d '\n')" \
		"[\"heartbeat\",true,[$other]]"
	is "job $id: and one price, which is the one shown" \
		"$(in_ledger "select count(*) || ' ' || max(charged) from settlement where job = $id")" "1 $charged"
done

for node in "${nodes[@]}"; do
	is "$node: nothing is frozen, and no rank runs" "$(ask "$node" left)" nothing
done
