# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A Slurm cluster of one host as its administrator makes it from Debian's packages, in a Debian in a folder.
#
#   plain_packages              the packages that it needs
#   ROOT                        that folder; "" where the host is this machine itself (plain_machine.sh)
#   plain_boot ROOT             makes this process's namespaces those of a host whose file system is ROOT; HOST is its name
#   plain_systemd               starts systemd there, as the first process of the host; prints what is wrong, and fails,
#                               where it does not come up. Services are its own from then on
#   on_host CMD...              runs CMD there as root; as_alice CMD... as an ordinary user with an account
#   plain_cluster               configures and starts munge, MariaDB and Slurm's daemons
#   wait_cluster                waits until the node takes jobs
#   plain_cgroups               prints what Slurm and the suite have made below /sys/fs/cgroup for HOST
#   remove_plain_cgroups        removes it when HOST's processes have ended; remove_systemd_cgroups: what its systemd has made
#
# The caller has namespaces of its own for mounts, processes, network and names. Settings and paths are those that
# a reader of Debian's packages finds.

plain_packages() {
	# A compiler is there because users have one. Procps and socat are for what stands in for systemctl.
	echo slurmctld slurmd slurmdbd slurm-client mariadb-server munge gcc libc6-dev systemd systemd-sysv procps socat
}

plain_boot() {
	local type path mode user group
	ROOT=$1
	hostname "$HOST"
	# An address beside 127.0.0.1, without which names are not looked up. It leads nowhere.
	ip link set lo up
	ip address add 192.0.2.1/32 dev lo
	mount --bind "$ROOT" "$ROOT"
	mount -t proc proc "$ROOT/proc"
	mount --rbind /sys "$ROOT/sys"
	mount --rbind /dev "$ROOT/dev"
	mount -t tmpfs -o mode=1777 tmpfs "$ROOT/dev/shm"
	mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"
	mount -t tmpfs -o mode=755 tmpfs "$ROOT/run"
	echo "$HOST" >"$ROOT/etc/hostname"
	printf '127.0.0.1 localhost\n192.0.2.1 %s\n' "$HOST" >"$ROOT/etc/hosts"
	: >"$ROOT/etc/resolv.conf"
	# What systemd makes when it boots.
	while read -r type path mode user group _; do
		case $type in d | D) on_host install -d -m "${mode/-/755}" -o "${user/-/root}" -g "${group/-/root}" "$path" 2>/dev/null ;; esac
	done < <(cat "$ROOT"/usr/lib/tmpfiles.d/*.conf 2>/dev/null)
}

# The first process of a host with systemd; empty on one without.
INIT=

# entered CMD...: in the host's file system, and among its processes.
entered() {
	if [ -z "$ROOT" ]; then
		"$@"
	elif [ -n "$INIT" ]; then
		nsenter --target "$INIT" --pid --root --wd "$@"
	else
		chroot "$ROOT" "$@"
	fi
}

on_host() {
	entered env -i HOME=/root USER=root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

as_alice() {
	entered setpriv --reuid alice --regid alice --init-groups env -i HOME=/home/alice USER=alice TERM=dumb LANG=C.UTF-8 \
		PATH=/usr/local/bin:/usr/bin:/bin "$@"
}

systemd_is_up() {
	case $(on_host systemctl is-system-running 2>/dev/null) in running | degraded) ;; *) return 1 ;; esac
}

# Its cgroups are this machine's, so nothing else may have them: no other systemd. Terminals are nobody's here. From
# release 256 to 257 it must be told that version 1 is meant.
plain_systemd() {
	local launcher
	# This process's own is that of the machine.
	mount -t proc proc /proc
	mkdir -p "$ROOT/etc/systemd/system"
	ln -sf /dev/null "$ROOT/etc/systemd/system/console-getty.service"
	ln -sf /dev/null "$ROOT/etc/systemd/system/getty.target"
	# plain_cluster enables them. Without a slurm.conf Debian 13's slurmd looks for a controller for ever, and holds up all else.
	rm -f "$ROOT"/etc/systemd/system/multi-user.target.wants/slurm{ctld,d,dbd}.service
	# shellcheck disable=SC2016
	unshare --pid --fork --kill-child sh -c 'mount -t proc proc "$1/proc" &&
		exec chroot "$1" env -i container=plain /lib/systemd/systemd --unit=multi-user.target SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1' sh "$ROOT" \
		</dev/null >"$ROOT/var/log/systemd.log" 2>&1 &
	launcher=$!
	wait_until 10 pgrep -P "$launcher" >/dev/null && INIT=$(pgrep -P "$launcher") && [ -n "$INIT" ] &&
		wait_until 90 systemd_is_up && return
	cat "$ROOT/var/log/systemd.log"
	[ -z "$INIT" ] || on_host systemctl list-jobs
	return 1
}

plain_slurm_conf() {
	cat <<-END
		ClusterName=plain
		SlurmctldHost=$HOST
		SlurmUser=slurm
		AuthType=auth/munge
		StateSaveLocation=/var/lib/slurm/slurmctld
		SlurmdSpoolDir=/var/lib/slurm/slurmd
		SlurmctldLogFile=/var/log/slurm/slurmctld.log
		SlurmdLogFile=/var/log/slurm/slurmd.log
		ReturnToService=2
		ProctrackType=proctrack/cgroup
		TaskPlugin=task/cgroup,task/affinity
		JobAcctGatherType=jobacct_gather/cgroup
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core_Memory
		AccountingStorageType=accounting_storage/slurmdbd
		AccountingStorageHost=localhost
		AccountingStorageEnforce=associations,limits
		AccountingStorageTRES=billing
		NodeName=$HOST $(on_host slurmd -C | sed -n "s/^NodeName=[^ ]* //p") State=UNKNOWN
		PartitionName=main Nodes=$HOST Default=YES MaxTime=1-0 TRESBillingWeights=CPU=1,Mem=0.25G
	END
}

plain_cgroup_conf() {
	echo "CgroupPlugin=cgroup/v$(cgroup_version)"
	echo CgroupMountpoint=/sys/fs/cgroup
	[ -z "$ROOT" ] || [ "$(cgroup_version)" = 1 ] || echo IgnoreSystemd=yes
	echo ConstrainCores=yes
	echo ConstrainRAMSpace=no
}

plain_cluster() {
	local etc=$ROOT/etc/slurm
	on_host useradd --create-home --shell /bin/bash alice
	# Newer MariaDB ends a transaction at the first conflict, which slurmdbd does not expect.
	printf '[mariadbd]\ninnodb_lock_wait_timeout=900\nloose-innodb_snapshot_isolation=OFF\n' >"$ROOT/etc/mysql/mariadb.conf.d/60-slurm.cnf"
	plain_slurm_conf >"$etc/slurm.conf"
	plain_cgroup_conf >"$etc/cgroup.conf"
	cat >"$etc/slurmdbd.conf" <<-END
		AuthType=auth/munge
		DbdHost=localhost
		SlurmUser=slurm
		LogFile=/var/log/slurm/slurmdbd.log
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=slurm
		StorageLoc=slurm_acct_db
	END
	on_host chown slurm: /etc/slurm/slurmdbd.conf
	chmod 600 "$etc/slurmdbd.conf"
	[ -z "$ROOT" ] || [ "$(cgroup_version)" = 1 ] || enable_cgroup2
	on_host systemctl enable --now munge mariadb
	on_host mariadb -e "CREATE DATABASE slurm_acct_db; CREATE USER slurm@localhost IDENTIFIED VIA unix_socket;
		GRANT ALL ON slurm_acct_db.* TO slurm@localhost;"
	on_host systemctl enable --now slurmdbd
	wait_until 60 on_host sacctmgr -n show cluster
	# slurmctld may add the cluster only after its users are there.
	on_host sacctmgr -i add cluster plain
	on_host sacctmgr -i add account physics Description=physics Organization=physics
	on_host sacctmgr -i add user alice account=physics
	on_host sacctmgr -i modify account where name=physics set GrpTRESMins=billing=50000
	on_host systemctl enable --now slurmctld slurmd
	wait_cluster
}

takes_jobs() {
	case $(on_host sinfo -h -o %T) in idle | mixed | allocated | completing) ;; *) return 1 ;; esac
}

wait_cluster() {
	wait_until 90 takes_jobs
}

plain_cgroups() {
	find /sys/fs/cgroup/*/"slurm_$HOST" "/sys/fs/cgroup/freezer/poppa_$HOST" "/sys/fs/cgroup/system.slice/${HOST}_slurmstepd.scope" \
		-depth -type d 2>/dev/null
}

# What plain_systemd's systemd has left of its own, when it has ended.
remove_systemd_cgroups() {
	find /sys/fs/cgroup/*/{init.scope,system.slice,user.slice} -depth -type d -exec rmdir {} + 2>/dev/null
}

remove_plain_cgroups() {
	local dir
	for _ in 1 2 3 4 5; do
		for dir in $(plain_cgroups); do
			[ ! -e "$dir/freezer.state" ] || echo THAWED >"$dir/freezer.state"
			rmdir "$dir" 2>/dev/null
		done
		[ -n "$(plain_cgroups)" ] || break
		sleep 0.5
	done
}
