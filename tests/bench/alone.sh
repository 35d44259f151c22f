# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What benches share that need no cluster, only a build: tests/bench/farm, gpu and horton.
# The caller has set `programs`, which make builds, and `what`, the text for --help, and gives its arguments.
bench_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(dirname "$(dirname "$bench_dir")")
# shellcheck source=contrib/sandbox/lib.sh
. "$tree/contrib/sandbox/lib.sh"

bench_alone() {
	local name build=${POPPA_SANDBOX_BUILD:-} results=$tree/docs/results args=()
	name=$(basename "$0")
	usage() {
		cat <<-END
			Usage: tests/bench/$name [--quick] [--build DIR] [--results DIR]
			$what
			  --quick    tries it with little: the numbers mean nothing
			  --build    a configured build directory; otherwise one is made in $SANDBOX/bench
			  --results  another directory than $results, where it writes $name.md
		END
	}
	while [ $# -gt 0 ]; do
		case $1 in
		--quick) args+=("$1") ;;
		--build | --results)
			[ $# -ge 2 ] || { usage >&2; exit 2; }
			if [ "$1" = --build ]; then build=$2; else results=$2; fi
			shift
			;;
		-h | --help)
			usage
			exit 0
			;;
		*)
			usage >&2
			exit 2
			;;
		esac
		shift
	done
	mkdir -p "$results"
	results=$(cd "$results" && pwd)
	if [ -z "$build" ]; then
		export POPPA_CACHE=$CACHE POPPA_SANDBOX=$SANDBOX/bench
		"$tree/contrib/sandbox/up" --build
		build=$POPPA_SANDBOX/build
	fi
	make -s -C "$build" "${programs[@]}"
	export PYTHONDONTWRITEBYTECODE=1
	exec python3 "$bench_dir/bench_$name.py" --build "$(cd "$build" && pwd)" --results "$results" "${args[@]}"
}
