/* data_cut: the node of each page of a structure, from the binding of the blocks that touch it.
 *
 *   page ──► its lines ──► blocks that touch each line (block_of_offset) ──► binding_node() ──► lines per node ──► most
 *
 * A page goes to the node whose blocks touch most of its lines. Nodes that touch equally many take such pages in
 * turn. An untouched page follows the nearest touched byte below it, or above if there is none below. A page that
 * begins before the structure counts the bytes of the structure only.
 *
 * The answer is a pure function of the page: it depends neither on the order of touches nor on time. */
#ifndef ATOLL_POLICY_BINDING_DATA_CUT_H
#define ATOLL_POLICY_BINDING_DATA_CUT_H

#include "base/arena.h"
#include "policy/binding/binding.h"

enum cut_method {
    CUT_INDEX,        /* from the digits of the index */
    CUT_LAYOUT,       /* from the spans of every block */
    CUT_PROPORTIONAL, /* block = floor(offset * blocks / bytes) */
    CUT_LITERAL,      /* LADM's equations 1 and 2 */
    CUT_IN_TURN       /* pages in turn */
};
const char *cut_method_name(enum cut_method m);

struct cut_scratch {
    uint64_t *lines; /* [node][words] lines of the page that blocks of the node touch */
    uint32_t words;
};

struct data_cut {
    enum cut_method method;
    struct binding binding;
    uint64_t base, bytes; /* of the structure, simulated address */
    uint64_t first, end;  /* touched bytes from base on */
    uint32_t page_log2;
    const struct launch_pattern *pattern; /* INDEX */
    uint32_t patterns;
    const struct launch_span *span; /* LAYOUT: sorted by first byte */
    uint32_t spans;
    uint64_t span_bytes_max;
    uint8_t open_axes; /* INDEX: coordinates that the binding reads and the index does not have */
    uint64_t granule;  /* LITERAL: byte x to node x / granule mod nodes; 0: x * nodes / bytes */
    struct cut_scratch *scratch;
};

/* Blocks that touch bytes [first, end) from the base on, one call per block and run of bytes. Returns false if the
 * search stopped at its limit. */
typedef void cut_visit(void *arg, int64_t first, int64_t end, uint32_t node);
bool cut_nodes_of(const struct data_cut *cut, int64_t first, int64_t end, cut_visit *visit, void *arg);

/* The node of a page, given by its virtual number. */
uint32_t cut_node(const struct data_cut *cut, uint64_t page);

/* For page size and nodes of a machine; the memory is the arena's. */
struct cut_scratch *cut_scratch_new(struct arena *a, uint32_t page_log2, uint32_t nodes);

/* The cut of an array of a launch under LASP. `plan`: of the launch. The cut outlives the launch: patterns and layout
 * are copied to the arena. */
struct data_cut cut_of_array(struct arena *a, const struct config *c, const struct launch_facts *l,
                             const struct nodes *n, const struct lasp_plan *plan, uint32_t array,
                             struct cut_scratch *scratch);

#endif
