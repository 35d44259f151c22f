#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs that the site co-locates without their asking, and jobs of slurmrestd, which has no option --colocate.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/clients.sh
. "$(dirname "$0")/clients.sh"

tmp=$(mktemp -d)
chmod 777 "$tmp"
on_exit rm -rf "$tmp"

# request OPTION...: a job that does not begin yet; sets $job as well.
request() {
	try sbatch --parsable "$LATER" "$@" --wrap true
	job=
	[ $rc != 0 ] || { job=$out && jobs_submitted+=("$job"); }
}

# opted_in NAME OPTION..., and stays_plain NAME OPTION...: submitted in silence, and what the job is then.
opted_in() {
	local name=$1
	shift
	request "$@"
	is "$name: its user is told nothing" "$rc:$err" 0:
	like "$name is co-located by the site" "$(mark "$job")" '^colocate: stripe by-site( |$)'
}
stays_plain() {
	local name=$1
	shift
	request "$@"
	is "$name: its user is told nothing" "$rc:$err" 0:
	is "$name is a plain job" "$(mark "$job")" ""
}

on_exit ctl reconfigure --reset
as_user srun -Q -p fake -N4 true || bail_out "the fake nodes run no job"

# --- without a default ---
stays_plain "a job where the site has no default" -p fake
stays_plain "a job that says no where the site has no default" -p fake --colocate=no
request -p fake --colocate=no,spread
like "no and another key are refused" "$rc $err" '^1 .*--colocate: no and spread exclude each other'
try sbatch --colocate=help
like "--colocate=help has it" "$out" '  no  +not co-located'

# --- partitions ---
ctl reconfigure stripe_default=fake
opted_in "a job in a default partition" -p fake
is "it has a whole lane of each node" "$(job_field "$job" MinCPUsNode)" 8
like "poppa why says so" "$(poppa why "$job")" 'did not ask for --colocate: the site co-locates'
is "in JSON, too" "$(poppa why --json "$job" | jq .by_site)" true
stays_plain "a job in another partition" -p real
stays_plain "a job in the default partition that says no" -p fake --colocate=no
is "it asks for no lane" "$(job_field "$job" MinCPUsNode)" 1
like "poppa why says nothing of the site" "$(poppa why "$job" | grep -c 'the site')" '^0$'
request -p fake --colocate=class:mine
like "a job that asks for something has that" "$(mark "$job")" '^colocate: class:mine( |$)'
unlike "and it was not the site's wish" "$(mark "$job")" by-site
for option in --exclusive --exclusive=user --mem=0 --oversubscribe -O -n33 --mem=8001; do
	stays_plain "a job with $option, which no lane can hold," -p fake $option
done
stays_plain "a job that may go to another partition, too," -p fake,real
ctl reconfigure stripe_default=real:fake
opted_in "a job that may go to two default partitions" -p fake,real -n1
opted_in "a job that names no partition" -n1
ctl reconfigure stripe_default=fake,stripe_partition=real
stays_plain "a job in a default partition that is not open to co-located jobs" -p fake
ctl reconfigure --reset
ctl reconfigure stripe_default=fake
opted_in "an array" -p fake --array=1-2
try sbatch --parsable "$LATER" -p fake : -p real -n1 : -p fake --colocate=no : -p fake --colocate=spread --wrap true
is "a heterogeneous job: its user is told nothing" "$rc:$err" 0:
het=$out
jobs_submitted+=("$het")
like "its first component is co-located by the site" "$(mark "$het+0")" '^colocate: stripe by-site'
is "the one in another partition is not" "$(mark "$het+1")" ""
is "the one that says no is not" "$(mark "$het+2")" ""
like "the one that asks has what it asks for" "$(mark "$het+3")" '^colocate: spread( |$)'

# --- QOS ---
qos=poppa-test-21
sacctmgr -i add qos "$qos" >/dev/null
on_exit sacctmgr -i delete qos "$qos"
knows_qos() { as_user sbatch --test-only -p real -n1 --qos="$qos" --wrap true >/dev/null 2>&1; }
ok "slurmctld learns of a new QOS" wait_until 30 knows_qos
ctl reconfigure "stripe_default=qos:$qos"
opted_in "a job with that QOS" -p fake --qos="$qos"
stays_plain "a job with another one" -p fake --qos=normal
stays_plain "a job without one" -p fake
like "poppa doctor names it" "$(poppa doctor 2>&1)" "OK +stripe_default +jobs of qos:$qos are co-located"
ctl reconfigure "stripe_default=nowhere:qos:normal"
opted_in "a job whose default QOS it is" -p fake
like "poppa doctor warns of a partition that does not exist" "$(poppa doctor 2>&1)" 'WARN +stripe_default +there is no partition nowhere'
log=$(ctl log slurmctld)
lines=$(grep -c 'job_submit/colocate: PrEpParameters: stripe_default=fake:: a name is missing' "$log")
ctl reconfigure stripe_default=fake:
opted_in "a job under a bad list, while the last good one is in force" -p fake
is "slurmctld's log says so once" \
	"$(($(grep -c 'job_submit/colocate: PrEpParameters: stripe_default=fake:: a name is missing' "$log") - lines))" 1

# --- tasks know it ---
ctl reconfigure stripe_default=fake
try srun -Q -p fake -n1 printenv SLURM_SPANK_COLOCATE
is "a task of srun has the mark" "$rc:$out:$err" "0:stripe:"
try salloc -Q -p fake srun -n1 printenv SLURM_SPANK_COLOCATE
is "so has a step within salloc" "$rc:$out:$err" "0:stripe:"
try salloc -Q -p fake srun --colocate -n1 echo step
is "such a step may say that it is co-located" "$rc:$out:$err" "0:step:"
try salloc -Q -p fake srun --colocate=no -n1 true
like "it cannot change that" "$rc $err" '^1 .*is co-located, and a step cannot change that: give --colocate=no to the sbatch'
# shellcheck disable=SC2016
script='echo "batch $SLURM_SPANK_COLOCATE"; srun sh -c "echo step \$SLURM_SPANK_COLOCATE"; srun --colocate echo again'
for wish in "" --colocate=no; do
	# shellcheck disable=SC2086
	try sbatch --parsable -W -p fake -n1 -o "$(home_of poppa-demo)/marks.out" $wish --wrap "${script%%; srun --colocate*}$([ -n "$wish" ] || echo "; srun --colocate echo again")"
	is "a batch script and its step${wish:+ with $wish}" "$(cat "$(home_of poppa-demo)/marks.out")" \
		"$([ -n "$wish" ] && printf 'batch \nstep' || printf 'batch stripe\nstep stripe\nagain')"
done
try srun -Q -p fake --colocate=no -n1 sh -c 'echo "none: $SLURM_SPANK_COLOCATE"'
is "nor has a task of srun --colocate=no" "$out" "none: "
try salloc -Q -p fake --colocate=no sh -c 'srun -n1 sh -c "echo none: \$SLURM_SPANK_COLOCATE"; srun --colocate true'
like "nor a step within salloc --colocate=no" "$out" '^none: *$'
like "which knows that its job is not co-located" "$err" 'is not co-located, and a step cannot change that'
try salloc -Q -p fake sh -c "sbatch --parsable $LATER -p fake --wrap true; sbatch --parsable $LATER -p real -n1 --wrap true"
read -r -d '' one two <<<"$out"
jobs_submitted+=("$one" "$two")
like "a job that is submitted from within is looked at by itself" "$(mark "$one"):$(mark "$two")" '^colocate: stripe by-site[^:]*:$'

# --- it stays what it was ---
opted_in "a job" -p fake -n1
kept=$job
request -p real -n1
plain=$job
ctl reconfigure --reset
as_user scontrol update job="$kept" partition=real
like "it stays so in another partition" "$(mark "$kept"):$(job_field "$kept" Partition)" '^colocate: stripe by-site.*:real$'
as_user scontrol update job="$plain" partition=fake
is "a plain job stays plain in a default partition" "$(mark "$plain"):$(job_field "$plain" Partition)" ":fake"
ctl reconfigure stripe_default=fake
request -p fake -n8
try scontrol update job="$job" partition=real
ok "a job does not move where its lanes are too small" test $rc != 0
like "and stays where it was" "$(mark "$job"):$(job_field "$job" Partition)" '^colocate: stripe by-site.*:fake$'
opted_in "a job that is requeued" -p fake -n1 --requeue
again=$job
ctl restart slurmctld
like "it is so after a restart of slurmctld" "$(mark "$again")" '^colocate: stripe by-site( |$)'
start_now() { scontrol update job="$1" StartTime=now; }
as_user sbatch --parsable -p fake -n1 -t 5 --requeue -o /dev/null --wrap 'sleep 300' >"$tmp/id"
run=$(cat "$tmp/id")
jobs_submitted+=("$run")
wait_running "$run"
like "while it runs its lane is shown behind the word" "$(mark "$run")" '^colocate: stripe by-site lane=[01]'
sleep 2
scontrol requeue "$run"
run_again "$run"
wait_running "$run" 60
like "after a requeue it is still co-located by the site" "$(mark "$run")" '^colocate: stripe by-site lane=[01]'
ctl reconfigure stripe_default=fake,poppa_settle_timeout=1s
wait_until 30 start_now "$again"
wait_end "$again"
priced() { sacct_field "$again" SystemComment | grep -q 'poppa: '; }
ok "it has a price" wait_until 90 priced
like "sacct shows by whose wish it was co-located" "$(sacct_field "$again" SystemComment)" '^colocate: stripe by-site '
like "poppa why says it of a job that has ended" "$(poppa why "$again")" 'did not ask for --colocate: the site co-locates'

if has_forger; then
	forged FORGED_COLOCATE=spread FORGED_BY=by-site sbatch --parsable "$LATER" -p fake --wrap true
	jobs_submitted+=(${out:+"$out"})
	like "no client can say that the site wanted it" "$(mark "$out")" '^colocate: spread( |$)'
	unlike "nor does it show" "$(mark "$out")" by-site
else
	skip "$NO_FORGER" "what a forged client can say of the site"
fi

# --- slurmrestd ---
rest() { # rest PATH [CURL-OPTION]...: what slurmrestd answers
	curl -s -m 30 --unix-socket "$tmp/rest.sock" "http://localhost$1" "${@:2}"
}
rest_job() { # rest_job SPANK_ENVIRONMENT [PARTITION]: submits a job for later; sets $job, and $out and $err to what is answered
	local environment='{"PATH":"/usr/bin:/bin"}' begin='"now+1hour"'
	if [ "${api#v0.0.}" -ge 39 ]; then
		environment='["PATH=/usr/bin:/bin"]'
		begin='{"set":true,"number":'$(($(date +%s) + 3600))'}'
	fi
	out=$(jq -n --argjson environment "$environment" --argjson begin "$begin" --argjson spank "$1" \
		--arg partition "${2:-fake}" --arg home "$(home_of poppa-demo)" '{script: "#!/bin/sh\ntrue\n", job: ({
			name: "rest", partition: $partition, environment: $environment, begin_time: $begin,
			current_working_directory: $home} + (if $spank == null then {} else {spank_environment: $spank} end))}' |
		rest "/slurm/$api/job/submit" -X POST -H 'Content-Type: application/json' --data @-)
	job=$(jq -r '.job_id // empty | if . == 0 then empty else . end' <<<"$out")
	[ -z "$job" ] || jobs_submitted+=("$job")
}
if ! command -v slurmrestd >/dev/null || ! command -v curl >/dev/null; then
	skip "slurmrestd or curl is not installed" "jobs of slurmrestd"
	done_testing
	exit
fi
# Not by as_user: what is killed at the end must be slurmrestd itself.
"$tree/contrib/sandbox/env" -u poppa-demo env -u SLURM_JWT slurmrestd -a rest_auth/local -f "$SLURM_CONF" "unix:$tmp/rest.sock" >"$tmp/rest.log" 2>&1 </dev/null &
restd=$!
on_exit kill "$restd"
answers() { rest /openapi/v3 >"$tmp/openapi" && jq -e .paths "$tmp/openapi" >/dev/null; }
ok "slurmrestd answers" wait_until 30 answers || diag "$(tail -n 5 "$tmp/rest.log")"
api=$(jq -r '.paths | keys[]' "$tmp/openapi" | sed -n 's|^/slurm/\(v0\.0\.[0-9]*\)/job/submit/*$|\1|p' | sort -V | tail -n 1)
diag "slurmrestd has $api"
rest_job null
like "its job in a default partition is co-located by the site" "$(mark "$job")" '^colocate: stripe by-site( |$)' ||
	diag "$out"
is "with a whole lane" "$(job_field "$job" MinCPUsNode)" 8
rest_job null real
is "its job in another one is plain" "$(job_field "$job" JobName):$(mark "$job")" "rest:"
if grep -q '"spank_environment"' "$tmp/openapi"; then
	rest_job '["COLOCATE=stripe"]' real
	like "spank_environment asks for it" "$(mark "$job")" '^colocate: stripe( |$)' || diag "$out"
	unlike "that was not the site's wish" "$(mark "$job")" by-site
	rest_job '["COLOCATE=max-degradation:20,not:b job"]'
	like "its value becomes canonical" "$(mark "$job")" '^colocate: not:b%20job,max-degradation:20( |$)' || diag "$out"
	rest_job '["COLOCATE=no"]'
	is "it opts out" "$(job_field "$job" JobName):$(mark "$job")" "rest:"
	for bad in '["COLOCATE=sprad"]:unknown key' '["COLOCATE=stripe","COLOCATE=spread"]:COLOCATE twice' \
		'["COLOCATE=no,spread"]:exclude each other' '["COLOCATE=help"]:nothing to submit'; do
		# slurmrestd answers with Slurm's error, and writes what the plugin says to its own log.
		before=$(wc -l <"$tmp/rest.log")
		rest_job "${bad%:*}"
		is "${bad%:*} submits nothing" "$job" ""
		is "and its client is told that it was refused" "$(jq -r '.errors[0].error' <<<"$out")" "Requested node configuration is not available"
		like "and slurmrestd's log why" "$(tail -n "+$((before + 1))" "$tmp/rest.log")" "--colocate: .*${bad##*:}"
	done
else
	skip "slurmrestd of $(slurmctld -V) has no field spank_environment" "what a job of slurmrestd asks for"
fi
done_testing
