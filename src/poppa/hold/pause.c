/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What both ways of pausing share: the entry in the list of held things. */
#include "poppa/hold/pause.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "poppa/hold/pause_ops.h"

struct pause_unit *pause_new(const struct pause_ops *ops, struct held_file *h, enum held_kind kind,
	pid_t pid, uint64_t starttime, const char *dir)
{
	struct pause_unit *u = malloc(sizeof(*u));

	if (!u)
		return NULL;
	*u = (struct pause_unit){.ops = ops, .held = h, .kind = kind, .fd = {-1, -1, -1}};
	u->entry = held_take(h, kind, pid, starttime, dir);
	if (u->entry < 0) {
		int saved = errno;

		free(u);
		errno = saved;
		return NULL;
	}
	return u;
}

void pause_let_go(struct pause_unit *u)
{
	for (size_t i = 0; i < sizeof(u->fd) / sizeof(u->fd[0]); i++) {
		if (u->fd[i] >= 0)
			close(u->fd[i]);
		u->fd[i] = -1;
	}
}

void pause_close(struct pause_unit *u)
{
	if (!u)
		return;
	pause_let_go(u);
	held_free(u->held, u->entry);
	free(u);
}

int pause_stop(struct pause_unit *u)
{
	if (u->ops->stop(u))
		return -1;
	held_stopped(u->held, u->entry);
	return 0;
}

int pause_stands_still(struct pause_unit *u)
{
	return u->ops->stands_still(u);
}

bool pause_stopped(const struct pause_unit *u)
{
	return u->ops->stopped(u);
}

bool pause_resume(struct pause_unit *u, bool look)
{
	bool foreign;

	if (!held_ours(u->held, u->entry))
		return false;
	foreign = u->ops->resume(u, look);
	held_disarm(u->held, u->entry);
	return foreign;
}

int pause_watch(struct pause_unit *u)
{
	if (u->ops->watch)
		return u->ops->watch(u);
	errno = ENOTSUP;
	return -1;
}

bool pause_meddled(struct pause_unit *u)
{
	/* What the guard has thawed is nobody's doing. */
	return u->ops->meddled && held_ours(u->held, u->entry) && u->ops->meddled(u);
}
