/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa top: this node's co-located jobs, live. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/ask/cli.h"
#include "cli/ask/ask_poppad.h"
#include "cli/live/top_page.h"
#include "cli/live/top_screen.h"
#include "common/clock.h"
#include "common/units.h"

#define DEFAULT_DELAY (2 * NS_PER_S)
#define MIN_DELAY (100 * NS_PER_MS)
#define MAX_DELAY (3600 * NS_PER_S)

struct options {
	bool batch;
	int64_t times; /* 0 = for ever */
	int64_t delay_ns;
	struct ask_poppad_options daemon;
};

/* The last two answers of poppad; top_rates() has added rates to the later one. */
struct looks {
	const struct options *options;
	json_t *before, *now;
	int64_t before_ns, now_ns;
};

static const struct argp_option option_table[] = {
	{"batch", 'b', NULL, 0, "Print one table after the other, for scripts and files", 0},
	{"times", 'n', "N", 0, "End after so many tables", 0},
	{"delay", 'd', "TIME", 0, "Time between two tables (default 2s)", 0}, ASK_POPPAD_OPTIONS,
	CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'b':
		o->batch = true;
		return 0;
	case 'n':
		o->times = cli_int("--times", arg, 1, INT64_MAX);
		return 0;
	case 'd':
		o->delay_ns = cli_duration("--delay", arg, MIN_DELAY, MAX_DELAY);
		return 0;
	default:
		return ask_poppad_parse_rest(key, arg, &o->daemon);
	}
}

/* Asks poppad again. On an error returns -1 with err and keeps both answers. */
static int look(struct looks *l, struct errmsg *err)
{
	char path[PATH_MAX];
	json_t *answer = ask_poppad_status(&l->options->daemon, path, err);

	if (!answer)
		return -1;
	json_decref(l->before);
	l->before = l->now;
	l->before_ns = l->now_ns;
	l->now = answer;
	l->now_ns = clock_now();
	top_rates(l->before, l->now, (double)(l->now_ns - l->before_ns) / NS_PER_S);
	return 0;
}

static int print_page(const struct looks *l, bool first)
{
	struct top_page page;

	if (l->options->daemon.json)
		return cli_print_json(json_incref(l->now));
	page = top_page(l->now);
	if (!page.text)
		return cli_error("out of memory");
	printf("%s%s", first ? "" : "\n", page.text);
	free(page.text);
	return CLI_OK;
}

/* Asks once before the first table, so that every table has rates. */
static int run_batch(struct looks *l)
{
	const struct timespec delay = clock_spec(l->options->delay_ns);
	struct errmsg err;

	if (look(l, &err))
		return cli_error("%s", err.text);
	for (int64_t i = 0; !l->options->times || i < l->options->times; i++) {
		nanosleep(&delay, NULL);
		if (look(l, &err))
			return cli_error("%s", err.text);
		if (print_page(l, !i) || fflush(stdout))
			return CLI_FAILURE;
	}
	return CLI_OK;
}

static int run_screen(struct looks *l)
{
	struct top_page page = {NULL, 0};
	enum top_key key = TOP_AGAIN;
	struct errmsg err = {""};
	int rc = CLI_OK;

	/* When the first request fails, the error goes to the terminal before ncurses takes it
	 * over. */
	if (look(l, &err) || top_screen_open(&err))
		return cli_error("%s", err.text);
	for (int64_t shown = 0; key != TOP_QUIT; shown++) {
		const char *note = NULL;

		if (l->options->times && shown == l->options->times)
			break;
		if (shown && look(l, &err)) {
			note = err.text;
		} else {
			free(page.text);
			page = top_page(l->now);
		}
		if (!page.text) {
			rc = CLI_FAILURE;
			break;
		}
		top_screen_draw(&page, note);
		key = top_screen_wait(&page, note, (int)(l->options->delay_ns / NS_PER_MS));
	}
	top_screen_close();
	if (rc)
		cli_error("out of memory");
	free(page.text);
	return rc;
}

int cmd_top(int argc, char **argv)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.doc = "The co-located jobs of this node, live: degradation, shutters and what "
		       "they cost. Users see their own jobs, root sees all. Keys: q quits, space "
		       "asks at once, arrows and page keys scroll."};
	struct options o = {.delay_ns = DEFAULT_DELAY};
	struct looks looks = {.options = &o};
	int rc;

	cli_parse(&argp, argc, argv, &o);
	rc = o.batch || o.daemon.json ? run_batch(&looks) : run_screen(&looks);
	json_decref(looks.before);
	json_decref(looks.now);
	return rc;
}
