#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The sandbox is a whole cluster: stock jobs run on both partitions and are accounted for.
. "$(dirname "$0")/lib.sh"

# lib.sh has waited until they answer.
is "all nodes are idle" "$(sinfo -h -N -o '%N %t' | sort -u | xargs)" \
	"$(for i in 0 1 2 3 4; do echo "$SANDBOX_FAKE_PREFIX$i idle"; done | xargs)"
# The same line holds on every host, wherever that has Slurm's own plugins.
is "the plugin directory comes before the link to Slurm's own" \
	"$(scontrol show config | sed -n 's/^PluginDir *= *//p')" \
	"$POPPA_SANDBOX/usr/lib/poppa/slurm:$POPPA_SANDBOX/usr/lib/poppa/slurm-own"
ok "and the link leads there" test -e "$POPPA_SANDBOX/usr/lib/poppa/slurm-own/accounting_storage_slurmdbd.so"
ok "what is installed is linked with the libraries that it uses" \
	"$tests_dir/unit/scenario/test_libraries.sh" "$POPPA_SANDBOX/usr"
nok "no daemon has ended" sh -c "'$tree/contrib/sandbox/ctl' status | grep -w ended"

submit -n2 --wrap 'srun -n2 sh -c "echo cores \$(sed -n s/Cpus_allowed_list:.//p /proc/self/status)"; exit 3'
ok "a job starts on the real node" test -n "$job"
ok "and ends" wait_end "$job"
is "with its own exit status" "$(job_field "$job" ExitCode)" 3:0
is "its two tasks were bound to two different cores" \
	"$(grep cores "$(home_of)/slurm-$job.out" | sort -u | wc -l)" 2
ok "accounting has its end" wait_until 20 sh -c "sacct -X -n -P -j $job -o State | grep -q FAILED"
is "and its user and account" "$(sacct_field "$job" User,Account)" "poppa-demo|demo"
like "and milli-SU for two cores" "$(sacct_field "$job" AllocTRES)" "billing=2000,cpu=2"

submit -p fake -N2 -n16 --ntasks-per-node=8 --wrap 'srun hostname'
ok "a job of two fake nodes ends" wait_end "$job"
is "completed" "$(job_field "$job" JobState)" COMPLETED
is "with eight tasks on each of two nodes" \
	"$(sort "$(home_of)/slurm-$job.out" | uniq -c | awk '{ print $1 }' | xargs)" "8 8"

nok "a user without an account cannot submit" as daemon sbatch --wrap true
done_testing
