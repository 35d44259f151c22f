/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa-ledgerd: the cluster's ledger of measurements and prices. */
#include <argp.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <event2/event.h>
#include <jansson.h>

#include "accounting/ledgerd/ledger.h"
#include "accounting/record/origin.h"
#include "accounting/ledgerd/server.h"
#include "accounting/ledgerd/service.h"
#include "accounting/record/wire.h"
#include "common/fsio.h"
#include "common/hostport.h"
#include "common/log.h"
#include "common/nodeconf.h"
#include "common/settings.h"
#include "poppa_config.h"

/* Old records are removed a few at a time, so that no request waits for long. */
#define PRUNE_EVERY_S 3600
#define PRUNE_RECORDS 1000
#define DAY_S 86400
/* How often new counts are added to those in the file. */
#define SAVE_EVERY_S 60

const char *argp_program_version = "poppa-ledgerd " POPPA_VERSION;

struct options {
	char conf[PATH_MAX];
	bool syslog, verbose;
};

enum { OPT_SYSLOG = 0x100 };

static const struct argp_option argp_options[] = {
	{"conf", 'c', "FILE", 0, "Read FILE instead of the default poppa.conf", 0},
	{"foreground", 'f', NULL, 0, "Stay in the foreground, as it always does", 0},
	{"syslog", OPT_SYSLOG, NULL, 0, "Log to syslog instead of standard error", 0},
	{"verbose", 'v', NULL, 0, "Log more", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'c':
		if (strlen(arg) >= sizeof(o->conf))
			argp_error(state, "--conf is too long");
		strcpy(o->conf, arg);
		return 0;
	case 'f':
		return 0;
	case OPT_SYSLOG:
		o->syslog = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument \"%s\"", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {argp_options, parse_option, NULL,
	"Keeps what the nodes measured about co-located jobs and what those jobs were charged. "
	"Runs in the foreground until it gets SIGTERM.",
	NULL, NULL, NULL};

/* Makes the directory of the database. Gives it to the user where root owns it. */
static int make_state_dir(const char *dir, const struct passwd *user, struct errmsg *err)
{
	struct stat st;

	if (fsio_mkdirs(dir, 0755, err))
		return -1;
	if (stat(dir, &st))
		return errmsg_set(err, "cannot stat %s: %s", dir, strerror(errno));
	if (geteuid() == 0 && st.st_uid == 0 && user->pw_uid != 0 &&
		(chown(dir, user->pw_uid, user->pw_gid) || chmod(dir, 0700)))
		return errmsg_set(
			err, "cannot give %s to %s: %s", dir, user->pw_name, strerror(errno));
	return 0;
}

static int become(const struct passwd *user, struct errmsg *err)
{
	if (geteuid() == user->pw_uid)
		return 0;
	if (geteuid() != 0)
		return errmsg_set(err, "must be started as root or as LedgerUser=%s, not as uid %u",
			user->pw_name, (unsigned)geteuid());
	if (initgroups(user->pw_name, user->pw_gid) ||
		setresgid(user->pw_gid, user->pw_gid, user->pw_gid) ||
		setresuid(user->pw_uid, user->pw_uid, user->pw_uid))
		return errmsg_set(err, "cannot become %s: %s", user->pw_name, strerror(errno));
	return 0;
}

static void on_signal(evutil_socket_t signal_number, short what, void *arg)
{
	(void)what;
	plog_info("signal %d: stopping", (int)signal_number);
	event_base_loopexit(arg, NULL);
}

struct pruning {
	struct ledger *ledger;
	struct event *timer;
	int keep_days;
	int64_t removed;
};

static void on_prune(evutil_socket_t fd, short what, void *arg)
{
	struct pruning *p = arg;
	struct timeval next = {.tv_sec = PRUNE_EVERY_S};
	struct errmsg err = {""};
	int n = ledger_prune(p->ledger, (int64_t)time(NULL) - (int64_t)p->keep_days * DAY_S,
		PRUNE_RECORDS, &err);

	(void)fd;
	(void)what;
	if (n < 0)
		plog_error("%s", err.text);
	p->removed += n > 0 ? n : 0;
	if (n == PRUNE_RECORDS) {
		next = (struct timeval){.tv_usec = 100000};
	} else if (p->removed) {
		plog_info("removed %lld records of jobs settled more than %d days ago",
			(long long)p->removed, p->keep_days);
		p->removed = 0;
	}
	evtimer_add(p->timer, &next);
}

/* The hosts that prices may come from. */
struct controllers {
	const char *hosts; /* LedgerControllers */
	json_t *addresses;
	bool found; /* every host had an address */
};

/* A host without an address, as before the name server has started, is looked up again later. */
static void find_controllers(struct controllers *c)
{
	bool again = c->addresses != NULL;
	char list[sizeof(((struct nodeconf *)0)->ledger_controllers)], *host, *rest = list;

	snprintf(list, sizeof(list), "%s", c->hosts);
	if (!c->addresses)
		c->addresses = json_array();
	json_array_clear(c->addresses);
	c->found = true;
	while ((host = strsep(&rest, ", "))) {
		if (!*host || origin_resolve(c->addresses, host))
			continue;
		c->found = false;
		if (!again)
			plog_error(
				"LedgerControllers: %s has no address: no price is taken from it "
				"until it has one",
				host);
	}
}

/* The work of every minute, and the day on which log_head() ran last. */
struct upkeep {
	struct service *service;
	struct controllers *controllers;
	struct event *timer;
	struct event_base *base;
	time_t day;
	bool failed;
};

/* Where another host keeps this line, it shows later whether the log of prices was rewritten. */
static void log_head(const struct service *s)
{
	char hash[LEDGER_HASH_SIZE];
	int64_t event;

	ledger_head(s->ledger, &event, hash);
	if (event)
		plog_info("the log of prices ends at %lld:%s", (long long)event, hash);
}

static void on_upkeep(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval next = {.tv_sec = SAVE_EVERY_S};
	time_t day = time(NULL) / DAY_S;
	struct upkeep *k = arg;

	(void)fd;
	(void)what;
	if (ledger_damaged(k->service->ledger)) {
		plog_error("the ledger has turned out to be damaged: stopping, "
			   "since the next start sets it aside");
		k->failed = true;
		event_base_loopexit(k->base, NULL);
		return;
	}
	service_save_counts(k->service);
	service_log_left_out(k->service);
	if (!k->controllers->found)
		find_controllers(k->controllers);
	if (day != k->day)
		log_head(k->service);
	k->day = day;
	evtimer_add(k->timer, &next);
}

/* Everything after the configuration; returns the exit status. */
static int serve(const struct nodeconf *conf, struct passwd *user, const char *path)
{
	struct controllers controllers = {.hosts = conf->ledger_controllers};
	struct upkeep upkeep = {.controllers = &controllers};
	struct pruning pruning = {.keep_days = conf->ledger_keep_days};
	struct poppa_settings defaults;
	struct event_base *base = event_base_new();
	struct event *term = base ? evsignal_new(base, SIGTERM, on_signal, base) : NULL;
	struct event *interrupt = base ? evsignal_new(base, SIGINT, on_signal, base) : NULL;
	struct wire_auth auth = wire_munge(conf->munge_socket);
	struct service service = {.ledger_uid = user->pw_uid, .started = time(NULL)};
	char host[256] = "", dir[PATH_MAX], aside[PATH_MAX] = "";
	struct server *server = NULL;
	struct errmsg err = {""};
	int status = 1, port;

	settings_defaults(&defaults);
	port = defaults.ledger_port;
	/* The server runs events of the lowest of three priorities when nothing else is to do. */
	if (!base || event_base_priority_init(base, 3) || !term || !interrupt ||
		event_add(term, NULL) || event_add(interrupt, NULL)) {
		errmsg_set(&err, "cannot set up the event loop");
		goto done;
	}
	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = '\0';
	if (*conf->ledger_listen &&
		hostport_parse(conf->ledger_listen, host, sizeof(host), &port, &err)) {
		errmsg_set(&err, "LedgerListen: %s", err.text);
		goto done;
	}
	if (make_state_dir(dir, user, &err) || become(user, &err))
		goto done;
	umask(077);
	service.ledger = ledger_open(path, aside, sizeof(aside), &err);
	if (*aside)
		plog_error("the ledger was damaged: it is kept as %s, a new one was begun; the "
			   "nodes send again what they still have, and \"poppa ledger rebuild\" "
			   "brings the prices back",
			aside);
	if (!service.ledger)
		goto done;
	server = server_new(base, &service, &auth, *host ? host : NULL, port, &err);
	if (!server)
		goto done;
	server_check_origin(server, conf->ledger_origin == LEDGER_ORIGIN_PEER);
	find_controllers(&controllers);
	service.controllers = controllers.addresses;
	upkeep.service = &service;
	upkeep.base = base;
	upkeep.timer = evtimer_new(base, on_upkeep, &upkeep);
	if (upkeep.timer)
		on_upkeep(-1, 0, &upkeep);
	pruning.ledger = service.ledger;
	pruning.timer = evtimer_new(base, on_prune, &pruning);
	if (pruning.keep_days && pruning.timer)
		on_prune(-1, 0, &pruning);
	plog_info("version %s serves %s on %s port %d", POPPA_VERSION, path,
		*host ? host : "every address", port);
	status = event_base_dispatch(base) < 0 || upkeep.failed;
done:
	if (*err.text)
		plog_error("%s", err.text);
	server_free(server);
	if (service.ledger) {
		service_save_counts(&service);
		service_log_left_out(&service);
		log_head(&service);
	}
	if (upkeep.timer)
		event_free(upkeep.timer);
	if (pruning.timer)
		event_free(pruning.timer);
	ledger_close(service.ledger);
	json_decref(controllers.addresses);
	if (term)
		event_free(term);
	if (interrupt)
		event_free(interrupt);
	if (base)
		event_base_free(base);
	return status;
}

int main(int argc, char **argv)
{
	struct options options = {.syslog = false};
	char path[PATH_MAX];
	struct errmsg err = {""};
	struct nodeconf *conf = malloc(sizeof(*conf));
	struct passwd *user;
	int status = 1;

	nodeconf_path(options.conf, sizeof(options.conf));
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	plog_init("poppa-ledgerd", options.verbose ? PLOG_DEBUG : PLOG_INFO);
	if (options.syslog)
		plog_set_sink(plog_syslog);
	signal(SIGPIPE, SIG_IGN);
	if (!conf || nodeconf_load(options.conf, conf, &err))
		plog_error("%s", conf ? err.text : "out of memory");
	else if (!(user = getpwnam(conf->ledger_user)))
		plog_error("LedgerUser=%s is no user of this host", conf->ledger_user);
	else
		status = serve(conf, user, nodeconf_ledger(conf, path));
	free(conf);
	return status;
}
