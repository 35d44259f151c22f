/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the runs that the settler's worker has yet to take, in memory and in their file. */
#include "plugins/compat/slurm_compat.h"

#include <pthread.h>

#include "arrivals.h"
#include "controller.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct run *arrived; /* guarded by list_lock, as the next two */
static bool unsaved;        /* the file is behind */
static bool holding;        /* controller_hold() was called for what has arrived */

static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before list_lock */
static bool loaded; /* the worker has what was in the file; guarded by file_lock */

static struct plain_queue plain = PLAIN_QUEUE_EMPTY; /* has its own lock */

void arrivals_add(struct run *run)
{
	pthread_mutex_lock(&list_lock);
	run->next = arrived;
	arrived = run;
	if (!holding)
		holding = controller_hold();
	unsaved = true;
	pthread_mutex_unlock(&list_lock);
}

struct run *arrivals_take(void)
{
	struct run *list;

	pthread_mutex_lock(&list_lock);
	list = arrived;
	arrived = NULL;
	unsaved = false;
	pthread_mutex_unlock(&list_lock);
	return list;
}

void arrivals_add_plain(const struct spread_run *run)
{
	plain_queue_add(&plain, run);
}

int arrivals_take_plain(struct plain_run run[PLAIN_QUEUE_OF_SLOT])
{
	return plain_queue_take(&plain, run);
}

struct arrivals_status arrivals_status(void)
{
	struct arrivals_status status;

	pthread_mutex_lock(&list_lock);
	status = (struct arrivals_status){.any = arrived, .unsaved = unsaved, .holding = holding};
	pthread_mutex_unlock(&list_lock);
	return status;
}

/* Logs a failure once, until the file can be written again (NULL). */
static void complain(const struct errmsg *err)
{
	static bool told;

	if (err && !told)
		error(ME ": %s", err->text);
	told = err;
}

void arrivals_save(void)
{
	struct errmsg err = {""};
	json_t *list = NULL;
	bool any, failed;

	pthread_mutex_lock(&file_lock);
	pthread_mutex_lock(&list_lock);
	any = arrived;
	if (any)
		list = run_store_to_json(arrived);
	unsaved = false;
	pthread_mutex_unlock(&list_lock);
	failed = any && run_store_save_arrived(list, loaded, &err);
	pthread_mutex_unlock(&file_lock);
	complain(failed ? &err : NULL);
	if (failed) {
		pthread_mutex_lock(&list_lock);
		unsaved = true;
		pthread_mutex_unlock(&list_lock);
	}
}

void arrivals_load(struct run_store *store)
{
	if (store->loaded)
		return;
	pthread_mutex_lock(&file_lock);
	run_store_load(store);
	loaded = true;
	pthread_mutex_unlock(&file_lock);
}

void arrivals_unload(struct run_store *store)
{
	pthread_mutex_lock(&file_lock);
	loaded = false;
	pthread_mutex_unlock(&file_lock);
	store->loaded = false;
}

void arrivals_drop_file(void)
{
	pthread_mutex_lock(&file_lock);
	if (!arrivals_status().any)
		run_store_drop_arrived();
	pthread_mutex_unlock(&file_lock);
}

void arrivals_let_end(bool saved, bool anyway)
{
	bool over;

	pthread_mutex_lock(&list_lock);
	over = holding && (anyway || (!arrived && saved));
	if (over)
		holding = false;
	pthread_mutex_unlock(&list_lock);
	if (over)
		controller_release();
}
