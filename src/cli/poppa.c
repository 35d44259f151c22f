/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The poppa command: finds the subcommand and runs it. */
#include "poppa_config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask/cli.h"

/* The subcommands are listed in cli.h. */
#define COMMAND_ROW(name, summary) {#name, cmd_##name, summary},

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {CLI_COMMANDS(COMMAND_ROW)};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *out)
{
	fputs("Usage: poppa COMMAND [OPTION...]\n"
	      "Looks at and works with co-located jobs; see poppa(1).\n\nCommands:\n",
		out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\n\"poppa COMMAND --help\" explains a command; \"poppa --version\" prints the "
	      "version.\n",
		out);
}

static int run_command(const char *name, int argc, char **argv)
{
	char full[64];

	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name)) {
			snprintf(full, sizeof(full), "poppa %s", name);
			argv[0] = full;
			return commands[i].run(argc, argv);
		}
	cli_usage_error("\"%s\" is no command; \"poppa help\" lists them", name);
}

static int dispatch(int argc, char **argv)
{
	static char help_option[] = "--help";
	char *help_argv[] = {NULL, help_option, NULL};

	if (argc < 2) {
		print_usage(stderr);
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("poppa " POPPA_VERSION);
		return CLI_OK;
	}
	if (!strcmp(argv[1], "help") && argc > 2)
		return run_command(argv[2], 2, help_argv);
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_usage(stdout);
		return CLI_OK;
	}
	return run_command(argv[1], argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int rc = dispatch(argc, argv);

	/* A full disk must not look like success. */
	if ((fflush(stdout) || ferror(stdout)) && rc == CLI_OK)
		rc = cli_error("cannot write to standard output: %s", strerror(errno));
	return rc;
}
