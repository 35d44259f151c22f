/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses which programs of a trial should share the node. */
#pragma once

/*
 * n programs (at most 16) that each need the node for an hour when they run compact.
 * together[i*n+j] is for how many hours both of i and j are done when they share it, for i < j; NAN
 * = not known. partner[i] becomes the program beside which i runs, or i itself. Returns the hours
 * of the best choice, which is n at most; of equal ones the one with fewer pairs.
 */
double matching_best(const double *together, int n, int *partner);
