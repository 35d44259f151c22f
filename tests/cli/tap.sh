# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Test Anything Protocol for the tests of commands: source it, make checks, end with tap_done.

TAP_COUNT=0
TAP_FAILED=0
TAP_DIR=$(mktemp -d)
trap 'rm -rf "$TAP_DIR"' EXIT

# tap NAME STATUS: the outcome of one check.
tap() {
	TAP_COUNT=$((TAP_COUNT + 1))
	if [ "$2" = 0 ]; then
		echo "ok $TAP_COUNT - $1"
	else
		echo "not ok $TAP_COUNT - $1"
		TAP_FAILED=$((TAP_FAILED + 1))
	fi
}

# is NAME GOT EXPECTED
is() {
	local rc=0
	[ "$2" = "$3" ] || rc=1
	tap "$1" $rc
	[ $rc = 0 ] || printf '# got:      %s\n# expected: %s\n' "${2//$'\n'/$'\n'# }" "${3//$'\n'/$'\n'# }"
}

# like NAME TEXT REGEX
like() {
	local rc=0
	[[ $2 =~ $3 ]] || rc=1
	tap "$1" $rc
	[ $rc = 0 ] || printf '# got:         %s\n# should match: %s\n' "${2//$'\n'/$'\n'# }" "$3"
}

# runs NAME STATUS COMMAND...: runs it; its output is then in $OUT and $ERR.
runs() {
	local name=$1 expected=$2 rc=0
	shift 2
	"$@" >"$TAP_DIR/out" 2>"$TAP_DIR/err" || rc=$?
	# shellcheck disable=SC2034 # for the caller
	OUT=$(cat "$TAP_DIR/out") ERR=$(cat "$TAP_DIR/err")
	is "$name: exit status" "$rc" "$expected"
}

# skip NAME REASON
skip() {
	TAP_COUNT=$((TAP_COUNT + 1))
	echo "ok $TAP_COUNT - $1 # SKIP $2"
}

# needs PROGRAM...: skips the whole test where one is missing.
needs() {
	local p
	for p in "$@"; do
		command -v "$p" >/dev/null && continue
		echo "1..0 # SKIP $p is not installed"
		exit 77
	done
}

# python_with MODULE: an interpreter that has it; the system's may not be the first in PATH.
python_with() {
	local p
	for p in python3 /usr/bin/python3; do
		"$p" -c "import $1" 2>/dev/null && echo "$p" && return
	done
	return 1
}

tap_done() {
	echo "1..$TAP_COUNT"
	[ $TAP_FAILED = 0 ]
	exit
}
