# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the tests of commands have beyond tests/tap.sh: programs run with their output kept, and a folder.
#
#   runs NAME STATUS CMD...  runs it, which is a point; its output is then in $OUT and $ERR
#   tap NAME STATUS          passes when the status is 0
#   needs PROGRAM...         skips the whole test where one is missing
#   python_with MODULE       an interpreter that has it; the system's may not be the first in PATH
#   trial ARG...             poppa trial
#   page_commands PAGE       prints the commands of a document that this test is to run
#   left                     how many processes name a file in $TAP_DIR, when they have had ten seconds to end
#   $TAP_DIR                 is removed at the end

# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"

TAP_DIR=$(mktemp -d)
trap 'rm -rf "$TAP_DIR"' EXIT

tap() {
	if [ "$2" = 0 ]; then pass "$1"; else fail "$1"; fi
}

runs() {
	local name=$1 expected=$2 rc=0
	shift 2
	"$@" >"$TAP_DIR/out" 2>"$TAP_DIR/err" || rc=$?
	# shellcheck disable=SC2034 # for the caller
	OUT=$(cat "$TAP_DIR/out") ERR=$(cat "$TAP_DIR/err")
	is "$name: exit status" "$rc" "$expected"
}

needs() {
	local p
	for p in "$@"; do
		command -v "$p" >/dev/null && continue
		printf '1..0 # SKIP %s is not installed\n' "$p"
		exit 77
	done
}

python_with() {
	local p
	for p in python3 /usr/bin/python3; do
		"$p" -c "import $1" 2>/dev/null && echo "$p" && return
	done
	return 1
}

page_commands() {
	awk -v run="<!-- run: tests/cli/$(basename "$0")" 'index($0, run) { wanted = 1; next } wanted && /^    / { print substr($0, 5) }
		wanted && /^[^ ]/ { exit }' "$(dirname "$0")/../../$1"
}

trial() {
	"$POPPA" trial "$@"
}

left() {
	local n
	for _ in $(seq 100); do
		n=$(pgrep -c -f "$TAP_DIR/" | tr -d '\n')
		[ "$n" = 0 ] && break
		sleep 0.1
	done
	echo "$n"
}
