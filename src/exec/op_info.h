/* op_info: an instruction as the timing model sees it (struct warp_op, struct warp_op_info), for step.c.
 *
 *   op_info.c    the part that is the same at every execution, made when a function is first stepped
 *   op_detail.c  the part of one execution
 *   step.c       executes and tells both */
#ifndef ATOLL_EXEC_OP_INFO_H
#define ATOLL_EXEC_OP_INFO_H

#include "exec/lower.h"

/* warp_op_info.detail */
enum {
    DETAIL_NONE,
    DETAIL_EVEN /* an address through a slope */,
    DETAIL_ADDRESS,
    DETAIL_BARRIER,
    DETAIL_SLEEP,
    DETAIL_TEXTURE,
    DETAIL_SURFACE
};

static inline enum warp_space warp_space_of(uint32_t space)
{
    switch (space) {
    case PTX_SPACE_GLOBAL: return WARP_SPACE_GLOBAL;
    case PTX_SPACE_CONST: return WARP_SPACE_CONST;
    case PTX_SPACE_LOCAL: return WARP_SPACE_LOCAL;
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CLUSTER: return WARP_SPACE_SHARED;
    case PTX_SPACE_PARAM: return WARP_SPACE_PARAM;
    default: return WARP_SPACE_NONE;
    }
}

static inline const struct access *access_of(const struct insn *i)
{
    if (i->fn == h_copy_async) return ((const struct copy_site *)i->x.extra)->from;
    if (i->fn == h_matrix) return ((const struct matrix_site *)i->x.extra)->access;
    if (i->fn == h_mbarrier) return ((const struct mbarrier_site *)i->x.extra)->access;
    return i->x.access;
}

/* The infos of a function are made when one of its instructions is first met. */
const struct warp_op_info *exec_make_infos(struct exec_warp *w, const struct insn *i);
static inline const struct warp_op_info *info_of(struct exec_warp *w, const struct insn *i)
{
    return i->info ? i->info : exec_make_infos(w, i);
}

/* By out->info->detail, for the lanes of out->mask. */
void exec_describe_detail(struct exec_warp *w, const struct insn *i, struct warp_op *out);

#endif
