# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A job with map:auto: its two programs share data, each within itself, by a recording of counters (/sandbox/map.csv). Their
# threads are moved for real. Sourced by tests/vm/guest/check.

program=/mnt/programs/spin

threads() {
	ask "$node" threads "$job"
}

mapped() {
	status_of "$node" ".jobs[] | select(.job == $job) | .map.$1"
}

# apart: poppad has moved threads, and each of the two programs has run on one socket last, and each on another one.
apart() {
	[ "$(mapped moves)" -gt 0 ] && [ "$(threads | awk '{ print $1, int($3 / 8) }' | sort -u | awk '{ print $2 }' | sort | xargs)" = "0 1" ]
}

masks() {
	threads | awk '{ print $4 }' | sort -u | xargs
}

# bind PUS TID...: as the job's user does it.
bind() {
	local pus=$1
	shift
	"$guest/on" "$node" "for tid in $*; do runuser -u poppa-demo -- taskset -p -c $pus \$tid; done" >>"$tmp/taskset"
}

# scatter: puts two threads of each program on one socket and one on the other, and frees them. The kernel alone would leave them.
scatter() {
	local i pus=(0 8 2 10 4 12)
	for i in {0..5}; do bind "${pus[i]}" "${tids[i]}"; done
	bind "$lane" "${tids[@]}"
}

diag "threads are mapped"
SUBMIT_USER=poppa-demo submit --colocate=map:auto -N1 --ntasks-per-node=2 -c4 -o job.%j \
	--wrap "srun -n2 -c4 --cpu-bind=none $program 3 /tmp/end.\$SLURM_JOB_ID"
ok "a job with map:auto starts" wait_running "$job" 600
node=$(job_field "$job" NodeList)
lane=$("$guest/on" "$node" "poppa lanes --json" | jq -r '.lanes[0].pus | sort | map(tostring) | join(",")')
is "$node: its lane is on both sockets" "$lane" 0,2,4,6,8,10,12,14
ok "$node: its six threads run" wait_until 600 eval '[ "$(threads | wc -l)" = 6 ]'
mapfile -t tids < <(threads | sort -n | awk '{ print $2 }')
scatter
ok "$node: each program's threads come together on a socket of their own" wait_until 1800 apart
diag "$(threads | paste -s -d ';')"
is "$node: none of them is bound" "$(masks)" "$lane"
is "$node: poppa status has nothing against it" "$(mapped why_not)" ""

diag "the user binds a thread"
bind 0,2 "${tids[0]}"
ok "$node: the job is left alone" wait_until 600 eval 'mapped why_not | grep -q "has bound"'
is "$node: that one is as it was bound, and the others are free" "$(masks)" "0,2 $lane"

diag "poppad is killed"
is "$node: it starts again" "$(ask "$node" restart)" started
ok "$node: it leaves the job alone" wait_until 600 eval 'mapped why_not | grep -q "has bound"'
is "$node: and has moved nothing" "$(mapped moves)" 0
scatter
ok "$node: with all threads free, programs come apart again" wait_until 1800 apart
is "$node: and none is bound" "$(masks)" "$lane"

touch "/tmp/end.$job"
"$guest/on" "$node" "touch /tmp/end.$job"
ok "the job ends" wait_end "$job" 1800
is "and has succeeded" "$(job_field "$job" JobState)" COMPLETED
