# SPDX-License-Identifier: GPL-2.0-or-later
# Lanes, the --colocate option, partner choice and reuse distances, without Slurm.
include src/striping/lanes/local.mk
include src/striping/submit/local.mk
include src/striping/history/local.mk
include src/striping/partners/local.mk
include src/striping/reuse/local.mk
