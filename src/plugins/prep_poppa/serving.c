/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at where slurmctld is in its life. */
#include "plugins/compat/accounting_compat.h"

#include "src/slurmctld/slurmctld.h"

#include "serving.h"

SLURM_WEAK(acct_db_conn)
SLURM_WEAK(slurmctld_config)

bool serving(void)
{
	return acct_db_conn && compat_serves() && !slurmctld_config.shutdown_time;
}

bool serving_begin(void)
{
	server_thread_incr();
	if (serving())
		return true;
	server_thread_decr();
	return false;
}

void serving_end(void)
{
	server_thread_decr();
}
