/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks for the price of a run until it is made. */
#include "cli/mail/mail_price.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <jansson.h>

#include "cli/ask/run_program.h"
#include "common/clock.h"
#include "common/fsio.h"
#include "common/log.h"
#include "common/units.h"

#define FIRST_PAUSE_MS 1000
#define MOST_PAUSE_MS 15000
#define ANSWER_MAX (1 << 16)
/* Of one question, so that a signal is not kept waiting for a slurmdbd that does not answer. */
#define ASK_MS 20000
#define USUAL_PATH "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"
#define KEPT_MAX 8

extern char **environ;

/* slurmctld gives MailProg no PATH. What a site has set in a script of its own is kept. */
static void clean_environment(char **own, char *text, size_t size)
{
	static const char *const kept[] = {"PATH", "SLURM_CONF", "POPPA_CONF", "TZ", "TMPDIR"};
	size_t used = 0;
	int n = 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		const char *value = getenv(kept[i]);
		int len;

		if (!value && !i)
			value = USUAL_PATH;
		if (!value)
			continue;
		len = snprintf(text + used, size - used, "%s=%s", kept[i], value);
		if (len < 0 || (size_t)len >= size - used)
			continue;
		own[n++] = text + used;
		used += (size_t)len + 1;
	}
	own[n] = NULL;
}

/* Returns whether no later answer will tell more; text is then the price in words. */
static bool ask(const char *run, int wait_ms, char *text, size_t size)
{
	static const char *const final[] = {"priced", "no-data", "never-started"};
	char path[PATH_MAX];
	const char *const argv[] = {
		fsio_beside("poppa", X_OK, path, sizeof(path)) ? path : POPPA_BINDIR "/poppa",
		"job", "--json", run, NULL};
	const char *status, *bill;
	struct errmsg err;
	char *answer = run_program((char *const *)argv, ANSWER_MAX, wait_ms, &err);
	json_t *json = answer ? json_loads(answer, 0, NULL) : NULL;
	bool done = false;

	if (!answer)
		plog_debug("run %s: %s", run, err.text);
	status = json_string_value(json_object_get(json, "status"));
	bill = json_string_value(json_object_get(json, "bill"));
	for (size_t i = 0; status && bill && i < sizeof(final) / sizeof(final[0]); i++)
		done |= !strcmp(status, final[i]);
	if (done)
		snprintf(text, size, "%s", bill);
	json_decref(json);
	free(answer);
	return done;
}

static void pause_ms(int64_t ms)
{
	const struct timespec t = clock_spec(ms * NS_PER_MS);

	nanosleep(&t, NULL); /* a signal ends it early, as it should */
}

void mail_price_wait(
	const char *run, int seconds, const volatile sig_atomic_t *stop, char *text, size_t size)
{
	int64_t deadline = clock_now_ms() + INT64_C(1000) * seconds, pause = FIRST_PAUSE_MS, left;
	char kept[3 * PATH_MAX], *own[KEPT_MAX], **given = environ;
	bool done = false;

	clean_environment(own, kept, sizeof(kept));
	environ = own;
	while (!done && !*stop && (left = deadline - clock_now_ms()) > 0) {
		done = ask(run, left < ASK_MS ? (int)left : ASK_MS, text, size);
		left = deadline - clock_now_ms();
		if (!done && !*stop && left > 0)
			pause_ms(pause < left ? pause : left);
		pause = 2 * pause < MOST_PAUSE_MS ? 2 * pause : MOST_PAUSE_MS;
	}
	environ = given;
	if (!done)
		snprintf(text, size,
			"Its price had not been made when this mail was sent. \"poppa job %.*s\" shows "
			"it later.",
			(int)strcspn(run, "."), run);
}
