#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Whatever Slurm hands out (SelectTypeParameters), lanes are whole cores; where that is sockets, they are refused.
# shellcheck source=tests/integration/clouds.sh
. "$(dirname "$0")/clouds.sh"

N=one
# fresh UNIT: an empty cluster that hands out such units.
fresh() {
	cloud_wipe $N
	cloud_configure $N wrapped <<-END
		SchedulerParameters=sched_interval=1,bf_interval=1
		NodeName=c[1-2] Sockets=2 CoresPerSocket=8 RealMemory=64000 State=CLOUD
		NodeName=d1 Sockets=1 CoresPerSocket=12 ThreadsPerCore=2 RealMemory=48000 State=CLOUD
		PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefMemPerCPU=1000
	END
	sed -i "s/^SelectTypeParameters=.*/SelectTypeParameters=$1/" "$CLOUD/$N/slurm.conf"
	cloud_start $N || bail_out "slurmctld does not start"
}
# lane OPTION...: the CPUs that the job has, or nothing.
lane() {
	job=$(cloud $N sbatch --parsable -o /dev/null --colocate "$@" --wrap true 2>&1) &&
		wait_until 30 has_nodes "$job" &&
		cloud $N scontrol -d show job "$job" | sed -n 's/.*CPU_IDs=\([^ ]*\) .*/\1/p'
}

for unit in CR_Core CR_Core_Memory CR_CPU CR_CPU_Memory CR_Core,CR_ONE_TASK_PER_CORE CR_Core_Memory,CR_Pack_Nodes; do
	fresh "$unit"
	is "$unit: two lanes of a node" "$(lane -n1 -w c1) $(lane -n3 -w c1)" "0,2,4,6,8,10,12,14 1,3,5,7,9,11,13,15"
	is "$unit: of cores with two hyperthreads" "$(lane -n5 -w d1) $(lane -N1 -w d1)" \
		"0-1,4-5,8-9,12-13,16-17,20-21 2-3,6-7,10-11,14-15,18-19,22-23"
	third=$(cloud $N sbatch --parsable -o /dev/null --colocate -n1 -w d1 --wrap true)
	own=$(cloud $N sbatch --parsable -o /dev/null -n1 --wrap true)
	ok "$unit: one that did not opt in runs" wait_until 30 has_nodes "$own"
	is "$unit: on a node of its own" "$(cloud $N squeue -h -j "$own" -o %N)" c2
	ok "$unit: a third co-located job waits" waits "$third"
	nok "$unit: the plugin logged no fault" \
		grep -a -q "select/stripe: .*\(differed\|cannot follow\|no memory\)" "$(cloud_log $N)"
done

for unit in CR_Socket CR_Socket_Memory; do
	fresh "$unit"
	out=$(cloud $N sbatch -o /dev/null --colocate -n1 --wrap true 2>&1)
	like "$unit is refused with its reason" "$? $out" '^1 .*--colocate: this cluster hands out whole sockets \(CR_Socket\)'
	own=$(cloud $N sbatch --parsable -o /dev/null -n1 --wrap true)
	ok "$unit: others run" wait_until 30 has_nodes "$own"
done

fresh CR_Core
sed -i /^PrologFlags=/d "$CLOUD/$N/slurm.conf"
cloud $N scontrol reconfigure
like "without PrologFlags=Alloc it is refused with its reason" "$(cloud $N sbatch -o /dev/null --colocate -n1 --wrap true 2>&1)" \
	'--colocate: .*\(PrologFlags has neither Alloc nor Contain\)'
own=$(cloud $N sbatch --parsable -o /dev/null -n1 --wrap true)
ok "and others run" wait_until 30 has_nodes "$own"

done_testing
