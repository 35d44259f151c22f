/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the QOS of a job that is being submitted, as slurmctld itself does after this. */
#include "job_qos.h"

#include "src/common/assoc_mgr.h"

SLURM_WEAK(acct_db_conn)

char *job_qos_name(const job_desc_msg_t *d, char *partition)
{
	assoc_mgr_lock_t locks = {.assoc = READ_LOCK, .qos = READ_LOCK, .user = READ_LOCK};
	slurmdb_assoc_rec_t account = {
		.acct = d->account, .partition = partition, .uid = d->user_id};
	slurmdb_assoc_rec_t *association = NULL;
	slurmdb_qos_rec_t wanted = {.name = NULL}, *qos = NULL;
	char *name = NULL;

	if (d->qos)
		return xstrdup(d->qos);
	assoc_mgr_lock(&locks);
	/* What cannot be found is for slurmctld to refuse, or to do without. */
	assoc_mgr_fill_in_assoc(acct_db_conn, &account, 0, &association, true);
	assoc_mgr_get_default_qos_info(association, &wanted);
	if (!assoc_mgr_fill_in_qos(acct_db_conn, &wanted, 0, &qos, true) && qos)
		name = xstrdup(qos->name);
	assoc_mgr_unlock(&locks);
	return name;
}
