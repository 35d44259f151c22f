/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A spool in a folder of its own. Include it after cmocka.h. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "poppa/report/spool.h"

/* Makes the folder from the template in dir. */
static inline void make_spool(char *dir, struct spool *spool)
{
	struct errmsg err = {""};

	assert_non_null(mkdtemp(dir));
	assert_int_equal(spool_open(spool, dir, &err), 0);
}

static inline void remove_dir(const char *dir)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}
