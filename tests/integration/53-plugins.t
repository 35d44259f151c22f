#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# PrEpPlugins is changed while the ledger is silent and the settler waits for it: slurmctld does not wait, the
# next settler goes on with what the one before had, and each run gets its price once. And the suite is taken out and
# put back while a job runs.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/bill.sh
. "$(dirname "$0")/bill.sh"

clean_up() {
	ctl kill -CONT ledgerd
	ctl reconfigure --reset
	grep -q '^PrEpPlugins=prep/script,prep/poppa$' "$SLURM_CONF" || plugins prep/script,prep/poppa
}
on_exit clean_up
# plugins LIST: slurm.conf has it, and everybody has read it; how long that took is added to $took_ms.
took_ms=0
plugins() {
	local t=${EPOCHREALTIME/./}
	sed -i "s|^PrEpPlugins=.*|PrEpPlugins=$1|" "$SLURM_CONF"
	scontrol reconfigure
	took_ms=$((took_ms + (${EPOCHREALTIME/./} - t) / 1000))
}
short() { submit -p fake -N1 --colocate -o /dev/null --wrap 'sleep 1'; }
# Ids may have been those of other runs before.
since=$(date +%s)
settlements() { in_ledger "select count(*) from settlement where start >= $since and job in ($(IFS=, && echo "$*"))"; }
priced_once() { [ "$(settlements "${jobs[@]}")" = "${#jobs[@]}" ]; }

ctl reconfigure poppa_settle_timeout=4s
wait_until 60 nothing_waits
pid=$(ctl pid slurmctld)
# What it takes where the ledger answers.
for i in 1 2 3; do
	plugins prep/poppa,prep/script
	plugins prep/script,prep/poppa
done
usual_ms=$took_ms
took_ms=0
was=$(grep -c 'PrEpPlugins changed to' "$(ctl log slurmctld)")
ctl kill -STOP ledgerd
jobs=()
for i in 1 2 3; do
	short
	jobs+=("$job")
done
for i in "${jobs[@]}"; do wait_end "$i"; done
# It is at its question for the ledger more often than not.
for i in 1 2 3; do
	plugins prep/poppa,prep/script
	plugins prep/script,prep/poppa
	short
	jobs+=("$job")
	wait_end "$job"
done
cmp_num "the plugins were changed" "$(grep -c 'PrEpPlugins changed to' "$(ctl log slurmctld)")" '>=' "$((was + 6))"
# slurmctld holds all its locks then. Six waits would each take half of the time after which a question is given up,
# on average; a busy machine makes six changes slower than the six before, too.
cmp_num "which does not wait for the ledger's answers" "$took_ms" '<' \
	$((usual_ms + 2 * $(sed -n 's/^#define LEDGER_TIMEOUT_MS //p' "$tree/src/plugins/prep_poppa/settler_context.c")))

# A run that ends in a requeue leaves no other trace than what the settler has.
submit -p fake -N1 --colocate --requeue -o /dev/null --wrap 'sleep 60'
again=$job
wait_running "$again"
sleep 2
scontrol requeue "$again"
ok "a run is requeued" wait_until 30 sh -c "scontrol show job $again | grep -q JobState=PENDING"
plugins prep/script
short
jobs+=("$job" "$again")
wait_end "$job"
scancel "$again"
is "without prep/poppa nothing is settled" "$(settlements "${jobs[@]}")" 0
ctl kill -CONT ledgerd
plugins prep/script,prep/poppa
ok "when it is back, and the ledger answers, all have their price" wait_until 90 priced_once
ok "the requeued run, too" run_settled "$again" 0
ok "and slurmdbd has them" wait_until 60 nothing_waits
is "none has two" "$(in_ledger "select job from event where kind = 'settled' and json_extract(body, '\$.start') >= $since and job in ($(IFS=, && echo "${jobs[*]}")) group by job having count(*) > 1")" ""
is "slurmctld was not ended by it" "$(ctl pid slurmctld)" "$pid"

# The suite is taken out while a job runs, and put back without a restart of slurmd: the prolog has registered the job, and
# nobody has told poppad of its end.
node=$SANDBOX_REAL_NODE
on_exit ctl restart slurmd
on_exit ctl restart poppad
# restarted LIST DAEMON...: with this in slurm.conf, and unlike after a reconfiguration all others have what they had.
restarted() {
	local d
	sed -i "s|^PrEpPlugins=.*|PrEpPlugins=$1|" "$SLURM_CONF"
	shift
	for d in "$@"; do ctl restart "$d"; done
	wait_until 60 nodes_answer
}
doctor_on_slurmd() { poppa doctor -N "$node" --json | jq -r '.checks[] | select(.check == "slurmd") | "\(.status) \(.detail)"'; }
submit -p real -n1 --colocate -o /dev/null --wrap 'sleep 600'
wait_running "$job"
ok "a job is registered" wait_until 20 holds "[.jobs[].job] == [$job]"
restarted prep/script slurmctld slurmd
is "the suite is taken out, and it runs on" "$(job_field "$job" JobState)" RUNNING
scancel "$job"
wait_end "$job"
restarted prep/script,prep/poppa slurmctld poppad
ok "the suite is put back, and poppad lists it" wait_until 20 holds "[.jobs[] | [.job, .state]] == [[$job, \"waiting\"]]"
like "poppa doctor tells why" "$(doctor_on_slurmd)" '^fail .*has not loaded prep/poppa.* ended ones stay listed'
ctl restart slurmd
ok "a slurmd that has it asks slurmctld, and poppad lists the job no more" wait_until 30 holds '.jobs == []'
like "which doctor shows" "$(doctor_on_slurmd)" '^ok has loaded prep/poppa$'

# What an upgrade does to a slurmd that runs.
plugin=$(sed -n 's/.* \(\/.*\/prep_poppa\.so\)$/\1/p' "/proc/$(ctl pid slurmd)/maps" | head -n 1)
cp -p "$plugin" "$plugin.new" && mv "$plugin.new" "$plugin"
like "a slurmd whose plugin was replaced has another one than is installed" "$(doctor_on_slurmd)" '^warn pid .*has been replaced'
ctl restart slurmd
has_loaded() { [ "$(doctor_on_slurmd)" = "ok has loaded prep/poppa" ]; }
ok "until it is restarted" wait_until 30 has_loaded
ok "and it has its price" wait_settled "$job"

# What is installed is linked with the libraries that it uses and with no other. needed FILE: their names
prefix=$(cd "$(dirname "$(command -v poppad)")/.." && pwd)
needed() { LC_ALL=C readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
for file in "$prefix/lib/poppa/slurm/prep_poppa.so" "$prefix/sbin/poppad"; do
	is "${file##*/} needs neither SQLite nor libgcrypt" "$(needed "$file" | grep -E '^(libsqlite3|libgcrypt)\.')" ""
	like "of the libraries that it needs" "$(needed "$file")" "libc\\.so"
done
is "poppa needs neither PAPI nor libpfm4 nor libelf" "$(needed "$prefix/bin/poppa" | grep -E '^(libpapi|libpfm|libelf)\.')" ""
is "poppa-guard needs the C library alone" "$(needed "$prefix/libexec/poppa/poppa-guard" | grep -v -E '^lib[cm]\.so')" ""
like "poppad says which counters work here" "$(poppad --counters | jq -r '.[] | select(.usable).name' | tr '\n' ' ')" heartbeat
done_testing
