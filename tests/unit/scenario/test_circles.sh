#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No files of src/ call each other in a circle: by the symbols (nm) of the objects in the build tree. TAP.
set -u
tests=0 failed=0

# result RC NAME [LINES]
result()
{
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests - $2"
	else
		echo "not ok $tests - $2"
		[ -z "${3:-}" ] || sed 's/^/# /' <<<"$3"
		failed=1
	fi
}

# objects DIR SOURCES: those below DIR, one a line, but what is left of sources that are gone; of a libtool object the one
# for shared libraries, where there are two.
objects()
{
	find "$1" -name '*.o' | sed -E 's|^(.*/)([^/]*)$|\1 \2|; s|/\.libs/ |/ .libs/|' | awk '
		{ name = $2; sub(/^\.libs\//, "", name); key = $1 name }
		!(key in best) || $2 ~ /^\.libs/ { best[key] = $1 $2 }
		END { for (k in best) print best[k] }' | sort | while read -r object; do
		# A program's own objects have its name before theirs: poppa-cmd_why.o.
		source=${object/.libs\//}
		source=${source%/*}/${source##*[/-]}
		[ -e "$2/${source%.o}.c" ] && echo "$object"
	done
}

# circles DIR SOURCES: each circle in a line: its files. A symbol that several objects define is that of the caller's folder, if
# there is one; of several programs made from one source each has its objects.
circles()
{
	objects "$1" "$2" | while read -r object; do
		nm "$object" 2>/dev/null | sed "s|^|$object |"
	done | awk '
		function folder(path) { sub(/(\.libs\/)?[^\/]*$/, "", path); return path }
		NF == 3 && $2 == "U" { uses[$1] = uses[$1] " " $3; seen[$1] = 1 }
		NF == 4 && $3 ~ /^[TDBRVW]$/ { by[$4] = by[$4] " " $1; seen[$1] = 1 }
		function visit(v,   n, i, w, to) {
			number[v] = low[v] = ++count
			stack[++top] = v
			waits[v] = 1
			n = split(arrows[v], to, " ")
			for (i = 1; i <= n; i++) {
				w = to[i]
				if (!(w in number)) {
					visit(w)
					if (low[w] < low[v]) low[v] = low[w]
				} else if (waits[w] && number[w] < low[v]) low[v] = number[w]
			}
			if (low[v] != number[v])
				return
			line = ""
			n = 0
			do {
				w = stack[top--]
				waits[w] = 0
				line = line " " w
				n++
			} while (w != v)
			if (n > 1) print "circle:" line
		}
		END {
			for (v in seen) {
				n = split(uses[v], used, " ")
				for (i = 1; i <= n; i++) {
					m = split(by[used[i]], owners, " ")
					owner = ""
					for (k = 1; k <= m; k++)
						if (owners[k] != v && (owner == "" || folder(owners[k]) == folder(v) && folder(owner) != folder(v)))
							owner = owners[k]
					if (owner != "") arrows[v] = arrows[v] " " owner
				}
			}
			for (v in seen)
				if (!(v in number)) visit(v)
		}'
}

if ! command -v nm >/dev/null; then
	echo "1..0 # SKIP nm is not installed"
	exit 77
fi
# Three that are made up: two in a circle, and one that both call.
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
printf 'int b(void);\nint c(void);\nint a(void) { return b() + c(); }\n' >"$made/a.c"
printf 'int a(void);\nint c(void);\nint b(void) { return a() + c(); }\n' >"$made/b.c"
printf 'int c(void) { return 1; }\n' >"$made/c.c"
for f in a b c; do
	# shellcheck disable=SC2086 # a compiler with options
	${CC:-cc} -c -o "$made/$f.o" "$made/$f.c" || echo "# $f.c is not compiled"
done
found=$(circles "$made" "")
result "$(grep -q "^circle: .*/[ab]\.o .*/[ab]\.o\$" <<<"$found"; echo $?)" "two that call each other are found" "$found"
rm "$made/a.o"
result "$([ -z "$(circles "$made" "")" ]; echo $?)" "two that do not are no circle"

found=$(circles src "${srcdir:-.}")
result "$([ -z "$found" ]; echo $?)" "no files of src call each other in a circle" "$found"
result "$([ "$(objects src "${srcdir:-.}" | wc -l)" -ge 100 ]; echo $?)" "of which there are many"
echo "1..$tests"
exit $failed
