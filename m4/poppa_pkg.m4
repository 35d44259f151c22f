# SPDX-License-Identifier: GPL-2.0-or-later
# POPPA_PKG(VARIABLE, MODULE-SPEC, DEBIAN-PACKAGE, RHEL-PACKAGE): a library that must be there.
# The message of a missing one names the packages that bring it.
AC_DEFUN([POPPA_PKG], [
PKG_CHECK_MODULES([$1], [$2], [],
	[AC_MSG_ERROR([$2 was not found. Debian: apt-get install $3; RHEL/Rocky: dnf install $4
  ($$1_PKG_ERRORS)])])
])
