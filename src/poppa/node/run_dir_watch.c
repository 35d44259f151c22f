/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watches RunDir for what slurmd writes there. */
#include "poppa/node/run_dir_watch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "registration/registration.h"

int run_dir_watch(const char *run_dir, struct errmsg *err)
{
	const uint32_t what = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char jobs[PATH_MAX];

	if (fd < 0)
		return errmsg_set(err, "cannot watch %s: %s", run_dir, strerror(errno));
	snprintf(jobs, sizeof(jobs), "%s/" REGISTRATION_DIR, run_dir);
	if (inotify_add_watch(fd, run_dir, what) < 0 || inotify_add_watch(fd, jobs, what) < 0) {
		errmsg_set(err, "cannot watch %s: %s", jobs, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

int run_dir_changed(int fd)
{
	char buf[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	int mask = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const struct inotify_event *)p;
			uint32_t job, restart;
			bool ended;

			if (e->mask & IN_Q_OVERFLOW)
				mask |= RUN_DIR_JOBS | RUN_DIR_CLUSTER;
			else if (e->len && !strcmp(e->name, CLUSTER_CONF_FILE))
				mask |= RUN_DIR_CLUSTER;
			else if (e->len && registration_is_name(e->name, &job, &restart, &ended))
				mask |= RUN_DIR_JOBS;
			p += sizeof(*e) + e->len;
		}
	}
	return mask;
}
