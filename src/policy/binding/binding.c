/* binding: the node of a block; see binding.h. */
#include "policy/binding/binding.h"

#include "check/fault.h"

static struct binding binding_of(const struct launch_facts *l, const struct nodes *n, enum binding_kind kind,
                                 uint64_t batch)
{
    struct binding b = {.kind = kind,
                        .grid = {l->grid[0], l->grid[1], l->grid[2]},
                        .blocks = l->blocks,
                        .batch = batch ? batch : 1,
                        .nodes = n->count,
                        .per_gpu = n->per_gpu};
    if (b.nodes % b.per_gpu) b.per_gpu = 1; /* an application with a part of a GPU */
    return b;
}

struct binding binding_runs(const struct launch_facts *l, const struct nodes *n, uint64_t batch)
{
    return binding_of(l, n, BINDING_RUNS, batch);
}

struct binding binding_turns(const struct launch_facts *l, const struct nodes *n, uint64_t batch)
{
    return binding_of(l, n, BINDING_TURNS, batch);
}

struct binding binding_lines(const struct launch_facts *l, const struct nodes *n, enum binding_kind kind,
                             bool in_turn)
{
    const uint32_t lines = kind == BINDING_ROWS ? l->grid[1] : l->grid[0];
    if (lines < n->count) return binding_runs(l, n, 1);
    struct binding b = binding_of(l, n, kind, 1);
    b.in_turn = in_turn;
    return b;
}

/* Returns the part that holds item i when `count` items are cut at floor(count * k / parts). */
static uint32_t part_of(uint64_t i, uint64_t count, uint32_t parts)
{
    return (uint32_t)((((unsigned __int128)i + 1) * parts - 1) / count);
}

static uint32_t node_of_line(const struct binding *b, uint64_t line, uint64_t lines)
{
    if (FAULT_FIRES(flat_binding)) return (uint32_t)(line % b->nodes);
    if (!b->in_turn) return (uint32_t)(line * b->nodes / lines);
    const uint32_t gpus = b->nodes / b->per_gpu;
    const uint64_t gpu = line * gpus / lines, first = (gpu * lines + gpus - 1) / gpus;
    return (uint32_t)(gpu * b->per_gpu + (line - first) % b->per_gpu);
}

static uint32_t node_in_grid_order(const struct binding *b, uint64_t block)
{
    const uint64_t batch = block / b->batch;
    if (b->kind == BINDING_TURNS) return (uint32_t)(batch % b->nodes);
    return part_of(batch, (b->blocks + b->batch - 1) / b->batch, b->nodes);
}

uint32_t binding_node(const struct binding *b, uint32_t x, uint32_t y, uint32_t z)
{
    switch (b->kind) {
    case BINDING_ROWS: return node_of_line(b, y, b->grid[1]);
    case BINDING_COLUMNS: return node_of_line(b, x, b->grid[0]);
    case BINDING_RUNS:
    case BINDING_TURNS: break;
    }
    return node_in_grid_order(b, x + b->grid[0] * ((uint64_t)y + (uint64_t)b->grid[1] * z));
}

uint32_t binding_node_of(const struct binding *b, uint64_t block)
{
    switch (b->kind) {
    case BINDING_ROWS: return node_of_line(b, block / b->grid[0] % b->grid[1], b->grid[1]);
    case BINDING_COLUMNS: return node_of_line(b, block % b->grid[0], b->grid[0]);
    case BINDING_RUNS:
    case BINDING_TURNS: break;
    }
    return node_in_grid_order(b, block);
}

uint8_t binding_axes(const struct binding *b)
{
    uint8_t axes = 0;
    for (uint32_t k = 0; k < 3; k++)
        if (b->grid[k] > 1) axes |= (uint8_t)(1u << k);
    switch (b->kind) {
    case BINDING_ROWS: return axes & 1u << LAUNCH_Y;
    case BINDING_COLUMNS: return axes & 1u << LAUNCH_X;
    case BINDING_RUNS:
    case BINDING_TURNS: break;
    }
    return axes;
}

uint64_t binding_next(const struct binding *b, uint32_t node, uint64_t from)
{
    if (b->kind == BINDING_RUNS) {
        const uint64_t batches = (b->blocks + b->batch - 1) / b->batch;
        const uint64_t first = (uint64_t)((unsigned __int128)batches * node / b->nodes) * b->batch,
                       end = (uint64_t)((unsigned __int128)batches * (node + 1) / b->nodes) * b->batch;
        if (from < first) from = first;
        return from < end && from < b->blocks ? from : b->blocks;
    }
    while (from < b->blocks && binding_node_of(b, from) != node) {
        /* blocks of one batch or row have one node */
        const uint64_t unit = b->kind == BINDING_TURNS ? b->batch : b->kind == BINDING_ROWS ? b->grid[0] : 1;
        from = (from / unit + 1) * unit;
    }
    return from < b->blocks ? from : b->blocks;
}
