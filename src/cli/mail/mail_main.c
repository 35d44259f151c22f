/* SPDX-License-Identifier: GPL-2.0-or-later */
/* poppa-mail: slurmctld's MailProg; calls the site's own, for co-located jobs when they have a
 * price. */
#include "poppa_config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/mail/mail_call.h"
#include "cli/mail/mail_price.h"
#include "cli/mail/mail_send.h"
#include "common/log.h"
#include "common/nodeconf.h"

#define NOT_RUN 127
#define USAGE 2
#define PRICE_TEXT 1024
#define BODY_S 10 /* slurmctld writes no body, so it is at its end at once */

/* Set by signals that end a process: the mail goes at once then. */
static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* The site's own program, or Slurm's default. Returns NULL with err where it would call itself. */
static const char *site_program(const struct nodeconf *c, struct errmsg *err)
{
	const char *program = *c->mail_prog               ? c->mail_prog
			      : access("/bin/mail", X_OK) ? "/usr/bin/mail"
							  : "/bin/mail";
	struct stat own, site;

	if (!stat("/proc/self/exe", &own) && !stat(program, &site) && own.st_dev == site.st_dev &&
		own.st_ino == site.st_ino) {
		errmsg_set(err,
			"MailProg=%s in poppa.conf is poppa-mail itself: name the site's own program",
			program);
		return NULL;
	}
	return program;
}

/* Leaves the caller, which waits for this process and reads its output, and returns true in a
 * child; false where there can be none. */
static bool detach(void)
{
	int null;
	pid_t pid = fork();

	if (pid > 0)
		_exit(0);
	if (pid < 0)
		return false;
	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	plog_set_sink(plog_syslog);
	return true;
}

static int send_with_price(
	const char *program, char **argv, const struct mail_call *call, int seconds)
{
	char price[PRICE_TEXT], *body = mail_read_body(BODY_S, &stop);
	int rc;

	mail_price_wait(call->run, seconds, &stop, price, sizeof(price));
	rc = mail_send(program, argv, body ? body : "", price);
	free(body);
	return rc;
}

static void end_early_on_signals(void)
{
	const struct sigaction early = {.sa_handler = on_signal};
	sigset_t none;

	sigaction(SIGTERM, &early, NULL);
	sigaction(SIGINT, &early, NULL);
	sigaction(SIGHUP, &early, NULL);
	/* slurmctld's threads have them blocked, and so has what they start. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int usage(FILE *out)
{
	fputs("Usage: poppa-mail [--foreground] -s SUBJECT USER\n"
	      "slurmctld's MailProg: calls the site's own with the same arguments, and adds the price\n"
	      "of a co-located job to the mail of its end; see poppa-mail(8).\n",
		out);
	return out == stdout ? 0 : USAGE;
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	struct nodeconf conf;
	struct mail_call call;
	const char *program;
	struct errmsg err;
	bool foreground;

	plog_init("poppa-mail", PLOG_INFO);
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return usage(stdout);
	if (argc == 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")))
		return puts("poppa-mail " POPPA_VERSION) < 0;
	foreground = argc > 1 && !strcmp(argv[1], "--foreground");
	if (foreground) {
		argv++;
		argc--;
	}
	if (argc < 2)
		return usage(stderr);
	if (mail_call_read(argc, argv, &call, &err)) {
		plog_error("%s", err.text);
		return USAGE;
	}
	/* A mistake there does not cost users their mails. */
	nodeconf_defaults(&conf);
	if (nodeconf_load(nodeconf_path(path, sizeof(path)), &conf, &err))
		plog_error("%s: the defaults of MailProg and MailWait hold", err.text);
	program = site_program(&conf, &err);
	if (!program) {
		plog_error("%s", err.text);
		return NOT_RUN;
	}
	argv[0] = (char *)program;
	if (call.priced && conf.mail_wait_s > 0 && !access(program, X_OK)) {
		end_early_on_signals();
		if (foreground || detach())
			return send_with_price(program, argv, &call, conf.mail_wait_s);
		plog_error("the mail goes without the job's price: %s", strerror(errno));
	}
	execv(program, argv);
	plog_error("cannot run %s: %s; name the site's own program by MailProg= in poppa.conf",
		program, strerror(errno));
	return NOT_RUN;
}
