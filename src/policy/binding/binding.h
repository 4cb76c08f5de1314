/* binding: the node that runs a block. Placement and block scheduling use the same function, so that they agree.
 *
 *   launch ──lasp_plan()──► binding ──► cta_sched/bound.c: hands the blocks of a node to its SMs
 *                              │
 *                              └──────► data_cut.h: a page goes to the node whose blocks touch most of its lines
 *
 * A binding is a pure function of the block. Nodes are numbered GPU by GPU (config/nodes.h). */
#ifndef ATOLL_POLICY_BINDING_BINDING_H
#define ATOLL_POLICY_BINDING_BINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "config/nodes.h"
#include "exec/launch_facts.h"

enum binding_kind {
    BINDING_RUNS,    /* one contiguous run of the grid per node, cut at multiples of `batch` blocks */
    BINDING_ROWS,    /* by blockIdx.y */
    BINDING_COLUMNS, /* by blockIdx.x */
    BINDING_TURNS    /* batches of `batch` blocks to the nodes in turn */
};

struct binding {
    enum binding_kind kind;
    uint32_t grid[3];
    uint64_t blocks, batch;
    uint32_t nodes, per_gpu;
    bool in_turn; /* ROWS, COLUMNS: a GPU gets contiguous rows, and its chiplets these rows in turn */
};

/* Runs as even as possible. batch: at least 1. */
struct binding binding_runs(const struct launch_facts *l, const struct nodes *n, uint64_t batch);
/* Rows or columns of the grid. If there are fewer of them than nodes, contiguous runs of blocks. */
struct binding binding_lines(const struct launch_facts *l, const struct nodes *n, enum binding_kind kind,
                             bool in_turn);
struct binding binding_turns(const struct launch_facts *l, const struct nodes *n, uint64_t batch);

/* The node of block (x, y, z): node_of_block of LADM. */
uint32_t binding_node(const struct binding *b, uint32_t x, uint32_t y, uint32_t z);
/* The node of a block by its number in grid order. */
uint32_t binding_node_of(const struct binding *b, uint64_t block);
/* Bits of enum launch_axis: the coordinates that the node depends on. Coordinates of extent 1 do not count. */
uint8_t binding_axes(const struct binding *b);
/* The first block of the node from a block on, in grid order; blocks if there is none. */
uint64_t binding_next(const struct binding *b, uint32_t node, uint64_t from);

/* ---- LASP ---- */

/* The choices that follow from the class of the winner. */
struct lasp_plan {
    uint32_t winner;  /* array; LAUNCH_NO_ARRAY: none */
    uint8_t locality; /* enum locality_class of the winner */
    struct binding binding;
};

struct lasp_plan lasp_plan(const struct config *c, const struct launch_facts *l, const struct nodes *n);
/* The class of an array: enum locality_class, from the analysis or from lasp.force. */
uint8_t lasp_class(const struct config *c, const struct launch_facts *l, uint32_t array);
/* The binding of a class. datablock_bytes: of the array that has the class. */
struct binding lasp_binding(const struct config *c, const struct launch_facts *l, const struct nodes *n,
                            uint8_t locality, uint64_t datablock_bytes);
/* Marks the entries of lasp.force that name the kernel and raises a user error for an entry that names none of its
 * arguments. *seen: a bit per entry. */
void lasp_check_force(const struct config *c, const struct launch_facts *l, uint64_t *seen);
/* Raises a user error if an entry's kernel was never launched. */
void lasp_check_force_used(const struct config *c, uint64_t seen);
/* Text of the first entry of lasp.force that does not have the form kernel/argument:class; NULL: none. */
bool lasp_force_is_valid(const struct config *c);

/* ---- CODA ---- */

/* Bytes of an array that lie in one node, in whole lines; 0: pages in turn (intra-thread locality, unclassified). */
uint64_t coda_granule_of(const struct config *c, const struct launch_facts *l, uint32_t array);
/* Batches of blocks in turn: as many blocks as touch a granule of the winner. */
struct binding coda_binding(const struct config *c, const struct launch_facts *l, const struct nodes *n);

#endif
