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
	contrib/ansible/roles/poppa/tasks/services.yml \
	contrib/containers/Containerfile \
	contrib/containers/README.md \
	contrib/containers/install-packages \
	contrib/grafana/README.md \
	contrib/grafana/poppa.json \
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
