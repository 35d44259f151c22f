/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which task a worker runs next: cache-conscious scheduling of queries, with work stealing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * From "Cache-conscious high throughput collaborative filtering" (CF'14, section 3, figure 9). A
 * task has a key in place of a root vertex, and of each key is known which worker has had it last,
 * and when. The paper does not publish its constants; ours are the defaults below. Added to it: no
 * task is passed over for ever, and a worker that asks gets a task while one waits.
 */
enum farm_policy {
	FARM_AFFINITY, /* the paper's four steps */
	FARM_STEALING, /* a list for each worker, in order, and stealing: what the four steps are
			  compared with */
	FARM_QUEUE,    /* one list for all, in order */
};

struct farm_settings {
	enum farm_policy policy;
	uint32_t dispatch; /* D: tasks that a worker gives out at once */
	uint32_t window;   /* S: of its oldest tasks a worker takes one whose key it has just had */
	uint32_t gap;      /* G: that is, within its last G starts */
	uint32_t steal;    /* N: tasks that are stolen at once */
	uint32_t keep; /* L: tasks that were given to a worker and that it keeps, while others have
			  more */
	uint32_t patience; /* so often a task can be passed over */
};

extern const struct farm_settings farm_defaults;

/* The owner keeps all else of a task around this. All but the key is the schedule's, and 0 at
 * first. */
struct farm_task {
	uint32_t key;                    /* from farm_schedule_key(), or FARM_NO_KEY */
	uint32_t passed;                 /* how often it was passed over */
	struct farm_task *next, *before; /* in its list */
	struct farm_task *next_same,
		*before_same; /* with its key, of those that were given to workers */
	uint64_t place;       /* among those that were given to its worker */
	uint32_t worker;      /* to which it was given */
};

struct farm_schedule;

/* For so many workers, at least 1. `seed` decides from whom is stolen. Returns NULL where there is
 * no memory. */
struct farm_schedule *farm_schedule_create(
	uint32_t workers, const struct farm_settings *settings, uint64_t seed);
/* The tasks are the caller's. */
void farm_schedule_destroy(struct farm_schedule *s);
/* The key of one task, for as long as that is not over; see farm_keys_take(). */
uint32_t farm_schedule_key(struct farm_schedule *s, const char *text, size_t len);
/* The task, which the schedule has not, is not added again. */
void farm_schedule_over(struct farm_schedule *s, const struct farm_task *task);
/* Adds a task that nobody has started. It belongs to the schedule until farm_schedule_next()
 * returns it. */
void farm_schedule_add(struct farm_schedule *s, struct farm_task *task);
/* The task that this worker starts now, or NULL where none waits at all. */
struct farm_task *farm_schedule_next(struct farm_schedule *s, uint32_t worker);
/* How many wait. */
uint64_t farm_schedule_waiting(const struct farm_schedule *s);
