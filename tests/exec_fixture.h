/* exec_fixture: a PTX text, linked into an environment with memory of its own, for tests that look into it.
 *
 *     struct exec_fixture x;
 *     exec_fixture_open(&x, ptx, LANES_PLAIN);        raises mistakes of the text
 *     exec_kernel_get(x.env, ptx_find_entry(x.program, "k")) ...
 *     exec_fixture_close(&x); */
#ifndef ATOLL_TESTS_EXEC_FIXTURE_H
#define ATOLL_TESTS_EXEC_FIXTURE_H

#include <string.h>

#include "exec/exec.h"

struct exec_fixture {
    struct arena arena;
    struct devmem memory;
    struct exec_env *env;
    const struct ptx_program *program;
};

static inline void exec_fixture_open(struct exec_fixture *x, const char *ptx, enum lanes_isa isa)
{
    const struct diag_source source = {"test.ptx", ptx, strlen(ptx)};
    const struct exec_options options = {.isa = isa};
    arena_init(&x->arena);
    devmem_init(&x->memory, 0, 0);
    x->env = exec_env_create(&x->memory, &options);
    struct ptx_module *m = ptx_parse(&x->arena, &source);
    x->program = ptx_link(&x->arena, &m, 1);
    exec_env_link(x->env, x->program);
}

static inline void exec_fixture_close(struct exec_fixture *x)
{
    exec_env_destroy(x->env);
    devmem_free(&x->memory);
    arena_free(&x->arena);
}

#endif
