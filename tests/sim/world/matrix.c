/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a matrix of speeds. */
#include "sim/world/matrix.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns/columns.h"
#include "common/fsio.h"
#include "common/units.h"
#include "sim/world/input.h"

#define MAX_FILE (16 << 20)
/* Nothing that runs beside something else is a hundred times as fast or as slow. */
#define LEAST_SPEED 0.01
#define MOST_SPEED 100

struct reader {
	const char *path;
	int line;
	int column[3]; /* of program, partner and speedup; -1 = not yet */
	struct matrix *m;
};

static const char *const wanted[] = {"program", "partner", "speedup"};

static int wrong(const struct reader *r, struct errmsg *err, const char *what)
{
	return errmsg_set(err, "%s:%d: %s", r->path, r->line, what);
}

static int read_header(struct reader *r, char *field[], int count, struct errmsg *err)
{
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < count; i++) {
			if (strcmp(field[i], wanted[k]))
				continue;
			if (r->column[k] >= 0)
				return errmsg_set(err,
					"%s:%d: the column \"%s\" is there twice: rename one",
					r->path, r->line, wanted[k]);
			r->column[k] = i;
		}
		if (r->column[k] < 0)
			return errmsg_set(err,
				"%s:%d: the first line needs a column \"%s\": "
				"program,partner,speedup",
				r->path, r->line, wanted[k]);
	}
	return 0;
}

/* The index of a program, which may be a new one; -1 with err. */
static int program(struct reader *r, const char *name, struct errmsg *err)
{
	struct matrix *m = r->m;
	int i;

	if (!*name)
		return wrong(r, err, "a program without a name: name both program and partner");
	for (i = 0; i < m->count; i++)
		if (!strcmp(m->name[i], name))
			return i;
	if (i == MATRIX_MAX)
		return errmsg_set(err, "%s:%d: more than %d programs: leave some out", r->path,
			r->line, MATRIX_MAX);
	m->name[i] = strdup(name);
	if (!m->name[i])
		return wrong(r, err, "out of memory");
	return m->count++;
}

static int read_cell(struct reader *r, char *field[], int count, struct errmsg *err)
{
	struct errmsg why = {""};
	double speed;
	int i, j;

	for (int k = 0; k < 3; k++)
		if (r->column[k] >= count)
			return errmsg_set(err,
				"%s:%d: the column \"%s\" is missing in this line: write all of "
				"the header's columns",
				r->path, r->line, wanted[k]);
	i = program(r, field[r->column[0]], err);
	j = i < 0 ? -1 : program(r, field[r->column[1]], err);
	if (j < 0)
		return -1;
	if (units_parse_double(field[r->column[2]], LEAST_SPEED, MOST_SPEED, &speed, &why))
		return errmsg_set(err,
			"%s:%d: speedup \"%s\" is no number from %g to %d: write the time compact "
			"divided by the time beside the partner",
			r->path, r->line, field[r->column[2]], LEAST_SPEED, MOST_SPEED);
	if (!isnan(r->m->speed[i * MATRIX_MAX + j]))
		return errmsg_set(err, "%s:%d: %s beside %s is there twice: leave one out", r->path,
			r->line, r->m->name[i], r->m->name[j]);
	r->m->speed[i * MATRIX_MAX + j] = speed;
	return 0;
}

static int read_text(struct reader *r, char *text, struct errmsg *err)
{
	bool header = false;

	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		char *field[COLUMNS_MAX];
		int count, rc;

		r->line++;
		if (*line == '#' || !line[strspn(line, " \t\r")])
			continue;
		count = columns_split(line, field);
		rc = header ? read_cell(r, field, count, err) : read_header(r, field, count, err);
		if (rc)
			return -1;
		header = true;
	}
	return 0;
}

/* How many cells the program lacks beside the others. */
static int lacks(const struct matrix *m, int i)
{
	int count = 0;

	for (int j = 0; j < m->count; j++)
		count += isnan(m->speed[i * MATRIX_MAX + j]) +
			 (i != j && isnan(m->speed[j * MATRIX_MAX + i]));
	return count;
}

static void leave_out(struct matrix *m, int gone)
{
	int last = m->count - 1;

	free(m->name[gone]);
	for (int i = gone; i < last; i++) {
		m->name[i] = m->name[i + 1];
		for (int j = 0; j < m->count; j++)
			m->speed[i * MATRIX_MAX + j] = m->speed[(i + 1) * MATRIX_MAX + j];
	}
	for (int i = 0; i < last; i++)
		for (int j = gone; j < last; j++)
			m->speed[i * MATRIX_MAX + j] = m->speed[i * MATRIX_MAX + j + 1];
	m->name[last] = NULL;
	m->count--;
	m->left_out++;
}

/* Leaves programs out until no cell is missing, and moves the cells together. */
static void complete(struct matrix *m)
{
	for (;;) {
		int worst = 0, most = 0;

		for (int i = 0; i < m->count; i++)
			if (lacks(m, i) >= most) {
				most = lacks(m, i);
				worst = i;
			}
		if (!most)
			break;
		leave_out(m, worst);
	}
	for (int i = 0; i < m->count; i++)
		for (int j = 0; j < m->count; j++)
			m->speed[i * m->count + j] = m->speed[i * MATRIX_MAX + j];
}

/* What m->another says, of one program. */
static double another_costs(const struct matrix *m, int i)
{
	double sum = 0;

	for (int j = 0; j < m->count; j++)
		for (int k = 0; k < m->count; k++)
			sum += fmin(m->speed[i * m->count + j], m->speed[i * m->count + k]);
	return 1 - sum / m->count / m->count / m->typical[i];
}

void matrix_derive(struct matrix *m)
{
	for (int i = 0; i < m->count; i++) {
		m->alone[i] = m->typical[i] = 0;
		for (int j = 0; j < m->count; j++) {
			m->alone[i] = fmax(m->alone[i], m->speed[i * m->count + j]);
			m->typical[i] += m->speed[i * m->count + j] / m->count;
		}
	}
	m->another = m->most_inflicted = 0;
	for (int i = 0; i < m->count; i++)
		m->another += another_costs(m, i) / m->count;
	for (int j = 0; j < m->count; j++) {
		m->inflicted[j] = 0;
		for (int i = 0; i < m->count; i++)
			m->inflicted[j] += matrix_degradation(m, i, j) / m->count;
		m->most_inflicted = fmax(m->most_inflicted, m->inflicted[j]);
	}
}

double matrix_degradation(const struct matrix *m, int i, int j)
{
	return 1 - m->speed[i * m->count + j] / m->alone[i];
}

/* 0, or -1 with err for what is no text. */
static int check_text(const char *path, const char *text, size_t length, struct errmsg *err)
{
	int line = 1;

	if (!strncmp(text, "\x1f\x8b", 2))
		return errmsg_set(err, "%s is compressed: decompress it with gunzip", path);
	if (input_check_mark(path, text, err))
		return -1;
	if (strlen(text) == length)
		return 0;
	for (; *text; text++)
		line += *text == '\n';
	return errmsg_set(err,
		"%s:%d: a byte here is 0: lines of program,partner,speedup are needed", path, line);
}

/* The file's text, for the caller to free, or NULL with err. */
static char *load(const char *path, struct errmsg *err)
{
	size_t length = 0;
	char *text;

	if (input_check_path(path, err))
		return NULL;
	text = fsio_read(path, MAX_FILE, &length, err);
	if (!text && errno == EFBIG)
		errmsg_set(err,
			"%s is bigger than %d MiB: lines of program,partner,speedup for %d "
			"programs at most are needed",
			path, MAX_FILE >> 20, MATRIX_MAX);
	if (text && check_text(path, text, length, err)) {
		free(text);
		return NULL;
	}
	return text;
}

int matrix_read(const char *path, struct matrix *m, struct errmsg *err)
{
	struct reader r = {.path = path, .column = {-1, -1, -1}, .m = m};
	char *text = load(path, err);
	int rc = -1;

	*m = (struct matrix){.count = 0};
	if (!text)
		return -1;
	m->name = calloc(MATRIX_MAX, sizeof(*m->name));
	m->speed = calloc((size_t)MATRIX_MAX * MATRIX_MAX, sizeof(*m->speed));
	m->alone = calloc(MATRIX_MAX, sizeof(*m->alone));
	m->typical = calloc(MATRIX_MAX, sizeof(*m->typical));
	m->inflicted = calloc(MATRIX_MAX, sizeof(*m->inflicted));
	if (!m->name || !m->speed || !m->alone || !m->typical || !m->inflicted)
		errmsg_set(err, "%s: out of memory", path);
	else {
		for (int i = 0; i < MATRIX_MAX * MATRIX_MAX; i++)
			m->speed[i] = NAN;
		rc = read_text(&r, text, err);
	}
	free(text);
	if (!rc) {
		complete(m);
		matrix_derive(m);
	}
	if (!rc && !m->count)
		rc = errmsg_set(err,
			"%s: no program in it has a speed beside itself and all others: lines of "
			"program,partner,speedup are needed",
			path);
	if (rc)
		matrix_free(m);
	return rc;
}

void matrix_free(struct matrix *m)
{
	for (int i = 0; m->name && i < MATRIX_MAX; i++)
		free(m->name[i]);
	free(m->name);
	free(m->speed);
	free(m->alone);
	free(m->typical);
	free(m->inflicted);
	*m = (struct matrix){.count = 0};
}
