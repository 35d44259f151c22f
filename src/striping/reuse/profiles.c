/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the profiles of classes in a file, a line each. */
#include "striping/reuse/profiles.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fsio.h"
#include "common/journal.h"
#include "common/units.h"

/* A line is a class, when it was imported, and the text of its histogram with tabs between the
 * lines of that. */
#define HEADER "#class\timported\thistogram\n"
#define MAX_FILE (4 << 20)

struct profiles {
	struct profile *of; /* sorted by class */
	int count;
};

struct profiles *profiles_new(void)
{
	struct profiles *p = calloc(1, sizeof(*p));

	if (p)
		p->of = malloc(PROFILES_MAX * sizeof(*p->of));
	if (p && p->of)
		return p;
	free(p);
	return NULL;
}

void profiles_free(struct profiles *p)
{
	if (p)
		free(p->of);
	free(p);
}

/* Index of the class, or of the place where it belongs. */
static int find(const struct profiles *p, const char *class_name, bool *found)
{
	int low = 0, high = p->count;

	*found = false;
	while (low < high) {
		int mid = (low + high) / 2, c = strcmp(p->of[mid].class_name, class_name);

		if (!c) {
			*found = true;
			return mid;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* What can be a class in the lines of a file, and of the pair history's. */
static bool valid_name(const char *name)
{
	return *name && *name != '#' && strlen(name) < PROFILE_NAME_MAX && !strpbrk(name, "\t\n\r");
}

int profiles_set(struct profiles *p, const char *class_name, const struct reuse_histogram *h,
	long long now, struct errmsg *err)
{
	bool found;
	int at;

	if (!valid_name(class_name))
		return errmsg_set(err,
			"\"%.40s\" is no class: name it as \"poppa pairs\" does, such as "
			"1000:weather, with at most %d characters",
			class_name, PROFILE_NAME_MAX - 1);
	at = find(p, class_name, &found);
	if (!found && p->count == PROFILES_MAX)
		return errmsg_set(err,
			"there are %d profiles, and no more are kept: remove one with \"poppa "
			"profile --remove CLASS\"",
			PROFILES_MAX);
	if (!found) {
		memmove(&p->of[at + 1], &p->of[at], (size_t)(p->count - at) * sizeof(*p->of));
		strcpy(p->of[at].class_name, class_name);
		p->count++;
	}
	p->of[at].imported = now;
	p->of[at].h = *h;
	return 0;
}

int profiles_remove(struct profiles *p, const char *class_name, struct errmsg *err)
{
	bool found;
	int at = find(p, class_name, &found);

	if (!found)
		return errmsg_set(err,
			"the class \"%.255s\" has no profile; \"poppa profile --list\" has those "
			"that have one",
			class_name);
	p->count--;
	memmove(&p->of[at], &p->of[at + 1], (size_t)(p->count - at) * sizeof(*p->of));
	return 0;
}

int profiles_count(const struct profiles *p)
{
	return p->count;
}

const struct profile *profiles_get(const struct profiles *p, int i)
{
	return i >= 0 && i < p->count ? &p->of[i] : NULL;
}

static void replace(char *text, char from, char to)
{
	for (char *at = text; (at = strchr(at, from));)
		*at = to;
}

/* One line of the file; false where it is bad. */
static bool read_line(struct profiles *p, char *line)
{
	char *imported = strchr(line, '\t'), *histogram;
	struct reuse_histogram h;
	struct errmsg err; /* the line is counted, and nobody is told why */
	int64_t when;
	bool found;

	if (!imported)
		return false;
	*imported++ = '\0';
	histogram = strchr(imported, '\t');
	if (!histogram)
		return false;
	*histogram++ = '\0';
	replace(histogram, '\t', '\n');
	find(p, line, &found);
	return !found && !units_parse_int(imported, 0, INT64_MAX, &when, NULL) &&
	       !reuse_parse(line, histogram, &h, &err) && !profiles_set(p, line, &h, when, NULL);
}

struct profiles *profiles_load(const char *path, int *bad, struct errmsg *err)
{
	struct profiles *p = profiles_new();
	char *text, *save = NULL;
	int skipped = 0;

	if (!p) {
		errmsg_set(err, "out of memory for the profiles");
		return NULL;
	}
	text = fsio_read(path, MAX_FILE, NULL, err);
	if (!text && errno != ENOENT) {
		profiles_free(p);
		return NULL;
	}
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save))
		skipped += *line != '#' && !read_line(p, line);
	free(text);
	if (bad)
		*bad = skipped;
	return p;
}

static void write_profile(const struct profile *profile, FILE *f)
{
	char text[REUSE_TEXT_MAX], *from = strchr(reuse_print(&profile->h, text), '\n') + 1;

	/* Its first line is a comment, and its last one ends. */
	from[strlen(from) - 1] = '\0';
	replace(from, '\n', '\t');
	fprintf(f, "%s\t%lld\t%s\n", profile->class_name, profile->imported, from);
}

static void write_all(const void *profiles, FILE *f)
{
	const struct profiles *p = profiles;

	fputs(HEADER, f);
	for (int i = 0; i < p->count; i++)
		write_profile(&p->of[i], f);
}

int profiles_save(const struct profiles *p, const char *path, struct errmsg *err)
{
	return journal_replace_by(path, write_all, p, err);
}
