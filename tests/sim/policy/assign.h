/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matchings: the one of the greatest worth, and the stable one. */
#pragma once

/*
 * Gives each of `rows` at most one of `columns`, and each column to at most one row, so that the
 * sum of worth[row * columns + column] is the greatest. A pair of worth 0 or less is never taken.
 * out[row]: its column, or -1. By the Hungarian method (Kuhn 1955, Munkres 1957), in time
 * rows^2 * (rows + columns). 0, or -1 without memory.
 */
int assign_best(int rows, int columns, const double *worth, int *out);

/*
 * The stable matching in which rows propose (Gale and Shapley 1962): nobody finds a row and a
 * column that would both rather have each other. likes[row * columns + column] is what the row
 * wants, the most first; gives[...] what the column wants of the row. A pair with a NAN is never
 * taken. out as above. 0, or -1 without memory.
 */
int assign_stable(int rows, int columns, const double *likes, const double *gives, int *out);
