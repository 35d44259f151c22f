/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How to stop a job: by what suits its tasks, or frozen as a whole with its launchers. */
/*
 * A job whose user resumes what signals have stopped is frozen as a whole. But a freezer wakes each
 * process. For some thousand processes this takes longer than a shutter, and counts as processor
 * time of the job, so that every shutter is spoilt. A few shutters are spoilt by chance, or on
 * purpose: they must not lead to that. So the freezer is kept only while it helps.
 */
#pragma once

#include <stdbool.h>

/* So many spoilt shutters are not by chance. */
#define HOLD_WAY_MANY 3
/* The freezer is judged by so many shutters at a time: it may spoil half of them. */
#define HOLD_WAY_JUDGED 16

struct hold_way {
	bool whole; /* it is to be frozen as a whole */
	int shutters, spoilt;
	int patience; /* spoilt shutters before the freezer is tried again; 0 = HOLD_WAY_MANY */
};

/* Freezes the job as a whole, whatever it has spoilt, for those who need that; but not where that
 * was tried in vain. */
void hold_way_freeze(struct hold_way *w);
/* Whether that would change something. */
bool hold_way_may_freeze(const struct hold_way *w);

/* Takes a shutter in which the job was to stand still: whether it was frozen as a whole, and
 * whether somebody spoilt it by resuming or stopping the job's tasks, or it was late because of
 * them. A shutter that was held in the other way tells nothing: it was planned before the change,
 * or nothing else was possible. Each time that the freezer has not helped, the next try takes four
 * times as many spoilt shutters, and 64 times at most: so it gains a user little to make the
 * freezer useless once. */
void hold_way_shutter(struct hold_way *w, bool whole, bool spoilt);
