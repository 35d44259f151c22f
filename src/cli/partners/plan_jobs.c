/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the jobs of a plan: from a list, or from the cluster's queue. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask/squeue.h"
#include "cli/partners/plan.h"
#include "common/tags.h"
#include "common/units.h"
#include "striping/history/job_class.h"
#include "striping/submit/colocate_option.h"

#define BLANKS " \t"
#define MARK "\xef\xbb\xbf" /* with which some editors begin a text in UTF-8 */

/* The next job, for so many nodes; NULL with err where there is no room for it. The caller fills in
 * its class. */
static struct planned *add(struct plan *p, int nodes, struct errmsg *err)
{
	struct planned *j = &p->job[p->jobs];

	if (p->jobs == PLAN_JOBS) {
		errmsg_set(err, "more than %d jobs", PLAN_JOBS);
		return NULL;
	}
	p->jobs++;
	*j = (struct planned){.nodes = nodes, .alone = nodes, .beside = json_array()};
	return j;
}

/* Once its class is known. */
static void set_variant(struct planned *j)
{
	strcpy(j->variant, j->class);
	if (!j->class[class_base(j->class)])
		class_add_variant(j->variant, (unsigned int)j->nodes, "");
}

static int wrong_line(struct errmsg *err)
{
	return errmsg_set(err,
		"a job is CLASS [NODES], with 1 to %d nodes: 1000/weather 4; or UID|NODES|NAME, as "
		"squeue -h -o \"%%U|%%D|%%j\" prints it",
		PLAN_NODES);
}

/* The job of a user, by its name. */
static int add_named(
	struct plan *p, const struct job_kind *kind, const char *nodes, struct errmsg *err)
{
	struct planned *j;
	int64_t n;

	if (units_parse_int(nodes, 1, PLAN_NODES, &n, NULL))
		return wrong_line(err);
	j = add(p, (int)n, err);
	if (!j)
		return -1;
	job_class(p->known->pairs, kind, j->class);
	set_variant(j);
	return 0;
}

/* UID|NODES|NAME, where the name may have blanks and more of "|". */
static bool is_named(const char *line)
{
	const char *end = line + strspn(line, "0123456789");

	return end > line && *end == '|' && strchr(end + 1, '|');
}

static int read_named(struct plan *p, char *line, struct errmsg *err)
{
	char *nodes = strchr(line, '|') + 1, *name = strchr(nodes, '|') + 1;
	int64_t uid;

	nodes[-1] = name[-1] = '\0';
	if (units_parse_int(line, 0, UINT32_MAX, &uid, NULL) || !*name)
		return wrong_line(err);
	return add_named(
		p, &(struct job_kind){.uid = (unsigned int)uid, .job_name = name}, nodes, err);
}

/* An empty line is no job. */
static int read_line(struct plan *p, char *line, struct errmsg *err)
{
	char *save = NULL, *class, *nodes, *more;
	struct planned *j;
	int64_t n = 1;

	line += strspn(line, BLANKS);
	if (is_named(line))
		return read_named(p, line, err);
	class = strtok_r(line, BLANKS, &save);
	nodes = strtok_r(NULL, BLANKS, &save);
	more = strtok_r(NULL, BLANKS, &save);
	if (!class || *class == '#')
		return 0;
	if (strlen(class) >= PAIRS_CLASS_MAX || more ||
		(nodes && units_parse_int(nodes, 1, PLAN_NODES, &n, NULL)))
		return wrong_line(err);
	j = add(p, (int)n, err);
	if (!j)
		return -1;
	known_pairs_class(p->known, class, j->class);
	set_variant(j);
	return 0;
}

/* Cuts the end off that a line has, on whatever system it was written. */
static char *cut_end(char *line, int number)
{
	line[strcspn(line, "\n")] = '\0';
	if (*line && line[strlen(line) - 1] == '\r')
		line[strlen(line) - 1] = '\0';
	return number == 1 && !strncmp(line, MARK, strlen(MARK)) ? line + strlen(MARK) : line;
}

/* Opens what may be a pipe, and does not wait until somebody opens its other end: without that it
 * is empty. */
static FILE *open_list(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *in;

	if (fd < 0)
		return NULL;
	in = fcntl(fd, F_SETFL, 0) ? NULL : fdopen(fd, "r");
	if (!in)
		close(fd);
	return in;
}

int plan_read_file(struct plan *p, const char *path, struct errmsg *err)
{
	FILE *in = path ? open_list(path) : stdin;
	const char *name = path ? path : "standard input";
	char *line = NULL;
	size_t room = 0;
	ssize_t size;
	int rc = 0;

	if (!in)
		return errmsg_set(err, "%s: %s", name, strerror(errno));
	for (int number = 1; !rc && (size = getline(&line, &room, in)) >= 0; number++) {
		struct errmsg why;

		rc = strlen(line) < (size_t)size ? wrong_line(&why)
						 : read_line(p, cut_end(line, number), &why);
		if (rc)
			errmsg_set(err, "%s, line %d: %s", name, number, why.text);
	}
	if (!rc && ferror(in))
		rc = errmsg_set(err, "%s: %s", name, strerror(errno));
	if (!rc && !p->jobs)
		rc = errmsg_set(err, "no job: name one a line, CLASS [NODES]");
	free(line);
	if (path)
		fclose(in);
	return rc;
}

/* The option of a co-located job begins its part of SystemComment, and details follow. */
static int read_option(const char *comment, struct colocate *c)
{
	char *shown = tags_get(comment, COLOCATE_TAG);
	struct errmsg ignored;
	int rc = -1;

	if (shown) {
		shown[strcspn(shown, " ")] = '\0';
		rc = colocate_parse(shown, c, &ignored);
	}
	free(shown);
	return rc;
}

static int read_queued(char *line, void *arg, struct errmsg *err)
{
	struct plan *p = arg;
	struct squeue_queued job;
	struct colocate c;

	if (squeue_parse_queued(line, &job))
		return errmsg_set(err, "squeue prints something else than was asked for");
	if (read_option(job.system_comment, &c))
		return 0;
	return add_named(p,
		&(struct job_kind){.class_name = c.class_name,
			.shared = p->known->settings.stripe_classes == CLASSES_SHARED,
			.uid = job.uid,
			.job_name = job.name},
		job.nodes, err);
}

int plan_read_queue(struct plan *p, struct errmsg *err)
{
	if (squeue_each_queued(read_queued, p, err))
		return -1;
	return p->jobs ? 0
		       : errmsg_set(err,
				 "no co-located job waits or runs that squeue shows you: \"poppa "
				 "plan FILE\" plans a list");
}
