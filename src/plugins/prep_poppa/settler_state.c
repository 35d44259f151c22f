/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps what waits for its settlement in files beside the state of slurmctld. */
#include "plugins/compat/slurm_compat.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/slurmctld/locks.h"

#include "common/journal.h"

#include "settler_impl.h"

#define SAVE_MS 1000 /* between two writes of the state file */
#define STATE_FILE "poppa_unsettled"
#define ARRIVED_FILE "poppa_arrived"

static char *state_path(const char *name, char *buf, size_t size)
{
	slurmctld_lock_t read_conf = {.conf = READ_LOCK};

	lock_slurmctld(read_conf);
	snprintf(buf, size, "%s/%s", slurm_conf.state_save_location, name);
	unlock_slurmctld(read_conf);
	return buf;
}

/* With its price once it has one, should the ledger be lost together with this process. */
static json_t *item_to_json(const struct item *i)
{
	json_t *json = facts_to_json(i->facts);

	if (json && (i->stage >= WRITE || i->priced) && i->settlement.job_id)
		json_object_set_new(json, "settlement", settlement_to_json(&i->settlement));
	return json;
}

static struct item *item_from_json(const json_t *json)
{
	struct facts *f = facts_from_json(json);
	const json_t *settlement = json_object_get(json, "settlement");
	struct errmsg err;
	struct item *i;

	if (!f)
		return NULL;
	i = item_new(f);
	i->priced = settlement && !settlement_from_json(settlement, &i->settlement, &err);
	return i;
}

json_t *state_of_items(const struct item *list)
{
	json_t *json = json_array();

	/* Changes are found in the ledger again. */
	for (const struct item *i = list; json && i; i = i->next)
		if (!i->change)
			json_array_append_new(json, item_to_json(i));
	return json;
}

static json_t *changes_of(struct settler *w)
{
	json_t *list = w->gone ? json_copy(w->gone) : json_array();

	for (const struct item *i = w->items; list && i; i = i->next)
		if (i->unsaved)
			json_array_append_new(list, item_to_json(i));
	return list;
}

/*
 * The job's record may be purged, or be about the next run, before this process or the next comes
 * to settle it.
 */
static void save(struct settler *w, bool anew)
{
	struct errmsg err = {""};
	char path[PATH_MAX];
	int rc;

	w->save_ms = settler_now_ms() + SAVE_MS;
	state_path(STATE_FILE, path, sizeof(path));
	rc = anew ? waiting_write(&w->state, path, state_of_items(w->items), &err)
		  : waiting_append(&w->state, path, changes_of(w), &err);
	if (rc) {
		settler_complain(w, err.text);
		return;
	}
	json_decref(w->gone);
	w->gone = NULL;
	for (struct item *i = w->items; i; i = i->next)
		i->unsaved = false;
	w->changed = false;
}

/* However many wait, only what has changed is written: in a long outage that is most of the time
 * little, and what waits is much. */
void state_save(struct settler *w)
{
	save(w, !w->items || waiting_is_due(&w->state));
}

void state_save_list(struct settler *w)
{
	save(w, true);
}

/* What comes next replaces the file. */
static void keep_damaged(const char *path)
{
	struct errmsg err;

	if (journal_keep_damaged(path, &err))
		error(ME ": %s", err.text);
}

int state_save_arrived(json_t *list, bool loaded, struct errmsg *err)
{
	struct waiting all = {.ours = false};
	struct errmsg unread = {""};
	char path[PATH_MAX];
	json_t *before;
	int damaged;

	state_path(ARRIVED_FILE, path, sizeof(path));
	if (!loaded) {
		before = waiting_read(path, &damaged, &unread);
		if (before ? damaged : errno != ENOENT)
			keep_damaged(path);
		json_array_extend(list, before);
		json_decref(before);
	}
	return waiting_write(&all, path, list, err);
}

void state_drop_arrived(void)
{
	char path[PATH_MAX];

	unlink(state_path(ARRIVED_FILE, path, sizeof(path)));
}

static void load_file(struct settler *w, const char *name)
{
	struct errmsg err = {""};
	char path[PATH_MAX];
	int damaged;
	json_t *list = waiting_read(state_path(name, path, sizeof(path)), &damaged, &err), *run;
	size_t n;

	if (!list && errno == ENOENT)
		return;
	json_array_foreach(list, n, run)
	{
		struct item *i = item_from_json(run);

		if (!i)
			damaged++;
		else if (items_find(w, i->facts->job_id, i->facts->start))
			item_free(i);
		else
			items_add(w, i);
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

void state_load(struct settler *w)
{
	w->loaded = true;
	w->state.ours = false;
	load_file(w, STATE_FILE);
	load_file(w, ARRIVED_FILE);
}
