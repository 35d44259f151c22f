# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A file system that answers late or stands still, for the tests that need one. A test sources it after lib.sh.
#
#   no_fuse                    prints why there can be none here, and fails where there can
#   serve FOLDER MOUNTPOINT    mounts FOLDER on MOUNTPOINT, for all users, until the test ends
#   stalls [PATTERN]           from now on the calls that match wait: "write *", "* /poppa_refunds"; without a pattern, all
#   delays MS [PATTERN]        they wait for so many ms each; answers: none waits
#   waited REGEX               whether a call waits or has waited since stalls or delays

slowfs=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/tests/integration/slowfs
slowfs_control=$POPPA_SANDBOX/tmp/slowfs

no_fuse() {
	if [ ! -x "$slowfs" ]; then
		echo "libfuse3 was not found when the suite was built"
	elif [ ! -c /dev/fuse ]; then
		echo "this machine has no /dev/fuse"
	elif ! command -v fusermount3 >/dev/null; then
		echo "fusermount3 was not found"
	else
		return 1
	fi
}

serve() {
	"$slowfs" "$1" "$2" "$slowfs_control" -o allow_other >>"$slowfs_control.out" 2>&1 &
	on_exit eval "kill -9 $!; umount -l '$2'"
	wait_until 10 mountpoint -q "$2"
}

# A new file in one step: the server never reads half a line.
slowfs_say() {
	install -m 666 /dev/null "$slowfs_control.log"
	echo "$*" >"$slowfs_control.new"
	mv "$slowfs_control.new" "$slowfs_control"
}

stalls() {
	slowfs_say stall "$@"
}

delays() {
	slowfs_say "$@"
}

answers() {
	rm -f "$slowfs_control"
}

waited() {
	grep -q -E "$1" "$slowfs_control.log"
}

on_exit rm -f "$slowfs_control" "$slowfs_control.log" "$slowfs_control.out"
