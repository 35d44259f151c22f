#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm stays stock: the same allocations for jobs that do not opt in, and when the plugin in front fails.
# shellcheck source=tests/integration/clouds.sh
. "$(dirname "$0")/clouds.sh"

# POPPA_TEST_SEEDS="N ..." and POPPA_TEST_ROUNDS=N make a longer test of it.
read -ra seeds <<<"${POPPA_TEST_SEEDS:-7 9}"
rounds=${POPPA_TEST_ROUNDS:-2}
# Seconds from one cycle of backfill to the next: enough for the main scheduler, which looks every second, to be first.
BACKFILL=5

# configure NAME stock|wrapped: nodes of three kinds, two overlapping partitions, licences.
configure() {
	cloud_configure "$1" "$2" <<-END
		SchedulerParameters=default_queue_depth=1000,sched_interval=1,bf_interval=$BACKFILL,bf_continue,bf_max_job_test=1000
		Licenses=tool:6
		MinJobAge=3600
		NodeName=c[1-6] Sockets=2 CoresPerSocket=8 RealMemory=64000 Feature=red Weight=1 State=CLOUD
		NodeName=d[1-4] Sockets=1 CoresPerSocket=12 ThreadsPerCore=2 RealMemory=48000 Feature=blue Weight=5 State=CLOUD
		NodeName=e[1-2] Sockets=4 CoresPerSocket=4 RealMemory=128000 Feature=red,blue,big Weight=3 State=CLOUD
		NodeName=z1 Sockets=2 CoresPerSocket=8 RealMemory=64000 Feature=last Weight=9 State=CLOUD
		PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE DefMemPerCPU=1000
		PartitionName=some Nodes=c[3-6],d[1-2] MaxTime=INFINITE DefMemPerCPU=500 PriorityTier=5
	END
}

# No subshells here: their random numbers are their own.
one_of() {
	shift $((RANDOM % $#))
	choice=$1
}

# The options of a random job, in $options. $1: how many jobs there are already.
random_job() {
	local o="-n$((RANDOM % 24 + 1))"
	case $((RANDOM % 12)) in
	0) o="-N$((RANDOM % 4 + 1))" ;;
	1) o="-N1 --exclusive" ;;
	2) o="-n$((RANDOM % 4 + 1)) -c$((RANDOM % 6 + 1))" ;;
	3) o="-N$((RANDOM % 3 + 1)) --ntasks-per-node=$((RANDOM % 8 + 1))" ;;
	4) o="-N1-$((RANDOM % 4 + 2)) -n$((RANDOM % 20 + 5))" ;;
	5) o+=" --ntasks-per-socket=$((RANDOM % 4 + 1))" ;;
	6) o+=" --hint=nomultithread" ;;
	7) o+=" --spread-job" ;;
	esac
	case $((RANDOM % 6)) in
	0) o+=" --mem=$((RANDOM % 50 + 1))000" ;;
	1) o+=" --mem-per-cpu=$((RANDOM % 40 + 1))00" ;;
	2) o+=" --mem=0" ;;
	esac
	case $((RANDOM % 10)) in
	0) o+=" -C red" ;;
	1) o+=" -C blue" ;;
	2) o+=" -C red&blue" ;;
	3) o+=" -C [red|blue]" ;;
	4)
		one_of c d e
		o+=" -w $choice$((RANDOM % 2 + 1))"
		;;
	5) o+=" -x c$((RANDOM % 6 + 1)),d1" ;;
	6) o+=" --contiguous" ;;
	esac
	case $((RANDOM % 8)) in
	0)
		one_of block cyclic block:cyclic cyclic:block
		o+=" -m $choice"
		;;
	1) o+=" -L tool:$((RANDOM % 3 + 1))" ;;
	2)
		one_of afterany afterok afternotok after
		o+=" -d $choice:$((RANDOM % $1 + 1))"
		;;
	3) o+=" -d singleton" ;;
	4) o+=" -H" ;;
	5) o+=" -p some" ;;
	6) o+=" -p some,all" ;;
	esac
	# No two ends meet: which comes first must not depend on the second in which a job was started.
	options="$o -J s$((RANDOM % 4)) -t $((60 + $1 * 37))"
}

# What is done in one round, one line a command; the same for the same seed.
script_round() {
	local first=$1 i
	for ((i = first; i < first + 40; i++)); do
		random_job "$i"
		echo "sbatch -Q --parsable -o /dev/null $options --wrap true"
		[ $((RANDOM % 8)) != 0 ] || echo "scontrol hold $((RANDOM % i + 2))"
		[ $((RANDOM % 8)) != 0 ] || echo "scontrol release $((RANDOM % i + 2))"
		[ $((RANDOM % 3)) != 0 ] || echo "scancel $((RANDOM % i + 2))"
	done
}

# Both schedulers have had their turn, and nothing has changed since.
quiet() {
	local name=$1 before=none now=''
	while [ "$now" != "$before" ]; do
		before=$now
		backfilled cloud "$name" || echo "no backfill"
		now=$(places "$name")
	done
}

# Every job's state and, when it has had some, its nodes, cores and memory. One that was cancelled while it waited shows how
# many nodes backfill last planned for it, which depends on the moment.
places() {
	cloud "$1" scontrol -d show job | awk '
		/^JobId=/ { id = $1 }
		/^ *JobState=/ { print id, $1; waits = /PENDING/ }
		/^ *NodeList=/ { placed = !waits && $1 !~ /=(\(null\))?$/ }
		/^ *NumNodes=/ && placed { print id, $1, $2 }
		/CPU_IDs=/ { print id, $1, $2, $3 }' | grep -v -w JobId=1
}

replay() {
	local name=$1 line
	cloud "$name" scontrol update partition=all state=down
	cloud "$name" scontrol update partition=some state=down
	while IFS= read -r line; do
		# shellcheck disable=SC2086
		echo "$line: $(set -f; cloud "$name" $line 2>&1)"
	done <"$CLOUD/script-$seed"
	# A cycle of backfill has just ended when a partition comes up, here and after quiet(): so the main scheduler sees
	# that first in every cluster. Where backfill came first in one of them, that could place other jobs.
	backfilled cloud "$name" || echo "no backfill"
	cloud "$name" scontrol update partition=some state=up
	quiet "$name"
	cloud "$name" scontrol update partition=all state=up
	quiet "$name"
	places "$name"
}

# The first job and the last node: where the plugin is to be awake they are a co-located job and its place; a stripe with
# some seeds, and a socket with others.
occupy() {
	local name=$1 shape=stripe
	if [[ $name = awake-* ]]; then
		[ $((${name#awake-} % 4)) != 1 ] || shape=socket
		cloud "$name" sbatch -Q --colocate=shape:$shape -w z1 -n1 -o /dev/null --wrap true >/dev/null
		wait_until 30 eval "cloud $name scontrol show job 1 | grep -q '^ *NodeList=z1'"
	else
		cloud "$name" sbatch -Q -H -n1 -o /dev/null --wrap true >/dev/null
		cloud "$name" scontrol update node=z1 state=drain reason=taken
	fi
}

# begin SEED: the seed's clusters, in $clusters.
begin() {
	local name
	clusters=(stock-"$1" stock-again-"$1" wrapped-"$1" awake-"$1")
	for name in "${clusters[@]}"; do
		case $name in
		stock*) configure "$name" stock ;;
		*) configure "$name" wrapped ;;
		esac
		cloud_start "$name" || bail_out "slurmctld does not start"
		occupy "$name" || bail_out "the first job of $name does not start"
	done
}

# compare SEED: 0 the same, 1 not, 2 stock does not even agree with itself.
compare() {
	local seed=$1 name round rc=0 replays
	RANDOM=$seed
	for ((round = 0; round < rounds; round++)); do
		script_round $((2 + round * 40)) >"$CLOUD/script-$seed"
		replays=()
		for name in "${clusters[@]}"; do
			replay "$name" >"$CLOUD/$name/round-$round" &
			replays+=($!)
		done
		wait "${replays[@]}"
		if ! same "$round" stock-"$seed" stock-again-"$seed"; then
			rc=2
			break
		fi
		for name in wrapped awake; do
			same "$round" stock-"$seed" "$name-$seed" || rc=1
		done
		[ "$rc" = 0 ] || break
	done
	for name in "${clusters[@]}"; do cloud_kill "$name"; done
	return "$rc"
}
same() {
	local out
	out=$(diff "$CLOUD/$2/round-$1" "$CLOUD/$3/round-$1") && return 0
	diag "round $1: $2 (<) and $3 (>) differ"
	diag "$(head -n 20 <<<"$out")"
	return 1
}

# The seeds take their turns at the same time: they wait for schedulers.
comparing=()
for seed in "${seeds[@]}"; do
	begin "$seed"
	compare "$seed" >"$CLOUD/told-$seed" &
	comparing+=($!)
done
for seed in "${seeds[@]}"; do
	wait "${comparing[0]}"
	rc=$?
	comparing=("${comparing[@]:1}")
	cat "$CLOUD/told-$seed"
	[ "$rc" != 2 ] || diag "two stock ones differ: the schedulers' moments count here"
	[ "$rc" = 0 ] || diag "POPPA_TEST_SEEDS=$seed repeats it"
	is "seed $seed: the same allocations with the plugin in front, asleep and awake" "$rc" 0
	cmp_num "seed $seed: some of $((rounds * 40)) jobs are placed" \
		"$(cat "$CLOUD/stock-$seed"/round-* | grep -c CPU_IDs)" ">=" $((rounds * 5))
done
faults=$(cat "$CLOUD"/{wrapped,awake}-*/*log* | grep -a 'select/stripe: .*\(differed\|cannot follow\|no memory\)')
is "the plugin logged no fault" "$faults" ""

diag "taken out of PluginDir while jobs run, and put back"
N=one
BACKFILL=1
fresh() {
	cloud_wipe $N
	configure $N wrapped
}
start() {
	cloud_start $N 2>/dev/null && wait_until 30 cloud $N sinfo
}
# run OPTION...: the job's id is in $job, and it has its nodes.
run() {
	job=$(cloud $N sbatch --parsable -o /dev/null "$@" --wrap true) && wait_until 30 eval has_nodes "$job"
}
cores() { cloud $N scontrol -d show job "$1" | grep -o 'Nodes=.*CPU_IDs=[^ ]*'; }
says() { grep -a -q -E -e "$1" "$(cloud_log $N)"; }
count_says() { grep -a -c -E -e "$1" "$(cloud_log $N)"; }

fresh
start || bail_out "slurmctld does not start"
run --colocate -n1 -w c1
a=$job
run --colocate -n1 -w c1
b=$job
run -n3 -w c2
c=$job
before=$(for j in $a $b $c; do cores "$j"; done)
is "two co-located jobs have their lanes" "$(head -n 2 <<<"$before" | grep -o 'CPU_IDs.*' | xargs)" \
	"CPU_IDs=0,2,4,6,8,10,12,14 CPU_IDs=1,3,5,7,9,11,13,15"
later=$(cloud $N sbatch --parsable -H -o /dev/null --colocate -n1 -w c3 --wrap true)
cloud_stop $N
cloud_plugins $N stock
sed -i '1i JobSubmitPlugins=colocate' "$CLOUD/$N/slurm.conf"
nok "without the directory, slurm.conf must not name the other plugins" start
sed -i '1d' "$CLOUD/$N/slurm.conf"
ok "stock Slurm starts with them" start
is "they have what they had" "$(for j in $a $b $c; do cores "$j"; done)" "$before"
run -n13 -w c2
is "and a new job is placed beside one that is there" "$(cores "$job")" "Nodes=c2 CPU_IDs=2-7,9-15"
cloud $N scontrol release "$later"
ok "one that waited with the option runs" wait_until 30 has_nodes "$later"
nok "placed by Slurm alone" eval '[ "$(cores "$later")" = "Nodes=c3 CPU_IDs=0,2,4,6,8,10,12,14" ]'
cloud $N scancel "$later"
cloud_stop $N
cloud_plugins $N wrapped
ok "with the plugin back, it starts again" start
is "they still have what they had" "$(for j in $a $b $c; do cores "$j"; done)" "$before"
job=$(cloud $N sbatch --parsable -o /dev/null --colocate -n1 -w c1 --wrap true)
ok "and no third one comes onto their lanes" waits "$job"

diag "a plugin that cannot be loaded"
# stock_anyway NAME PATTERN: it starts, places a job, and the log has one line of the kind.
stock_anyway() {
	ok "$1: slurmctld starts" start
	run -n4
	is "$1: and places a job as ever" "$(cores "$job")" "Nodes=c1 CPU_IDs=0-1,8-9"
	is "$1: one line says so" "$(count_says "$2")" 1
	diag "$(grep -a -E -e "$2" "$(cloud_log $N)" | sed "s|$CLOUD|DIR|g")"
}
mkdir "$CLOUD/spoilt" "$CLOUD/without"
cp "$CLOUD_PLUGINS/job_submit_colocate.so" "$CLOUD/spoilt/"
echo "not a library" >"$CLOUD/spoilt/select_cons_tres.so"
fresh
cloud_plugins $N wrapped "$CLOUD/spoilt"
stock_anyway "spoilt" "dlopen\($CLOUD/spoilt/select_cons_tres.so\)"

# The version is a number in the file: one of another release has another there.
cp "$CLOUD_PLUGINS/select_cons_tres.so" "$CLOUD/spoilt/"
at=$((16#$(nm -D "$CLOUD/spoilt/select_cons_tres.so" | awk '$3 == "plugin_version" { print $1 }')))
printf '\x00\x02\x17' | dd of="$CLOUD/spoilt/select_cons_tres.so" bs=1 seek="$at" conv=notrunc status=none
fresh
cloud_plugins $N wrapped "$CLOUD/spoilt"
stock_anyway "of another release" "plugin_load_from_file: Incompatible Slurm plugin $CLOUD/spoilt/select_cons_tres.so"

diag "Slurm's own plugin is missing, or not of this release"
for f in "$SLURM_OWN_PLUGINS"/*.so; do
	case $f in */select_cons_tres.so) ;; *) ln -s "$f" "$CLOUD/without/" ;; esac
done
fresh
sed -i "s|^PluginDir=.*|PluginDir=$CLOUD_PLUGINS:$CLOUD/without|" "$CLOUD/$N/slurm.conf"
ok "in no directory of PluginDir, it is found where it was at build time" start
run --colocate -n1
is "and places jobs on lanes" "$(cores "$job")" "Nodes=c1 CPU_IDs=0,2,4,6,8,10,12,14"
mkdir "$CLOUD/twice"
cp "$CLOUD_PLUGINS/select_cons_tres.so" "$CLOUD/twice/"
fresh
sed -i "s|^PluginDir=.*|PluginDir=$CLOUD_PLUGINS:$CLOUD/twice:$SLURM_OWN_PLUGINS|" "$CLOUD/$N/slurm.conf"
if start; then
	pass "a second copy of the plugin in PluginDir is passed over"
	run --colocate -n1
	is "and jobs are placed on lanes" "$(cores "$job")" "Nodes=c1 CPU_IDs=0,2,4,6,8,10,12,14"
else
	fail "a second copy of the plugin in PluginDir is passed over"
fi
mkdir "$CLOUD/lacking"
if echo 'int select_p_node_init(void) { return 0; }' |
	gcc -shared -fPIC -x c -o "$CLOUD/lacking/select_cons_tres.so" - 2>"$CLOUD/gcc.log"; then
	fresh
	sed -i "s|^PluginDir=.*|PluginDir=$CLOUD_PLUGINS:$CLOUD/lacking:$SLURM_OWN_PLUGINS|" "$CLOUD/$N/slurm.conf"
	stock_anyway "without a function" "select/stripe: $CLOUD/lacking/select_cons_tres.so has no select_p_"
else
	skip "gcc: $(head -n 1 "$CLOUD/gcc.log")" "an own plugin without a function"
fi

diag "bad settings"
fresh
echo "PrEpParameters=stripe_lanes=1" >>"$CLOUD/$N/slurm.conf"
stock_anyway "a bad number of lanes" "select/stripe: PrEpParameters: stripe_lanes"
run --colocate -n1 -w c2
is "co-located jobs are placed with the default of two lanes" "$(cores "$job")" "Nodes=c2 CPU_IDs=0,2,4,6,8,10,12,14"

diag "the map of the lanes is wrong again and again"
if command -v gdb >/dev/null; then
	fresh
	echo "DebugFlags=SelectType" >>"$CLOUD/$N/slurm.conf" # looks after two seconds
	start
	run --colocate -n1 -w c1
	a=$job
	run --colocate -n1 -w c1
	before=$(cores "$a")
	b=$(cloud $N sbatch --parsable -o /dev/null --colocate -n1 -w c1 --wrap true)
	# forget: the plugin's map loses the first job. The one that waits makes the scheduler ask. The plugin may have been built
	# without debugging information, and other libraries may have a "map", too: so by its place in the file.
	place_of() { nm "$CLOUD_PLUGINS/select_cons_tres.so" | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
	# gdb 13 cannot write back all registers of processors that have AMX, so it is shown those only that each x86-64 has.
	few_registers=()
	if [ "$(uname -m)" = x86_64 ]; then
		echo '<target><architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi></target>' >"$CLOUD/registers.xml"
		few_registers=(-ex "set tdesc filename $CLOUD/registers.xml")
	fi
	forget() {
		local pid base
		pid=$(cloud_pid $N)
		base=0x$(grep -m1 -F " $(realpath "$CLOUD_PLUGINS/select_cons_tres.so")" "/proc/$pid/maps" | cut -d- -f1)
		gdb -q -nx -batch "${few_registers[@]}" -ex "attach $pid" -ex "call ((int (*)(void *, unsigned)) ($base + $(place_of occupancy_remove)))(*(void **) ($base + $(place_of map)), $a)" \
			>"$CLOUD/gdb.log" 2>&1
	}
	differed='select/stripe: the lane occupancy differed'
	for i in 1 2 3; do
		forget
		ok "$i: the log says what differed" wait_until 60 eval '[ "$(count_says "$differed")" = '$i' ]'
		[ "$(count_says "$differed")" = $i ] || diag "$(tail -n 5 "$CLOUD/gdb.log")"
		ok "$i: and the lanes stay with their jobs" waits "$b"
	done
	diag "$(grep -a "$differed" "$(cloud_log $N)" | tail -n 1)"
	ok "then co-located jobs wait" says "$differed.*: co-located jobs wait, and others are placed by Slurm alone"
	is "those that run have what they had" "$(cores "$a")" "$before"
	run -n4
	is "others are placed as ever" "$(cores "$job")" "Nodes=c2 CPU_IDs=0-1,8-9"
	job=$(cloud $N sbatch --parsable -o /dev/null --colocate -n1 --wrap true)
	like "what is submitted is kept" "$job" '^[0-9]+$'
	ok "and waits" waits "$job"
	cloud $N scontrol reconfigure
	ok "until slurmctld is reconfigured" wait_until 60 has_nodes "$job"
	is "on a lane" "$(cores "$job")" "Nodes=c3 CPU_IDs=0,2,4,6,8,10,12,14"
else
	skip "gdb is not installed" "a map that is wrong"
fi

done_testing
