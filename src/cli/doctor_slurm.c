/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of "poppa doctor" on the running Slurm's settings and plugin files. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "accounting/price_rules.h"
#include "cli/doctor.h"
#include "common/fsio.h"

#define SCONTROL_WAIT_MS 15000
#define OUTPUT_MAX (1 << 20)
#define PLUGSTACK_MAX (1 << 20)

extern char **environ;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Everything fd gives until it ends; NULL when that takes too long or there is no memory. */
static char *read_all(int fd)
{
	int64_t deadline = now_ms() + SCONTROL_WAIT_MS;
	char *text = malloc(OUTPUT_MAX);
	size_t len = 0;

	while (text) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left = deadline - now_ms();
		ssize_t n = -1;

		if (left > 0 && poll(&p, 1, (int)left) > 0)
			n = read(fd, text + len, OUTPUT_MAX - 1 - len);
		if (n <= 0) {
			text[len] = '\0';
			if (n == 0)
				return text;
			break;
		}
		len += (size_t)n;
	}
	free(text);
	return NULL;
}

/* Output of "scontrol show config", the caller's to free; NULL with the reason. */
static char *show_config(const char **why)
{
	static char name[] = "scontrol", show[] = "show", config[] = "config";
	char *argv[] = {name, show, config, NULL}, *text = NULL;
	posix_spawn_file_actions_t actions;
	int fds[2], status, rc;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC)) {
		*why = strerror(errno);
		return NULL;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(&pid, name, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (rc) {
		*why = "scontrol is not in PATH";
	} else {
		text = read_all(fds[0]);
		if (!text)
			kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) == pid &&
			(!WIFEXITED(status) || WEXITSTATUS(status))) {
			free(text);
			text = NULL;
		}
		if (!text)
			*why = "slurmctld does not answer scontrol";
	}
	close(fds[0]);
	return text;
}

/* Value of "Key = value" (keys may carry "[0]") in scontrol's output; out is "" without it. */
static const char *config_value(const char *text, const char *key, char *out, size_t size)
{
	size_t key_len = strlen(key);

	*out = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *value;
		size_t len;

		line += *line == '\n';
		if (strncasecmp(line, key, key_len) || isalnum((unsigned char)line[key_len]))
			continue;
		value = line + strcspn(line, "=\n");
		if (*value != '=')
			continue;
		value += 1 + strspn(value + 1, " ");
		len = strcspn(value, "\n");
		while (len && value[len - 1] == ' ')
			len--;
		if (len < size) {
			memcpy(out, value, len);
			out[len] = '\0';
		}
		break;
	}
	if (!strcmp(out, "(null)"))
		*out = '\0';
	return out;
}

/* Whether a comma list has the item. */
static bool lists(const char *list, const char *item)
{
	size_t len = strlen(item);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		p += strspn(p, " ");
		if (!strncasecmp(p, item, len) &&
			(p[len] == '\0' || p[len] == ',' || p[len] == ' '))
			return true;
	}
	return false;
}

static void check_list(
	struct doctor *d, const char *text, const char *key, const char *item, const char *mend)
{
	char value[4096];

	if (lists(config_value(text, key, value, sizeof(value)), item))
		doctor_say(d, DOCTOR_OK, key, NULL, "has %s", item);
	else
		doctor_say(d, DOCTOR_FAIL, key, mend, "lacks %s: it is \"%s\"", item, value);
}

static void check_parameters(struct doctor *d, const char *text)
{
	char value[4096], canonical[SETTINGS_MAX_TEXT];
	struct price_rules rules;
	struct errmsg err;

	config_value(text, "PrEpParameters", value, sizeof(value));
	d->settings_good = settings_parse(value, &d->settings, &err) == 0 &&
			   price_rules_parse(&d->settings, &rules, &err) == 0;
	if (d->settings_good)
		doctor_say(d, DOCTOR_OK, "PrEpParameters", NULL, "%s",
			settings_format(&d->settings, canonical, sizeof(canonical)));
	else
		doctor_say(d, DOCTOR_FAIL, "PrEpParameters",
			"correct it in slurm.conf, then scontrol reconfigure", "%s", err.text);
}

/* First directory of a colon list that holds the file; "" without one. */
static const char *first_with(const char *dirs, const char *file, char *dir, size_t size)
{
	char path[PATH_MAX];

	for (const char *p = dirs; *p;) {
		size_t len = strcspn(p, ":");

		if (len < size &&
			snprintf(path, sizeof(path), "%.*s/%s", (int)len, p, file) <
				(int)sizeof(path) &&
			access(path, R_OK) == 0) {
			memcpy(dir, p, len);
			dir[len] = '\0';
			return dir;
		}
		p += len + (p[len] == ':');
	}
	*dir = '\0';
	return dir;
}

/* The suite's own files, and that its select wrapper comes before Slurm's plugin of that name. */
static void check_plugin_files(struct doctor *d, const char *text)
{
	static const char *const files[] = {
		"prep_poppa.so", "job_submit_colocate.so", "spank_colocate.so"};
	static const char mend[] = "put the suite's plugin directory (PREFIX/lib/poppa/slurm) "
				   "before Slurm's own in PluginDir, on every host";
	char dirs[4096], ours[PATH_MAX], select_dir[PATH_MAX], dir[PATH_MAX];
	bool complete = true;

	config_value(text, "PluginDir", dirs, sizeof(dirs));
	first_with(dirs, files[0], ours, sizeof(ours));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (*first_with(dirs, files[i], dir, sizeof(dir)))
			continue;
		complete = false;
		doctor_say(d, DOCTOR_FAIL, "plugin files", mend,
			"%s is in no directory of PluginDir=%s", files[i], dirs);
	}
	if (complete)
		doctor_say(d, DOCTOR_OK, "plugin files", NULL, "all in %s", ours);
	first_with(dirs, "select_cons_tres.so", select_dir, sizeof(select_dir));
	if (*ours && !strcmp(ours, select_dir))
		doctor_say(d, DOCTOR_OK, "select wrapper", NULL, "stands before Slurm's plugin");
	else
		doctor_say(d, DOCTOR_FAIL, "select wrapper", mend,
			"the first select_cons_tres.so is in \"%s\", so jobs get no lanes",
			select_dir);
}

static void check_select(struct doctor *d, const char *text)
{
	char value[256];

	config_value(text, "SelectType", value, sizeof(value));
	if (!strcasecmp(value, "select/cons_tres"))
		doctor_say(d, DOCTOR_OK, "SelectType", NULL, "%s", value);
	else
		doctor_say(d, DOCTOR_FAIL, "SelectType",
			"set SelectType=select/cons_tres and SelectTypeParameters=CR_Core_Memory",
			"is %s, which cannot give out lanes", value);
}

static void check_spank(struct doctor *d, const char *text)
{
	char path[PATH_MAX];
	struct errmsg err;
	char *stack;

	config_value(text, "PlugStackConfig", path, sizeof(path));
	stack = *path ? fsio_read(path, PLUGSTACK_MAX, NULL, &err) : NULL;
	if (!stack)
		doctor_say(d, DOCTOR_WARN, "plugstack.conf",
			"see that it names spank_colocate.so on hosts where jobs are submitted",
			"\"%s\" cannot be read here", path);
	else if (strstr(stack, "spank_colocate.so"))
		doctor_say(d, DOCTOR_OK, "plugstack.conf", NULL, "names spank_colocate.so");
	else
		doctor_say(d, DOCTOR_FAIL, "plugstack.conf",
			"add the line: required spank_colocate.so",
			"%s does not name spank_colocate.so, so sbatch has no --colocate", path);
	free(stack);
}

/* A billing of a few SU leaves no room for a discount, as it is a whole number. */
static void check_billing(struct doctor *d, const char *text)
{
	char value[1024];

	if (strcasestr(
		    config_value(text, "AccountingStorageType", value, sizeof(value)), "slurmdbd"))
		doctor_say(d, DOCTOR_OK, "accounting", NULL, "%s", value);
	else
		doctor_say(d, DOCTOR_FAIL, "accounting",
			"set AccountingStorageType=accounting_storage/slurmdbd",
			"without slurmdbd there is no bill to discount: it is \"%s\"", value);
}

void doctor_slurm(struct doctor *d)
{
	const char *why = "";
	char *text = show_config(&why);

	settings_defaults(&d->settings);
	if (!text) {
		doctor_say(d, DOCTOR_WARN, "Slurm",
			"start slurmctld, or run this where scontrol works, to have Slurm's "
			"settings checked",
			"%s", why);
		return;
	}
	config_value(text, "SlurmctldHost[0]", d->controllers, sizeof(d->controllers));
	check_select(d, text);
	check_plugin_files(d, text);
	check_list(d, text, "JobSubmitPlugins", "colocate", "add JobSubmitPlugins=colocate");
	check_list(d, text, "PrEpPlugins", "prep/poppa", "set PrEpPlugins=prep/script,prep/poppa");
	check_parameters(d, text);
	check_spank(d, text);
	check_billing(d, text);
	free(text);
}
