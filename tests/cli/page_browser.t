#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The pages of poppa report and poppa trial as a browser lays them out: light, dark, printed and on a narrow screen.
#   tests/cli/page_browser.t [DIRECTORY]   keeps the screenshots there, to be looked at
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
# shellcheck source=tests/browser.sh
. "$here/../browser.sh"

: "${POPPA:?is the program to test}" "${WRITE_TRIAL_PAGE:?writes the page of a trial}"
command -v jq >/dev/null || skip_all "jq is not installed"
need_browser --pages
export TZ=UTC
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
shots=${1:-}

# What a browser makes of the page, found by a script that only this copy of it has.
measure=$(
	printf '<script>\n%s\n' "$in_pages"
	cat <<'END'
const out = {width: innerWidth, page: document.documentElement.scrollWidth, texts: 0, least: 99, where: "", outside: [], unnamed: 0};
document.querySelectorAll("h1,h2,h3,p,li,dt,dd,caption span,th,td,summary,svg text").forEach(e => {
	const box = e.getBoundingClientRect();
	if (!e.textContent.trim() || !box.width) return;
	const svg = e.closest("svg"), style = getComputedStyle(e);
	see(out, e, svg ? style.fill : style.color, ground(svg ? svg.parentElement : e));
	if (!e.closest(".scroll") && box.right > innerWidth + 1) out.outside.push(e.textContent.trim().slice(0, 30));
	if (svg && (box.left < svg.getBoundingClientRect().left - 1 || box.right > svg.getBoundingClientRect().right + 1))
		out.outside.push(e.textContent.trim().slice(0, 30));
});
document.querySelectorAll("svg,table,.scroll").forEach(e => {
	const name = e.getAttribute("aria-label") || (e.querySelector("caption,title") || {}).textContent;
	if (!(name || "").trim()) out.unnamed++;
});
out.tallest = Math.max(0, ...[...document.querySelectorAll(".heat thead th, .heat tbody th")].map(e => e.getBoundingClientRect().height));
out.cut = [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute("aria-label"));
out.line = parseFloat(getComputedStyle(document.body).lineHeight);
out.axes = [...document.querySelectorAll("svg")].map(e => e.querySelectorAll(".axis").length);
out.dark = matchMedia("(prefers-color-scheme:dark)").matches;
tell(out);
</script>
END
)

# found WIDTH [ARG]...: the measurements as JSON.
found() {
	local width=$1
	shift
	browse --window-size="$width,900" --dump-dom "$@" "file://$tmp/measured.html" |
		told
}

# judge NAME JSON AXES: that many axes are named in each plot, a regular expression.
judge() {
	cmp_num "$1: texts are there" "$(jq .texts <<<"$2")" '>' 40
	cmp_num "$1: every text has a contrast of 4.5 ($(jq -r .where <<<"$2"))" "$(jq .least <<<"$2")" '>=' 4.5
	is "$1: nothing sticks out" "$(jq -c .outside <<<"$2")" "[]"
	cmp_num "$1: the page itself need not be scrolled sideways" "$(jq .page <<<"$2")" '<=' "$(jq .width <<<"$2")"
	is "$1: tables, plots and regions have names" "$(jq .unnamed <<<"$2")" 0
	cmp_num "$1: long names leave the map of pairs its shape (in lines)" "$(jq '.tallest / .line' <<<"$2")" '<=' 5
	like "$1: each plot says what its axes are" "$(jq -c .axes <<<"$2")" "$3"
}

# look NAME AXES: all that is asked of $tmp/NAME.html.
look() {
	local name=$1 axes=$2 page=$tmp/$1.html json
	sed 's/<details>/<details open>/' "$page" >"$tmp/measured.html"
	printf '%s\n' "$measure" >>"$tmp/measured.html"
	judge "$name, light" "$(found 1200)" "$axes"
	json=$(found 1200 --blink-settings=preferredColorScheme=0)
	is "$name, dark: the browser prefers it" "$(jq .dark <<<"$json")" true
	judge "$name, dark" "$json" "$axes"
	json=$(found 360)
	cmp_num "$name, narrow: the window is" "$(jq .width <<<"$json")" '<=' 500
	judge "$name, narrow" "$json" "$axes"
	# Paper: A4 between the browser's margins.
	sed -i 's/@media print/@media all/' "$tmp/measured.html"
	is "$name, printed: nothing is cut off" "$(jq -c .cut <<<"$(found 720)")" "[]"
	browse --no-pdf-header-footer --print-to-pdf="$tmp/$name.pdf" "file://$page"
	like "$name: it prints" "$(head -c 5 "$tmp/$name.pdf" 2>/dev/null)" '^%PDF-'
	[ -n "$shots" ] || return 0
	cp "$tmp/$name.pdf" "$shots/$name-print.pdf"
	browse --window-size=1200,3000 --screenshot="$shots/$name-light.png" "file://$page"
	browse --window-size=1200,3000 --screenshot="$shots/$name-dark.png" --blink-settings=preferredColorScheme=0 "file://$page"
	browse --window-size=360,3000 --screenshot="$shots/$name-narrow.png" "file://$page"
}

"$here/../gen/bills_gen" 600 >"$tmp/many.txt"
"$here/../gen/bills_gen" 400 long >"$tmp/long.txt"
head -n 2 "$here/bills.txt" >"$tmp/one.txt"
for what in "many user $tmp/many.txt" "few job $here/bills.txt" "long program $tmp/long.txt" "one user $tmp/one.txt" "plain job $here/plain_runs.txt" \
	"if program $tmp/long.txt --what-if=tiers:0.01=0.01:0.02=0.02:0.03=0.03:0.04=0.04:0.05=0.05:0.06=0.06:0.07=0.07:0.08=0.08/cap=0.5/floor=1000"; do
	read -r name by rows more <<<"$what"
	"$POPPA" report --input "$rows" --by "$by" ${more:+"$more"} --html "$tmp/$name.html" || fail "$name: a page is written"
	look "$name" '^\[2,1(,1)?\]$'
done
for what in colocate do_not uncertain four; do
	"$WRITE_TRIAL_PAGE" "$here/trial_$what.json" >"$tmp/trial-$what.html" || fail "trial, $what: a page is written"
	look "trial-$what" '^\[(1|3)(,(1|3))*\]$'
done
done_testing
