/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where tasks go: applications that share data on few sockets, busy tasks on cores of their own. */
#include <limits.h>
#include <string.h>

#include "mapper/mapper_state.h"

#define ANY_SOCKET (-1)

static void clear(struct mapper *m)
{
	memset(m->core_tasks, 0, (size_t)m->cores * sizeof(int));
	memset(m->core_busy, 0, (size_t)m->cores * sizeof(int));
	memset(m->pu_tasks, 0, (size_t)m->pu_count * sizeof(int));
	memset(m->socket_tasks, 0, (size_t)m->sockets * sizeof(int));
	memset(m->socket_hogs, 0, (size_t)m->sockets * sizeof(int));
}

static bool shares_cores(const struct mapper *m, const struct app_state *a)
{
	return a->known.coherence == MAPPER_HIGH && a->known.spc > m->set.hyper_spc;
}

/* How many tasks of an application a socket has room for: PUs without tasks; where its tasks are
 * busy, such PUs on cores without busy ones, one on each (section 4.4). */
static int room(const struct mapper *m, int socket, const struct app_state *a)
{
	int n = 0, last = -1;

	for (int i = 0; i < m->pu_count; i++) {
		const struct mapper_pu *p = &m->pus[i];

		if (p->socket != socket || m->pu_tasks[i])
			continue;
		if (a->known.high_ipc && !shares_cores(m, a) &&
			(m->core_busy[p->core] || p->core == last))
			continue;
		last = p->core;
		n++;
	}
	return n;
}

/* How many of its tasks have run there. */
static int there(const struct mapper *m, const struct app_state *a,
	const struct mapper_sample *sample, int socket)
{
	int n = 0;

	for (int k = 0; k < a->known.tasks; k++) {
		int pu = sample[m->order[a->first + k]].pu;

		for (int i = 0; i < m->pu_count; i++)
			if (m->pus[i].pu == pu)
				n += m->pus[i].socket == socket;
	}
	return n;
}

/* The socket for `left` tasks of an application that shares: one without tasks that has room for
 * all, else any that has, else the one with most room. Of equal ones it is where most of them are
 * already. */
static int find_socket(const struct mapper *m, const struct app_state *a,
	const struct mapper_sample *sample, int left)
{
	int best = ANY_SOCKET, best_rank = -1, best_room = 0, best_there = 0;

	for (int s = 0; s < m->sockets; s++) {
		int has = room(m, s, a), rank = has < left ? 0 : m->socket_tasks[s] ? 1 : 2;
		int stay = there(m, a, sample, s);

		if (!has || rank < best_rank)
			continue;
		if (rank == best_rank &&
			(rank ? stay <= best_there
			      : has < best_room || (has == best_room && stay <= best_there)))
			continue;
		best = s;
		best_rank = rank;
		best_room = has;
		best_there = stay;
	}
	return best;
}

/* So many times the accesses to one side must be those to the other. */
#define FAR_FACTOR 2

/* Where a task that needs memory most has its memory: on the socket `on`, or not on `not_on`. Both
 * are ANY_SOCKET where it is not known, or on both sides: then the task stays, or it would move to
 * and fro. */
struct memory {
	int on, not_on;
};

static struct memory memory_of(
	const struct mapper *m, const struct app_state *a, const struct mapper_sample *s)
{
	struct memory where = {ANY_SOCKET, ANY_SOCKET};

	for (int i = 0; a->known.high_misses && i < m->pu_count; i++) {
		if (m->pus[i].pu != s->pu)
			continue;
		if (s->remote > FAR_FACTOR * s->local)
			where.not_on = m->pus[i].socket;
		else if (s->local > FAR_FACTOR * s->remote)
			where.on = m->pus[i].socket;
	}
	return where;
}

static bool is_far(const struct memory *where, int socket)
{
	return socket == where->not_on || (where->on != ANY_SOCKET && socket != where->on);
}

/* How bad a PU is for a task; the lowest wins. What comes first weighs more than all after it. */
static int64_t badness(const struct mapper *m, const struct app_state *a,
	const struct mapper_sample *s, const struct memory *memory, int place)
{
	const struct mapper_pu *p = &m->pus[place];
	int64_t bad = m->pu_tasks[place];
	bool together = shares_cores(m, a);
	int lonely = together ? !m->core_own[p->core] : m->core_tasks[p->core] > 0;

	bad = bad * 2 + (!together && a->known.high_ipc && m->core_busy[p->core] > 0);
	bad = bad * 2 + lonely;
	bad = bad * (MAPPER_PUS_MAX + 1) + (a->known.coherence == MAPPER_LOW && a->known.high_misses
							   ? m->socket_hogs[p->socket]
							   : 0);
	bad = bad * 2 + is_far(memory, p->socket);
	bad = bad * 2 + (p->pu != s->pu);
	return bad * MAPPER_PUS_MAX + place;
}

static int place_task(
	struct mapper *m, const struct app_state *a, const struct mapper_sample *s, int socket)
{
	const struct memory memory = memory_of(m, a, s);
	int best = -1;
	int64_t least = INT64_MAX;

	for (int i = 0; i < m->pu_count; i++) {
		int64_t bad;

		if (socket != ANY_SOCKET && m->pus[i].socket != socket)
			continue;
		bad = badness(m, a, s, &memory, i);
		if (bad < least) {
			least = bad;
			best = i;
		}
	}
	m->pu_tasks[best]++;
	m->core_tasks[m->pus[best].core]++;
	m->core_own[m->pus[best].core]++;
	m->core_busy[m->pus[best].core] += a->known.high_ipc;
	m->socket_tasks[m->pus[best].socket]++;
	m->socket_hogs[m->pus[best].socket] += a->known.high_misses;
	return m->pus[best].pu;
}

void mapper_place(struct mapper *m, const struct mapper_sample *sample, int *to)
{
	clear(m);
	for (int i = 0; i < m->app_count; i++) {
		const struct app_state *a = &m->apps[i];
		int socket = ANY_SOCKET, left = 0;

		memset(m->core_own, 0, (size_t)m->cores * sizeof(int));
		for (int k = 0; k < a->known.tasks; k++) {
			int task = m->order[a->first + k];

			if (a->known.coherence != MAPPER_LOW && !left) {
				socket = find_socket(m, a, sample, a->known.tasks - k);
				left = socket == ANY_SOCKET ? INT_MAX : room(m, socket, a);
			}
			to[task] = place_task(m, a, &sample[task], socket);
			left--;
		}
	}
}
