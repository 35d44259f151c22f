/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SPANK plugin: the --colocate option of sbatch, srun and salloc, and what Slurm calls on nodes. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/spank.h"

#include "common/fsio.h"
#include "common/tags.h"
#include "gpu/gpu_kept.h"
#include "on_node.h"
#include "plugins/compat/job_info_compat.h"
#include "striping/submit/colocate_option.h"

SPANK_PLUGIN(colocate, 1)

/* Slurm's own copy of the option in the job environment, and what its commands make of it. */
#define SLURMS_COPY "_SLURM_SPANK_OPTION_colocate_colocate"
#define INHERITED "SLURM_SPANK_" SLURMS_COPY

#define ARG_OPTIONAL 2
#define CMDLINE_MAX (4 << 20)

/* The option of the job (or component of a heterogeneous job) whose options are being read. */
static struct {
	struct colocate wish;
	bool given;    /* anywhere: command line, script or environment */
	bool explicit; /* typed, not taken from the environment */
	int calls;
} option;

/* "(null)" is what Slurm writes into the environment for an option without value. */
static const char *plain_if_none(const char *value)
{
	return !value || !strcmp(value, "(null)") ? "" : value;
}

static void explain(void) __attribute__((noreturn));
static void explain(void)
{
	fputs(colocate_help(), stdout);
	exit(fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Ends the command itself: an error returned to Slurm would add a second, vaguer line. */
static int read_option(int val, const char *value, int remote)
{
	struct errmsg err = {""};

	(void)val;
	if (remote)
		return ESPANK_SUCCESS;
	if (colocate_parse(plain_if_none(value), &option.wish, &err)) {
		slurm_error("--colocate: %s", err.text);
		exit(EXIT_FAILURE);
	}
	if (option.wish.help)
		explain();
	option.given = true;
	/* The environment is read first, then the command line. */
	option.explicit = option.calls++ > 0 || !getenv(INHERITED);
	return ESPANK_SUCCESS;
}

static char option_name[] = "colocate";
static char option_value[] = "[KEY[:VALUE][,...]]";
static char option_usage[] = "share nodes with another job, a lane of cores each, and pay for "
			     "progress only (--colocate=help explains)";
static struct spank_option colocate_option = {
	option_name, option_value, option_usage, ARG_OPTIONAL, 0, read_option};

/*
 * Whether the command line holds --colocate=help among its options, not among the arguments of the
 * user's program. A word that follows an option without "=" may be its value; one that is a file
 * is taken for the program.
 */
static bool asks_for_help(const char *args, size_t size)
{
	bool after_option = false;

	for (const char *p = args, *end = args + size; p < end; p += strlen(p) + 1) {
		if (p == args)
			continue;
		if (!strcmp(p, "--colocate=help"))
			return true;
		if (!strcmp(p, "--") || (*p != '-' && (!after_option || !access(p, F_OK))))
			return false;
		after_option = *p == '-' && !strchr(p, '=');
	}
	return false;
}

/* sbatch reads its script, even from the terminal, before it reads this option. */
static void help_before_script(void)
{
	struct errmsg err;
	size_t size;
	char *args = fsio_read("/proc/self/cmdline", CMDLINE_MAX, &size, &err);

	if (args && asks_for_help(args, size))
		explain();
	free(args);
}

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	spank_context_t context = spank_context();

	on_node_arguments(ac, av);
	/* slurmstepd gets the option, too, and would warn of one that it does not know. */
	if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR && context != S_CTX_REMOTE)
		return ESPANK_SUCCESS;
	if (context == S_CTX_ALLOCATOR)
		help_before_script();
	return spank_option_register(sp, &colocate_option);
}

/* Within salloc nothing tells that the site has co-located the job, so slurmctld is asked. */
static bool slurmctld_says_so(const char *job)
{
	job_info_msg_t *answer = NULL;
	char *shown = NULL;
	bool found;

	if (compat_load_job((uint32_t)strtoul(job, NULL, 10), &answer) || !answer)
		return false;
	for (uint32_t i = 0; i < answer->record_count && !shown; i++)
		shown = tags_get(answer->job_array[i].system_comment, COLOCATE_TAG);
	found = shown;
	free(shown);
	slurm_free_job_info_msg(answer);
	return found;
}

/* A step cannot change whether its job is co-located; only a user who typed the option is told. */
static void check_step(const char *job)
{
	const char *mark = getenv(JOB_MARK);
	bool is;

	if (!option.given || !option.explicit)
		return;
	is = (mark && strcmp(mark, COLOCATE_NO)) || slurmctld_says_so(job);
	if (is == !option.wish.no)
		return;
	slurm_error("--colocate: job %s is %sco-located, and a step cannot change that: give "
		    "--colocate%s to the sbatch or salloc that starts the job",
		job, is ? "" : "not ", is ? "=" COLOCATE_NO : "");
	exit(EXIT_FAILURE);
}

/* Puts what was found of the job's class in the place of sm:auto: only here the user's files are at
 * hand. */
static void look_up_units(void)
{
	const char *class_name = option.wish.class_name;
	struct errmsg err = {""};
	char path[PATH_MAX];
	int percent = gpu_kept_path(path, sizeof(path)) ? gpu_kept_find(path, class_name, &err) : 0;

	if (percent > 0) {
		option.wish.sm_percent = percent;
		return;
	}
	if (percent < 0)
		slurm_error("--colocate: sm:auto: %s", err.text);
	else
		slurm_error(
			"--colocate: sm:auto: nothing is known of class %s: run \"poppa gpu sweep --class %s "
			"-- COMMAND\", or give a percentage, such as sm:50",
			class_name, class_name);
	exit(EXIT_FAILURE);
}

/* Puts the request, or that there is none, where slurmctld and the job's own steps find it. */
static void set_request(spank_t sp)
{
	char text[COLOCATE_TEXT_MAX];

	/* Slurm itself would pass the option on to the next component of a heterogeneous job and to
	 * every job that this one submits, which did not ask for it. */
	spank_job_control_unsetenv(sp, SLURMS_COPY);
	if (!option.given) {
		spank_job_control_unsetenv(sp, COLOCATE_ENV);
		unsetenv(JOB_MARK);
		return;
	}
	if (option.wish.sm_percent == COLOCATE_SM_AUTO)
		look_up_units();
	colocate_format(&option.wish, text);
	if (spank_job_control_setenv(sp, COLOCATE_ENV, text, 1) == ESPANK_SUCCESS &&
		!setenv(JOB_MARK, text, 1))
		return;
	slurm_error("--colocate: Slurm did not take the option into the job");
	exit(EXIT_FAILURE);
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	spank_context_t context = spank_context();
	const char *job = getenv("SLURM_JOB_ID");

	(void)ac;
	(void)av;
	if (context == S_CTX_REMOTE)
		on_node_step(sp);
	if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR)
		return ESPANK_SUCCESS;
	if (context == S_CTX_LOCAL && job)
		check_step(job);
	else
		set_request(sp);
	/* The next component of a heterogeneous job has options of its own. */
	memset(&option, 0, sizeof(option));
	return ESPANK_SUCCESS;
}

int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	(void)ac;
	(void)av;
	on_node_task(sp);
	return ESPANK_SUCCESS;
}
