#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The --colocate option from the command line to slurmctld: what is accepted, refused, shown and kept.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/clients.sh
. "$(dirname "$0")/clients.sh"

tmp=$(mktemp -d)
chmod a+rx "$tmp"
on_exit rm -rf "$tmp"

# keep [ID...]: jobs that end with the test.
keep() {
	jobs_submitted+=("$@")
}

# request OPTION...: a job that does not begin yet; sets $job as well.
request() {
	try sbatch --parsable "$LATER" -p fake "$@" --wrap true
	job=
	[ $rc != 0 ] || { job=$out && keep "$job"; }
}

list_jobs() {
	squeue -h -t all -o %i | sort
}

# refused NAME PATTERN OPTION...: not submitted, with a reason of ours that matches.
refused() {
	local name=$1 pattern=$2 before
	shift 2
	before=$(list_jobs)
	request "$@"
	ok "$name is refused" test $rc != 0
	like "$name: the reason and the fix" "$err" "--colocate: .*$pattern"
	# Old jobs may be forgotten meanwhile.
	is "$name: nothing is submitted" "$(comm -13 <(echo "$before") <(list_jobs))" ""
}

accepted() {
	local name=$1
	shift
	request "$@"
	is "$name is accepted in silence" "$rc:$err" 0:
}

printf '#!/bin/sh\n#SBATCH --colocate=class:a/b\ntrue\n' >"$tmp/bad.sh"
printf '#!/bin/sh\n#SBATCH --colocate=class:weather\ntrue\n' >"$tmp/good.sh"
chmod a+rx "$tmp"/*.sh

# After a restart of slurmctld, nodes take a moment until they are given to jobs.
as_user srun -Q -p fake -N4 true || bail_out "the fake nodes run no job"

# Help and unknown keys, before anything is submitted.
before=$(list_jobs)
for cmd in sbatch srun salloc; do
	try $cmd --colocate=help
	is "$cmd --colocate=help succeeds" $rc 0
	like "$cmd --colocate=help explains" "$out" max-degradation:
	is "$cmd --colocate=help says nothing else" "$err" ""
	try $cmd --colocate=sprad "$tmp/good.sh"
	ok "$cmd refuses an unknown key" test $rc != 0
	like "$cmd names the key and the keys there are" "$err" 'unknown key "sprad"; the keys are stripe, spread,'
	is "$cmd says so in one line" "$(wc -l <"$tmp/err")" 1
done
is "nothing was submitted by these" "$(comm -13 <(echo "$before") <(list_jobs))" ""
try sbatch --help
like "sbatch --help lists the option" "$out" "--colocate="

try sbatch "$LATER" -p fake "$tmp/bad.sh"
like "an error in an #SBATCH line is refused too" "$rc $err" '^[1-9].*--colocate: class:a/b'
try sbatch --parsable "$LATER" -p fake "$tmp/good.sh"
keep "$out"
like "an #SBATCH line counts" "$(mark "$out")" '^colocate: class:weather'

# Silence, the canonical form, whole lanes.
accepted "plain --colocate" --colocate
like "plain --colocate is marked" "$(mark "$job")" '^colocate: stripe'
is "a lane of each node" "$(job_field "$job" MinCPUsNode)" 8
accepted "a long value" --colocate='not:b job,max-degradation:20%, not:a%2C,not:b job'
like "the mark is canonical" "$(mark "$job")" '^colocate: not:a%2C,not:b%20job,max-degradation:20( |$)'
accepted "spread" --colocate=spread --mem=16000
try srun -p fake --colocate -n2 echo hello
is "srun prints the program's output only" "$rc:$out:$err" $'0:hello\nhello:'
try salloc -Q -p fake --colocate srun -n1 echo hello
is "salloc carries the option to its steps in silence" "$rc:$out:$err" "0:hello:"
accepted "an array" --colocate --array=1-2
like "each task of the array is marked" "$(mark "$job")" '^colocate: stripe'

# A share of a graphics processor: programs are told by their environment.
try srun -Q -p fake --colocate=sm:50 -n1 printenv CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
is "tasks of a job with sm:50 find it" "$rc:$out:$err" "0:50:"
try srun -Q -p fake --colocate -n1 printenv CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
is "those of others do not" "$rc:$out" "1:"
mkdir -p "$tmp/config/poppa"
echo "kept 30" >"$tmp/config/poppa/gpu"
chmod -R a+rX "$tmp"
try env XDG_CONFIG_HOME="$tmp/config" sbatch --parsable "$LATER" -p fake --colocate=class:kept,sm:auto --wrap true
keep "$out"
like "sm:auto is what poppa gpu has kept" "$(mark "$out")" '^colocate: class:kept,sm:30'
refused "sm:auto of a class of which nothing is kept" 'class never: run "poppa gpu sweep' --colocate=class:never,sm:auto

# Conflicts and what could never run.
refused --exclusive 'exclusive ' --colocate --exclusive
refused --exclusive=user 'exclusive=user' --colocate --exclusive=user
refused --oversubscribe oversubscribe --colocate --oversubscribe
refused --overcommit overcommit --colocate -O -n4
refused --core-spec core-spec --colocate -S1
refused --mem=0 'leave --mem out' --colocate --mem=0
refused "more memory than the share" 'at most' --colocate --mem=8001
refused "more memory per CPU than the share" 'mem-per-cpu=1000M' --colocate --mem-per-cpu=1001
refused "more tasks than a lane holds" 'a lane holds 8' --colocate -N1 -n9
refused "more tasks a node than a lane holds" 'ntasks-per-node=8' --colocate -N2 --ntasks-per-node=9
refused "a task wider than a lane" 'cpus-per-task=8' --colocate -c9
refused "more tasks than all lanes hold" 'fewer tasks' --colocate -n33
refused "more CPUs a node than a lane has" 'mincpus=9' --colocate --mincpus=9
refused "a lane of the real node has less" 'a lane holds [0-9]+' -p real --colocate -N1 -n"$(scontrol show node "$SANDBOX_REAL_NODE" | sed -n 's/.*CPUTot=\([0-9]*\).*/\1/p')"
refused "a test-only submission" 'a lane holds 8' --test-only --colocate -N1 -n9
refused "conflicting keys" 'spread and with: exclude' --colocate=spread,with:7
accepted "a job that fills its lanes" --colocate -N2 -n16 --mem=8000

# Heterogeneous jobs: each component speaks for itself.
try sbatch --parsable "$LATER" -p fake --colocate=class:first : -p fake --colocate=spread : -p fake --wrap true
het=$out
keep "$het"
is "a heterogeneous job is accepted in silence" "$rc:$err" "0:"
like "its first component" "$(mark "$het+0")" '^colocate: class:first'
like "its second component" "$(mark "$het+1")" '^colocate: spread'
is "its third component is not co-located" "$(mark "$het+2")" ""
try sbatch "$LATER" -p fake --colocate : -p fake --colocate --exclusive --wrap true
like "a component with a conflict refuses the job" "$rc $err" '^1.*--exclusive'

# Jobs that do not opt in are Slurm's own business.
for option in --exclusive --mem=0 --oversubscribe -O -n33; do
	request $option
	is "$option without the option is accepted" "$rc" 0
	is "$option without the option has no mark" "$(mark "$job")" ""
done

# Steps, and jobs within jobs.
try srun -Q -p fake bash -c 'srun --colocate true 2>&1; echo "rc=$?"'
like "a step cannot co-locate a job" "$out" 'job [0-9]+ is not co-located.*rc=1'
for start in "srun -Q" "salloc -Q"; do
	# shellcheck disable=SC2086
	try $start -p fake --colocate bash -c "srun --overlap --colocate -n1 echo step 2>&1
		sbatch --parsable $LATER -p fake --wrap true
		sbatch --parsable $LATER -p fake --colocate=class:inner --wrap true"
	like "a step of a co-located job ($start) may repeat the option" "$out" '^step'
	read -r -d '' _ plain asking <<<"$out"
	keep "$plain" "$asking"
	is "a job submitted from within it is not co-located" "$(mark "$plain")" ""
	like "unless it asks" "$(mark "$asking")" '^colocate: class:inner'
done
try sbatch --parsable -o "$(home_of poppa-demo)/within.out" -W -p fake --colocate --export=NONE \
	--wrap "export PATH=$(dirname "$(command -v srun)"):/usr/bin:/bin; srun --colocate /bin/echo step"
like "a step of a batch job without its submitter's environment may, too" "$(cat "$(home_of poppa-demo)/within.out")" '^step'
try env SLURM_SPANK__SLURM_SPANK_OPTION_colocate_colocate=spread sbatch --parsable "$LATER" -p fake --wrap true
keep "$out"
like "the option can stand in the environment" "$(mark "$out")" '^colocate: spread'
try env SLURM_SPANK__SLURM_SPANK_OPTION_colocate_colocate=spread sbatch --parsable "$LATER" -p fake --colocate=class:c --wrap true
keep "$out"
like "and the command line overrides it" "$(mark "$out")" '^colocate: class:c'
try env SLURM_SPANK__SLURM_SPANK_OPTION_colocate_colocate=spread srun -Q -p fake true
is "it is silent" "$rc:$err" 0:

# Forging and editing.
request --comment='colocate: spread'
is "a comment is no mark" "$(mark "$job")" ""
is "a comment is no policy" "$(job_field "$job" MinCPUsNode)" 1
request --colocate=class:mine
for update in 'comment=colocate: spread' 'admincomment=colocate: spread' 'systemcomment=colocate: spread' \
	'extra=colocate: spread'; do
	as_user scontrol update job="$job" "$update" >/dev/null 2>&1
done
as_user sacctmgr -i modify job where jobid="$job" set systemcomment=forged >/dev/null 2>&1
like "the mark cannot be edited" "$(mark "$job")" '^colocate: class:mine( |$)'

if has_forger; then
	ask_forged() {
		forged FORGED_COLOCATE="$1" sbatch --parsable "$LATER" -p fake "${@:2}" --wrap true
		[ $rc != 0 ] || keep "$out"
	}
	ask_forged sprad
	like "an unknown key from a forged client is refused" "$rc $err" '^1.*unknown key "sprad"'
	ask_forged $'stripe\nCOLOCATE=spread'
	like "control characters from a forged client are refused" "$rc $err" '^1.*control character'
	ask_forged help
	like "help from a forged client is refused" "$rc $err" '^1.*nothing to submit'
	ask_forged "not:$(printf 'x%.0s' {1..200})"
	like "a long name from a forged client is refused" "$rc $err" '^1.*longer than'
	ask_forged stripe --exclusive
	like "the policy holds for a forged client" "$rc $err" '^1.*--exclusive'
	ask_forged ' not:b ,not:a;'
	like "a separator from a forged client is refused" "$rc $err" '^1.*%3B'
	ask_forged ' not:b ,not:a'
	like "a forged client's text becomes canonical" "$(mark "$out")" '^colocate: not:a,not:b( |$)'
	is "and its job gets a whole lane" "$(job_field "$out" MinCPUsNode)" 8
else
	skip "$NO_FORGER" "what a forged client can do"
fi

# Changes of a pending job.
request --colocate -n4
for update in NumTasks=64 NumCPUs=64 MinCPUsNode=9 MinMemoryNode=8001 MinMemoryNode=0 NumNodes=5; do
	try scontrol update job="$job" $update
	ok "scontrol update $update is refused" test $rc != 0
done
nok "scontrol update OverSubscribe=NO is refused to the administrator, too" scontrol update job="$job" OverSubscribe=NO
try scontrol update job="$job" MinCPUsNode=1
is "fewer CPUs a node still mean a whole lane" "$rc:$(job_field "$job" MinCPUsNode)" 0:8
try scontrol update job="$job" name=renamed
is "other changes pass" $rc 0

# Bad settings: said once, and the last good ones stay in force.
on_exit ctl reconfigure --reset
log=$(ctl log slurmctld)
lines=$(grep -c 'job_submit/colocate: PrEpParameters: stripe_lanes' "$log")
ctl reconfigure stripe_lanes=99
accepted "a job under bad settings" --colocate
accepted "a second one" --colocate
is "the last good lanes are in force" "$(job_field "$job" MinCPUsNode)" 8
is "slurmctld's log says so once" "$(($(grep -c 'job_submit/colocate: PrEpParameters: stripe_lanes' "$log") - lines))" 1
ctl reconfigure --reset

# One partition to try it on.
ctl reconfigure stripe_partition=fake
accepted "a job in the partition that is open" --colocate
try sbatch "$LATER" -p real --colocate --wrap true
like "one in another is refused with its reason" "$rc $err" '^1 .*partition real is not for co-located jobs: choose one of fake'
try sbatch "$LATER" -p fake,real --colocate --wrap true
like "one that could go to another, too" "$rc $err" '^1 .*partition real is not for'
try sbatch --parsable "$LATER" -p real --wrap true
is "others are accepted there" "$rc" 0
keep "$out"
request --colocate
try scontrol update job="$job" partition=real
ok "nor can a job move there" test $rc != 0
ctl reconfigure --reset

# A restart of slurmctld.
request --colocate=class:kept -n4
# One that ends while it asks slurmdbd for the job's number leaves the job without one for long.
known() { [ -n "$(sacct -nX -j "$job" -o JobID)" ]; }
wait_until 30 known
ctl restart slurmctld
like "the option survives a restart of slurmctld" "$(mark "$job")" '^colocate: class:kept'
# A slurmctld that has just started asks slurmdbd for the job's number, and changes nothing of the job until it has it.
start_now() { scontrol update job="$job" StartTime=now; }
wait_until 30 start_now
wait_end "$job"
is "and the job runs on a whole lane" "$(job_field "$job" JobState):$(job_field "$job" NumCPUs)" COMPLETED:8

# Without the select wrapper the option is refused, and nothing else changes.
wrapper=$POPPA_SANDBOX/usr/lib/poppa/slurm/select_cons_tres.so
if [ -e "$wrapper" ]; then
	put_back() {
		[ ! -e "$wrapper.away" ] || mv "$wrapper.away" "$wrapper"
		ctl restart slurmctld
	}
	on_exit put_back
	mv "$wrapper" "$wrapper.away"
	ctl restart slurmctld
	refused "a job where striping is not active" 'striping is not active' --colocate
	request -n4
	is "other jobs are accepted there" "$rc:$(mark "$job")" 0:
	put_back
	accepted "a job when striping is back" --colocate
else
	skip "$wrapper is not there: the select wrapper is not built" "a cluster without striping"
fi

# A SPANK plugin that cannot be loaded, with the line that the suite offers.
stack=$POPPA_SANDBOX/etc/plugstack.conf
plugin=$POPPA_SANDBOX/usr/lib/poppa/slurm/spank_colocate.so
cp "$stack" "$tmp/stack.before"
on_exit cp "$tmp/stack.before" "$stack"

# of_another_release FILE: is what its symbol plugin_version says; no release has the number 0.
of_another_release() {
	local at
	at=$(nm -D "$1" | awk '$3 == "plugin_version" { print $1 }')
	at=$(readelf -lW "$1" | perl -ne 'my $a = hex "'"$at"'";
		/^ *LOAD +(0x\w+) +(0x\w+) +0x\w+ +(0x\w+)/ && $a >= hex($2) && $a < hex($2) + hex($3) && print $a - hex($2) + hex($1)')
	[ -n "$at" ] && printf '\0\0\0\0' | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}

# jobs_go_on NAME DIR: with the plugin of that directory.
jobs_go_on() {
	grep -v '^#' "$tree/etc/plugstack.conf.example" | sed "s#/usr/lib/poppa/slurm#$2#" >"$stack"
	try srun -p real -n1 --input=none echo ran
	is "$1: jobs run" "$rc $out" "0 ran"
	is "$1: and their users read what it is" "$(grep -c 'error: spank: .*/spank_colocate\.so' <<<"$err")" 1
	try sbatch --colocate -p real --wrap true
	like "$1: with the option, none is submitted" "$rc $err" "^(1|255) .*unrecognized option '--colocate'"
}
mkdir -m 755 "$tmp"/{none,other}
install -m 755 "$plugin" "$tmp/other"
jobs_go_on "a SPANK plugin that is missing" "$tmp/none"
ok "there is one of another release" of_another_release "$tmp/other/spank_colocate.so"
jobs_go_on "a SPANK plugin of another release" "$tmp/other"
cp "$tmp/stack.before" "$stack"
accepted "a job when the plugin is back" --colocate

# --- What the form of contrib/ondemand offers is accepted.
mapfile -t choices < <(sed -n 's/^ *- \["[^"]*", "\(..*\)"\]$/\1/p' "$tree/contrib/ondemand/form.yml")
is "the form of contrib/ondemand has choices" "$([ "${#choices[@]}" -ge 2 ] && echo yes)" yes
for choice in "${choices[@]}"; do
	request --colocate="$choice"
	is "its choice $choice is accepted" "$rc $(mark "$job")" "0 colocate: $choice"
done
done_testing
