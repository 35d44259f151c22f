# SPDX-License-Identifier: GPL-2.0-or-later
# POPPA_PKG(VARIABLE, MODULE-SPEC, DEBIAN-PACKAGE, RHEL-PACKAGE): a library that must be there.
# POPPA_PKG_LACKS(WHAT, DEBIAN-PACKAGE, RHEL-PACKAGE): something else that must, and is not.
# POPPA_PKG_END: an error that names all that are missing, with the packages that bring them.
AC_DEFUN([POPPA_PKG_LACKS], [
	AS_VAR_APPEND([poppa_lacks], ["
  $1"])
	AS_VAR_APPEND([poppa_debs], [" $2"])
	AS_VAR_APPEND([poppa_rpms], [" $3"])
])
AC_DEFUN([POPPA_PKG], [
PKG_CHECK_MODULES([$1], [$2], [], [POPPA_PKG_LACKS([$2], [$3], [$4])])
])
AC_DEFUN([POPPA_PKG_END], [
AS_IF([test -n "$poppa_lacks"],
	[AC_MSG_ERROR([these were not found, or are too old:$poppa_lacks
Debian: apt-get install$poppa_debs
RHEL/Rocky: dnf install$poppa_rpms
config.log has the details.])])
])
