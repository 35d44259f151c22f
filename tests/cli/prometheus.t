#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The rules and alerts for Prometheus, by its own promtool: each alert fires where it should, and only there.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

dir=$(cd "$(dirname "$0")/../../contrib/prometheus" && pwd)
operations=$dir/../../docs/operations.md
alerts=$(sed -n 's/^  - alert: //p' "$dir/poppa.rules.yml")
is "there are alerts" "$([ "$(wc -l <<<"$alerts")" -ge 15 ] && echo yes)" yes
missing=
for alert in $alerts; do
	grep -q -x -e "- name: $alert fires" "$dir/poppa.test.yml" || missing+=" $alert that fires"
	grep -q -x -e "- name: $alert does not fire" "$dir/poppa.test.yml" || missing+=" $alert that does not"
	grep -q "^| \`$alert\` |" "$operations" || missing+=" $alert in operations.md"
done
is "each has a case in which it fires, one in which it does not, and a row in operations.md" "$missing" ""
is "operations.md has no others" "$(sed -n 's/^| `\(Poppa[A-Za-z]*\)` |.*/\1/p' "$operations" | sort)" "$(sort <<<"$alerts")"
is "each tells what to do" "$(grep -c '^      action: ' "$dir/poppa.rules.yml")" "$(wc -l <<<"$alerts")"

if ! command -v promtool >/dev/null; then
	skip "promtool is not installed (prometheus)" "promtool checks the rules and runs their tests"
	done_testing
	exit
fi
runs "promtool check rules" 0 promtool check rules "$dir/poppa.rules.yml"
like "promtool check rules: all of them" "$OUT" "SUCCESS: $(($(wc -l <<<"$alerts") + $(grep -c '^  - record: ' "$dir/poppa.rules.yml"))) rules found"
runs "promtool test rules" 0 promtool test rules "$dir/poppa.test.yml"
[ "$tap_failed" = 0 ] || diag "$OUT$ERR"

# The tests can fail: with each alert's comparison turned round, its case fails.
mkdir "$TAP_DIR/wrong"
cp "$dir/poppa.test.yml" "$TAP_DIR/wrong"
for alert in $alerts; do
	awk -v alert="  - alert: $alert" '$0 == alert { found = 1 } found && /^    expr: / { sub(/expr: .*/, "expr: vector(0) > 1"); found = 0 } 1' \
		"$dir/poppa.rules.yml" >"$TAP_DIR/wrong/poppa.rules.yml"
	promtool test rules "$TAP_DIR/wrong/poppa.test.yml" >"$TAP_DIR/out" 2>&1 && missing+=" $alert"
done
is "an alert that never fires fails the tests" "$missing" ""
done_testing
