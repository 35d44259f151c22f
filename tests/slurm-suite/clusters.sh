# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The two clusters on which tests of Slurm run: one with Slurm's own plugins, one with ours in front.
#
# The caller sources contrib/sandbox/lib.sh before and sets suite_source, slurm_build and out.
#
#   clusters_begin BUILD         boots both, from that build
#   clusters_end                 takes both down
#   slurm KIND CMD...            a command of Slurm, as root; KIND is stock or wrapped
#   run_test KIND TEST WHO LOG   one test, as root or as the ordinary user; prints its verdict: a word
#                                (pass, part, skip or fail), the seconds, and how many parts or why
#   settings KIND [KEY=VALUE]... slurm.conf as it was at boot, with these lines, in force
#   tidy KIND                    no jobs, reservations, partitions but the cluster's own; nodes in service

declare -A cluster_dir

# What the fake nodes have for Slurm's tests: they are in the default partition, and have "GPUs".
SUITE_GPUS=4
# How long a test may take, in seconds, on a machine that is used for other things, too.
SUITE_LIMIT=${SUITE_LIMIT:-420}

slurm() {
	local kind=$1
	shift
	SLURM_CONF=${cluster_dir[$kind]}/etc/slurm.conf "$@"
}

# sandbox KIND SCRIPT ARG...: one of the sandbox's scripts, for that cluster.
sandbox() {
	local kind=$1 script=$2
	shift 2
	POPPA_SANDBOX=${cluster_dir[$kind]} "$TREE/contrib/sandbox/$script" "$@"
}

# fact KIND NAME: one of those that the sandbox notes.
fact() {
	# shellcheck source=/dev/null
	(. "${cluster_dir[$1]}/instance" && echo "${!2}")
}

daemons_restart() {
	local kind=$1 node prefix
	prefix=$(fact "$kind" PREFIX_NODE)
	# A node that has not heard of its GPUs yet would be drained.
	for node in slurmd "slurmd-$prefix"{1..4}; do sandbox "$kind" ctl stop "$node"; done
	sandbox "$kind" ctl restart slurmctld
	for node in slurmd "slurmd-$prefix"{1..4}; do sandbox "$kind" ctl start "$node"; done
}

# change_conf KIND: what a sandbox boots with, turned into what Slurm's tests want, and without our plugins
# where it is to be stock.
change_conf() {
	local kind=$1 etc=${cluster_dir[$1]}/etc f gpu prefix
	prefix=$(fact "$kind" PREFIX_NODE)
	mkdir -p "${cluster_dir[$kind]}/spool/gpu"
	for ((gpu = 0; gpu < SUITE_GPUS; gpu++)); do
		[ -e "${cluster_dir[$kind]}/spool/gpu/$gpu" ] || mknod -m 666 "${cluster_dir[$kind]}/spool/gpu/$gpu" c 1 3
	done
	for f in "$etc/slurm.conf" "$etc/fake/slurm.conf"; do
		sed -i -e "s/^\(NodeName=${prefix}[1-4] .*\)/\1 Gres=gpu:$SUITE_GPUS/" \
			-e 's/^\(PartitionName=real .*\) Default=YES/\1/' \
			-e 's/^\(PartitionName=fake .*\)/\1 Default=YES/' \
			-e 's/^AccountingStorageEnforce=.*/AccountingStorageEnforce=associations,limits,qos/' \
			-e 's/^AccountingStorageTRES=.*/AccountingStorageTRES=billing,gres\/gpu/' \
			-e '/^MpiDefault=/d' -e '1aGresTypes=gpu' "$f"
		[ "$kind" = wrapped ] || sed -i -e "s|^PluginDir=[^:]*:|PluginDir=|" \
			-e '/^JobSubmitPlugins=/d' -e '/^PrEpPlugins=/d' -e '/^PrEpParameters=/d' -e '/^PlugStackConfig=/d' "$f"
	done
	echo "NodeName=${prefix}[1-4] Name=gpu File=${cluster_dir[$kind]}/spool/gpu/[0-$((SUITE_GPUS - 1))]" >"$etc/gres.conf"
	ln -sf ../gres.conf "$etc/fake/gres.conf"
	cp -p "$etc/slurm.conf" "$etc/slurm.conf.boot"
	if [ "$kind" = stock ]; then
		sandbox stock ctl stop poppad
		sandbox stock ctl stop ledgerd
	fi
	daemons_restart "$kind"
}

# Slurm's own test folder is copied, since tests write beside themselves.
copy_suite() {
	local kind=$1 dir=${cluster_dir[$1]}/suite
	rm -rf "$dir"
	mkdir -p "$dir/prefix/lib"
	cp -r "$suite_source"/{expect,python} "$dir/"
	# Where Slurm's tests look for Slurm.
	ln -s /usr/bin /usr/sbin /usr/include "$dir/prefix/"
	ln -s "$(fact "$kind" SLURM_PLUGINS)" "$dir/prefix/lib/slurm"
	ln -s "$(ls /usr/lib/*/libslurm.so)" "$dir/prefix/lib/libslurm.so"
	cat >"$dir/globals.local" <<-END
		set slurm_dir "$dir/prefix"
		set src_dir "${suite_source%/testsuite}"
		set build_dir "$slurm_build"
		set testsuite_shared_dir "$dir/expect"
		set testsuite_colorize false
		set mpicc "/usr/bin/mpicc"
		set max_job_delay 180
		set stty_init "columns 400 rows 60"
	END
	cat >"$dir/testsuite.conf" <<-END
		SlurmSourceDir=${suite_source%/testsuite}
		SlurmBuildDir=$slurm_build
		SlurmInstallDir=/usr
		SlurmConfigDir=${cluster_dir[$kind]}/etc
	END
	chown -R "$DEMO_USER:" "$dir/expect" "$dir/python"
	chmod -R a+rwX "$dir/expect" "$dir/python"
}

# One co-located job of somebody else stays on the real node all the time, outside of the tests' partition,
# so that the plugins in front are awake; on the stock cluster it is an ordinary one.
keep_busy() {
	local kind=$1 how=--exclusive
	[ "$kind" = stock ] || how=--colocate
	! runs "$kind" "$(keeper "$kind")" || return 0
	[ -z "$(keeper "$kind")" ] || echo "the $kind cluster's job on the real node is gone" >>"$out/untidy"
	sandbox "$kind" env -u "$OTHER_USER" sbatch --parsable -p real -N1 -n1 "$how" -t 1-0 -J keeper \
		-o /dev/null --wrap 'sleep 86400' >"${cluster_dir[$kind]}/suite/keeper" || return 1
	wait_for 60 runs "$kind" "$(keeper "$kind")"
}

keeper() {
	cat "${cluster_dir[$1]}/suite/keeper" 2>/dev/null
}

runs() {
	slurm "$1" squeue -h -t R -j "$2" -o %i | grep -q -x "$2"
}

boot_cluster() {
	local kind=$1
	sandbox "$kind" up || return 1
	change_conf "$kind" || return 1
	copy_suite "$kind" || return 1
	keep_busy "$kind" || warn "$kind: the job that keeps the plugins awake does not run"
}

# clusters_begin BUILD: the wrapped one first, whose directory the build belongs to.
clusters_begin() {
	cluster_dir=([wrapped]=$SANDBOX [stock]=$SANDBOX-stock)
	export POPPA_SANDBOX_BUILD=$1
	boot_cluster wrapped && boot_cluster stock
}

clusters_end() {
	# The last one down removes the users that the first one up has added.
	sandbox stock down
	sandbox wrapped down
	rm -rf "${cluster_dir[stock]:?}"/{suite,usr,home} "${cluster_dir[wrapped]:?}/suite"
}

settings() {
	local kind=$1 etc=${cluster_dir[$1]}/etc line
	shift
	cp -p "$etc/slurm.conf.boot" "$etc/slurm.conf.new"
	for line; do
		sed -i "/^${line%%=*}=/d" "$etc/slurm.conf.new"
		sed -i "1a$line" "$etc/slurm.conf.new"
	done
	mv "$etc/slurm.conf.new" "$etc/slurm.conf"
	sandbox "$kind" ctl restart slurmctld
	wait_for 60 in_service "$kind"
}

in_service() {
	! slurm "$1" sinfo -h -N -o %T | grep -q -v -x 'idle\|allocated\|mixed'
}

fake_idle() {
	! slurm "$1" sinfo -h -N -p fake -o %T | grep -q -v -x idle
}

only_keeper() {
	! slurm "$1" squeue -h -o %i | grep -q -v -x "$(keeper "$1")"
}

# tidy KIND: what a test that failed, or ended too early, may have left.
tidy() {
	local kind=$1 etc=${cluster_dir[$1]}/etc name restart=no
	slurm "$kind" squeue -h -o %A | sort -u | grep -v -x -e "$(keeper "$kind")" | xargs -r env SLURM_CONF="$etc/slurm.conf" scancel
	wait_for 45 only_keeper "$kind" || restart=yes
	slurm "$kind" scontrol -o show reservation | sed -n 's/^ReservationName=\([^ ]*\).*/\1/p' | while read -r name; do
		slurm "$kind" scontrol delete reservation="$name"
	done
	slurm "$kind" scontrol -o show partition | sed -n 's/^PartitionName=\([^ ]*\).*/\1/p' | grep -v -x 'real\|fake' |
		while read -r name; do slurm "$kind" scontrol delete partitionname="$name"; done
	if ! cmp -s "$etc/slurm.conf" "$etc/slurm.conf.boot"; then
		cp -p "$etc/slurm.conf.boot" "$etc/slurm.conf"
		restart=yes
	fi
	if ! wait_for 30 fake_idle "$kind"; then
		slurm "$kind" sinfo -h -N -p fake -o %N:%T | sed -n 's/:\(idle\|allocated\|mixed\|completing\)$//;t;p' | cut -d: -f1 | sort -u |
			while read -r name; do slurm "$kind" scontrol update node="$name" state=resume; done
		wait_for 20 fake_idle "$kind" || restart=yes
	fi
	[ "$restart" = no ] || daemons_restart "$kind"
	wait_for 60 fake_idle "$kind" || return 1
	keep_busy "$kind"
} >>"$out/tidy-$1.log" 2>&1

# count LOG WHICH: how many parts of an expect test "passed", "failed" or were "skipped", by its own summary.
count() {
	awk -v which="$2" '/^ +(Subtests|Testprocs) (passed|failed|skipped) *:/ && $2 == which { n[$1] = $4 }
		END { print ("Subtests" in n ? n["Subtests"] : n["Testprocs"]) + 0 }' "$1"
}

# last_message LOG LEVEL: what an expect test says of itself at that level, without times and places.
last_message() {
	sed -n "s/^\[[^]]*\] *$2 *\(.*\) (\(sub\)\{0,1\}\(fail\|skip\)[^)]*).*/\1/p" "$1" | tail -n 1 | tr -d '|\r' |
		sed 's|[^ "]*/suite/prefix/bin/||g' | cut -c1-160
}

expect_verdict() {
	local log=$1 status=$2 seconds=$3 good
	good=$(count "$log" passed)
	case $status in
	0) echo "pass $seconds ${good/#0/}" ;;
	124 | 137) echo "fail $seconds did not end within $SUITE_LIMIT seconds" ;;
	255)
		# Parts that do not apply make the whole test one that was left out, for Slurm's own runner.
		if [ "$good" -gt 0 ] && [ "$(count "$log" failed)" = 0 ]; then
			echo "part $seconds $good"
		else
			echo "skip $seconds $(last_message "$log" Warning)"
		fi
		;;
	*) echo "fail $seconds $({ last_message "$log" Fatal; last_message "$log" Error; } | grep -m 1 .)" ;;
	esac
}

python_verdict() {
	local log=$1 status=$2 seconds=$3 good
	good=$(grep -o '[0-9]* passed' "$log" | tail -n 1 | cut -d' ' -f1)
	case $status in
	124 | 137) echo "fail $seconds did not end within $SUITE_LIMIT seconds" ;;
	0 | 5)
		if [ -z "$good" ]; then
			echo "skip $seconds $(sed -n 's/^SKIPPED [^:]*: \(.*\)/\1/p' "$log" | tail -n 1 | tr -d '|' | cut -c1-160)"
		elif grep -q '[0-9] skipped' "$log"; then
			echo "part $seconds $good"
		else
			echo "pass $seconds $good"
		fi
		;;
	*) echo "fail $seconds $(sed -n 's/^FAILED [^ ]* - \(.*\)/\1/p' "$log" | head -n 1 | tr -d '|' | cut -c1-160)" ;;
	esac
}

run_test() {
	local kind=$1 test=$2 who=$3 log=$4 dir=${cluster_dir[$1]}/suite begin=$SECONDS status=0 user=() cmd folder
	[ "$who" = root ] || user=(-u "$DEMO_USER")
	case $test in
	*/*)
		folder=$dir/python
		cmd=(pytest-3 -p no:cacheprovider -rsf --basetemp "$dir/expect/pytest" "tests/${test#python/}.py")
		;;
	*)
		folder=$dir/expect
		cmd=(expect "test$test")
		;;
	esac
	# shellcheck disable=SC2016
	sandbox "$kind" env "${user[@]}" env SLURM_LOCAL_GLOBALS_FILE="$dir/globals.local" SLURM_TESTSUITE_CONF="$dir/testsuite.conf" TERM=dumb \
		sh -c 'cd "$1" && shift && exec timeout -k 10 "$@"' sh "$folder" "$SUITE_LIMIT" "${cmd[@]}" >"$log" 2>&1 </dev/null || status=$?
	case $test in
	*/*) python_verdict "$log" "$status" $((SECONDS - begin)) ;;
	*) expect_verdict "$log" "$status" $((SECONDS - begin)) ;;
	esac
}
