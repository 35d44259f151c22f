# SPDX-License-Identifier: GPL-2.0-or-later
# POPPA_SLURM: finds the Slurm source tree that plugins compile against, or leaves the plugins out.
#
# Sets SLURM_SOURCE, SLURM_BUILD, SLURM_VERSION, SLURM_CPPFLAGS and SLURM_PLUGINDIR, all empty with
# --without-slurm, and the conditional HAVE_SLURM; and SLURM_PLUGINDIRS, patterns of the directories in which
# distributions, SchedMD's packages and builds by hand have Slurm's own plugins.
# A plugin is loaded only by exactly the Slurm release it was compiled for, so a source tree of
# another release than the installed Slurm is an error here, not a surprise at daemon start. With
# --disable-slurm-check no Slurm needs to be installed: for packagers, and to see what compiles.
AC_DEFUN([POPPA_SLURM], [
AC_ARG_WITH([slurm],
	[AS_HELP_STRING([--without-slurm], [leave the plugins out; the rest needs nothing of Slurm])],
	[], [with_slurm=yes])
AC_ARG_WITH([slurm-source],
	[AS_HELP_STRING([--with-slurm-source=DIR],
		[Slurm source tree of exactly the installed release (required for the plugins)])],
	[], [with_slurm_source=])
AC_ARG_WITH([slurm-build],
	[AS_HELP_STRING([--with-slurm-build=DIR],
		[configured build tree of that source; made below the build directory when not given])],
	[], [with_slurm_build=])
AC_ARG_WITH([slurm-plugindir],
	[AS_HELP_STRING([--with-slurm-plugindir=DIR],
		[directory of Slurm's own plugins, where the wrapped select plugin is found])],
	[], [with_slurm_plugindir=])
AC_ARG_ENABLE([slurm-check],
	[AS_HELP_STRING([--disable-slurm-check],
		[build for a Slurm that is not installed here; what comes out loads into exactly the release of the source tree])],
	[], [enable_slurm_check=yes])

SLURM_PLUGINDIRS='/usr/lib/*/slurm-wlm /usr/lib/*-linux-*/slurm /usr/lib64/slurm /usr/lib/slurm /usr/local/lib/slurm /opt/slurm/lib/slurm'
AS_IF([test "$with_slurm" != no], [POPPA_SLURM_TREE])
AM_CONDITIONAL([HAVE_SLURM], [test "$with_slurm" != no])
AC_SUBST([SLURM_SOURCE])
AC_SUBST([SLURM_BUILD])
AC_SUBST([SLURM_VERSION])
AC_SUBST([SLURM_CPPFLAGS])
AC_SUBST([SLURM_PLUGINDIR])
AC_SUBST([SLURM_PLUGINDIRS])
])

AC_DEFUN([POPPA_SLURM_TREE], [
AS_IF([test -z "$with_slurm_source" || test "$with_slurm_source" = no],
	[AC_MSG_ERROR([Slurm's source tree is needed: give --with-slurm-source=DIR, or --without-slurm for all but the plugins.
  Debian: enable deb-src and run "apt-get source slurm-wlm"; RHEL/Rocky: "dnf download --source slurm", or
  unpack the release's tarball.  "contrib/sandbox/install-deps" does it for the sandbox.])])
AC_MSG_CHECKING([for Slurm's source tree])
AS_IF([test -r "$with_slurm_source/src/common/slurm_xlator.h" && test -r "$with_slurm_source/META"],
	[SLURM_SOURCE=`cd "$with_slurm_source" && pwd`],
	[AC_MSG_RESULT([no])
	 AC_MSG_ERROR([$with_slurm_source is not a Slurm source tree: it lacks META or src/common/slurm_xlator.h.])])
SLURM_VERSION=`sed -n 's/^[[[:space:]]]*Version:[[[:space:]]]*//p' "$SLURM_SOURCE/META" | head -n 1`
AC_MSG_RESULT([$SLURM_SOURCE (Slurm $SLURM_VERSION)])

AC_MSG_CHECKING([for the installed Slurm's version])
slurm_installed=
for slurm_cmd in slurmctld slurmd scontrol sinfo; do
	slurm_bin=`PATH="$PATH:/usr/sbin:/usr/local/sbin:/opt/slurm/sbin:/opt/slurm/bin" command -v $slurm_cmd`
	AS_IF([test -n "$slurm_bin"],
		[slurm_installed=`"$slurm_bin" -V 2>/dev/null | sed -n 's/^[[^0-9]]*\(@<:@0-9@:>@@<:@0-9.@:>@*\).*/\1/p'`
		 break])
done
AC_MSG_RESULT([${slurm_installed:-not found}])
AS_IF([test "$enable_slurm_check" = no], [slurm_installed=$SLURM_VERSION])
AS_IF([test -z "$slurm_installed"],
	[AC_MSG_ERROR([no installed Slurm found (slurmctld, slurmd, scontrol or sinfo).
  Debian: apt-get install slurmctld slurmd slurm-client; RHEL/Rocky: dnf install slurm-slurmctld slurm-slurmd slurm])])
AS_IF([test "$slurm_installed" != "$SLURM_VERSION"],
	[AC_MSG_ERROR([Slurm $slurm_installed is installed but $SLURM_SOURCE is Slurm $SLURM_VERSION.
  A plugin loads only into exactly the release it was compiled for: give the source tree of $slurm_installed.])])

AS_IF([test -n "$with_slurm_build"],
	[AS_IF([test -r "$with_slurm_build/config.h" && test -r "$with_slurm_build/slurm/slurm_version.h"],
		[SLURM_BUILD=`cd "$with_slurm_build" && pwd`],
		[AC_MSG_ERROR([$with_slurm_build is not a configured Slurm build tree: it lacks config.h or slurm/slurm_version.h.
  Leave --with-slurm-build out and one is configured here.])])],
	[test -r "$SLURM_SOURCE/config.h" && test -r "$SLURM_SOURCE/slurm/slurm_version.h"],
	[SLURM_BUILD=$SLURM_SOURCE],
	[SLURM_BUILD=`pwd`/slurm-build
	 AC_MSG_CHECKING([whether Slurm's build tree is configured])
	 AS_IF([test -r "$SLURM_BUILD/config.h" && test -r "$SLURM_BUILD/slurm/slurm_version.h" &&
		test "`cat "$SLURM_BUILD/.version" 2>/dev/null`" = "$SLURM_VERSION"],
		[AC_MSG_RESULT([yes, $SLURM_BUILD])],
		[AC_MSG_RESULT([no: configuring it in $SLURM_BUILD, half a minute])
		 mkdir -p "$SLURM_BUILD" &&
		 (cd "$SLURM_BUILD" &&
		  env -u CFLAGS -u CPPFLAGS -u LDFLAGS "$SLURM_SOURCE/configure" --without-munge \
			${host_alias:+--host="$host_alias"} ${build_alias:+--build="$build_alias"} --disable-debug --enable-multiple-slurmd >configure.out 2>&1 &&
		  echo "$SLURM_VERSION" >.version) ||
			AC_MSG_ERROR([configuring $SLURM_SOURCE failed; see $SLURM_BUILD/configure.out])])])

AC_MSG_CHECKING([for the directory of Slurm's own plugins])
SLURM_PLUGINDIR=$with_slurm_plugindir
AS_IF([test -z "$SLURM_PLUGINDIR" && test "$enable_slurm_check" = no], [SLURM_PLUGINDIR=/usr/lib/slurm])
AS_IF([test -z "$SLURM_PLUGINDIR"],
	[for slurm_dir in $SLURM_PLUGINDIRS; do
		AS_IF([test -e "$slurm_dir/select_cons_tres.so"], [SLURM_PLUGINDIR=$slurm_dir; break])
	 done])
AS_IF([test -z "$SLURM_PLUGINDIR"],
	[AC_MSG_ERROR([select_cons_tres.so was not found in the usual places: give --with-slurm-plugindir=DIR.
  Debian: package slurm-wlm-basic-plugins; SchedMD's own: slurm-smd; RHEL/Rocky: slurm])])
AC_MSG_RESULT([$SLURM_PLUGINDIR])

SLURM_CPPFLAGS="-DHAVE_CONFIG_H -isystem $SLURM_BUILD -isystem $SLURM_SOURCE"
])
