#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# poppa status and doctor: without a cluster, with a made-up one, and with a real poppad.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

: "${POPPA:?is the program to test}" "${POPPAD:?is the daemon}"

export POPPA_CONF=$TAP_DIR/poppa.conf
unset SLURMD_NODENAME
cat >"$POPPA_CONF" <<END
RunDir=$TAP_DIR/run-%n
SpoolDir=$TAP_DIR/spool-%n
MungeSocket=$TAP_DIR/munge.sock
END

runs "status without poppad" 1 "$POPPA" status
like "status without poppad: says so" "$ERR" "^poppa status: poppad does not run here"
runs "status of a node without poppad" 1 "$POPPA" status --node n1
like "status of a node without poppad: names the socket" "$ERR" "run-n1/poppad.sock"
echo "RunDri=/x" >"$TAP_DIR/bad.conf"
runs "status with a bad poppa.conf" 1 "$POPPA" status --conf "$TAP_DIR/bad.conf"
like "status with a bad poppa.conf: names file, line and key" "$ERR" "bad.conf.*line 1.*RunDri"

# The release that the suite was built for.
version=$(sed -n 's/^#define POPPA_SLURM_VERSION "\(.*\)"/\1/p' "$(dirname "$POPPA")/poppa_config.h")
# Empty where it was built without Slurm.
built=$version version=${version:-24.11.5}
# A scontrol that answers as a well configured cluster's would.
mkdir -p "$TAP_DIR/bin" "$TAP_DIR/ours" "$TAP_DIR/slurm"
touch "$TAP_DIR/slurm/select_cons_tres.so" "$TAP_DIR"/ours/{select_cons_tres,prep_poppa,job_submit_colocate,spank_colocate}.so
echo "required spank_colocate.so" >"$TAP_DIR/plugstack.conf"
cat >"$TAP_DIR/config" <<END
Configuration data as of now
AccountingStorageType   = accounting_storage/slurmdbd
ClusterName             = testing
JobSubmitPlugins        = lua,colocate
PluginDir               = $TAP_DIR/ours:$TAP_DIR/slurm
PlugStackConfig         = $TAP_DIR/plugstack.conf
PrEpParameters          = poppa_period=250ms
PrEpPlugins             = prep/script,prep/poppa
ProctrackType           = proctrack/cgroup
ConstrainCores          = yes
Prolog                  = /etc/slurm/prolog
PrologFlags             = Alloc,Contain
SelectType              = select/cons_tres
SelectTypeParameters    = CR_CORE_MEMORY
SLURM_VERSION           = $version
SlurmctldHost[0]        = localhost(127.0.0.1)
TaskPlugin              = task/affinity,task/cgroup
END
cat >"$TAP_DIR/partition" <<END
PartitionName=main AllowGroups=ALL Default=YES Nodes=n[1-4] State=UP TotalCPUs=64 TRESBillingWeights=CPU=1000,Mem=0.25G
PartitionName=big AllowGroups=ALL Nodes=n[5-6] State=UP TotalCPUs=64 TRESBillingWeights=Mem=0.25G,CPU=1000.0
END
# "scontrol show config" and "scontrol --oneliner show partition".
printf '#!/bin/sh\nfor last; do :; done\ncat "%s/$last"\n' "$TAP_DIR" >"$TAP_DIR/bin/scontrol"
printf '#!/bin/sh\nprintf "other\\ntesting\\n"\n' >"$TAP_DIR/bin/sacctmgr"
chmod +x "$TAP_DIR/bin/scontrol" "$TAP_DIR/bin/sacctmgr"
PATH=$TAP_DIR/bin:$PATH

# Without munge, ledger and poppad some checks fail, so the status is 1; each line is looked at.
runs "doctor" 1 "$POPPA" doctor
for line in "OK +poppa.conf +$POPPA_CONF is good" "(OK +Slurm +$built, for which|WARN +Slurm +slurmctld is $version; this poppa was built without Slurm)" "OK +SelectType +select/cons_tres, CR_CORE_MEMORY" "OK +ProctrackType" "OK +TaskPlugin" \
	"OK +PrologFlags" "OK +TRESBillingWeights +.* 2 partitions" "(OK|WARN) +clock" "OK +plugin files" "OK +select wrapper" \
	"OK +JobSubmitPlugins +has colocate" "OK +PrEpPlugins +has prep/poppa" "OK +PrEpParameters +poppa_period=250ms," \
	"OK +plugstack.conf" "OK +accounting" "OK +slurmdbd +answers, and knows cluster testing" "FAIL +munge .* -> start munged" "FAIL +ledger .* -> fix munge first, see its line" \
	"(FAIL|WARN) +poppad .* -> start poppad" "(OK|WARN) +counters +usable here: .*heartbeat" "SCHED_FIFO" "freezer"; do
	like "doctor: $line" "$OUT" "$line"
done
is "doctor: nothing on stderr" "$ERR" ""
runs "doctor --json" 1 "$POPPA" doctor --json
like "doctor --json: form" "$OUT" '^\{"checks": \[\{"check": "poppa.conf", "status": "ok", "detail": ".*", "fix": null\}, .*"ok": [0-9]+, "warn": [0-9]+, "fail": [0-9]+\}$'

# One fault at a time.
fault() {
	cp "$TAP_DIR/config" "$TAP_DIR/good"
	sed -i "$1" "$TAP_DIR/config"
	OUT=$("$POPPA" doctor 2>&1)
	mv "$TAP_DIR/good" "$TAP_DIR/config"
	like "doctor finds: $1" "$OUT" "FAIL +$2"
}
fault "s/cons_tres/linear/" "SelectType .*select/linear.* -> set SelectType=select/cons_tres"
fault "s/lua,colocate/lua/" "JobSubmitPlugins +lacks colocate"
fault "s/script,prep.poppa/script/" "PrEpPlugins +lacks prep/poppa.* -> set PrEpPlugins=prep/script,prep/poppa"
fault "s/poppa_period=250ms/poppa_perod=250ms/" "PrEpParameters .*poppa_perod"
cp "$TAP_DIR/config" "$TAP_DIR/good"
sed -i "s/poppa_period=250ms/&,poppa_counter=uprobe/" "$TAP_DIR/config"
OUT=$("$POPPA" doctor 2>&1)
mv "$TAP_DIR/good" "$TAP_DIR/config"
like "doctor finds that the counter to use cannot be" "$OUT" \
	"(FAIL|WARN) +counter uprobe +no job is measured here, .*(no function is configured|uprobe: .*) -> fix that, or choose another"
unlike "and counts it with none that serve" "$OUT" "usable here: .*uprobe"
fault "s#$TAP_DIR/ours:$TAP_DIR/slurm#$TAP_DIR/slurm:$TAP_DIR/ours#" "select wrapper .*/slurm\""
fault "s#$TAP_DIR/ours:##" "plugin files +prep_poppa.so is in no directory"
fault "s#accounting_storage/slurmdbd#(null)#" "accounting"
fault "s/^PrEpPlugins.*/PrEpPlugins = prep\/poppa/" "Prolog and Epilog +are not run: .*lacks prep/script.* -> set PrEpPlugins=prep/script,prep/poppa"
for unit in CR_CORE CR_CPU CR_CPU_MEMORY CR_CORE,CR_ONE_TASK_PER_CORE; do
	cp "$TAP_DIR/config" "$TAP_DIR/good"
	sed -i "s/CR_CORE_MEMORY/$unit/" "$TAP_DIR/config"
	OUT=$("$POPPA" doctor 2>&1)
	mv "$TAP_DIR/good" "$TAP_DIR/config"
	like "doctor: lanes can be had with $unit" "$OUT" "OK +SelectType +select/cons_tres, $unit"
done
fault "s/ConstrainCores .*/ConstrainCores = no/" "ConstrainCores .* -> set ConstrainCores=yes in cgroup.conf"
fault "s/Alloc,Contain/(null)/" "PrologFlags .* -> set PrologFlags=Alloc"
fault "s/CR_CORE_MEMORY/CR_SOCKET/" "SelectTypeParameters .*CR_SOCKET.* -> set SelectTypeParameters=CR_Core_Memory"
[ -z "$built" ] || fault "s/= $version/= 19.05.1/" "Slurm +slurmctld is 19.05.1, and the suite was built for $version.* -> install the suite's plugins"
# A plugin that can be loaded says for which release it was built, whatever this poppa was built for.
echo 'const unsigned plugin_version = 23 << 16 | 2 << 8 | 7;' | cc -shared -fPIC -x c - -o "$TAP_DIR/ours/spank_colocate.so" ||
	bail_out "cc makes no shared object"
fault "s/= $version/= 19.05.1/" "Slurm +slurmctld is 19.05.1, and the suite was built for 23.02.7.* -> install the suite's plugins"
sed -i "s/= $version/= 23.02.7/" "$TAP_DIR/config"
OUT=$("$POPPA" doctor 2>&1)
like "doctor: plugins for the release that runs" "$OUT" "OK +Slurm +23.02.7, for which the suite was built"
sed -i "s/= 23.02.7/= $version/" "$TAP_DIR/config"
: >"$TAP_DIR/ours/spank_colocate.so"
fault "s/proctrack.cgroup/proctrack\/linuxproc/" "ProctrackType .*linuxproc.* -> set ProctrackType=proctrack/cgroup"
fault "s/task.affinity,task.cgroup/task\/none/" "TaskPlugin .*task/none.* -> set TaskPlugin"
if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
	like "doctor warns where cgroup v1 counts no job's processor time" "$("$POPPA" doctor 2>&1)" \
		'WARN +JobAcctGatherType .* -> set JobAcctGatherType=jobacct_gather/cgroup'
	echo 'JobAcctGatherType       = jobacct_gather/cgroup' >>"$TAP_DIR/config"
	unlike "and not where it does" "$("$POPPA" doctor 2>&1)" JobAcctGatherType
else
	unlike "doctor does not mind what gathers processor time with cgroup v2" "$("$POPPA" doctor 2>&1)" JobAcctGatherType
fi
# Somebody else has the ledger's port. The port is one that the kernel chooses.
perl -MIO::Socket::INET -e '$0 = "restd"; $| = 1; my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or exit 1;
	print $s->sockport, "\n"; 1 while $s->accept' >"$TAP_DIR/port" &
holder=$!
for _ in $(seq 100); do
	[ -s "$TAP_DIR/port" ] && break
	sleep 0.05
done
fault "s/poppa_period=250ms/poppa_ledger=127.0.0.1:$(cat "$TAP_DIR/port")/" \
	"ledger's port +port $(cat "$TAP_DIR/port") is held by restd -> give one of the two another port"
kill "$holder"
wait "$holder" 2>/dev/null
unlike "doctor finds nobody on a port that is free" "$("$POPPA" doctor 2>&1)" "ledger's port"
warning() {
	cp "$TAP_DIR/$1" "$TAP_DIR/good"
	sed -i "$2" "$TAP_DIR/$1"
	OUT=$("$POPPA" doctor 2>&1)
	mv "$TAP_DIR/good" "$TAP_DIR/$1"
	like "doctor warns: $2" "$OUT" "WARN +$3"
}
warning config "s/poppa_period=250ms/poppa_period=0/" "shutters +are off by poppa_period=0: .* -> nothing to do if that is meant"
warning partition "s/CPU=1000,/CPU=1,/" "TRESBillingWeights .* in partition main: .* -> set TRESBillingWeights=CPU=1000"
warning partition "s/ TRESBillingWeights.*//" "TRESBillingWeights .* in partition main, big: "
warning partition "s/,CPU=1000.0//" "TRESBillingWeights .* in partition big: "
fault "s/poppa_period=250ms/stripe_partition=main,stripe_partition=bog/" \
	"stripe_partition +there is no partition bog: .* -> correct it in PrEpParameters"
warning config "s/poppa_period=250ms/stripe_default=main:qos:tseting/" \
	"stripe_default +there is no QOS tseting: .* -> correct it in PrEpParameters"
warning config "s/poppa_period=250ms/stripe_default=mian:qos:TESTING/" \
	"stripe_default +there is no partition mian: .* -> correct it in PrEpParameters"
warning config "s/poppa_period=250ms/stripe_default=big,stripe_partition=main/" \
	"stripe_default +stripe_partition keeps co-located jobs out of big, .* -> name it in stripe_partition"
sed -i "s/poppa_period=250ms/stripe_default=big:qos:testing/" "$TAP_DIR/config"
like "doctor names the partitions and QOS of stripe_default" "$("$POPPA" doctor 2>&1)" \
	"OK +stripe_default +jobs of big:qos:testing are co-located unless they say --colocate=no"
sed -i "s/stripe_default=big:qos:testing/poppa_period=250ms/" "$TAP_DIR/config"
# Elsewhere bills may be as coarse as they like.
sed -i "s/poppa_period=250ms/stripe_partition=main/" "$TAP_DIR/config"
sed -i "s/,CPU=1000.0//" "$TAP_DIR/partition"
OUT=$("$POPPA" doctor 2>&1)
like "doctor looks at the partitions of co-located jobs" "$OUT" "OK +stripe_partition +co-located jobs may run in main"
like "doctor looks at no other partition's weights" "$OUT" "OK +TRESBillingWeights .* in 1 partition"
printf '#!/bin/sh\necho other\n' >"$TAP_DIR/bin/sacctmgr"
like "doctor misses the cluster in slurmdbd" "$("$POPPA" doctor 2>&1)" "WARN +slurmdbd +does not list cluster testing -> add it"
printf '#!/bin/sh\necho "sacctmgr: error: Problem talking to the database" >&2\nexit 1\n' >"$TAP_DIR/bin/sacctmgr"
like "doctor misses slurmdbd" "$("$POPPA" doctor 2>&1)" "WARN +slurmdbd +not seen: .*Problem talking to the database -> start slurmdbd"
mkdir "$TAP_DIR/plugstack.conf.d"
echo "required spank_colocate.so" >"$TAP_DIR/plugstack.conf.d/b.conf"
echo "optional other.so" >"$TAP_DIR/plugstack.conf.d/a.conf"
printf '# required spank_colocate.so\ninclude plugstack.conf.d/*.conf\n' >"$TAP_DIR/plugstack.conf"
like "doctor reads what plugstack.conf includes" "$("$POPPA" doctor 2>&1)" "OK +plugstack.conf"
cp "$TAP_DIR/config" "$TAP_DIR/good"
sed -i -e 's/^PlugStackConfig.*/PlugStackConfig = (null)/' -e "\$a SLURM_CONF = $TAP_DIR/slurm.conf" "$TAP_DIR/config"
like "doctor takes the plugstack.conf beside slurm.conf where none is named" "$("$POPPA" doctor 2>&1)" "OK +plugstack.conf"
mv "$TAP_DIR/good" "$TAP_DIR/config"
rm "$TAP_DIR/plugstack.conf.d/b.conf"
fault "" "plugstack.conf .* -> add the line"
echo "AuthInfo                = ttl=60,socket=/run/other.sock,cred_expire=90" >>"$TAP_DIR/config"
fault "" "munge's socket +slurm.conf has AuthInfo=socket=/run/other.sock, .* uses $TAP_DIR/munge.sock -> put MungeSocket="
sed -i "s#socket=[^,]*#socket=$TAP_DIR/munge.sock#" "$TAP_DIR/config"
unlike "doctor is content with a socket of one's own that both use" "$("$POPPA" doctor 2>&1)" "munge's socket"
like "doctor names the files that it has looked for" "$(POPPA_CONF=$TAP_DIR/none.conf "$POPPA" doctor 2>&1)" \
	"OK +poppa.conf +there is none, so defaults hold; looked for: $TAP_DIR/none.conf"
printf '#!/bin/sh\nexit 1\n' >"$TAP_DIR/bin/scontrol"
runs "doctor without slurmctld" 1 "$POPPA" doctor
like "doctor without slurmctld: warns" "$OUT" "WARN +Slurm +slurmctld does not answer"
printf '#!/bin/sh\necho "scontrol: error: Parsing error at unrecognized key: Foo" >&2\nexit 1\n' >"$TAP_DIR/bin/scontrol"
like "doctor with a bad slurm.conf: says what scontrol says" "$("$POPPA" doctor 2>&1)" "WARN +Slurm .*unrecognized key: Foo -> fix munge first, see its line"
runs "doctor with a bad poppa.conf" 1 "$POPPA" doctor --conf "$TAP_DIR/bad.conf"
like "doctor with a bad poppa.conf: names the line" "$OUT" "FAIL +poppa.conf .*line 1.*RunDri"

# A node with slurmds, which are another program by that name: it waits, and takes -N NUMBER.
mkfifo "$TAP_DIR/fifo"
cp "$(command -v od)" "$TAP_DIR/slurmd"
cp "$(ldd "$TAP_DIR/slurmd" | awk '/libc\.so/ { print $3 }')" "$TAP_DIR/prep_poppa.so"
mkdir "$TAP_DIR/beside"
cp "$POPPA" "$TAP_DIR/beside/poppa"
printf '#!/bin/sh\ncat "%s/counters"\n' "$TAP_DIR" >"$TAP_DIR/beside/poppad"
chmod +x "$TAP_DIR/beside/poppad"
no_pmu='[{"name": "heartbeat", "usable": true}, {"name": "perf", "usable": false, "why": "no PMU"}]'
# slurmd NUMBER [LIBRARY]: starts one of that node.
slurmd() {
	LD_PRELOAD=${2:-} "$TAP_DIR/slurmd" -N "$1" "$TAP_DIR/fifo" &
	slurmd=$!
	wait_until 10 sh -c "grep -q -x slurmd /proc/$slurmd/comm && grep -q libc /proc/$slurmd/maps"
}
# on_node COUNTERS [CONF]: what doctor says on node 10, where poppad --counters prints that.
on_node() {
	echo "$1" >"$TAP_DIR/counters"
	"$TAP_DIR/beside/poppa" doctor --node 10 --conf "${2:-$POPPA_CONF}" 2>&1
}
slurmd 20
other=$slurmd
slurmd 10
OUT=$(on_node "$no_pmu")
like "doctor finds a slurmd that was not restarted" "$OUT" "FAIL +slurmd +pid $slurmd has not loaded prep/poppa: .*never measured, .*-> restart slurmd"
unlike "doctor finds a slurmd that was not restarted: of this node" "$OUT" "pid $other has not"
like "doctor warns of a node without a PMU" "$OUT" "WARN +counters +usable here: heartbeat; .*pays its full price .* -> choose your counter"
{ cat "$POPPA_CONF" && echo "Counter=heartbeat"; } >"$TAP_DIR/chosen.conf"
like "doctor takes a choice for a choice" "$(on_node "$no_pmu" "$TAP_DIR/chosen.conf")" "OK +counters +usable here: heartbeat"$'\n'
like "doctor is content with a PMU" "$(on_node "${no_pmu/false/true}")" "OK +counters +usable here: heartbeat, perf"$'\n'
kill "$slurmd"
wait "$slurmd" 2>/dev/null
slurmd 10 "$TAP_DIR/prep_poppa.so"
OUT=$(on_node "$no_pmu")
like "doctor sees that slurmd has the plugin" "$OUT" "OK +slurmd +has loaded prep/poppa"
unlike "doctor sees that slurmd has the plugin: and finds none without" "$OUT" "FAIL +slurmd "
kill "$slurmd" "$other"
wait "$slurmd" "$other" 2>/dev/null

# Turns, of a poppad that is played: job 13 has a limit of 5 % that is not kept.
mkdir -p "$TAP_DIR/run-n1"
cp "$(dirname "$0")/status.json" "$TAP_DIR/answer"
"$(dirname "$0")/answers" "$TAP_DIR/run-n1/poppad.sock" "$TAP_DIR/answer" &
server=$!
wait_until 10 test -S "$TAP_DIR/run-n1/poppad.sock"
# with SED...: what doctor says of turns where poppad's answer is changed so.
with() {
	sed "$@" "$(dirname "$0")/status.json" >"$TAP_DIR/answer"
	"$POPPA" doctor --node n1 2>&1 | grep -E '^[A-Z]+ +(turns|max-degradation) '
}
unkept="WARN +max-degradation +job 13 may lose 5 % and loses more:"
like "doctor sees a limit that is not kept" "$(with -e '')" \
	"$unkept it would have to be alone for too much .* -> nothing to do in its first five minutes"
like "doctor sees who cannot be held for it" "$(with '/"job": 12, "restart"/,$s/"holdable": true/"holdable": false/')" \
	"$unkept what cannot be held for it now: job 12, "
like "doctor has how turns are used" "$(with -e '')" "OK +turns +only for a max-degradation \(poppa_turns=limits\)"
like "doctor goes by poppad's own settings" "$(with 's/poppa_period=300ms/&,poppa_turns=yes/')" "OK +turns +for bad pairs .*poppa_turns=yes"
OUT=$(with 's/poppa_period=300ms/&,poppa_turns=no/')
like "doctor warns of a limit without turns" "$OUT" "WARN +max-degradation +poppa_turns=no: .* costs job 13 more .* -> set poppa_turns=limits"
like "and has what is set" "$OUT" "OK +turns +no turns \(poppa_turns=no\)"
like "doctor warns of turns without a freezer" "$(with 's/poppa_period=300ms/&,poppa_pause=sigstop/')" "WARN +turns +nobody is held .* -> set poppa_pause=auto"
like "doctor has who is alone for a limit" "$(with 's/"unkept": true/"unkept": false/; s/"favoured": null, "share": null/"favoured": 13, "share": 0.421875/')" \
	"OK +max-degradation +1 job here has one; job 13 runs alone for 42 % of the time"
like "doctor knows that nobody has a limit" "$(with 's/0.05, "unkept": true/null, "unkept": false/')" "OK +max-degradation +no job here has one$"
rm "$TAP_DIR/answer"
"$POPPA" doctor --node n1 >/dev/null 2>&1
wait "$server"

if [ "$(id -u)" = 0 ]; then
	"$POPPAD" -f -N t0 -c "$POPPA_CONF" 2>"$TAP_DIR/poppad.log" &
	pid=$!
	wait_until 10 "$POPPA" status --node t0
	runs "status of a real poppad" 0 "$POPPA" status
	like "status of a real poppad: node" "$OUT" "^node +t0,"
	like "status of a real poppad: no jobs" "$OUT" "jobs +none"
	runs "status --json" 0 "$POPPA" status --json --node t0
	like "status --json: settings and jobs" "$OUT" '"node": "t0".*"settings": "poppa_period=.*"jobs": \[\]'
	runs "doctor sees it" 1 "$POPPA" doctor
	like "doctor sees it: poppad" "$OUT" "OK +poppad +[0-9.]+ answers at"
	like "doctor sees it: no slurmd" "$OUT" "FAIL +slurmd to poppad"
	like "doctor sees it: guard" "$OUT" "OK +guard +watches as pid"
	like "doctor sees it: real time" "$OUT" "(OK|FAIL) +priority of poppad"
	like "doctor sees it: settings" "$OUT" "OK +settings of poppad +poppa_period="
	like "doctor sees it: spool" "$OUT" "OK +spool +0 records not acknowledged"
	like "doctor sees it: room" "$OUT" "room for the spool"
	like "doctor sees it: nothing held" "$OUT" "OK +held +nothing stays stopped"
	# As Btrfs, such a tmpfs has files without end, and tells of none. The mount ends with the command.
	unlimited() {
		unshare -m bash -c 'mount -t tmpfs -o size=64m,nr_inodes=0 none "$1" && mkdir "$1/records" && "$2" doctor' \
			- "$TAP_DIR/spool-t0" "$POPPA" 2>&1
	}
	if unshare -m mount -t tmpfs -o nr_inodes=0 none "$TAP_DIR/spool-t0" 2>/dev/null; then
		like "doctor takes no file system for full that does not count files" "$(unlimited)" "OK +room for the spool +6[0-9] MiB"
	else
		skip "nothing can be mounted here" "doctor takes no file system for full that does not count files"
	fi
	touch -d '1 hour ago' "$TAP_DIR/spool-t0/records/7.0"
	touch "$TAP_DIR/spool-t0/records/8.0.refused"
	chmod 777 "$TAP_DIR/run-t0"
	OUT=$("$POPPA" doctor 2>&1)
	like "doctor sees an old record" "$OUT" "WARN +spool +[12] records? not acknowledged, the oldest for 3[0-9]{3} s"
	like "doctor sees a refused record" "$OUT" "WARN +spool +1 record refused by the ledger"
	like "doctor sees a directory that others can write to" "$OUT" "FAIL +RunDir .* -> make it a directory of root"
	chmod 755 "$TAP_DIR/run-t0"
	rm "$TAP_DIR"/spool-t0/records/*
	chmod 755 "$TAP_DIR"
	as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	nobody() { "${as_nobody[@]}" "$@"; }
	if nobody "$POPPA" --version >/dev/null 2>&1; then
		runs "status as somebody else" 0 nobody "$POPPA" status --conf "$POPPA_CONF" --node t0
		like "status as somebody else: no jobs that one may see" "$OUT" "jobs +none co-located here that you may see"
		# One user's open connections are in nobody else's way.
		"${as_nobody[@]}" perl -MIO::Socket::UNIX -e '
			my @s = map { IO::Socket::UNIX->new(Peer => $ARGV[0]) } 1 .. 8; $| = 1; print "open\n"; sleep 8' \
			"$TAP_DIR/run-t0/poppad.sock" >"$TAP_DIR/hog" &
		hog=$!
		for _ in $(seq 100); do
			grep -q open "$TAP_DIR/hog" && break
			sleep 0.05
		done
		runs "status of a user who has many connections" 1 nobody "$POPPA" status --conf "$POPPA_CONF" --node t0
		like "status of a user who has many connections: says so" "$ERR" "^poppa status: poppad at .*: too many ask at once: try again$"
		runs "status of root meanwhile" 0 "$POPPA" status --node t0
		kill "$hog"
		wait "$hog" 2>/dev/null
		runs "doctor as somebody else" 1 nobody "$POPPA" doctor --conf "$POPPA_CONF" --node t0
		like "doctor as somebody else: says what only root can see" "$OUT" "WARN +spool .* -> run poppa doctor as root"
	else
		skip "$POPPA is in a directory that others may not enter" "status as somebody else"
	fi
	kill -9 "$("$POPPA" status --json | sed 's/.*"guard_pid": \([0-9]*\).*/\1/')" "$pid"
	wait "$pid" 2>/dev/null
	runs "doctor after the death of both" 1 "$POPPA" doctor --node t0
	like "doctor after the death of both: poppad" "$OUT" "(FAIL|WARN) +poppad "
	"$POPPAD" -f -N t0 -c "$POPPA_CONF" 2>>"$TAP_DIR/poppad.log" &
	pid=$!
	wait_until 10 "$POPPA" status --node t0
	kill "$pid"
	wait "$pid"
else
	skip "poppad needs root" "status and doctor of a real poppad"
fi
done_testing
