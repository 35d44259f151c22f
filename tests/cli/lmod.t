#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The module file: Lmod loads it, it sets what a prefix needs, and unloading leaves nothing.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
template=$(cd "$(dirname "$0")/../.." && pwd)/contrib/lmod/poppa.lua.in
root=$TAP_DIR/opt/poppa
mkdir -p "$TAP_DIR/modules" "$root/bin" "$root/share/man/man1"
sed -e 's|@VERSION@|1.2.3|g' -e "s|@prefix@|$root|g" -e "s|@bindir@|$root/bin|g" -e "s|@mandir@|$root/share/man|g" \
	-e "s|@libdir@|$root/lib|g" "$template" >"$TAP_DIR/modules/poppa.lua"
is "every variable of the template has a value" "$(grep -o '@[a-zA-Z]*@' "$TAP_DIR/modules/poppa.lua")" ""
lmod=
for f in "${LMOD_CMD:-}" /usr/share/lmod/lmod/libexec/lmod /opt/apps/lmod/lmod/libexec/lmod; do
	[ -n "$f" ] && [ -x "$f" ] && lmod=$f && break
done
if [ -z "$lmod" ]; then
	skip "Lmod is not installed" "module load poppa"
	done_testing
	exit
fi
printf '#!/bin/sh\necho from the module\n' >"$root/bin/poppa"
chmod +x "$root/bin/poppa"
unset MANPATH PKG_CONFIG_PATH POPPA_ROOT LOADEDMODULES _LMFILES_ MODULEPATH LMOD_SYSTEM_DEFAULT_MODULES
export LMOD_PIN_VERSIONS=no LMOD_REDIRECT=no
# module ARG...: as Lmod's shell function does it.
module() {
	local commands
	commands=$("$lmod" bash "$@" 2>"$TAP_DIR/err")
	eval "$commands"
}
# Lmod takes repetitions out of it.
path=/usr/local/bin:/usr/bin:/bin
PATH=$path
module use "$TAP_DIR/modules"
module load poppa
is "module load: silent" "$(cat "$TAP_DIR/err")" ""
is "module load: the command is found" "$(poppa 2>&1)" "from the module"
is "module load: the rest of PATH is as before" "${PATH#"$root/bin:"}" "$path"
like "module load: the manual pages come first, and the system's stay" "$MANPATH" "^$root/share/man:+\$"
is "module load: pkg-config and the prefix" "$PKG_CONFIG_PATH $POPPA_ROOT" "$root/lib/pkgconfig $root"
module help poppa
like "module help: the commands" "$(cat "$TAP_DIR/err")" 'POPPA 1\.2\.3: .*sbatch --colocate job\.sh.*poppa job JOBID'
for c in $("$POPPA" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do echo "$c"; done >"$TAP_DIR/commands"
is "module help: names commands that there are" \
	"$(grep -o '^  poppa [a-z]*' "$TAP_DIR/modules/poppa.lua" | sed 's/.* //' | grep -v -x -F -f "$TAP_DIR/commands")" ""
module unload poppa
is "module unload: nothing is left" "$PATH ${MANPATH:-} ${PKG_CONFIG_PATH:-} ${POPPA_ROOT:-}" "$path   "
done_testing
