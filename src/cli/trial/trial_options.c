/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of poppa trial: options, and the commands of two or more programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/cli.h"
#include "cli/trial/trial.h"
#include "common/printable.h"
#include "common/text_append.h"
#include "striping/lanes/lanes.h"

enum { OPT_HTML = CLI_OPT_FIRST, OPT_SELF };

#define NAME_MAX_BYTES 200
#define DEFAULT_TIME_S 120
#define DEFAULT_ROUNDS 4

struct parsed {
	struct trial_command_line *c;
	char **words;
	int count;
};

static const struct argp_option option_table[] = {
	{"lanes", 'l', "N", 0,
		"Into how many lanes the node's sockets are split (2); the programs of a pair get "
		"the first and the second",
		0},
	{"time", 't', "S", 0, "About how many seconds it may take in all (120)", 0},
	{"rounds", 'r', "N", 0, "How often each phase is measured (4)", 0},
	{"self", OPT_SELF, NULL, 0,
		"Of one program: would half of its own tasks make more than all? On all lanes", 0},
	{"html", OPT_HTML, "FILE", 0, "Also write the result as a page for a browser", 0},
	CLI_JSON_OPTION, {0}};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parsed *p = state->input;
	struct trial_command_line *c = p->c;

	switch (key) {
	case 'l':
		c->lanes = (int)cli_int("--lanes", arg, 2, LANES_MAX);
		return 0;
	case 't':
		c->time_s = cli_double("--time", arg, 1, 30 * 86400);
		return 0;
	case 'r':
		c->rounds = (int)cli_int("--rounds", arg, 1, TRIAL_ROUNDS_MAX);
		return 0;
	case OPT_SELF:
		c->self = true;
		return 0;
	case OPT_HTML:
		c->html = cli_path("--html", arg);
		return 0;
	case ARGP_KEY_ARG:
		/* All that is left; argp takes the options as far as "--". */
		if (strcmp(state->argv[state->next - 2], "--"))
			cli_usage_error("write -- before each command: poppa trial -- ./a -- ./b");
		p->words = state->argv + state->next - 1;
		p->count = state->argc - state->next + 1;
		state->next = state->argc;
		return 0;
	default:
		return cli_parse_rest(key, arg, &c->json);
	}
}

/* The command as one line, cut, as people and documents show it. */
static char *name_of(char *const *argv)
{
	char text[NAME_MAX_BYTES] = "";

	for (int i = 0; argv[i]; i++) {
		size_t used = strlen(text);

		if (text_append(text, sizeof(text) - 3, "%s%s", i ? " " : "", argv[i]))
			continue;
		snprintf(text + used, sizeof(text) - 3 - used, "%s%s", i ? " " : "", argv[i]);
		strcat(text, "...");
		break;
	}
	return strdup(plain_text(text));
}

/* One word with blanks in it is a line for the shell, as in the examples of poppa(1). */
static char **command(char **words, int count)
{
	char **argv = calloc((size_t)count + 4, sizeof(*argv));

	if (argv && count == 1 && strpbrk(words[0], " \t")) {
		argv[0] = strdup("/bin/sh");
		argv[1] = strdup("-c");
		argv[2] = strdup(words[0]);
		return argv;
	}
	for (int i = 0; argv && i < count; i++)
		argv[i] = strdup(words[i]);
	return argv;
}

static void add(struct trial_command_line *c, char **words, int count)
{
	int n = c->programs;
	bool shell;

	if (!count || !*words[0])
		cli_usage_error("a command is empty: write -- COMMAND before each program");
	if (n == TRIAL_PROGRAMS_MAX)
		cli_usage_error("more than %d commands: leave some out", TRIAL_PROGRAMS_MAX);
	c->program[n].argv = command(words, count);
	shell = c->program[n].argv && count == 1 && strpbrk(words[0], " \t");
	c->program[n].name =
		c->program[n].argv ? name_of(c->program[n].argv + (shell ? 2 : 0)) : NULL;
	if (!c->program[n].name)
		exit(cli_error("out of memory"));
	c->programs++;
}

void trial_options(int argc, char **argv, struct trial_command_line *c)
{
	static const struct argp argp = {.options = option_table,
		.parser = parse_option,
		.args_doc =
			"-- COMMAND A... -- COMMAND B... [-- COMMAND C...]...\n--self -- COMMAND...",
		.doc = "Runs programs one after the other on this node and together on its lanes, and "
		       "tells which does more work, what each program loses and what it would pay. "
		       "It needs no Slurm and no rights.\vExample: poppa trial --time 300 "
		       "-- ./a input -- 'mpirun -n 4 ./b'"};
	struct parsed p = {.c = c};
	int from = 0;

	*c = (struct trial_command_line){.time_s = DEFAULT_TIME_S, .rounds = DEFAULT_ROUNDS};
	cli_parse(&argp, argc, argv, &p);
	if (c->json && c->html && !strcmp(c->html, "-"))
		cli_usage_error(
			"--json and --html - both write to the standard output: name a file");
	if (c->self && c->lanes)
		cli_usage_error("--lanes: --self runs the program on all cores; leave one out");
	if (c->self && c->html)
		cli_usage_error("--html: there is no page of --self; take --json");
	if (!p.count)
		cli_usage_error(c->self ? "which program? Name it: poppa trial --self -- ./a"
					: "which programs? Name two: poppa trial -- ./a -- ./b");
	for (int i = 0; i <= p.count; i++) {
		if (i < p.count && strcmp(p.words[i], "--"))
			continue;
		add(c, p.words + from, i - from);
		from = i + 1;
	}
	if (c->self && c->programs != 1)
		cli_usage_error("--self is for one program: leave the others out");
	if (c->programs < 2 && !c->self)
		cli_usage_error("only one program: name a second one behind another --");
}

void trial_options_free(struct trial_command_line *c)
{
	for (int i = 0; i < c->programs; i++) {
		for (char **w = c->program[i].argv; *w; w++)
			free(*w);
		free(c->program[i].argv);
		free(c->program[i].name);
	}
}
