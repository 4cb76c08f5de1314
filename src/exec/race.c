/* race: hazards on shared memory between barriers, as compute-sanitizer's racecheck reports them.
 *
 * Per byte of shared memory the last write and the last read since the last barrier of the block are kept:
 * which thread, which instruction, at which barrier epochs. Two accesses of different threads to the same
 * byte, at least one a plain write, with no barrier of the block between them, and, when both threads are of
 * one warp, no warp-level barrier either, are a hazard. Two atomics are none. Each pair of PTX lines is
 * reported once. */
#include <stdio.h>
#include <stdlib.h>

#include "exec/sites.h"

struct race_mark {
    uint32_t epoch, sync_epoch; /* of the block, of the warp */
    uint32_t pc;                /* instruction */
    uint16_t thread;
    uint8_t valid, atomic;
    const struct exec_func *func;
};

struct race_byte {
    struct race_mark write, read;
    bool many_readers; /* threads of several warps read */
};

struct race_state {
    struct exec_env *env;
    uint64_t bytes;
    struct race_byte at[];
};

struct race_log {
    struct map seen; /* pair of lines and kind */
    char *text;
    size_t len, cap;
    uint64_t count;
};

struct race_state *race_start(struct exec_env *env, uint64_t shared_bytes)
{
    struct race_state *r = calloc(1, sizeof *r + shared_bytes * sizeof r->at[0]);
    if (!r) diag_mistake("out of host memory for racecheck");
    r->env = env;
    r->bytes = shared_bytes;
    return r;
}

void race_end(struct race_state *r) { free(r); }

void race_log_free(struct race_log *log)
{
    if (!log) return;
    map_free(&log->seen);
    free(log->text);
    free(log);
}

static uint32_t line_of(const struct race_mark *m) { return m->func->ptx->instrs[m->pc].line; }

static void report(struct exec_warp *w, const char *kind, const struct race_mark *first,
                   const struct race_mark *second, const char *first_what, const char *second_what,
                   uint64_t address)
{
    struct exec_env *env = w->env;
    if (!env->races) {
        env->races = calloc(1, sizeof *env->races);
        if (!env->races) diag_mistake("out of host memory");
        map_init(&env->races->seen);
    }
    struct race_log *log = env->races;
    bool fresh;
    const uint64_t key = hash_u64((uint64_t)line_of(first) << 32 | line_of(second)) ^
                         hash_u64((uint64_t)kind[0] << 8 | (uint8_t)kind[6]) ^
                         (uint64_t)(uintptr_t)first->func;
    map_put(&log->seen, key, &fresh);
    if (!fresh) return;
    char text[1024];
    const uint32_t *c = w->block->ctaid;
    const int n = snprintf(text, sizeof text,
                           "%s hazard on shared memory at 0x%llx, kernel '%s', block (%u,%u,%u):\n"
                           "  thread %u %s at PTX line %u: %s\n"
                           "  thread %u %s at PTX line %u: %s\n"
                           "  with no barrier between them\n",
                           kind, (unsigned long long)address, w->block->launch->kernel->func->ptx->name, c[0],
                           c[1], c[2], first->thread, first_what, line_of(first),
                           ptx_spelling(first->func->ptx, &first->func->ptx->instrs[first->pc]),
                           second->thread, second_what, line_of(second),
                           ptx_spelling(second->func->ptx, &second->func->ptx->instrs[second->pc]));
    const size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    if (log->len + len + 1 > log->cap) {
        log->cap = 2 * log->cap + len + 4096;
        char *grown = realloc(log->text, log->cap);
        if (!grown) diag_mistake("out of host memory");
        log->text = grown;
    }
    memcpy(log->text + log->len, text, len + 1);
    log->len += len;
    log->count++;
}

/* Are the two unordered? */
static bool unordered(const struct race_mark *a, const struct race_mark *b)
{
    if (!a->valid || a->thread == b->thread || a->epoch != b->epoch) return false;
    const bool same_warp = a->thread / LANES == b->thread / LANES;
    return !same_warp || a->sync_epoch == b->sync_epoch;
}

void race_access(struct exec_warp *w, const struct insn *i, uint32_t lane, uint64_t address, uint32_t bytes,
                 bool write, bool atomic)
{
    struct race_state *r = w->block->race;
    const struct race_mark now = {.epoch = w->block->epoch,
                                  .sync_epoch = w->sync_epoch,
                                  .pc = i->pc,
                                  .thread = (uint16_t)(w->idx * LANES + lane),
                                  .valid = 1,
                                  .atomic = atomic,
                                  .func = exec_func_of(w->env, i)};
    for (uint64_t k = address; k < address + bytes && k < r->bytes; k++) {
        struct race_byte *b = &r->at[k];
        if (unordered(&b->write, &now) && !(b->write.atomic && atomic)) {
            if (write)
                report(w, "write-after-write", &b->write, &now, "writes", "writes", address);
            else
                report(w, "read-after-write", &b->write, &now, "writes", "reads", address);
        }
        if (write && unordered(&b->read, &now) && !(b->read.atomic && atomic))
            report(w, "write-after-read", &b->read, &now, "reads", "writes", address);
        if (write) {
            b->write = now;
            if (!atomic) continue;
        }
        /* A reader of another warp stays on record: it is the one that a later write of this warp meets. */
        const bool keep = b->read.valid && b->read.epoch == now.epoch &&
                          b->read.thread / LANES != now.thread / LANES && b->many_readers;
        if (b->read.valid && b->read.epoch == now.epoch && b->read.thread / LANES != now.thread / LANES)
            b->many_readers = true;
        if (b->read.epoch != now.epoch) b->many_readers = false;
        if (!keep) b->read = now;
    }
}

uint64_t exec_races(const struct exec_env *env) { return env->races ? env->races->count : 0; }

const char *exec_race_report(const struct exec_env *env)
{
    return env->races && env->races->text ? env->races->text : "";
}
