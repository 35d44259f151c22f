# SPDX-License-Identifier: GPL-2.0-or-later
# What etc builds, installs and ships: units for systemd and examples of configuration.
examplesdir = $(docdir)/examples
dist_examples_DATA = etc/slurm.conf.example etc/plugstack.conf.example etc/poppa.conf.example

systemdsystemunit_DATA = etc/poppad.service etc/poppa-ledgerd.service
EXTRA_DIST += etc/poppad.service.in etc/poppa-ledgerd.service.in
CLEANFILES += $(systemdsystemunit_DATA)

etc/%.service: $(top_srcdir)/etc/%.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) etc && $(SED) -e 's|@sbindir[@]|$(sbindir)|g' $< >$@.new && mv $@.new $@
