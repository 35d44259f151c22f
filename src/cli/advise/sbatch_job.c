/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads sbatch's command line as sbatch does. */
#include "cli/advise/sbatch_job.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ask/cli.h"
#include "common/fsio.h"
#include "common/printable.h"

/* Slurm's own limit on scripts is 4 MB unless the site has set another (max_script_size). */
#define SCRIPT_MAX (64 << 20)

/* Short options whose value may be the next word, and the long ones. Of all other known options the
 * value, if any, is behind a "=". */
static const char short_with_value[] = "AaBbCcDdeFGiJLMmNnopqStwx";
static const char *const with_value[] = {"account", "acctg-freq", "array", "batch", "bb", "bbf",
	"begin", "chdir", "cluster", "cluster-constraint", "clusters", "comment", "constraint",
	"container", "container-id", "context", "core-spec", "cores-per-socket", "cpu-freq",
	"cpus-per-gpu", "cpus-per-task", "deadline", "delay-boot", "dependency", "distribution",
	"error", "exclude", "export", "export-file", "extra", "extra-node-info", "gid", "gpu-bind",
	"gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres",
	"gres-flags", "hint", "input", "job-name", "kill-on-invalid-dep", "licenses", "mail-type",
	"mail-user", "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus",
	"network", "nodefile", "nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu",
	"ntasks-per-node", "ntasks-per-socket", "open-mode", "output", "partition", "power",
	"prefer", "priority", "profile", "qos", "reservation", "resv-ports", "segment", "signal",
	"sockets-per-node", "switches", "tasks-per-node", "thread-spec", "threads-per-core", "time",
	"time-min", "tmp", "tres-bind", "tres-per-task", "uid", "wait-all-nodes", "wckey", "wrap",
	NULL};
static const char *const without_value[] = {"colocate", "consolidate-segments", "contiguous",
	"exclusive", "get-user-env", "help", "hold", "ignore-pbs", "nice", "no-kill", "no-requeue",
	"overcommit", "oversubscribe", "parsable", "propagate", "quiet", "reboot", "requeue",
	"spread-job", "stepmgr", "test-only", "usage", "use-min-nodes", "verbose", "version",
	"wait", NULL};

/* The options that tell something here; NULL = not given. */
struct asked {
	const char *name, *partition, *qos, *wrap, *colocate;
	const char *own; /* one of this command's, which stands too late */
	bool *colocates; /* of each word; NULL = of no interest */
};

static const char *in_list(const char *const *list, const char *text, size_t len, bool whole)
{
	for (; *list; list++)
		if (!strncmp(*list, text, len) && (!whole || !(*list)[len]))
			return *list;
	return NULL;
}

/* The option that a long one means, which may be cut short as for getopt_long(); NULL: unknown. */
static const char *find_long(const char *text, size_t len, bool *takes_value)
{
	for (int whole = 1; len && whole >= 0; whole--) {
		const char *found = in_list(with_value, text, len, whole);

		*takes_value = found;
		if (!found)
			found = in_list(without_value, text, len, whole);
		if (found)
			return found;
	}
	return NULL;
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static void note(struct asked *a, const char *option, const char *value, int at)
{
	if (!strcmp(option, "job-name"))
		a->name = value;
	else if (!strcmp(option, "partition"))
		a->partition = value;
	else if (!strcmp(option, "qos"))
		a->qos = value;
	else if (!strcmp(option, "wrap"))
		a->wrap = value;
	else if (!strcmp(option, "colocate"))
		a->colocate = value ? value : "";
	if (!strcmp(option, "colocate") && a->colocates)
		a->colocates[at] = true;
}

/* Returns how many words the long option has. */
static int read_long(struct asked *a, int words, char **word, int at)
{
	const char *text = word[at] + 2, *sign = strchr(text, '='), *option;
	size_t len = sign ? (size_t)(sign - text) : strlen(text);
	const char *next = at + 1 < words ? word[at + 1] : NULL;
	bool takes_value = false;

	option = find_long(text, len, &takes_value);
	if (!option && len && (!strncmp(text, "json", len) || !strncmp(text, "class", len)))
		a->own = word[at];
	/* Of a later release, or of a plugin of the site. */
	if (!option)
		return !sign && next && *next != '-' && !is_file(next) ? 2 : 1;
	if (takes_value && !sign && !next)
		return 1;
	note(a, option, sign ? sign + 1 : takes_value ? next : NULL, at);
	return takes_value && !sign ? 2 : 1;
}

/* The same of a word such as -HJ or -Jname. */
static int read_short(struct asked *a, int words, char **word, int at)
{
	for (const char *p = word[at] + 1; *p; p++) {
		const char *next = at + 1 < words ? word[at + 1] : NULL;
		const char *value = p[1] ? p + 1 : next;

		if (*p == 'k')
			break; /* what follows is its value */
		if (!strchr(short_with_value, *p))
			continue;
		if (value && *p == 'J')
			note(a, "job-name", value, at);
		else if (value && *p == 'p')
			note(a, "partition", value, at);
		else if (value && *p == 'q')
			note(a, "qos", value, at);
		return !p[1] && next ? 2 : 1;
	}
	return 1;
}

/* Returns the index of the first word that is no option and no value of one. */
static int read_words(struct asked *a, int words, char **word)
{
	int at = 0;

	while (at < words && word[at][0] == '-' && word[at][1]) {
		if (!strcmp(word[at], "--"))
			return at + 1;
		at += word[at][1] == '-' ? read_long(a, words, word, at)
					 : read_short(a, words, word, at);
	}
	return at;
}

/* Takes the next word of a line out of *line, in place, with quotes, backslashes and comments as
 * sbatch has them. NULL at its end. */
static char *next_word(char **line)
{
	char *from = *line + strspn(*line, " \t\r\f\v"), *to = from, *word = from, quote = '\0';

	if (!*from || *from == '#')
		return NULL;
	for (; *from && (quote || !isspace((unsigned char)*from)); from++) {
		if (*from == '\\' && from[1])
			*to++ = *++from;
		else if (quote ? *from == quote : *from == '"' || *from == '\'')
			quote = quote ? '\0' : *from;
		else if (!quote && *from == '#')
			break;
		else
			*to++ = *from;
	}
	/* A comment ends the line. */
	*line = *from && *from != '#' ? from + 1 : from + strlen(from);
	*to = '\0';
	return word;
}

static bool begins_part(const char *text)
{
	size_t len;

	text += strspn(text, " \t");
	len = strcspn(text, " \t\r\f\v");
	return (len == 6 && !strncasecmp(text, "hetjob", len)) ||
	       (len == 7 && !strncasecmp(text, "packjob", len));
}

/* Collects the words of the script's lines of options, which end at the first command. Their
 * number, or -1 with err. */
static int script_words(struct sbatch_job *job, struct errmsg *err)
{
	int n = 0;

	for (char *line = job->text, *next; line; line = next) {
		size_t len = !strncmp(line, "#SBATCH", 7) ? 7 : !strncmp(line, "#SLURM", 6) ? 6 : 0;
		char *word;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!len && line[strspn(line, " \t\r\f\v")] &&
			line[strspn(line, " \t\r\f\v")] != '#')
			break;
		if (len && begins_part(line + len))
			return errmsg_set(err, "the script has several parts (hetjob): advice is "
					       "on jobs of one part");
		for (line += len; len && (word = next_word(&line)); n++) {
			char **bigger =
				reallocarray(job->line_word, (size_t)n + 1, sizeof(*bigger));

			if (!bigger)
				return errmsg_set(err, "out of memory");
			job->line_word = bigger;
			job->line_word[n] = word;
		}
	}
	return n;
}

static int read_script(struct sbatch_job *job, struct asked *a, struct errmsg *err)
{
	struct errmsg why = {""};
	int n;

	if (cli_regular(job->script, &why) ||
		!(job->text = fsio_read(job->script, SCRIPT_MAX, NULL, &why)))
		return errmsg_set(err, "the script cannot be read: %.400s", plain_text(why.text));
	n = script_words(job, err);
	if (n < 0)
		return -1;
	read_words(a, n, job->line_word);
	return 0;
}

static const char *first(const char *a, const char *b, const char *c)
{
	return a ? a : b ? b : c;
}

static void choose(struct sbatch_job *job, const struct asked *words, const struct asked *lines)
{
	const char *of_environment = getenv("SBATCH_JOB_NAME"), *base;

	job->name = first(words->name, of_environment, lines->name);
	job->named_by = words->name      ? NAME_OF_OPTION
			: of_environment ? NAME_OF_ENVIRONMENT
			: lines->name    ? NAME_OF_SCRIPT_LINE
					 : NAME_OF_FILE;
	if (!job->name && job->script) {
		base = strrchr(job->script, '/');
		job->name = base ? base + 1 : job->script;
	} else if (!job->name) {
		job->name = "wrap";
	}
	job->partition = first(words->partition, getenv("SBATCH_PARTITION"), lines->partition);
	job->qos = first(words->qos, getenv("SBATCH_QOS"), lines->qos);
	job->colocate = first(words->colocate, lines->colocate, NULL);
	job->script_colocates = lines->colocate;
}

static int usage(struct errmsg *err, const char *text)
{
	errmsg_set(err, "%s", text);
	return CLI_USAGE;
}

/* Returns an exit status. */
static int read_all(struct sbatch_job *job, struct errmsg *err)
{
	struct asked words = {.colocates = job->colocates}, lines = {.name = NULL};
	int at = read_words(&words, job->words, job->word);

	if (words.own)
		return usage(
			err, strncmp(words.own, "--j", 3)
				     ? "--class stands behind an option of sbatch: it comes first"
				     : "--json stands behind an option of sbatch: it comes first");
	for (int i = 0; i <= at && i < job->words; i++)
		if (!strcmp(job->word[i], ":"))
			return usage(err, "the job has several parts (\":\"): advice is on jobs of "
					  "one part");
	if (at >= job->words && !words.wrap)
		return usage(err, "which script? Name it behind the options, as for sbatch");
	if (!words.wrap) {
		job->script = job->word[at];
		if (read_script(job, &lines, err))
			return CLI_FAILURE;
	}
	choose(job, &words, &lines);
	return CLI_OK;
}

int sbatch_job_read(int words, char **word, struct sbatch_job *job, struct errmsg *err)
{
	int rc;

	*job = (struct sbatch_job){.words = words, .word = word};
	job->colocates = calloc((size_t)words + 1, sizeof(*job->colocates));
	if (job->colocates) {
		rc = read_all(job, err);
	} else {
		errmsg_set(err, "out of memory");
		rc = CLI_FAILURE;
	}
	if (rc)
		sbatch_job_free(job);
	return rc;
}

void sbatch_job_free(struct sbatch_job *job)
{
	free(job->colocates);
	free(job->text);
	free(job->line_word);
}
