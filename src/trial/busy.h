/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How busy PUs were, whoever used them. */
#pragma once

#include <stdint.h>

#include "trial/runner.h"

/* For how long these PUs were busy since the boot, ns; -1 where the kernel does not tell. */
int64_t busy_ns(const struct runner_pus *pus);
