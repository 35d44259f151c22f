/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa-farm: runs many small tasks on the processors of one job, near the data that they share. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/keyval.h"
#include "common/units.h"
#include "farm/farm_run.h"

#define WORKERS_MAX 4096
#define BAR 30
/* So many failures are told one by one. */
#define TOLD_MAX 20

/* Exit status. */
enum { ALL_DONE, SOME_FAILED, USAGE, ENDED_EARLY };

enum {
	KEY_JOURNAL = 256,
	KEY_RETRIES,
	KEY_OUTPUT,
	KEY_SERVER,
	KEY_TIME,
	KEY_GRACE,
	KEY_NO_PIN,
	KEY_POLICY,
	KEY_SCHEDULE
};

static const char doc[] =
	"Runs tasks, lines of KEY, a tab and a command, from FILE or standard input, on the processors that it may use: in a "
	"Slurm job those of the job, in a co-located one those of its lane. Tasks with the same key run where the last one "
	"did, so that they find its data in the cache; idle workers take others' tasks.\v"
	"  printf 'chr1\\tblast chr1 a.fa\\nchr1\\tblast chr1 b.fa\\n' | poppa-farm --journal done\n\n"
	"Exit status: 0 all tasks are done, 1 some failed, 2 wrong usage, 3 it was ended before: with the same --journal it "
	"goes on where it was.";

static const struct argp_option options[] = {
	{"workers", 'w', "N", 0, "Tasks that run at once (one for each processor)", 0},
	{"journal", KEY_JOURNAL, "FILE", 0,
		"Writes down what is done, and leaves out what is done already", 0},
	{"retries", KEY_RETRIES, "N", 0, "How often a task that fails is started again (0)", 0},
	{"output", KEY_OUTPUT, "DIR", 0, "Writes the output of each task to DIR/LINE.out", 0},
	{"server", KEY_SERVER, "COMMAND", 0,
		"Starts COMMAND once for each worker, which reads commands as lines and answers each with a line: ok, or why it failed",
		0},
	{"time", KEY_TIME, "TIME", 0,
		"Ends after so long, such as 50m (in a Slurm job: at its time limit)", 0},
	{"grace", KEY_GRACE, "TIME", 0, "How long running tasks get to end (10s)", 0},
	{"no-pin", KEY_NO_PIN, NULL, 0, "Lets tasks run on any of the processors", 0},
	{"policy", KEY_POLICY, "NAME", 0,
		"Who runs which task: affinity (the default), stealing or queue", 0},
	{"schedule", KEY_SCHEDULE, "KEY=N,...", 0,
		"Constants of affinity: dispatch, window, gap, steal, keep, patience; see poppa-farm(1)",
		0},
	{"json", 'j', NULL, 0, "Prints a summary as JSON; what tasks print goes to standard error",
		0},
	{0},
};

static const char *const policies[] = {"affinity", "stealing", "queue"};

static int schedule_constant(
	const char *key, const char *value, int line, void *arg, struct errmsg *err)
{
	struct farm_settings *s = arg;
	const struct {
		const char *key;
		uint32_t *at;
	} rows[] = {
		{"dispatch", &s->dispatch},
		{"window", &s->window},
		{"gap", &s->gap},
		{"steal", &s->steal},
		{"keep", &s->keep},
		{"patience", &s->patience},
	};
	size_t count = sizeof(rows) / sizeof(rows[0]);

	(void)line;
	for (size_t i = 0; i < count; i++) {
		int64_t n;

		if (strcmp(key, rows[i].key))
			continue;
		if (units_parse_int(value ? value : "", 1, 1000000, &n, err))
			return errmsg_set(err, "%s: %s", key, err->text);
		*rows[i].at = (uint32_t)n;
		return 0;
	}
	return keyval_unknown(key, rows, sizeof(rows[0]), count, err);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct farm_options *o = state->input;
	struct errmsg err = {""};
	const char *option = NULL;
	int64_t n = 0;
	int rc = 0;

	switch (key) {
	case 'w':
		option = "--workers";
		rc = units_parse_int(arg, 1, WORKERS_MAX, &n, &err);
		o->workers = (uint32_t)n;
		break;
	case KEY_RETRIES:
		option = "--retries";
		rc = units_parse_int(arg, 0, 1000, &n, &err);
		o->retries = (uint32_t)n;
		break;
	case KEY_TIME:
		option = "--time";
		rc = units_parse_duration(arg, &o->time_ns, &err);
		break;
	case KEY_GRACE:
		option = "--grace";
		rc = units_parse_duration(arg, &o->grace_ns, &err);
		break;
	case KEY_POLICY:
		option = "--policy";
		rc = keyval_choice("policy", arg, policies, 3, &err);
		o->settings.policy = rc < 0 ? FARM_AFFINITY : (enum farm_policy)rc;
		rc = rc < 0 ? -1 : 0;
		break;
	case KEY_SCHEDULE:
		option = "--schedule";
		rc = keyval_list(arg, schedule_constant, &o->settings, &err);
		break;
	case KEY_JOURNAL:
		o->journal = arg;
		break;
	case KEY_OUTPUT:
		o->output = arg;
		break;
	case KEY_SERVER:
		o->server = arg;
		break;
	case KEY_NO_PIN:
		o->pin = false;
		break;
	case 'j':
		o->json = true;
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_error(state, "give one FILE of tasks; join several with cat");
		o->input = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (rc)
		argp_error(state, "%s=%s: %s", option, arg, err.text);
	return 0;
}

/* The processors that this process may use, in their order, or NULL where the kernel does not tell.
 */
static int *own_cpus(uint32_t *count)
{
	for (int most = 1024; most <= 1 << 20; most *= 4) {
		size_t size = CPU_ALLOC_SIZE(most);
		cpu_set_t *set = CPU_ALLOC(most);
		int *cpus = set ? calloc((size_t)most, sizeof(*cpus)) : NULL;

		*count = 0;
		if (cpus && !sched_getaffinity(0, size, set)) {
			for (int cpu = 0; cpu < most; cpu++)
				if (CPU_ISSET_S(cpu, size, set))
					cpus[(*count)++] = cpu;
			CPU_FREE(set);
			return cpus;
		}
		free(cpus);
		CPU_FREE(set);
		if (errno != EINVAL)
			break;
	}
	return NULL;
}

/* Seconds until Slurm ends the job, or 0 where it does not say. Tasks are asked to end before that.
 */
static int64_t slurm_time(int64_t grace_ns)
{
	const char *text = getenv("SLURM_JOB_END_TIME");
	struct errmsg err;
	int64_t end, left;

	if (!text || units_parse_int(text, 1, INT64_MAX / NS_PER_S, &end, &err))
		return 0;
	left = end * NS_PER_S - clock_wall() - grace_ns;
	return left > 0 ? left : 1;
}

/* The job by the name that is its own: one task of an array has the array's number. NULL outside of
 * jobs. */
static const char *slurm_job(char *buf, size_t size)
{
	const char *array = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");

	if (!array || !task)
		return getenv("SLURM_JOB_ID");
	snprintf(buf, size, "%s_%s", array, task);
	return buf;
}

struct shown {
	bool bar; /* there is one on the terminal */
	uint64_t told;
};

static void show_progress(const struct farm_view *v, void *arg)
{
	struct shown *shown = arg;
	uint64_t tasks = v->counts->tasks, over = v->counts->done + v->counts->failed;
	double rate = v->seconds > 0 ? (double)(over - v->counts->skipped) / v->seconds : 0;
	int filled = tasks ? (int)(BAR * over / tasks) : 0;
	char line[256];
	size_t n;

	shown->bar = true;
	/* One write, so that nobody sees half of it. */
	n = (size_t)snprintf(line, sizeof(line),
		"\r[%.*s%*s] %" PRIu64 " of %" PRIu64 "%s done, %" PRIu64 " running", filled,
		"##############################", BAR - filled, "", over, tasks,
		v->complete ? "" : " or more", v->running);
	if (v->counts->failed)
		n += (size_t)snprintf(
			line + n, sizeof(line) - n, ", %" PRIu64 " failed", v->counts->failed);
	if (rate > 0 && v->complete)
		n += (size_t)snprintf(
			line + n, sizeof(line) - n, ", %.0f s left", (double)(tasks - over) / rate);
	snprintf(line + n, sizeof(line) - n, "\033[K");
	fputs(line, stderr);
}

static void clear_bar(struct shown *shown)
{
	if (shown->bar)
		fprintf(stderr, "\r\033[K");
	shown->bar = false;
}

static void tell_failure(const char *text, void *arg)
{
	struct shown *shown = arg;

	clear_bar(shown);
	if (shown->told++ < TOLD_MAX)
		fprintf(stderr, "poppa-farm: %s\n", text);
}

/* Standard deviation of the workers' busy time, relative to its mean: 0 is an even load. */
static double uneven(const struct farm_worker_sum *sums, uint32_t n)
{
	double mean = 0, squares = 0;

	for (uint32_t i = 0; i < n; i++)
		mean += sums[i].busy_s / n;
	for (uint32_t i = 0; i < n; i++)
		squares += (sums[i].busy_s - mean) * (sums[i].busy_s - mean) / n;
	return mean > 0 ? sqrt(squares) / mean : 0;
}

static void print_json(const struct farm_options *o, const struct farm_counts *c,
	const struct farm_worker_sum *sums, const char *end, double seconds)
{
	json_t *workers = json_array(), *all;

	for (uint32_t i = 0; i < o->workers; i++)
		json_array_append_new(
			workers, json_pack("{s:i, s:I, s:f}", "cpu", sums[i].cpu, "tasks",
					 (json_int_t)sums[i].tasks, "busy_s", sums[i].busy_s));
	all = json_pack("{s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:s, s:f, s:o}", "tasks",
		(json_int_t)c->tasks, "done", (json_int_t)c->done, "failed", (json_int_t)c->failed,
		"seconds", seconds, "skipped", (json_int_t)c->skipped, "retried",
		(json_int_t)c->retried, "left", (json_int_t)(c->tasks - c->done - c->failed), "end",
		end, "uneven", uneven(sums, o->workers), "workers", workers);
	json_dumpf(all, stdout, JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(all);
}

static int summary(const struct farm_options *o, const struct farm_counts *c,
	const struct farm_worker_sum *sums, enum farm_end end, double seconds, struct shown *shown)
{
	static const char *const ends[] = {"all", "signal", "time", "trouble"};
	uint64_t left = c->tasks - c->done - c->failed;

	clear_bar(shown);
	if (shown->told > TOLD_MAX)
		fprintf(stderr, "poppa-farm: and %" PRIu64 " more\n", shown->told - TOLD_MAX);
	if (c->failed)
		fprintf(stderr, "poppa-farm: %" PRIu64 " of %" PRIu64 " tasks failed%s\n",
			c->failed, c->tasks,
			o->journal ? ": the same command starts these once more" : "");
	if (end == FARM_SIGNAL || end == FARM_TIME)
		fprintf(stderr, "poppa-farm: ended %s, %" PRIu64 " of the tasks read are left%s\n",
			end == FARM_TIME ? "as its time is over" : "by a signal", left,
			o->journal ? ": the same command goes on with them"
				   : "; with --journal it could go on with them");
	if (o->json)
		print_json(o, c, sums, ends[end], seconds);
	if (end == FARM_SIGNAL || end == FARM_TIME || end == FARM_TROUBLE)
		return ENDED_EARLY;
	return c->failed ? SOME_FAILED : ALL_DONE;
}

/* A number for each worker: its processor, or -1. Exits where there is no memory. */
static int *place_workers(struct farm_options *o)
{
	uint32_t count = 0;
	int *cpus = own_cpus(&count), *places;

	if (!o->workers)
		o->workers = count ? count < WORKERS_MAX ? count : WORKERS_MAX : 1;
	places = calloc(o->workers, sizeof(*places));
	if (!places) {
		fprintf(stderr, "poppa-farm: out of memory\n");
		exit(ENDED_EARLY);
	}
	for (uint32_t i = 0; i < o->workers; i++)
		places[i] = o->pin && count ? cpus[i % count] : -1;
	free(cpus);
	return places;
}

static bool is_folder(const char *path)
{
	struct stat st;
	int code = errno;
	bool is = !stat(path, &st) && S_ISDIR(st.st_mode);

	errno = code;
	return is;
}

int main(int argc, char **argv)
{
	char job[64];
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "[FILE]", .doc = doc};
	struct farm_options o = {
		.input = "-", .grace_ns = 10 * NS_PER_S, .pin = true, .settings = farm_defaults};
	struct farm_counts counts = {0};
	struct shown shown = {0};
	struct farm_watch watch = {.failed = tell_failure, .arg = &shown};
	struct farm_worker_sum *sums;
	struct errmsg err = {""};
	enum farm_end end;
	int64_t begun;
	int *cpus, status;

	argp_err_exit_status = USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.server && o.output) {
		fprintf(stderr,
			"poppa-farm: --output does not go with --server: let the server write files\n");
		return USAGE;
	}
	if (o.output && mkdir(o.output, 0777) && (errno != EEXIST || !is_folder(o.output))) {
		fprintf(stderr, "poppa-farm: --output=%s: %s\n", o.output,
			strerror(errno == EEXIST ? ENOTDIR : errno));
		return USAGE;
	}
	if (!o.time_ns) {
		o.time_ns = slurm_time(o.grace_ns);
		o.job = o.time_ns ? slurm_job(job, sizeof(job)) : NULL;
	}
	if (isatty(STDERR_FILENO))
		watch.progress = show_progress;
	cpus = place_workers(&o);
	sums = calloc(o.workers, sizeof(*sums));
	if (!sums) {
		fprintf(stderr, "poppa-farm: out of memory\n");
		return ENDED_EARLY;
	}
	begun = clock_now();
	end = farm_run(&o, cpus, &watch, &counts, sums, &err);
	status = summary(&o, &counts, sums, end, (double)(clock_now() - begun) / NS_PER_S, &shown);
	if (end == FARM_TROUBLE)
		fprintf(stderr, "poppa-farm: %s\n", err.text);
	free(cpus);
	free(sums);
	return status;
}
