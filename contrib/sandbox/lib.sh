# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the sandbox's scripts share: where things are, progress lines, locks, and daemons with recorded pids.

TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
CACHE=${POPPA_CACHE:-$TREE/.sandbox/cache}
# libtool's script and make's recipes take a fifth of a build's time in bash, and less in a plain shell.
export CONFIG_SHELL=${CONFIG_SHELL:-/bin/sh}
DEMO_USER=poppa-demo
OTHER_USER=poppa-guest
# Users that a sandbox has added to the system carry this comment: the last sandbox to go down removes them.
USER_COMMENT="made by contrib/sandbox/up"
SLURM_PREFIX=

say() {
	printf 'sandbox: [%4ds] %s\n' "$SECONDS" "$*"
}

warn() {
	printf 'sandbox: warning: %s\n' "$*" >&2
}

die() {
	printf 'sandbox: error: %s\n' "$*" >&2
	exit 1
}

need_root() {
	[ "$(id -u)" = 0 ] || die "this must run as root: it starts a cluster that runs other users' jobs"
}

# Whether a sandbox on this machine is up, ours or another one: they share the jobs' users. A test may have killed
# the slurmctld of one, but not its slurmds at the same time.
any_cluster() {
	pgrep -f '^slurm(ctld -D|d -D -N [^ ]+) -f /.*/etc/(fake/)?slurm[.]conf' >/dev/null
}

# usable_directory DIR LENGTH: true when every user may enter DIR and its path has at most LENGTH characters. The path
# of a socket has at most 107 characters, and the names below DIR take 45 of them.
usable_directory() {
	local at=$1
	[ "${#at}" -le "$2" ] || return 1
	while [ "$at" != / ]; do
		at=$(dirname "$at")
		if [ -d "$at" ]; then
			case $(stat -c %A "$at") in
			*[xt]) ;;
			*) return 1 ;;
			esac
		fi
	done
}

choose_directory() {
	if [ -n "${POPPA_SANDBOX:-}" ]; then
		case $POPPA_SANDBOX in
		/*) SANDBOX=$POPPA_SANDBOX ;;
		*) SANDBOX=$PWD/$POPPA_SANDBOX ;;
		esac
		usable_directory "$SANDBOX" 62 ||
			die "POPPA_SANDBOX=$SANDBOX: the path must be at most 62 characters long, in directories that every user may enter"
	elif usable_directory "$TREE/.sandbox" 48; then
		SANDBOX=$TREE/.sandbox
	else
		SANDBOX=/var/tmp/poppa-sandbox-$(cksum <<<"$TREE" | cut -d' ' -f1)
	fi
}

choose_directory
ETC=$SANDBOX/etc
RUN=$SANDBOX/run
LOG=$SANDBOX/log
STATE=$SANDBOX/state
SPOOL=$SANDBOX/spool
PIDS=$SANDBOX/pids
PREFIX=$SANDBOX/usr
BUILD=${POPPA_SANDBOX_BUILD:-$SANDBOX/build}
MUNGE_SOCK=$RUN/munge/munge.sock

# lock_instance SECONDS: one script at a time works on an instance.
lock_instance() {
	mkdir -p "$SANDBOX"
	exec 8>"$SANDBOX/lock"
	flock -w "$1" 8 || die "another script has been working on $SANDBOX for $1 seconds"
}

boot_id() {
	cat /proc/sys/kernel/random/boot_id
}

# use_slurm PREFIX: from now on Slurm is the one that is installed below PREFIX; empty: that of Debian's packages.
use_slurm() {
	SLURM_PREFIX=$1
	case $PATH in
	"$1/bin:$1/sbin:"*) ;;
	*) [ -z "$1" ] || PATH=$1/bin:$1/sbin:$PATH ;;
	esac
}

# The facts of a running instance: node names, ports, cgroup version, and which Slurm it has.
load_instance() {
	# shellcheck source=/dev/null
	[ -r "$SANDBOX/instance" ] && . "$SANDBOX/instance" && use_slurm "$SLURM_PREFIX"
}

# slurm_plugins: the directory of Slurm's own plugins.
slurm_plugins() {
	local dir dirs=(/usr/lib/*/slurm-wlm)
	[ -z "$SLURM_PREFIX" ] || dirs=("$SLURM_PREFIX/lib64/slurm" "$SLURM_PREFIX/lib/slurm")
	for dir in "${dirs[@]}"; do
		[ ! -e "$dir/select_cons_tres.so" ] || break
	done
	echo "$dir"
}

# source_version DIR: the release of Slurm's source tree; nothing where that is none.
source_version() {
	sed -n 's/^[[:space:]]*Version:[[:space:]]*//p' "$1/META" 2>/dev/null | head -n 1 || true
}

# run_logged LOG CMD...: writes the output of CMD to that file of the logs, and shows its end when CMD fails.
run_logged() {
	local log=$1
	shift
	"$@" >>"$LOG/$log" 2>&1 || {
		tail -n 30 "$LOG/$log" >&2
		die "$1 failed; the end of $LOG/$log is above"
	}
}

# start_time PID: when the process started, in clock ticks since boot. A pid may be used again, a pid with its start
# time is not.
start_time() {
	local stat
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086
	set -- $stat
	[ "$1" != Z ] || return 1
	echo "${20}"
}

# pid_of NAME: prints the pid of a daemon that still runs.
pid_of() {
	local pid start
	read -r pid start 2>/dev/null <"$PIDS/$1" || return 1
	[ "$(start_time "$pid")" = "$start" ] || return 1
	echo "$pid"
}

# launch NAME CMD...: starts a daemon in a session of its own, with its output in log/NAME.log. The process writes its
# pid down before it becomes the daemon, so every daemon has a record.
launch() {
	local name=$1
	shift
	mkdir -p "$PIDS"
	rm -f "$PIDS/$name"
	setsid bash -c '
		stat=$(cat /proc/$$/stat); set -- "$1" "${stat##*) }" "${@:2}"
		read -ra f <<<"$2"
		echo "$$ ${f[19]}" >"$1"
		shift 2
		cd /
		exec "$@"' launch "$PIDS/$name" "$@" 8>&- 9>&- </dev/null >>"$LOG/$name.log" 2>&1 &
	disown
	wait_for $((5 * ${POPPA_PATIENCE:-1})) test -s "$PIDS/$name" || die "$name could not be started"
}

# wait_for SECONDS CMD...: waits until CMD succeeds; fails when it has not by then.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

# wait_ready NAME SECONDS CMD...: waits until CMD succeeds, that is until the daemon answers. Shows the daemon's log
# when it ends or does not answer in time. POPPA_PATIENCE=N waits N times as long, for slow machines.
wait_ready() {
	local name=$1 end=$((SECONDS + $2 * ${POPPA_PATIENCE:-1}))
	shift 2
	until "$@" >/dev/null 2>&1; do
		if ! pid_of "$name" >/dev/null || [ "$SECONDS" -ge "$end" ]; then
			tail -n 20 "$LOG/$name.log" >&2 || true
			if pid_of "$name" >/dev/null; then
				die "$name does not answer; the end of $LOG/$name.log is above"
			fi
			die "$name ended; the end of $LOG/$name.log is above"
		fi
		sleep 0.1
	done
}

# stop NAME [SECONDS]: ends a daemon by its recorded pid, with SIGKILL when it has not ended in time.
stop() {
	local pid end=$((SECONDS + ${2:-10}))
	pid=$(pid_of "$1") || {
		rm -f "$PIDS/$1"
		return 0
	}
	kill -TERM "$pid" 2>/dev/null || true
	while pid_of "$1" >/dev/null; do
		if [ "$SECONDS" -ge "$end" ]; then
			kill -KILL "$pid" 2>/dev/null || true
			end=$((SECONDS + 5))
		fi
		sleep 0.05
	done
	rm -f "$PIDS/$1"
}

with_slurm() {
	SLURM_CONF=$ETC/slurm.conf "$@"
}

# The cgroups of jobs that are frozen now, of cgroup version 1 or 2.
frozen_cgroups() {
	find /sys/fs/cgroup -path '*slurm*' \( -name freezer.state -exec grep -lv THAWED {} + \) -o \
		\( -name cgroup.events -exec grep -l 'frozen 1' {} + \) 2>/dev/null
}
