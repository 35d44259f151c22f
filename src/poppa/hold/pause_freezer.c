/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pauses a cgroup with the freezer of cgroup v1 or v2. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "poppa/hold/pause_ops.h"

static ssize_t look_at(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	if (n >= 0)
		text[n] = '\0';
	else if (errno == ENODEV)
		errno = ESRCH; /* the cgroup was removed */
	return n;
}

static int command(struct pause_unit *u, const char *text)
{
	if (!freezer_command(u->fd[0], text))
		return 0;
	if (errno == ENODEV)
		errno = ESRCH;
	return -1;
}

/* Whether anybody has written to the switch since this was last asked. */
static bool written(const struct pause_unit *u)
{
	char events[16 * sizeof(struct inotify_event)];
	bool any = false;

	while (u->fd[2] >= 0 && read(u->fd[2], events, sizeof(events)) > 0)
		any = true;
	return any;
}

static int stop(struct pause_unit *u)
{
	const struct freezer_words *f = held_freezer(u->kind);
	char text[64];

	if (look_at(u->fd[0], text, sizeof(text)) < 0)
		return -1;
	if (strncmp(text, f->free, strlen(f->free))) {
		errno = EBUSY;
		return -1;
	}
	if (!held_arm(u->held, u->entry)) {
		errno = ETIME;
		return -1;
	}
	if (!command(u, f->freeze)) {
		written(u); /* by us */
		u->meddled = false;
		return 0;
	}
	held_disarm(u->held, u->entry);
	return -1;
}

static int stands_still(struct pause_unit *u)
{
	char text[128];

	if (look_at(u->fd[1], text, sizeof(text)) < 0)
		return -1;
	return strstr(text, held_freezer(u->kind)->frozen) != NULL;
}

static bool stopped(const struct pause_unit *u)
{
	(void)u;
	return false;
}

static bool meddled(struct pause_unit *u)
{
	u->meddled |= written(u);
	return u->meddled;
}

/* Signals that come to a frozen process stay pending and act after the thaw: none is sent again. */
static bool resume(struct pause_unit *u, bool look)
{
	(void)look;
	if (meddled(u))
		return true;
	command(u, held_freezer(u->kind)->thaw);
	return false;
}

static int watch(struct pause_unit *u)
{
	const struct held_entry *e = &u->held->entry[u->entry];
	char path[PATH_MAX];

	if (u->fd[2] >= 0)
		return 0;
	u->fd[2] = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (u->fd[2] < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/%s", e->path, held_freezer(u->kind)->command);
	if (inotify_add_watch(u->fd[2], path, IN_MODIFY) >= 0)
		return 0;
	close(u->fd[2]);
	u->fd[2] = -1;
	return -1;
}

static const struct pause_ops ops = {stop, stands_still, stopped, resume, watch, meddled};

struct pause_unit *pause_open_freezer(struct held_file *h, enum held_kind kind, const char *dir)
{
	struct pause_unit *u = pause_new(&ops, h, kind, 0, 0, dir);
	const struct freezer_words *f = held_freezer(kind);
	char path[PATH_MAX];
	int saved;

	if (!u)
		return NULL;
	u->fd[0] = freezer_open(f, dir);
	snprintf(path, sizeof(path), "%s/%s", dir, f->state);
	if (u->fd[0] >= 0)
		u->fd[1] = open(path, O_RDONLY | O_CLOEXEC);
	if (u->fd[1] >= 0)
		return u;
	saved = errno == ENOENT ? ESRCH : errno;
	pause_close(u);
	errno = saved;
	return NULL;
}

static char kept[PATH_MAX]; /* the empty cgroup; "" = none */

void pause_prepare(const char *mount, const char *node)
{
	char dir[sizeof(kept)];

	if (*kept ||
		snprintf(dir, sizeof(dir), "%s/freezer/poppa_%s", mount, node) >= (int)sizeof(dir))
		return;
	/* Without this cgroup shutters work too, but cost more. */
	if (mkdir(dir, 0755) && errno != EEXIST)
		return;
	strcpy(kept, dir);
	if (freezer_command_in(&freezer_v1, kept, freezer_v1.freeze))
		pause_finish();
}

void pause_finish(void)
{
	if (*kept)
		rmdir(kept);
	*kept = '\0';
}
