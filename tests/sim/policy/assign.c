/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds matchings. */
#include "sim/policy/assign.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * The state of the Hungarian method for costs; index 0 is nobody. There are as many columns more as
 * there are rows, which cost nothing: a row that has one of these has none.
 */
struct hungarian {
	int rows, columns, all; /* all = columns + rows */
	const double *worth;
	double *row_price, *column_price;
	int *owner;    /* of each column */
	int *came_by;  /* the column before it on the path */
	double *slack; /* of each column to the tree */
	bool *in_tree;
};

static double cost(const struct hungarian *h, int row, int column)
{
	double worth;

	if (column > h->columns)
		return 0;
	worth = h->worth[(row - 1) * h->columns + column - 1];
	return worth > 0 ? -worth : 0;
}

/* Grows the tree from the row that owns column 0 until a free column is found; returns that. */
static int find_free(struct hungarian *h)
{
	int at = 0;

	for (int j = 0; j <= h->all; j++) {
		h->slack[j] = INFINITY;
		h->in_tree[j] = false;
	}
	do {
		int row = h->owner[at], next = 0;
		double least = INFINITY;

		h->in_tree[at] = true;
		for (int j = 1; j <= h->all; j++) {
			double reduced;

			if (h->in_tree[j])
				continue;
			reduced = cost(h, row, j) - h->row_price[row] - h->column_price[j];
			if (reduced < h->slack[j]) {
				h->slack[j] = reduced;
				h->came_by[j] = at;
			}
			if (h->slack[j] < least) {
				least = h->slack[j];
				next = j;
			}
		}
		for (int j = 0; j <= h->all; j++)
			if (h->in_tree[j]) {
				h->row_price[h->owner[j]] += least;
				h->column_price[j] -= least;
			} else {
				h->slack[j] -= least;
			}
		at = next;
	} while (h->owner[at]);
	return at;
}

static void solve(struct hungarian *h, int *out)
{
	for (int row = 1; row <= h->rows; row++) {
		h->owner[0] = row;
		for (int at = find_free(h), before; at; at = before) {
			before = h->came_by[at];
			h->owner[at] = h->owner[before];
		}
	}
	for (int row = 0; row < h->rows; row++)
		out[row] = -1;
	for (int j = 1; j <= h->columns; j++)
		if (h->owner[j] && cost(h, h->owner[j], j) < 0)
			out[h->owner[j] - 1] = j - 1;
}

int assign_best(int rows, int columns, const double *worth, int *out)
{
	struct hungarian h = {
		.rows = rows, .columns = columns, .all = columns + rows, .worth = worth};
	size_t n = (size_t)h.all + 1;
	int rc = -1;

	h.row_price = calloc((size_t)rows + 1, sizeof(*h.row_price));
	h.column_price = calloc(n, sizeof(*h.column_price));
	h.owner = calloc(n, sizeof(*h.owner));
	h.came_by = calloc(n, sizeof(*h.came_by));
	h.slack = calloc(n, sizeof(*h.slack));
	h.in_tree = calloc(n, sizeof(*h.in_tree));
	if (h.row_price && h.column_price && h.owner && h.came_by && h.slack && h.in_tree) {
		solve(&h, out);
		rc = 0;
	}
	free(h.row_price);
	free(h.column_price);
	free(h.owner);
	free(h.came_by);
	free(h.slack);
	free(h.in_tree);
	return rc;
}

/* The column that the row likes most of those that have not refused it, or -1. */
static int favourite(
	int row, int columns, const double *likes, const double *gives, const bool *refused)
{
	int best = -1;

	for (int j = 0; j < columns; j++) {
		int at = row * columns + j;

		if (refused[at] || isnan(likes[at]) || isnan(gives[at]))
			continue;
		if (best < 0 || likes[at] > likes[row * columns + best])
			best = j;
	}
	return best;
}

int assign_stable(int rows, int columns, const double *likes, const double *gives, int *out)
{
	bool *refused = calloc((size_t)rows * (size_t)columns + 1, sizeof(*refused));
	int *owner = malloc(((size_t)columns + 1) * sizeof(*owner));

	if (!refused || !owner) {
		free(refused);
		free(owner);
		return -1;
	}
	for (int j = 0; j < columns; j++)
		owner[j] = -1;
	for (int row = 0; row < rows; row++)
		out[row] = -1;
	for (int row = 0; row < rows; row++)
		for (int asks = row, j; asks >= 0;) {
			int loses = asks;

			j = favourite(asks, columns, likes, gives, refused);
			if (j < 0)
				break;
			if (owner[j] < 0 ||
				gives[asks * columns + j] > gives[owner[j] * columns + j]) {
				loses = owner[j];
				owner[j] = asks;
				out[asks] = j;
			}
			if (loses >= 0)
				refused[loses * columns + j] = true;
			if (loses >= 0 && loses != asks)
				out[loses] = -1;
			asks = loses;
		}
	free(refused);
	free(owner);
	return 0;
}
