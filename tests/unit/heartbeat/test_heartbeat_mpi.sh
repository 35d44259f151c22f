#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The heartbeat in Fortran, and of unchanged MPI programs in C and Fortran. TAP; run by "make check".
set -u
# shellcheck source=tests/tap.sh
. "${srcdir:-..}/tests/tap.sh"
tree=$(cd "${srcdir:-..}" && pwd) || exit 99
here=$tree/tests/unit/heartbeat
src=$tree/src
libs=$PWD/.libs
preload=$libs/libpoppa-heartbeat-mpi.so

dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir LD_LIBRARY_PATH=$libs
# A build with sanitizers: their library must come first, and MPI libraries keep memory until the end.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
asan=$(ldd "$libs/libpoppa-heartbeat.so" | awk '/libasan/ { print $3 }')

# relay COMMAND...: the points that the program prints, as this test's; a failure of it is one too.
relay()
{
	local line status
	"$@" >"$dir/out" 2>&1 </dev/null
	status=$?
	while IFS= read -r line; do
		case $line in
		"ok - "*'# SKIP '*) skip "${line#*# SKIP }" "$(expr "$line" : 'ok - \(.*\) # SKIP')" ;;
		"ok - "*) pass "${line#ok - }" ;;
		"not ok - "*) fail "${line#not ok - }" ;;
		"# "*) printf '%s\n' "$line" ;;
		*) diag "$line" ;;
		esac
	done <"$dir/out"
	is "$(basename "${*: -1}") ends well" "$status" 0
}

launch() # launch RANKS LD_PRELOAD COMMAND...
{
	local n=$1 first=$2 root=()
	shift 2
	[ "$(id -u)" != 0 ] || root=(--allow-run-as-root)
	mpirun "${root[@]}" --oversubscribe --bind-to none -n "$n" -x LD_PRELOAD="$first" "$@"
}

ranks() # ranks COMMAND...: two, with the preload
{
	launch 2 "${asan:+$asan:}$preload" "$@"
}

preloaded()
{
	LD_PRELOAD=${asan:+$asan:}$preload "$@"
}

# --- Fortran, without MPI ---
if [ -z "${FC:-}" ]; then
	skip "configure found no Fortran compiler" "Fortran module"
else
	cd "$dir" || exit 99
	ok "the Fortran module compiles with a program" \
		"$FC" -Wall -Werror -o fortran "$src/heartbeat/poppa_heartbeat.f90" \
		"$here/own_page.f90" "$here/fortran.f90" -L"$libs" -lpoppa-heartbeat
	cd "$OLDPWD" || exit 99
	LD_PRELOAD=$asan relay "$dir/fortran"
fi

# --- MPI ---
if [ -z "${MPICC:-}" ] || [ ! -e "$preload" ]; then
	skip "configure found no mpicc" "MPI programs"
	done_testing
	exit
fi
if ! command -v mpirun >/dev/null; then
	skip "mpirun is not installed" "MPI programs"
	done_testing
	exit
fi
is "other programs can load it, and say nothing" "$(preloaded sh -c 'env echo fine' 2>&1)" fine
unlike "it brings no MPI library" "$(ldd "$preload")" libmpi
is "it shows no names but MPI's" "$(nm -D --defined-only "$preload" | awk '{ print $3 }' | grep -v -E '^P?MPI_')" ""

relay ranks tests/unit/heartbeat/mpi_calls
relay ranks tests/unit/heartbeat/mpi_calls "$libs/libpoppa-heartbeat.so"

if [ -z "${MPIFC:-}" ]; then
	skip "configure found no MPI Fortran compiler" "MPI programs in Fortran"
else
	for binding in 77:mpif.h 90:mpi 2008:mpi_f08; do
		name=${binding#*:}
		# One name's arguments have several types here, which the old bindings allow.
		if ! $MPIFC -fallow-argument-mismatch -DBINDING="${binding%:*}" -DNAME="'$name'" -J "$dir" \
			-o "$dir/$name.exe" "$here/own_page.f90" "$here/mpi_calls.F90" >"$dir/log" 2>&1; then
			if printf 'use %s\nend\n' "${name%.h}" >"$dir/probe.f90" && [ "$name" != mpif.h ] &&
				! $MPIFC -J "$dir" -o "$dir/probe" "$dir/probe.f90" >/dev/null 2>&1; then
				skip "this MPI has no Fortran module of that name" "$name"
			else
				fail "a program with $name compiles" "$(cat "$dir/log")"
			fi
			continue
		fi
		relay ranks "$dir/$name.exe"
	done
	# The example for users, whose ranks publish by themselves.
	(cd "$dir" && $MPIFC -O2 -o heat "$src/heartbeat/poppa_heartbeat.f90" \
		"$tree/contrib/workloads/heat.f90" -L"$libs" -lpoppa-heartbeat)
	two=$(launch 2 "$asan" "$dir/heat" 200 64)
	like "the Fortran workload runs" "$two" '^heat: 64 x 64 cells, heat [1-9][0-9]*\.'
	is "with the same result on one rank" "$(launch 1 "$asan" "$dir/heat" 200 64)" "$two"
	LD_PRELOAD=$asan "$dir/heat" 100000000 64 >/dev/null 2>&1 &
	heat=$!
	# beats: the count of its first thread, 0 while it publishes none.
	beats()
	{
		local page
		page=$(find "/proc/$heat/fd" -lname '/memfd:poppa-heartbeat*' 2>/dev/null)
		{ [ -n "$page" ] && od -A n -t u8 -j 128 -N 8 "$page"; } || echo 0
	}
	ok "it publishes" wait_until 30 eval '[ "$(beats)" -gt 0 ]'
	before=$(beats)
	ok "and goes on to" wait_until 30 eval '[ "$(beats)" -gt "$before" ]'
	kill -9 $heat
	wait $heat 2>/dev/null
	$MPIFC -fallow-argument-mismatch -DBINDING=90 -DNAME="'linked instead'" -J "$dir" -o "$dir/linked" \
		"$here/own_page.f90" "$here/mpi_calls.F90" -L"$libs" -Wl,--no-as-needed -lpoppa-heartbeat-mpi \
		>"$dir/log" 2>&1
	relay launch 2 "$asan" "$dir/linked"
fi

# --- MPI that the library has not expected ---
if [ -n "$asan" ]; then
	skip "a library with sanitizers is not for programs loaded at run time" "modules and other kinds of MPI"
	done_testing
	exit
fi
$MPICC -shared -fPIC -I "$src" -o "$dir/module.so" "$here/module.c" &&
	${CC:-cc} -o "$dir/module_user" "$here/module_user.c" -ldl
is "MPI that a module brings in counts" "$(launch 1 "$preload" "$dir/module_user" "$dir/module.so")" 10
# As a program of its own, with another tool on either side.
$MPICC -Drun=main -I "$src" -o "$dir/program" "$here/module.c" &&
	$MPICC -shared -fPIC -o "$dir/tool.so" "$here/tool.c"
for order in "$preload:$dir/tool.so" "$dir/tool.so:$preload"; do
	is "another tool sees every call, and each counts once (${order##*/} is second)" \
		"$(launch 1 "$order" "$dir/program")" "10"$'\n'"tool 10"
done
${CC:-cc} -shared -fPIC -o "$dir/libfake.so" "$here/fake_mpi.c" &&
	${CC:-cc} -I "$src" -o "$dir/fake_user" "$here/fake_mpi_user.c" -L"$dir" -lfake -Wl,-rpath,"$dir"
ok "MPI whose handles are numbers is passed through, and counts" preloaded "$dir/fake_user"
is "unless the user says no" "$(launch 1 "$preload" env POPPA_HEARTBEAT_MPI=no "$dir/program")" -1

# --- MPICH, the other kind ---
if [ -x tests/unit/heartbeat/mpich_calls ] && command -v mpirun.mpich >/dev/null; then
	like "a program of MPICH is one of another kind" "$(ldd tests/unit/heartbeat/mpich_calls)" libmpich
	relay env LD_PRELOAD="$preload" mpirun.mpich -n 2 tests/unit/heartbeat/mpich_calls
else
	skip "configure found no mpicc.mpich, or mpirun.mpich is not installed" "MPICH"
fi
done_testing
