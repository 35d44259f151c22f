/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spreads the questions of a job's nodes over time. */
#include "registration/ask_pace.h"

#include <stdint.h>

/* Requests a second by all nodes of a job together. */
#define RATE_IDLE 4
#define RATE_STEPPED 32
/* In how many seconds all nodes ask when a step has ended. */
#define SOON_S 16
/* A node of a small job asks after 1, 2, 4, ... s. */
#define MAX_DOUBLINGS 5

int ask_pace_s(int nodes, int node, int asked, bool stepped)
{
	int rate = stepped ? RATE_STEPPED : RATE_IDLE, turn = (nodes + rate - 1) / rate;
	int slot = (int)((int64_t)node * turn / nodes), soon = slot;
	int least = 1 << (asked < MAX_DOUBLINGS ? asked : MAX_DOUBLINGS);

	if (stepped && turn > SOON_S)
		soon = (int)((int64_t)slot * SOON_S / turn);
	if (!asked)
		return 1 + soon;
	/* The second question takes each node from where the hurry had put it to its own turn. */
	return (least > turn ? least : turn) + (asked == 1 ? slot - soon : 0);
}
