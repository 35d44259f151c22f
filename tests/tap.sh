# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Test points for bash tests, printed as TAP (Test Anything Protocol). The first argument is the point's name.
#
#   ok NAME CMD...           passes when CMD succeeds; its output is shown when it does not
#   nok NAME CMD...          passes when CMD fails
#   is NAME GOT WANTED       passes when the texts are the same
#   like NAME TEXT REGEX     passes when TEXT matches the extended regular expression; unlike: when not
#   cmp_num NAME A OP B      compares two numbers, which may have fractions: OP is < <= == != >= >
#   pass NAME, fail NAME [WHY]
#   skip REASON [NAME]       counts a point that cannot be tested here
#   skip_all REASON          the same for the whole test, which ends
#   bail_out REASON          ends the test: all that follows would fail, too
#   diag TEXT                prints a line for the reader
#   done_testing             must be the last line of a test

tap_count=0
tap_failed=0
tap_done=no

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

pass() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s\n' "$tap_count" "$1"
}

fail() {
	tap_count=$((tap_count + 1))
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$1"
	[ $# -lt 2 ] || diag "${@:2}"
	return 0
}

ok() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then pass "$name"; else fail "$name" "$* failed:"$'\n'"$out"; fi
}

nok() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then fail "$name" "$* succeeded:"$'\n'"$out"; else pass "$name"; fi
}

is() {
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "     got: $2"$'\n'"expected: $3"; fi
}

like() {
	if [[ $2 =~ $3 ]]; then pass "$1"; else fail "$1" "         got: $2"$'\n'"should match: $3"; fi
}

unlike() {
	if [[ $2 =~ $3 ]]; then fail "$1" "             got: $2"$'\n'"should not match: $3"; else pass "$1"; fi
}

cmp_num() {
	if awk -v a="$2" -v b="$4" 'BEGIN { exit !(a ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ && b ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ && a+0 '"$3"' b+0) }'; then
		pass "$1"
	else
		fail "$1" "$2 $3 $4 does not hold"
	fi
}

skip() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "${2:-}" "$1"
}

skip_all() {
	printf '1..0 # SKIP %s\n' "$1"
	tap_done=yes
	exit 0
}

bail_out() {
	printf 'Bail out! %s\n' "$1"
	tap_done=yes
	exit 1
}

done_testing() {
	printf '1..%d\n' "$tap_count"
	tap_done=yes
	[ "$tap_failed" = 0 ]
}

# wait_until SECONDS CMD...: waits until CMD succeeds; fails when it has not by then. Where tests run side by side
# (POPPA_TEST_BESIDE) all take longer: it waits four times as long, and looks ever more rarely, up to 0.4 s apart, as most of
# what a cluster's test uses of a processor is such looks.
wait_until() {
	local factor=${POPPA_TEST_BESIDE:+4} end waited=0 tenths=1
	end=$((SECONDS + $1 * ${factor:-1}))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		[ -z "${POPPA_TEST_BESIDE:-}" ] || tenths=$((waited < 20 ? 1 : waited / 10 > 4 ? 4 : waited / 10))
		sleep "0.$tenths"
		waited=$((waited + tenths))
	done
}
