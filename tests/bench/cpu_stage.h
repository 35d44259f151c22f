/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets one task at a time have a processor to itself, as each has on a large enough node. */
#pragma once

#include <stdint.h>

struct cpu_stage;

/* For tasks that are forked afterwards; they and the caller share it. NULL with errno. */
struct cpu_stage *cpu_stage_new(int tasks);

/* A task's life: it sleeps until it is put on, and calls work() over and over until another is. */
void cpu_stage_play(struct cpu_stage *s, int task, void (*work)(void)) __attribute__((noreturn));

/*
 * Returns once this task runs and no other does, or -1 (ETIME) when it does not come. The caller
 * must be on another processor than the tasks. What it took of the caller's time is added to
 * *taken_ns.
 */
int cpu_stage_put_on(struct cpu_stage *s, int task, int64_t *taken_ns);

/* None is to run: their processor becomes idle. */
void cpu_stage_clear(struct cpu_stage *s, int64_t *taken_ns);
