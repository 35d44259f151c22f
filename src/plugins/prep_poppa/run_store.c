/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the runs that wait for their settlement: a list, an index of it, and its files. */
#include "plugins/compat/slurm_compat.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/journal.h"

#include "controller.h"
#include "run_store.h"

#define SAVE_MS 1000 /* between two writes of poppa_unsettled */

struct run *run_new(struct run_snapshot *snapshot)
{
	struct run *run = xmalloc(sizeof(*run));

	run->snapshot = snapshot;
	run->tick_ms = TICK_MS;
	run->due_ms = clock_now_ms() + TICK_MS;
	return run;
}

void run_free(struct run *run)
{
	run_snapshot_free(run->snapshot);
	xfree(run);
}

bool run_has_price(const struct run *run)
{
	return run->settlement.job_id;
}

void run_delay(struct run *run)
{
	run->due_ms = clock_now_ms() + run->tick_ms;
	run->tick_ms = run->tick_ms * 2 < MAX_TICK_MS ? run->tick_ms * 2 : MAX_TICK_MS;
}

void run_enter(struct run *run, enum run_state state)
{
	run->state = state;
	run->tick_ms = TICK_MS;
	run->due_ms = clock_now_ms();
}

static size_t bucket_of(uint32_t job_id, time_t start)
{
	return (job_id * 31 + (uint32_t)start) % RUN_BUCKETS;
}

struct run *run_store_find(const struct run_store *store, uint32_t job_id, time_t start)
{
	for (struct run *run = store->bucket[bucket_of(job_id, start)]; run; run = run->same_bucket)
		if (run->snapshot->job_id == job_id && run->snapshot->start == start)
			return run;
	return NULL;
}

void run_store_add(struct run_store *store, struct run *run)
{
	struct run **bucket =
		&store->bucket[bucket_of(run->snapshot->job_id, run->snapshot->start)];

	run->next = store->list;
	store->list = run;
	run->same_bucket = *bucket;
	*bucket = run;
	run_store_touch(store, run);
}

void run_store_touch(struct run_store *store, struct run *run)
{
	if (run->kind == RUN_REPRICED)
		return;
	run->unsaved = true;
	store->changed = true;
}

static void drop(struct run_store *store, struct run *run)
{
	const struct run_snapshot *snapshot = run->snapshot;
	struct run **at = &store->bucket[bucket_of(snapshot->job_id, snapshot->start)];

	while (*at != run)
		at = &(*at)->same_bucket;
	*at = run->same_bucket;
	if (run->kind != RUN_REPRICED) {
		if (!store->gone)
			store->gone = json_array();
		/* Without memory for the change, the file is written anew, without the run. */
		if (json_array_append_new(
			    store->gone, waiting_gone(snapshot->job_id, snapshot->start)))
			store->file.ours = false;
		store->changed = true;
	}
	run_free(run);
}

void run_store_drop_done(struct run_store *store)
{
	for (struct run **at = &store->list; *at;) {
		struct run *run = *at;

		if (run->state != RUN_DONE) {
			at = &run->next;
			continue;
		}
		*at = run->next;
		drop(store, run);
	}
}

void run_store_clear(struct run_store *store)
{
	for (struct run *run = store->list, *next; run; run = next) {
		next = run->next;
		run_free(run);
	}
	json_decref(store->gone);
	memset(store, 0, sizeof(*store));
}

/* The price is part of it once there is one: ledger and process may be lost together. */
static json_t *run_to_json(const struct run *run)
{
	json_t *json = run_snapshot_to_json(run->snapshot);

	if (json && run_has_price(run))
		json_object_set_new(json, "settlement", settlement_to_json(&run->settlement));
	return json;
}

static struct run *run_from_json(const json_t *json)
{
	struct run_snapshot *snapshot = run_snapshot_from_json(json);
	const json_t *price = json_object_get(json, "settlement");
	struct settlement settlement;
	struct errmsg err;
	struct run *run;

	if (!snapshot)
		return NULL;
	run = run_new(snapshot);
	if (price && !settlement_from_json(price, &settlement, &err))
		run->settlement = settlement;
	return run;
}

json_t *run_store_to_json(const struct run *list)
{
	json_t *json = json_array();

	for (const struct run *run = list; json && run; run = run->next)
		if (run->kind != RUN_REPRICED)
			json_array_append_new(json, run_to_json(run));
	return json;
}

static json_t *changes_of(const struct run_store *store)
{
	json_t *list = store->gone ? json_copy(store->gone) : json_array();

	for (const struct run *run = store->list; list && run; run = run->next)
		if (run->unsaved)
			json_array_append_new(list, run_to_json(run));
	return list;
}

/* In a long outage of slurmdbd many runs wait and few change, so only changes are appended. */
int run_store_save(struct run_store *store, struct errmsg *err)
{
	char path[PATH_MAX];
	int rc;

	store->save_ms = clock_now_ms() + SAVE_MS;
	controller_state_path(WAITING_FILE, path, sizeof(path));
	if (!store->list || waiting_is_due(&store->file))
		rc = waiting_write(&store->file, path, run_store_to_json(store->list), err);
	else
		rc = waiting_append(&store->file, path, changes_of(store), err);
	if (rc)
		return -1;
	json_decref(store->gone);
	store->gone = NULL;
	for (struct run *run = store->list; run; run = run->next)
		run->unsaved = false;
	store->changed = false;
	return 0;
}

/* Renames a damaged file, because the next write would replace it. */
static void keep_damaged(const char *path)
{
	struct errmsg err;

	if (journal_keep_damaged(path, &err))
		error(ME ": %s", err.text);
}

int run_store_save_arrived(json_t *list, bool loaded, struct errmsg *err)
{
	struct waiting all = {.ours = false};
	struct errmsg unread = {""};
	char path[PATH_MAX];
	json_t *before;
	int damaged;

	controller_state_path(WAITING_ARRIVED_FILE, path, sizeof(path));
	if (!loaded) {
		before = waiting_read(path, &damaged, &unread);
		if (before ? damaged : errno != ENOENT)
			keep_damaged(path);
		json_array_extend(list, before);
		json_decref(before);
	}
	return waiting_write(&all, path, list, err);
}

void run_store_drop_arrived(void)
{
	char path[PATH_MAX];

	unlink(controller_state_path(WAITING_ARRIVED_FILE, path, sizeof(path)));
}

static void load_file(struct run_store *store, const char *name)
{
	struct errmsg err = {""};
	char path[PATH_MAX];
	int damaged;
	json_t *list, *json;
	size_t n;

	controller_state_path(name, path, sizeof(path));
	list = waiting_read(path, &damaged, &err);
	if (!list && errno == ENOENT)
		return;
	json_array_foreach(list, n, json)
	{
		struct run *run = run_from_json(json);

		if (!run)
			damaged++;
		else if (run_store_find(store, run->snapshot->job_id, run->snapshot->start))
			run_free(run);
		else
			run_store_add(store, run);
	}
	if (!list)
		error(ME ": %s", err.text);
	if (damaged)
		error(ME ": %s is damaged, by %d entries: runs that slurmctld has forgotten, too, "
			 "stay unsettled; it is kept as %s.damaged",
			path, damaged, path);
	if (!list || damaged)
		keep_damaged(path);
	json_decref(list);
}

void run_store_load(struct run_store *store)
{
	store->loaded = true;
	store->file.ours = false;
	load_file(store, WAITING_FILE);
	load_file(store, WAITING_ARRIVED_FILE);
}
