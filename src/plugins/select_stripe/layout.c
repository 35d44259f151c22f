/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shares a node's cores out to lanes. */
#include "plugins/select_stripe/layout.h"

#include "striping/lanes/lanes.h"
#include "striping/history/class_name.h"

SLURM_WEAK(node_record_table_ptr)
SLURM_WEAK(node_record_count)

/* Nodes of one kind share a layout; a cluster has few kinds. */
struct kind {
	struct kind *next;
	uint16_t sockets, cores, threads;
	bitstr_t *usable; /* NULL = all cores */
	struct layout *layout;
};

static struct kind *kinds;
static struct kind **by_node; /* what each was when it was looked at last */
static int by_node_count;
static bool changed;

/* The types of nodes, in the order of the node table; none while it was not looked at. */
static char types[LAYOUT_TYPES][CLASS_TYPE_MAX];
static int type_count;

static struct poppa_settings settings;

void layout_reset(const struct poppa_settings *s)
{
	settings = *s;
	while (kinds) {
		struct kind *kind = kinds;

		kinds = kind->next;
		FREE_NULL_BITMAP(kind->usable);
		xfree(kind->layout);
		xfree(kind);
	}
	xfree(by_node);
	by_node_count = 0;
	type_count = 0;
	changed = false;
}

/* The number of the node's type, 0 where that is none of those that are told apart. */
static int find_type(const node_record_t *node)
{
	char text[CLASS_TYPE_MAX];

	class_node_type(node->tot_sockets, node->cores, node->tpc, text);
	for (int i = 1; i < type_count; i++)
		if (!xstrcmp(types[i], text))
			return i;
	return 0;
}

/* Where all nodes are alike there is no type but 0. */
static void find_types(void)
{
	const node_record_t *last = NULL;

	if (type_count)
		return;
	types[0][0] = '\0';
	type_count = 1;
	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *node = compat_node(i);

		if (!node || (last && compat_nodes_alike(node, last)))
			continue;
		last = node;
		if (type_count < LAYOUT_TYPES && !find_type(node))
			class_node_type(
				node->tot_sockets, node->cores, node->tpc, types[type_count++]);
	}
	if (type_count == 2)
		type_count = 1;
}

const char *layout_type(int type)
{
	find_types();
	return type < type_count ? types[type] : NULL;
}

bool layout_changed(void)
{
	return changed;
}

static bool same_usable(bitstr_t *a, bitstr_t *b)
{
	return a && b ? bit_equal(a, b) : a == b;
}

/* Compares specialised cores by content: Slurm makes the bitmap anew at each registration, often at
 * the same address. */
static bool is_kind(const struct kind *kind, const node_record_t *node)
{
	return kind->sockets == node->tot_sockets && kind->cores == node->cores &&
	       kind->threads == node->tpc && same_usable(kind->usable, node->node_spec_bitmap);
}

static struct layout *make_layout(const node_record_t *node)
{
	int sockets = node->tot_sockets, cores = sockets * node->cores;
	struct layout *layout = xmalloc(sizeof(*layout) + cores * sizeof(layout->lane_of[0]));
	bool *spare = xcalloc(cores + 1, sizeof(*spare));

	layout->cores = cores;
	layout->lanes = lanes_count(&settings, sockets, node->cores);
	layout->threads = node->tpc;
	find_types();
	layout->type = find_type(node);
	for (int c = 0; c < cores; c++)
		spare[c] = node->node_spec_bitmap && !bit_test(node->node_spec_bitmap, c);
	layout->lane_cores = lanes_of_node(
		sockets, node->cores, spare, layout->lanes, layout->lane_of, &layout->socket_cores);
	if (layout->lane_cores < 0) {
		layout->lane_cores = 0;
		for (int c = 0; c < cores; c++)
			layout->lane_of[c] = LANE_NONE;
	}
	xfree(spare);
	return layout;
}

static struct kind *find_kind(const node_record_t *node)
{
	bitstr_t *usable = node->node_spec_bitmap;
	struct kind *kind;

	for (kind = kinds; kind; kind = kind->next)
		if (is_kind(kind, node))
			return kind;
	kind = xmalloc(sizeof(*kind));
	kind->sockets = node->tot_sockets;
	kind->cores = node->cores;
	kind->threads = node->tpc;
	kind->usable = usable ? bit_copy(usable) : NULL;
	kind->layout = make_layout(node);
	kind->next = kinds;
	kinds = kind;
	return kind;
}

const struct layout *layout_of(int index)
{
	const node_record_t *node = index < node_record_count ? compat_node(index) : NULL;
	struct kind **seen;

	if (!node)
		return NULL;
	if (by_node_count != node_record_count) {
		xfree(by_node);
		by_node = xcalloc(node_record_count, sizeof(*by_node));
		by_node_count = node_record_count;
	}
	seen = &by_node[index];
	if (!*seen || !is_kind(*seen, node)) {
		struct kind *kind = find_kind(node);

		changed = changed || (*seen && *seen != kind);
		*seen = kind;
	}
	return (*seen)->layout;
}
