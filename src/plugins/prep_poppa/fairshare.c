/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adjusts usage in the association manager. */
#include "plugins/compat/slurm_compat.h"

#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/assoc_mgr.h"
#include "src/slurmctld/locks.h"

#include "common/fsio.h"

#include "fairshare.h"

SLURM_WEAK(acct_db_conn)
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
	snprintf(path, sizeof(path), "%s/" CLOCK_FILE, slurm_conf.state_save_location);
	unlock_slurmctld(read_conf);
	saved = fsio_read(path, sizeof(times), &len, &err);
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

/* seconds of a change of `rate` in what fairshare and of `count` in what limits count. */
static void add_to_qos(slurmdb_qos_rec_t *qos, double seconds, double rate, double count)
{
	if (!qos || !qos->usage)
		return;
	add(&qos->usage->usage_raw, seconds * rate);
	if ((accounting_enforce & ACCOUNTING_ENFORCE_LIMITS) && qos->usage->usage_tres_raw)
		add(&qos->usage->usage_tres_raw[TRES_ARRAY_BILLING], seconds * count);
}

void fairshare_adjust(const struct facts *f, const struct decay *clock, uint64_t raw,
	uint64_t before, uint64_t after)
{
	slurmdb_assoc_rec_t wanted_assoc = {.id = f->assoc_id}, *assoc = NULL;
	slurmdb_qos_rec_t wanted_qos = {.id = f->qos_id}, *qos = NULL, *part_qos;
	struct decay no_decay = *clock;
	part_record_t *partition = find_part_record(f->partition);
	double scale, left, whole, count = (double)after - (double)before;
	double rate = raw ? f->billable * count / (double)raw : 0;

	if (before == after || f->end <= f->start || f->wall_s <= 0 ||
		xstrcmp(slurm_conf.priority_type, "priority/multifactor"))
		return;
	assoc_mgr_fill_in_assoc(acct_db_conn, &wanted_assoc, 0, &assoc, true);
	if (f->qos_id)
		assoc_mgr_fill_in_qos(acct_db_conn, &wanted_qos, 0, &qos, true);
	/* Suspended time was not charged; UsageFactor is the job's QOS' alone. */
	scale = f->wall_s / difftime(f->end, f->start);
	if (qos && qos->usage_factor >= 0)
		scale *= qos->usage_factor;
	no_decay.half_life_s = 0;
	left = scale * decay_left(clock, f->start, f->end);
	whole = scale * decay_left(&no_decay, f->start, f->end);
	for (; assoc && assoc->usage; assoc = assoc->usage->parent_assoc_ptr) {
		add(&assoc->usage->usage_raw, left * rate);
		if ((accounting_enforce & ACCOUNTING_ENFORCE_LIMITS) &&
			assoc->usage->usage_tres_raw)
			add(&assoc->usage->usage_tres_raw[TRES_ARRAY_BILLING], left * count);
	}
	if (qos)
		add_to_qos(qos, qos->flags & QOS_FLAG_NO_DECAY ? whole : left, rate, count);
	part_qos = partition ? partition->qos_ptr : NULL;
	if (part_qos && part_qos != qos)
		add_to_qos(
			part_qos, part_qos->flags & QOS_FLAG_NO_DECAY ? whole : left, rate, count);
}
