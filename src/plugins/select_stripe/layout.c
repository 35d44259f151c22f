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

/* The types of nodes, in the order of the node table, and behind them those of the same nodes with
 * lanes of whole sockets; none while it was not looked at. */
static char types[LAYOUT_TYPES][CLASS_TYPE_MAX];
static int type_count;
static bool sockets_expected;

static struct poppa_settings settings;

void layout_reset(const struct poppa_settings *s)
{
	settings = *s;
	sockets_expected = sockets_expected || settings.stripe_shape == SHAPE_SOCKET ||
			   settings.shape_on.count;
	while (kinds) {
		struct kind *kind = kinds;

		kinds = kind->next;
		FREE_NULL_BITMAP(kind->usable);
		for (int i = 0; i < STRIPE_SHAPES; i++)
			xfree(kind->layout->of[i].lane_of);
		xfree(kind->layout);
		xfree(kind);
	}
	xfree(by_node);
	by_node_count = 0;
	type_count = 0;
	changed = false;
}

/* The number of the type, 0 where that is none of those that are told apart. */
static int find_type(
	unsigned int sockets, unsigned int cores, unsigned int threads, enum stripe_shape shape)
{
	char text[CLASS_TYPE_MAX];

	class_node_type(sockets, cores, threads, shape == SHAPE_SOCKET, text);
	for (int i = 1; i < type_count; i++)
		if (!xstrcmp(types[i], text))
			return i;
	return 0;
}

/* Where all nodes are alike, stripes have no type but 0. */
static void find_types_of(enum stripe_shape shape)
{
	const int before = type_count,
		  most = shape == SHAPE_SOCKET ? LAYOUT_TYPES : LAYOUT_TYPES / 2;
	const node_record_t *last = NULL;

	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *node = compat_node(i);

		if (!node || (last && compat_nodes_alike(node, last)))
			continue;
		last = node;
		if (shape == SHAPE_SOCKET && !lanes_of_sockets(node->tot_sockets, node->cores))
			continue;
		if (type_count < most &&
			!find_type(node->tot_sockets, node->cores, node->tpc, shape))
			class_node_type(node->tot_sockets, node->cores, node->tpc,
				shape == SHAPE_SOCKET, types[type_count++]);
	}
	if (shape == SHAPE_STRIPE && type_count == before + 1)
		type_count = before;
}

static void find_types(void)
{
	if (type_count)
		return;
	types[0][0] = '\0';
	type_count = 1;
	find_types_of(SHAPE_STRIPE);
	if (sockets_expected)
		find_types_of(SHAPE_SOCKET);
}

const char *layout_type(int type)
{
	find_types();
	return type < type_count ? types[type] : NULL;
}

void layout_expect_sockets(void)
{
	if (sockets_expected)
		return;
	sockets_expected = true;
	type_count = 0;
	find_types();
	for (struct kind *kind = kinds; kind; kind = kind->next)
		kind->layout->of[SHAPE_SOCKET].type =
			find_type(kind->sockets, kind->cores, kind->threads, SHAPE_SOCKET);
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

static void make_lanes(const node_record_t *node, const bool *spare, enum stripe_shape shape,
	int lanes, struct lane_set *set)
{
	int sockets = node->tot_sockets, cores = sockets * node->cores;

	set->lane_of = xcalloc(cores + 1, sizeof(*set->lane_of));
	set->type = find_type(node->tot_sockets, node->cores, node->tpc, shape);
	if (lanes_of_node(shape, sockets, node->cores, spare, lanes, set->lane_of, &set->size) >= 0)
		return;
	for (int c = 0; c < cores; c++)
		set->lane_of[c] = LANE_NONE;
}

static struct layout *make_layout(const node_record_t *node)
{
	int sockets = node->tot_sockets, cores = sockets * node->cores;
	struct layout *layout = xmalloc(sizeof(*layout));
	bool *spare = xcalloc(cores + 1, sizeof(*spare));
	int *ignored = xcalloc(cores + 1, sizeof(*ignored));

	layout->cores = cores;
	layout->lanes = lanes_count(&settings, sockets, node->cores);
	layout->threads = node->tpc;
	find_types();
	for (int c = 0; c < cores; c++)
		spare[c] = node->node_spec_bitmap && !bit_test(node->node_spec_bitmap, c);
	for (int i = 0; i < STRIPE_SHAPES; i++)
		make_lanes(node, spare, i, layout->lanes, &layout->of[i]);
	layout->lane_cores = layout->of[SHAPE_STRIPE].size.cores;
	lanes_usual(&settings, sockets, node->cores, spare, layout->lanes, ignored, NULL,
		&layout->usual);
	xfree(ignored);
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
