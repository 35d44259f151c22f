/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options, errors and JSON output of the subcommands. */
#include "cli/ask/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fsio.h"
#include "common/units.h"

/* Ten digits are more than any measurement has, and still print 0.4 as 0.4. */
#define JSON_DIGITS 10

static const char *command_name = "poppa";

void cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	error_t rc;

	command_name = argv[0];
	argp_err_exit_status = CLI_USAGE;
	rc = argp_parse(argp, argc, argv, 0, NULL, input);
	if (rc)
		cli_usage_error("%s", strerror(rc));
}

error_t cli_parse_rest(int key, const char *arg, bool *json)
{
	switch (key) {
	case CLI_OPT_JSON:
		*json = true;
		return 0;
	case ARGP_KEY_ARG:
		cli_usage_error("\"%s\" is too much: only options are taken", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int64_t cli_int(const char *option, const char *arg, int64_t min, int64_t max)
{
	struct errmsg err;
	int64_t v;

	if (units_parse_int(arg, min, max, &v, &err))
		cli_usage_error("%s: %s", option, err.text);
	return v;
}

double cli_double(const char *option, const char *arg, double min, double max)
{
	struct errmsg err;
	double v;

	if (units_parse_double(arg, min, max, &v, &err))
		cli_usage_error("%s: %s", option, err.text);
	return v;
}

int64_t cli_duration(const char *option, const char *arg, int64_t min, int64_t max)
{
	char low[32], high[32];
	struct errmsg err;
	int64_t ns;

	if (units_parse_duration(arg, &ns, &err))
		cli_usage_error("%s: %s", option, err.text);
	if (ns < min || ns > max)
		cli_usage_error("%s: \"%s\" is not between %s and %s", option, arg,
			units_format_duration(min, low, sizeof(low)),
			units_format_duration(max, high, sizeof(high)));
	return ns;
}

const char *cli_path(const char *option, const char *arg)
{
	if (!*arg)
		cli_usage_error("%s: the file's name is empty", option);
	return arg;
}

int cli_regular(const char *path, struct errmsg *err)
{
	struct stat st;

	if (stat(path, &st) || S_ISREG(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode))
		return errmsg_set(err, "%s: %s", path, strerror(EISDIR));
	return errmsg_set(
		err, "%s is no regular file: copy what it gives into one, and name that", path);
}

int cli_output(const char *option, const char *path, const char *text, size_t len, mode_t mode)
{
	struct errmsg err;

	if (!strcmp(path, "-"))
		return fwrite(text, 1, len, stdout), CLI_OK; /* main() looks at stdout's errors */
	return fsio_output(path, text, len, mode, &err) ? cli_error("%s: %s", option, err.text)
							: CLI_OK;
}

int cli_output_check(const char *option, const char *path)
{
	char dir[PATH_MAX], *slash;
	struct stat st;

	if (!strcmp(path, "-"))
		return CLI_OK;
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return cli_error("%s: %s is a directory: name a file in it", option, path);
	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	if (!access(path, F_OK) ? !access(path, W_OK) : !access(slash ? dir : ".", W_OK))
		return CLI_OK;
	return cli_error("%s: cannot write %s: %s", option, path, strerror(errno));
}

static void print_error(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

static void print_error(const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", command_name);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

int cli_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_error(fmt, ap);
	va_end(ap);
	return CLI_FAILURE;
}

void cli_usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_error(fmt, ap);
	va_end(ap);
	exit(CLI_USAGE);
}

int cli_print_json(json_t *json)
{
	int rc;

	if (!json)
		return cli_error("out of memory");
	rc = json_dumpf(json, stdout, JSON_REAL_PRECISION(JSON_DIGITS));
	json_decref(json);
	putchar('\n');
	return rc ? cli_error("cannot write the result") : CLI_OK;
}
