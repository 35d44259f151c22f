# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For tests that look at pages in a browser. The caller sources tests/tap.sh before, and has a folder $tmp.
#
#   need_browser OPTION   skips the test where there is none; OPTION of contrib/sandbox/install-deps installs it
#   browse ARG...         runs it without a display, sandbox or traces; of all hosts it reaches this one alone
#   $in_pages             functions for a script in a page: see() counts a text and its contrast, tell() leaves the
#                         result in the page
#   told                  that result, as JSON, of a page that the browser has dumped, from stdin

need_browser() {
	local b
	browser=
	for b in chromium chromium-browser google-chrome; do
		command -v "$b" >/dev/null && browser=$b && return
	done
	skip_all "there is no chromium: contrib/sandbox/install-deps $1 installs it"
}

browse() {
	HOME=$tmp timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
		--disable-dev-shm-usage --disable-extensions --proxy-server=127.0.0.1:9 --user-data-dir="$(mktemp -d "$tmp/profile.XXXXXX")" "$@" 2>/dev/null
}

# shellcheck disable=SC2034
in_pages=$(
	cat <<'END'
function luminance(c) {
	const p = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4));
	return 0.2126 * p[0] + 0.7152 * p[1] + 0.0722 * p[2];
}
// A colour with its transparency, on what is behind it.
function mix(text, behind) {
	const m = text.match(/[\d.]+/g).map(Number), a = m.length > 3 ? m[3] : 1;
	return m.slice(0, 3).map((v, i) => v * a + behind[i] * (1 - a));
}
function ground(e) {
	return e ? mix(getComputedStyle(e).backgroundColor, ground(e.parentElement)) : [255, 255, 255];
}
function see(out, e, colour, behind) {
	const a = luminance(mix(colour, behind)), b = luminance(behind);
	const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	out.texts++;
	if (contrast < out.least) { out.least = contrast; out.where = e.tagName + " " + e.textContent.trim().slice(0, 30); }
}
function tell(out) {
	document.body.innerHTML = "<pre id=found>" + JSON.stringify(out).replace(/&/g, "+").replace(/</g, "(") + "</pre>";
}
END
)

told() {
	sed -n 's/.*<pre id="found">\(.*\)<\/pre>.*/\1/p'
}
