#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Lanes and partners on nodes of many shapes that exist only in slurm.conf: what jobs get, read from slurmctld.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/schedulers.sh
. "$(dirname "$0")/schedulers.sh"

command -v jq >/dev/null || bail_out "jq is missing: contrib/sandbox/install-deps installs it"
TMP=$(mktemp -d)
cp -p "$SLURM_CONF" "$TMP/slurm.conf"
nothing_left() { [ -z "$(squeue -h -p odd,any,exact,within,some)" ]; }
clear_jobs() {
	local p
	for p in odd any exact within some; do scancel -p "$p"; done
	wait_until 60 nothing_left
}
# The fake nodes read a file of their own.
FAKE_CONF=$(dirname "$SLURM_CONF")/fake/slurm.conf
cp -p "$FAKE_CONF" "$TMP/fake.conf"
SPEC=${SANDBOX_FAKE_PREFIX}4
put_back() {
	clear_jobs
	cat "$TMP/slurm.conf" >"$SLURM_CONF"
	if ! cmp -s "$TMP/fake.conf" "$FAKE_CONF"; then
		cat "$TMP/fake.conf" >"$FAKE_CONF"
		ctl restart "slurmd-$SPEC"
	fi
	ctl restart slurmctld
	wait_until 60 nodes_answer
	rm -rf "$TMP"
}
on_exit put_back
forget_pairs

# Nodes of a cloud that never comes: jobs get their cores at once and wait for the nodes to boot. A node that
# a job has had is not to be had again.
SHAPES=(
	"Sockets=1 CoresPerSocket=5 ThreadsPerCore=2"
	"Sockets=4 CoresPerSocket=3"
	"Sockets=8 CoresPerSocket=6 ThreadsPerCore=2"
	"Sockets=2 CoresPerSocket=6 CpuSpecList=0,6"
	"CPUs=8"
	"Sockets=2 CoresPerSocket=64"
	"Sockets=1 CoresPerSocket=2"
	"Sockets=3 CoresPerSocket=7 CpuSpecList=1,2,14"
	"Sockets=2 CoresPerSocket=4 ThreadsPerCore=4 CpuSpecList=0-3"
)
# Where nobody listens, so that whoever asks for them is told at once.
NOWHERE="NodeAddr=127.0.0.1"
{
	cat <<-END
		SuspendProgram=/bin/true
		ResumeProgram=/bin/true
		ResumeTimeout=60000
		SuspendTime=86400
		PrivateData=cloud
		SuspendExcNodes=$SANDBOX_REAL_NODE,${SANDBOX_FAKE_PREFIX}[1-4]
	END
	for ((i = 0; i < ${#SHAPES[@]}; i++)); do
		echo "NodeName=odd$((i + 1)) ${SHAPES[i]} RealMemory=16000 $NOWHERE Port=$((i + 181)) State=CLOUD"
		echo "NodeName=sock$((i + 1)) ${SHAPES[i]} RealMemory=16000 $NOWHERE Port=$((i + 281)) State=CLOUD"
	done
	echo "NodeName=mix1 Sockets=4 CoresPerSocket=3 RealMemory=16000 $NOWHERE Port=201 State=CLOUD"
	echo "NodeName=mix2 Sockets=2 CoresPerSocket=6 CpuSpecList=0,6 RealMemory=16000 $NOWHERE Port=202 State=CLOUD"
	echo "NodeName=mix3 Sockets=2 CoresPerSocket=64 RealMemory=16000 $NOWHERE Port=203 State=CLOUD"
	echo "NodeName=even[1-36] Sockets=2 CoresPerSocket=8 RealMemory=16000 $NOWHERE Port=[211-246] State=CLOUD"
	for ((i = 0; i < 24; i++)); do
		echo "NodeName=some$((i + 1)) ${SHAPES[i % 4]} RealMemory=16000 $NOWHERE Port=$((i + 251)) State=CLOUD"
	done
	echo "PartitionName=some Nodes=some[1-24] DefMemPerCPU=10 MaxTime=1-0"
	echo "PartitionName=odd Nodes=odd[1-${#SHAPES[@]}],sock[1-${#SHAPES[@]}],mix[1-3] DefMemPerCPU=10 MaxTime=1-0"
	echo "PartitionName=any Nodes=even[1-12] DefMemPerCPU=100 MaxTime=1-0"
	echo "PartitionName=exact Nodes=even[13-24] DefMemPerCPU=100 MaxTime=1-0"
	echo "PartitionName=within Nodes=even[25-36] DefMemPerCPU=100 MaxTime=1-0"
} >>"$SLURM_CONF"
ctl restart slurmctld
wait_until 60 nodes_answer

# settings TEXT: the stripe_ settings from here on.
settings() {
	sed -i "s/^\(PrEpParameters=.*poppa_ledger=[^,]*\).*/\1,$1/" "$SLURM_CONF"
	scontrol reconfigure
}

# job NAME OPTION...: its id is in $job; place waits until it has its nodes, too.
job() {
	local name=$1
	shift
	submit -J "$name" -o /dev/null --colocate "$@" --wrap true
}
has_nodes() { [ -n "$(nodes_of "$1")" ]; }
nodes_of() { squeue -h -t R,CF -o %N -j "$1" 2>/dev/null; }
place() {
	job "$@"
	wait_until 30 has_nodes "$job" || diag "job $1 has no nodes: $(squeue -h -o %r -j "$job")"
}
waits() { looked_at "$1" && [ "$(squeue -h -o %T -j "$1")" = PENDING ]; }
# numbers LIST: "0-2,5" as "0 1 2 5".
numbers() {
	local part
	for part in ${1//,/ }; do seq "${part%-*}" "${part#*-}"; done | xargs
}
cpus_of() { numbers "$(scontrol -d show job "$1" | grep -o 'CPU_IDs=[^ ]*' | cut -d= -f2 | head -n "${2:-1}" | tail -n 1)"; }
# All jobs that are on the same nodes as this one.
beside() { squeue -h -t R,CF -w "$(nodes_of "$1")" -o %j | sort | xargs; }
end_job() {
	scancel "$1"
	wait_until 30 gone "$1"
}
gone() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }

settings stripe_lanes=3,stripe_lanes_on=2x64:4
extra=
for ((i = 0; i < ${#SHAPES[@]}; i++)); do
	node=odd$((i + 1))
	lanes=$(poppa lanes --node "$node" --json)
	count=$(jq '.lanes | length' <<<"$lanes")
	got=
	for ((l = 0; l < count; l++)); do
		place "L$l" -p odd -w "$node" -N1
		got+="$(cpus_of "$job");"
	done
	is "${SHAPES[i]}: $count jobs have the lanes that poppa lanes shows" "$got" \
		"$(jq -r '.lanes[] | .pus | sort | map(tostring) | join(" ")' <<<"$lanes" | tr '\n' ';')"
	job one-more -p odd -w "$node" -N1
	extra+=" $job"
done
is "lanes by the shape of the nodes" "$(for ((i = 1; i <= ${#SHAPES[@]}; i++)); do
	poppa lanes --node "odd$i" --json | jq '.lanes | length'
done | xargs)" "3 3 3 3 3 4 2 3 3"
looked_at "$job"
is "no node takes one job more than it has lanes" \
	"$(for j in $extra; do squeue -h -o %T -j "$j"; done | sort -u)" PENDING
clear_jobs

diag "lanes of whole sockets by the shape of the nodes"
settings stripe_lanes=2
counts=
extra=
for ((i = 0; i < ${#SHAPES[@]}; i++)); do
	node=sock$((i + 1))
	job=
	if ! lanes=$(poppa lanes --node "$node" --shape socket --json 2>"$TMP/why"); then
		counts+=" 0"
		job socket -p odd -w "$node" -N1 --colocate=shape:socket 2>>"$TMP/why"
		nok "${SHAPES[i]}: no sockets: $(head -n 1 "$TMP/why")" eval '[ -n "$job" ]'
		continue
	fi
	count=$(jq '.lanes | length' <<<"$lanes")
	counts+=" $count"
	got=
	for ((l = 0; l < count; l++)); do
		place "S$l" -p odd -w "$node" -N1 --colocate=shape:socket
		got+="$(cpus_of "$job");"
	done
	is "${SHAPES[i]}: $count jobs have whole sockets, as poppa lanes shows" "$got" \
		"$(jq -r '.lanes[] | .pus | sort | map(tostring) | join(" ")' <<<"$lanes" | tr '\n' ';')"
	per=$(sed -n 's/.*CoresPerSocket=\([0-9]*\).*/\1/p' <<<"${SHAPES[i]}")
	is "and no socket is two jobs'" \
		"$(jq -r --argjson per "$per" '.lanes[] | [.cores[] / $per | floor] | unique[]' <<<"$lanes" | sort | uniq -d)" ""
	job one-more -p odd -w "$node" -N1
	extra+=" $job"
done
is "so many lanes of sockets as make lanes as large as stripes" "${counts# }" "0 2 2 2 0 2 0 0 2"
looked_at "$job"
is "nobody gets a stripe beside sockets, nor one socket too many" \
	"$(for j in $extra; do squeue -h -o %T -j "$j"; done | sort -u)" PENDING
clear_jobs

diag "nodes of several kinds in one job"
settings stripe_lanes=2,stripe_lanes_on=2x64:4
place mixed -p odd -N3 -w mix1,mix2,mix3
is "each node's whole lane: 4 x 3 cores" "$(cpus_of "$job" 1)" "0 3 6 9"
is "2 x 6 cores without two" "$(cpus_of "$job" 2)" "1 3 7 9"
is "2 x 64 cores in four lanes" "$(cpus_of "$job" 3 | wc -w)" 32
is "and all of them are counted" "$(job_field "$job" NumCPUs)" 40
clear_jobs

diag "partners of equal size"
settings stripe_lanes=2
place four -p any -N4
four=$job
place two -p any -N2 --colocate=not:four
two=$job
place three -p any -N3 --colocate="not:four,not:two"
three=$job
place pair -p any -N2
is "two nodes join two" "$(nodes_of "$job")" "$(nodes_of "$two")"
place triple -p any -N3
is "three join three" "$(nodes_of "$job")" "$(nodes_of "$three")"
triple=$job
place small -p any -N1
is "a smaller job takes a part of a bigger one's nodes" "$(beside "$job")" "four small"
place smaller -p any -n1
is "a second one takes another part" "$(beside "$job")" "four smaller"
place rest -p any -N2
is "and a third the rest" "$(beside "$job")" "four rest"
end_job "$triple"
place big -p any -N5
is "a bigger one has a smaller one's nodes and empty ones" "$(beside "$job")" "big three"
is "all of them" "$(squeue -h -t R,CF -n big -w "$(nodes_of "$three")" -o %D)" 5
place alone -p any -N1 --colocate=spread
is "spread has a node of its own" "$(beside "$job")" alone
clear_jobs

diag "stripe_match=exact"
settings stripe_lanes=2,stripe_match=exact
place four -p exact -N4
four=$job
place two -p exact -N2
two=$job
is "other sizes have nodes of their own" "$(beside "$two")" two
place mate -p exact -N4
is "equal ones share" "$(nodes_of "$job")" "$(nodes_of "$four")"
place friend -p exact -N1 --colocate=with:"$two"
is "who asks for a job by its id may join it" "$(beside "$job")" "friend two"
place single -p exact -N1
is "two of one node" "$(beside "$job")" single
single=$job
place other -p exact -n3
is "by the number of tasks, too" "$(nodes_of "$job")" "$(nodes_of "$single")"
place large -p exact -N5
is "the last empty nodes" "$(beside "$job")" large
job late -p exact -N6
ok "six more wait, though six lanes are free beside others" waits "$job"
clear_jobs

diag "stripe_match=within:25%"
settings stripe_lanes=2,stripe_match=within:25%
place four -p within -N4
place two -p within -N2
is "two are too few for four" "$(beside "$job")" two
place three -p within -N3
is "three are enough" "$(beside "$job")" "four three"
place five -p within -N5
five=$job
place four-too -p within -N4
is "four of five" "$(beside "$job")" "five four-too"
clear_jobs

diag "sixty jobs of all kinds on nodes of several kinds"
settings stripe_lanes=2,stripe_lanes_on=8x6:3
RANDOM=4
for ((i = 0; i < 60; i++)); do
	case $((RANDOM % 6)) in
	0) job "r$i" -p some -N$((RANDOM % 4 + 1)) ;;
	1) job "r$i" -p some -n$((RANDOM % 20 + 1)) ;;
	2) job "r$i" -p some -n$((RANDOM % 6 + 1)) -c2 ;;
	3) job "r$i" -p some -N2 --colocate=not:r$((RANDOM % 60)) ;;
	4) job "r$i" -p some -n3 --colocate=spread ;;
	5) submit -J "r$i" -o /dev/null -p some -n$((RANDOM % 4 + 1)) --wrap true ;;
	esac
done
# Each job's cores on each node, a line each: NODE JOB COLOCATED CPUS.
places() {
	local id mark nodes cpus
	scontrol -d show job | awk '/^JobId=/ { split($1, a, "="); id = a[2]; mark = "no"; p = "" }
		/ JobState=/ { state = $1 }
		/ Partition=/ { p = state ~ /RUNNING|CONFIGURING/ ? $1 : "" }
		/ SystemComment=colocate/ { mark = "yes" }
		/SystemComment=/ || / CPU_IDs=/ { marks[id] = mark }
		/ CPU_IDs=/ && p == "Partition=some" { sub(/Nodes=/, "", $1); sub(/CPU_IDs=/, "", $2); line[++n] = id " " $1 " " $2 }
		END { for (i = 1; i <= n; i++) { split(line[i], f, " "); print f[1], marks[f[1]], f[2], f[3] } }' |
		while read -r id mark nodes cpus; do
			for node in $(scontrol show hostnames "$nodes"); do
				echo "$node $id $mark $(numbers "$cpus" | tr ' ' ',')"
			done
		done | sort
}
last=none now=''
until [ "$now" = "$last" ]; do
	last=$now
	backfilled || break
	now=$(squeue -h -p some -t R,CF | wc -l)
done
places >"$TMP/places"
for i in 1 2 3 4; do
	poppa lanes --node "some$i" --json | jq -r --arg shape "$((i % 4))" '.lanes[] | $shape + " " + (.pus | sort | map(tostring) | join(","))'
done >"$TMP/lanes"
ok "at least thirty of them have their nodes" eval '[ "$(cut -d" " -f2 "$TMP/places" | sort -u | wc -l)" -ge 30 ]'
is "each has one whole lane of each of its nodes" "$(awk 'NR == FNR { lane[$1 " " $2] = 1; next }
	$3 == "yes" { n = $1; sub(/some/, "", n); if (!((n % 4) " " $4 in lane)) print }' "$TMP/lanes" "$TMP/places")" ""
is "and shares no core" "$(awk '{ n = split($4, c, ","); for (i = 1; i <= n; i++) if (seen[$1 " " c[i]]++) print }' "$TMP/places")" ""
is "jobs of both kinds are there" "$(cut -d" " -f3 "$TMP/places" | sort -u | paste -sd" ")" "no yes"
is "nor a node with one that did not opt in" "$(awk '{ if ($1 in kind && kind[$1] != $3) print; kind[$1] = $3 }' "$TMP/places")" ""
spread=$(squeue -h -p some -t R,CF -o "%i" | while read -r j; do job_field "$j" SystemComment | grep -q spread && echo "$j"; done)
is "nor spread ones with anybody" "$(for j in $spread; do squeue -h -t R,CF -w "$(nodes_of "$j")" -o %i | grep -v -x "$j"; done)" ""
ok "some of them share" eval '[ "$(cut -d" " -f1 "$TMP/places" | sort | uniq -d | wc -l)" -ge 5 ]'
clear_jobs

diag "CoreSpecCount, of which slurmd alone knows the cores"
settings stripe_lanes=2
sed -i "s/^NodeName=$SPEC .*/& CoreSpecCount=2/" "$SLURM_CONF" "$FAKE_CONF"
# Its specialised cores do not exist, and slurmd would bind itself to them.
echo "TaskPluginParam=SlurmdOffSpec" >>"$FAKE_CONF"
ctl stop "slurmd-$SPEC"
ctl restart slurmctld
wait_until 30 poppa lanes --node "$SANDBOX_REAL_NODE"
# slurmctld of 26.05 tells by itself.
if scontrol show node "$SPEC" | grep -q CPUSpecList=; then
	skip "this slurmctld knows them before slurmd has registered" "what poppa lanes says before"
else
	nok "before it has registered, poppa lanes says what is missing" \
		eval 'poppa lanes --node "$SPEC" >"$TMP/out" 2>&1'
	like "and the fix" "$(cat "$TMP/out")" "$SPEC has 2 specialised cores, and only its slurmd can tell which: let it register first"
fi
ctl start "slurmd-$SPEC"
ok "then it shows the lanes of the other cores" wait_until 60 eval 'poppa lanes --node "$SPEC" --json >"$TMP/out" 2>/dev/null'
wait_until 60 nodes_answer
is "seven of eight cores of a socket, one of them unused" "$(jq -c '[.lanes[].cores, .unused]' "$TMP/out")" \
	"[[0,2,4,8,10,12],[1,3,5,9,11,13],[6,7,14,15]]"
got=
for i in 0 1; do
	submit -J "spec$i" -p fake -w "$SPEC" -o /dev/null --colocate --mem=100 --wrap "exec sleep 600"
	wait_running "$job"
	got+="$(cpus_of "$job");"
done
is "two jobs have them" "$got" "$(jq -r '.lanes[] | .pus | sort | map(tostring) | join(" ")' "$TMP/out" | tr '\n' ';')"
scancel -p fake

diag "bad settings"
settings stripe_match=half
ok "a bad value is logged by its key" wait_until 10 eval 'grep -q "select/stripe: PrEpParameters: stripe_match=half" "$(ctl log slurmctld)"'
settings stripe_lanes_on=2x8
ok "a shape without its lanes, too" wait_until 10 eval 'grep -q "select/stripe: PrEpParameters: stripe_lanes_on=2x8" "$(ctl log slurmctld)"'
ok "slurmctld logged no fault of the plugin" \
	eval '! grep "select/stripe: .*\(differed\|cannot follow\|no memory\)" "$(ctl log slurmctld)"'

done_testing
