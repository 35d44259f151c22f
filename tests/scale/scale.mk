# SPDX-License-Identifier: GPL-2.0-or-later
# Clusters of a slurmctld alone, to see how jobs are placed: what is shipped.
EXTRA_DIST += tests/scale/cloud.sh \
	tests/scale/preempt \
	tests/scale/preempt_report.py \
	tests/scale/run \
	tests/scale/scale_report.py
