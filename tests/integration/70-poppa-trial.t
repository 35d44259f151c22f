#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa trial as an ordinary user: programs of known losses, LAMMPS, srun and mpirun within salloc, and kills.
. "$(dirname "$0")/lib.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
contend=$build/contrib/workloads/contend
null=$build/contrib/workloads/null
line=/dev/shm/poppa-test-70.$$
dir=$POPPA_SANDBOX/tmp/trial.$$
on_exit rm -rf "$line" "$dir"
mkdir -p "$dir" && chmod 777 "$dir"

# between NAME JSON FILTER LOW HIGH
between() {
	local v
	v=$(jq "$3" <<<"$2")
	cmp_num "$1 ($v)" "$v" '>=' "$4"
	cmp_num "$1, from above" "$v" '<=' "$5"
}

# marked: processes of the programs of any trial.
marked() {
	local p
	for p in /proc/[0-9]*; do
		tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -q '^POPPA_TRIAL=' && echo "${p#/proc/}"
	done
}
nothing_marked() { [ -z "$(marked)" ]; }

# rate CPU SECONDS: what contend does on that core.
rate() {
	as_user taskset -c "$1" "$contend" --private 0 --line "$line" --seconds "$2" -v 2>&1 >/dev/null | sed -n 's|.*rank 0: \([^ ]*\) operations.*|\1|p'
}
# true_loss: of two contend beside each other, by whole runs, alone and together in turns.
true_loss() {
	local i
	for i in 1 2 3; do
		rate 0 2 >"$dir/alone.$i"
		rate 1 6 >/dev/null &
		# MPI starts in less.
		sleep 2
		rate 0 2 >"$dir/together.$i"
		wait $!
	done
	paste <(cat "$dir"/alone.?) <(cat "$dir"/together.?) | awk '{ a += $1; t += $2 } END { print 1 - t / a }'
}

before=$(true_loss)
json=$(as_user env PATH=/usr/bin:/bin "$(command -v poppa)" trial --time 36 --rounds 4 --json -- \
	"$contend" --private 0 --line "$line" --seconds 1000 -- "$contend" --private 0 --line "$line" --seconds 1000)
after=$(true_loss)
diag "contend loses $before beside itself, by whole runs, and $after afterwards"
# What a virtual machine makes of two cores changes within a minute; tests/bench/run trial looks closer.
read -r low high <<<"$(awk -v a="$before" -v b="$after" 'BEGIN { print (a < b ? a : b) - 0.08, (a > b ? a : b) + 0.08 }')"
between "contend beside itself: its loss is that of whole runs" "$json" '.programs[0].degradation' "$low" "$high"
between "and so is the other's" "$json" '.programs[1].degradation' "$low" "$high"
between "the node's work is what is left of both" "$json" .stp "$(awk "BEGIN { print 2 * (1 - $high) }")" "$(awk "BEGIN { print 2 * (1 - $low) }")"
is "so it is not worth it" "$(jq -r .verdict <<<"$json")" do-not

json=$(as_user poppa trial --time 36 --rounds 4 --json -- "$contend" --line "$line" --seconds 1000 -- "$null" --seconds 1000)
is "contend beside null loses nothing" "$(jq '.programs[0] | .lo <= 0.05 and .hi >= -0.05' <<<"$json")" true
is "nor does null" "$(jq '.programs[1] | .lo <= 0.05 and .hi >= -0.05' <<<"$json")" true
is "it is worth it" "$(jq -r .verdict <<<"$json")" colocate

cat >"$dir/in.melt" <<-'END'
	units lj
	atom_style atomic
	lattice fcc 0.8442
	region box block 0 10 0 10 0 10
	create_box 1 box
	create_atoms 1 box
	mass 1 1.0
	velocity all create 3.0 87287
	pair_style lj/cut 2.5
	pair_coeff 1 1 1.0 1.0 2.5
	fix 1 all nve
	thermo 1000
	run 500
END
json=$(as_user poppa trial --time 60 --rounds 4 --json -- lmp -in "$dir/in.melt" -log none -- "$null" --seconds 1000)
is "LAMMPS is counted by its runs" "$(jq -r '.programs[0].counter' <<<"$json")" runs
# Its runs take a second each; tests/bench/run trial has more of them.
between "beside null it does not certainly lose anything" "$json" '.programs[0].lo' -0.9 0.04
is "and it is worth it" "$(jq -r .verdict <<<"$json")" colocate

# --- Slurm and MPI ---
within="salloc -Q -N1 -n2 -w $SANDBOX_REAL_NODE --exclusive"
json=$(as_user $within poppa trial --time 16 --rounds 2 --json -- srun -n1 "$contend" --line "$line" --seconds 1000 -- srun -n1 "$contend" --line "$line" --seconds 1000)
between "srun within salloc: they meet" "$json" '.programs[0].degradation' 0.3 0.98
is "srun within salloc: by their own beats" "$(jq -c '[.programs[].counter]' <<<"$json")" '["heartbeat","heartbeat"]'
json=$(as_user $within poppa trial --time 16 --rounds 2 --json -- mpirun -n 1 "$contend" --line "$line" --seconds 1000 -- 'mpirun -n 1 '"$contend --line $line --seconds 1000")
between "mpirun within salloc: they meet" "$json" '.programs[0].degradation' 0.3 0.98
ok "all their processes have ended" wait_until 10 nothing_marked

# --- kills ---
wrong=
for i in 1 2 3 4 5 6; do
	as_user $within poppa trial --time 60 --rounds 2 -- srun -n1 "$contend" --line "$line" --seconds 1000 -- mpirun -n 1 "$contend" --line "$line" --seconds 1000 >/dev/null 2>&1 &
	shell=$!
	# Not only salloc, which has it in its command line.
	wait_until 60 eval '[ "$(pgrep -c -f "^poppa trial .*$line")" -ge 2 ]' || bail_out "trial $i does not run"
	sleep "$i"
	# The first is the keeper, the last the worker.
	mapfile -t both < <(pgrep -f "^poppa trial .*$line")
	if ((i % 2)); then kill -9 "${both[0]}"; else kill -9 "${both[-1]}"; fi
	wait "$shell"
	wait_until 15 nothing_marked || wrong+=" $i: $(marked | xargs -r ps -o stat=,args= -p);"
done
is "six kills leave nothing of srun's and mpirun's tasks" "$wrong" ""
done_testing
