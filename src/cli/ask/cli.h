/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the subcommands of poppa share: exit codes, options, output. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <jansson.h>

#include "common/errmsg.h"

enum cli_exit { CLI_OK = 0, CLI_FAILURE = 1, CLI_USAGE = 2 };

/*
 * The subcommands, in the order of "poppa help": the name, and what it does. cmd_NAME() is in a
 * file of that name; its argv[0] is "poppa NAME", and it returns an exit status.
 */
/* clang-format off */
#define CLI_COMMANDS(COMMAND) \
	COMMAND(advise, "what --colocate would bring for a job, before it is submitted") \
	COMMAND(doctor, "check that this node or controller is set up right") \
	COMMAND(estimate, "degradation of the jobs in a shutter log") \
	COMMAND(gpu, "how many units of a graphics processor a program needs") \
	COMMAND(job, "what a job used, lost and is charged, on one screen") \
	COMMAND(lanes, "which cores belong to which lane") \
	COMMAND(ledger, "verify, copy or export the ledger") \
	COMMAND(map, "on which sockets and cores tasks belong, by recorded counters") \
	COMMAND(metrics, "what poppad measures, for Prometheus") \
	COMMAND(overhead, "what shutters cost, by the model") \
	COMMAND(pairs, "what kinds of jobs cost each other, measured and expected") \
	COMMAND(plan, "who of a list of jobs would share nodes, and what that brings") \
	COMMAND(price, "what a co-located job is charged") \
	COMMAND(profile, "how a program uses caches, and which programs suit one") \
	COMMAND(report, "what co-located jobs were charged, and what they cost each other") \
	COMMAND(settle, "give a settled job another price") \
	COMMAND(status, "what this node's poppad does now") \
	COMMAND(top, "this node's co-located jobs, live") \
	COMMAND(trial, "is it worth it to run these programs together on this node?") \
	COMMAND(why, "how the price of a job came about")
/* clang-format on */

#define CLI_DECLARE(name, summary) int cmd_##name(int argc, char **argv);
CLI_COMMANDS(CLI_DECLARE)

/* The first key for options that have no short form. */
#define CLI_OPT_FIRST 256
/* The option --json, which every subcommand has; its key is CLI_OPT_JSON. */
#define CLI_OPT_JSON 'j'
#define CLI_JSON_OPTION                                                                            \
	{                                                                                          \
		"json", CLI_OPT_JSON, NULL, 0, "Print JSON instead of text", 0                     \
	}

/* Parses the options of a subcommand; a wrong option ends the program with CLI_USAGE. */
void cli_parse(const struct argp *argp, int argc, char **argv, void *input);

/*
 * What every option parser does with the keys that it does not know itself: takes --json, and ends
 * the program with CLI_USAGE at an argument. Returns ARGP_ERR_UNKNOWN for other keys.
 */
error_t cli_parse_rest(int key, const char *arg, bool *json);

/* Parse the value of an option. A wrong value ends the program with CLI_USAGE and a line that names
 * the option. Durations are in ns. */
int64_t cli_int(const char *option, const char *arg, int64_t min, int64_t max);
double cli_double(const char *option, const char *arg, double min, double max);
int64_t cli_duration(const char *option, const char *arg, int64_t min, int64_t max);
/* Returns arg, the name of a file; an empty name ends the program with CLI_USAGE. */
const char *cli_path(const char *option, const char *arg);

/* Whether a file that is there can be read as a whole: a pipe would have the command wait for
 * whoever writes it. 0, or -1 with err, which names it. */
int cli_regular(const char *path, struct errmsg *err);

/* Print one line on standard error that begins with the command's name. cli_error() returns
 * CLI_FAILURE; cli_usage_error() ends the program with CLI_USAGE. */
int cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli_usage_error(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Writes a result to the file that an option named, as fsio_output() does; "-" is standard output.
 * Returns an exit status. */
int cli_output(const char *option, const char *path, const char *text, size_t len, mode_t mode);

/* What would be lost after minutes of measuring is found out before: whether cli_output() can write
 * that file. Returns an exit status. */
int cli_output_check(const char *option, const char *path);

/* Prints one line of JSON and releases the reference; returns an exit status. */
int cli_print_json(json_t *json);
