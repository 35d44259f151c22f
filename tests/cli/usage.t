#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What every subcommand of poppa has: help, exit statuses, one clear line about bad usage.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"

commands=(advise doctor estimate gpu job lanes ledger map metrics overhead pairs plan price report settle status top why)
runs "no arguments" 2 "$POPPA"
like "no arguments: usage" "$ERR" "^Usage: poppa COMMAND"
runs "help" 0 "$POPPA" help
for c in "${commands[@]}"; do
	like "help lists $c" "$OUT" "  $c "
done
runs "--help" 0 "$POPPA" --help
runs "--version" 0 "$POPPA" --version
like "--version: text" "$OUT" "^poppa [0-9]+\.[0-9]+\.[0-9]+$"
runs "unknown command" 2 "$POPPA" frobnicate
is "unknown command: names it" "$ERR" 'poppa: "frobnicate" is no command; "poppa help" lists them'

for c in "${commands[@]}"; do
	runs "$c --help" 0 "$POPPA" $c --help
	like "$c --help: usage" "$OUT" "^Usage: poppa $c"
	like "$c --help: has --json" "$OUT" "--json"
	is "$c --help: nothing on stderr" "$ERR" ""
	runs "help $c" 0 "$POPPA" help $c
	# What advise does not know goes to sbatch.
	[ "$c" != advise ] || continue
	runs "$c --nonsense" 2 "$POPPA" $c --nonsense
	like "$c --nonsense: names it" "$ERR" "^poppa $c: unrecognized option '--nonsense'"
done

# empty OPTION COMMAND ARGUMENT...: an empty file name is one clear error that names the option.
empty() {
	local option=$1
	shift
	runs "$1: empty $option" 2 "$POPPA" "$@"
	is "$1: empty $option: names it" "$ERR" "poppa $1: $option: the file's name is empty"
}
empty --file ledger export --file ''
empty --conf ledger check --conf=
empty "backup TO" ledger backup ''
empty FILE estimate ''
empty --input why --input= 12
empty --conf why --conf= 12
empty --conf job --conf= 12
empty --input report --input=
empty --html report --html=
empty --output metrics --output=
empty --history pairs --history=
empty --history plan --history=
empty --input plan --input=
empty --conf settle --conf=
empty --conf status --conf ''

runs "ledger without an action" 2 "$POPPA" ledger
is "ledger without an action: lists them" "$ERR" "poppa ledger: which action? Choose one of check, backup TO, export, rebuild"

runs "full disk" 1 bash -c '"$1" help >/dev/full' - "$POPPA"
like "full disk: says so" "$ERR" "cannot write to standard output: No space left"
done_testing
