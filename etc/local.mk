# SPDX-License-Identifier: GPL-2.0-or-later
# What etc builds, installs and ships: units for systemd and examples of configuration.
examplesdir = $(docdir)/examples
dist_examples_DATA = etc/poppa.conf.example
# What names files of the suite is written for the prefix /usr, and is installed with the one that was chosen.
nodist_examples_DATA = etc/installed/slurm.conf.example etc/installed/plugstack.conf.example
EXTRA_DIST += etc/slurm.conf.example etc/plugstack.conf.example
CLEANFILES += $(nodist_examples_DATA)
SET_PREFIX = $(SED) -e 's|/usr/lib/poppa|$(prefix)/lib/poppa|g' -e 's|/usr/lib/libpoppa|$(libdir)/libpoppa|g'

etc/installed/%: $(top_srcdir)/etc/% Makefile
	$(AM_V_GEN)$(MKDIR_P) etc/installed && $(SET_PREFIX) $< >$@.new && mv $@.new $@

systemd_units = etc/poppad.service etc/poppa-ledgerd.service etc/poppa-metrics.service etc/poppa-ledger-metrics.service
systemd_timers = etc/poppa-metrics.timer etc/poppa-ledger-metrics.timer
systemdsystemunit_DATA = $(systemd_units) $(systemd_timers)
EXTRA_DIST += etc/poppad.service.in etc/poppa-ledgerd.service.in etc/poppa-metrics.service.in etc/poppa-ledger-metrics.service.in \
	$(systemd_timers)
CLEANFILES += $(systemd_units)

etc/%.service: $(top_srcdir)/etc/%.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) etc && $(SED) -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@bindir[@]|$(bindir)|g' $< >$@.new && mv $@.new $@
