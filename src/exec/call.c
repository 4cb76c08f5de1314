/* call: call and return.
 *
 * A .func has a frame of registers after its caller's and a frame of local memory after its caller's; the
 * first holds, per lane, where to go back to, so lanes that came from different places can be in a function
 * together. Arguments are copied from the caller's .param variables (or registers) to the callee's, results
 * back. */
#include "exec/lower.h"

static uint32_t align16(uint64_t x) { return (uint32_t)((x + 15) & ~(uint64_t)15); }

static uint64_t formal_offset(const struct exec_func *f, uint32_t k)
{
    return f->arg_offset + f->ptx->module->symbols[f->ptx->first_param + k].offset;
}

/* A formal of a .func is in .param space (local memory) or a register; registers come as .reg formals, which
 * the parser keeps as symbols of the space REG. */
static void copy_in(struct exec_warp *w, const struct call_value *v, const uint8_t *caller_base,
                    uint32_t caller_local, uint32_t mask, uint64_t to, uint32_t to_bytes)
{
    FOR_LANES(lane, mask)
    {
        uint8_t buffer[16] = {0};
        if (v->is_param) {
            for (uint32_t k = 0; k < v->bytes && k < to_bytes; k += 16) {
                const uint32_t left = (v->bytes < to_bytes ? v->bytes : to_bytes) - k,
                               part = left < 16 ? left : 16;
                local_read(w, lane, caller_local + v->offset + k, buffer, part);
                local_write(w, lane, to + k, buffer, part);
            }
            continue;
        }
        const uint8_t *r = (v->reg & 1 ? w->base[1] : caller_base) + v->reg;
        if (v->reg_class == PTX_REG_PRED)
            buffer[0] = *(const uint32_t *)r >> lane & 1;
        else
            memcpy(buffer, r + (uint64_t)v->bytes * lane, v->bytes);
        local_write(w, lane, to, buffer, v->bytes < to_bytes ? v->bytes : to_bytes);
    }
}

static void copy_out(struct exec_warp *w, const struct call_value *v, uint8_t *caller_base,
                     uint32_t caller_local, uint32_t mask, uint64_t from, uint32_t from_bytes)
{
    FOR_LANES(lane, mask)
    {
        uint8_t buffer[16] = {0};
        if (v->is_param) {
            for (uint32_t k = 0; k < v->bytes && k < from_bytes; k += 16) {
                const uint32_t left = (v->bytes < from_bytes ? v->bytes : from_bytes) - k,
                               part = left < 16 ? left : 16;
                local_read(w, lane, from + k, buffer, part);
                local_write(w, lane, caller_local + v->offset + k, buffer, part);
            }
            continue;
        }
        if (v->reg == REF_NONE) continue;
        local_read(w, lane, from, buffer, v->bytes < from_bytes ? v->bytes : from_bytes);
        if (v->reg_class == PTX_REG_PRED) {
            uint32_t *p = (uint32_t *)(caller_base + v->reg);
            *p = (*p & ~(1u << lane)) | (uint32_t)(buffer[0] & 1) << lane;
        } else {
            memcpy(caller_base + v->reg + (uint64_t)v->bytes * lane, buffer, v->bytes);
        }
    }
}

static const struct insn *enter(struct exec_warp *w, const struct insn *i, uint32_t mask,
                                const struct call_site *site, struct exec_func *callee)
{
    const struct ptx_func *f = callee->ptx;
    const uint32_t frame = w->frame + site->caller->frame_bytes;
    const uint32_t local = align16(w->local_base + (uint64_t)site->caller->local_bytes);
    if ((uint64_t)frame + callee->frame_bytes > w->frames_bytes ||
        (uint64_t)local + callee->local_bytes > w->local_bytes)
        exec_fault(
            w, i, lowest_lane(mask),
            "stack overflow calling '%s': %u bytes of local memory are in use, the limit is %llu per thread",
            f->name, local, (unsigned long long)w->local_bytes);
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
        const struct ptx_symbol *s = &f->module->symbols[f->first_param + f->n_rets + k];
        copy_in(w, &site->args[k], w->base[0], w->local_base, mask,
                local + formal_offset(callee, f->n_rets + k), (uint32_t)s->size_bytes);
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
        const struct ptx_symbol *s = &self->ptx->module->symbols[self->ptx->first_param + k];
        copy_out(w, &site->rets[k], w->frames + frame, local, w->mask, w->local_base + formal_offset(self, k),
                 (uint32_t)s->size_bytes);
    }
    w->frame = frame;
    w->local_base = local;
    w->base[0] = w->frames + frame;
    return call + 1;
}
