#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A job whose program lies on a file system that its user serves, and that stands still or answers late, takes no blocks
# from its co-runner, holds up no process of the node, and is named.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/neighbours.sh
. "$(dirname "$0")/neighbours.sh"
# shellcheck source=tests/integration/slowfs.sh
. "$(dirname "$0")/slowfs.sh"

! reason=$(no_fuse) || skip_all "$reason"
programs=${POPPA_SANDBOX_BUILD:-$POPPA_SANDBOX/build}/tests/integration
where=$SANDBOX_REAL_NODE
window=6
line=/dev/shm/poppa-test-46.$$
truncate -s 128 "$line"
chmod 666 "$line"
on_exit rm -f "$line"
# Without udev the device is root's; elsewhere all users have it.
mode=$(stat -c %a /dev/fuse)
on_exit chmod "$mode" /dev/fuse
chmod 666 /dev/fuse
home=$(home_of poppa-guest)
as poppa-guest mkdir -p "$home/folder" "$home/own" "$home/shared"
on_exit rm -rf "$home/folder" "$home/own" "$home/shared"
install -m 755 "$programs/crowd" "$home/folder/crowd"
bin=$(mktemp -d "$POPPA_SANDBOX/tmp/programs.XXXXXX")
on_exit rm -rf "$bin"
chmod 755 "$bin"
install -m 755 "$programs"/{crowd,cheat,victim} "$bin"

node_status() {
	status "$2"
}

# beside CROWD ARG...: has a co-runner whose task begins as that program. What $setup says comes before it.
beside() {
	SUBMIT_USER=poppa-guest submit -w "$where" --colocate -n1 -o /dev/null --wrap \
		"$setup srun sh -c 'sleep 1000 & exec $* $bin/cheat honest $line 0'"
	two=$job
	wait_running "$two"
}

named() {
	grep -q "job $two of uid $(id -u poppa-guest): its program cannot be looked at: .*FUSE" "$(ctl log poppad)"
}

# keeps NAME: the victim has as many blocks as beside an honest job, and the other job ends.
keeps() {
	ok "$1: the victim has blocks" more_blocks 10 60
	ok "$1: at their usual distance" wait_until 120 usual_distance
	cmp_num "$1: nine tenths of those beside an honest job" "$(counted)" '>=' "$((usual * 9 / 10))"
	diag "$1: of no use were $(status '.totals.discarded | tostring')"
	ok "$1: it ends" end_jobs "$two"
}

# The co-runner's program is to be probed.
conf=$POPPA_SANDBOX/etc/poppa.conf
cp "$conf" "$conf.saved"
on_exit rm -f "$conf.saved"
on_exit ctl restart poppad
on_exit cp "$conf.saved" "$conf"
echo 'Uprobe=crowd:main!' >>"$conf"
ctl restart poppad >/dev/null
on_exit ctl reconfigure --reset
ctl reconfigure poppa_period=50ms poppa_overhead_max=10% poppa_adaptive=no poppa_long=off >/dev/null
ok "short periods are taken up" wait_until 10 holds '.settings | contains("poppa_period=50ms")'
SUBMIT_USER=poppa-demo submit -w "$where" --colocate -n1 -o /dev/null --wrap "srun $bin/victim $line 100000 0 0.4"
one=$job
on_exit scancel "$one"
ok "the victim runs" wait_running "$one"

setup=
beside "$bin/crowd"
ok "beside an honest job it has blocks" more_blocks 5 30
usual=$(counted)
cmp_num "namely some" "$usual" '>' 20
end_jobs "$two"

# The user's own, which lets nobody else in, not even root.
answers
on_exit umount -l "$home/own"
setup="$slowfs folder own $slowfs_control & until [ -e own/crowd ]; do sleep 0.1; done;"
beside "$home/own/crowd" reads "$home/own/crowd"
# Root cannot look at it, and so not whether it is a mount point.
ok "dead: the user has mounted it" wait_until 30 grep -q -F " $home/own fuse" /proc/self/mounts
nok "dead: root is not let in" ls "$home/own"
ok "dead: the job is named" wait_until 30 named
stalls
ok "dead: a task waits for it" wait_until 30 waited '^[a-z]+ /'
keeps dead
answers

# One for all, where it matters how fast it answers.
serve "$home/folder" "$home/shared" || bail_out "$home/shared cannot be served: $(cat "$slowfs_control.out")"
delays 400
setup=
beside "$home/shared/crowd" reads "$home/shared/crowd"
ok "slow: the job is named" wait_until 60 named
keeps slow

end_jobs "$one"
done_testing
