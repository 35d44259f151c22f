#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What bash completes of a poppa command line.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"

# shellcheck source=contrib/completion/poppa
. "$(dirname "$0")/../../contrib/completion/poppa"

# completes NAME EXPECTED WORD...: the last word is the one under the cursor.
completes() {
	local name=$1 expected=$2
	shift 2
	COMP_WORDS=("$POPPA" "$@")
	COMP_CWORD=$#
	_poppa
	is "$name" "$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')" "$expected${expected:+ }"
}
completes "a command" "metrics" me
completes "one of several" "status" st
completes "a command for help" "overhead" help ov
completes "options of a command" "--times" top --ti
completes "options that several have" "--json" status --j
completes "values of an option" "robust" estimate --method r
completes "values behind a sign" "thesis" estimate --method = t
completes "values of an option that may have none" "solo" report --what-if = so
completes "all of them, at the sign" "linear: none solo thesis tiers:" report --what-if =
completes "and none without a sign" "--html" report --what-if --ht
completes "actions of poppa ledger" "backup check export rebuild" ledger ""
completes "one action, behind an option" "rebuild" ledger --since 2026-01-31 re
# Stands in for Slurm's, with the last day's jobs of the user.
sacct() {
	printf '12\n13_1\n13_2\n'
}
completes "jobs" "13_1 13_2" why 13
completes "jobs for one screen" "12" job 12
completes "jobs of an option" "12" settle --job 12
touch "$TAP_DIR/shutters.csv"
completes "a file for a copy of the ledger" "$TAP_DIR/shutters.csv" ledger backup "$TAP_DIR/shut"
completes "files" "$TAP_DIR/shutters.csv" estimate "$TAP_DIR/shut"
completes "a program to profile" "completes" profile -o x -- completes
completes "a program to try" "completes" trial --rounds 2 -- true -- completes
completes "options of a trial" "--rounds" trial --ro
completes "options of a program's command" "--compare" profile --comp
completes "a change of trials" "--forget" pairs --fo
completes "a file of trials" "$TAP_DIR/shutters.csv" pairs --trials "$TAP_DIR/shut"
completes "a trial to import" "$TAP_DIR/shutters.csv" pairs --import "$TAP_DIR/shut"
# Stands in for the command, where a trial was imported.
with_trials() {
	printf '1/a 1/b 1\n\nTRIAL\n0123456789abcdef 2026\n0123456789abcdef 2026\nfedcba9876543210 2026\n'
}
command=$POPPA POPPA=with_trials
completes "a trial to forget" "0123456789abcdef" pairs --forget 01
POPPA=$command
completes "options of advice" "--class" advise --cl
completes "a script to ask about" "$TAP_DIR/shutters.csv" advise -N 2 "$TAP_DIR/shut"
completes "files of an option" "$TAP_DIR/shutters.csv" metrics --output "$TAP_DIR/shut"
COMP_WORDS=("$POPPA" "")
COMP_CWORD=1
_poppa
is "every command" "$(printf '%s\n' "${COMPREPLY[@]}" | grep -v -e '^help$' -e '^--' | sort)" \
	"$("$POPPA" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort)"
done_testing
