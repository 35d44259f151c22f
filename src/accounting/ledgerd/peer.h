/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is at the other end of a connection, as far as that is known before a line was opened. */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "accounting/record/origin.h"

/* The user of a peer on this host that has left, or that the kernel does not find. */
#define PEER_GONE ((uid_t)-1)

struct peer {
	char name[96];            /* for the log */
	char origin[ORIGIN_SIZE]; /* origin_name() */
	/* The peer is on this host, and uid is the user whose socket it is. That decides whose turn
	 * it is and nothing else: MUNGE says who has sent a line. */
	bool known;
	uid_t uid; /* or PEER_GONE */
};

/*
 * Looks at the peer of the accepted socket fd. It asks the kernel for the one socket with these two
 * addresses, which costs some microseconds however many sockets there are, needs no rights, and
 * cannot be forged: a socket belongs to whoever has made it. A kernel that does not answer such
 * questions leaves the user unknown.
 */
void peer_look(int fd, const struct sockaddr *address, socklen_t len, struct peer *peer);
