# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The sandbox's cluster on two machines: what differs from one machine, and who starts what.
#
#   prepare_node               configuration and directories of this machine
#   boot_cluster               on n1: all daemons of both
#   start_node_daemons         of this machine

export POPPA_SANDBOX=/sandbox POPPA_PATIENCE=20
unset POPPA_SANDBOX_BUILD
# shellcheck source=contrib/sandbox/lib.sh
. /mnt/tree/contrib/sandbox/lib.sh
# shellcheck source=contrib/sandbox/conf.sh
. /mnt/tree/contrib/sandbox/conf.sh
# shellcheck source=contrib/sandbox/daemons.sh
. /mnt/tree/contrib/sandbox/daemons.sh
mkdir -p "$LOG"

ADDRESS=10.0.0.1

host_name() {
	echo n1
}

# What takes seconds elsewhere may take minutes here.
slurm_conf_nodes() {
	cat <<-END
		BatchStartTimeout=600
		UnkillableStepTimeout=600
		NodeName=n[1-2] NodeAddr=10.0.0.[1-2] Port=$((PORT + 4)) $REAL_SPEC
		PartitionName=vm Nodes=n[1-2] Default=YES MaxTime=1-0 DefaultTime=600 OverSubscribe=NO TRESBillingWeights=CPU=1000 DefMemPerCPU=$REAL_MEM_PER_CPU
	END
}

prepare_node() {
	local user prefix
	prefix=$(cat /mnt/prefix)
	PORT=21000 PREFIX_NODE=n CGROUP=2 CONTROLLERS=1
	# A bill is looked at when all ways to cheat were played, by what slurmctld shows of its job.
	MIN_JOB_AGE=36000
	REAL_NODE=$(uname -n)
	REAL_SPEC="Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=1600"
	REAL_MEM_PER_CPU=100
	SLURM_PLUGINS=$(slurm_plugins)
	# Regions as long as can be, as a few real processors take turns at being 32 emulated ones.
	PREP_PARAMETERS=poppa_period=400ms,poppa_shutter=100ms,poppa_windows=2,poppa_overhead_max=0,poppa_adaptive=no,poppa_min_blocks=5,poppa_settle_timeout=1h,poppa_ledger=$ADDRESS:$((PORT + 3))
	BOOT_PREP_PARAMETERS=$PREP_PARAMETERS
	tar -C /mnt/root -cf - . | tar --no-overwrite-dir -xf - -C /
	[ "$prefix" = "$PREFIX" ] || ln -s "$prefix" "$PREFIX"
	mkdir -p "$ETC" "$RUN" "$STATE/munge" "$SPOOL" "$PIDS" "$SANDBOX/tmp" "$SANDBOX/shutters"
	chmod 755 "$SANDBOX" "$ETC" "$RUN" "$SPOOL" "$STATE"
	chmod 1777 "$SANDBOX/tmp"
	install -d -o slurm "$RUN/slurm"
	install -o munge -m 400 /mnt/munge.key "$STATE/munge/key"
	# Debian's package has made one.
	ln -s /var/lib/mysql "$STATE/mariadb"
	for user in "$DEMO_USER" "$OTHER_USER"; do
		install -d -o "$user" "$SANDBOX/home/$user"
	done
	write_configuration
	printf '%s\n' "ShutterLog=$SANDBOX/shutters" "MapReplay=$SANDBOX/map.csv" >>"$ETC/poppa.conf"
	# Two programs whose tasks wait for each other's lines.
	printf '%s\n' interval,app,task,pu,instructions,cycles,inter,intra,local,remote,stalls \
		1,{1,2},{1,2,3},0,400,1000,10,0,0,0,900 | awk -F, -v OFS=, 'NR > 1 { $3 = $2 * 10 + $3 } 1' >"$SANDBOX/map.csv"
	write_instance yes
}

start_node_daemons() {
	pid_of munged >/dev/null || start_munged
	start_slurmd "$(uname -n)"
	wait_ready slurmd 60 node_ready "$(uname -n)"
	start_poppad
}

boot_cluster() {
	load_instance
	start_munged
	start_mariadb
	start_slurmdbd
	add_accounts
	start_slurmctld
	start_ledgerd
	start_node_daemons
	wait_for 1200 /mnt/tree/tests/vm/guest/on n2 true
	/mnt/tree/tests/vm/guest/on n2 /mnt/tree/tests/vm/guest/node start | grep -x started
}
