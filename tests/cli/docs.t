#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the documents say of the command: options, JSON members and numbers are those that it has and prints.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
needs jq perl

here=$(cd "$(dirname "$0")" && pwd)
tree=$here/../..
# The page as text: no font changes, plain hyphens.
page=$(sed -e 's/\\-/-/g' -e 's/\\f[A-Z]//g' -e 's/^\.\(SS\|B\|I\|BR\|IR\|BI\|RI\|RB\|TP\|PP\) *//' "$tree/src/cli/poppa.1")
heading() {
	sed -n "s/^\.SS poppa $1\b//p" "$tree/src/cli/poppa.1" | sed 's/\\-/-/g'
}

# Every subcommand has a section, and every option of its --help is in the page.
mapfile -t commands < <("$POPPA" help | sed -n 's/^  \([a-z]*\) .*/\1/p')
is "the command lists its subcommands" "$([ "${#commands[@]}" -ge 8 ] && echo yes)" yes
for c in "${commands[@]}"; do
	is "poppa.1 has a section on $c" "$(grep -c "^\.SS poppa $c\b" "$tree/src/cli/poppa.1")" 1
	missing=
	for o in $("$POPPA" "$c" --help | grep -o -E -- '--[a-z][a-z-]*' | sort -u); do
		case $o in --help | --usage | --json) continue ;; esac
		case "$(heading "$c")" in *"$o"*) ;; *) missing+=" $o" ;; esac
	done
	is "poppa.1 has the options of $c in its heading" "$missing" ""
done
for s in $(sed -n 's/^\.SS poppa \([a-z]*\).*/\1/p' "$tree/src/cli/poppa.1"); do
	like "poppa has the command $s of poppa.1" " ${commands[*]} " " $s "
done

# documented NAME JSON: every member's name is a word of the page. Below "discarded" and "labels" the names are data.
documented() {
	local k missing=
	for k in $(jq -r 'del(.. | .discarded?, .labels?) | [.. | objects | keys[]] | unique[]' <<<"$2"); do
		grep -q -w -e "$k" <<<"$page" || missing+=" $k"
	done
	is "poppa.1 has the JSON members of $1" "$missing" ""
}
documented lanes "$("$POPPA" lanes --topology "pack:2 core:4 pu:1" --json)"
documented pairs "$(printf "1/a\t1/b\t0.1\t1000\t5\t1790000000\n" >"$TAP_DIR/pairs" && "$POPPA" pairs --history "$TAP_DIR/pairs" --json)"
documented plan "$(printf "1/a\n1/b 2\n" | "$POPPA" plan --history "$TAP_DIR/pairs" --json)"
if command -v valgrind >/dev/null; then
	documented profile "$("$POPPA" profile --json -o "$TAP_DIR/reuse" -- true)"
	"$POPPA" profile --import 1:a --profiles "$TAP_DIR/profiles" "$TAP_DIR/reuse"
	documented "profile --list" "$("$POPPA" profile --list --json --profiles "$TAP_DIR/profiles")"
	documented "profile --compare" "$("$POPPA" profile --json --compare --lanes 1 "$TAP_DIR/reuse")"
else
	skip "valgrind is not installed" "poppa.1 has the JSON members of profile"
fi
documented price "$("$POPPA" price --raw 1 --degradation 0.1 --json)"
documented trial "$("$POPPA" trial --time 2 --rounds 1 --json -- sleep 0.2 -- sleep 0.2 | jq "del(.programs[].price)")"
printf "units,seconds\n4,2\n8,1\n" >"$TAP_DIR/gpu.csv"
documented gpu "$("$POPPA" gpu decide --json "$TAP_DIR/gpu.csv")"
documented "trial --self" "$("$POPPA" trial --self --time 2 --rounds 1 --json -- sleep 0.5)"
printf 'interval,app,task,pu,instructions,cycles,inter,intra,local,remote,stalls\n1,1,1,0,1,1,0,0,0,0,0\n' >"$TAP_DIR/map.csv"
documented map "$("$POPPA" map --json --topology "pack:1 core:2 pu:1" --replay "$TAP_DIR/map.csv")"
documented overhead "$("$POPPA" overhead -n 2 -s 3200us -p 200ms --json)"
printf 'block,job,task,region,k,start_ns,dur_ns,progress,cycles\n' >"$TAP_DIR/log.csv"
for r in before during after; do printf '0,7,0,%s,0,1,1000000,1000,1000\n' $r; done >>"$TAP_DIR/log.csv"
documented why "$("$POPPA" why --json --input "$here/bills.txt" 16)"
documented report "$("$POPPA" report --json --by job --input "$here/bills.txt")"
documented "report against plain runs" "$("$POPPA" report --json --by job --input "$here/plain_runs.txt")"
documented "report of what would be" "$("$POPPA" report --json --what-if --input "$here/plain_runs.txt")"
documented "report by user" "$("$POPPA" report --json --input "$here/bills.txt")"
# A Slurm that has one's own runs, and nothing else.
mkdir "$TAP_DIR/bin"
printf '#!/bin/sh\nfor w; do case $w in --delimiter=*) b=${w#*=} ;; esac; done\nsed "s/|ada|/|$(id -un)|/; s/|/$b/g" %q\n' "$here/bills.txt" >"$TAP_DIR/bin/sacct"
printf '#!/bin/sh\nexit 1\n' | tee "$TAP_DIR/bin/scontrol" >"$TAP_DIR/bin/sbatch"
chmod +x "$TAP_DIR"/bin/*
echo true >"$TAP_DIR/lammps"
advice=$(PATH=$TAP_DIR/bin:$PATH "$POPPA" advise --json "$TAP_DIR/lammps")
documented job "$(PATH=$TAP_DIR/bin:$PATH "$POPPA" job --json 12)"
is "advice rests on runs" "$(jq .evidence.runs <<<"$advice")" 2
documented advise "$advice"
documented estimate "$("$POPPA" estimate --json "$TAP_DIR/log.csv")"
mkdir -p "$TAP_DIR/run-n1"
export POPPA_CONF=$TAP_DIR/poppa.conf
unset SLURMD_NODENAME
echo "RunDir=$TAP_DIR/run-%n" >"$POPPA_CONF"
documented metrics "$("$POPPA" metrics --json 2>/dev/null)"
documented report "$("$POPPA" report --input "$here/bills.txt" --json)"
for j in $(sed -n 's/^\([0-9]*\)|.*/\1/p' "$here/bills.txt" | sort -un); do
	"$POPPA" why --input "$here/bills.txt" --json "$j" 2>/dev/null
done >"$TAP_DIR/why.json"
is "there are jobs to ask why about" "$([ -s "$TAP_DIR/why.json" ] && echo yes)" yes
documented why "$(jq -s . "$TAP_DIR/why.json")"
documented doctor "$("$POPPA" doctor --json)"

# The examples in pricing.md are what is charged. prices P-ARG...: whole billing.
prices() {
	"$POPPA" price --json "$@" | jq '.charged + 0.5 | floor'
}
pricing=$tree/docs/pricing.md
rows=0 differ=
while IFS='|' read -r _ policy _ example _; do
	policy=$(tr -d '` ' <<<"${policy%(*}") upper=
	[[ $policy = /* ]] && policy=thesis$policy
	[[ $example =~ D\ =\ [0-9.]+\.\.([0-9.]+): ]] && upper=${BASH_REMATCH[1]}
	example=${example#*: } want=$(tr -d ' ' <<<"${example##*=}")
	got=$(prices --raw 100000 --degradation 0.2 --paused-fraction 0.01 --policy "$policy" ${upper:+--upper "$upper"})
	[ "$got" = "$want" ] || differ+=" $policy: $want, not $got;"
	# The arithmetic before the sign says the same.
	if [[ $example = *=* ]]; then
		got=$(awk "BEGIN { printf \"%.0f\", ${example%=*} }")
		[ "$got" = "$want" ] || differ+=" ${example%=*} is $got, not $want;"
	fi
	rows=$((rows + 1))
done < <(sed -n '/^## Policies/,/^A partition or/p' "$pricing" | grep '^| `')
is "pricing.md: every worked example is what poppa price says" "$differ" ""
is "pricing.md: each policy and each part of one has an example" \
	"$rows" "$(($("$POPPA" price --policy x 2>&1 | sed 's/.*one of//' | tr ',' '\n' | wc -l) + $("$POPPA" price --policy none/x 2>&1 | grep -o '/[a-z]*=' | wc -l)))"
# Each kind of the program's table is in both documents, with the worked example that the table has.
missing='' rows=0
for kind in $("$POPPA" price --policy x 2>&1 | sed 's/.*one of//' | tr ',' '\n' | sed 's/:.*//'); do
	grep -q "^| \`${kind}[:\`]" "$pricing" || missing+=" $kind in pricing.md"
	sed -n '/^\.SS poppa price/,/^\.SS/p' "$tree/src/cli/poppa.1" | grep -q -E "^\.(B|BI) $kind(:|$)" || missing+=" $kind in poppa.1"
	rows=$((rows + 1))
done
while read -r policy charged; do
	grep -q "^| \`$policy\`.* = $charged |$" "$pricing" || missing+=" the example of $policy"
	rows=$((rows - 1))
done < <(sed -n 's/.*\.example = {"\([^"]*\)", \([0-9]*\)}.*/\1 \2/p' "$tree/src/common/price_policy.c")
is "pricing.md and poppa.1: each kind of price, with its example" "$missing" ""
is "pricing.md: each kind has one example" "$rows" 0
comments=0
while read -r comment; do
	read -r raw charged z <<<"$(sed 's/.* raw=\([0-9]*\) charged=\([0-9]*\) .*/\1 \2/' <<<"$comment") $(grep -o 'stopped=[0-9.]*' <<<"$comment" | cut -d= -f2)"
	sed -n 1p "$here/bills.txt" >"$TAP_DIR/doc.txt"
	sed -n '/^12|/p' "$here/bills.txt" | awk -F'|' -v OFS='|' -v c="$comment" -v b="$charged" '{ sub(/billing=[0-9]*/, "billing=" b, $13); $15 = c } 1' >>"$TAP_DIR/doc.txt"
	json=$("$POPPA" why --json --input "$TAP_DIR/doc.txt" 12)
	if [[ $comment = *nodata=* ]]; then
		is "pricing.md: the charge of $comment" "$(awk "BEGIN { printf \"%.0f\", $raw * (1 - ${z:-0}) }")" "$charged"
	else
		is "pricing.md: the charge of $comment" "$(jq -c '.price | [.charged, .calculation.fits]' <<<"$json")" "[$charged,true]"
	fi
	is "pricing.md: which poppa why reads" "$(jq '.price.raw' <<<"$json")" "$raw"
	comments=$((comments + 1))
done < <(sed -n 's/^    \(poppa: .*\)/\1/p' "$pricing")
is "pricing.md: comments with and without a degradation" "$([ $comments -ge 3 ] && echo yes)" yes
resized=$(tr '\n' ' ' <"$pricing" | tr -s ' ' | grep -o 'With [0-9]* for [0-9]* s on two nodes.*`earlier=[0-9:]*`')
read -r first seconds last d one two earlier <<<"$(sed 's/With \([0-9]*\) for \([0-9]*\) s .* then \([0-9]*\) for .* s = \([0-9.]*\): .* both, \([0-9]*\) and \([0-9]*\)\..*earlier=\([0-9:]*\)`/\1 \2 \3 \4 \5 \6 \7/' <<<"$resized")"
is "pricing.md: a resized job's degradation" \
	"$(awk "BEGIN { printf \"%.2f\", $(grep -o '([0-9.]* \* [0-9]* s + [^=]*' <<<"$resized" | sed 's/ s\b//g') }")" "$d"
is "pricing.md: and what its sizes are charged" "$(prices --raw "$first" --degradation "$d") $(prices --raw "$last" --degradation "$d")" "$one $two"
is "pricing.md: and what the comment tells of the first" "$earlier" "$first:$seconds"

# The tests that security.md names for its claims are there.
security=$(tr '\n' ' ' <"$tree/docs/security.md" | tr -s ' ')
missing='' rows=0
while read -r file name; do
	find "$tree/tests/unit" -name "$file*.c" -exec cat {} + | grep -q -E "static void ${name:-[a-z_]+}\(void" || missing+=" $file:$name"
	rows=$((rows + 1))
done < <(grep -o -E '`test_[a-z_]+`(: [a-z_]+)?' <<<"$security" | tr -d '`:')
while IFS='|' read -r file part; do
	grep -q -i -F -e "${part% }" "$tree/tests/integration/$file" 2>/dev/null || missing+=" $file, $part"
	rows=$((rows + 1))
done < <(grep -o -E '`[0-9]+-[a-z]+\.t`(, [^];|),:.`]+)?' <<<"$security" | tr -d '`' | sed -E 's/^([^,]*)(, )?/\1|/')
is "security.md: the tests that it names are there" "$missing" ""
is "security.md: of which there are many" "$([ "$rows" -ge 25 ] && echo yes)" yes

# What operations.md has administrators look for is what the parts say; reasons that prices give are all in pricing.md.
said=$(find "$tree/src" -name '*.c' -exec perl -0pe 's/"\s*\n\s*"//g' {} +)
rows=0 missing=''
while read -r message; do
	while read -r part; do
		[ -z "$part" ] || [[ $said == *"$part"* ]] || missing+=" \"$part\""
	done < <(sed 's/^[a-z/-]*: //; s/\.\.\.:\{0,1\} */\n/g; s/: /\n/g' <<<"$message")
	rows=$((rows + 1))
done < <(sed -n '/^## At three/,/^## /p' "$tree/docs/operations.md" | sed -n 's/^| `\([a-z/-]*: [^`]*\)`.*/\1/p')
is "operations.md: the messages are those of the daemons" "$missing" ""
is "operations.md: of which there are some" "$([ $rows -ge 5 ] && echo yes)" yes
missing='' rows=0
for reason in $(cat "$tree"/src/accounting/*/*.c | sed -n '/^static const char \*no_data_reason/,/^}/p' | grep -o '"[a-z-]*"' | tr -d '"'); do
	grep -q "\`$reason\`" "$pricing" || missing+=" $reason"
	rows=$((rows + 1))
done
is "pricing.md: has each reason that a price can give" "$missing" ""
is "pricing.md: of which there are some" "$([ $rows -ge 8 ] && echo yes)" yes

# What operations.md has them type exists: subcommands with their options and actions, settings, state files, tests.
operations=$tree/docs/operations.md
missing='' rows=0
while read -r c rest; do
	help=$("$POPPA" "$c" --help 2>/dev/null) || missing+=" poppa $c"
	for o in $(grep -o -E -- '--[a-z][a-z-]*' <<<"$rest"); do
		grep -q -w -e "$o" <<<"$help" || missing+=" poppa $c $o"
	done
	if [ "$c" = ledger ]; then
		grep -q -E "\] ${rest%% *}( |\$)" <<<"$help" || missing+=" poppa ledger ${rest%% *}"
	fi
	rows=$((rows + 1))
done < <(grep -o -E '`poppa [a-z][^`]*`|^    poppa [a-z].*' "$operations" | sed -e 's/^[ `]*poppa //' -e 's/`$//')
is "operations.md: the commands exist" "$missing" ""
is "operations.md: of which there are many" "$([ $rows -ge 15 ] && echo yes)" yes
missing='' rows=0
for name in $(grep -o -E '\b(poppa|stripe)_[a-z_]+\b' "$operations" | sort -u); do
	grep -r -q -w -e "$name" "$tree/src" "$tree/etc/slurm.conf.example" --include='*.[ch]' --include='*.example' || missing+=" $name"
	rows=$((rows + 1))
done
for name in StateDir SpoolDir SpoolKeepDays LedgerControllers LedgerUser; do
	grep -q -w -e "$name" "$operations" && [[ $said == *"\"$name\""* ]] || missing+=" $name"
done
for file in $(grep -o -E '`(tests|docs|etc|contrib)/[A-Za-z0-9./_-]*`' "$operations" | tr -d '`'); do
	[ -e "$tree/$file" ] || missing+=" $file"
	rows=$((rows + 1))
done
is "operations.md: so do the settings and files that it names" "$missing" ""
is "operations.md: of which there are some" "$([ $rows -ge 12 ] && echo yes)" yes

# The table in shutter.md is what "poppa overhead" prints.
rows=0
while IFS='|' read -r _ n s p held loop _; do
	read -r n s p held loop <<<"$n $s $p ${held// /} ${loop// /}"
	got=$("$POPPA" overhead -n "$n" -s "$s" -p "$p" --json |
		jq -r '[.paused_fraction * 100, .loop_s] | @tsv' | awk '{ printf "%.3f%% %.2fs", $1, $2 }')
	[ "$got" = "$held $loop" ] || is "shutter.md: $n jobs, S=$s, P=$p" "$held $loop" "$got"
	rows=$((rows + 1))
done < <(grep -E '^\| [0-9]+ \| [0-9]+us \|' "$tree/docs/shutter.md")
is "shutter.md: the table of costs has its rows, and those above are all that differ" "$([ "$rows" -ge 10 ] && echo yes)" yes
done_testing
