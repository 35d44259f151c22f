#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What users without rights try: to raise their discount, to see or touch what is others', to bring daemons down.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/clients.sh
. "$(dirname "$0")/clients.sh"

build=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}
contend=$build/contrib/workloads/contend
node=$SANDBOX_REAL_NODE
of_node() {
	sed -n "s/^$1=//p" "$POPPA_CONF" | sed "s/%n/$node/"
}
run=$(of_node RunDir)
spool=$(of_node SpoolDir)
ledger_dir=$(of_node StateDir)
munge_socket=$(of_node MungeSocket)
port=$(sed -n 's/^LedgerListen=.*://p' "$POPPA_CONF")
state=$(sed -n 's/^StateSaveLocation=//p' "$SLURM_CONF")
tmp=$(mktemp -d "$POPPA_SANDBOX/tmp/security.XXXXXX")
on_exit rm -rf "$tmp"
chmod 755 "$tmp"
install -m 755 "$tests_dir/integration/attack.py" "$tmp/attack.py"

settled() {
	[[ $(sacct_field "$1" SystemComment) == *"poppa: "* ]]
}

# fact ID KEY: of the job's price in sacct.
fact() {
	sacct_field "$1" SystemComment | sed -n 's/.*poppa: //p' | tr ' ' '\n' | sed -n "s/^$2=//p"
}

# ask USER JSON [MUNGE-OPTION]...: the ledger's answer to a request of that user, as JSON or in unmunge's words.
ask() {
	local user=$1 request=$2 credential answer
	shift 2
	credential=$(as "$user" munge --socket="$munge_socket" "$@" <<<"$request" | tr -d '\n')
	answer=$(exec 3<>"/dev/tcp/127.0.0.1/$port" && printf '%s\n' "$credential" >&3 && timeout 10 head -n 1 <&3)
	as "$user" unmunge --socket="$munge_socket" --metadata=/dev/null <<<"$answer" 2>&1
}

# asked USER JSON: poppad's answer.
asked() {
	as "$1" /usr/bin/python3 - "$run/poppad.sock" "$2" <<-'END'
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.settimeout(10)
		s.connect(sys.argv[1])
		s.sendall(sys.argv[2].encode() + b"\n")
		print(s.makefile().readline().strip())
	END
}

ledger_count() {
	ask root '{"op":"status","nonce":"n"}' | jq "$1"
}

# --- What is installed gives nobody another's rights, and what the daemons keep is closed.
usr=$(dirname "$(dirname "$(command -v poppa)")")
is "no installed file is set-uid or set-gid" "$(find "$usr" -type f -perm /6000)" ""
if command -v getcap >/dev/null; then
	is "nor has capabilities" "$(getcap -r "$usr" 2>/dev/null)" ""
else
	skip "getcap is not installed (libcap2-bin)" "nor has capabilities"
fi
for at in "$run/jobs" "$spool" "$ledger_dir"; do
	nok "a user cannot look into ${at##*/}" as poppa-guest ls "$at"
done
nok "nor read the list of what is held" as poppa-guest head -c 1 "$run/held"
nok "nor write to it" as poppa-guest sh -c ": >>'$run/held'"
nok "nor put another in its place" as poppa-guest sh -c "ln -sf /dev/null '$run/held.new' || mv '$tmp/x' '$run/held'"
nok "nor register a job" as poppa-guest sh -c ": >'$run/jobs/999999.0'"
nok "nor change what slurmd has told" as poppa-guest sh -c ": >>'$run/cluster.conf'"
# shellcheck disable=SC2012
is "nor read what the plugins keep in slurmctld's state" \
	"$(for f in "$state"/poppa_*; do [ -e "$f" ] && as poppa-guest head -c 1 "$f" 2>/dev/null; done)" ""
open=$tmp/open
mkdir -p "$open/run/jobs" "$open/spool"
chmod go+w "$open/run/jobs"
printf 'RunDir=%s\nSpoolDir=%s\n' "$open/run" "$open/spool" >"$open/poppa.conf"
like "poppad refuses to work from a folder that others may write to" \
	"$(timeout 10 poppad -N nowhere -c "$open/poppa.conf" 2>&1)" "$open/run/jobs must belong to root and be writable by nobody else"

# registration ID KEY: what slurmd has told poppad of the job.
registration() {
	sed -n "s/^$2=//p" "$run/jobs/$1.0" | tr -d '"'
}

# --- A pair of jobs of two users, the one with all that a user can put around a job.
ctl reconfigure poppa_period=200ms poppa_shutter=20ms poppa_overhead_max=20% poppa_min_blocks=3 poppa_settle_timeout=5s >/dev/null
on_exit ctl reconfigure --reset
line=/dev/shm/poppa-test-56.$$
on_exit rm -f "$line"
# A library of the user's own in every program that the job starts, and a poppa.conf of his own.
lib=$(ldconfig -p | sed -n 's/.*libm\.so\.6.* => //p' | head -n 1)
install -m 755 "$lib" "$tmp/libforged.so"
printf 'RunDir=%s\nSpoolDir=%s\nCounter=none\n' "$open/run" "$open/spool" >"$tmp/poppa.conf"
chmod 644 "$tmp/poppa.conf"
evil='poppa: d=0.9000 raw=1000 charged=1 policy=thesis'
work="srun $contend --line $line --seconds 600 --private 60"
SUBMIT_USER=poppa-guest submit --colocate -n1 --wrap "$work"
victim=$job
# tasks_of JOB: another sandbox on this machine may have jobs of the same number and users.
tasks_of() {
	local p
	for p in $(pgrep -x contend); do
		grep -q -s -z -x -F "SLURM_JOB_ID=$1" "/proc/$p/environ" &&
			grep -q -s -z -x -F "SLURM_CONF=$SLURM_CONF" "/proc/$p/environ" && echo "$p"
	done
}
printf '#!/bin/bash\nenv >%s\nexec %s\n' "$(home_of)/security-env.\$SLURM_JOB_ID" "$work" >"$tmp/job.sh"
on_exit eval "rm -f '$(home_of)'/security-env.*"
submit --colocate -n1 -J "$evil" --comment "$evil" \
	--export "ALL,LD_PRELOAD=$tmp/libforged.so,POPPA_CONF=$tmp/poppa.conf,COLOCATE=spread,COLOCATE_SEED=0,SPANK_COLOCATE_SEED=0" \
	"$tmp/job.sh"
forger=$job
if [ -x "$contend" ] && wait_running "$victim" && wait_running "$forger"; then
	registered() {
		[ -e "$run/jobs/$forger.0" ] && [ -e "$run/jobs/$victim.0" ]
	}
	ok "both are registered on the node, whatever POPPA_CONF says" wait_until 20 registered
	is "with the option as it was submitted" "$(registration "$forger" Colocate)" stripe
	like "and a seed that nobody chose" "$(registration "$forger" Seed)" '^[0-9a-f]{32}$'
	seed=$(registration "$forger" Seed)
	ok "the job has written down what it is told" wait_until 20 grep -q SLURM_JOB_ID= "$(home_of)/security-env.$forger"
	is "which is not the seed" "$(grep -c -F "$seed" "$(home_of)/security-env.$forger")" 0
	is "nor its owner" "$({ as_user scontrol -d show job "$forger"; as_user sacct -j "$forger" -P -o ALL; } | grep -c -F "$seed")" 0
	wait_until 20 eval '[ -n "$(tasks_of $victim)" ]'
	preloaded() {
		local p
		for p in $(tasks_of "$forger"); do grep -q -s libforged.so "/proc/$p/maps" && return; done
		return 1
	}
	ok "the job's own programs have the preloaded library" wait_until 20 preloaded
	loaded=
	for d in poppad ledgerd slurmctld slurmd; do
		grep -q libforged.so "/proc/$(ctl pid $d)/maps" && loaded+=" $d"
	done
	grep -q -s libforged.so "/proc/$(poppa status -N "$node" --json | jq .guard_pid)/maps" && loaded+=" poppa-guard"
	is "and no daemon has" "$loaded" ""

	# Another's tasks.
	victim_task=$(tasks_of "$victim" | head -n 1)
	nok "a user cannot stop another's tasks" as_user kill -STOP "$victim_task"
	nok "nor resume them" as_user kill -CONT "$victim_task"
	nok "nor open what they publish their progress in" as_user ls "/proc/$victim_task/fd/"
	thawed=$(find /sys/fs/cgroup -path "*job_$victim*" \( -name freezer.state -o -name cgroup.freeze -o -name cgroup.procs \) 2>/dev/null)
	is "nor write to their cgroups" "$(for f in $thawed; do as_user sh -c "echo THAWED >>'$f'" 2>/dev/null && echo "$f"; done)" ""
	cmp_num "of which there are some" "$(wc -w <<<"$thawed")" '>' 0
	# What poppad freezes its owner cannot set going. Here root freezes it for longer than a shutter, and there are no
	# shutters meanwhile: poppad thaws what it froze itself.
	own_task=$(tasks_of "$forger" | head -n 1)
	ice=$(find /sys/fs/cgroup -path "*job_$forger/*" -path '*step_0*' \( -name freezer.state -o -name cgroup.freeze \) 2>/dev/null |
		awk '{ print length, $0 }' | sort -n | sed -n '1s/^[0-9]* //p')
	if [ -n "$ice" ]; then
		[ "${ice##*/}" = freezer.state ] && cold=FROZEN warm=THAWED || cold=1 warm=0
		on_exit sh -c "[ ! -e '$ice' ] || echo $warm >'$ice'"
		run_time() { awk '{ print $14 + $15 }' "/proc/$own_task/stat"; }
		ask_poppad '{"op":"hold","seconds":60}' >/dev/null
		echo $cold >"$ice"
		ok "root freezes a task" wait_until 20 grep -q -s -x -e FROZEN -e 'frozen 1' "$ice" "${ice%/*}/cgroup.events"
		before=$(run_time)
		as_user kill -CONT "$own_task"
		sleep 0.5
		is "a user's signal does not wake what is frozen" "$(run_time)" "$before"
		echo $warm >"$ice"
		ask_poppad '{"op":"release"}' >/dev/null
		runs_on() { [ "$(run_time)" -gt "$before" ]; }
		ok "which runs on when it is let go" wait_until 20 runs_on
	else
		skip "the job's cgroup has no freezer" "a user's signal does not wake what is frozen"
	fi
	for d in "$(ctl pid poppad)" "$(poppa status -N "$node" --json | jq .guard_pid)"; do
		nok "nor signal $(cat "/proc/$d/comm")" as_user kill -0 "$d"
	done
	for op in '{"op":"hold","seconds":100}' '{"op":"release"}'; do
		like "only root may ask $op" "$(asked poppa-demo "$op")" 'only root may do this'
	done
	is "poppad tells nothing of others' jobs" "$(asked poppa-demo '{"op":"status","uid":0,"job":'"$victim"'}' |
		jq -c '[.jobs[].job]')" "[$forger]"

	# The ledger, while the jobs run.
	refused=$(ledger_count .since_start.refused)
	record='{"cluster":"sandbox","job":'$forger',"restart":0,"node":"'$node'","uid":'$(id -u poppa-demo)',"seq":999999,"final":true,"lane":0,
		"cores":1,"start":'$(date +%s)',"end":'$(date +%s)',"co_ns":1000000000,"solo_ns":0,"paused_ns":0,"unmeasured_ns":0,"blocks":1000,
		"used":1000,"degradation":0.9,"variance":0.000001,"thesis_degradation":0.9,"method":"robust","backend":"perf","partners":['$victim']}'
	price='{"cluster":"sandbox","job":'$forger',"restart":0,"start":'$(date +%s)',"end":'$(date +%s)',"uid":'$(id -u poppa-demo)',
		"settled":'$(date +%s)',"raw":1000,"charged":0,"degradation":0.9,"lo":0.9,"hi":0.9,"stopped":0,"policy":"thesis","version":1,"text":"forged"}'
	like "a user's record is refused" "$(ask poppa-demo '{"op":"record","nonce":"n","records":['"$record"']}')" 'not allowed'
	like "a user's price is refused" "$(ask poppa-demo '{"op":"settle","nonce":"n","settlement":'"$price"'}')" 'not allowed'
	stranger=$(ask poppa-demo '{"op":"job","nonce":"n","cluster":"sandbox","job":'"$victim"',"restart":0,"start":0}')
	nobody=$(ask poppa-demo '{"op":"job","nonce":"n","cluster":"sandbox","job":4000000,"restart":0,"start":0}')
	is "a user who asks for another's job is told nothing of it" "$(jq -c '[.records, .settlement, .changes]' <<<"$stranger")" '[[],null,[]]'
	is "and the same of a job that does not exist" "$stranger" "$nobody"
	cmp_num "what is refused is counted" "$(ledger_count .since_start.refused)" '>=' "$((refused + 2))"

	# The price, once it is there.
	scancel "$forger" "$victim"
	for j in "$forger" "$victim"; do
		wait_end "$j" 120
		ok "job $j is settled" wait_until 60 settled "$j"
	done
	text=$(sacct_field "$forger" SystemComment)
	diag "$text"
	unlike "neither name nor comment nor record nor price made it so" "$text" 'd=0\.9000|charged=1 |forged'
	is "nor is the forged record in the ledger" "$(poppa ledger export | grep -c '"seq":999999')" 0
	cmp_num "which has the node's own" "$(poppa ledger export | grep -c '"job":'"$forger"',.*"kind":"record"')" '>' 0
	for update in "SystemComment=$evil" "AdminComment=$evil" "Extra=$evil" "Comment=$evil"; do
		as_user scontrol update job="$forger" "$update" >/dev/null 2>&1
		as_user sacctmgr -i modify job where jobid="$forger" set "${update,,}" >/dev/null 2>&1
	done
	as_user sacctmgr -i modify job where jobid="$forger" set "tres=billing=1" >/dev/null 2>&1
	sleep 1
	is "a user cannot edit it afterwards" "$(sacct_field "$forger" SystemComment)" "$text"
	is "and is charged what it says" "$(sacct_field "$forger" AllocTRES | tr , '\n' | sed -n 's/^billing=//p')" "$(fact "$forger" charged)"
else
	skip "mpicc was not found, or the pair did not start" "what a user can do while jobs run"
fi

# --- A client of the user's own, with a seed of the user's own.
if has_forger; then
	chosen=00112233445566778899aabbccddeeff
	forged FORGED_COLOCATE=stripe FORGED_SEED=$chosen sbatch --parsable -n1 --wrap 'sleep 10'
	job=$out
	jobs_submitted+=("$job")
	wait_running "$job"
	wait_until 20 test -e "$run/jobs/$job.0"
	like "a seed that a forged client brings is replaced" "$(registration "$job" Seed)" '^[0-9a-f]{32}$'
	is "by another" "$(grep -c $chosen "$run/jobs/$job.0")" 0
	scancel "$job"
else
	skip "$NO_FORGER" "a seed from a forged client"
fi

# --- Names that mean something in a page.
submit --colocate -n1 -p fake -J '<script>alert(1)</script>"'"'"'&|poppa: d=0.9' --wrap true
named=$job
wait_end "$named"
ok "a job with a name that is a script is settled" wait_until 60 settled "$named"
page=$tmp/page.html
poppa report -j "$named" --html "$page"
is "the report's page runs no script" "$(grep -c -i '<script' "$page")" 0
like "but shows the name" "$(cat "$page")" '&lt;script&gt;alert\(1\)&lt;/script&gt;'
is "and the name makes no price" "$(poppa report -j "$named" --json | jq '.total.charged == .total.raw')" true

# --- Keys: another cluster's, and one that is too old.
mkdir "$tmp/munge"
head -c 128 /dev/urandom >"$tmp/munge/key"
chmod 400 "$tmp/munge/key"
chown -R munge: "$tmp/munge"
setpriv --reuid munge --regid munge --clear-groups munged --foreground --key-file="$tmp/munge/key" --socket="$tmp/munge/sock" \
	--pid-file="$tmp/munge/pid" --seed-file="$tmp/munge/seed" --log-file="$tmp/munge/log" >/dev/null 2>&1 &
munged=$!
on_exit kill "$munged"
request='{"op":"unsettled","cluster":"sandbox","nonce":"n"}'
wait_until 10 sh -c "munge -n -S '$tmp/munge/sock' | unmunge -S '$tmp/munge/sock'"
foreign=$(munge -S "$tmp/munge/sock" <<<"$request" | tr -d '\n')
answer=$(exec 3<>"/dev/tcp/127.0.0.1/$port" && printf '%s\n' "$foreign" >&3 && timeout 10 head -n 1 <&3)
like "root with another key is nobody" "$(unmunge -S "$munge_socket" --metadata=/dev/null <<<"$answer")" 'Invalid credential'
stale=$(munge -S "$munge_socket" --ttl=1 <<<"$request" | tr -d '\n')
sleep 2.5
answer=$(exec 3<>"/dev/tcp/127.0.0.1/$port" && printf '%s\n' "$stale" >&3 && timeout 10 head -n 1 <&3)
like "an old credential of root's is worth nothing" "$(unmunge -S "$munge_socket" --metadata=/dev/null <<<"$answer")" 'Expired credential'
like "one for another reader is not for the ledger" "$(ask root "$request" --restrict-uid="$(id -u poppa-guest)")" \
	'Unauthorized credential|Invalid'

# --- Root of another host, who has the cluster's key: a ledger of this test's own, on a network of its own.
if unshare -n ip link show lo >/dev/null 2>&1; then
	far=$tmp/far
	mkdir "$far"
	printf 'StateDir=%s\nMungeSocket=%s\nLedgerListen=192.0.2.1:6824\nLedgerUser=root\nLedgerControllers=192.0.2.3\n' \
		"$far/state" "$munge_socket" >"$far/poppa.conf"
	unshare -n sh -c "ip link set lo up
		for n in 1 2 3; do ip address add 192.0.2.\$n/32 dev lo; done
		exec poppa-ledgerd -c '$far/poppa.conf'" >"$far/log" 2>&1 &
	far_ledger=$!
	on_exit kill "$far_ledger"
	ok "a ledger for hosts apart is up" wait_until 20 grep -q ' serves ' "$far/log"
	# from ADDRESS JSON: what it answers to root there.
	from() {
		munge --socket="$munge_socket" <<<"$2" | tr -d '\n' |
			nsenter -n -t "$far_ledger" /usr/bin/python3 -c '
import socket, sys
s = socket.create_connection(("192.0.2.1", 6824), 10, (sys.argv[1], 0))
s.sendall(sys.stdin.buffer.read() + b"\n")
print(s.makefile().readline().strip())' "$1" | unmunge --socket="$munge_socket" --metadata=/dev/null
	}
	wanted='{"cluster":"sandbox","job":7,"restart":0,"start":1700000000,"end":1700000100,"uid":1000,"settled":1700000200,
		"raw":1000,"charged":1,"degradation":0.9,"lo":0.9,"hi":0.9,"stopped":0,"policy":"thesis","version":1,"text":"forged"}'
	for op in settle restore change changed; do
		like "a node's root may not ask: $op" \
			"$(from 192.0.2.2 '{"op":"'$op'","nonce":"n","reason":"none","settlement":'"$wanted"'}')" 'LedgerControllers'
	done
	like "nor say which nodes a job had" "$(from 192.0.2.2 \
		'{"op":"job","nonce":"n","cluster":"sandbox","job":7,"restart":0,"start":0,"nodes":[]}')" 'LedgerControllers'
	is "which is counted" "$(from 192.0.2.2 '{"op":"status","nonce":"n"}' |
		jq -c '[.refused.not_from_controller.count, .stored.settlements, .stored.events]')" '[5,0,0]'
	is "a controller's may" "$(from 192.0.2.3 '{"op":"settle","nonce":"n","settlement":'"$wanted"'}' | jq -c '[.ok, .first]')" \
		'[true,true]'
	is "and root on the ledger's host" \
		"$(from 192.0.2.1 '{"op":"settle","nonce":"n","settlement":'"$wanted"'}' | jq -c '[.ok, .first]')" '[true,false]'
	kill "$far_ledger"
	wait "$far_ledger" 2>/dev/null
else
	skip "no network namespace can be made here" "root of another host"
fi

# --- The daemons: each attack by a user, each looked at as root while it goes on.
memory() {
	awk '/^Vm(RSS|Swap)/ { n += $2 } END { print n }' "/proc/$1/status"
}

# serves poppad|ledgerd: it answers root.
serves() {
	if [ "$1" = poppad ]; then
		timeout 15 poppa status -N "$node" --json
	else
		grep -q '^poppa_ledger_up{.*} 1' <<<"$(timeout 15 poppa metrics --ledger)"
	fi
}

# attack DAEMON WHERE WAY SECONDS [FILTER]: FILTER is what must hold of the attacker's own account.
attack() {
	local daemon=$1 where=$2 way=$3 seconds=$4 filter=${5:-true} pid before
	pid=$(ctl pid "$daemon")
	before=$(memory "$pid")
	as poppa-guest timeout 120 "$tmp/attack.py" "$way" "$seconds" "$where" >"$tmp/attack.out" 2>&1 &
	sleep 1
	ok "$daemon, $way: root is served meanwhile" serves "$daemon"
	wait "$!"
	if [ "$(jq "$filter" "$tmp/attack.out" 2>/dev/null)" = true ]; then
		pass "$daemon, $way: $(cat "$tmp/attack.out")"
	else
		fail "$daemon, $way" "$filter does not hold of: $(cat "$tmp/attack.out")"
	fi
	is "$daemon, $way: it lives" "$(ctl pid "$daemon")" "$pid"
	cmp_num "$daemon, $way: its memory has not grown by much (kB)" "$(($(memory "$pid") - before))" '<' 32768
}

for daemon in poppad ledgerd; do
	[ $daemon = poppad ] && where=unix:$run/poppad.sock || where=tcp:$port
	attack $daemon "$where" malformed 30 '.sent > 100 and .answered == .sent'
	attack $daemon "$where" oversized 5 '.cut_off and .taken < 4000000'
	attack $daemon "$where" slow 15
	attack $daemon "$where" deaf 5
	attack $daemon "$where" flood 5
done
is "a user has so many of poppad's connections and no more" \
	"$(as poppa-guest "$tmp/attack.py" slow 1 "unix:$run/poppad.sock" | jq '.held <= 8')" true
like "nothing went wrong unseen" "$(poppa doctor -N "$node" 2>&1 | grep -E '^FAIL' || echo none)" '^none$'
done_testing
