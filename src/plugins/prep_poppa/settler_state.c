/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps what waits for its settlement in files beside the state of slurmctld. */
#include "plugins/compat/slurm_compat.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/slurmctld/locks.h"

#include "common/fsio.h"

#include "settler_impl.h"

#define SAVE_MS 1000 /* between two writes of the state file */
#define STATE_FILE "poppa_unsettled"
#define ARRIVED_FILE "poppa_arrived"
#define MAX_STATE_BYTES (256 << 20)

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

/* Takes over the reference. 0, or -1 with err. */
static int write_file(const char *name, json_t *json, struct errmsg *err)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL, path[PATH_MAX];
	int rc = text ? fsio_write(state_path(name, path, sizeof(path)), text, strlen(text), 0600,
				1, err)
		      : errmsg_set(err, "out of memory");

	json_decref(json);
	free(text);
	return rc;
}

/*
 * The job's record may be purged, or be about the next run, before this process or the next comes
 * to settle it.
 */
void state_save(struct settler *w)
{
	struct errmsg err = {""};

	w->save_ms = settler_now_ms() + SAVE_MS;
	if (write_file(STATE_FILE, state_of_items(w->items), &err))
		settler_complain(w, err.text);
	else
		w->changed = false;
}

int state_save_arrived(json_t *list, struct errmsg *err)
{
	return write_file(ARRIVED_FILE, list, err);
}

void state_drop_arrived(void)
{
	char path[PATH_MAX];

	unlink(state_path(ARRIVED_FILE, path, sizeof(path)));
}

static void load_file(struct settler *w, const char *name)
{
	char path[PATH_MAX], *text;
	struct errmsg err = {""};
	json_t *list;
	size_t len = 0;

	text = fsio_read(state_path(name, path, sizeof(path)), MAX_STATE_BYTES, &len, &err);
	if (!text) {
		if (errno != ENOENT)
			error(ME ": %s", err.text);
		return;
	}
	list = json_loadb(text, len, 0, NULL);
	free(text);
	if (!json_is_array(list))
		error(ME ": %s is damaged: runs that slurmctld has forgotten stay unsettled", path);
	for (size_t n = 0; n < json_array_size(list); n++) {
		struct item *i = item_from_json(json_array_get(list, n));

		if (!i)
			error(ME ": %s: entry %zu is damaged", path, n);
		else if (items_find(w, i->facts->job_id, i->facts->start))
			item_free(i);
		else
			items_add(w, i);
	}
	json_decref(list);
}

void state_load(struct settler *w)
{
	w->loaded = true;
	load_file(w, STATE_FILE);
	load_file(w, ARRIVED_FILE);
}
