/* btree: host script. Keys are spread over the integers with random gaps; nodes are half full, as a tree is
 * that was built by insertions. Node 0 is the root, levels follow each other; every word of the tree is a
 * function of its place. Footprint: 2 KiB per FILL records and 4 B per record; NUBA 39 MB, SelRep 13.7 MB,
 * LADM 16 MB. */
#include "workload.h"

enum {
    SEED_KEY = 1,
    SEED_RECORD,
    SEED_QUERY,
    ORDER = 256,
    FILL = 128,
    LEVELS_MAX = 6,
    SPACING = 16,
    ABSENT = -1
};

static const struct wl_param params[] = {
    {"records", 100000, FILL + 1, 1 << 26, 0, "records in the tree"},
    {"queries", 2000, 1, 1 << 24, 0, "look-ups, one block each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "records=20000,queries=60", NULL},
    {"nuba", "records=1900000,queries=10000", "NUBA, 39 MB"},
    {"selrep", "records=680000,queries=10000", "SelRep, 13.7 MB shared"},
    {"ladm", "records=790000,queries=6000", "LADM, 16 MB, 6000 blocks"},
    {"ladmq", "records=790000,queries=2000", "LADM quick: fewer queries"},
    {0},
};

/* As in the device code. */
struct node {
    int32_t keys[ORDER], children[ORDER];
};

struct tree {
    uint64_t records;
    int levels;                     /* the leaves' included */
    uint64_t first[LEVELS_MAX + 1]; /* number of the first node of a level, root = level 0; then all nodes */
    uint64_t beneath[LEVELS_MAX];   /* records beneath one node of a level */
};

static struct tree tree_of(uint64_t records)
{
    struct tree t = {.records = records};
    uint64_t beneath = FILL;
    for (t.levels = 1; beneath < records; t.levels++) beneath *= FILL;
    for (int level = 0; level < t.levels; level++, beneath /= FILL) {
        t.beneath[level] = beneath;
        t.first[level + 1] = t.first[level] + (records + beneath - 1) / beneath;
    }
    return t;
}

/* Increasing in i; never 0, so that 0 is below all. */
static int32_t key_of(uint64_t record)
{
    return (int32_t)(record * SPACING + 1 + wl_below(SEED_KEY, record, SPACING - 1));
}

static int32_t record_at(uint64_t i) { return (int32_t)(wl_u64(SEED_RECORD, i) >> 33); }

static void make_node(const struct tree *t, uint64_t number, struct node *n)
{
    int level = 0;
    while (number >= t->first[level + 1]) level++;
    const bool leaf = level == t->levels - 1;
    const uint64_t place = number - t->first[level], step = leaf ? 1 : t->beneath[level + 1];
    for (uint64_t i = 0; i < ORDER; i++) {
        const uint64_t record = place * t->beneath[level] + i * step, child = place * FILL + i;
        const bool used = i < FILL && record < t->records;
        n->keys[i] = used ? key_of(record) : INT32_MAX;
        if (used && record == 0 && !leaf) n->keys[i] = 0; /* smaller keys go left */
        n->children[i] = used ? (int32_t)(leaf ? child : t->first[level + 1] + child) : 0;
    }
}

static void fill_nodes(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes / sizeof(struct node); i++)
        make_node(arg, first / sizeof(struct node) + i, (struct node *)to + i);
}

static void fill_records(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    for (uint64_t i = 0; i < bytes / 4; i++) ((int32_t *)to)[i] = record_at(first / 4 + i);
}

/* Record asked for by query q; one query in 16 asks for a key that is not there. */
static uint64_t asked(const struct tree *t, uint64_t q) { return wl_below(SEED_QUERY, q, t->records); }
static bool asks_absent(uint64_t q) { return q % 16 == 5; }

static void fill_queries(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct tree *t = arg;
    for (uint64_t i = 0; i < bytes / 4; i++) {
        const uint64_t q = first / 4 + i;
        ((int32_t *)to)[i] = asks_absent(q) ? (int32_t)(asked(t, q) * SPACING) : key_of(asked(t, q));
    }
}

static void fill_absent(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    (void)arg;
    (void)first;
    for (uint64_t i = 0; i < bytes / 4; i++) ((int32_t *)to)[i] = ABSENT;
}

static double expected(const void *arg, uint64_t q)
{
    return asks_absent(q) ? (double)ABSENT : (double)record_at(asked(arg, q));
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct tree t = tree_of((uint64_t)wl_param(w, "records"));
    return t.first[t.levels] * sizeof(struct node) + 4 * (t.records + 2 * (uint64_t)wl_param(w, "queries"));
}

static void run(struct wl *w)
{
    struct tree t = tree_of((uint64_t)wl_param(w, "records"));
    const uint64_t queries = (uint64_t)wl_param(w, "queries");
    struct node *nodes = wl_input(w, "nodes", t.first[t.levels] * sizeof *nodes, fill_nodes, &t);
    int32_t *records = wl_input(w, "records", t.records * 4, fill_records, NULL);
    int32_t *keys = wl_input(w, "queries", queries * 4, fill_queries, &t);
    int32_t *answers = wl_input(w, "answers", queries * 4, fill_absent, NULL);
    WL_LAUNCH(w, "btree_find", wl_dim(queries), wl_dim(ORDER), nodes, records, keys, answers, t.levels - 1);
    wl_check_u32(
        w, &(struct wl_check){
               .name = "answers", .output = answers, .count = queries, .reference = expected, .arg = &t});
}

WORKLOAD(btree, .suite = "Rodinia", .sharing = "high-sharing",
         .description = "look-ups in a B+ tree, a block per query", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
