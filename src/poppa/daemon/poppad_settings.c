/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the cluster's settings and poppa.conf, at the start and when they change. */
#include "poppa/daemon/poppad.h"

#include <errno.h>
#include <string.h>

#include "accounting/record/client.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/settings_kept.h"
#include "poppa/hold/pause.h"
#include "poppa/map/map_job.h"

static void set_ledger(struct poppad *d)
{
	struct errmsg err = {""};
	struct client c;

	if (client_init(&c, &d->settings, &d->conf, d->cluster.controllers, &err))
		plog_error("records stay in the spool: %s", err.text);
	else
		sender_ledger(d->sender, &c);
}

/* Bad settings leave the last good ones in force. */
void poppad_read_cluster(struct poppad *d)
{
	struct cluster_conf next;
	struct errmsg err = {""};
	char text[SETTINGS_MAX_TEXT], was[SETTINGS_MAX_TEXT];
	bool first = !d->have_cluster;

	if (cluster_conf_read(d->paths.cluster, &next, &err)) {
		if (errno != ENOENT)
			plog_error("%s", err.text);
		else if (first && !d->told_waiting)
			plog_info("waiting for slurmd to write %s", d->paths.cluster);
		d->told_waiting = true;
		return;
	}
	settings_format(&d->settings, was, sizeof(was));
	/* slurmd may write the same settings again. */
	if (first || strcmp(next.prep_parameters, d->cluster.prep_parameters)) {
		d->bad_settings[0] = '\0';
		if (settings_follow(
			    next.prep_parameters, d->paths.spool, first, &d->settings, &err)) {
			plog_error("PrEpParameters: %s", err.text);
			strcpy(d->bad_settings, plain_text(err.text));
		} else if (settings_keep(d->paths.spool, next.prep_parameters, &err)) {
			plog_warn("the settings are not kept for the next start: %s", err.text);
		}
	}
	settings_format(&d->settings, text, sizeof(text));
	d->cluster = next;
	if (first) {
		plog_info("cluster %s, node %s, %s", next.cluster, next.node, text);
		d->have_cluster = true;
		pause_prepare(next.cgroup_mount, d->node);
	} else if (strcmp(was, text)) {
		plog_info("new settings: %s", text);
	}
	poppad_configure_jobs(d);
	set_ledger(d);
}

void poppad_reload(struct poppad *d)
{
	struct nodeconf next;
	struct errmsg err = {""};

	if (nodeconf_load(d->conf_path, &next, &err) || map_conf_check(&next, &err)) {
		plog_error("%s; the last good configuration stays in force", err.text);
		return;
	}
	if (strcmp(next.run_dir, d->conf.run_dir) || strcmp(next.spool_dir, d->conf.spool_dir)) {
		plog_warn("RunDir and SpoolDir take effect at the next start");
		strcpy(next.run_dir, d->conf.run_dir);
		strcpy(next.spool_dir, d->conf.spool_dir);
	}
	if (strcmp(next.shutter_log, d->conf.shutter_log)) {
		shutterlog_close(d->log);
		d->log = NULL;
	}
	d->conf = next;
	d->spool.keep_days = next.spool_keep_days;
	poppad_set_paths(d);
	poppad_open_log(d);
	plog_info("read %s again", d->conf_path);
	if (d->have_cluster) {
		poppad_configure_jobs(d);
		set_ledger(d);
	}
}
