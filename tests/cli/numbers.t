#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa price, overhead and lanes: results and refusals.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"

runs "price" 0 "$POPPA" price --raw 1000 --degradation 0.2 --json
is "price: the square" "$OUT" '{"raw": 1000.0, "charged": 640.0, "discount": 0.36, "policy": "thesis"}'
runs "price, stopped" 0 "$POPPA" price --raw=60000 --degradation=0.4 --paused-fraction=0.01 --json
is "price, stopped: (1-Z) too" "$OUT" '{"raw": 60000.0, "charged": 21384.0, "discount": 0.6436, "policy": "thesis"}'
runs "price, solo" 0 "$POPPA" price --raw 10 --degradation 0.25 --policy solo --json
is "price, solo: fractions of an SU" "$OUT" '{"raw": 10.0, "charged": 7.5, "discount": 0.25, "policy": "solo"}'
runs "price, none" 0 "$POPPA" price --raw 10 --degradation 0.25 --policy none --json
is "price, none: no discount" "$OUT" '{"raw": 10.0, "charged": 10.0, "discount": 0.0, "policy": "none"}'
runs "price, linear" 0 "$POPPA" price --raw 10 --degradation 0.25 --policy linear:2 --json
is "price, linear" "$OUT" '{"raw": 10.0, "charged": 5.0, "discount": 0.5, "policy": "linear:2"}'
runs "price, capped" 0 "$POPPA" price --raw 10 --degradation 0.5 --policy thesis/cap=0.4/floor=7 --json
is "price, capped: the floor is in SU" "$OUT" '{"raw": 10.0, "charged": 7.0, "discount": 0.3, "policy": "thesis/cap=0.4/floor=7"}'
runs "price, upper end" 0 "$POPPA" price --raw 10000 --degradation 0.2 --upper 0.21 --policy thesis/estimate=upper --json
like "price, upper end: favours the user" "$OUT" '"charged": 6241.0,'
runs "price, an upper end that is none" 2 "$POPPA" price --raw 1000 --degradation 0.3 --upper 0.1
is "price, an upper end that is none: says so" "$ERR" "poppa price: --upper: 0.1 is below the degradation 0.3: the upper end of its interval is at least as high"
runs "price, no upper end" 0 "$POPPA" price --raw 10000 --degradation 0.2 --policy thesis/estimate=upper --json
like "price, no upper end: D stands for it" "$OUT" '"charged": 6400.0,'
runs "price, unknown limit" 2 "$POPPA" price --policy thesis/max=1
like "price, unknown limit: says what there is" "$ERR" '^poppa price: --policy: "max" is unknown: .*cap=FRACTION'
runs "price, below zero" 0 "$POPPA" price --raw 10 --degradation=-0.01 --json
like "price, below zero: never dearer" "$OUT" '"charged": 10.0,'
runs "price, little" 0 "$POPPA" price --raw 0.01 --degradation 0.5 --json
like "price, little: not rounded away" "$OUT" '"charged": 0.0025,'
runs "price, text" 0 "$POPPA" price --raw 1000 --degradation 0.2
like "price, text: charged" "$OUT" "charged +640.000 SU"
runs "price without raw" 2 "$POPPA" price --degradation 0.2
like "price without raw: says so" "$ERR" "^poppa price: --raw and --degradation are both needed"
for bad in "--raw x" "--raw -1" "--degradation 1.5" "--degradation nan" "--paused-fraction 2" "--upper 2" "--policy cheap" "surplus"; do
	# shellcheck disable=SC2086
	runs "price $bad" 2 "$POPPA" price $bad
	like "price $bad: names it" "$ERR" "^poppa price: .*${bad##* }"
	is "price $bad: one line" "$(wc -l <<<"$ERR")" 1
done

runs "overhead" 0 "$POPPA" overhead --jobs 2 --shutter 3200us --period 200ms --json
is "overhead: equations 3.9 and 3.10" "$OUT" '{"jobs": 2, "shutter_s": 0.0032, "period_s": 0.2, "paused_fraction": 0.007633587786, "dilation": 1.007692308, "loop_s": 0.4192}'
runs "overhead, other units" 0 "$POPPA" overhead --jobs 2 --shutter 3.2ms --period 0.2s --json
like "overhead, other units: the same" "$OUT" '"paused_fraction": 0.007633587786'
runs "overhead, text" 0 "$POPPA" overhead -n 2 -s 3200us -p 200ms
like "overhead, text: percent" "$OUT" "0\.7634 %"
for bad in "--jobs 0" "--shutter 3" "--period 1parsec" "surplus"; do
	# shellcheck disable=SC2086
	runs "overhead $bad" 2 "$POPPA" overhead $bad
	like "overhead $bad: names it" "$ERR" "^poppa overhead: .*${bad##* }"
done
runs "overhead of nothing" 2 "$POPPA" overhead --jobs 2 --shutter 0 --period 0

runs "lanes" 0 "$POPPA" lanes --topology "pack:2 core:4 pu:1" --json
for key in '"lanes":' '"lane": 0' '"cores": \[0, 2, 4, 6\]' '"pus": \[1, 3, 5, 7\]' '"cpuset": "0x000000aa"' '"sockets": 2' '"cores_per_socket": \[4, 4\]' '"unused": \[\]'; do
	like "lanes: $key" "$OUT" "$key"
done
runs "lanes of sockets that are L3 caches" 0 "$POPPA" lanes --topology "pack:1 l3:2 core:3 pu:1" --sockets l3 --json
like "three cores of a cache leave one over" "$OUT" '"unused": \[2, 5\]'
runs "lanes beside specialised cores" 0 "$POPPA" lanes --topology "pack:1 core:5 pu:2" --reserved 0-1 --json
like "the rest is shared out" "$OUT" '"cores": \[1, 3\]'
runs "more lanes than cores" 1 "$POPPA" lanes --topology "pack:1 core:5 pu:2" --lanes 6
runs "a CPU that is not there" 1 "$POPPA" lanes --topology "pack:1 core:5 pu:2" --reserved 10
runs "an unknown kind of socket" 2 "$POPPA" lanes --sockets die
runs "a node and a topology" 2 "$POPPA" lanes --node n1 --topology "pack:1 core:5 pu:2"
runs "lanes of 0" 2 "$POPPA" lanes --lanes 0

# What slurmd counts on such machines, some with CPUs offline, is what the lanes are made of.
if command -v slurmd lstopo-no-graphics jq | wc -l | grep -q 3; then
	for shape in "pack:2 core:8 pu:2" "pack:1 l3:4 core:6 pu:1" "pack:2 numa:2 l3:2 core:4 pu:2" "pack:8 core:3 pu:1" \
		"pack:2 core:8 pu:2 !0xfffffff0" "pack:2 core:8 pu:1 !0xff7e" "pack:2 numa:2 core:6 pu:1 !0x0003ffff" "core:5 pu:4"; do
		keep=()
		[[ $shape != *!* ]] || keep=(--restrict "${shape#*!}")
		lstopo-no-graphics -f -i "${shape% !*}" "${keep[@]}" --of xml "$TAP_DIR/node.xml" 2>"$TAP_DIR/lstopo" || cat "$TAP_DIR/lstopo"
		counted=$(HWLOC_XMLFILE=$TAP_DIR/node.xml slurmd -C | sed -n 's/.* SocketsPerBoard=\([0-9]*\) CoresPerSocket=\([0-9]*\) .*/\1 x \2/p')
		runs "lanes of $shape" 0 "$POPPA" lanes --topology "$TAP_DIR/node.xml" --json
		is "$shape: slurmd's sockets and cores" \
			"$(jq -r '"\(.sockets) x \(([.lanes[].cores[]] + .unused | length) / .sockets | floor)"' <<<"$OUT")" "$counted"
	done
else
	skip "slurmd, hwloc or jq is not installed" "slurmd's count of sockets and cores"
fi
done_testing
