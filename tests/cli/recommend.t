#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The example of poppa-farm: what it recommends, beside all paths counted one by one; its graph in a file; tasks and answers.
set -uo pipefail
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
needs python3

RECOMMEND=${RECOMMEND:-build/contrib/workloads/recommend}
FARM=${FARM:-build/poppa-farm}
small=(--documents 60 --users 50 --edges 300 --enough 1000000)
medium=(--documents 2000 --users 1800 --edges 30000)

# --- The graph, and what it recommends.
runs "the graph is printed" 0 "$RECOMMEND" "${small[@]}" --edge-list
cp "$TAP_DIR/out" "$TAP_DIR/edges"
is "it has its edges, each once" "$(cut -f 1,2 "$TAP_DIR/edges" | sort -u | wc -l)" 300
is "between its documents and its users" "$(awk '$1 < 0 || $1 > 59 || $2 < 0 || $2 > 49 || $3 < 1' "$TAP_DIR/edges")" ""
is "the same seed gives the same graph" "$("$RECOMMEND" "${small[@]}" --edge-list)" "$OUT"
unlike "another seed gives another" "$("$RECOMMEND" "${small[@]}" --edge-list --seed 2)" "^$(head -n 5 <<<"$OUT")"
# expected DOCUMENT LEVELS: the ten best by equation 6: all shortest paths from the document, and the weights of their edges.
cat >"$TAP_DIR/expected" <<'END'
import sys
edges = [tuple(map(int, line.split())) for line in open(sys.argv[1])]
root, levels = ("d", int(sys.argv[2])), int(sys.argv[3])
total, near = {}, {}
for d, u, times in edges:
    total[d] = total.get(d, 0) + times
for d, u, times in edges:
    near.setdefault(("d", d), {})["u", u] = times / total[d]
    near.setdefault(("u", u), {})["d", d] = times / total[d]
depth, paths = {root: 0}, {root: [0.0]}
layer = [root]
for level in range(1, levels + 1):
    following = []
    for v in layer:
        for w, weight in near.get(v, {}).items():
            if w not in depth:
                depth[w] = level
                paths[w] = []
                following.append(w)
            if depth[w] == level:
                paths[w] += [length + weight for length in paths[v]]
    layer = following
found = sorted((v for v in depth if v[0] == "d" and v != root), key=lambda v: (depth[v], -round(sum(paths[v]), 4), v[1]))
for v in found[:10]:
    print("%.3f document %d" % (sum(paths[v]), v[1]))
END
# Scores as near as a float tells; documents that are equally relevant may come in either order.
agrees() {
	"$RECOMMEND" "${small[@]}" --document "$1" --levels "$2" | awk -F '\t' '{ printf "%.3f %s\n", $1, $2 }' >"$TAP_DIR/got"
	python3 "$TAP_DIR/expected" "$TAP_DIR/edges" "$1" "$2" >"$TAP_DIR/wanted"
	paste -d ' ' "$TAP_DIR/got" "$TAP_DIR/wanted" |
		awk 'NF != 6 || ($1 - $4) ^ 2 > 0.002 ^ 2 * ($4 + 1) ^ 2 { bad = 1 } END { exit bad || !NR }'
}
for levels in 2 4; do
	disagree=""
	for document in $(seq 0 59); do agrees "$document" $levels || disagree+=" $document"; done
	is "what is recommended is what all paths of $levels levels say" "$disagree" ""
done
is "fewer documents end the search earlier" "$("$RECOMMEND" "${small[@]}" --document 3 --enough 1 | wc -l | awk '{ print $1 >= 1 && $1 <= 10 }')" 1

# --- Groups.
"$RECOMMEND" "${medium[@]}" --queries 5000 >"$TAP_DIR/queries"
groups=$(cut -f 1 "$TAP_DIR/queries" | sort -u | wc -l)
ok_groups=$(awk -v n="$groups" 'BEGIN { print n >= 10 && n <= 250 }')
is "the groups of 80 documents are found, more or less ($groups)" "$ok_groups" 1
is "a document has one group" "$(sort -u "$TAP_DIR/queries" | cut -f 2 | sort | uniq -d | wc -l)" 0
is "--groups keeps to some" "$("$RECOMMEND" "${medium[@]}" --queries 1000 --groups 3 | cut -f 1 | sort -u | wc -l)" 3
"$RECOMMEND" "${medium[@]}" --queries 5000 --near >"$TAP_DIR/near"
is "--near has the same queries" "$(sort "$TAP_DIR/near")" "$(sort "$TAP_DIR/queries")"
is "one group after the other" "$(cut -f 1 "$TAP_DIR/near" | uniq | wc -l)" "$groups"

# --- The graph in a file.
graph=$TAP_DIR/graph
"$RECOMMEND" "${medium[@]}" --graph "$graph" --document 7 >"$TAP_DIR/first" &
"$RECOMMEND" "${medium[@]}" --graph "$graph" --document 7 >"$TAP_DIR/second"
wait
want=$("$RECOMMEND" "${medium[@]}" --document 7)
is "two that make the file at once say the same" "$(cat "$TAP_DIR/first" "$TAP_DIR/second")" "$want"$'\n'"$want"
is "and leave that file alone" "$(cd "$TAP_DIR" && echo graph*)" graph
runs "a file of another graph" 1 "$RECOMMEND" "${small[@]}" --graph "$graph" --document 7
is "is named, with the way out" "${ERR#*: }" "$graph: this is not a graph of these numbers: give another name, or delete it"
truncate -s 100000 "$graph"
runs "a file that was cut" 1 "$RECOMMEND" "${medium[@]}" --graph "$graph" --document 7
like "is named" "$ERR" "$graph: this is not a graph"
ln -s graph "$TAP_DIR/link"
runs "a link" 1 "$RECOMMEND" "${medium[@]}" --graph "$TAP_DIR/link" --document 7
like "is not followed" "$ERR" "link: Too many levels"
runs "a folder that is not there" 1 "$RECOMMEND" "${medium[@]}" --graph "$TAP_DIR/none/graph" --document 7
like "is named" "$ERR" "none/graph: No such file"

# --- Tasks.
printf '3\n17\t4\n\nx\n60\n5' | "$RECOMMEND" "${small[@]}" >"$TAP_DIR/answers" 2>&1
is "each line has its answer" "$(wc -l <"$TAP_DIR/answers")" 6
is "and what is no document has a reason" "$(grep -c -v '^ok$' "$TAP_DIR/answers")" 3
runs "poppa-farm runs them" 0 "$FARM" --json --workers 2 --server "$RECOMMEND ${medium[*]}" "$TAP_DIR/queries"
like "all of them" "$OUT" '"done": *5000'
printf 'a\t99\nb\t1\n' >"$TAP_DIR/wrong"
runs "one that fails" 1 "$FARM" --workers 1 --server "$RECOMMEND ${small[*]}" "$TAP_DIR/wrong"
like "is named" "$ERR" '99'

# --- The example of docs/farm.md, with a graph of its own.
page_commands docs/farm.md | sed "s|/dev/shm/readers|$TAP_DIR/readers|g; s|32768|64|" >"$TAP_DIR/typed"
is "the page has two commands" "$(wc -l <"$TAP_DIR/typed")" 2
ok "which run" env PATH="$(dirname "$RECOMMEND"):$(dirname "$FARM"):$PATH" sh -e -c "cd '$TAP_DIR' && . ./typed"

# --- Wrong usage.
for bad in "--documents 1" "--users x" "--edges 0" "--edges 5900" "--document 60" "--levels 0" "--enough -1" "--queries 0" "--seed -1"; do
	# shellcheck disable=SC2086 # an option and its value
	runs "$bad" 64 "$RECOMMEND" "${small[@]}" $bad
	like "$bad is named" "$ERR" "${bad%% *}"
done
done_testing
