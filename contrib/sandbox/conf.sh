# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Writes the configuration files of an instance.

# True when a TCP port of this host is in use, by anybody.
port_busy() {
	local hex
	hex=$(printf '%04X' "$1")
	awk -v p="$hex" '$4 == "0A" { sub(/.*:/, "", $2); if ($2 == p) found = 1 } END { exit !found }' \
		/proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# A run of ten free ports below the range the kernel hands out by itself.
choose_ports() {
	local base p
	for ((base = 21000; base < 31000; base += 10)); do
		for ((p = base; p < base + 10; p++)); do
			port_busy "$p" && continue 2
		done
		PORT=$base
		return 0
	done
	die "no ten free TCP ports in a row between 21000 and 31000"
}

# Node names are part of cgroup paths, so they must differ between the clusters of one host. A slurmd of a newer
# release has cgroups only while jobs run, so the running slurmds are looked at, too.
choose_node_prefix() {
	local p
	for p in n nb nc nd ne nf ng nh ni nj nk; do
		! pgrep -f "^slurmd -D -N ${p}0 " >/dev/null || continue
		[ -z "$(find /sys/fs/cgroup -maxdepth 4 -name "*slurm*${p}[0-9]*" -print -quit 2>/dev/null)" ] || continue
		PREFIX_NODE=$p
		return 0
	done
	die "eleven sandboxes run on this host already"
}

cgroup_version() {
	if [ -d /sys/fs/cgroup/freezer ] && [ -d /sys/fs/cgroup/cpuset ] && [ -d /sys/fs/cgroup/memory ]; then
		echo 1
	elif [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		echo 2
	else
		return 1
	fi
}

# The real node as slurmd sees this host. A host with one core gets two cores that do not exist, and so two lanes.
real_node() {
	local spec mem
	spec=$(slurmd -C | sed -n 's/^NodeName=[^ ]* //p')
	mem=$(sed -n 's/.*RealMemory=\([0-9]*\).*/\1/p' <<<"$spec")
	spec=$(grep -o -E '(SocketsPerBoard|Sockets|CoresPerSocket|ThreadsPerCore)=[0-9]+' <<<"$spec" | sed s/PerBoard// | xargs)
	if grep -q -w 'Sockets=1 CoresPerSocket=1' <<<"$spec"; then
		warn "this host has one core: the real node pretends to have two, so co-runners share it"
		spec="Sockets=1 CoresPerSocket=2 ThreadsPerCore=1"
	fi
	echo "$spec RealMemory=$mem"
}

# Where the controller and the ledger listen.
ADDRESS=127.0.0.1

# The short host name; "hostname -s" wants it to be resolvable.
host_name() {
	uname -n | cut -d. -f1
}

# two_controllers HOST: what slurm.conf has for the second one, on an address of its own.
two_controllers() {
	[ "$CONTROLLERS" = 2 ] || return 0
	echo "SlurmctldHost=$1-backup(127.0.0.2)"
	echo "SlurmctldTimeout=10"
	echo "CommunicationParameters=NoCtldInAddrAny"
}

# Debian's packages of Slurm 26.05 have no PMIx, and a Slurm below a prefix may lack it; MPI programs of one task do without.
mpi_default() {
	if [ -e "$SLURM_PLUGINS/mpi_pmix.so" ]; then echo pmix; else echo none; fi
}

# slurm_conf real|fake: the cluster's slurm.conf, or the one of the fake nodes, whose tasks cannot be
# confined to cores that do not exist.
slurm_conf() {
	local host
	host=$(host_name)
	cat <<-END
		# Written by contrib/sandbox/up; "contrib/sandbox/ctl reconfigure" changes it.
		ClusterName=sandbox
		SlurmctldHost=$host($ADDRESS)
		$(two_controllers "$host")
		SlurmctldPort=$((PORT + 1))
		SlurmUser=slurm
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$MUNGE_SOCK
		PluginDir=$PREFIX/lib/poppa/slurm:$PREFIX/lib/poppa/slurm-own
		PlugStackConfig=$ETC/plugstack.conf
		StateSaveLocation=$STATE/slurmctld
		SlurmctldPidFile=$RUN/slurm/slurmctld.pid
		SlurmctldDebug=verbose
		SlurmdPidFile=$RUN/slurmd-%n.pid
		SlurmdSpoolDir=$SPOOL/%n
		# PMIx makes a directory for each step here. A killed slurmstepd leaves it behind, and then the next step
		# with the same ids fails: so down must be able to remove it.
		TmpFS=$SPOOL/%n
		SlurmdDebug=verbose
		SlurmdParameters=config_overrides
		DebugFlags=NO_CONF_HASH
		MpiDefault=$(mpi_default)
		ReturnToService=2
		KillWait=5
		# Thousands of processes need more than the usual minute to end on few cores, and the node would be drained.
		UnkillableStepTimeout=300
		MinJobAge=${MIN_JOB_AGE:-600}
		InactiveLimit=0
		MessageTimeout=20

		# A lane is a set of whole cores. Memory is allocated, too, so that two jobs on a node cannot take more
		# than there is. A job that asks for no memory gets the share of its cores.
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core_Memory
		SchedulerType=sched/backfill
		SchedulerParameters=bf_interval=3,bf_continue
		PriorityType=priority/multifactor
		PriorityDecayHalfLife=7-0
		PriorityCalcPeriod=1
		PriorityWeightFairshare=1000

		# slurmctld starts the prolog, so that a job's nodes learn the seed of its shutters.
		JobSubmitPlugins=colocate
		PrologFlags=Alloc
		PrEpPlugins=prep/script,prep/poppa
		PrEpParameters=$PREP_PARAMETERS

		AccountingStorageType=accounting_storage/slurmdbd
		AccountingStorageHost=127.0.0.1
		AccountingStoragePort=$((PORT + 2))
		AccountingStoragePass=$MUNGE_SOCK
		AccountingStorageEnforce=associations,limits
		AccountingStorageTRES=billing
	END
	if [ "$1" = real ]; then
		cat <<-END
			ProctrackType=proctrack/cgroup
			TaskPlugin=task/cgroup,task/affinity
			JobAcctGatherType=jobacct_gather/cgroup
			JobAcctGatherFrequency=task=30
		END
	else
		cat <<-END
			ProctrackType=proctrack/linuxproc
			TaskPlugin=task/none
			JobAcctGatherType=jobacct_gather/linux
			JobAcctGatherFrequency=task=30
		END
	fi
	echo
	slurm_conf_nodes
}

# What slurm.conf has for nodes and partitions. Billing is an integer, so a core-second counts 1000:
# milli-SU keep the discount's resolution.
slurm_conf_nodes() {
	local n
	echo "NodeName=$REAL_NODE NodeHostname=$(host_name) NodeAddr=127.0.0.1 Port=$((PORT + 4)) $REAL_SPEC"
	for n in 1 2 3 4; do
		echo "NodeName=$PREFIX_NODE$n NodeAddr=127.0.0.1 Port=$((PORT + 4 + n)) Sockets=2 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000"
	done
	cat <<-END

		PartitionName=real Nodes=$REAL_NODE Default=YES MaxTime=1-0 DefaultTime=60 OverSubscribe=NO TRESBillingWeights=CPU=1000 DefMemPerCPU=$REAL_MEM_PER_CPU
		PartitionName=fake Nodes=${PREFIX_NODE}[1-4] MaxTime=1-0 DefaultTime=60 OverSubscribe=NO TRESBillingWeights=CPU=1000 DefMemPerCPU=1000
	END
}

# write_slurm_conf: replaces both slurm.conf files atomically, as a running slurmctld may read them at any time.
write_slurm_conf() {
	slurm_conf real >"$ETC/slurm.conf.new"
	slurm_conf fake >"$ETC/fake/slurm.conf.new"
	mv "$ETC/slurm.conf.new" "$ETC/slurm.conf"
	mv "$ETC/fake/slurm.conf.new" "$ETC/fake/slurm.conf"
}

write_configuration() {
	local n
	mkdir -p "$ETC/fake"
	write_slurm_conf
	echo "optional $PREFIX/lib/poppa/slurm/spank_colocate.so" >"$ETC/plugstack.conf"
	if [ "$CGROUP" = 1 ]; then
		cat >"$ETC/cgroup.conf" <<-END
			CgroupPlugin=cgroup/v1
			CgroupMountpoint=/sys/fs/cgroup
			ConstrainCores=yes
			ConstrainRAMSpace=no
		END
	else
		cat >"$ETC/cgroup.conf" <<-END
			CgroupPlugin=cgroup/v2
			CgroupMountpoint=/sys/fs/cgroup
			IgnoreSystemd=yes
			ConstrainCores=yes
			ConstrainRAMSpace=no
		END
	fi
	cat >"$ETC/slurmdbd.conf" <<-END
		AuthType=auth/munge
		AuthInfo=socket=$MUNGE_SOCK
		DbdHost=$(host_name)
		DbdAddr=127.0.0.1
		DbdPort=$((PORT + 2))
		SlurmUser=slurm
		DebugLevel=verbose
		PidFile=$RUN/slurm/slurmdbd.pid
		PluginDir=$SLURM_PLUGINS
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=slurm
		StorageLoc=slurm_acct_db
	END
	chown slurm: "$ETC/slurmdbd.conf"
	chmod 600 "$ETC/slurmdbd.conf"
	cat >"$ETC/poppa.conf" <<-END
		RunDir=$RUN/poppa-%n
		SpoolDir=$SPOOL/poppa-%n
		StateDir=$STATE/ledger
		MungeSocket=$MUNGE_SOCK
		LedgerListen=$ADDRESS:$((PORT + 3))
		LedgerUser=slurm
		# LAMMPS calls this function eight times in each step of the demo, to measure its own phases.
		Uprobe=liblammps.so.0:_ZN9LAMMPS_NS5Timer6_stampENS0_5ttypeE
	END
	for n in plugstack.conf cgroup.conf poppa.conf; do
		ln -sf "../$n" "$ETC/fake/$n"
	done
}

# write_instance: the facts that down, env and ctl need.
write_instance() {
	cat >"$SANDBOX/instance.new" <<-END
		BOOT=$(boot_id)
		PORT=$PORT
		CGROUP=$CGROUP
		PREFIX_NODE=$PREFIX_NODE
		REAL_NODE=$REAL_NODE
		FAKE_NODES=${PREFIX_NODE}[1-4]
		REAL_SPEC='$REAL_SPEC'
		REAL_MEM_PER_CPU=$REAL_MEM_PER_CPU
		SLURM_PREFIX=$SLURM_PREFIX
		SLURM_PLUGINS=$SLURM_PLUGINS
		CONTROLLERS=$CONTROLLERS
		PREP_PARAMETERS='$PREP_PARAMETERS'
		BOOT_PREP_PARAMETERS='$BOOT_PREP_PARAMETERS'
		COMPLETE=$1
	END
	mv "$SANDBOX/instance.new" "$SANDBOX/instance"
}

choose_instance() {
	local cpus n
	choose_ports
	choose_node_prefix
	CGROUP=$(cgroup_version) ||
		die "no cgroups below /sys/fs/cgroup: Slurm's proctrack/cgroup needs version 1 (freezer, cpuset, memory) or version 2"
	REAL_NODE=${PREFIX_NODE}0
	REAL_SPEC=$(real_node)
	cpus=$(grep -o -E '(Sockets|CoresPerSocket|ThreadsPerCore)=[0-9]+' <<<"$REAL_SPEC" |
		awk -F= 'BEGIN { n = 1 } { n *= $2 } END { print n }')
	n=${REAL_SPEC##*RealMemory=}
	REAL_MEM_PER_CPU=$((n / cpus))
	SLURM_PLUGINS=$(slurm_plugins)
	# Programs of tests and of the demo disturb each other on purpose: they are to share all the same, and with no other
	# partners on some days than on others.
	PREP_PARAMETERS=poppa_period=250ms,poppa_overhead_max=0.7%,poppa_ledger=127.0.0.1:$((PORT + 3)),stripe_wait=0,stripe_explore=0%
	BOOT_PREP_PARAMETERS=$PREP_PARAMETERS
	CONTROLLERS=1
}
