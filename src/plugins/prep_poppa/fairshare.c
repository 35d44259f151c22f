/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adjusts the usage that slurmctld's association manager has in memory. */
#include "plugins/compat/slurm_compat.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/assoc_mgr.h"
#include "src/slurmctld/locks.h"

#include "common/fsio.h"

#include "controller.h"
#include "fairshare.h"

SLURM_WEAK(accounting_enforce)

/* What priority/multifactor saves after each period: when that was, and when usage was last due to
 * be reset, as two 64-bit numbers in network order. */
#define CLOCK_FILE "priority_last_decay_ran"

void fairshare_clock(struct decay *clock)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};
	struct errmsg err = {""};
	char path[PATH_MAX], *saved;
	uint64_t times[2];
	size_t len = 0;

	lock_slurmctld(read_conf);
	*clock = (struct decay){.half_life_s = slurm_conf.priority_decay_hl,
		.period_s = slurm_conf.priority_calc_period};
	unlock_slurmctld(read_conf);
	saved = fsio_read(
		controller_state_path(CLOCK_FILE, path, sizeof(path)), sizeof(times), &len, &err);
	if (saved && len == sizeof(times)) {
		memcpy(times, saved, sizeof(times));
		clock->last_unix = (int64_t)be64toh(times[0]);
		clock->reset_unix = (int64_t)be64toh(times[1]);
	}
	free(saved);
}

/* A usage never falls below 0, whatever else has been taken off it. */
static void add(long double *usage, long double amount)
{
	*usage = *usage + amount > 0 ? *usage + amount : 0;
}

/* Adds so many seconds of a rate to a usage: fairshare counts `rate`, limits count `count`. */
static void add_to_usage(
	long double *raw, long double *tres_raw, double seconds, double rate, double count)
{
	add(raw, seconds * rate);
	if ((accounting_enforce & ACCOUNTING_ENFORCE_LIMITS) && tres_raw)
		add(&tres_raw[TRES_ARRAY_BILLING], seconds * count);
}

/* left and whole: the seconds that have not decayed, and all of them. */
static void add_to_qos(slurmdb_qos_rec_t *qos, double left, double whole, double rate, double count)
{
	if (qos && qos->usage)
		add_to_usage(&qos->usage->usage_raw, qos->usage->usage_tres_raw,
			qos->flags & QOS_FLAG_NO_DECAY ? whole : left, rate, count);
}

static void add_to_assocs(slurmdb_assoc_rec_t *assoc, double seconds, double rate, double count)
{
	for (; assoc && assoc->usage; assoc = assoc->usage->parent_assoc_ptr)
		add_to_usage(&assoc->usage->usage_raw, assoc->usage->usage_tres_raw, seconds, rate,
			count);
}

/*
 * Where an administrator has deleted the job's association, Slurm has added its usage to the
 * association above, the heir, and keeps it in leaf_usage there. Now and then Slurm computes the
 * heir's total (usage) from leaf_usage and the associations below. So both change.
 */
static void add_to_heir(uint32_t id, double seconds, double rate, double count)
{
	slurmdb_assoc_rec_t *heir = controller_assoc(id);

	if (heir && heir->leaf_usage && heir->leaf_usage != heir->usage)
		add_to_usage(&heir->leaf_usage->usage_raw, heir->leaf_usage->usage_tres_raw,
			seconds, rate, count);
	add_to_assocs(heir, seconds, rate, count);
}

/* The QOS that the partition had when the run ended or, where that is not known, has now. */
static slurmdb_qos_rec_t *find_part_qos(const struct refund_part *p)
{
	part_record_t *partition;

	if (p->part_qos >= 0)
		return controller_qos((uint32_t)p->part_qos);
	partition = find_part_record((char *)p->partition);
	return partition ? partition->qos_ptr : NULL;
}

void fairshare_adjust(
	const struct refund_part *p, const struct decay *clock, bool in_assoc, bool in_qos)
{
	slurmdb_assoc_rec_t *assoc;
	slurmdb_qos_rec_t *qos, *part_qos;
	struct decay no_decay = *clock;
	double scale = 1, left, whole, count = (double)p->after - (double)p->before;
	double rate = p->raw ? p->billable * count / (double)p->raw : 0;

	if (p->before == p->after || p->end_unix <= p->start_unix ||
		xstrcmp(slurm_conf.priority_type, "priority/multifactor"))
		return;
	assoc = controller_assoc(p->assoc_id);
	qos = controller_qos(p->qos_id);
	/* Suspended time was charged, too. Only the job's own QOS has a UsageFactor here. */
	if (p->usage_factor >= 0)
		scale = p->usage_factor;
	else if (qos && qos->usage_factor >= 0)
		scale = qos->usage_factor;
	no_decay.half_life_s = 0;
	left = scale * decay_left(clock, p->start_unix, p->end_unix);
	whole = scale * decay_left(&no_decay, p->start_unix, p->end_unix);
	if (in_assoc && assoc)
		add_to_assocs(assoc, left, rate, count);
	else if (in_assoc)
		add_to_heir(p->parent_id, left, rate, count);
	if (!in_qos)
		return;
	add_to_qos(qos, left, whole, rate, count);
	part_qos = find_part_qos(p);
	if (part_qos != qos)
		add_to_qos(part_qos, left, whole, rate, count);
}
