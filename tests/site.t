#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The documentation's site as a browser shows it: light, dark and narrow, and its search.
#   tests/site.t [DIRECTORY]   keeps screenshots there, to be looked at
# SITE is the site; the default is site/ of the build folder.
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/tap.sh
. "$here/tap.sh"
# shellcheck source=tests/browser.sh
. "$here/browser.sh"

site=${SITE:-${POPPA_SANDBOX_BUILD:-$here/../build}/site}
[ -e "$site/index.html" ] || bail_out "there is no site in $site: make site makes it"
command -v jq >/dev/null || skip_all "jq is not installed"
need_browser --site
shots=${1:-}
tmp=$(mktemp -d)
server=
at_end() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap at_end EXIT

# A copy whose pages tell at their end what a browser has made of them.
measure=$(
	printf '<script>\n%s\n' "$in_pages"
	cat <<'END'
addEventListener("load", () => setTimeout(() => {
	const out = {width: innerWidth, page: document.documentElement.scrollWidth, texts: 0, least: 99, where: "", pictures: 0, broken: 0};
	document.querySelectorAll(".md-content h1,.md-content h2,.md-content p,.md-content li,.md-content dt,.md-content dd,.md-content td," +
			".md-content th,.md-content pre,.md-content a:not(.headerlink):not(.permalink),.md-nav__link").forEach(e => {
		if (!e.textContent.trim() || !e.getBoundingClientRect().width) return;
		see(out, e, getComputedStyle(e).color, ground(e));
	});
	document.querySelectorAll(".md-content img").forEach(e => {
		if (getComputedStyle(e).display === "none") return;
		out.pictures++;
		if (!e.naturalWidth) out.broken++;
	});
	out.scheme = document.body.dataset.mdColorScheme;
	out.doors = [...document.querySelectorAll(".doors > ul > li")].filter(e => e.getBoundingClientRect().height > 0).length;
	tell(out);
}, 300));
</script>
END
)
cp -r "$site" "$tmp/site"
cp -r "$site" "$tmp/measured"
find "$tmp/measured" -name '*.html' | while read -r page; do printf '%s\n' "$measure" >>"$page"; done
# A server that also has /wait: its answer, and with it the end of the page's loading, comes when the page has asked for /done.
python3 -u - "$tmp" >"$tmp/port" 2>/dev/null <<'END' &
import http.server, sys, threading
done = threading.Event()

class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *args):
        super().__init__(*args, directory=sys.argv[1])

    def do_GET(self):
        if self.path == "/done":
            done.set()
        if self.path == "/wait":
            done.wait(30)
            done.clear()
        if self.path in ("/done", "/wait"):
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port)
server.serve_forever()
END
server=$!
wait_until 20 test -s "$tmp/port" || bail_out "no web server could be started"
address=http://127.0.0.1:$(cat "$tmp/port")

# found WIDTH PAGE [ARG]...: the measurements as JSON.
found() {
	local width=$1 page=$2
	shift 2
	browse --window-size="$width,900" --virtual-time-budget=5000 --dump-dom "$@" "$address/measured/$page" |
		told
}

# look NAME PAGE SCHEME WIDTH [ARG]...
look() {
	local name=$1 page=$2 scheme=$3 width=$4 json
	shift 4
	json=$(found "$width" "$page" "$@")
	is "$name: the colour scheme" "$(jq -r .scheme <<<"$json")" "$scheme"
	cmp_num "$name: texts are there" "$(jq .texts <<<"$json")" '>=' 5
	cmp_num "$name: every text has a contrast of 4.5 ($(jq -r .where <<<"$json"))" "$(jq .least <<<"$json")" '>=' 4.5
	cmp_num "$name: the page need not be scrolled sideways" "$(jq .page <<<"$json")" '<=' "$(jq .width <<<"$json")"
	is "$name: every picture is there" "$(jq .broken <<<"$json")" 0
	[ "$page" != index.html ] || is "$name: the four doors and the picture are there" "$(jq -c '[.doors, .pictures]' <<<"$json")" "[4,1]"
	[ -z "$shots" ] || browse --window-size="$width,1400" --virtual-time-budget=5000 --screenshot="$shots/${name//[\/ ,]/-}.png" "$@" "$address/site/$page"
}

dark=--blink-settings=preferredColorScheme=0
for page in index.html partners.html man/poppa.1.html; do
	look "$page, light" "$page" default 1400
	look "$page, dark" "$page" slate 1400 "$dark"
	look "$page, narrow" "$page" default 500
done
for page in run.html use.html measurable.html change.html results/pairs.html news.html; do
	look "$page, light" "$page" default 1400
done

# The search answers in a thread of its own; the first page is loaded when it has.
cat >>"$tmp/site/index.html" <<'END'
<img src="/wait" alt="">
<script>
const look = setInterval(() => {
	const meta = document.querySelector(".md-search-result__meta");
	if (/[Mm]atching/.test(meta.textContent)) { clearInterval(look); fetch("/done"); }
}, 100);
</script>
END
# searched WORDS: the addresses that the search lists for them.
searched() {
	browse --window-size=1400,900 --dump-dom "$address/site/index.html?q=$1" |
		grep -o 'href="[^"]*" class="md-search-result__link"' | sed 's/href="\([^"?]*\).*/\1/'
}
like "the search finds a setting in its manual page" "$(searched stripe_victim_max)" 'poppad\.8\.html'
like "and a word in a document" "$(searched reuse+distance)" 'partners\.html'
is "and nothing where there is nothing" "$(searched zyxwvu)" ""
[ -z "$shots" ] || browse --window-size=1400,900 --screenshot="$shots/search.png" "$address/site/index.html?q=stripe_victim_max"
done_testing
