/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa-trial, which poppa trial executes: it alone is linked with the counters' libraries. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/ask/cli.h"
#include "cli/trial/trial.h"
#include "cli/trial/trial_page.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/units.h"
#include "striping/lanes/topology.h"
#include "trial/keeper.h"
#include "trial/launch.h"
#include "trial/rounds.h"
#include "trial/tagged.h"

struct work {
	const struct trial_command_line *c;
	const char *token;
	struct trial_options o;
	int lanes;
	char line[256]; /* of progress, that is being shown */
};

static volatile bool stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = true;
}

static void no_log(enum plog_level level, const char *line)
{
	(void)level;
	(void)line;
}

static int copy_pus(struct runner_pus *to, const struct topology_lane *lane)
{
	to->pu = calloc((size_t)lane->pu_count, sizeof(int));
	if (!to->pu)
		return -1;
	memcpy(to->pu, lane->pus, (size_t)lane->pu_count * sizeof(int));
	to->count = lane->pu_count;
	return 0;
}

static int ascending(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Two lanes of what this process may use, and both together. */
static int find_lanes(struct work *w, struct errmsg *err)
{
	struct topology_view view = {.lanes = w->c->lanes, .allowed = true};
	struct topology_map *map = topology_map_load(NULL, &view, err);
	struct trial_options *o = &w->o;
	int rc = 0;

	if (!map)
		return -1;
	w->lanes = map->lane_count;
	if (map->lane_count < RUNNER_SLOTS)
		rc = errmsg_set(err, "a trial needs two cores that it may use, one for each lane: "
				     "allow it more (salloc, taskset), or run it on another node");
	for (int i = 0; !rc && i < RUNNER_SLOTS; i++)
		rc = copy_pus(&o->lane[i], &map->lane[i]);
	topology_map_free(map);
	if (!rc)
		o->both.pu = calloc((size_t)(o->lane[0].count + o->lane[1].count), sizeof(int));
	if (rc || !o->both.pu)
		return *err->text ? -1 : errmsg_set(err, "out of memory");
	for (int i = 0; i < RUNNER_SLOTS; i++) {
		memcpy(o->both.pu + o->both.count, o->lane[i].pu,
			(size_t)o->lane[i].count * sizeof(int));
		o->both.count += o->lane[i].count;
	}
	qsort(o->both.pu, (size_t)o->both.count, sizeof(int), ascending);
	return 0;
}

static void show_progress(
	void *arg, enum trial_phase phase, const char *a, const char *b, int round, int64_t left_ns)
{
	static const char *const words[] = {
		[TRIAL_COMPACT] = "compact",
		[TRIAL_TOGETHER] = "together",
		[TRIAL_TURNS] = "by turns",
		[TRIAL_ALONE] = "alone on a lane",
	};
	struct work *w = arg;
	char line[sizeof(w->line)];
	struct winsize window;

	/* A line that wraps could not be written over. */
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) || window.ws_col < 2 ||
		window.ws_col > sizeof(line))
		window.ws_col = 80;
	snprintf(line, window.ws_col, "round %d of %d, %lld s left: %s %.40s%s%.40s", round,
		w->o.rounds, (long long)(left_ns / NS_PER_S), words[phase], a, b ? " and " : "",
		b ? b : "");
	plain_text(line);
	if (!strcmp(line, w->line))
		return;
	memcpy(w->line, line, sizeof(line));
	fprintf(stderr, "\r%s\033[K", line);
}

static void no_progress(
	void *arg, enum trial_phase phase, const char *a, const char *b, int round, int64_t left_ns)
{
	(void)arg, (void)phase, (void)a, (void)b, (void)round, (void)left_ns;
}

static int write_page(const json_t *json, const char *path)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	int rc = out ? trial_page(json, out) : -1;

	if (out && fclose(out))
		rc = -1;
	rc = rc ? cli_error("out of memory") : cli_output("--html", path, text, length, 0666);
	free(text);
	return rc;
}

static int show(const struct work *w, const struct trial *t)
{
	json_t *json = trial_json(t, w->lanes);
	int rc = json ? CLI_OK : cli_error("out of memory");

	if (!rc && w->c->html)
		rc = write_page(json, w->c->html);
	if (!rc && w->c->json)
		return cli_print_json(json);
	json_decref(json);
	if (!rc)
		trial_text(t, stdout);
	return rc;
}

static void show_self_progress(void *arg, int64_t left_ns)
{
	struct work *w = arg;

	snprintf(w->line, sizeof(w->line), "%lld s left", (long long)(left_ns / NS_PER_S));
	fprintf(stderr, "\r%s\033[K", w->line);
}

static void no_self_progress(void *arg, int64_t left_ns)
{
	(void)arg, (void)left_ns;
}

/* --self, in the worker. */
static int run_self(struct work *w, struct runner_stage *stage)
{
	const char *name = w->c->program[0].name;
	struct runner_program program = {.argv = w->c->program[0].argv, .name = name};
	struct self_options o = {
		.pus = w->o.both, .time_ns = w->o.time_ns, .rounds = w->o.rounds, .arg = w};
	struct self_result result;
	struct errmsg err = {""};
	int rc;

	o.progress = isatty(STDERR_FILENO) ? show_self_progress : no_self_progress;
	rc = self_run(stage, &o, &program, &result, &err);
	if (*w->line)
		fputs("\r\033[K", stderr);
	if (rc)
		return stop ? 128 + SIGINT : cli_error("%s", err.text);
	if (w->c->json)
		return cli_print_json(trial_self_json(&result, name));
	trial_self_text(&result, name, stdout);
	return CLI_OK;
}

/* In the worker. */
static int run_trial(void *arg)
{
	struct work *w = arg;
	char path[PATH_MAX];
	const char *preload = launch_find_preload(path, sizeof(path));
	struct runner_stage *stage = runner_stage_new(w->token, preload, &stop);
	struct trial *t = w->c->self ? NULL : trial_new(w->c->programs, w->c->rounds);
	struct errmsg err = {""};
	int rc;

	keeper_handle(on_signal);
	if (!stage || (!t && !w->c->self))
		return cli_error("out of memory");
	if (w->c->self) {
		rc = run_self(w, stage);
		runner_stage_free(stage);
		return fflush(stdout) && !rc
			       ? cli_error("cannot write the result: %s", strerror(errno))
			       : rc;
	}
	for (int i = 0; i < t->programs; i++) {
		t->program[i].run.argv = w->c->program[i].argv;
		t->program[i].run.name = w->c->program[i].name;
	}
	rc = trial_rounds(stage, &w->o, t, &err);
	if (*w->line)
		fputs("\r\033[K", stderr);
	if (rc) {
		rc = stop ? 128 + SIGINT : cli_error("%s", err.text);
	} else {
		trial_judge(t);
		rc = show(w, t);
	}
	runner_stage_free(stage);
	trial_free(t);
	if (fflush(stdout) && !rc)
		rc = cli_error("cannot write the result: %s", strerror(errno));
	return rc;
}

int main(int argc, char **argv)
{
	struct trial_command_line c;
	char token[TAGGED_TOKEN_SIZE];
	struct work w = {.c = &c, .token = token};
	struct errmsg err = {""};
	int rc;

	trial_options(argc, argv, &c);
	/* Programs that have no counter are told of in the result. */
	plog_set_sink(no_log);
	tagged_token(token);
	w.o.time_ns = (int64_t)(c.time_s * 1e9);
	w.o.rounds = c.rounds;
	w.o.progress = isatty(STDERR_FILENO) ? show_progress : no_progress;
	w.o.arg = &w;
	/* Suspended from the terminal, it would leave a program stopped. A reader of its output
	 * that goes away must not end it before it has cleared up. */
	signal(SIGTSTP, SIG_IGN);
	signal(SIGTTOU, SIG_IGN); /* progress, in the background of a terminal with tostop */
	signal(SIGPIPE, SIG_IGN);
	rc = c.html ? cli_output_check("--html", c.html) : CLI_OK;
	if (!rc) {
		rc = find_lanes(&w, &err);
		if (!rc)
			rc = keeper_run(token, run_trial, &w, &err);
		if (rc < 0)
			rc = cli_error("%s", err.text);
	}
	for (int i = 0; i < RUNNER_SLOTS; i++)
		free(w.o.lane[i].pu);
	free(w.o.both.pu);
	trial_options_free(&c);
	return rc;
}
