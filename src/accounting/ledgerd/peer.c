/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out who is at the other end of a connection. */
#include "accounting/ledgerd/peer.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

static void name_peer(const struct sockaddr *address, socklen_t len, char *buf, size_t size)
{
	char host[64], port[16];

	if (getnameinfo(address, len, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(buf, size, "somebody");
	else
		snprintf(buf, size, "%s port %s", host, port);
}

/* An end of the connection as the kernel writes it. */
static void write_end(const struct sockaddr *a, __be16 *port, __be32 to[4])
{
	const struct sockaddr_in6 *six = (const void *)a;
	const struct sockaddr_in *four = (const void *)a;

	if (a->sa_family == AF_INET6) {
		*port = six->sin6_port;
		memcpy(to, &six->sin6_addr, sizeof(six->sin6_addr));
	} else {
		*port = four->sin_port;
		to[0] = four->sin_addr.s_addr;
	}
}

/* Whether the kernel says whose socket goes from one address to the other; *uid: whose. */
static bool ask_kernel(const struct sockaddr *from, const struct sockaddr *to, uid_t *uid)
{
	struct question q = {
		.head = {.nlmsg_len = sizeof(q),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST},
		.body = {.sdiag_family = (__u8)from->sa_family, .sdiag_protocol = IPPROTO_TCP},
	};
	union {
		struct nlmsghdr head;
		char room[4096];
	} answer;
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.head);
	const struct nlmsgerr *fault = NLMSG_DATA(&answer.head);
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t n = -1;

	if (fd < 0)
		return false;
	write_end(from, &q.body.id.idiag_sport, q.body.id.idiag_src);
	write_end(to, &q.body.id.idiag_dport, q.body.id.idiag_dst);
	q.body.id.idiag_cookie[0] = q.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	/* The kernel answers before send() returns. */
	if (send(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q))
		n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	close(fd);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(*fault)))
		return false;
	*uid = PEER_GONE;
	if (answer.head.nlmsg_type == NLMSG_ERROR)
		return fault->error == -ENOENT;
	if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
		n < (ssize_t)NLMSG_LENGTH(sizeof(*found)))
		return false;
	/* A socket that its process has closed is nobody's: its user reads 0, and so does its
	 * inode. One that listens at that port, or connects from there anew, is another one. */
	if (found->idiag_inode && found->idiag_state != TCP_LISTEN &&
		found->idiag_state != TCP_SYN_SENT)
		*uid = found->idiag_uid;
	return true;
}

void peer_look(int fd, const struct sockaddr *address, socklen_t len, struct peer *peer)
{
	struct sockaddr_storage own;
	socklen_t own_len = sizeof(own);

	*peer = (struct peer){.known = false};
	name_peer(address, len, peer->name, sizeof(peer->name));
	if (getsockname(fd, (struct sockaddr *)&own, &own_len))
		return;
	origin_name(address, len, (struct sockaddr *)&own, own_len, peer->origin);
	if (!strcmp(peer->origin, ORIGIN_LOCAL))
		peer->known = ask_kernel(address, (struct sockaddr *)&own, &peer->uid);
}
