# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Starts and stops the daemons of an instance, one function each, for up, down and ctl.

as() {
	local user=$1
	shift
	setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups "$@"
}

munge_answers() {
	munge -n -S "$MUNGE_SOCK" | unmunge -S "$MUNGE_SOCK"
}

start_munged() {
	mkdir -p "$RUN/munge" "$STATE/munge"
	chown munge: "$RUN/munge" "$STATE/munge"
	chmod 755 "$RUN/munge"
	chmod 700 "$STATE/munge"
	if [ ! -s "$STATE/munge/key" ]; then
		(umask 377 && head -c 128 /dev/urandom >"$STATE/munge/key.new")
		chown munge: "$STATE/munge/key.new"
		mv "$STATE/munge/key.new" "$STATE/munge/key"
	fi
	rm -f "$MUNGE_SOCK" "$MUNGE_SOCK.lock"
	launch munged setpriv --reuid munge --regid munge --init-groups munged --foreground \
		--key-file="$STATE/munge/key" --socket="$MUNGE_SOCK" --pid-file="$RUN/munge/munged.pid" \
		--seed-file="$STATE/munge/seed" --num-threads=4
	wait_ready munged 20 munge_answers
}

start_mariadb() {
	local data=$STATE/mariadb
	mkdir -p "$RUN/mariadb"
	chown mysql: "$RUN/mariadb"
	if [ ! -d "$data/mysql" ]; then
		mkdir -p "$data"
		chown mysql: "$data"
		mariadb-install-db --no-defaults --user=mysql --datadir="$data" --skip-test-db \
			--auth-root-authentication-method=socket >"$LOG/mariadb-install.log" 2>&1 ||
			die "mariadb-install-db failed; see $LOG/mariadb-install.log"
	fi
	cat >"$STATE/mariadb.sql" <<-END
		CREATE DATABASE IF NOT EXISTS slurm_acct_db;
		CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED VIA unix_socket;
		GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
	END
	# With snapshot isolation, the default of newer MariaDB, slurmdbd ends at the first conflict of two writes.
	launch mariadb mariadbd --no-defaults --user=mysql --datadir="$data" --skip-networking \
		--socket="$RUN/mariadb/mariadb.sock" --pid-file="$RUN/mariadb/mariadb.pid" \
		--init-file="$STATE/mariadb.sql" --innodb-lock-wait-timeout=900 \
		--loose-innodb-snapshot-isolation=OFF
	wait_ready mariadb 60 mariadb-admin --no-defaults --socket="$RUN/mariadb/mariadb.sock" ping
}

start_slurmdbd() {
	launch slurmdbd env SLURM_CONF="$ETC/slurm.conf" MYSQL_UNIX_PORT="$RUN/mariadb/mariadb.sock" \
		setpriv --reuid slurm --regid "$(id -g slurm)" --init-groups slurmdbd -D
	wait_ready slurmdbd 60 with_slurm sacctmgr -n -p show cluster
}

# Adds the cluster, its account and its users to a new slurmdbd.
add_accounts() {
	run_logged accounts.log with_slurm sacctmgr -i add cluster sandbox
	run_logged accounts.log with_slurm sacctmgr -i add account demo
	run_logged accounts.log with_slurm sacctmgr -i add user "$DEMO_USER" "$OTHER_USER" account=demo
}

# controller_up primary|backup: true when it answers. A backup that stands by answers, too.
controller_up() {
	with_slurm scontrol ping | grep -q "($1) at .* is UP"
}

# controller HOST ADDRESS: puts the command that runs a slurmctld into the array as_slurm. Where there are two
# slurmctlds, each has a host name, an address and a directory for the pid file of its own.
controller() {
	local own=$RUN/slurmctld-$1
	as_slurm=(setpriv --reuid slurm --regid "$(id -g slurm)" --init-groups
		env PATH="$PREFIX/bin:$PREFIX/sbin:$PATH" slurmctld -D -f "$ETC/slurm.conf")
	[ "$CONTROLLERS" = 2 ] || return 0
	mkdir -p "$own"
	chown slurm: "$own"
	{
		echo "$2 $1"
		cat /etc/hosts
	} >"$own.hosts"
	# shellcheck disable=SC2016
	as_slurm=(unshare --mount --uts bash -c '
		echo "$1" >/proc/sys/kernel/hostname
		mount --bind "$2.hosts" /etc/hosts
		mount --bind "$2" "$3"
		shift 3
		exec "$@"' controller "$1" "$own" "$RUN/slurm" "${as_slurm[@]}")
}

start_slurmctld() {
	local as_slurm
	mkdir -p "$STATE/slurmctld"
	chown slurm: "$STATE/slurmctld"
	controller "$(host_name)" 127.0.0.1
	launch slurmctld "${as_slurm[@]}"
	wait_ready slurmctld 30 controller_up primary
}

start_slurmctld_backup() {
	local as_slurm
	[ "$CONTROLLERS" = 2 ] || die "the cluster has one slurmctld: see contrib/sandbox/ctl controllers"
	controller "$(host_name)-backup" 127.0.0.2
	launch slurmctld-backup "${as_slurm[@]}"
	wait_ready slurmctld-backup 30 controller_up backup
}

# child_of PID: the first child of a process.
child_of() {
	local stat
	for stat in /proc/[0-9]*/stat; do
		awk -v parent="$1" '{ pid = $1; sub(/.*\) /, ""); if ($2 == parent) { print pid; exit 3 } }' \
			"$stat" 2>/dev/null || {
			[ "$?" = 3 ] && return 0
		}
	done
	return 1
}

# A fake node is a small container: namespaces of its own for hostname, mounts (with its own /dev/shm, as
# MPI expects of two hosts) and processes. Whatever runs in there ends with its first process.
start_node() {
	local node=$1
	rm -f "$RUN/node-$node"
	# shellcheck disable=SC2016
	launch "node-$node" unshare --mount --uts --pid --fork --kill-child --mount-proc bash -c '
		echo "$1" >/proc/sys/kernel/hostname
		mount -t tmpfs -o mode=1777 tmpfs /dev/shm
		echo ready >"$2"
		while :; do sleep 3600 & wait $!; done' node "$node" "$RUN/node-$node"
	wait_ready "node-$node" 10 test -s "$RUN/node-$node"
}

stop_node() {
	local pid
	pid=$(pid_of "node-$1") && kill -KILL "$pid"
	while pid_of "node-$1" >/dev/null; do sleep 0.05; done
	rm -f "$PIDS/node-$1" "$RUN/node-$1"
}

slurmd_name() {
	if [ "$1" = "$REAL_NODE" ]; then echo slurmd; else echo "slurmd-$1"; fi
}

# start_slurmd NODE: starts the slurmd of the real node on the host, and that of a fake node inside that node.
start_slurmd() {
	local node=$1 name inside child
	name=$(slurmd_name "$node")
	mkdir -p "$SPOOL/$node"
	if [ "$node" = "$REAL_NODE" ]; then
		[ "$CGROUP" = 1 ] || enable_cgroup2
		# With INVOCATION_ID slurmd believes that systemd started it and stays in the caller's cgroup.
		launch "$name" env -u INVOCATION_ID slurmd -D -N "$node" -f "$ETC/slurm.conf"
		return 0
	fi
	pid_of "node-$node" >/dev/null || start_node "$node"
	inside=$(child_of "$(pid_of "node-$node")") || die "node $node has ended"
	launch "$name" nsenter -t "$inside" --mount --uts --pid --root --wd slurmd -D -N "$node" -f "$ETC/fake/slurm.conf"
	# nsenter stays outside and waits for the slurmd that it has started inside: record the latter.
	wait_for 5 child_of "$(pid_of "$name")" || die "slurmd of $node could not be started"
	child=$(child_of "$(pid_of "$name")")
	echo "$child $(start_time "$child")" >"$PIDS/$name"
}

node_ready() {
	local state
	state=$(with_slurm sinfo -h -N -n "$1" -o %T | head -n 1)
	case $state in
	idle | mixed | allocated | completing) return 0 ;;
	*) return 1 ;;
	esac
}

nodes() {
	local i
	echo "$REAL_NODE"
	for i in 1 2 3 4; do echo "$PREFIX_NODE$i"; done
}

start_ledgerd() {
	launch ledgerd env SLURM_CONF="$ETC/slurm.conf" "$PREFIX/sbin/poppa-ledgerd" -c "$ETC/poppa.conf"
	wait_ready ledgerd 20 port_busy "$((PORT + 3))"
}

# With POPPA_BOOTED=SECONDS poppad sees a host that booted so many seconds ago: another boot id, and monotonic clocks
# that count from then.
start_poppad() {
	local child late poppad=(env SLURM_CONF="$ETC/slurm.conf" "$PREFIX/sbin/poppad" -N "$REAL_NODE" -c "$ETC/poppa.conf")
	if [ -n "${POPPA_BOOTED:-}" ]; then
		late=$((POPPA_BOOTED - $(cut -d. -f1 /proc/uptime)))
		cat /proc/sys/kernel/random/uuid >"$RUN/boot-id"
		# shellcheck disable=SC2016
		launch poppad unshare --mount --time --monotonic="$late" --boottime="$late" --fork --kill-child bash -c '
			mount --bind "$1" /proc/sys/kernel/random/boot_id
			shift
			exec "$@"' boot "$RUN/boot-id" "${poppad[@]}"
		wait_for 5 child_of "$(pid_of poppad)" || die "poppad could not be started"
		child=$(child_of "$(pid_of poppad)")
		echo "$child $(start_time "$child")" >"$PIDS/poppad"
	else
		launch poppad "${poppad[@]}"
	fi
	wait_ready poppad 20 grep -F "$RUN/poppa-$REAL_NODE/poppad.sock" /proc/net/unix
}

start_daemon() {
	case $1 in
	munged | mariadb | slurmdbd | slurmctld | ledgerd | poppad) "start_$1" ;;
	slurmctld-backup) start_slurmctld_backup ;;
	slurmd)
		start_slurmd "$REAL_NODE"
		wait_ready slurmd 60 node_ready "$REAL_NODE"
		;;
	slurmd-*)
		start_slurmd "${1#slurmd-}"
		wait_ready "$1" 60 node_ready "${1#slurmd-}"
		;;
	*) die "no daemon is called $1: there are munged, mariadb, slurmdbd, slurmctld, slurmctld-backup, slurmd, slurmd-NODE, ledgerd and poppad" ;;
	esac
}

# Slurm's cgroups of this instance's nodes, in every hierarchy; the deepest come first. With version 2 the slurmd of a
# fake node makes one, too, although it holds none of its tasks.
node_cgroups() {
	local node
	for node in $(nodes); do
		find /sys/fs/cgroup/*/"slurm_$node" "/sys/fs/cgroup/freezer/poppa_$node" "/sys/fs/cgroup/system.slice/${node}_slurmstepd.scope" \
			-depth -type d 2>/dev/null || true
	done
}

# Ends every process in these cgroups and removes the cgroups. A frozen process has to thaw before it can die.
clear_cgroups() {
	local dir pid tries
	for ((tries = 0; tries < 100; tries++)); do
		[ -n "$(node_cgroups)" ] || return 0
		while read -r dir; do
			if [ -e "$dir/freezer.state" ]; then echo THAWED >"$dir/freezer.state" || true; fi
			if [ -e "$dir/cgroup.freeze" ]; then echo 0 >"$dir/cgroup.freeze" || true; fi
			while read -r pid; do
				kill -KILL "$pid" || true
			done <"$dir/cgroup.procs" || true
			rmdir "$dir" || true
		done < <(node_cgroups) 2>/dev/null
		sleep 0.1
	done
	warn "these cgroups could not be removed: $(node_cgroups | xargs)"
}

# Slurm makes the cgroups of its steps below system.slice and needs the controllers there. Those that this function
# enables are written down, so that down can disable them again.
enable_cgroup2() {
	local dir c
	mkdir -p /sys/fs/cgroup/system.slice
	for dir in /sys/fs/cgroup /sys/fs/cgroup/system.slice; do
		for c in cpuset cpu memory pids; do
			grep -q -w "$c" "$dir/cgroup.subtree_control" && continue
			echo "+$c" 2>/dev/null >"$dir/cgroup.subtree_control" ||
				die "cgroup controller $c cannot be enabled in $dir: this looks like a container without cgroups of its own; run the sandbox on a host or in a virtual machine"
			echo "$dir $c" >>"$STATE/cgroup2-enabled"
		done
	done
}

restore_cgroup2() {
	local dir c
	[ -e "$STATE/cgroup2-enabled" ] || return 0
	# Another sandbox may still need them: then they stay enabled.
	tac "$STATE/cgroup2-enabled" | while read -r dir c; do
		[ -n "$(find /sys/fs/cgroup/system.slice -maxdepth 1 -name '*_slurmstepd.scope' 2>/dev/null)" ] ||
			echo "-$c" 2>/dev/null >"$dir/cgroup.subtree_control" || true
	done
	rmdir /sys/fs/cgroup/system.slice 2>/dev/null || true
}

# Ends Slurm's commands that still wait for this instance (srun, salloc, sbatch --wait).
stop_clients() {
	local dir
	for dir in /proc/[0-9]*; do
		case $(cat "$dir/comm" 2>/dev/null) in
		srun | salloc | sbatch | sattach)
			if grep -q -z -x -s -F "SLURM_CONF=$ETC/slurm.conf" "$dir/environ"; then
				kill -KILL "${dir#/proc/}" 2>/dev/null || true
			fi
			;;
		esac
	done
}

# Removes shared memory that killed MPI ranks have left behind, where no process maps it any more.
clear_shared_memory() {
	local f
	[ -e "$SANDBOX/instance" ] || return 0
	while read -r f; do
		grep -l -s -F "$f" /proc/[0-9]*/maps >/dev/null 2>&1 || rm -rf "$f"
	done < <(find /dev/shm -mindepth 1 -maxdepth 1 -newer "$SANDBOX/instance" \
		\( -user "$DEMO_USER" -o -user "$OTHER_USER" \) 2>/dev/null)
}

# take_down: ends every process of an instance, whatever state it is in, and removes what it made, except the logs, the
# build and the downloaded sources.
take_down() {
	local node
	if load_instance && [ "$BOOT" = "$(boot_id)" ]; then
		stop poppad
		stop slurmctld-backup 15
		stop slurmctld 15
		stop_clients
		for node in $(nodes); do stop "$(slurmd_name "$node")" 5; done
		for node in $(nodes); do stop_node "$node"; done
		clear_cgroups
		stop ledgerd
		stop slurmdbd 15
		stop mariadb 30
		stop munged
		# A step that was being set up when its slurmd ended has made its cgroups after that.
		clear_cgroups
		clear_shared_memory
		[ "$CGROUP" = 1 ] || restore_cgroup2
	fi
	rm -rf "$PIDS" "$RUN" "$SPOOL" "$STATE" "$ETC" "$SANDBOX/tmp" "$SANDBOX/instance"
}

# Removes the users that this or another instance has added to the system, when no instance is up any more.
remove_users() {
	local user
	[ -e /usr/sbin/slurmctld ] || return 0
	exec 9</usr/sbin/slurmctld
	flock -w 300 9 || return 0
	if ! any_cluster; then
		for user in "$DEMO_USER" "$OTHER_USER"; do
			[ "$(getent passwd "$user" | cut -d : -f 5)" != "$USER_COMMENT" ] ||
				userdel "$user" || return 0
		done
	fi
	exec 9<&-
}
