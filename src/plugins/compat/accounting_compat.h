/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmctld's interface to slurmdbd in each Slurm release. */
#ifndef POPPA_PLUGINS_COMPAT_ACCOUNTING_COMPAT_H
#define POPPA_PLUGINS_COMPAT_ACCOUNTING_COMPAT_H

#include "plugins/compat/slurm_compat.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#include "src/common/slurm_accounting_storage.h"
#else
#include "src/interfaces/accounting_storage.h"
#endif

#endif
