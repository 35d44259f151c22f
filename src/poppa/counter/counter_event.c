/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the name of a PMU event into the kernel's description of it. */
#include "poppa/counter/counter_backend.h"

#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <pthread.h>
#include <string.h>

#include "poppa/counter/counter_perf.h"

static int pfm_ready(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool done;
	int rc = PFM_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!done) {
		rc = pfm_initialize();
		done = rc == PFM_SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int counter_perf_encode(const char *event, struct perf_event_attr *attr, struct errmsg *err)
{
	pfm_perf_encode_arg_t arg = {.attr = attr, .size = sizeof(arg)};
	int rc = pfm_ready();

	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	/* With PFM_PLM3, libpfm4 leaves kernel mode out unless the name ends in :k. */
	if (rc == PFM_SUCCESS)
		rc = pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	if (rc != PFM_SUCCESS)
		return counter_fail(rc == PFM_ERR_NOMEM ? ENOMEM : ENODATA, err,
			"perf: libpfm4 does not know the event %s here (%s); PerfEvent, MapEvents "
			"and MissEvent in poppa.conf take one that \"papi_native_avail\" or "
			"libpfm4's showevtinfo lists on this machine",
			event, pfm_strerror(rc));
	attr->exclude_hv = 1;
	return 0;
}
