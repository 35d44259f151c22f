#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each program and plugin is linked with the libraries that it uses and with no other: by readelf -d. TAP.
# test_libraries.sh [PREFIX]: of what is installed there, or of the build tree.
set -u
tests=0 failed=0
plugin=.libs/prep_poppa.so sbin=. bin=. libexec=.
if [ $# -gt 0 ]; then
	plugin=$1/lib/poppa/slurm/prep_poppa.so sbin=$1/sbin bin=$1/bin libexec=$1/libexec/poppa
fi

# links_none FILE LIBRARY...: by the beginnings of the libraries' names
links_none()
{
	local file=$1 needed library wrong=
	shift
	tests=$((tests + 1))
	needed=$(LC_ALL=C readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	for library; do
		grep -q -e "^$library\." <<<"$needed" && wrong+=" $library"
	done
	if [ -n "$needed" ] && [ -z "$wrong" ]; then
		echo "ok $tests - ${file##*/} needs no $*"
	else
		echo "not ok $tests - ${file##*/} needs no $*"
		echo "# it needs: ${needed:-nothing that readelf tells of}"
		failed=1
	fi
}

# The C library, the dynamic linker, mathematics; with sanitizers theirs.
links_only_libc()
{
	local more
	tests=$((tests + 1))
	more=$(LC_ALL=C readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -v -E '^(libc|libm|libpthread|libgcc_s|libasan|libubsan|libtsan|ld-linux.*)\.so')
	if [ -z "$more" ]; then
		echo "ok $tests - ${1##*/} needs the C library alone"
	else
		echo "not ok $tests - ${1##*/} needs the C library alone"
		echo "# it needs: $more"
		failed=1
	fi
}

if ! command -v readelf >/dev/null; then
	echo "1..0 # SKIP readelf is not installed"
	exit 77
fi
# A build without Slurm has no plugins.
if [ $# -gt 0 ] || [ -e prep_poppa.la ]; then links_none "$plugin" libsqlite3 libgcrypt; fi
links_none "$sbin/poppad" libsqlite3 libgcrypt
links_none "$bin/poppa" libpapi libpfm libelf
links_only_libc "$libexec/poppa-guard"
# It can tell: poppad reads ELF files.
tests=$((tests + 1))
if readelf -d "$sbin/poppad" | grep -q 'NEEDED.*libelf'; then
	echo "ok $tests - a library that is needed is seen"
else
	echo "not ok $tests - a library that is needed is seen"
	failed=1
fi
echo "1..$tests"
exit $failed
