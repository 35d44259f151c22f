/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at where slurmctld is in its life, and into its association manager. */
#include "plugins/compat/accounting_compat.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "src/common/assoc_mgr.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "controller.h"

#define ACCOUNTING_FILE "/accounting_storage_slurmdbd.so"

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

bool controller_begin_sending(void)
{
	if (!compat_lock_end())
		return false;
	if (acct_db_conn)
		return true;
	compat_unlock_end();
	return false;
}

void controller_end_sending(void)
{
	compat_unlock_end();
}

/* Copies the path of Slurm's plugin, if that is what it is. Opening it here could lock up. */
static int find_plugin(struct dl_phdr_info *info, size_t size, void *path)
{
	size_t len = strlen(info->dlpi_name), suffix = strlen(ACCOUNTING_FILE);

	(void)size;
	if (len < suffix || len >= PATH_MAX ||
		strcmp(info->dlpi_name + len - suffix, ACCOUNTING_FILE) != 0)
		return 0;
	memcpy(path, info->dlpi_name, len + 1);
	return 1;
}

bool controller_keep_code(struct accounting_code *code)
{
	char path[PATH_MAX];

	code->handle = NULL;
	if (!COMPAT_UNLOADS_EARLY)
		return true;
	if (dl_iterate_phdr(find_plugin, path))
		code->handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	return code->handle;
}

void controller_let_code(struct accounting_code *code)
{
	if (code->handle)
		dlclose(code->handle);
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
