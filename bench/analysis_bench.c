/* analysis_bench: both analyses of every kernel of a large module.
 *
 * Requirement: a 50 MB module in seconds, time near-linear in the size of the module.
 *
 *   analysis_bench [MB]      default 50 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analysis/index.h"
#include "analysis/readonly.h"
#include "ptx_module.h"

static double cpu_seconds(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void run(void *arg)
{
    const struct diag_source *source = arg;
    struct arena arena, work;
    struct frame_cache frames;
    struct readonly readonly;
    struct rusage used;
    arena_init(&arena);
    arena_init(&work);
    struct ptx_module *m = ptx_parse(&arena, source);
    (void)ptx_link(&arena, &m, 1);
    frame_cache_init(&frames, &arena);
    readonly_init(&readonly, &arena, &frames);
    const double t0 = cpu_seconds();
    uint32_t kernels = 0, origins = 0;
    for (uint32_t k = 0; k < m->n_funcs; k++)
        if (m->funcs[k]->is_entry && m->funcs[k]->has_body)
            origins += readonly_of(&readonly, m->funcs[k])->n_origins;
    const double t1 = cpu_seconds();
    uint64_t accesses = 0, rows = 0, loops = 0;
    for (uint32_t k = 0; k < m->n_funcs; k++) {
        if (!m->funcs[k]->is_entry || !m->funcs[k]->has_body) continue;
        struct symbolic *s = symbolic_run(&work, &frames, m->funcs[k]);
        const struct locality_table *t = index_build(&work, s, m->funcs[k]);
        kernels++;
        accesses += s->n_accesses;
        loops += s->n_loops;
        rows += t->n_rows;
        symbolic_free(s);
        arena_reset(&work);
    }
    const double t2 = cpu_seconds();
    (void)getrusage(RUSAGE_SELF, &used);
    printf("module          %.1f MB, %llu instructions, %u kernels\n", (double)source->len_bytes / 1e6,
           (unsigned long long)m->n_instrs, kernels);
    printf("read-only data  %.3f s  (%u pointers)\n", t1 - t0, origins);
    printf("index analysis  %.3f s  (%llu accesses, %llu loops, %llu rows)\n", t2 - t1,
           (unsigned long long)accesses, (unsigned long long)loops, (unsigned long long)rows);
    printf("together        %.3f s  %.0f ns per instruction  resident %.0f MB\n", t2 - t0,
           1e9 * (t2 - t0) / (double)m->n_instrs, (double)used.ru_maxrss / 1024);
    readonly_free(&readonly);
    frame_cache_free(&frames);
    arena_free(&work);
    arena_free(&arena);
}

int main(int argc, char **argv) { return module_bench(argc, argv, run); }
