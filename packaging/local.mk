# SPDX-License-Identifier: GPL-2.0-or-later
# Packages for Debian and for RHEL and its kin, and the scripts that their triggers and apt run.
EXTRA_DIST += \
	packaging/poppa-slurm-link.in \
	packaging/poppa-slurm-lock \
	packaging/slurm-tarball \
	packaging/debian/20poppa-slurm \
	packaging/debian/build \
	packaging/debian/control \
	packaging/debian/copyright \
	packaging/debian/libpoppa-heartbeat0.install \
	packaging/debian/libpoppa-heartbeat-dev.install \
	packaging/debian/libpoppa-heartbeat-mpi.install \
	packaging/debian/libpoppa-heartbeat-mpi.lintian-overrides \
	packaging/debian/libpoppa-heartbeat-mpi.triggers \
	packaging/debian/libpoppa-horton0.install \
	packaging/debian/libpoppa-horton-dev.install \
	packaging/debian/poppa.install \
	packaging/debian/poppa.lintian-overrides \
	packaging/debian/poppa-ledger.install \
	packaging/debian/poppa-ledger.prerm \
	packaging/debian/poppa-node.install \
	packaging/debian/poppa-node.prerm \
	packaging/debian/poppa-slurm-plugins.install \
	packaging/debian/poppa-slurm-plugins.postinst \
	packaging/debian/poppa-slurm-plugins.prerm \
	packaging/debian/poppa-slurm-plugins.triggers.in \
	packaging/debian/rules \
	packaging/debian/source/format \
	packaging/debian/source/lintian-overrides \
	packaging/rpm/build \
	packaging/rpm/poppa.spec \
	packaging/rpm/rpmlint.toml

if HAVE_SLURM
pkglibexec_SCRIPTS += packaging/poppa-slurm-link
endif
CLEANFILES += packaging/poppa-slurm-link
packaging/poppa-slurm-link: $(top_srcdir)/packaging/poppa-slurm-link.in Makefile
	$(AM_V_GEN)$(MKDIR_P) packaging && $(SED) -e 's|@poppalinks[@]|$(poppalinks)|g' -e 's|@SLURM_PLUGINDIRS[@]|$(SLURM_PLUGINDIRS)|g' $< >$@.new && \
		chmod +x $@.new && mv $@.new $@

# What packages need of a build, without the programs of the tests.
.PHONY: installed deb rpm
installed: $(bin_PROGRAMS) $(sbin_PROGRAMS) $(pkglibexec_PROGRAMS) $(pkglibexec_SCRIPTS) $(lib_LTLIBRARIES)

# Packages go into dist/ here. "make deb SLURM_SOURCE=DIR", or rpm, builds the plugins for the Slurm of that source tree.
deb: dist
	$(top_srcdir)/packaging/debian/build --out dist $(distdir).tar.xz "$(SLURM_SOURCE)"
rpm: dist
	$(top_srcdir)/packaging/rpm/build --out dist $(distdir).tar.xz "$(SLURM_SOURCE)"
