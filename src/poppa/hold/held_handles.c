/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the files open that are needed to look at each held thing and to resume it. */
#include "poppa/hold/held_handles.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "poppa/hold/proc.h"

struct ready {
	atomic_flag lent;    /* borrowed or being replaced: only who has set it may use the rest */
	bool is;             /* the handle is open */
	uint32_t generation; /* generation of the entry when the handle was opened */
	struct held_handle handle;
};

struct held_handles {
	struct ready entry[HELD_ENTRIES];
	uint32_t high; /* entries that may be open are below this one */
	atomic_flag stopper_lent;
	struct proc_watch stopper; /* tid 0: none */
};

int held_handle_open(const struct held_entry *s, struct held_handle *out)
{
	char path[64];

	out->status = -1;
	if (s->kind != HELD_PROCESS) {
		out->act = freezer_open(held_freezer(s->kind), s->path);
		return out->act < 0 ? -1 : 0;
	}
	out->act = proc_pidfd(s->pid, s->starttime);
	if (out->act < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)s->pid);
	out->status = open(path, O_RDONLY | O_CLOEXEC);
	return 0;
}

void held_handle_close(struct held_handle *h)
{
	if (h->status >= 0)
		close(h->status);
	close(h->act);
}

struct held_handles *held_handles_new(void)
{
	struct held_handles *hs = calloc(1, sizeof(*hs));

	for (int i = 0; hs && i < HELD_ENTRIES; i++)
		atomic_flag_clear(&hs->entry[i].lent);
	if (hs)
		atomic_flag_clear(&hs->stopper_lent);
	return hs;
}

/* Waits until it is given back, which is soon: the borrower resumes one thing only. */
static void lock(atomic_flag *lent)
{
	while (atomic_flag_test_and_set(lent))
		usleep(1000);
}

static void replace(struct ready *r, const struct ready *by)
{
	struct held_handle old = r->handle;
	bool was = r->is;

	lock(&r->lent);
	r->is = by->is;
	r->generation = by->generation;
	r->handle = by->handle;
	atomic_flag_clear(&r->lent);
	if (was)
		held_handle_close(&old);
}

static void prepare_entry(struct ready *r, const struct held_entry *s)
{
	struct ready next = {.generation = atomic_load(&s->generation)};
	struct held_entry copy = {.kind = s->kind, .pid = s->pid, .starttime = s->starttime};

	/* Spare entries name no process yet. */
	if (copy.kind && (copy.kind != HELD_PROCESS || copy.pid)) {
		if (r->is && r->generation == next.generation)
			return;
		memcpy(copy.path, s->path, sizeof(copy.path));
		copy.path[sizeof(copy.path) - 1] = '\0';
		next.is = !held_handle_open(&copy, &next.handle);
		/* The first look at a file of /proc gets the memory that the file then keeps. */
		if (next.is && next.handle.status >= 0)
			proc_pending_stop(copy.pid, next.handle.status);
	}
	if (r->is || next.is)
		replace(r, &next);
}

static void prepare_stopper(struct held_handles *hs, pid_t tid)
{
	struct proc_watch next = {0}, old = hs->stopper;

	if (tid == old.tid)
		return;
	if (tid) {
		proc_watch_open(&next, tid);
		proc_watch_ran(&next);
		proc_watch_call(&next);
	}
	lock(&hs->stopper_lent);
	hs->stopper = next;
	atomic_flag_clear(&hs->stopper_lent);
	if (old.tid)
		proc_watch_close(&old);
}

void held_handles_prepare(struct held_handles *hs, const struct held_file *h)
{
	uint32_t high = atomic_load(&h->high);

	if (high > HELD_ENTRIES)
		high = HELD_ENTRIES;
	prepare_stopper(hs, atomic_load(&h->stopper));
	for (uint32_t i = 0; i < high || i < hs->high; i++)
		prepare_entry(&hs->entry[i], &h->entry[i]);
	hs->high = high;
}

const struct held_handle *held_handles_borrow(
	struct held_handles *hs, int entry, uint32_t generation)
{
	struct ready *r = hs ? &hs->entry[entry] : NULL;

	if (!r || atomic_flag_test_and_set(&r->lent))
		return NULL;
	if (r->is && r->generation == generation)
		return &r->handle;
	atomic_flag_clear(&r->lent);
	return NULL;
}

void held_handles_give_back(struct held_handles *hs, int entry)
{
	atomic_flag_clear(&hs->entry[entry].lent);
}

const struct proc_watch *held_handles_borrow_stopper(struct held_handles *hs, pid_t tid)
{
	if (!hs || atomic_flag_test_and_set(&hs->stopper_lent))
		return NULL;
	if (tid && hs->stopper.tid == tid)
		return &hs->stopper;
	atomic_flag_clear(&hs->stopper_lent);
	return NULL;
}

void held_handles_give_back_stopper(struct held_handles *hs)
{
	atomic_flag_clear(&hs->stopper_lent);
}
