/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads poppa.conf. */
#include "common/nodeconf.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/keyval.h"
#include "common/text_append.h"
#include "common/units.h"

#define MAX_KEEP_DAYS 36500
#define DEFAULT_SPOOL_DAYS 7
#define DEFAULT_MAIL_WAIT_S 180
#define MAX_MAIL_WAIT_S 3600

void nodeconf_defaults(struct nodeconf *c)
{
	memset(c, 0, sizeof(*c));
	strcpy(c->run_dir, "/run/poppa");
	strcpy(c->spool_dir, "/var/spool/poppa");
	strcpy(c->state_dir, "/var/lib/poppa");
	c->spool_keep_days = DEFAULT_SPOOL_DAYS;
	strcpy(c->ledger_user, "slurm");
	c->mail_wait_s = DEFAULT_MAIL_WAIT_S;
}

/* Writes the n-th of the files that may be poppa.conf, counted from 0. False where there is none.
 */
static bool candidate(int n, char *buf, size_t size)
{
	const char *given = getenv("POPPA_CONF"), *slurm_conf = getenv("SLURM_CONF");
	const char *slash = slurm_conf ? strrchr(slurm_conf, '/') : NULL;
	bool etc = !strcmp(POPPA_SYSCONFDIR, "/etc");

	if (given && *given)
		return n == 0 && snprintf(buf, size, "%s", given) >= 0;
	/* A configless node's slurm.conf is in a directory that holds nothing of ours. */
	if (slash && n-- == 0)
		return snprintf(buf, size, "%.*s/poppa.conf", (int)(slash - slurm_conf),
			       slurm_conf) >= 0;
	if (!etc && n-- == 0)
		return snprintf(buf, size, "%s/slurm/poppa.conf", POPPA_SYSCONFDIR) >= 0;
	return n == 0 && snprintf(buf, size, "/etc/slurm/poppa.conf") >= 0;
}

char *nodeconf_path(char *buf, size_t size)
{
	/* Without any file the last one is its name. */
	for (int n = 0; candidate(n, buf, size) && access(buf, F_OK); n++)
		;
	return buf;
}

char *nodeconf_looked_for(char *buf, size_t size)
{
	char path[PATH_MAX];

	buf[0] = '\0';
	for (int n = 0; candidate(n, path, sizeof(path)); n++)
		text_append(buf, size, "%s%s", n ? ", " : "", path);
	return buf;
}

enum form { TEXT, PATH, PATH_OR_NONE, DAYS, SECONDS, CHOICE, TEXTS };

/* All that is known of one key of poppa.conf. Keys of the form TEXTS may be repeated. */
struct row {
	const char *key;
	enum form form;
	size_t at, size;          /* the member of struct nodeconf; of TEXTS: its first text */
	const char *const *names; /* of CHOICE: the values, by their numbers */
	int max;      /* of CHOICE: how many names there are; of TEXTS: how many lines */
	size_t count; /* of TEXTS: the member that counts them */
};

#define AT(member)                                                                                 \
	.at = offsetof(struct nodeconf, member), .size = sizeof(((struct nodeconf *)NULL)->member)
#define REPEATED(member, most)                                                                     \
	TEXTS, AT(member[0]), .max = most, .count = offsetof(struct nodeconf, member##_count)

static const char *const origin_names[] = {"peer", "any"};

/* tests/lint compares the keys with poppa.conf(5). */
static const struct row rows[] = {
	{"RunDir", PATH, AT(run_dir)},
	{"SpoolDir", PATH, AT(spool_dir)},
	{"SpoolKeepDays", DAYS, AT(spool_keep_days)},
	{"StateDir", PATH, AT(state_dir)},
	{"ShutterLog", PATH_OR_NONE, AT(shutter_log)},
	{"MungeSocket", PATH_OR_NONE, AT(munge_socket)},
	{"LedgerListen", TEXT, AT(ledger_listen)},
	{"LedgerUser", TEXT, AT(ledger_user)},
	{"LedgerOrigin", CHOICE, AT(ledger_origin), .names = origin_names, .max = 2},
	{"LedgerControllers", TEXT, AT(ledger_controllers)},
	{"LedgerKeepDays", DAYS, AT(ledger_keep_days)},
	{"MailProg", PATH_OR_NONE, AT(mail_prog)},
	{"MailWait", SECONDS, AT(mail_wait_s)},
	{"Counter", CHOICE, AT(counter), .names = counter_backend_names, .max = COUNTER_NAMES},
	{"PerfEvent", TEXT, AT(perf_event)},
	{"MissEvent", TEXT, AT(miss_event)},
	{"ReplayLog", PATH_OR_NONE, AT(replay_log)},
	{"MapEvents", TEXT, AT(map_events)},
	{"MapSettings", TEXT, AT(map_settings)},
	{"MapReplay", PATH_OR_NONE, AT(map_replay)},
	{"Uprobe", REPEATED(uprobe, NODECONF_MAX_UPROBES)},
	{"Launcher", REPEATED(launcher, NODECONF_MAX_LAUNCHERS)},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Sets the member of a key. err must not be NULL. */
static int set_row(const struct row *r, const char *key, const char *value, struct nodeconf *c,
	struct errmsg *err)
{
	char *out = (char *)c + r->at;
	int *count = (int *)((char *)c + r->count), choice;
	int64_t number;

	switch (r->form) {
	case PATH_OR_NONE:
	case PATH:
		if (*value != '/' && (*value || r->form == PATH))
			return errmsg_set(err, "%s=%s must be an absolute path", key, value);
		break;
	case DAYS:
	case SECONDS:
		if (units_parse_int(value, 0, r->form == DAYS ? MAX_KEEP_DAYS : MAX_MAIL_WAIT_S,
			    &number, err))
			return errmsg_set(err, "%s: %s", key, err->text);
		*(int *)out = (int)number;
		return 0;
	case CHOICE:
		choice = keyval_choice(r->key, value, r->names, r->max, err);
		if (choice < 0)
			return -1;
		*(int *)out = choice; /* an enum has the size and the representation of an int */
		c->counter_set |= r->names == counter_backend_names;
		return 0;
	case TEXTS:
		if (*count == r->max)
			return errmsg_set(err, "more than %d %s lines", r->max, r->key);
		out += (size_t)(*count)++ * r->size;
		break;
	case TEXT:
		break;
	}
	return keyval_copy(key, value, out, r->size, err);
}

static bool is_uprobe(const char *value)
{
	return strchr(value, ':') && *value != ':' && value[strlen(value) - 1] != ':';
}

static int one_key(const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	const struct row *r = rows;
	int rc;

	while (r < rows + ROWS && strcasecmp(key, r->key))
		r++;
	if (r == rows + ROWS)
		rc = keyval_unknown(key, rows, sizeof(rows[0]), ROWS, err);
	else if (!strcmp(r->key, "Uprobe") && !is_uprobe(value))
		rc = errmsg_set(err, "Uprobe=%s must be FILE:SYMBOL", value);
	else
		rc = set_row(r, key, value, arg, err);
	return rc ? errmsg_set(err, "line %d: %s", line, err->text) : 0;
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
