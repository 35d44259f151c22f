/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Knows where poppad's files are, and locks RunDir for one poppad. */
#include "poppa/daemon/poppad.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/log.h"
#include "registration/registration.h"

#define LOCK_TRIES 25
#define LOCK_WAIT_US 20000

void poppad_set_paths(struct poppad *d)
{
	struct paths *p = &d->paths;

	nodeconf_expand(d->conf.run_dir, d->node, p->run, sizeof(p->run));
	nodeconf_expand(d->conf.spool_dir, d->node, p->spool, sizeof(p->spool));
	nodeconf_expand(d->conf.shutter_log, d->node, p->log, sizeof(p->log));
	snprintf(p->jobs, sizeof(p->jobs), "%s/" REGISTRATION_DIR, p->run);
	snprintf(p->held, sizeof(p->held), "%s/held", p->run);
	snprintf(p->lock, sizeof(p->lock), "%s/poppad.pid", p->run);
	snprintf(p->sock, sizeof(p->sock), "%s/poppad.sock", p->run);
	snprintf(p->cluster, sizeof(p->cluster), "%s/" CLUSTER_CONF_FILE, p->run);
}

/* Only root may write here, because these files decide which processes are stopped. */
static int check_owner(const char *dir, struct errmsg *err)
{
	struct stat st;

	if (stat(dir, &st))
		return errmsg_set(err, "cannot look at %s: %s", dir, strerror(errno));
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return errmsg_set(err,
			"%s must belong to root and be writable by nobody else: chown root, chmod "
			"go-w",
			dir);
	return 0;
}

int poppad_lock(struct poppad *d, struct errmsg *err)
{
	char text[32] = "";
	int busy;

	d->lock_fd = open(d->paths.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (d->lock_fd < 0)
		return errmsg_set(err, "cannot open %s: %s", d->paths.lock, strerror(errno));
	/* A poppad that was killed just now holds the lock until the kernel closes its files. */
	for (int tries = 0; (busy = flock(d->lock_fd, LOCK_EX | LOCK_NB)) && tries < LOCK_TRIES;
		tries++)
		usleep(LOCK_WAIT_US);
	if (busy) {
		if (read(d->lock_fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		return errmsg_set(err, "a poppad for this node runs already, process %d (%s)",
			atoi(text), d->paths.lock);
	}
	/* The number is only for people: a full disk must not prevent a repair. */
	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(d->lock_fd, 0) || pwrite(d->lock_fd, text, strlen(text), 0) < 0)
		plog_warn("cannot write %s: %s", d->paths.lock, strerror(errno));
	return 0;
}

int poppad_take_run_dir(struct poppad *d, struct errmsg *err)
{
	return fsio_mkdirs(d->paths.run, 0755, err) || fsio_mkdirs(d->paths.jobs, 0700, err) ||
			       check_owner(d->paths.run, err) || check_owner(d->paths.jobs, err) ||
			       poppad_lock(d, err)
		       ? -1
		       : 0;
}

/* Each start has a log of its own. %n in the path is replaced already. */
void poppad_open_log(struct poppad *d)
{
	char path[PATH_MAX + 192], when[32];
	struct errmsg err = {""};
	time_t now = time(NULL);
	struct tm tm;

	if (!*d->paths.log || d->log)
		return;
	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	snprintf(path, sizeof(path), "%s/%s-%s-%d.csv", d->paths.log, d->node, when, (int)getpid());
	if (fsio_mkdirs(d->paths.log, 0700, &err) || !(d->log = shutterlog_open(path, &err)))
		plog_error("no shutter log: %s", err.text);
	else
		plog_info("shutter log: %s", path);
}
