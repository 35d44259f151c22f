# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Waits until slurmctld's schedulers have looked at the jobs that wait. A test sources it after tap.sh. CMD, if any,
# goes before each of Slurm's commands.
#
#   looked_at ID [CMD...]      the main scheduler and backfill have both looked since, at the waiting job ID as well
#   backfilled [CMD...]        a cycle of backfill has just ended; some job must wait

# cycles [CMD...]: how many each of the two has made so far.
cycles() { "$@" sdiag | awk '/Total cycles:/ { printf "%d ", $3 }'; }

# have_looked MAIN BACKFILL [CMD...]: they have made more than that.
have_looked() {
	local main backfill
	read -r main backfill < <(cycles "${@:3}")
	[ "${main:-0}" -gt "$1" ] && [ "${backfill:-0}" -gt "$2" ]
}

# Without a change of a job, a node or a partition backfill leaves its turn out: this makes one.
looked_at() {
	local id=$1 main backfill
	shift
	read -r main backfill < <(cycles "$@")
	"$@" scontrol update jobid="$id" Comment=looked-at || return
	wait_until 90 have_looked "$main" "$backfill" "$@"
}

backfilled() {
	local main backfill node
	read -r main backfill < <(cycles "$@")
	node=$("$@" sinfo -h -N -o %N | head -n 1)
	"$@" scontrol update node="$node" Comment=looked-at || return
	wait_until 90 have_looked -1 "$backfill" "$@"
}
