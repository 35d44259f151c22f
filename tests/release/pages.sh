# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Takes the commands of a documentation page from it, for tests that run what the page says.
#
#   page_blocks PAGE DIR   writes each block that has a mark to DIR/NN.ROLE, in the page's order
#
# A mark is a line "<!-- run: ROLE -->" before an indented or fenced block; a reader does not see it. ROLE says on which host
# or as whom the block is to be run, and may have a second word after a comma, which says when.

page_blocks() {
	mkdir -p "$2"
	awk -v dir="$2" '
		function finish() {
			if (file != "") { printf "%s", text >file; close(file) }
			file = text = held = ""
		}
		match($0, /^ *<!-- run: [a-z]+(, [a-z]+)? -->$/) {
			finish()
			role = $0
			gsub(/^ *<!-- run: | -->$|,/, "", role)
			gsub(/ /, "-", role)
			wanted = 1
			next
		}
		/<!-- run:/ { print FILENAME ": line " FNR ": a mark that is none: " $0 >"/dev/stderr"; bad = 1; next }
		wanted && /^ *$/ { next }
		wanted {
			wanted = 0
			match($0, /^ */)
			fenced = $0 ~ /^ *```/
			indent = RLENGTH
			if (!fenced && indent < 4) { print FILENAME ": line " FNR ": no block follows the mark" >"/dev/stderr"; bad = 1; next }
			file = sprintf("%s/%02d.%s", dir, ++count, role)
			if (fenced) next
		}
		file == "" { next }
		fenced && /^ *```/ { finish(); next }
		/^ *$/ { held = held "\n"; next }
		{ match($0, /^ */) }
		!fenced && RLENGTH < indent { finish(); next }
		{ text = text held substr($0, indent + 1) "\n"; held = "" }
		END { finish(); exit bad || !count || wanted }
	' "$1"
}
