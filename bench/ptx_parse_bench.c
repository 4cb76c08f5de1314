/* ptx_parse_bench: a 50 MB module through parse, decode and control-flow graph.
 *
 * Requirement: under 3 s and under 1 GB of resident memory on one core. The module is made in memory
 * (ptx_module.h).
 *
 *   ptx_parse_bench [MB]      default 50 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/arena.h"
#include "ptx/cfg.h"
#include "ptx/flow.h"
#include "ptx_module.h"

static double cpu_seconds(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static double rss_mb(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static void run(void *arg)
{
    const struct diag_source *source = arg;
    struct arena arena;
    arena_init(&arena);
    const double t0 = cpu_seconds();
    const struct ptx_module *m = ptx_parse(&arena, source);
    const double t1 = cpu_seconds();
    uint64_t blocks = 0, loops = 0;
    for (uint32_t i = 0; i < m->n_funcs; i++) {
        if (!m->funcs[i]->has_body) continue;
        const struct ptx_cfg *c = ptx_cfg_build(&arena, m->funcs[i]);
        blocks += c->n_blocks;
        loops += c->n_loops;
    }
    const double t2 = cpu_seconds();
    const double mb = (double)source->len_bytes / 1e6;
    printf("module            %.1f MB, %u functions, %llu instructions, %llu blocks, %llu loops\n", mb,
           m->n_funcs, (unsigned long long)m->n_instrs, (unsigned long long)blocks,
           (unsigned long long)loops);
    printf("parse and decode  %.3f s  %.0f MB/s  %.2f M instructions/s\n", t1 - t0, mb / (t1 - t0),
           (double)m->n_instrs / 1e6 / (t1 - t0));
    printf("control flow      %.3f s\n", t2 - t1);
    printf("together          %.3f s  (limit 3 s)   resident %.0f MB (limit 1000 MB, text included)\n",
           t2 - t0, rss_mb());
    uint64_t uniform = 0, regs = 0;
    uint32_t most = 0;
    struct arena scratch;
    arena_init(&scratch);
    for (uint32_t i = 0; i < m->n_funcs; i++) {
        if (!m->funcs[i]->has_body) continue;
        arena_reset(&scratch);
        const struct ptx_cfg *c = ptx_cfg_build(&scratch, m->funcs[i]);
        const struct ptx_defuse *du = ptx_defuse_build(&scratch, m->funcs[i]);
        const struct ptx_slots *s = ptx_slots_build(&scratch, c, du);
        const struct ptx_uniform *u = ptx_uniform_build(&scratch, c, du, m->funcs[i]->is_entry);
        if (s->max_live_32 > most) most = s->max_live_32;
        regs += m->funcs[i]->n_regs;
        for (uint32_t r = 0; r < m->funcs[i]->n_regs; r++) uniform += u->reg[r];
    }
    printf("data flow of all  %.3f s  (not in the limit: most live registers %u, uniform %.0f %%)\n",
           cpu_seconds() - t2, most, 100.0 * (double)uniform / (double)regs);
    arena_free(&scratch);
    arena_free(&arena);
}

int main(int argc, char **argv) { return module_bench(argc, argv, run); }
