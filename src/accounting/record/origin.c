/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the addresses that requests come from with those of hosts. */
#include "accounting/record/origin.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#define KEEP_S 600
#define RETRY_S 15

static bool numeric(const struct sockaddr *a, socklen_t len, char buf[ORIGIN_SIZE])
{
	return !getnameinfo(a, len, buf, ORIGIN_SIZE, NULL, 0, NI_NUMERICHOST);
}

static bool is_loopback(const char *address)
{
	return !strncmp(address, "127.", 4) || !strcmp(address, "::1");
}

const char *origin_name(const struct sockaddr *peer, socklen_t peer_len, const struct sockaddr *own,
	socklen_t own_len, char buf[ORIGIN_SIZE])
{
	char mine[ORIGIN_SIZE];

	if (!numeric(peer, peer_len, buf))
		buf[0] = '\0';
	else if (is_loopback(buf) || (numeric(own, own_len, mine) && !strcmp(buf, mine)))
		strcpy(buf, ORIGIN_LOCAL);
	return buf;
}

/* Whether this host has the address. */
static bool is_local(const char *address)
{
	struct ifaddrs *all;
	bool found = is_loopback(address);

	if (found || getifaddrs(&all))
		return found;
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		char mine[ORIGIN_SIZE];
		int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;

		if (family == AF_INET || family == AF_INET6)
			found = numeric(i->ifa_addr,
					family == AF_INET ? sizeof(struct sockaddr_in)
							  : sizeof(struct sockaddr_in6),
					mine) &&
				!strcmp(mine, address);
	}
	freeifaddrs(all);
	return found;
}

/* Whether one of the addresses is the origin's. */
static bool is_listed(const json_t *addresses, const char *origin)
{
	bool local = !strcmp(origin, ORIGIN_LOCAL);
	const json_t *address;
	size_t i;

	json_array_foreach(addresses, i, address)
	{
		const char *text = json_string_value(address);

		if (text && (!strcmp(text, origin) || (local && is_local(text))))
			return true;
	}
	return false;
}

bool origin_allowed(const json_t *nodes, const char *node, const char *origin)
{
	const json_t *item;
	size_t i;

	json_array_foreach(nodes, i, item)
	{
		const char *name = json_string_value(json_object_get(item, "name"));
		const json_t *addresses = json_object_get(item, "addresses");

		if (name && !strcmp(name, node))
			return !*origin || is_listed(addresses, origin);
	}
	return false;
}

bool origin_resolve(json_t *addresses, const char *host)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	char text[ORIGIN_SIZE];

	if (getaddrinfo(host, NULL, &hints, &found))
		return false;
	for (const struct addrinfo *a = found; a; a = a->ai_next)
		if (numeric(a->ai_addr, a->ai_addrlen, text))
			json_array_append_new(addresses, json_string(text));
	freeaddrinfo(found);
	return true;
}

json_t *origin_remembered(
	json_t *known, const char *node, int64_t now_s, bool may_wait, origin_fn resolve)
{
	const json_t *entry = json_object_get(known, node);
	json_t *addresses = json_object_get(entry, "addresses"), *fresh;
	int64_t until = json_integer_value(json_object_get(entry, "until"));

	if (entry && (until > now_s || !may_wait))
		return json_incref(addresses);
	if (!may_wait)
		return json_array();
	fresh = resolve(node);
	until = now_s + (json_array_size(fresh) ? KEEP_S : RETRY_S);
	/* While a name server is away, the old addresses are as good as before. */
	if (!json_array_size(fresh))
		json_array_extend(fresh, addresses);
	json_object_set_new(known, node,
		json_pack("{s:O, s:I}", "addresses", fresh, "until", (json_int_t)until));
	return fresh;
}

bool origin_controls(const json_t *addresses, const char *origin)
{
	return !strcmp(origin, ORIGIN_LOCAL) || is_listed(addresses, origin);
}
