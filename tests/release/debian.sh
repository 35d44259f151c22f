# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Makes a Debian in a folder and runs commands in it, for tests that need another one than this system's.
#
#   make_debian RELEASE ROOT   a minimal Debian, from the mirror that this system uses; its log is ROOT.log
#   debian_for_qemu ROOT       says, before a kernel is installed there, that its initrd needs what reaches a disk of QEMU, no more
#   in_debian ROOT CMD...      CMD as root in there, with mounts of its own, which end with it

make_debian() {
	local release=$1 root=$2 mirror script=/usr/share/debootstrap/scripts/$1
	# The first of this system's package sources that is Debian's own.
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | head -n 1)
	[ -n "$mirror" ] || die "this system's apt has no source of Debian's packages"
	# A release that is newer than debootstrap is made as the newest that it knows.
	[ -e "$script" ] || script=${script%/*}/sid
	rm -rf --one-file-system "$root"
	debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror" "$script" >"$root.log" 2>&1 ||
		die "debootstrap failed; see $root.log"
	echo "deb $mirror $release main" >"$root/etc/apt/sources.list"
	# Proxies and the like; mirrors fail now and then.
	{
		apt-config dump Acquire
		echo 'Acquire::Retries "3";'
	} >"$root/etc/apt/apt.conf.d/99host"
}

debian_for_qemu() {
	mkdir -p "$1/etc/initramfs-tools/conf.d"
	echo MODULES=list >"$1/etc/initramfs-tools/conf.d/qemu"
	printf '%s\n' virtio_pci virtio_blk ext4 >"$1/etc/initramfs-tools/modules"
}

in_debian() {
	cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
	# A bind mount makes the folder one that can hold others.
	# shellcheck disable=SC2016
	unshare --mount bash -ec '
		root=$1
		shift
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		for dir in sys dev; do
			mount --rbind "/$dir" "$root/$dir"
		done
		for dir in tmp run; do
			mount -t tmpfs tmpfs "$root/$dir"
		done
		exec chroot "$root" env -i HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
	' bash "$@"
}
