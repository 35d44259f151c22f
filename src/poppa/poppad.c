/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppad: measures on one node what co-located jobs cost each other. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <event2/event.h>

#include "accounting/client.h"
#include "common/fsio.h"
#include "common/log.h"
#include "common/nodeconf.h"
#include "common/settings.h"
#include "common/units.h"
#include "poppa/clock.h"
#include "poppa/guardctl.h"
#include "poppa/held.h"
#include "poppa/jobs.h"
#include "poppa/pause.h"
#include "poppa/registry.h"
#include "poppa/sender.h"
#include "poppa/shutter.h"
#include "poppa/spool.h"
#include "poppa/status.h"
#include "poppa_config.h"

#define NICE (-15)
#define TICK_S 1
#define GUARD_RETRY_S 5
#define HOLD_MAX_S 86400
#define HEAP_SLACK (128 * 1024) /* bytes */
#define LOCK_TRIES 25
#define LOCK_WAIT_US 20000

enum { OPT_REPAIR = 256, OPT_SYSLOG };

struct options {
	const char *node, *conf;
	bool repair, syslog, verbose;
};

/* Where things are, from poppa.conf and the node's name. */
struct paths {
	char run[PATH_MAX], spool[PATH_MAX], log[PATH_MAX];
	char jobs[PATH_MAX + 32], held[PATH_MAX + 32], lock[PATH_MAX + 32], sock[PATH_MAX + 32],
		cluster[PATH_MAX + 32];
};

struct poppad {
	struct options options;
	char node[64], conf_path[PATH_MAX];
	struct paths paths;
	struct nodeconf conf;
	struct poppa_settings settings;
	struct cluster_conf cluster;
	bool have_cluster, told_waiting;
	char bad_settings[sizeof(((struct errmsg *)0)->text)];
	struct event_base *base;
	struct event *tick, *look, *registry_event, *block_event, *guard_event, *guard_retry,
		*hold_event;
	struct event *signals[3];
	struct held_file *held;
	int held_fd, lock_fd, registry_fd, block_fd;
	struct guard guard;
	bool guarded, held_off, told_guard;
	int64_t hold_until, guard_since;
	struct shutter *shutter;
	struct spool spool;
	struct sender *sender;
	struct status *status;
	struct shutterlog_writer *log;
	struct jobs *jobs;
	bool ticking;
};

const char *argp_program_version = "poppad " POPPA_VERSION;

static const struct argp_option option_table[] = {
	{"node", 'N', "NAME", 0, "Slurm's name of this node (default: the host name)", 0},
	{"conf", 'c', "FILE", 0, "Read this poppa.conf", 0},
	{"foreground", 'f', NULL, 0, "Stay in the foreground (always the case)", 0},
	{"verbose", 'v', NULL, 0, "Log details", 0},
	{"syslog", OPT_SYSLOG, NULL, 0, "Log to syslog instead of standard error", 0},
	{"repair", OPT_REPAIR, NULL, 0, "Resume what an earlier poppad left stopped, and exit", 0},
	{0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'N':
		o->node = arg;
		return 0;
	case 'c':
		o->conf = arg;
		return 0;
	case 'f':
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case OPT_SYSLOG:
		o->syslog = true;
		return 0;
	case OPT_REPAIR:
		o->repair = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\" is too much: only options are taken", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- directories and files --- */

static void set_paths(struct poppad *d)
{
	struct paths *p = &d->paths;

	nodeconf_expand(d->conf.run_dir, d->node, p->run, sizeof(p->run));
	nodeconf_expand(d->conf.spool_dir, d->node, p->spool, sizeof(p->spool));
	nodeconf_expand(d->conf.shutter_log, d->node, p->log, sizeof(p->log));
	snprintf(p->jobs, sizeof(p->jobs), "%s/jobs", p->run);
	snprintf(p->held, sizeof(p->held), "%s/held", p->run);
	snprintf(p->lock, sizeof(p->lock), "%s/poppad.pid", p->run);
	snprintf(p->sock, sizeof(p->sock), "%s/poppad.sock", p->run);
	snprintf(p->cluster, sizeof(p->cluster), "%s/cluster.conf", p->run);
}

/* Whoever can write here decides which processes get stopped. */
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

/* 0 with the lock, or -1 with err. The lock ends with the process. */
static int lock(struct poppad *d, struct errmsg *err)
{
	char text[32] = "";
	int busy;

	d->lock_fd = open(d->paths.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (d->lock_fd < 0)
		return errmsg_set(err, "cannot open %s: %s", d->paths.lock, strerror(errno));
	/* One that was killed just now holds it until the kernel has closed its files. */
	for (int tries = 0; (busy = flock(d->lock_fd, LOCK_EX | LOCK_NB)) && tries < LOCK_TRIES;
		tries++)
		usleep(LOCK_WAIT_US);
	if (busy) {
		if (read(d->lock_fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		return errmsg_set(err, "a poppad for this node runs already, process %d (%s)",
			atoi(text), d->paths.lock);
	}
	/* The number is for the reader; on a full disk a repair is to go on. */
	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(d->lock_fd, 0) || pwrite(d->lock_fd, text, strlen(text), 0) < 0)
		plog_warn("cannot write %s: %s", d->paths.lock, strerror(errno));
	return 0;
}

/* One log a start; %n is expanded already. */
static void open_log(struct poppad *d)
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

/* --- cluster.conf and settings --- */

static void set_ledger(struct poppad *d)
{
	struct errmsg err = {""};
	struct client c;

	if (client_init(&c, &d->settings, &d->conf, d->cluster.controllers, &err))
		plog_error("records stay in the spool: %s", err.text);
	else
		sender_ledger(d->sender, &c);
}

static void start_jobs(struct poppad *d);

/* A bad value leaves the last good settings in force. */
static void read_cluster(struct poppad *d)
{
	struct cluster_conf next;
	struct poppa_settings settings;
	struct errmsg err = {""};
	char text[SETTINGS_MAX_TEXT], was[SETTINGS_MAX_TEXT];

	if (registry_cluster(d->paths.cluster, &next, &err)) {
		if (errno != ENOENT)
			plog_error("%s", err.text);
		else if (!d->have_cluster && !d->told_waiting)
			plog_info("waiting for slurmd to write %s", d->paths.cluster);
		d->told_waiting = true;
		return;
	}
	if (settings_parse(next.prep_parameters, &settings, &err)) {
		/* slurmd may write the same again. */
		if (strcmp(d->bad_settings, err.text))
			plog_error("PrEpParameters: %s; %s", err.text,
				d->have_cluster ? "the last good settings stay in force"
						: "the defaults are in force");
		strcpy(d->bad_settings, err.text);
		settings = d->settings;
	} else {
		d->bad_settings[0] = '\0';
	}
	settings_format(&d->settings, was, sizeof(was));
	settings_format(&settings, text, sizeof(text));
	d->settings = settings;
	d->cluster = next;
	if (!d->have_cluster) {
		plog_info("cluster %s, node %s, %s", next.cluster, next.node, text);
		d->have_cluster = true;
		pause_prepare(next.cgroup_mount, d->node);
		start_jobs(d);
	} else {
		if (strcmp(was, text))
			plog_info("new settings: %s", text);
		jobs_reconfigured(d->jobs);
	}
	set_ledger(d);
}

static void reload(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;
	struct nodeconf next;
	struct errmsg err = {""};

	(void)fd;
	(void)what;
	if (nodeconf_load(d->conf_path, &next, &err)) {
		plog_error("%s; the last good configuration stays in force", err.text);
		return;
	}
	if (strcmp(next.run_dir, d->conf.run_dir) || strcmp(next.spool_dir, d->conf.spool_dir)) {
		plog_warn("RunDir and SpoolDir take effect at the next start");
		strcpy(next.run_dir, d->conf.run_dir);
		strcpy(next.spool_dir, d->conf.spool_dir);
	}
	if (strcmp(next.shutter_log, d->conf.shutter_log)) {
		shutterlog_close(d->log);
		d->log = NULL;
	}
	d->conf = next;
	d->spool.keep_days = next.spool_keep_days;
	set_paths(d);
	open_log(d);
	plog_info("read %s again", d->conf_path);
	if (d->have_cluster) {
		jobs_reconfigured(d->jobs);
		set_ledger(d);
	}
}

/* --- guard --- */

static void allow(struct poppad *d)
{
	if (d->jobs)
		jobs_allow(d->jobs, d->guarded && !d->held_off);
}

static void on_guard_died(evutil_socket_t fd, short what, void *arg);

static void watch_guard(struct poppad *d)
{
	const struct timeval retry = {.tv_sec = GUARD_RETRY_S};
	struct errmsg err = {""};

	if (guard_start(&d->guard, d->held, d->held_fd, &err)) {
		if (!d->told_guard)
			plog_error("no shutters without a guard: %s", err.text);
		d->told_guard = true;
		evtimer_add(d->guard_retry, &retry);
		return;
	}
	if (d->guard_event)
		event_free(d->guard_event);
	d->guard_event = event_new(d->base, d->guard.pidfd, EV_READ, on_guard_died, d);
	event_add(d->guard_event, NULL);
	d->guarded = true;
	d->guard_since = clock_now();
	d->told_guard = false;
	allow(d);
}

/* The plan is taken away first: after that nothing is stopped and the guard may be replaced. */
static void on_guard_died(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval retry = {.tv_sec = GUARD_RETRY_S};
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	plog_warn("the guard, process %d, has died: starting another one", (int)d->guard.pid);
	d->guarded = false;
	allow(d);
	event_free(d->guard_event);
	d->guard_event = NULL;
	guard_stop(&d->guard);
	/* One that dies again and again is not worth a busy loop. */
	if (clock_now() - d->guard_since < GUARD_RETRY_S * NS_PER_S)
		evtimer_add(d->guard_retry, &retry);
	else
		watch_guard(d);
}

static void on_guard_retry(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	watch_guard(arg);
}

/* --- events --- */

/* No job, no wake-up. */
static void set_tick(struct poppad *d)
{
	const struct timeval second = {.tv_sec = TICK_S};
	bool wanted = d->jobs && jobs_count(d->jobs) > 0;

	if (wanted == d->ticking)
		return;
	d->ticking = wanted;
	if (wanted)
		evtimer_add(d->tick, &second);
	else
		evtimer_del(d->tick);
}

static void set_look(struct poppad *d)
{
	int ms = d->jobs ? jobs_look_ms(d->jobs) : 0;
	const struct timeval t = {.tv_usec = ms * 1000};

	if (ms && !evtimer_pending(d->look, NULL))
		evtimer_add(d->look, &t);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	jobs_look(d->jobs);
	set_look(d);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	jobs_tick(d->jobs);
	set_tick(d);
	set_look(d);
	if (!d->ticking)
		malloc_trim(0);
}

static void on_registry(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;
	int changed = registry_changed(fd);

	(void)what;
	if (changed & REGISTRY_CLUSTER)
		read_cluster(d);
	if (changed & REGISTRY_JOBS && d->jobs) {
		jobs_sync(d->jobs);
		set_tick(d);
		set_look(d);
	}
}

static void on_block(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	if (!d->jobs)
		return;
	jobs_block(d->jobs);
	set_look(d);
}

static void on_end(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	event_base_loopbreak(d->base);
}

static void on_hold_over(evutil_socket_t fd, short what, void *arg)
{
	struct poppad *d = arg;

	(void)fd;
	(void)what;
	d->held_off = false;
	evtimer_del(d->hold_event);
	plog_info("shutters are on again");
	allow(d);
}

static void start_jobs(struct poppad *d)
{
	const struct jobs_env env = {.dir = d->paths.jobs,
		.conf = &d->conf,
		.settings = &d->settings,
		.cluster = &d->cluster,
		.held = d->held,
		.shutter = d->shutter,
		.spool = &d->spool,
		.sender = d->sender,
		.log = &d->log};

	d->jobs = jobs_new(&env);
	if (!d->jobs) {
		plog_error("out of memory");
		return;
	}
	allow(d);
	jobs_sync(d->jobs);
	set_tick(d);
}

/* --- status --- */

static json_t *error_reply(const char *text)
{
	return json_pack("{s:s}", "error", text);
}

static json_t *set_hold(struct poppad *d, const json_t *request, bool hold)
{
	double seconds = json_number_value(json_object_get(request, "seconds"));
	struct timeval t;

	if (hold && !(seconds > 0 && seconds <= HOLD_MAX_S))
		return error_reply("\"seconds\" must be a number above 0 and at most 86400");
	if (hold) {
		t.tv_sec = (time_t)seconds;
		t.tv_usec = (suseconds_t)((seconds - (double)t.tv_sec) * 1e6);
		evtimer_add(d->hold_event, &t);
		d->hold_until = clock_now() + (int64_t)(seconds * NS_PER_S);
		if (!d->held_off)
			plog_info("no shutters for %.6g s, as root asked", seconds);
		d->held_off = true;
		allow(d);
	} else if (d->held_off) {
		on_hold_over(-1, 0, d);
	}
	return json_pack("{s:b}", "ok", 1);
}

static json_t *spool_json(const struct poppad *d)
{
	struct spool_counts n;

	spool_count(&d->spool, &n);
	return json_pack(
		"{s:i, s:i, s:i}", "records", n.records, "refused", n.refused, "bad", n.bad);
}

static json_t *describe(struct poppad *d, uid_t uid)
{
	char text[SETTINGS_MAX_TEXT];
	json_t *s = json_pack("{s:s, s:s, s:s, s:i, s:i, s:b, s:s, s:s?, s:f}", "version",
		POPPA_VERSION, "node", d->node, "cluster", d->cluster.cluster, "pid", (int)getpid(),
		"guard_pid", d->guarded ? (int)d->guard.pid : 0, "waiting_for_slurmd",
		!d->have_cluster, "settings", settings_format(&d->settings, text, sizeof(text)),
		"bad_settings", *d->bad_settings ? d->bad_settings : NULL, "hold_s",
		d->held_off ? (double)(d->hold_until - clock_now()) / NS_PER_S : 0.0);

	if (s)
		json_object_set_new(s, "spool", spool_json(d));
	if (s && d->jobs) {
		json_object_set_new(s, "jobs", jobs_status(d->jobs, uid));
		json_object_set_new(s, "totals", jobs_totals(d->jobs));
	} else if (s) {
		json_object_set_new(s, "jobs", json_array());
	}
	return s;
}

static json_t *on_request(const json_t *request, uid_t uid, void *arg)
{
	const char *op = json_string_value(json_object_get(request, "op"));
	struct poppad *d = arg;

	if (op && !strcmp(op, "status"))
		return describe(d, uid);
	if (op && (!strcmp(op, "hold") || !strcmp(op, "release"))) {
		if (uid)
			return error_reply("only root may do this");
		return set_hold(d, request, !strcmp(op, "hold"));
	}
	return error_reply("\"op\" must be status, hold or release");
}

/* --- start and end --- */

/* Each task takes several descriptors, each of its threads may take more. */
static void take_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		plog_warn("cannot raise the limit of open files: %s", strerror(errno));
}

/* No page of ours is swapped out once it has been used; what is never used is never loaded. */
static void stay_in_memory(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* Short work, but not to be kept waiting by the jobs: on a full node even the death of this
	 * process takes until each of its threads has had a turn. Threads made later inherit it. */
	if (setpriority(PRIO_PROCESS, 0, NICE))
		plog_warn("cannot raise the priority: %s", strerror(errno));
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

/* Not beside a running poppad: that one needs the list for itself. */
static int repair_only(struct poppad *d)
{
	struct errmsg err = {""};

	if (access(d->paths.held, F_OK))
		return 0;
	if (lock(d, &err)) {
		plog_error("%s", err.text);
		return 1;
	}
	return repair(d) ? 1 : 0;
}

static int prepare(struct poppad *d, struct errmsg *err)
{
	if (geteuid()) {
		return errmsg_set(err, "poppad must run as root: it stops and measures the "
				       "processes of all users");
	}
	d->base = event_base_new();
	if (!d->base)
		return errmsg_set(err, "cannot make an event loop");
	stay_in_memory();
	take_descriptors();
	if (fsio_mkdirs(d->paths.run, 0755, err) || fsio_mkdirs(d->paths.jobs, 0700, err) ||
		check_owner(d->paths.run, err) || check_owner(d->paths.jobs, err) || lock(d, err))
		return -1;
	repair(d);
	d->held = held_create(d->paths.held, &d->held_fd, err);
	if (!d->held)
		return -1;
	if (spool_open(&d->spool, d->paths.spool, err))
		return -1;
	d->spool.keep_days = d->conf.spool_keep_days;
	d->registry_fd = registry_watch(d->paths.run, err);
	if (d->registry_fd < 0)
		return -1;
	d->sender = sender_start(&d->spool, err);
	if (!d->sender)
		return -1;
	d->shutter = shutter_start(d->held, &d->guard, &d->block_fd, err);
	if (!d->shutter)
		return -1;
	d->status = status_open(d->base, d->paths.sock, on_request, d, err);
	return d->status ? 0 : -1;
}

static void make_events(struct poppad *d)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

	for (int i = 0; i < 3; i++) {
		d->signals[i] = evsignal_new(
			d->base, numbers[i], numbers[i] == SIGHUP ? reload : on_end, d);
		evsignal_add(d->signals[i], NULL);
	}
	d->tick = event_new(d->base, -1, EV_PERSIST, on_tick, d);
	d->look = evtimer_new(d->base, on_look, d);
	d->guard_retry = evtimer_new(d->base, on_guard_retry, d);
	d->hold_event = evtimer_new(d->base, on_hold_over, d);
	d->registry_event =
		event_new(d->base, d->registry_fd, EV_READ | EV_PERSIST, on_registry, d);
	event_add(d->registry_event, NULL);
	d->block_event = event_new(d->base, d->block_fd, EV_READ | EV_PERSIST, on_block, d);
	event_add(d->block_event, NULL);
}

static void end(struct poppad *d)
{
	struct event *all[] = {d->tick, d->look, d->registry_event, d->block_event, d->guard_event,
		d->guard_retry, d->hold_event, d->signals[0], d->signals[1], d->signals[2]};

	jobs_free(d->jobs);
	if (d->shutter)
		shutter_stop(d->shutter);
	/* Nothing is stopped from here on. */
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
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "Stops co-located jobs for a few milliseconds each now and then, and finds "
		       "out how much they slow each other down."};
	static struct poppad d = {.held_fd = -1,
		.lock_fd = -1,
		.registry_fd = -1,
		.block_fd = -1,
		.guard = {.pidfd = -1, .timerfd = -1}};
	struct errmsg err = {""};
	int rc = 0;

	argp_parse(&argp, argc, argv, 0, NULL, &d.options);
	plog_init("poppad", d.options.verbose ? PLOG_DEBUG : PLOG_INFO);
	if (d.options.syslog)
		plog_to_syslog();
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
	set_paths(&d);
	if (d.options.repair)
		return repair_only(&d);
	/* One heap for all threads, and what is freed goes back, also after something large: less
	 * memory. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, HEAP_SLACK);
	mallopt(M_TRIM_THRESHOLD, HEAP_SLACK);
	if (prepare(&d, &err)) {
		plog_error("%s", err.text);
		end(&d);
		return 1;
	}
	make_events(&d);
	open_log(&d);
	watch_guard(&d);
	read_cluster(&d);
	plog_info("version " POPPA_VERSION ", process %d, node %s, guard is process %d",
		(int)getpid(), d.node, (int)d.guard.pid);
	if (event_base_dispatch(d.base) < 0)
		rc = 1;
	plog_info("ending");
	end(&d);
	return rc;
}
