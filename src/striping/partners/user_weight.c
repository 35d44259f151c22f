/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up what users have lost to partners. */
#include "striping/partners/user_weight.h"

#include <math.h>
#include <stdlib.h>

/* Of a user, or of all. */
struct lost {
	uint32_t uid;
	double seconds, lost_s;
};

struct user_weights {
	struct lost all;
	struct lost *user; /* sorted by uid */
	int users, room;
};

/* Whose class, or name of a user, that is; false: everybody's. */
static bool owner(const char *name, uint32_t *uid)
{
	unsigned long long id;
	char *end;

	if (*name != CLASS_OF_USER)
		return class_owner(name, uid) != NULL;
	id = strtoull(name + 1, &end, 10);
	*uid = (uint32_t)id;
	return end > name + 1 && !*end && id <= UINT32_MAX;
}

static void count_row(const struct pairs_row *row, void *arg)
{
	++*(int *)arg;
	(void)row;
}

static void add_to(struct lost *sum, const struct lost *more)
{
	sum->seconds += more->seconds;
	sum->lost_s += more->lost_s;
}

/* Rows come class by class, so most are of the user of the row before. */
static void add_row(const struct pairs_row *row, void *arg)
{
	struct user_weights *w = arg;
	/* A trial's time is no job's. */
	const double seconds = fmax(row->seconds - row->trial_seconds, 0);
	struct lost l = {0, seconds, seconds * row->degradation};
	struct lost *last = w->users ? &w->user[w->users - 1] : NULL;

	if (!owner(row->job, &l.uid))
		return;
	add_to(&w->all, &l);
	if (last && last->uid == l.uid)
		add_to(last, &l);
	else if (w->users < w->room)
		w->user[w->users++] = l;
}

static int by_uid(const void *a, const void *b)
{
	uint32_t x = ((const struct lost *)a)->uid, y = ((const struct lost *)b)->uid;

	return (x > y) - (x < y);
}

static void merge(struct user_weights *w)
{
	int kept = 0;

	qsort(w->user, (size_t)w->users, sizeof(*w->user), by_uid);
	for (int i = 0; i < w->users; i++)
		if (kept && w->user[kept - 1].uid == w->user[i].uid)
			add_to(&w->user[kept - 1], &w->user[i]);
		else
			w->user[kept++] = w->user[i];
	w->users = kept;
}

struct user_weights *user_weights_new(const struct pairs *p)
{
	struct user_weights *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	pairs_each(p, count_row, &w->room);
	w->user = malloc(((size_t)w->room + 1) * sizeof(*w->user));
	if (!w->user) {
		free(w);
		return NULL;
	}
	pairs_each(p, add_row, w);
	merge(w);
	return w;
}

void user_weights_free(struct user_weights *w)
{
	if (!w)
		return;
	free(w->user);
	free(w);
}

double user_weights_of(const struct user_weights *w, const char *class_name)
{
	struct lost key = {0};
	const struct lost *user;
	double mean, share;

	if (!w || !owner(class_name, &key.uid))
		return 1;
	user = bsearch(&key, w->user, (size_t)w->users, sizeof(*w->user), by_uid);
	if (!user || !(w->all.lost_s > 0))
		return 1;
	mean = w->all.lost_s / w->all.seconds;
	share = (user->lost_s + USER_WEIGHT_PRIOR_S * mean) / (user->seconds + USER_WEIGHT_PRIOR_S);
	return fmin(fmax(share / mean, 1 / USER_WEIGHT_MOST), USER_WEIGHT_MOST);
}
