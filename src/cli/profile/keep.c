/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes and lists the file of profiles. */
#include "cli/profile/keep.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/ask/cli.h"
#include "cli/ask/state_file.h"
#include "cli/profile/read_histogram.h"
#include "common/printable.h"
#include "striping/history/class_name.h"
#include "striping/reuse/profiles.h"

static int find(const char *path, char *buf, struct errmsg *err)
{
	return state_file_find("--profiles", path, PROFILES_FILE, buf, err);
}

/* A file that is being changed. */
struct change {
	char path[PATH_MAX];
	int lock;
	struct profiles *profiles;
};

static int begin(struct change *c, const char *path, struct errmsg *err)
{
	int bad = 0;

	c->lock = -1;
	if (find(path, c->path, err))
		return -1;
	c->lock = state_file_lock(c->path, err);
	if (c->lock < 0)
		return -1;
	c->profiles = profiles_load(c->path, &bad, err);
	if (!c->profiles)
		return -1;
	return state_file_keep_damaged(c->path, bad, err);
}

static void end(struct change *c)
{
	profiles_free(c->profiles);
	if (c->lock >= 0)
		close(c->lock);
}

/* The histogram, or with NULL takes the profile away. */
static int change(const char *path, const char *class_name, const struct reuse_histogram *h)
{
	struct change c = {.lock = -1};
	struct errmsg err;
	int rc = begin(&c, path, &err);

	if (!rc)
		rc = h ? profiles_set(c.profiles, class_name, h, time(NULL), &err)
		       : profiles_remove(c.profiles, class_name, &err);
	if (!rc)
		rc = profiles_save(c.profiles, c.path, &err);
	end(&c);
	return rc ? cli_error("%s", plain_text(err.text)) : CLI_OK;
}

int keep_import(const char *path, const char *class_name, const char *histogram)
{
	const int base = (int)class_base(class_name);
	struct reuse_histogram h;
	struct errmsg err;

	if (class_name[base])
		return cli_error("\"%.300s\" is a variant of a class; a profile is of the class, "
				 "with all its sizes: --import '%.*s'",
			class_name, base < PROFILE_NAME_MAX ? base : PROFILE_NAME_MAX, class_name);
	if (read_histogram(histogram, &h, &err))
		return cli_error("%s", plain_text(err.text));
	return change(path, class_name, &h);
}

int keep_remove(const char *path, const char *class_name)
{
	return change(path, class_name, NULL);
}

static void show(const struct profile *p, json_t *list)
{
	char class[PROFILE_NAME_MAX], when[32] = "-";
	const time_t imported = (time_t)p->imported;
	struct tm tm;

	plain_text(strcpy(class, p->class_name));
	if (list) {
		json_array_append_new(
			list, json_pack("{s:s, s:I, s:f, s:f, s:f}", "class", class, "imported",
				      (json_int_t)p->imported, "references", p->h.references,
				      "instructions", p->h.instructions, "cold", p->h.cold));
		return;
	}
	if (localtime_r(&imported, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm);
	printf("%-32s %16s %12.4g %12.2f %6.2f%%\n", class, when, p->h.references,
		reuse_rate(&p->h), 100 * p->h.cold / p->h.references);
}

int keep_list(const char *path, bool json)
{
	json_t *list = json ? json_array() : NULL;
	const struct profile *profile;
	char found[PATH_MAX];
	struct profiles *p = NULL;
	struct errmsg err;
	int bad = 0;

	if (find(path, found, &err) || cli_regular(found, &err) ||
		!(p = profiles_load(found, &bad, &err))) {
		json_decref(list);
		return cli_error("%s", err.text);
	}
	if (bad)
		fprintf(stderr, "poppa: %s: %d lines could not be read and were passed over\n",
			found, bad);
	if (!json && profiles_count(p))
		printf("%-32s %16s %12s %12s %7s\n", "CLASS", "IMPORTED", "REFERENCES",
			"PER INSTR.", "COLD");
	for (int i = 0; (profile = profiles_get(p, i)); i++)
		show(profile, list);
	if (!json && !profiles_count(p))
		puts("No class has a profile.");
	profiles_free(p);
	return json ? cli_print_json(json_pack("{s:o}", "profiles", list)) : CLI_OK;
}
