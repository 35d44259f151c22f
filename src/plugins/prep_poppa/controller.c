/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at where slurmctld is in its life, and into its association manager. */
#include "plugins/compat/accounting_compat.h"

#include <stdio.h>

#include "src/common/assoc_mgr.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "controller.h"

SLURM_WEAK(acct_db_conn)
SLURM_WEAK(slurmctld_config)

bool controller_serves(void)
{
	return acct_db_conn && compat_serves() && !slurmctld_config.shutdown_time;
}

bool controller_hold(void)
{
	server_thread_incr();
	if (controller_serves())
		return true;
	server_thread_decr();
	return false;
}

void controller_release(void)
{
	server_thread_decr();
}

char *controller_state_path(const char *name, char *buf, size_t size)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};

	lock_slurmctld(read_conf);
	snprintf(buf, size, "%s%s%s", slurm_conf.state_save_location, name ? "/" : "",
		name ? name : "");
	unlock_slurmctld(read_conf);
	return buf;
}

slurmdb_qos_rec_t *controller_qos(uint32_t id)
{
	slurmdb_qos_rec_t wanted = {.id = id}, *qos = NULL;

	if (id)
		assoc_mgr_fill_in_qos(acct_db_conn, &wanted, 0, &qos, true);
	return qos;
}

slurmdb_assoc_rec_t *controller_assoc(uint32_t id)
{
	slurmdb_assoc_rec_t wanted = {.id = id}, *assoc = NULL;

	if (id)
		assoc_mgr_fill_in_assoc(acct_db_conn, &wanted, 0, &assoc, true);
	return assoc;
}
