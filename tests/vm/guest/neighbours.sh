# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Co-runners that are hard to stop or to look at, under cgroup version 2. Sourced by tests/vm/guest/check.
# shellcheck source=tests/integration/neighbours.sh
. /mnt/tree/tests/integration/neighbours.sh

bin=/mnt/programs
rest=3000
settling=10
window=120
patience=1800
look_every=10

on_node() {
	"$guest/on" "$1" "$2"
}

# The machines do nothing else.
preferred() {
	true
}

node_status() {
	status_of "$1" "$2"
}

diag "neighbours"
neighbours n1 "$tmp/n1" stopped resumed &
neighbours n2 "$tmp/n2" traced &
wait
judge_neighbours "$tmp/n1"
judge_neighbours "$tmp/n2"
is "all were played" "$(cat "$tmp"/n[12] | wc -l)" 5
# It kept 15 of 177 blocks: poppad looks at each process, and one thread of the host is all sixteen processors.
skip "to look at so many takes emulated processors seconds" "idle 2100: nine tenths of the blocks beside an honest job"
skip "the machines have too little memory for them" "idle 20000: nine tenths of the blocks beside an honest job"
look_every=3
