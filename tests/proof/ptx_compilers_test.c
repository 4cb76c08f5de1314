/* What clang and nvcc emit, at several levels of optimisation and debugging, parses completely: no unknown
 * instruction, a control-flow graph and slots for every function, and the modules link. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "ptx/flow.h"

#define NVCC "/usr/local/cuda/bin/nvcc"

struct job {
    struct arena arena;
    const char *path;
    uint64_t n_instrs;
    uint32_t n_entries, n_debug_lines;
    bool want_lines;
};

static bool nothing_special(const struct ptx_instr *i)
{
    (void)i;
    return true;
}

static void parse_and_analyse(void *arg)
{
    struct job *j = arg;
    struct ptx_module *m = ptx_parse_file(&j->arena, j->path);
    struct ptx_uncovered *list;
    static const struct ptx_ability all = {.instruction = nothing_special};
    if (ptx_coverage(&j->arena, &m, 1, &all, &list))
        diag_mistake("unknown: %s", ptx_coverage_text(&j->arena, &m, 1, &all));
    for (uint32_t i = 0; i < m->n_funcs; i++) {
        const struct ptx_func *f = m->funcs[i];
        if (!f->has_body) continue;
        const struct ptx_cfg *c = ptx_cfg_build(&j->arena, f);
        const struct ptx_defuse *du = ptx_defuse_build(&j->arena, f);
        const struct ptx_slots *s = ptx_slots_build(&j->arena, c, du);
        if (f->n_regs && s->max_live_32 > 2 * f->n_regs) diag_bug("test", 0, "more live than there are");
        (void)ptx_uniform_build(&j->arena, c, du, f->is_entry);
        for (uint32_t pc = 0; pc < f->n_instrs; pc++)
            j->n_debug_lines += ptx_loc_file(m, &f->instrs[pc], NULL) != NULL;
    }
    const struct ptx_program *p = ptx_link(&j->arena, &m, 1);
    for (uint32_t i = 0; i < p->n_entries; i++) (void)ptx_shared_layout(&j->arena, p, p->entries[i]);
    j->n_entries = p->n_entries;
    j->n_instrs = m->n_instrs;
}

static void check(const char *command, const char *path, uint32_t entries, bool want_lines)
{
    FILE *out = popen(command, "r");
    assert_non_null(out);
    char said[4000];
    const size_t n = fread(said, 1, sizeof said - 1, out);
    said[n] = '\0';
    if (pclose(out)) fail_msg("%s\n%s", command, said);
    struct job j = {.path = path};
    struct diag d;
    arena_init(&j.arena);
    diag_init(&d);
    if (diag_run(&d, parse_and_analyse, &j)) fail_msg("%s\n%s", command, d.text);
    assert_int_equal(j.n_entries, entries);
    assert_true(j.n_instrs > 100);
    if (want_lines) assert_true(j.n_debug_lines > j.n_instrs / 2);
    diag_clear(&d);
    arena_free(&j.arena);
    (void)unlink(path);
}

static void what_clang_emits_parses(void **state)
{
    (void)state;
    if (system("clang --version >/dev/null 2>&1")) skip();
    static const char *const levels[] = {"-O0", "-O1", "-O2", "-O2 -g", "-O1 -gline-tables-only"};
    char path[64], command[512];
    (void)snprintf(path, sizeof path, "/tmp/atoll_clang_%d.ptx", (int)getpid());
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        (void)snprintf(
            command, sizeof command,
            "clang -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/nonexistent -S %s "
            "--cuda-gpu-arch=sm_70 -Xclang -target-feature -Xclang +ptx75 -Wno-unknown-cuda-version "
            "tests/reference/ptx/clang_sample.cu -o %s 2>&1",
            levels[i], path);
        check(command, path, 1, i >= 3);
    }
}

static void what_nvcc_emits_parses(void **state)
{
    (void)state;
    if (access(NVCC, X_OK)) skip();
    static const char *const levels[] = {"-arch=sm_80", "-arch=sm_90 -G", "-arch=sm_80 -lineinfo -Xcicc -O0"};
    char path[64], command[512];
    (void)snprintf(path, sizeof path, "/tmp/atoll_nvcc_%d.ptx", (int)getpid());
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        (void)snprintf(command, sizeof command,
                       NVCC " -std=c++17 -ptx %s tests/reference/ptx/nvcc_sample.cu -o %s 2>&1", levels[i],
                       path);
        check(command, path, 10, i >= 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_clang_emits_parses),
        cmocka_unit_test(what_nvcc_emits_parses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
