/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An outlook on as many jobs of each of two classes that fight, for tests of which lanes a job
 * takes. */
#pragma once

#include "striping/partners/outlook.h"
#include "unit/striping/partners/three_classes.h"

static struct expectation *expected;
static struct outlook *outlook;
static int mem, net;

static int begin(void **state)
{
	static const struct outlook_demand demand[] = {{"7/mem", 100}, {"7/net", 100}};

	(void)state;
	expected = three();
	outlook = outlook_new(expected, demand, 2);
	mem = outlook_class(outlook, "7/mem");
	net = outlook_class(outlook, "7/net");
	return outlook ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	outlook_free(outlook);
	expectation_free(expected);
	return 0;
}
