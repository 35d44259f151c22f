# SPDX-License-Identifier: GPL-2.0-or-later
# What contrib builds, installs and ships.
include contrib/workloads/local.mk
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = contrib/completion/poppa
EXTRA_DIST += \
	contrib/ansible/README.md \
	contrib/ansible/roles/poppa/defaults/main.yml \
	contrib/ansible/roles/poppa/handlers/main.yml \
	contrib/ansible/roles/poppa/meta/main.yml \
	contrib/ansible/roles/poppa/tasks/lines.yml \
	contrib/ansible/roles/poppa/tasks/main.yml \
	contrib/ansible/roles/poppa/tasks/packages.yml \
	contrib/ansible/roles/poppa/tasks/services.yml contrib/ansible/roles/poppa/tasks/slurmd.yml \
	contrib/containers/Containerfile \
	contrib/containers/README.md \
	contrib/containers/install-packages \
	contrib/grafana/README.md \
	contrib/lmod/README.md contrib/lmod/poppa.lua.in \
	contrib/ondemand/README.md contrib/ondemand/form.yml contrib/ondemand/submit.yml.erb \
	contrib/prometheus/README.md contrib/prometheus/poppa.test.yml \
	contrib/sandbox/README.md \
	contrib/sandbox/conf.sh \
	contrib/sandbox/ctl \
	contrib/sandbox/daemons.sh \
	contrib/sandbox/demo \
	contrib/sandbox/down \
	contrib/sandbox/env \
	contrib/sandbox/install-deps \
	contrib/sandbox/lib.sh \
	contrib/sandbox/up

# Examples for Prometheus and Grafana, and a module file with the paths of this prefix.
dist_examples_DATA += \
	contrib/grafana/poppa-node.json \
	contrib/grafana/poppa-site.json \
	contrib/grafana/poppa-user.json \
	contrib/prometheus/poppa.rules.yml
modulefilesdir = $(pkgdatadir)/modulefiles
modulefiles_DATA = contrib/lmod/poppa.lua
CLEANFILES += contrib/lmod/poppa.lua
contrib/lmod/poppa.lua: contrib/lmod/poppa.lua.in Makefile
	$(AM_V_GEN)$(MKDIR_P) contrib/lmod && $(SED) -e 's|@VERSION[@]|$(VERSION)|g' -e 's|@prefix[@]|$(prefix)|g' \
		-e 's|@bindir[@]|$(bindir)|g' -e 's|@mandir[@]|$(mandir)|g' -e 's|@libdir[@]|$(libdir)|g' \
		$(srcdir)/contrib/lmod/poppa.lua.in >$@.new && mv $@.new $@
