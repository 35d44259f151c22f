/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of "poppa doctor" on MUNGE, on the ledger, and on whether the clocks agree. */
#include "poppa_config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/text_append.h"
#include "common/units.h"

#include "accounting/record/client.h"
#include "accounting/record/wire.h"
#include "accounting/settle/waiting_runs.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_process.h"
#include "cli/ask/value_text.h"

/* The nodes of a job open their shutters at the same time by the wall clock. With clocks further
 * apart than this the shutters do not overlap. */
#define CLOCK_SLACK_S 0.005
#define UNSETTLED_MANY 100
#define FILE_LAG_S 2 /* until slurmctld has written of a run that has ended */
/* Requests that the ledger refused longer ago than this are not reported. */
#define REFUSED_DAYS 7

void doctor_munge(struct doctor *d)
{
	struct wire_auth munge = wire_munge(d->conf.munge_socket);
	json_t *sent = json_pack("{s:s}", "op", "doctor"), *back = NULL;
	struct errmsg err;
	uid_t from;
	char *line = wire_encode(&munge, sent, geteuid(), &err);

	if (line)
		back = wire_decode(&munge, line, strlen(line), &from, &err);
	d->munge_good = back && json_equal(sent, back) && from == geteuid();
	if (d->munge_good)
		doctor_say(d, DOCTOR_OK, "munge", NULL, "seals and opens credentials");
	else
		doctor_say(d, DOCTOR_FAIL, "munge",
			"start munged with the cluster's key; set MungeSocket in poppa.conf if its "
			"socket is not the default one",
			"%s", err.text);
	free(line);
	json_decref(back);
	json_decref(sent);
}

/* The ledger wrote its answer between asked and answered, both by this host's clock, s. */
static void check_clock(struct doctor *d, const json_t *status, double asked, double answered)
{
	double now = value_real(status, "now"), slack = (answered - asked) / 2;
	double ahead = now - (asked + answered) / 2;

	if (!isfinite(now)) {
		doctor_say(d, DOCTOR_WARN, "clock of the ledger",
			"install the same version everywhere", "it does not tell the time");
		return;
	}
	if (fabs(ahead) - slack > CLOCK_SLACK_S)
		doctor_say(d, DOCTOR_WARN, "clock of the ledger",
			"let chrony or ntpd keep the clocks of all hosts together",
			"is %.3f s %s of this host's: shutters of multi-node jobs do not meet, and "
			"MUNGE refuses credentials when it is minutes",
			fabs(ahead), ahead > 0 ? "ahead" : "behind");
	else
		doctor_say(d, DOCTOR_OK, "clock of the ledger", NULL,
			"agrees with this host's to %.3f s or better", fabs(ahead) + slack);
}

static void check_clock_kept(struct doctor *d)
{
	struct timex t = {.modes = 0};

	if (adjtimex(&t) == TIME_ERROR || t.status & STA_UNSYNC)
		doctor_say(d, DOCTOR_WARN, "clock",
			"run chrony or ntpd, unless the host of this virtual machine keeps it",
			"nobody keeps it by network time, as far as the kernel knows");
	else
		doctor_say(d, DOCTOR_OK, "clock", NULL, "is kept to %.1f ms by network time",
			(double)t.maxerror / 1e3);
}

/* Requests that the ledger refused: from unknown hosts, with a wrong clock, or from nodes whose
 * addresses slurmctld does not know. */
static void check_refused(struct doctor *d, const json_t *status)
{
	json_t *refused = json_object_get(status, "refused"), *one;
	double since = (double)clock_wall() / NS_PER_S - REFUSED_DAYS * 86400.0;
	char list[512] = "";
	const char *kind;

	json_object_foreach(refused, kind, one)
	{
		if (value_real(one, "last") >= since)
			text_append(list, sizeof(list), "%s%.0f %.32s", *list ? ", " : "",
				value_real(one, "count"), kind);
	}
	if (*list)
		doctor_say(d, DOCTOR_WARN, "ledger's door",
			"see poppa-ledgerd's log; foreign_records: LedgerOrigin in "
			"poppa-ledgerd(8)",
			"the ledger has turned away, and the last of each within %d days: %s",
			REFUSED_DAYS, list);
	else if (refused)
		doctor_say(d, DOCTOR_OK, "ledger's door", NULL,
			"nothing was turned away for %d days", REFUSED_DAYS);
}

static void add_runs(json_t *all, const json_t *list)
{
	const json_t *run;
	char key[64];
	size_t i;

	json_array_foreach(list, i, run)
	{
		snprintf(key, sizeof(key), "%.0f.%.0f", value_real(run, "job"),
			value_real(run, "restart"));
		json_object_set_new(all, key, json_true());
	}
}

/* Adds what slurmctld has yet to settle, or to show everywhere. 0, or -1 with err. */
static int add_files(const struct doctor *d, json_t *all, struct errmsg *err)
{
	/* A run goes from the first file into the second. */
	static const char *const file[] = {WAITING_ARRIVED_FILE, WAITING_FILE};

	for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
		char path[PATH_MAX + 32];
		json_t *list;
		int damaged;

		snprintf(path, sizeof(path), "%s/%s", d->state_dir, file[i]);
		list = waiting_read(path, &damaged, err);
		if (!list && errno != ENOENT)
			return -1;
		add_runs(all, list);
		json_decref(list);
	}
	return 0;
}

/*
 * Runs that have ended and have no bill yet: those that the ledger has a record of, and on the
 * controller's host those that slurmctld has not written everywhere. Only root may ask.
 */
static void check_unsettled(struct doctor *d, const struct client *client)
{
	bool here = *d->state_dir && !access(d->state_dir, F_OK);
	const char *where = here ? "" : ", by the ledger; run poppa doctor on the controller, too";
	json_t *all, *runs = NULL;
	struct errmsg err = {""};
	size_t n;
	int rc = 0;

	if (geteuid() || !*d->cluster || !(client || here))
		return;
	all = json_object();
	if (client)
		runs = client_unsettled(client, d->cluster, &err);
	if (client && !runs)
		rc = -1;
	add_runs(all, runs);
	json_decref(runs);
	if (!rc && here)
		rc = add_files(d, all, &err);
	/* What ended a moment ago may not be in a file yet. */
	if (!rc && here && !json_object_size(all)) {
		sleep(FILE_LAG_S);
		rc = add_files(d, all, &err);
	}
	n = json_object_size(all);
	if (rc)
		doctor_say(d, DOCTOR_WARN, "settling",
			"see the logs of poppa-ledgerd and slurmctld", "%s", err.text);
	else if (n > UNSETTLED_MANY)
		doctor_say(d, DOCTOR_WARN, "settling",
			"look for prep/poppa in slurmctld's log; PrEpPlugins must list it there",
			"%zu ended runs wait for a bill%s", n, where);
	else
		doctor_say(d, DOCTOR_OK, "settling", NULL, "%zu ended run%s for a bill%s", n,
			n == 1 ? " waits" : "s wait", where);
	json_decref(all);
}

/* Whether the host has one of its addresses on this machine. */
static bool is_here(const char *host)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	bool here = false;

	if (getaddrinfo(host, NULL, &hints, &list))
		return false;
	for (const struct addrinfo *a = list; a && !here; a = a->ai_next) {
		int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		here = fd >= 0 && !bind(fd, a->ai_addr, a->ai_addrlen);
		if (fd >= 0)
			close(fd);
	}
	freeaddrinfo(list);
	return here;
}

/* Where the ledger is to be on this host and does not answer: who has its port instead. */
static void check_port(struct doctor *d, const struct client *client)
{
	pid_t who = is_here(client->host) ? process_listening(client->port) : 0;
	char name[64] = "another user's program";

	if (!who || (who > 0 && !strcmp(process_name(who, name, sizeof(name)), "poppa-ledgerd")))
		return;
	doctor_say(d, DOCTOR_FAIL, "ledger's port",
		"give one of the two another port: LedgerListen in poppa.conf and poppa_ledger in "
		"PrEpParameters",
		"port %d is held by %s%s", client->port, name,
		who < 0 ? ": run poppa doctor as root to see whose" : "");
}

static void check_ledger(struct doctor *d)
{
	const char *version;
	struct client client;
	struct errmsg err;
	double asked, answered;
	json_t *status;

	if (!d->ledger_known || (!*d->settings.ledger_host && !*d->controllers)) {
		doctor_say(d, DOCTOR_WARN, "ledger",
			"see the lines above; or set poppa_ledger=HOST in PrEpParameters",
			"not asked: where it is is not known");
		check_unsettled(d, NULL);
		return;
	}
	if (client_init(&client, &d->settings, &d->conf, d->controllers, &err)) {
		doctor_say(d, DOCTOR_FAIL, "ledger", "correct poppa_ledger in PrEpParameters", "%s",
			err.text);
		return;
	}
	asked = (double)clock_wall() / NS_PER_S;
	status = client_status(&client, &err);
	answered = (double)clock_wall() / NS_PER_S;
	if (!status) {
		doctor_say(d, DOCTOR_FAIL, "ledger",
			!d->munge_good
				? "fix munge first, see its line"
				: "start poppa-ledgerd there, open its port, and check poppa_ledger in "
				  "PrEpParameters; until then nodes keep their records",
			"%s", err.text);
		check_port(d, &client);
		check_unsettled(d, NULL);
		return;
	}
	version = value_text(status, "version");
	if (strcmp(version, POPPA_VERSION))
		doctor_say(d, DOCTOR_WARN, "ledger", "install the same version everywhere",
			"poppa-ledgerd at %s:%d is version %s, this is " POPPA_VERSION, client.host,
			client.port, version);
	else
		doctor_say(d, DOCTOR_OK, "ledger", NULL, "poppa-ledgerd %s answers at %s:%d",
			version, client.host, client.port);
	check_clock(d, status, asked, answered);
	check_refused(d, status);
	check_unsettled(d, &client);
	json_decref(status);
}

void doctor_ledger(struct doctor *d)
{
	check_ledger(d);
	check_clock_kept(d);
}
