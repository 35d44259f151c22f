# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A co-runner cheats in every way that there is under cgroup version 2, on both machines at once. Sourced by
# tests/vm/guest/check.
# shellcheck source=tests/integration/cheats.sh
. /mnt/tree/tests/integration/cheats.sh

cgroups=2
bin=/mnt/programs
# Whatever computes without a rest keeps the machine's other processors waiting.
rest=3000
seconds=45
patience=1800
look_every=10
SETTLE_SECONDS=1800
played=$tmp/played
mkdir "$played"

on_node() {
	"$guest/on" "$1" "$2"
}

# The machines do nothing else.
favoured() {
	true
}

todo=()
way() {
	todo+=("$1|$2")
}

no_way() {
	skip "$2" "$1"
}

# way_by_way NODE FIRST: from the first on, each second way.
way_by_way() {
	local i
	for ((i = $2; i < ${#todo[@]}; i += 2)); do
		play "${todo[i]%%|*}" "${todo[i]#*|}" "$1"
		diag "$1: \"${todo[i]%%|*}\" has been played"
	done
}

diag "cheats"
ways
way_by_way n1 0 &
way_by_way n2 1 &
wait
judge_ways
is "all ways were played" "$(find "$played" -type f | wc -l)" "${#todo[@]}"
look_every=3
