/* race: hazards on shared memory between barriers, as compute-sanitizer's racecheck reports them.
 *
 * Per byte of shared memory the last write and two reads since the last barrier of the block are kept: which
 * thread, which instruction, at which barrier epochs. Two reads suffice to know of any later writer whether
 * another thread read before it: see note_read(). Two accesses of different threads to the same
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
    struct race_mark write, read, other_read; /* other_read: of another thread than read, or not valid */
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

/* "  thread 3 reads at k.ptx:12 (k.cu:7): ld.shared.u32"; returns how long. */
static size_t put_access(char *to, size_t room, const struct race_mark *m, const char *what)
{
    const struct ptx_func *f = m->func->ptx;
    const struct ptx_instr *i = &f->instrs[m->pc];
    uint32_t line = 0;
    char source[512] = "";
    const char *file = ptx_loc_file(f->module, i, &line);
    if (file) (void)snprintf(source, sizeof source, " (%s:%u)", file, line);
    const int n = snprintf(to, room, "  thread %u %s at %s:%u%s: %s\n", m->thread, what,
                           f->module->source->name, i->line, source, ptx_spelling(f, i));
    return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

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
    char text[2048];
    const uint32_t *c = w->block->ctaid;
    int n = snprintf(
        text, sizeof text, "%s hazard on shared memory at 0x%llx, kernel '%s', block (%u,%u,%u):\n", kind,
        (unsigned long long)address, w->block->launch->kernel->func->ptx->name, c[0], c[1], c[2]);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    len += put_access(text + len, sizeof text - len, first, first_what);
    len += put_access(text + len, sizeof text - len, second, second_what);
    n = snprintf(text + len, sizeof text - len, "  with no barrier between them\n");
    len += n < 0 ? 0 : (size_t)n < sizeof text - len ? (size_t)n : sizeof text - len - 1;
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

/* Readers of two warps on record meet every writer: they stay. Of one warp, the latest and another thread
 * since the same barrier of the warp do, since the writer is at most one of the two; earlier ones are
 * ordered. */
static void note_read(struct race_byte *b, const struct race_mark *now)
{
    const struct race_mark *last = &b->read, *other = &b->other_read;
    if (!last->valid || last->epoch != now->epoch) {
        b->other_read.valid = 0;
    } else if (last->thread / LANES != now->thread / LANES) {
        if (other->valid && other->thread / LANES != last->thread / LANES) return;
        b->other_read = *last;
    } else if (other->valid && other->thread / LANES != last->thread / LANES) {
        return;
    } else if (last->sync_epoch != now->sync_epoch) {
        b->other_read.valid = 0;
    } else if (last->thread != now->thread) {
        b->other_read = *last;
    }
    b->read = *now;
}

/* Reports the read if nothing orders it before the write 'now'. */
static bool read_before(struct exec_warp *w, const struct race_mark *read, const struct race_mark *now,
                        uint64_t address)
{
    if (!unordered(read, now) || (read->atomic && now->atomic)) return false;
    report(w, "write-after-read", read, now, "reads", "writes", address);
    return true;
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
        if (write && !read_before(w, &b->read, &now, address))
            (void)read_before(w, &b->other_read, &now, address);
        if (write) b->write = now;
        if (!write || atomic) note_read(b, &now);
    }
}

uint64_t exec_races(const struct exec_env *env) { return env->races ? env->races->count : 0; }

const char *exec_race_report(const struct exec_env *env)
{
    return env->races && env->races->text ? env->races->text : "";
}
