/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cuts lines at their commas and finds the columns that are wanted. */
#include "columns/columns.h"

#include <math.h>
#include <string.h>

#include "common/units.h"

int columns_split(char *line, char *fields[COLUMNS_MAX])
{
	int n = 0;

	for (char *next = line; next && n < COLUMNS_MAX; n++) {
		char *field = strsep(&next, ",");
		size_t len;

		field += strspn(field, " \t");
		for (len = strlen(field); len && strchr(" \t\r", field[len - 1]);)
			field[--len] = '\0';
		fields[n] = field;
	}
	return n;
}

/* at[]: where each wanted column is, -1 where it is not. */
static int read_head(
	const struct columns *c, char *fields[], int n, int line, int *at, struct errmsg *err)
{
	for (int k = 0; k < c->count; k++)
		at[k] = -1;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < c->count; k++) {
			if (strcmp(fields[i], c->names[k]))
				continue;
			if (at[k] >= 0)
				return errmsg_set(err, "%s: line %d: two columns are named \"%s\"",
					c->name, line, c->names[k]);
			at[k] = i;
		}
	for (int k = 0; k < c->needed; k++)
		if (at[k] < 0)
			return errmsg_set(err,
				"%s: line %d: no column is named \"%s\": the first line names the "
				"columns, such as %s",
				c->name, line, c->names[k], c->example);
	return 0;
}

int columns_read(const struct columns *c, char *text, columns_fn fn, void *arg, struct errmsg *err)
{
	char *cut[COLUMNS_MAX], *field[COLUMNS_MAX];
	int at[COLUMNS_MAX], head = 0, rows = 0, line = 0;

	for (char *next = text; next;) {
		char *start = strsep(&next, "\n");
		int n, rc;

		line++;
		start += strspn(start, " \t\r");
		if (!*start || *start == '#')
			continue;
		n = columns_split(start, cut);
		if (!head) {
			head = n;
			if (read_head(c, cut, n, line, at, err))
				return -1;
			continue;
		}
		if (n != head)
			return errmsg_set(err,
				"%s: line %d: %d fields, but the first line names %d", c->name,
				line, n, head);
		for (int k = 0; k < c->count; k++)
			field[k] = at[k] < 0 ? NULL : cut[at[k]];
		rc = fn(arg, field, line, err);
		if (rc)
			return rc;
		rows++;
	}
	return rows ? 0 : errmsg_set(err, "%s: nothing was measured", c->name);
}

int columns_real(const struct columns *c, char *const *field, int column, int line, double min,
	double max, double *value, struct errmsg *err)
{
	struct errmsg why;

	*value = NAN;
	if (!field[column] || !*field[column])
		return 0;
	if (units_parse_double(field[column], min, max, value, &why))
		return errmsg_set(
			err, "%s: line %d: %s: %s", c->name, line, c->names[column], why.text);
	return 0;
}

int columns_whole(const struct columns *c, char *const *field, int column, int line, int64_t min,
	int64_t max, int64_t *value, struct errmsg *err)
{
	struct errmsg why;

	if (!field[column] || units_parse_int(field[column], min, max, value, &why))
		return errmsg_set(err, "%s: line %d: %s: %s", c->name, line, c->names[column],
			field[column] ? why.text : "it is missing");
	return 0;
}
