/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the subcommands of poppa share: exit codes, options, output. */
#ifndef POPPA_CLI_ASK_CLI_H
#define POPPA_CLI_ASK_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

enum cli_exit { CLI_OK = 0, CLI_FAILURE = 1, CLI_USAGE = 2 };

/* One subcommand a file; argv[0] is "poppa NAME"; returns an exit status. */
int cmd_doctor(int argc, char **argv);
int cmd_estimate(int argc, char **argv);
int cmd_lanes(int argc, char **argv);
int cmd_ledger(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_overhead(int argc, char **argv);
int cmd_price(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_settle(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_why(int argc, char **argv);

/* Keys of options that have no short form begin here. */
#define CLI_OPT_FIRST 256
/* The entry that every subcommand's option table has; its key is CLI_OPT_JSON. */
#define CLI_OPT_JSON 'j'
#define CLI_JSON_OPTION                                                                            \
	{                                                                                          \
		"json", CLI_OPT_JSON, NULL, 0, "Print JSON instead of text", 0                     \
	}

/* Parses the options of a subcommand; a wrong option ends the program with CLI_USAGE. */
void cli_parse(const struct argp *argp, int argc, char **argv, void *input);

/*
 * The end of every option parser: --json, and no arguments (a usage error). Other keys give
 * ARGP_ERR_UNKNOWN.
 */
error_t cli_parse_rest(int key, const char *arg, bool *json);

/* Values of options; what is wrong ends the program with CLI_USAGE and a line that names the
 * option. Durations are in ns. */
int64_t cli_int(const char *option, const char *arg, int64_t min, int64_t max);
double cli_double(const char *option, const char *arg, double min, double max);
int64_t cli_duration(const char *option, const char *arg, int64_t min, int64_t max);
/* arg, a file's name: an empty one is wrong. */
const char *cli_path(const char *option, const char *arg);

/* One line on standard error, prefixed with the command; cli_usage_error also exits (CLI_USAGE). */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli_usage_error(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Prints one line of JSON and releases the reference; returns an exit status. */
int cli_print_json(json_t *json);

/* JSON null for what is not a finite number. */
json_t *cli_real(double v);

#endif
