# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Starts and ends the two emulated machines, n1 and n2. Sourced by tests/vm/run, whose $work it uses: all of
# their sockets are files there.
#
#   start_machines KEEP WORK PARTS   KEEP is yes or no, WORK and PARTS go to the checks
#   machine_runs NODE, stop_machines
#   $work/NODE.console, $work/NODE.report   what a machine has printed, for the reader and for tests/vm/run

declare -A machine_pid=()
# Where many processors have to share few, those that wait for each other do so for as long as the others run.
threads=$([ "$(nproc)" -ge 16 ] && echo multi || echo single)

# start_machine NODE COMMAND-LINE NETDEV: ends with this script, even when that is killed, and not with a
# terminal's interrupt, which is for the script.
start_machine() {
	local node=$1
	# Each socket is a NUMA node, as in most real machines.
	TMPDIR=$work setpriv --pdeathsig KILL setsid qemu-system-x86_64 -name "poppa-vm-$node" -nodefaults -display none -no-reboot \
		-M q35 -accel tcg,thread=$threads,tb-size=512 -cpu max -smp 16,sockets=2,cores=8,threads=1 -m 2048 \
		-object memory-backend-ram,id=m0,size=1024M -object memory-backend-ram,id=m1,size=1024M \
		-numa node,nodeid=0,memdev=m0,cpus=0-7 -numa node,nodeid=1,memdev=m1,cpus=8-15 \
		-kernel "$IMAGE/vmlinuz" -initrd "$IMAGE/initrd" \
		-append "root=/dev/vda rw init=/sbin/poppa-vm console=ttyS0 loglevel=6 panic=-1 nowatchdog no_timer_check lpj=8000000 mitigations=off rcupdate.rcu_cpu_stall_suppress=1 net.ifnames=0 vm.node=$node $2" \
		-drive "file=$IMAGE/disk,format=raw,if=virtio,snapshot=on" \
		-drive "file=$work/run.disk,format=raw,if=virtio,readonly=on" \
		-netdev "$3" -device "virtio-net-pci,netdev=net,mac=52:54:00:00:00:0${node#n}" \
		-device virtio-rng-pci \
		-chardev "socket,id=console,path=$work/$node.socket,server=on,wait=off,logfile=$work/$node.console" -serial chardev:console \
		-serial "file:$work/$node.report" \
		</dev/null >"$work/$node.qemu" 2>&1 &
	machine_pid[$node]=$!
}

machine_runs() {
	kill -0 "${machine_pid[$1]}" 2>/dev/null
}

start_machines() {
	local options="vm.keep=$1 vm.work=$2 vm.parts=$3" try
	start_machine n1 "$options" "stream,id=net,server=on,addr.type=unix,addr.path=$work/net"
	for ((try = 0; try < 600; try++)); do
		[ ! -S "$work/net" ] || break
		machine_runs n1 || return 1
		sleep 0.1
	done
	start_machine n2 "$options" "stream,id=net,server=off,addr.type=unix,addr.path=$work/net"
}

# Each job in this script's background is a machine, also one that has not been noted yet.
stop_machines() {
	# An interrupted "IFS= read" would still have its own.
	local pid IFS=$' \t\n'
	for pid in $(jobs -pr); do
		kill -KILL "$pid"
		wait "$pid"
	done 2>/dev/null
	machine_pid=()
}
