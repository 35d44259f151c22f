/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Node selection with lanes. Stands in front of Slurm's own select/cons_tres under its name, passes
 * every call on to it, and for co-located jobs tells it which nodes and cores it may use.
 */
#include "plugins/compat/select_compat.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "plugins/select_stripe/candidates.h"
#include "plugins/select_stripe/ends.h"
#include "plugins/select_stripe/exploratory_starts.h"
#include "plugins/select_stripe/history.h"
#include "plugins/select_stripe/job_option.h"
#include "plugins/select_stripe/layout.h"
#include "plugins/select_stripe/load_cons_tres.h"
#include "plugins/select_stripe/place.h"
#include "plugins/select_stripe/stripe.h"
#include "plugins/select_stripe/tracker.h"
#include "striping/lanes/lanes.h"

const char plugin_name[] = STRIPE_NAME;
const char plugin_type[] = "select/cons_tres";
const uint32_t plugin_id = SELECT_PLUGIN_CONS_TRES;
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/*
 * Guards all that the plugin remembers: the occupancy (tracker.c), the layouts (layout.c) and the
 * settings. Callers that change jobs hold Slurm's write lock of jobs, so they come one by one;
 * those that only test a job hold its read lock, so two of them may come at once: hence this lock.
 * It is taken after Slurm's locks and before the history's (history.c), which a test holds while it
 * runs. It is held across Slurm's own job_test() for jobs that the plugin places, as that test
 * depends on the map, and across no other call that is passed on.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* slurmctld is reading its state: jobs that get resources now had them before its start. */
static bool recovering = true;

#define DECLARE(result, name, params, args) extern result select_p_##name params;
SELECT_PASSED_ON(DECLARE)
SELECT_LOOKED_AT(DECLARE)
extern int init(void);
extern int fini(void);

#define PASS_ON(result, name, params, args)                                                        \
	extern result select_p_##name params                                                       \
	{                                                                                          \
		return cons_tres.name args;                                                        \
	}
SELECT_PASSED_ON(PASS_ON)

extern int init(void)
{
	return load_cons_tres();
}

extern int fini(void)
{
	history_stop();
	pthread_mutex_lock(&lock);
	ends_forget();
	tracker_reset();
	pthread_mutex_unlock(&lock);
	unload_cons_tres();
	return SLURM_SUCCESS;
}

/* slurmctld calls it first of all when it starts or takes over, before it has jobs, and not so the
 * commands and daemons that only load the plugin. */
extern int select_p_node_init(void)
{
	history_start();
	pthread_mutex_lock(&lock);
	tracker_reset();
	recovering = true;
	pthread_mutex_unlock(&lock);
	return cons_tres.node_init();
}

extern int select_p_reconfigure(void)
{
	int rc = cons_tres.reconfigure();

	pthread_mutex_lock(&lock);
	exploratory_starts_account();
	tracker_rebuild();
	recovering = false;
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Appends a number to a comma list that does not have it yet. */
static void add_number(char **list, uint32_t number)
{
	char text[16], *has = *list;
	size_t len = snprintf(text, sizeof(text), "%u", number);

	for (; has && *has; has += *has == ',') {
		if (!strncmp(has, text, len) && (has[len] == ',' || !has[len]))
			return;
		has += strcspn(has, ",");
	}
	xstrfmtcat(*list, "%s%s", *list ? "," : "", text);
}

/* Whether the history does not know on some node of the job that its limit holds there. */
static bool on_probation(const struct occupancy *map, const struct occupancy_job *job)
{
	const struct partner *me = tracker_partner(job), *others[LANES_MAX];
	const struct pairs *pairs;
	bool unknown = false;

	if (!me || !(me->request->max_degradation > 0))
		return false;
	pairs = history_get(NULL);
	for (int i = 0; i < job->count; i++) {
		int count = 0;

		for (int k = 0; k < occupancy_count(map, job->node[i]); k++) {
			const struct occupancy_job *other =
				occupancy_at(map, job->node[i], k, NULL);

			if (other != job && count < LANES_MAX && tracker_partner(other))
				others[count++] = tracker_partner(other);
		}
		unknown |= !partner_compatible(me, others, count, pairs);
	}
	history_put();
	return unknown;
}

/* Writes the job's lanes and partners to the log and to its SystemComment. */
static void tell_placed(job_record_t *job_ptr)
{
	const struct occupancy *map = tracker_map();
	const struct occupancy_job *job = map ? occupancy_find(map, job_ptr->job_id) : NULL;
	char *lanes = NULL, *partners = NULL, *details = NULL;
	struct colocate request;
	uint32_t mask = 0;
	const char *shape = "";
	bool tries;

	if (!job || !job->colocated)
		return;
	for (int i = 0; i < job->count; i++) {
		for (int k = 0; k < occupancy_count(map, job->node[i]); k++) {
			struct occupancy_place place;
			const struct occupancy_job *other =
				occupancy_at(map, job->node[i], k, &place);

			if (other == job)
				mask |= place.lanes;
			else
				add_number(&partners, other->id);
		}
	}
	if (LANES_HAVE(mask, SHAPE_SOCKET))
		shape = LANES_HAVE(mask, SHAPE_STRIPE) ? COLOCATE_MIXED " " : COLOCATE_SOCKETS " ";
	for (int lane = 0; lane < LANES_MAX; lane++)
		if (mask & (LANE_BIT(SHAPE_STRIPE, lane) | LANE_BIT(SHAPE_SOCKET, lane)))
			add_number(&lanes, (uint32_t)lane);
	tries = partners && on_probation(map, job);
	info(STRIPE "%pJ on %s, %slane %s, %s%s%s", job_ptr, job_ptr->job_resrcs->nodes, shape,
		lanes, partners ? "beside " : "no partner yet", partners ? partners : "",
		tries ? ", on probation" : "");
	xstrfmtcat(details, "%slane=%s%s%s%s", shape, lanes, partners ? " beside=" : "",
		partners ? partners : "", tries ? " " COLOCATE_PROBATION : "");
	job_option_read(job_ptr, &request);
	job_option_show(job_ptr, &request, details);
	xfree(details);
	xfree(lanes);
	xfree(partners);
}

extern int select_p_select_nodeinfo_set(job_record_t *job_ptr)
{
	int rc = cons_tres.select_nodeinfo_set(job_ptr);

	pthread_mutex_lock(&lock);
	exploratory_starts_account();
	tracker_add(job_ptr);
	if (!recovering) {
		tell_placed(job_ptr);
		exploratory_starts_started(job_ptr);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

extern int select_p_job_fini(job_record_t *job_ptr)
{
	int rc = cons_tres.job_fini(job_ptr);

	pthread_mutex_lock(&lock);
	exploratory_starts_account();
	tracker_remove(job_ptr);
	exploratory_starts_ended(job_ptr->job_id);
	pthread_mutex_unlock(&lock);
	return rc;
}

extern int select_p_job_resized(job_record_t *job_ptr, node_record_t *node_ptr)
{
	int rc = cons_tres.job_resized(job_ptr, node_ptr);

	pthread_mutex_lock(&lock);
	if (rc == SLURM_SUCCESS)
		tracker_remove_node(job_ptr, node_ptr->index);
	pthread_mutex_unlock(&lock);
	return rc;
}

extern int select_p_job_expand(job_record_t *from_job_ptr, job_record_t *to_job_ptr)
{
	int rc = cons_tres.job_expand(from_job_ptr, to_job_ptr);

	pthread_mutex_lock(&lock);
	if (rc == SLURM_SUCCESS) {
		tracker_remove(from_job_ptr);
		tracker_add(to_job_ptr);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

#define REDUCE_MEMORY(result, name, params, args)                                                  \
	extern result select_p_##name params                                                       \
	{                                                                                          \
		cons_tres.name args;                                                               \
		pthread_mutex_lock(&lock);                                                         \
		tracker_reduce_memory args;                                                        \
		pthread_mutex_unlock(&lock);                                                       \
	}
SELECT_MEMORY_REDUCED(REDUCE_MEMORY)

/* Whether the job that this one waits for, as it shows, has not started yet. */
static bool still_behind(const job_record_t *job_ptr)
{
	const job_record_t *other = find_job_record(job_option_behind(job_ptr));

	return other && IS_JOB_PENDING(other);
}

/*
 * Shows the option of a job that does not run in its SystemComment and, where the job waits for a
 * better partner, until when at most, or for which job's start. Slurm asks about several sets of
 * nodes, so a set for which it would not wait says nothing against that before that is over; but
 * where no lane is free any more the job waits for any. Where backfill asks when it can start, the
 * answer shows whether it waits. The log has a line when it begins to wait.
 */
static void tell_waiting(struct ask *ask)
{
	char until[32] = "", details[64];
	struct tm tm;
	bool waits = ask->waits_until && (SELECT_IS_MODE_RUN_NOW(ask->mode) ||
						 ask->job_ptr->start_time >= ask->waits_until);

	if (IS_JOB_RUNNING(ask->job_ptr) || IS_JOB_SUSPENDED(ask->job_ptr))
		return;
	if (ask->behind.job_id) {
		snprintf(details, sizeof(details), COLOCATE_BEHIND "%u", ask->behind.job_id);
		if (job_option_show(ask->job_ptr, &ask->request, details))
			info(STRIPE "%pJ waits until JobId=%u has started, which it is expected to "
				    "put off otherwise",
				ask->job_ptr, ask->behind.job_id);
		return;
	}
	if (!waits) {
		if (!still_behind(ask->job_ptr) &&
			(!ask->found || !job_option_shows(ask->job_ptr, COLOCATE_WAITS) ||
				ask->now >= ask->patient_until))
			job_option_show(ask->job_ptr, &ask->request, NULL);
		return;
	}
	if (localtime_r(&ask->patient_until, &tm))
		strftime(until, sizeof(until), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(details, sizeof(details), COLOCATE_WAITS "%s", until);
	if (job_option_show(ask->job_ptr, &ask->request, details))
		info(STRIPE "%pJ waits for a better partner or an empty node, until %s at most",
			ask->job_ptr, until);
}

/* The last two jobs that found no place: so each job can tell whether another one waits. The lock
 * guards them. */
static struct {
	uint32_t job_id; /* 0 = none */
	time_t when;
} unplaced[2];

/* So long ago at most; Slurm tries waiting jobs at least once a minute. */
#define UNPLACED_S 120

static void note_tried(uint32_t job_id, time_t now, bool placed)
{
	int i = unplaced[0].job_id == job_id   ? 0
		: unplaced[1].job_id == job_id ? 1
					       : unplaced[0].when > unplaced[1].when;

	if (placed && unplaced[i].job_id != job_id)
		return;
	unplaced[i].job_id = placed ? 0 : job_id;
	unplaced[i].when = placed ? 0 : now;
}

static bool others_wait(uint32_t job_id, time_t now)
{
	for (int i = 0; i < 2; i++)
		if (unplaced[i].job_id && unplaced[i].job_id != job_id &&
			now - unplaced[i].when <= UNPLACED_S)
			return true;
	return false;
}

/*
 * Whether the job may be beside partners of which the history does not know whether they suit its
 * limit: its nodes measure whether that is kept, and if it is not, the job can be requeued.
 */
static bool may_leave(const struct ask *ask)
{
	const job_record_t *job_ptr = ask->job_ptr;

	return ask->settings->turns != TURNS_NO && ask->settings->period_ns > 0 &&
	       job_ptr->batch_flag && job_ptr->details->requeue && !job_ptr->het_job_id &&
	       ask->apart.times < APART_MOST && ask->request.max_degradation > 0;
}

/* The job's class on each type of nodes. */
static void find_classes(struct ask *ask, uint32_t nodes)
{
	for (int i = 0; i < LAYOUT_TYPES && layout_type(i); i++) {
		job_option_class(ask->job_ptr, &ask->request, ask->settings, ask->pairs, nodes,
			layout_type(i), ask->class_name[i]);
		if (ask->outlook)
			ask->mine[i] = outlook_class(ask->outlook, ask->class_name[i]);
	}
	ask->me.class_name = ask->class_name[0];
}

/* Whether the job may try partners of which little is known: it has no limit for what it loses. One
 * that has is on probation there. */
static bool may_try(const struct ask *ask)
{
	return ask->settings->stripe_explore > 0 && !(ask->request.max_degradation > 0);
}

static int test_colocated(struct ask *ask)
{
	bool ready = tracker_wake();
	uint32_t nodes;
	int rc;

	job_option_read(ask->job_ptr, &ask->request);
	if (ready) {
		tracker_check();
		ready = tracker_awake();
	}
	/* A submission is tested all the same: whether it can ever run does not need the map. */
	if (!ready && !SELECT_IS_MODE_TEST_ONLY(ask->mode))
		return SLURM_ERROR;
	if (ask->request.shaped && ask->request.shape == SHAPE_SOCKET)
		layout_expect_sockets();
	ask->me.id = ask->job_ptr->job_id;
	ask->me.array_id = ask->job_ptr->array_job_id;
	ask->me.name = ask->job_ptr->name;
	ask->me.request = &ask->request;
	ask->settings = tracker_settings();
	apart_read(ask->job_ptr->system_comment, &ask->apart);
	ask->me.apart = &ask->apart;
	ask->me.may_leave = may_leave(ask);
	nodes = candidates_measure(ask);
	ask->others_wait = others_wait(ask->me.id, ask->now);
	ask->pairs = history_get(&ask->outlook);
	find_classes(ask, nodes);
	/* Who may preempt others does not wait for them, nor take their nodes while a lane is free.
	 */
	ask->stay = (struct node_stay){ask->job_ptr->details->begin_time,
		ends_limit_s(ask->job_ptr), job_option_usual_s(ask->job_ptr, ask->pairs)};
	if (!ask->preemptable)
		ask->patient_until =
			node_choice_patience(ask->settings, &ask->stay, ask->now, NODE_LOSES);
	if (may_try(ask)) {
		ask->drawn = history_drawn();
		ask->account = exploratory_starts_account();
	}
	ask->found = SELECT_IS_MODE_TEST_ONLY(ask->mode) ||
		     (job_option_shows(ask->job_ptr, COLOCATE_WAITS) && candidates_elsewhere(ask));
	rc = place_colocated(ask);
	history_put();
	if (SELECT_IS_MODE_RUN_NOW(ask->mode))
		exploratory_starts_placed(
			ask->job_ptr, rc == SLURM_SUCCESS ? &ask->exploratory
							  : &(struct exploratory_start){0, 0});
	if (rc != SLURM_SUCCESS || !SELECT_IS_MODE_RUN_NOW(ask->mode))
		tell_waiting(ask);
	return rc;
}

static int test_other(struct ask *ask)
{
	int rc;

	ask->settings = tracker_settings();
	ask->pairs = history_get(NULL);
	rc = place_other(ask);
	history_put();
	return rc;
}

extern int select_p_job_test(job_record_t *job_ptr, bitstr_t *node_bitmap, uint32_t min_nodes,
	uint32_t max_nodes, uint32_t req_nodes, uint16_t mode, list_t *preemptee_candidates,
	list_t **preemptee_job_list, compat_exc_t exc COMPAT_WILL_RUN_PARAM)
{
	bool colocated = job_ptr->details && min_nodes && job_option_find(job_ptr), ours;
	int rc = SLURM_ERROR;

	pthread_mutex_lock(&lock);
	ours = colocated || (job_ptr->details && min_nodes && tracker_awake() &&
				    occupancy_colocated(tracker_map()));
	if (ours) {
		struct preemptable by_id = {0};
		struct ask ask = {
			.job_ptr = job_ptr,
			.now = time(NULL),
			.nodes = node_bitmap,
			.min_nodes = min_nodes,
			.max_nodes = max_nodes,
			.req_nodes = req_nodes,
			.mode = mode,
			.preemptable = preemptee_candidates,
			.by_id = &by_id,
			.preempted = preemptee_job_list,
			.exc = exc,
			.will_run = COMPAT_WILL_RUN,
		};

		rc = colocated ? test_colocated(&ask) : test_other(&ask);
		if (SELECT_IS_MODE_RUN_NOW(mode))
			note_tried(job_ptr->job_id, ask.now, rc == SLURM_SUCCESS);
		candidates_free_preemptable(&by_id);
		FREE_NULL_BITMAP(ask.on_sockets);
	}
	pthread_mutex_unlock(&lock);
	return ours ? rc
		    : cons_tres.job_test(job_ptr, node_bitmap, min_nodes, max_nodes, req_nodes,
			      mode, preemptee_candidates, preemptee_job_list,
			      exc COMPAT_WILL_RUN_ARG(COMPAT_WILL_RUN));
}
