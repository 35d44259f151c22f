#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job that makes itself hard to stop or to look at keeps its co-runner from nothing: a user with thousands of idle
# processes or threads, also where poppad would freeze them, one whose task is stopped, traced or resumed all the time.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/neighbours.sh
. "$(dirname "$0")/neighbours.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/tests/integration
rest=0
settling=100
window=6
patience=120
bin=$(mktemp -d "$POPPA_SANDBOX/tmp/neighbours.XXXXXX")
on_exit rm -rf "$bin"
chmod 755 "$bin"
install -m 755 "$build"/{crowd,cheat,victim} "$bin"
file=$(mktemp)
on_exit rm -f "$file"
on_exit ctl reconfigure --reset

node_status() {
	status "$2"
}

on_node() {
	bash -c "$2"
}

preferred() {
	all_work 1 "$2"
}

# Long blocks come when chance wants them, and none follows for a while: fewer blocks, whoever the co-runner is.
ctl reconfigure poppa_period=50ms poppa_overhead_max=10% poppa_adaptive=no poppa_long=off >/dev/null
ok "short periods are taken up" wait_until 10 holds '.settings | contains("poppa_period=50ms")'
# Of 20,000 processes as many as the machine can number.
pid_max=$(cat /proc/sys/kernel/pid_max)
if [ "$pid_max" -lt 65536 ] && echo 65536 2>/dev/null >/proc/sys/kernel/pid_max; then
	on_exit eval "echo $pid_max >/proc/sys/kernel/pid_max"
fi
most=$(($(cat /proc/sys/kernel/pid_max) / 2))
[ "$most" -lt 20000 ] || most=20000
[ "$most" = 20000 ] || diag "only $most processes: kernel.pid_max is $(cat /proc/sys/kernel/pid_max) and cannot be raised here"
neighbours "$SANDBOX_REAL_NODE" "$file" stopped traced resumed "threads 1000" "threads 300 traced" "idle 2100" "idle 2100, resumed at first" "threads 1000, resumed at first" "idle $most"
judge_neighbours "$file"
is "all were played" "$(wc -l <"$file")" 10
done_testing
