# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Makes the disk that all emulated machines start from, and keeps it in the sandbox's cache: with its kernel,
# until what it is made of changes. Sourced by tests/vm/run.
#
#   IMAGE                      where disk, kernel and initrd are
#   image_missing              it has to be made
#   make_image                 makes it, in a subshell of its own; some 4 GB are needed meanwhile

IMAGE=$CACHE/vm

# What the image depends on, as one line.
image_inputs() {
	{
		cat "$here/image.sh" "$here/packages" "$here/guest/stub" "$tree/tests/release/debian.sh"
		debian_release
		dpkg-query -W -f '${Version}\n' slurmctld
	} | sha256sum | cut -d' ' -f1
}

# The build's own release: its programs run in the machines.
debian_release() {
	sed -n 's/^VERSION_CODENAME=//p' /etc/os-release
}

image_missing() {
	[ "$(cat "$IMAGE/inputs" 2>/dev/null)" != "$(image_inputs)" ]
}

# Daemons start when a test says so.
populate() {
	local root=$1 user packages
	mapfile -t packages < <(grep -v '^#' "$here/packages" | tr ' ' '\n')
	debian_for_qemu "$root"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
	in_debian "$root" apt-get -q update || return 1
	in_debian "$root" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Options::=--force-confold \
		install --no-install-recommends "${packages[@]}" || return 1
	for user in "$DEMO_USER" "$OTHER_USER"; do
		in_debian "$root" useradd --system --no-create-home --shell /bin/bash "$user" || return 1
	done
	in_debian "$root" apt-get clean
	rm -rf "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}
	install "$here/guest/stub" "$root/sbin/poppa-vm"
}

make_image() {
	local root=$IMAGE/root
	mkdir -p "$IMAGE"
	exec 7>"$IMAGE/lock"
	flock -w 1800 7 || die "another script has been making $IMAGE for half an hour"
	image_missing || return 0
	# shellcheck disable=SC2064
	trap "rm -rf --one-file-system '$root'" EXIT
	rm -rf --one-file-system "$IMAGE"/{root,inputs,disk,vmlinuz,initrd}
	make_debian "$(debian_release)" "$root"
	populate "$root" >>"$root.log" 2>&1 || die "the machines' disk could not be filled; see $root.log"
	cp "$root"/boot/vmlinuz-* "$IMAGE/vmlinuz"
	cp "$root"/boot/initrd.img-* "$IMAGE/initrd"
	# Machines write to a copy that ends with them, so nothing is lost without a journal.
	mke2fs -q -t ext4 -O ^has_journal -d "$root" "$IMAGE/disk" 4G >>"$root.log" 2>&1 ||
		die "the disk could not be written; see $root.log"
	image_inputs >"$IMAGE/inputs"
	exec 7>&-
}
