/* call: call and return.
 *
 * A .func has a frame of registers after its caller's and a frame of local memory after its caller's; the
 * first holds, per lane, where to go back to, so lanes that came from different places can be in a function
 * together. Arguments are copied from the caller's .param variables (or registers) to the callee's, results
 * back. */
#include "exec/lower.h"

/* Where a value of each lane stands: an array over the lanes, or local memory. */
struct place {
    uint8_t *array; /* NULL: local memory */
    uint8_t reg_class;
    uint64_t local; /* address in local memory */
    uint32_t bytes;
};

static const uint8_t class_bytes[PTX_REG_CLASS_COUNT] = {
    [PTX_REG_PRED] = 4, [PTX_REG_32] = 4, [PTX_REG_64] = 8, [PTX_REG_128] = 16};

/* A formal return or parameter of the function whose frames start there. False: a register that nobody uses.
 */
static bool formal_place(const struct exec_warp *w, const struct exec_func *f, uint32_t k, uint32_t frame,
                         uint32_t local, struct place *p)
{
    static const uint32_t array_bytes[PTX_REG_CLASS_COUNT] = {
        [PTX_REG_PRED] = 4, [PTX_REG_32] = 128, [PTX_REG_64] = 256, [PTX_REG_128] = 512};
    const struct ptx_symbol *s = &f->ptx->module->symbols[f->ptx->first_param + k];
    if (s->space != PTX_SPACE_REG) {
        *p = (struct place){.local = local + f->arg_offset + s->offset, .bytes = (uint32_t)s->size_bytes};
        return true;
    }
    const uint8_t class = f->ptx->regs[s->offset].reg_class;
    const uint32_t slot = f->slots->slot[s->offset];
    if (slot == PTX_NO_INDEX) return false;
    *p = (struct place){.array = w->frames + frame + f->regs_offset[class] + slot * array_bytes[class],
                        .reg_class = class,
                        .bytes = class_bytes[class]};
    return true;
}

/* A value of the call in the caller's frames. False: `_`. */
static bool actual_place(const struct exec_warp *w, const struct call_value *v, uint32_t frame,
                         uint32_t local, struct place *p)
{
    if (v->is_param) {
        *p = (struct place){.local = local + v->offset, .bytes = v->bytes};
        return true;
    }
    if (v->reg == REF_NONE) return false;
    *p =
        (struct place){.array = (v->reg & REF_BASE ? w->base[v->reg & REF_BASE] : w->frames + frame) + v->reg,
                       .reg_class = v->reg_class,
                       .bytes = v->bytes};
    return true;
}

static void get(const struct exec_warp *w, const struct place *p, uint32_t lane, uint32_t at, uint8_t *to,
                uint32_t bytes)
{
    if (!p->array)
        local_read(w, lane, p->local + at, to, bytes);
    else if (p->reg_class == PTX_REG_PRED)
        to[0] = *(const uint32_t *)p->array >> lane & 1;
    else
        memcpy(to, p->array + (uint64_t)p->bytes * lane, bytes);
}

static void put(const struct exec_warp *w, const struct place *p, uint32_t lane, uint32_t at,
                const uint8_t *from, uint32_t bytes)
{
    if (!p->array) {
        local_write(w, lane, p->local + at, from, bytes);
    } else if (p->reg_class == PTX_REG_PRED) {
        uint32_t *word = (uint32_t *)p->array;
        *word = (*word & ~(1u << lane)) | (uint32_t)(from[0] & 1) << lane;
    } else {
        memcpy(p->array + (uint64_t)p->bytes * lane, from, bytes);
    }
}

/* Words of local memory: whole rows of lanes. */
static void copy_rows(const struct exec_warp *w, uint64_t to, uint64_t from, uint32_t bytes, uint32_t mask)
{
    for (uint32_t k = 0; k < bytes; k += 4) {
        uint32_t *d = (uint32_t *)(w->local + ((to + k) >> 2) * 128);
        const uint32_t *a = (const uint32_t *)(w->local + ((from + k) >> 2) * 128);
        for (uint32_t lane = 0; lane < LANES; lane++) d[lane] = mask >> lane & 1 ? a[lane] : d[lane];
    }
}

static void copy_value(const struct exec_warp *w, const struct place *to, const struct place *from,
                       uint32_t mask)
{
    const uint32_t bytes = to->bytes < from->bytes ? to->bytes : from->bytes;
    if (!to->array && !from->array && !((to->local | from->local | bytes) & 3)) {
        copy_rows(w, to->local, from->local, bytes, mask);
        return;
    }
    FOR_LANES(lane, mask)
    {
        for (uint32_t at = 0; at < bytes; at += 16) {
            uint8_t buffer[16] = {0};
            const uint32_t part = bytes - at < 16 ? bytes - at : 16;
            get(w, from, lane, at, buffer, part);
            put(w, to, lane, at, buffer, part);
        }
    }
}

/* Calls that the lane is inside of. */
static uint32_t calls_open(const struct exec_warp *w, const struct exec_func *f, uint32_t lane)
{
    uint32_t n = 0;
    for (uint32_t frame = w->frame; !f->ptx->is_entry; n++) {
        const struct frame_header *h = (const struct frame_header *)(w->frames + frame);
        f = ((const struct call_site *)((const struct insn *)h->call[lane])->x.extra)->caller;
        frame = h->caller_frame[lane];
    }
    return n;
}

static _Noreturn void stack_overflow(const struct exec_warp *w, const struct insn *i, uint32_t lane,
                                     const struct exec_func *callee, uint64_t frames, uint64_t local)
{
    const struct call_site *site = i->x.extra;
    const uint32_t open = calls_open(w, site->caller, lane);
    /* Registers of a frame have a stack of their own: 16 bytes of it for each of local memory. */
    const bool registers = frames + callee->frame_bytes > w->frames_bytes;
    exec_fault(
        w, i, lane,
        "stack overflow: the call of '%s', %u calls deep, needs %llu bytes of %s beyond the %llu in use; "
        "the limit is %llu (does the recursion end?)",
        callee->ptx->name, open + 1,
        (unsigned long long)(registers ? callee->frame_bytes : callee->local_bytes),
        registers ? "registers of the warp" : "local memory of the thread",
        (unsigned long long)(registers ? frames : local),
        (unsigned long long)(registers ? w->frames_bytes : w->local_bytes));
}

static const struct insn *enter(struct exec_warp *w, const struct insn *i, uint32_t mask,
                                const struct call_site *site, struct exec_func *callee)
{
    const struct ptx_func *f = callee->ptx;
    const uint64_t frame_start = (uint64_t)w->frame + site->caller->frame_bytes;
    const uint64_t local_start = w->local_base + site->caller->local_bytes;
    if (frame_start + callee->frame_bytes > w->frames_bytes ||
        local_start + callee->local_bytes > w->local_bytes)
        stack_overflow(w, i, lowest_lane(mask), callee, frame_start, local_start);
    /* Both are within the stacks of a warp, which are far below 4 GB. */
    const uint32_t frame = (uint32_t)frame_start, local = (uint32_t)local_start;
    if (f->n_params != site->n_args || f->n_rets != site->n_rets)
        exec_fault(w, i, lowest_lane(mask), "call of '%s' with %u arguments and %u results; it has %u and %u",
                   f->name, site->n_args, site->n_rets, f->n_params, f->n_rets);
    struct frame_header *h = (struct frame_header *)(w->frames + frame);
    FOR_LANES(lane, mask)
    {
        h->call[lane] = (uint64_t)i;
        h->caller_frame[lane] = w->frame;
        h->caller_local[lane] = w->local_base;
    }
    for (uint32_t k = 0; k < site->n_args; k++) {
        struct place to, from;
        if (formal_place(w, callee, f->n_rets + k, frame, local, &to) &&
            actual_place(w, &site->args[k], w->frame, w->local_base, &from))
            copy_value(w, &to, &from, mask);
    }
    w->frame = frame;
    w->local_base = local;
    w->base[0] = w->frames + frame;
    return callee->code;
}

/* The function behind each lane's pointer; lanes with another one come here again later. */
static const struct ptx_func *indirect_target(struct exec_warp *w, const struct insn *i, uint32_t *mask,
                                              const struct call_site *site)
{
    const uint64_t *target = (const uint64_t *)ref_at(w, site->target);
    const uint32_t first = lowest_lane(*mask);
    uint32_t others = 0;
    FOR_LANES(lane, *mask)
    if (target[lane] != target[first]) others |= 1u << lane;
    if (others) {
        split_off(w, others, i, i + 1);
        *mask &= ~others;
    }
    const struct ptx_func *f = exec_code_of(w->env, target[first]);
    if (!f)
        exec_fault(w, i, first, "indirect call of 0x%llx, which is not a function",
                   (unsigned long long)target[first]);
    if (f->is_entry) exec_fault(w, i, first, "indirect call of the kernel '%s'", f->name);
    return f;
}

const struct insn *h_call(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    struct call_site *site = i->x.extra;
    if (!mask) return i + 1;
    if (site->callee) {
        if (!site->callee_code) site->callee_code = exec_lower(w->env, site->kernel, site->callee);
        return enter(w, i, mask, site, site->callee_code);
    }
    if (site->target != REF_NONE) {
        const struct ptx_func *f = indirect_target(w, i, &mask, site);
        if (f->has_body) return enter(w, i, mask, site, exec_lower(w->env, site->kernel, f));
        struct call_site named = *site;
        named.name = f->name;
        named.builtin = builtin_find(f->name);
        builtin_call(w, i, mask, &named);
        return i + 1;
    }
    builtin_call(w, i, mask, site);
    return i + 1;
}

const struct insn *h_return(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    (void)mask;
    const struct frame_header *h = (const struct frame_header *)w->base[0];
    const uint32_t first = lowest_lane(w->mask);
    uint32_t others = 0;
    FOR_LANES(lane, w->mask)
    if (h->call[lane] != h->call[first] || h->caller_frame[lane] != h->caller_frame[first])
        others |= 1u << lane;
    if (others) split_off(w, others, i, NULL);
    const struct insn *call = (const struct insn *)h->call[first];
    const struct call_site *site = call->x.extra;
    const struct exec_func *self = exec_func_of(w->env, i);
    const uint32_t frame = h->caller_frame[first], local = h->caller_local[first];
    for (uint32_t k = 0; k < site->n_rets; k++) {
        struct place to, from;
        if (formal_place(w, self, k, w->frame, w->local_base, &from) &&
            actual_place(w, &site->rets[k], frame, local, &to))
            copy_value(w, &to, &from, w->mask);
    }
    w->frame = frame;
    w->local_base = local;
    w->base[0] = w->frames + frame;
    return call + 1;
}
