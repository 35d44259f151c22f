/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mapper's settings, its memory, and one interval of it. */
#include "mapper/mapper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/keyval.h"
#include "common/units.h"
#include "mapper/mapper_state.h"

const struct mapper_settings mapper_defaults = {
	.high_coherence = 0.78e-3,
	.low_coherence = 0.39e-3,
	.high_ipc = 0.9,
	.hyper_spc = 550,
	.high_misses = 5e-3,
	.history = 10,
	.majority = 6,
};

static int setting(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	struct mapper_settings *s = arg;
	const struct {
		const char *key;
		double *real;
		uint32_t *whole;
		int64_t max;
	} rows[] = {
		{"high_coherence", &s->high_coherence, NULL, 0},
		{"low_coherence", &s->low_coherence, NULL, 0},
		{"high_ipc", &s->high_ipc, NULL, 0},
		{"hyper_spc", &s->hyper_spc, NULL, 0},
		{"high_misses", &s->high_misses, NULL, 0},
		{"history", NULL, &s->history, 64},
		{"majority", NULL, &s->majority, 63},
	};

	(void)line;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct errmsg why;
		int64_t n = 0;

		if (strcmp(key, rows[i].key))
			continue;
		if (!value)
			return errmsg_set(err, "%s: give it a number", key);
		if (rows[i].real ? units_parse_double(value, 0, 1e9, rows[i].real, &why)
				 : units_parse_int(value, 0, rows[i].max, &n, &why))
			return errmsg_set(err, "%s: %s", key, why.text);
		if (rows[i].whole)
			*rows[i].whole = (uint32_t)n;
		return 0;
	}
	return keyval_unknown(key, rows, sizeof(rows[0]), sizeof(rows) / sizeof(rows[0]), err);
}

int mapper_settings_parse(struct mapper_settings *s, const char *text, struct errmsg *err)
{
	struct mapper_settings next = *s;

	if (keyval_list(text, setting, &next, err))
		return -1;
	if (next.majority >= next.history)
		return errmsg_set(err, "majority=%u: it has to be less than history=%u",
			next.majority, next.history);
	if (next.low_coherence > next.high_coherence)
		return errmsg_set(err, "low_coherence=%g is more than high_coherence=%g",
			next.low_coherence, next.high_coherence);
	*s = next;
	return 0;
}

struct mapper *mapper_create(
	const struct mapper_settings *settings, const struct mapper_pu *pus, int count)
{
	struct mapper *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->set = *settings;
	m->pu_count = count;
	m->pus = malloc((size_t)count * sizeof(*pus));
	if (m->pus)
		memcpy(m->pus, pus, (size_t)count * sizeof(*pus));
	for (int i = 0; i < count; i++) {
		m->cores = pus[i].core >= m->cores ? pus[i].core + 1 : m->cores;
		m->sockets = pus[i].socket >= m->sockets ? pus[i].socket + 1 : m->sockets;
	}
	m->core_tasks = calloc((size_t)m->cores + 1, sizeof(int));
	m->core_busy = calloc((size_t)m->cores + 1, sizeof(int));
	m->core_own = calloc((size_t)m->cores + 1, sizeof(int));
	m->pu_tasks = calloc((size_t)count + 1, sizeof(int));
	m->socket_tasks = calloc((size_t)m->sockets + 1, sizeof(int));
	m->socket_hogs = calloc((size_t)m->sockets + 1, sizeof(int));
	m->socket_pus = calloc((size_t)m->sockets + 1, sizeof(int));
	if (!m->pus || !m->core_tasks || !m->core_busy || !m->core_own || !m->pu_tasks ||
		!m->socket_tasks || !m->socket_hogs || !m->socket_pus) {
		mapper_destroy(m);
		return NULL;
	}
	for (int i = 0; i < count; i++)
		m->socket_pus[pus[i].socket]++;
	return m;
}

void mapper_destroy(struct mapper *m)
{
	if (!m)
		return;
	free(m->pus);
	free(m->apps);
	free(m->shown);
	free(m->order);
	free(m->core_tasks);
	free(m->core_busy);
	free(m->core_own);
	free(m->pu_tasks);
	free(m->socket_tasks);
	free(m->socket_hogs);
	free(m->socket_pus);
	free(m);
}

/* Those that share most first, of these those that stand still longest for it; then the less busy
 * ones (section 4.4). */
static int by_priority(const void *a, const void *b)
{
	const struct app_state *x = a, *y = b;

	if (x->known.coherence != y->known.coherence)
		return x->known.coherence > y->known.coherence ? -1 : 1;
	if (x->known.coherence == MAPPER_HIGH) {
		double p = isnan(x->known.spc) ? -1 : x->known.spc;
		double q = isnan(y->known.spc) ? -1 : y->known.spc;

		if (p > q || p < q)
			return p > q ? -1 : 1;
	} else if (x->known.ipc > y->known.ipc || x->known.ipc < y->known.ipc) {
		return x->known.ipc < y->known.ipc ? -1 : 1;
	}
	return (x->known.app > y->known.app) - (x->known.app < y->known.app);
}

static int show(struct mapper *m, struct errmsg *err)
{
	if (m->app_count > m->shown_room) {
		struct mapper_app *more =
			reallocarray(m->shown, (size_t)m->app_count, sizeof(*more));

		if (!more)
			return errmsg_set(err, "no memory for %d applications", m->app_count);
		m->shown = more;
		m->shown_room = m->app_count;
	}
	for (int i = 0; i < m->app_count; i++)
		m->shown[i] = m->apps[i].known;
	m->shown_count = m->app_count;
	return 0;
}

int mapper_step(struct mapper *m, const struct mapper_sample *sample, int count, int *to,
	struct errmsg *err)
{
	if (mapper_classify(m, sample, count, err))
		return -1;
	if (m->app_count)
		qsort(m->apps, (size_t)m->app_count, sizeof(*m->apps), by_priority);
	if (show(m, err))
		return -1;
	mapper_place(m, sample, to);
	return 0;
}

const struct mapper_app *mapper_apps(const struct mapper *m, int *count)
{
	*count = m->shown_count;
	return m->shown;
}
