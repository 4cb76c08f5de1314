/* oracle: what tests hold the read-only analysis against: executes a launch block by block and remembers
 * every line that was read as read-only and every line that was written. */
#ifndef ATOLL_ANALYSIS_ORACLE_H
#define ATOLL_ANALYSIS_ORACLE_H

#include "base/map.h"
#include "exec/exec.h"

struct oracle {
    uint64_t loads, stores, read_only_loads;
    bool violated; /* a line was both, or something else than a load was marked */
};

static inline void oracle_note(struct oracle *o, struct map *lines, const struct warp_op *op)
{
    enum { READ = 1, WRITTEN = 2 };
    const bool load = op->info->class == WARP_CLASS_LOAD;
    o->loads += load;
    o->stores += !load;
    o->read_only_loads += op->read_only;
    o->violated |= op->read_only && !load;
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(op->mask >> lane & 1) || (load && !op->read_only)) continue;
        uint64_t *line = map_put(lines, warp_op_address(op, lane) >> 7, NULL);
        *line |= load ? READ : WRITTEN;
        o->violated |= *line == (READ | WRITTEN);
    }
}

static inline void oracle_run(struct oracle *o, struct exec_launch *l)
{
    struct map lines;
    map_init(&lines);
    for (uint64_t b = 0; b < l->block_count; b++) {
        struct exec_block *block = exec_block_create(l, b, 0);
        while (!exec_block_done(block))
            for (uint32_t w = 0; w < l->warps_per_block; w++) {
                struct warp_op op;
                if (exec_warp_step(block, w, &op) != WARP_STEP_OP) continue;
                if (op.space == WARP_SPACE_GLOBAL && op.mask) oracle_note(o, &lines, &op);
            }
        exec_block_destroy(block);
    }
    map_free(&lines);
}

#endif
