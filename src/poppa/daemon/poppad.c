/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppad: measures on one node what co-located jobs cost each other. */
#include "poppa/daemon/poppad.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "poppa/hold/held_release.h"
#include "poppa/hold/pause.h"
#include "poppa/map/map_job.h"
#include "poppa_config.h"

#define NICE (-15)
#define HEAP_SLACK (128 * 1024) /* bytes */

/* Each task takes several descriptors, and each of its threads may take more. */
static void take_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		plog_warn("cannot raise the limit of open files: %s", strerror(errno));
}

/* Raises the priority among the sessions of the host as well. Where no cgroup shares the
 * processors out, the kernel gives each session the same part of them, whatever the priorities
 * within; so a user with many sessions could keep poppad waiting. */
static void raise_session(void)
{
	char text[8];
	size_t len = (size_t)snprintf(text, sizeof(text), "%d", NICE);
	int fd, tries = 0;
	ssize_t n;

	/* In a session that a shell leads, all that is started there would be raised too. */
	if (getsid(0) != getpid())
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	/* The kernel may be built or started without it, and then there is nothing to raise. */
	if (fd < 0)
		return;
	/* Of all processes without CAP_SYS_ADMIN one may write there in a tenth of a second. */
	while ((n = write(fd, text, len)) < 0 && errno == EAGAIN && tries++ < 100)
		usleep(20000);
	if (n < 0)
		plog_warn("cannot raise the priority of the session: %s", strerror(errno));
	close(fd);
}

/* Raises the priority and keeps every page that has been used in memory. */
static void stay_in_memory(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* poppad's work is short, but jobs must not delay it: on a full node, even its death takes
	 * until each of its threads has had a turn. Threads that are made later inherit this. */
	if (setpriority(PRIO_PROCESS, 0, NICE))
		plog_warn("cannot raise the priority: %s", strerror(errno));
	raise_session();
	if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		plog_warn("cannot lock memory: %s", strerror(errno));
	if (fd >= 0) {
		if (write(fd, "-900", 4) < 0)
			plog_debug("cannot leave the OOM killer's list: %s", strerror(errno));
		close(fd);
	}
}

static int repair(const struct poppad *d)
{
	struct errmsg err = {""};
	int n = held_repair(d->paths.held, &err);

	if (n < 0)
		plog_error("%s", err.text);
	else if (n)
		plog_warn("resumed %d thing%s that an earlier poppad left stopped", n,
			n == 1 ? "" : "s");
	return n < 0 ? -1 : 0;
}

/* Takes the lock first, because a running poppad still needs the list of what it holds. */
static int repair_only(struct poppad *d)
{
	struct errmsg err = {""};

	if (access(d->paths.held, F_OK))
		return 0;
	if (poppad_lock(d, &err)) {
		plog_error("%s", err.text);
		return 1;
	}
	return repair(d) ? 1 : 0;
}

static int prepare(struct poppad *d, struct errmsg *err)
{
	if (geteuid())
		return errmsg_set(err, "poppad must run as root: it stops and measures the "
				       "processes of all users");
	d->base = event_base_new();
	if (!d->base)
		return errmsg_set(err, "cannot make an event loop");
	stay_in_memory();
	take_descriptors();
	if (poppad_take_run_dir(d, err))
		return -1;
	repair(d);
	d->held = held_create(d->paths.held, &d->held_fd, err);
	if (!d->held)
		return -1;
	if (spool_open(&d->spool, d->paths.spool, err))
		return -1;
	d->spool.keep_days = d->conf.spool_keep_days;
	d->run_dir_fd = run_dir_watch(d->paths.run, err);
	if (d->run_dir_fd < 0)
		return -1;
	node_type_read("", d->node_type);
	d->sender = sender_start(&d->spool, d->node_type, err);
	if (!d->sender)
		return -1;
	d->shutter = shutter_start(d->held, &d->guard, &d->block_fd, err);
	if (!d->shutter)
		return -1;
	d->status = status_open(d->base, d->paths.sock, poppad_answer, d, err);
	return d->status ? 0 : -1;
}

static void on_run_dir(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;
	int changed = run_dir_changed(fd);

	(void)what;
	if (changed & RUN_DIR_CLUSTER)
		poppad_read_cluster(d);
	if (changed & RUN_DIR_JOBS)
		poppad_sync_jobs(d);
}

static void on_reload(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	poppad_reload(arg);
}

static void on_end(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	event_base_loopbreak(d->base);
}

static void make_events(struct poppad *d)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

	for (int i = 0; i < 3; i++) {
		d->signals[i] = evsignal_new(
			d->base, numbers[i], numbers[i] == SIGHUP ? on_reload : on_end, d);
		evsignal_add(d->signals[i], NULL);
	}
	d->run_dir_event = event_new(d->base, d->run_dir_fd, EV_READ | EV_PERSIST, on_run_dir, d);
	event_add(d->run_dir_event, NULL);
	poppad_jobs_events(d);
	poppad_guard_events(d);
	poppad_requests_events(d);
}

static void end(struct poppad *d)
{
	struct event *all[] = {d->tick, d->look, d->map, d->run_dir_event, d->block_event,
		d->guard_event, d->guard_retry, d->hold_event, d->signals[0], d->signals[1],
		d->signals[2]};

	jobs_free(d->jobs);
	if (d->shutter)
		shutter_stop(d->shutter);
	/* From here on, nothing is stopped. */
	pause_finish();
	guard_stop(&d->guard);
	if (d->sender)
		sender_stop(d->sender);
	shutterlog_close(d->log);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i])
			event_free(all[i]);
	status_close(d->status);
	if (d->base)
		event_base_free(d->base);
	held_unmap(d->held);
}

int main(int argc, char **argv)
{
	static struct poppad d = {.held_fd = -1,
		.lock_fd = -1,
		.run_dir_fd = -1,
		.block_fd = -1,
		.guard = {.pidfd = -1, .timerfd = -1}};
	struct errmsg err = {""};
	int rc = 0;

	poppad_options(argc, argv, &d.options);
	plog_init("poppad", d.options.verbose ? PLOG_DEBUG : PLOG_INFO);
	if (d.options.syslog)
		plog_set_sink(plog_syslog);
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	if (d.options.conf)
		snprintf(d.conf_path, sizeof(d.conf_path), "%s", d.options.conf);
	else
		nodeconf_path(d.conf_path, sizeof(d.conf_path));
	nodeconf_host(d.node, sizeof(d.node));
	if (d.options.node) {
		if (strlen(d.options.node) >= sizeof(d.node) || strchr(d.options.node, '/')) {
			plog_error("--node=%s is not the name of a node", d.options.node);
			return 1;
		}
		strcpy(d.node, d.options.node);
	}
	settings_defaults(&d.settings);
	if (nodeconf_load(d.conf_path, &d.conf, &err)) {
		plog_error("%s", err.text);
		return 1;
	}
	if (d.options.counters)
		return poppad_counters(&d.conf) ? 1 : 0;
	poppad_set_paths(&d);
	if (d.options.repair)
		return repair_only(&d);
	if (map_conf_check(&d.conf, &err)) {
		plog_error("%s: %s", d.conf_path, err.text);
		return 1;
	}
	/* To save memory: one heap for all threads, and what is freed goes back to the system. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, HEAP_SLACK);
	mallopt(M_TRIM_THRESHOLD, HEAP_SLACK);
	if (prepare(&d, &err)) {
		plog_error("%s", err.text);
		end(&d);
		return 1;
	}
	make_events(&d);
	poppad_open_log(&d);
	poppad_watch_guard(&d);
	poppad_read_cluster(&d);
	plog_info("version " POPPA_VERSION ", process %d, node %s, guard is process %d",
		(int)getpid(), d.node, (int)d.guard.pid);
	if (event_base_dispatch(d.base) < 0)
		rc = 1;
	plog_info("ending");
	end(&d);
	return rc;
}
