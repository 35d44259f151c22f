# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For tests on clusters of their own, a slurmctld each (tests/scale/cloud.sh): of the sandbox they need the
# plugins only, and Slurm where that is below a prefix.
set -uo pipefail
tests_dir=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=contrib/sandbox/lib.sh
. "$tests_dir/../contrib/sandbox/lib.sh"
load_instance || use_slurm ""
# shellcheck source=tests/tap.sh
. "$tests_dir/tap.sh"
# shellcheck source=tests/integration/schedulers.sh
. "$tests_dir/integration/schedulers.sh"
# shellcheck source=tests/scale/cloud.sh
. "$tests_dir/scale/cloud.sh"

if [ -n "${POPPA_SANDBOX_BUILD:-}" ]; then
	from=$POPPA_SANDBOX_BUILD/.libs
else
	from=$PREFIX/lib/poppa/slurm
fi
[ -e "$from/select_cons_tres.so" ] || bail_out "the plugins are not in $from: run contrib/sandbox/up"
cloud_begin "$from"
trap 'cloud_clear; [ "$tap_done" = yes ]' EXIT
trap 'exit 130' INT TERM

# has_nodes JOB: in cluster $N.
has_nodes() { cloud "$N" squeue -h -t CF,R -o %i | grep -q -x "$1"; }
# waits JOB: there it has none, although the schedulers have looked at it.
waits() { looked_at "$1" cloud "$N" && ! has_nodes "$1"; }
