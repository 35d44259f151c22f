/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the lane beside a class of jobs is worth to the others that want one. */
#pragma once

/*
 * All jobs are to be paired, and which pairs are good for all of them together no pair knows: the
 * best partner of one job may be the only good one of another. Prices settle that, as in the dual
 * of an assignment problem (Shapley and Shubik 1971): a class asks price[i] of whoever comes beside
 * it, so a job of class i had best go beside the class j for which worth(i, j) - price[j] is
 * greatest, and where nothing gives it price[i] or more, it had better wait for somebody who does.
 *
 * The prices are those of the softened problem, in which pairs that are worse by `softness` are
 * made e times as rarely (Galichon and Salanie 2022), since prices of the exact one jump when a job
 * comes or goes: the solution of sum over j of demand[j] * exp((worth(i, j) - price[i] - price[j])
 * / softness) = 1 for each i, found by symmetric scaling.
 *
 * worth[i * classes + j]: what both jobs make together on the two lanes of a node, symmetric.
 * demand: how much time on lanes each class wants, in any unit; classes of which nobody wants any
 * get a price as well. price: in and out, a start from the last ones saves rounds (0 else). In the
 * unit of worth; half of it is about the price. Takes rounds * classes^2 exponentials, and no
 * memory. Nothing happens where no class has a demand above 0.
 */
void lane_prices_solve(const double *worth, const double *demand, int classes, double softness,
	int rounds, double *price);
