# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The same cluster as a machine that QEMU emulates: its own systemd boots it, with cgroup v2. Sourced by tests/install.
#
#   plain_machine_packages      the packages that it needs beside those of plain_packages
#   plain_machine ROOT RELEASE  boots it from a copy of the folder ROOT, has tests/install run in there, and prints what that
#                               printed; fails where a point failed or the machine did not come to the test's end
#   plain_machine_up            in there: sets ROOT and HOST

plain_machine_packages() {
	# jq and iproute2 are for the test.
	echo linux-image-cloud-amd64 initramfs-tools kmod udev dbus iproute2 jq
}

# What the machine runs when it is up; it ends with the test.
plain_machine_service() {
	local root=$1 release=$2 at=$1/etc/systemd/system
	mkdir -p "$at/multi-user.target.wants"
	cat >"$at/poppa-test.service" <<-END
		[Unit]
		Description=tests/install in this machine
		After=basic.target

		[Service]
		Environment=POPPA_SANDBOX=/root/sandbox POPPA_TEST_BESIDE=yes HOME=/root LANG=C.UTF-8
		ExecStart=/root/tree/tests/install --inside --machine $release
		ExecStopPost=/bin/systemctl poweroff --force --force
		StandardOutput=file:/dev/ttyS1
		StandardError=file:/dev/ttyS0
	END
	ln -s ../poppa-test.service "$at/multi-user.target.wants/poppa-test.service"
	ln -sf /dev/null "$at/serial-getty@.service"
	# plain_cluster starts them.
	rm -f "$at"/multi-user.target.wants/{slurm{ctld,d,dbd},munge,mariadb}.service
}

plain_machine_disk() {
	local root=$1 release=$2
	mkdir -p "$root/root/tree" "$root/root/sandbox/install/logs-$release" "$root/root/sandbox/install/state-$release"
	(cd "$tree" && cp --parents -r contrib/sandbox tests/install tests/tap.sh tests/release "$root/root/tree") || return
	cp -r "$work/pages" "$root/root/sandbox/install/" || return
	plain_machine_service "$root" "$release"
	echo plain1 >"$root/etc/hostname"
	printf '127.0.0.1 localhost\n192.0.2.1 plain1\n' >"$root/etc/hosts"
	cp "$root"/boot/vmlinuz-* "$work/vmlinuz" && cp "$root"/boot/initrd.img-* "$work/initrd" || return
	rm -f "$work/disk"
	mke2fs -q -t ext4 -d "$root" "$work/disk" 6G
}

plain_machine() {
	local report=$work/machine.report console=$work/machine.console
	say "making the machine's disk" >&2
	plain_machine_disk "$1" "$2" >>"$logs/disk.log" 2>&1 || die "the machine's disk could not be made; see $logs/disk.log"
	say "booting it; what it prints is in $console" >&2
	: >"$report"
	setpriv --pdeathsig KILL qemu-system-x86_64 -name poppa-plain -nodefaults -display none -no-reboot \
		-M q35 -accel tcg,thread=multi -cpu max -smp 2,sockets=1,cores=2,threads=1 -m 2560 \
		-kernel "$work/vmlinuz" -initrd "$work/initrd" \
		-append "root=/dev/vda rw console=ttyS0 loglevel=5 panic=-1 nowatchdog mitigations=off" \
		-drive "file=$work/disk,format=raw,if=virtio" -device virtio-rng-pci \
		-serial "file:$console" -serial "file:$report" </dev/null >"$logs/qemu.log" 2>&1 &
	tail -n +1 --pid=$! -f "$report" 2>/dev/null | tr -d '\r'
	rm -f "$work/disk"
	cp "$report" "$console" "$logs/"
	grep -q '^1[.][.]' "$report" || bail_out "the machine ended before the test; $console may tell why"
	! grep -q '^not ok' "$report"
}

plain_machine_up() {
	ROOT=
	HOST=$(hostname)
	ip link set lo up
	# An address beside 127.0.0.1, without which names are not looked up. It leads nowhere.
	ip address add 192.0.2.1/32 dev lo
}
