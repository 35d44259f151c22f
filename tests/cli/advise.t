#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa advise: what it says of jobs before they are submitted, with programs that stand in for Slurm's.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}"
needs jq

export TZ=UTC
unset SBATCH_JOB_NAME SBATCH_PARTITION SBATCH_QOS
me=$(id -un)
mkdir "$TAP_DIR/bin" "$TAP_DIR/dir"
cd "$TAP_DIR" || exit 1
PATH=$TAP_DIR/bin:$PATH

# What Slurm's programs answer is in files; each notes the words that it was called with.
cat >bin/sacct <<'END'
#!/bin/sh
dir=$(dirname "$0")/..
printf '%s\n' "$@" >"$dir/sacct.words"
for word; do case $word in --delimiter=*) between=${word#*=} ;; esac; done
sed "s/|/$between/g" "$dir/rows"
END
cat >bin/scontrol <<'END'
#!/bin/sh
dir=$(dirname "$0")/..
for last; do :; done
cat "$dir/$last"
END
# The start with --colocate, and without it.
cat >bin/sbatch <<'END'
#!/bin/sh
dir=$(dirname "$0")/..
printf '<%s>' "$@" >>"$dir/sbatch.words"
echo >>"$dir/sbatch.words"
with=plain
for word; do case $word in --colocate*) with=colocated ;; esac; done
[ "$1" = --test-only ] || exit 3
cat "$dir/$with.says" >&2
exit "$(cat "$dir/$with.rc" 2>/dev/null || echo 0)"
END
chmod +x bin/*

header="JobIDRaw|JobID|Cluster|User|Account|Partition|QOS|State|Submit|Start|End|ElapsedRaw|AllocTRES|ConsumedEnergyRaw|SystemComment|JobName"
# row ID NAME SECONDS COMMENT [USER [NODES]]: a run that ended on 2026-09-21 or soon after it.
row() {
	local start=$((1790000000 + $1 * 1000))
	echo "$1|$1|c1|${5:-$me}|phys|std|normal|COMPLETED|$start|$start|$((start + $3))|$3|billing=1000,cpu=8,mem=16G,node=${6:-2}|0|$4|$2"
}
# facts D LO HI PARTNERS [CO DCO]: the comment of a run with that degradation.
facts() {
	echo "colocate: stripe; poppa: d=$1 ci=$2..$3 co=${5:-1.00} dco=${6:-$1} stopped=0.0000 partners=$4 raw=1000 charged=700 policy=thesis backend=perf"
}
# rows ROW...: what sacct knows.
rows() {
	printf '%s\n' "$header" "$@" >rows
}
three=("$(row 1 lmp-17 1000 "$(facts 0.1000 0.090 0.110 90)")" "$(row 2 lmp-18 1000 "$(facts 0.1200 0.110 0.130 91)")"
	"$(row 3 lmp-19 1000 "$(facts 0.1100 0.100 0.120 92)")")
cat >config <<'END'
Configuration data as of now
PrEpParameters          = poppa_price=thesis,poppa_price_partition=debug:none,poppa_price_qos=low:solo
PrEpPlugins             = prep/script,prep/poppa
END
cp config good.config
echo "PartitionName=std AllowGroups=ALL Default=YES Nodes=n[1-4]
PartitionName=debug AllowGroups=ALL Default=NO Nodes=n[1-4]" >partition
printf '#!/bin/sh\n#SBATCH -J lmp-20 # of the series\n#SBATCH -N 2\nsrun ./lmp\n#SBATCH -J late\n' >job.sh
printf '#!/bin/sh\nsrun ./lmp\n' >bare.sh
says() {
	echo "sbatch: Job 12 to start at $1 using 8 processors on nodes n1 in partition std"
}
later=$(($(date +%s) + 7200))
says "$(date +%s)" >colocated.says
{
	echo "sbatch: The site says: Job hunters to start at noon"
	says $later
} >plain.says
# advise NAME ARG...: its text in one line, and silence on standard error.
advise() {
	local name=$1
	shift
	rm -f sbatch.words
	runs "$name" 0 "$POPPA" advise "$@"
	OUT=$(tr '\n' ' ' <<<"$OUT" | tr -s ' ')
	is "$name: silent on stderr" "$ERR" ""
}
# class NAME WORDS...: the class that is looked for.
class() {
	local expected=$1 name="class of ${*:2}"
	shift
	advise "$name" "$@"
	like "$name: $expected" "$OUT" "^class $expected, "
}
# json QUERY WORDS...: a member of the answer.
json() {
	local query=$1
	shift
	"$POPPA" advise --json "$@" 2>&1 | jq -c "$query"
}

# --- A class of which enough is known.
rows "${three[@]}"
advise "a known class" job.sh
like "the class, and where it comes from" "$OUT" "^class lmp-#, by the name in its script "
like "the evidence" "$OUT" "evidence 3 co-located runs of yours in 90 days, 50 min beside 3 different jobs, the last on 2026-09-21 "
# The mean is 0.11, and 4.3027 times 0.01 / sqrt(3) to each side.
like "the loss, with Student's interval" "$OUT" "loss 11\.0 % of its progress while it is beside others \(8\.5 to 13\.5 with 95 % confidence\)"
like "the price for each second" "$OUT" "price policy thesis: 0\.792 of what Slurm counts \(0\.74[0-9] to 0\.83[0-9] with"
like "the price of the work" "$OUT" "0\.890 of what the same work costs alone on its lanes \("
like "no plain run" "$OUT" "no plain runs of it can be compared"
like "the starts" "$OUT" "start co-located: at once plain: $(date -d @$later '+%F %T') "
like "one sentence of advice" "$OUT" "advice co-locate it: for the same work it is expected to be charged 11 % less than alone on its lanes .*, beside others to take 1\.12 times as long as alone, and it starts 2\.0 h earlier $"
is "sbatch was asked twice, with --test-only first" "$(cat sbatch.words)" $'<--test-only><--colocate><job.sh>\n<--test-only><job.sh>'
like "sacct was asked for one's own runs only" "$(cat sacct.words)" "--user=$me"
is "JSON: the evidence" "$(json '[.class, .named, .verdict, (.evidence | .runs, .beside_s, .co_runners, .more_co_runners, .last, .days)]' job.sh)" \
	'["lmp-#",false,"colocate",3,3000,3,false,1790004000,90]'
is "JSON: the loss" "$(json '.loss | [.runs, (.mean, .lo, .hi) * 1000 | round]' job.sh)" "[3,110,85,135]"
is "JSON: price and starts" "$(json '[.price.policy, .price.unknown, .price.plain.mean, .start.plain.at, .start.plain.unknown, (.start.colocated.at > 0)]' job.sh)" \
	"[\"thesis\",null,null,$later,null,true]"

# --- How sbatch names a job.
is "the class of bare.sh: not that of the script's argument" "$(json .class bare.sh -J lmp)" '"bare.sh"'
class "x" -J x job.sh
class "x" -N 2 -Jx job.sh
class "x" -HJ x job.sh
class "x" -N2 --job-name=x -p std job.sh
class "x" --job-name x job.sh
class "x" --job-n x job.sh
class "lmp-#" --mail-user job.sh job.sh
class "lmp-#" --of-a-plugin job.sh
class "lmp-#" --of-a-plugin value job.sh
class "lmp-#" --exclusive --nice -k job.sh
class "lmp-#" -- job.sh
class "y" --class y -J x job.sh
class "y" --class=y -- -J x job.sh
SBATCH_JOB_NAME=env-3 class "env-#" job.sh
SBATCH_JOB_NAME=env-3 class "x" -J x job.sh
class "wrap" --wrap "srun ./lmp"
cp bare.sh dir/run-7.sh
class "run-#.sh" dir/run-7.sh
printf '#!/bin/sh\n\n # a comment\n#SBATCH --nodes=2 --job-name="two words"\n#SBATCH --comment "a # b" -J '"'it''s'"' # c -J d\n' >quoted.sh
class "its" quoted.sh
printf '#!/bin/sh\n#SBATCH --job-name "two \\"words\\""' >quoted.sh
class 'two "words"' quoted.sh
printf '#SBATCH -J' >quoted.sh
class "quoted.sh" quoted.sh

# --- A class that --colocate names.
rows "${three[@]}" "$(row 4 other 1000 "$(facts 0.3000 0.290 0.310 93 | sed 's/stripe;/stripe,class:weather;/')")"
is "class: of --colocate" "$(json '[.class, .named, .loss.mean]' --colocate=class:weather job.sh)" '["weather",true,0.3]'
is "--class: the class of that name" "$(json '[.class, .named, .loss.mean]' --class weather job.sh)" '["weather",true,0.3]'
is "--class: or else jobs of that name" "$(json '[.class, .named, .loss.runs]' --class lmp-1 bare.sh)" '["lmp-#",false,3]'
rm -f sbatch.words
"$POPPA" advise --colocate=class:weather -N 2 job.sh >/dev/null
is "the plain job is asked for without the user's own --colocate" "$(cat sbatch.words)" $'<--test-only><--colocate=class:weather><-N><2><job.sh>\n<--test-only><-N><2><job.sh>'
printf '#!/bin/sh\n#SBATCH --colocate=class:weather\n' >colocated.sh
is "class: in the script" "$(json '[.class, .named, .start.plain.unknown, .start.plain.at]' colocated.sh)" '["weather",true,"the script itself asks for --colocate",null]'

# --- Little is known, or nothing.
rows "${three[@]}"
advise "an unknown class" -J unheard job.sh
like "an unknown class: evidence" "$OUT" " evidence none loss not known "
like "an unknown class: names poppa trial" "$OUT" 'advice no co-located run of yours is known under the class unheard: run `poppa trial -- ./a -- ./b` to see what sharing costs $'
is "an unknown class: JSON" "$(json '[.verdict, .evidence.runs, .evidence.last, .loss.mean, .loss.lo, .price.policy, .price.rate.mean]' -J unheard job.sh)" \
	'["unknown",0,null,null,null,"thesis",null]'
rows "$header"
sed -i 1d rows
is "no rows at all" "$(json .verdict job.sh)" '"unknown"'
rows "$(row 1 lmp-17 1000 "$(facts 0.1000 0.090 0.110 90)" somebody)" "$(row 2 lmp-18 1000 "")"
is "others' runs and plain runs tell nothing" "$(json '[.verdict, .evidence.runs]' job.sh)" '["unknown",0]'
rows "${three[0]}"
advise "one run" job.sh
like "one run: no interval" "$OUT" "loss 10\.0 % of its progress while it is beside others \(how certain is not known\)"
like "one run: no certain advice" "$OUT" "advice this is not certain, because one run does not show how much runs differ: .*poppa trial"
is "one run: JSON" "$(json '[.verdict, .loss.mean, .loss.lo, .loss.hi, .price.rate.lo]' job.sh)" '["uncertain",0.1,null,null,null]'
rows "$(row 1 lmp 1000 "colocate: stripe; poppa: nodata=no-record raw=1000 charged=1000 policy=thesis")" "$(row 2 lmp 1000 "colocate: stripe")" \
	"$(row 3 lmp 1000 "colocate: stripe; poppa: d=0.0000 co=0.00 stopped=0.0000 raw=1000 charged=1000 policy=thesis")" \
	"$(row 4 lmp 1000 "$(facts 0.1000 0.090 0.110 90) partial=1/2")" "$(row 5 lmp 1000 "$(facts 0.1000 0.090 0.110 90) spin=suspected")"
advise "no run with data" -J lmp job.sh
like "no run with data: says why" "$OUT" "advice what co-located runs of yours under the class lmp lost is not known \(1 without data, 2 not measured whole, 1 beside nobody, 1 without a price yet\): run .poppa trial"
is "no run with data: JSON" "$(json '.evidence | [.runs, .no_data, .doubtful, .alone, .unsettled]' -J lmp job.sh)" "[0,1,2,1,1]"

# --- What does not carry advice.
doubt() {
	advise "$1" job.sh
	like "$1: not certain" "$OUT" "advice this is not certain, because $2: co-locate it once more, or run"
}
rows "$(row 1 lmp-1 1000 "$(facts 0.0500 0.040 0.060 90)")" "$(row 2 lmp-2 1000 "$(facts 0.4500 0.440 0.460 91)")"
doubt "runs that differ much" "your runs differ too much to tell what the next one loses"
rows "$(row 1 lmp-1 900 "$(facts 0.1100 0.100 0.120 90)")" "$(row 2 lmp-2 2 "$(facts 0.1200 0.110 0.130 91)")"
doubt "one long run" "one run is nearly all of the evidence"
rows "${three[@]/partners=9[0-9]/partners=90}"
doubt "one co-runner" "all of your runs were beside one and the same job, and another may cost more or less"
rows "${three[@]}"
sed -i 's#prep/script,prep/poppa#prep/script#' config
doubt "a cluster without prices" "this cluster does not price co-located jobs: PrEpPlugins has no prep/poppa"
sed 's/thesis/thesys/' good.config >config
doubt "a policy that is none" "PrEpParameters: .*thesys.*"
printf '#!/bin/sh\necho "slurm_load_ctl_conf error: Unable to contact" >&2\nexit 1\n' >bin/scontrol.down
mv bin/scontrol bin/scontrol.up
cp bin/scontrol.down bin/scontrol
chmod +x bin/scontrol
doubt "no slurmctld" "slurmctld does not answer scontrol: .*"
mv bin/scontrol.up bin/scontrol
cp good.config config

# --- Whose policy, and what follows from it.
is "a partition's policy" "$(json '[.price.policy, .verdict, (.price.work.mean * 100 | round)]' -p debug job.sh)" '["none","do-not",112]'
is "a QOS' policy" "$(json '[.price.policy, (.price.work.mean * 1000 | round)]' --qos=low -p debug job.sh)" '["solo",1000]'
is "partitions with different policies" "$(json '.price.unknown' -p debug,std job.sh)" '"the partitions have different policies: name one"'
SBATCH_PARTITION=debug
export SBATCH_PARTITION
is "a partition of the environment" "$(json .price.policy job.sh)" '"none"'
unset SBATCH_PARTITION
sed -i 's/|normal|/|low|/' rows
is "the QOS of the last run" "$(json .price.policy job.sh)" '"solo"'
advise "the same price" job.sh
like "the same price: an earlier start decides" "$OUT" "advice co-locate it: for the same work it is expected to be charged the same as alone"
says $later >colocated.says
echo nothing >colocated.says
doubt "the same price, and no start" "it is charged the same for the same work, and when it starts is not known"
says $later >colocated.says
advise "the same price and start" job.sh
like "the same price and start: not worth it" "$OUT" "advice do not co-locate it: .* and it starts no earlier $"
sed -i 's/|low|/|normal|/' rows

# --- Against plain runs of the same work: 1,100 s on whole nodes, 1,000 s beside others.
rows "${three[@]}" "$(row 4 lmp-1 1100 "" "$me" 1)" "$(row 5 lmp-1 1100 "" "$me" 1)"
is "plain runs" "$(json '.price.plain | [.runs, (.mean * 1000 | round)]' job.sh)" "[3,720]"
advise "plain runs" job.sh
like "plain runs: the advice goes by them" "$OUT" "0\.720 of what it costs as a plain job, by 3 of these runs .*advice co-locate it: .* charged 28 % less than your plain runs"

# --- sbatch fails, says nothing, says it in the standard form, or does not end.
echo "sbatch: error: allocation failure: Requested node configuration is not available" >colocated.says
echo 1 >colocated.rc
advise "sbatch fails" job.sh
like "sbatch fails: says what it said" "$OUT" "co-located: sbatch cannot tell: allocation failure: Requested node configuration is not available plain: 20"
like "sbatch fails: the advice says so" "$OUT" "and when it starts is not known $"
is "sbatch fails: JSON" "$(json '.start.colocated | [.at, .unknown]' job.sh)" '[null,"allocation failure: Requested node configuration is not available"]'
rm colocated.rc
printf 'sbatch: \033[31mJob 1 to start\n' >colocated.says
is "sbatch names no start" "$(json .start.colocated.unknown job.sh)" '"sbatch --test-only names no start"'
says 2037-01-02T03:04:05 >colocated.says
like "the standard form of times" "$("$POPPA" advise job.sh)" "co-located: 2037-01-02 03:04:05"
says whenever >colocated.says
is "no time" "$(json .start.colocated.at job.sh)" null
mkdir few
for p in sh sed cat dirname; do ln -s "$(command -v $p)" few/; done
cp bin/s[ac]* few/
is "no sbatch" "$(PATH=$TAP_DIR/few "$POPPA" advise --json job.sh | jq -c '.start[].unknown')" $'"sbatch is not in PATH"\n"sbatch is not in PATH"'

# --- Names that would steer a terminal, and rows that are none.
hostile=$'lmp\033[31m\r-1'
rows "$(row 1 "$hostile" 1000 "$(facts 0.1000 0.090 0.110 90)")" "$(row 2 "$hostile" 1000 "$(facts 0.1100 0.100 0.120 91)")" "broken|row"
runs "a hostile name" 0 "$POPPA" advise -J "$hostile" job.sh
unlike "a hostile name: no control character" "$OUT$ERR" $'[\001-\010\013-\037]'
like "a hostile name: its runs are found" "$OUT" "2 co-located runs of yours"
like "rows that are none are told of" "$ERR" "^poppa advise: 1 row of sacct is left out: line 4"
runs "a hostile script" 1 "$POPPA" advise $'no\033[31m.sh'
is "a hostile script: no control character" "$ERR" "poppa advise: the script cannot be read: cannot open no?[31m.sh: No such file or directory"
runs "a script that is a folder" 1 "$POPPA" advise dir
like "a script that is a folder: says so" "$ERR" "the script cannot be read: dir: Is a directory"

# --- Wrong use.
wrong() {
	local expected=$1
	shift
	runs "wrong: $*" 2 "$POPPA" advise "$@"
	is "wrong: $*: one clear line" "$ERR" "poppa advise: $expected"
}
wrong "which script? Name it behind the options, as for sbatch"
wrong "which script? Name it behind the options, as for sbatch" -N 2
wrong "which script? Name it behind the options, as for sbatch" --nonsense
wrong "which script? Name it behind the options, as for sbatch" -J
wrong "--class: the name is empty" --class= job.sh
wrong "--json stands behind an option of sbatch: it comes first" -N 2 --json job.sh
wrong "--class stands behind an option of sbatch: it comes first" -N 2 --class=x job.sh
wrong 'the job has several parts (":"): advice is on jobs of one part' -N 1 : -N 2 job.sh
runs "--class without a name" 2 "$POPPA" advise --class
like "--class without a name: says so" "$ERR" "option '--class' requires an argument"
printf '#!/bin/sh\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\n' >parts.sh
runs "a script of several parts" 1 "$POPPA" advise parts.sh
like "a script of several parts: says so" "$ERR" "the script has several parts \(hetjob\)"
printf '#!/bin/sh\necho "sacct: error: Problem talking to the database" >&2\nexit 1\n' >bin/sacct
runs "sacct fails" 1 "$POPPA" advise job.sh
is "sacct fails: says so" "$ERR" "poppa advise: sacct: error: Problem talking to the database"
done_testing
