#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A co-runner cheats in every way that was thought of: its victim's degradation is right, or its bill says that it is not
# known, and because of whom.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"
# shellcheck source=tests/integration/cheats.sh
. "$(dirname "$0")/cheats.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/tests/integration
cgroups=2
[ ! -d /sys/fs/cgroup/freezer ] || cgroups=1
rest=0
seconds=4
patience=60
# Each way needs a program of a certain name.
bin=$(mktemp -d "$POPPA_SANDBOX/tmp/cheats.XXXXXX")
on_exit rm -rf "$bin"
chmod 755 "$bin"
for name in $names; do install -m 755 "$build/cheat" "$bin/$name"; done
install -m 755 "$build/victim" "$bin/victim"
played=$(mktemp -d)
on_exit rm -rf "$played"

# As many shutters as can be, to see in seconds what takes a job minutes; POPPA_TEST_LONG=auto adds long blocks.
ctl reconfigure --reset >/dev/null
ctl reconfigure poppa_period=40ms poppa_shutter=20ms poppa_overhead_max=20% poppa_adaptive=no poppa_min_blocks=8 \
	poppa_long="${POPPA_TEST_LONG:-off}" poppa_settle_timeout=10s >/dev/null
on_exit ctl reconfigure --reset

on_node() {
	bash -c "$2"
}

shutters_of() {
	status "$SHUTTERS"
}

# procs_of NODE JOB: of the places that cgroups_of names, this node has some only.
procs_of() {
	# shellcheck disable=SC2046
	find $(cgroups_of "$1" "$2") -name cgroup.procs -exec cat {} + 2>/dev/null || true
}

# Under whatever else this machine does they would take turns, and neither would be the other one's neighbour all the time.
favoured() {
	procs_of "$1" "$3" | xargs -r ps -o comm= -p | grep -q -x victim || return 1
	# shellcheck disable=SC2046
	favour $(procs_of "$1" "$2") $(procs_of "$1" "$3")
}

way() {
	local seconds=$seconds
	# The victim's rate changes all the time there: its degradation has three times the noise.
	[ "$1" != "works in short tasks" ] || seconds=10
	play "$1" "$2" "$SANDBOX_REAL_NODE"
}

no_way() {
	skip "$2" "$1"
}

ok "short periods are taken up" wait_until 10 holds '.settings | contains("poppa_period=40ms")'
[ "$cgroups" = 2 ] || keep_a_cgroup "$SANDBOX_REAL_NODE"
ways
judge_ways
cmp_num "so many ways were played" "$(find "$played" -type f | wc -l)" '>=' 12
done_testing
