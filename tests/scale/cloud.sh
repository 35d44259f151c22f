# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Clusters that are a slurmctld alone: nodes of State=CLOUD that never answer, so that jobs are placed and
# stay placed (they "configure"), on as many nodes as wanted, with Slurm's own plugins or with ours in front.
#
# The caller sources contrib/sandbox/lib.sh before.
#
#   cloud_begin PLUGINS                  makes the directory CLOUD, with a copy of our plugins
#   cloud_clear                          ends all that is left and removes it
#   cloud_configure NAME stock|wrapped   writes NAME's slurm.conf; nodes, partitions and whatever else from stdin
#   cloud_start NAME [SECONDS]           starts its slurmctld, under the command CLOUD_UNDER if that is set, and
#                                        waits until it answers
#   cloud_stop NAME, cloud_kill NAME     ends it, with or without saving its state
#   cloud_wipe NAME                      ends it and removes all that it has
#   cloud_plugins NAME stock|wrapped [DIR]   its PluginDir from the next start on, DIR for ours
#   cloud NAME CMD...                    a command of Slurm for that cluster
#   cloud_log NAME                       where its slurmctld writes
#   cloud_pid NAME
#   cloud_ticks NAME                     processor time of its slurmctld so far
#   cloud_ns NAME                        the same of the threads that it has, in nanoseconds
#   cloud_watch NAME, cloud_profile      samples its slurmctld until that ends; what was seen, as below

# shellcheck source=contrib/sandbox/conf.sh
. "$TREE/contrib/sandbox/conf.sh"

CLOUD_UNDER=()
SLURM_OWN_PLUGINS=${SLURM_OWN_PLUGINS:-$(slurm_plugins)}

cloud_begin() {
	CLOUD=$(mktemp -d)
	CLOUD_PLUGINS=$CLOUD/plugins
	mkdir "$CLOUD_PLUGINS"
	cp "$1"/{select_cons_tres,job_submit_colocate,spank_colocate}.so "$CLOUD_PLUGINS/"
}

cloud_clear() {
	local f
	for f in "$CLOUD"/*/pid; do
		[ ! -e "$f" ] || cloud_kill "$(basename "$(dirname "$f")")"
	done
	rm -rf "$CLOUD"
}

cloud() {
	local name=$1
	shift
	SLURM_CONF=$CLOUD/$name/slurm.conf "$@"
}

cloud_log() {
	echo "$CLOUD/$1/slurmctld.log"
}

cloud_pid() {
	local pid start
	read -r pid start 2>/dev/null <"$CLOUD/$1/pid" && [ "$(start_time "$pid")" = "$start" ] && echo "$pid"
}

# A free port below those that the kernel hands out, away from the sandboxes' own.
cloud_port() {
	local p
	for ((p = 31000 + RANDOM % 1000; p < 32700; p++)); do
		port_busy "$p" || [ -e "$CLOUD/port-$p" ] || {
			: >"$CLOUD/port-$p"
			echo "$p"
			return
		}
	done
	return 1
}

# No munge: everything here is of one user on one host.
cloud_configure() {
	local name=$1 kind=$2 dir=$CLOUD/$1
	mkdir -p "$dir/state"
	[ -e "$dir/port" ] || cloud_port >"$dir/port"
	cat >"$dir/slurm.conf" <<-END
		ClusterName=$name
		SlurmctldHost=$(uname -n | cut -d. -f1)(127.0.0.1)
		SlurmctldPort=$(cat "$dir/port")
		SlurmUser=root
		AuthType=auth/none
		CredType=cred/none
		PlugStackConfig=$dir/plugstack.conf
		StateSaveLocation=$dir/state
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdTimeout=0
		SuspendProgram=/bin/true
		ResumeProgram=/bin/true
		ResumeTimeout=60000
		PrivateData=cloud
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core_Memory
		SchedulerType=sched/backfill
		AccountingStorageType=accounting_storage/none
		MessageTimeout=99
		PrologFlags=Alloc
	END
	cat >>"$dir/slurm.conf"
	echo "optional $CLOUD_PLUGINS/spank_colocate.so" >"$dir/plugstack.conf"
	cloud_plugins "$name" "$kind"
}

cloud_plugins() {
	local conf=$CLOUD/$1/slurm.conf dirs=$SLURM_OWN_PLUGINS
	sed -i -e '/^PluginDir=/d' -e '/^JobSubmitPlugins=colocate$/d' "$conf"
	if [ "$2" = wrapped ]; then
		dirs=${3:-$CLOUD_PLUGINS}:$dirs
		echo "JobSubmitPlugins=colocate" >>"$conf"
	fi
	echo "PluginDir=$dirs" >>"$conf"
}

cloud_up() {
	cloud "$1" scontrol ping | grep -q ' is UP'
}

# Every start has a log of its own; the earlier one is kept beside it.
cloud_start() {
	local dir=$CLOUD/$1 end=$((SECONDS + ${2:-60})) pid
	[ ! -e "$dir/slurmctld.log" ] || mv "$dir/slurmctld.log" "$dir/slurmctld.log.old"
	SLURM_CONF=$dir/slurm.conf setsid "${CLOUD_UNDER[@]}" "$(command -v slurmctld)" -D -f "$dir/slurm.conf" </dev/null >"$dir/slurmctld.log" 2>&1 &
	pid=$!
	disown
	echo "$pid $(start_time "$pid")" >"$dir/pid"
	until cloud_up "$1" 2>/dev/null; do
		if ! cloud_pid "$1" >/dev/null || [ "$SECONDS" -ge "$end" ]; then
			tail -n 20 "$dir/slurmctld.log" >&2
			return 1
		fi
		sleep 0.1
	done
}

cloud_end() {
	local pid end=$((SECONDS + 30))
	pid=$(cloud_pid "$1") || return 0
	kill "-$2" "$pid"
	while cloud_pid "$1" >/dev/null; do
		[ "$SECONDS" -lt "$end" ] || kill -KILL "$pid" 2>/dev/null
		sleep 0.05
	done
}
cloud_stop() { cloud_end "$1" TERM; }
cloud_kill() { cloud_end "$1" KILL; }
cloud_wipe() {
	cloud_kill "$1"
	rm -rf "${CLOUD:?}/$1"
}

cloud_ticks() {
	awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$(cloud_pid "$1")/stat"
}

cloud_ns() {
	cat "/proc/$(cloud_pid "$1")"/task/*/schedstat 2>/dev/null | awk '{ ns += $1 } END { printf "%.0f\n", ns }'
}

cloud_watch() {
	perf record -q -e cpu-clock -F 999 -o "$CLOUD/perf.data" -p "$(cloud_pid "$1")" >/dev/null 2>&1 &
	sleep 1
}

# "COUNT FILE FUNCTION" of every place at which slurmctld was seen.
cloud_profile() {
	perf script -i "$CLOUD/perf.data" -F ip,sym,dso 2>/dev/null | awk -v ours="$CLOUD_PLUGINS/" '{
		file = $NF; gsub(/[()]/, "", file)
		ip = $1; $1 = $NF = ""; gsub(/^ +| +$/, ""); sub(/\+0x[0-9a-f]+$/, "")
		if (index(file, ours) == 1) file = "striping"
		else if (file ~ /kernel|vdso/) file = "kernel"
		else sub(/.*\//, "", file)
		count[file " " ($0 == "" || $0 == "[unknown]" ? "-" : $0)]++
	}
	END { for (f in count) print count[f], f }' | sort -rn
}
