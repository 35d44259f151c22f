# SPDX-License-Identifier: GPL-2.0-or-later
# Lanes, the --colocate option and partner choice, without Slurm.
include src/striping/lanes/local.mk
include src/striping/submit/local.mk
include src/striping/partners/local.mk
