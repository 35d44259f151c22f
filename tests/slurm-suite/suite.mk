# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm's own tests, run with the plugins in front: what is shipped.
EXTRA_DIST += tests/slurm-suite/clusters.sh \
	tests/slurm-suite/left-out.list \
	tests/slurm-suite/run \
	tests/slurm-suite/tests.list
