#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands of the documents, taken from the pages, do on a cluster what the pages say: docs/use.md, docs/measurable.md,
# docs/striping.md and docs/operations.md.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
dir=$(home_of poppa-demo)/pages.$$
on_exit rm -rf "$dir"
as_user mkdir "$dir"
out=$POPPA_SANDBOX/tmp/pages.$$
on_exit rm -f "$out"
prefix=$POPPA_SANDBOX/usr
earlier_prices

# block PAGE NAME: the lines of the page's code block below the marker of that name.
block() {
	awk -v marker="<!-- run: tests/integration/71-pages.t $2 -->" '
		index($0, marker) == 1 { on = 1; next }
		on && /^```/ { if (fenced) exit; fenced = 1; next }
		on && fenced { print; next }
		on && sub(/^    /, "") { print; code = 1; next }
		on && code && NF { exit }' "$tree/$1"
}

# typed WHO PAGE NAME [EDIT]...: WHO types the block's commands, and the last of them succeeds; what they print is in $out.
# Each EDIT is one of sed's, for what has another name on the sandbox.
typed() {
	local who=$1 page=$2 name=$3 edits=() e script status
	shift 3
	for e; do edits+=(-e "$e"); done
	script=$(block "$page" "$name" | sed -E -e 's/^\$ //' -e 's/ +# .*//' "${edits[@]}")
	if [ -z "$script" ]; then
		fail "$page has commands to type: $name"
		return
	fi
	if [ "$who" = root ]; then
		bash -e -c "$script" >"$out" 2>&1
	else
		as "$who" env PKG_CONFIG_PATH="$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$prefix/lib" \
			bash -e -c "cd '$dir'"$'\n'"$script" >"$out" 2>&1
	fi
	status=$?
	is "$page: its commands succeed: $name" "$status" 0
	[ "$status" = 0 ] || diag "$(cat "$out")"
}

# --- A user: docs/use.md.
as_user tee "$dir/a" "$dir/b" >/dev/null <<<$'#!/bin/sh\nsleep 0.3'
as_user tee "$dir/job.sh" >/dev/null <<<$'#!/bin/bash\n#SBATCH -n1 --output=/dev/null\nsrun sleep 2'
as_user chmod +x "$dir/a" "$dir/b"
quick='s/poppa trial/poppa trial --time 3 --rounds 1/'
typed poppa-demo docs/use.md trial "$quick" 's/mpirun -n 4/mpirun -n 1/'
like "which says whether to co-locate them" "$(cat "$out")" 'co-locate|not certain'
typed poppa-demo docs/use.md advise
like "which gives advice" "$(cat "$out")" 'advice'
typed poppa-demo docs/use.md submit
job=$(sed -n 's/^Submitted batch job //p' "$out")
jobs_submitted+=("$job")
ok "the job is settled" wait_settled "$job" 90
ok "and slurmdbd has its price" wait_until 30 in_database "$job"
typed poppa-demo docs/use.md results "s/\\b12\\b/$job/"
like "they name the price" "$(cat "$out")" 'charged'

# --- A developer: docs/measurable.md.
block docs/measurable.md model.c | as_user tee "$dir/model.c" >/dev/null
block docs/measurable.md model.f90 | as_user tee "$dir/model.f90" >/dev/null
publishes() {
	as_user env LD_LIBRARY_PATH="$prefix/lib" strace -f -e trace=memfd_create "$dir/model" 2>&1 | grep -c 'memfd_create("poppa-heartbeat"'
}
typed poppa-demo docs/measurable.md c
is "its program in C publishes its progress" "$(publishes)" 1
as_user rm -f "$dir/model"
typed poppa-demo docs/measurable.md fortran
is "its program in Fortran publishes its progress" "$(publishes)" 1
typed poppa-demo docs/measurable.md model "$quick"
like "which reads both" "$(cat "$out")" 'loses|work'
if [ -e "$prefix/lib/libpoppa-heartbeat-mpi.so" ]; then
	as_user rm -f "$dir/model"
	as_user ln -s "$build/contrib/workloads/null" "$dir/model"
	typed poppa-demo docs/measurable.md preload "s|=libpoppa|=$prefix/lib/libpoppa|" 's|srun|srun -n1|' 's|$| --seconds 1|'
else
	skip "mpicc was not found" "docs/measurable.md: preload"
fi

# --- An administrator: one partition, docs/striping.md. It has two nodes here, and both jobs run for long enough to be looked at.
node=$(sinfo -h -N -p fake -o %N | sort | sed -n 1p)
nodes=$(sinfo -h -N -p fake -o %N | sort | head -n 2 | paste -s -d ,)
as_user tee "$dir/job.sh" >/dev/null <<<$'#!/bin/bash\n#SBATCH --output=/dev/null\nsleep 300'
typed poppa-demo docs/striping.md partition "s/\\bn1\\b/$node/" "s/-p debug/-p fake -w $nodes --mem=100/" '/^poppa doctor/d' \
	's/^scontrol/for i in $(seq 300); do [ "$(squeue -h --me -t R -p fake | wc -l)" = 2 ] \&\& break; sleep 0.2; done; &/'
mapfile -t pair < <(sed -n 's/^Submitted batch job //p' "$out")
jobs_submitted+=("${pair[@]}")
is "both jobs run, with a lane each of the same nodes" "$(for id in "${pair[@]}"; do
	scontrol -d show job "$id" | sed -n 's/^ *Nodes=\([^ ]*\) CPU_IDs=\([^ ]*\) .*/\2/p'
done | sort -u | xargs)" "0,2,4,6,8,10,12,14 1,3,5,7,9,11,13,15"
end_jobs "${pair[@]}" >/dev/null

# --- The ledger goes back to a copy: docs/operations.md.
copy=$POPPA_SANDBOX/tmp/copy.$$
on_exit rm -rf "$copy" "$POPPA_SANDBOX/state/ledger/before"
poppa ledger backup "$copy"
typed root docs/operations.md ledger "s|/var/lib/poppa|$POPPA_SANDBOX/state/ledger|g" "s|COPY|$copy|g" \
	"s#^systemctl (start|stop) poppa-ledgerd#$tree/contrib/sandbox/ctl \\1 ledgerd#"
ok "the ledger is sound" poppa ledger check
is "and has the price" "$(in_ledger "select count(*) from settlement where job = $job")" 1

# --- Processes that Slurm does not find: docs/operations.md.
if [ -d /sys/fs/cgroup/freezer ]; then
	as_user tee "$dir/hide" >/dev/null <<-'END'
		#!/bin/bash
		own=/sys/fs/cgroup/freezer$(sed -n 's/.*:freezer://p' /proc/self/cgroup)/own
		mkdir "$own" || exit
		sleep 1000 &
		echo $! >"$own/cgroup.procs"
		echo FROZEN >"$own/freezer.state"
		wait
	END
	as_user chmod +x "$dir/hide"
	submit -p real -n1 -o /dev/null --wrap "srun $dir/hide"
	stray() { find /sys/fs/cgroup/freezer/slurm_"$SANDBOX_REAL_NODE" -path "*job_$job/*/own/cgroup.procs" -exec cat {} +; }
	hidden() { [ -n "$(stray)" ]; }
	ok "a job hides a process" wait_until 30 hidden
	scancel "$job"
	completing() { [ "$(job_field "$job" JobState)" = COMPLETING ]; }
	ok "it is cancelled" wait_until 30 completing
	sleep 3
	ok "and what is hidden outlives that" eval 'hidden && completing'
	# Other clusters on this machine have jobs of the same number.
	typed root docs/operations.md strays '1i set +e' "s/JOBID/$job/" "s/slurm\\*/slurm_$SANDBOX_REAL_NODE/" \
		's/PID\.\.\./$(find . -path "*\/own\/cgroup.procs" -exec cat {} +)/' '$a true'
	gone() { ! hidden && ! squeue -h -j "$job" 2>/dev/null | grep -q .; }
	ok "the process is gone, and the job ends" wait_until 60 gone
else
	skip "this machine has cgroup v2, where Slurm finds them" "docs/operations.md: processes that Slurm does not find"
fi
done_testing
