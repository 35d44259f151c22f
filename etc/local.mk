# SPDX-License-Identifier: GPL-2.0-or-later
# What etc builds, installs and ships: units for systemd and examples of configuration.
examplesdir = $(docdir)/examples
dist_examples_DATA = etc/slurm.conf.example etc/plugstack.conf.example etc/poppa.conf.example

systemd_units = etc/poppad.service etc/poppa-ledgerd.service etc/poppa-metrics.service
systemdsystemunit_DATA = $(systemd_units) etc/poppa-metrics.timer
EXTRA_DIST += etc/poppad.service.in etc/poppa-ledgerd.service.in etc/poppa-metrics.service.in etc/poppa-metrics.timer
CLEANFILES += $(systemd_units)

etc/%.service: $(top_srcdir)/etc/%.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) etc && $(SED) -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@bindir[@]|$(bindir)|g' $< >$@.new && mv $@.new $@
