/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads poppa.conf. */
#include "common/nodeconf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/keyval.h"
#include "common/units.h"

#define MAX_KEEP_DAYS 36500
#define DEFAULT_SPOOL_DAYS 7

void nodeconf_defaults(struct nodeconf *c)
{
	memset(c, 0, sizeof(*c));
	strcpy(c->run_dir, "/run/poppa");
	strcpy(c->spool_dir, "/var/spool/poppa");
	strcpy(c->state_dir, "/var/lib/poppa");
	c->spool_keep_days = DEFAULT_SPOOL_DAYS;
	strcpy(c->ledger_user, "slurm");
}

char *nodeconf_path(char *buf, size_t size)
{
	const char *given = getenv("POPPA_CONF"), *slurm_conf = getenv("SLURM_CONF");
	const char *slash = slurm_conf ? strrchr(slurm_conf, '/') : NULL;

	if (given && *given) {
		snprintf(buf, size, "%s", given);
		return buf;
	}
	/* A configless node's slurm.conf is in a directory that holds nothing of ours. */
	if (slash) {
		snprintf(buf, size, "%.*s/poppa.conf", (int)(slash - slurm_conf), slurm_conf);
		if (!access(buf, F_OK))
			return buf;
	}
	snprintf(buf, size, "%s/slurm/poppa.conf", POPPA_SYSCONFDIR);
	if (access(buf, F_OK))
		snprintf(buf, size, "/etc/slurm/poppa.conf");
	return buf;
}

/* Where a key's text value goes; paths must be absolute. */
struct text_key {
	const char *key;
	char *out;
	size_t size;
	enum { TEXT, PATH, PATH_OR_NONE } kind;
};

static int set_text(
	const char *key, const char *value, int line, const struct text_key *t, struct errmsg *err)
{
	if (*value != '/' && (t->kind == PATH || (t->kind == PATH_OR_NONE && *value)))
		return errmsg_set(err, "line %d: %s=%s must be an absolute path", line, key, value);
	if (strlen(value) >= t->size)
		return errmsg_set(
			err, "line %d: %s is longer than %zu characters", line, key, t->size - 1);
	strcpy(t->out, value);
	return 0;
}

static int one_key(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	struct nodeconf *c = arg;
	const struct text_key texts[] = {
		{"RunDir", c->run_dir, sizeof(c->run_dir), PATH},
		{"SpoolDir", c->spool_dir, sizeof(c->spool_dir), PATH},
		{"StateDir", c->state_dir, sizeof(c->state_dir), PATH},
		{"ShutterLog", c->shutter_log, sizeof(c->shutter_log), PATH_OR_NONE},
		{"MungeSocket", c->munge_socket, sizeof(c->munge_socket), PATH_OR_NONE},
		{"LedgerListen", c->ledger_listen, sizeof(c->ledger_listen), TEXT},
		{"ReplayLog", c->replay_log, sizeof(c->replay_log), PATH_OR_NONE},
		{"PerfEvent", c->perf_event, sizeof(c->perf_event), TEXT},
		{"LedgerUser", c->ledger_user, sizeof(c->ledger_user), TEXT},
		{"LedgerControllers", c->ledger_controllers, sizeof(c->ledger_controllers), TEXT},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcasecmp(key, texts[i].key))
			return set_text(key, value, line, &texts[i], err);
	if (!strcasecmp(key, "LedgerOrigin")) {
		if (strcasecmp(value, "peer") && strcasecmp(value, "any"))
			return errmsg_set(err,
				"line %d: LedgerOrigin=%s is unknown: choose one of peer, any",
				line, value);
		c->ledger_origin =
			strcasecmp(value, "any") ? LEDGER_ORIGIN_PEER : LEDGER_ORIGIN_ANY;
		return 0;
	}
	if (!strcasecmp(key, "LedgerKeepDays") || !strcasecmp(key, "SpoolKeepDays")) {
		int *out = strcasecmp(key, "SpoolKeepDays") ? &c->ledger_keep_days
							    : &c->spool_keep_days;
		struct errmsg why = {""};
		int64_t days;

		if (units_parse_int(value, 0, MAX_KEEP_DAYS, &days, &why))
			return errmsg_set(err, "line %d: %s: %s", line, key, why.text);
		*out = (int)days;
		return 0;
	}
	if (!strcasecmp(key, "Counter")) {
		char all[128] = "";

		for (int b = 0; b < COUNTER_NAMES; b++)
			strcat(strcat(all, b ? ", " : ""), counter_backend_names[b]);
		if (counter_backend_parse(value, &c->counter))
			return errmsg_set(err, "line %d: Counter=%s is unknown: choose one of %s",
				line, value, all);
		c->counter_set = true;
		return 0;
	}
	if (!strcasecmp(key, "Uprobe")) {
		if (!strchr(value, ':') || *value == ':' || value[strlen(value) - 1] == ':')
			return errmsg_set(
				err, "line %d: Uprobe=%s must be FILE:SYMBOL", line, value);
		if (c->uprobe_count == NODECONF_MAX_UPROBES)
			return errmsg_set(err, "line %d: more than %d Uprobe lines", line,
				NODECONF_MAX_UPROBES);
		return set_text(key, value, line,
			&(struct text_key){
				key, c->uprobe[c->uprobe_count++], sizeof(c->uprobe[0]), TEXT},
			err);
	}
	if (!strcasecmp(key, "Launcher")) {
		if (c->launcher_count == NODECONF_MAX_LAUNCHERS)
			return errmsg_set(err, "line %d: more than %d Launcher lines", line,
				NODECONF_MAX_LAUNCHERS);
		return set_text(key, value, line,
			&(struct text_key){key, c->launcher[c->launcher_count++],
				sizeof(c->launcher[0]), TEXT},
			err);
	}
	return errmsg_set(err,
		"line %d: %s is unknown: the keys are RunDir, SpoolDir, SpoolKeepDays, StateDir, "
		"ShutterLog, MungeSocket, LedgerListen, LedgerUser, LedgerOrigin, "
		"LedgerControllers, LedgerKeepDays, Counter, PerfEvent, ReplayLog, Uprobe and "
		"Launcher",
		line, key);
}

int nodeconf_load(const char *path, struct nodeconf *c, struct errmsg *err)
{
	struct nodeconf *next = malloc(sizeof(*next));
	struct errmsg why = {""};
	char usual[PATH_MAX];
	int rc = 0;

	if (!next)
		return errmsg_set(err, "out of memory");
	nodeconf_defaults(next);
	if (keyval_file(path, one_key, next, &why) &&
		(errno != ENOENT || strcmp(path, nodeconf_path(usual, sizeof(usual))))) {
		rc = strncmp(why.text, "line ", 5) ? errmsg_set(err, "%s", why.text)
						   : errmsg_set(err, "%s %s", path, why.text);
	} else {
		*c = *next;
	}
	free(next);
	return rc;
}

char *nodeconf_host(char *buf, size_t size)
{
	if (gethostname(buf, size))
		buf[0] = '\0';
	buf[size - 1] = '\0';
	buf[strcspn(buf, ".")] = '\0';
	return buf;
}

char *nodeconf_expand(const char *path, const char *node, char *buf, size_t size)
{
	size_t used = 0;

	if (size)
		buf[0] = '\0';
	for (const char *p = path; *p && used + 1 < size; p++) {
		if (p[0] == '%' && p[1] == 'n') {
			used += snprintf(buf + used, size - used, "%s", node);
			p++;
		} else {
			buf[used++] = *p;
			buf[used] = '\0';
		}
	}
	return buf;
}

char *nodeconf_ledger(const struct nodeconf *c, char *buf)
{
	static const char name[] = "/ledger.sqlite";
	char host[256];

	nodeconf_expand(
		c->state_dir, nodeconf_host(host, sizeof(host)), buf, PATH_MAX - sizeof(name));
	strcat(buf, name);
	return buf;
}
