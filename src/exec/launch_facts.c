/* launch_facts: facts of a PTX launch; see launch_facts.h. */
#include "exec/launch_facts.h"

#include <string.h>

#include "base/map.h"
#include "exec/exec.h"

static uint64_t key_of(const struct exec_launch *l, const char *name)
{
    const uint64_t kernel = hash_bytes(name, strlen(name), 0);
    return hash_bytes(l->grid, sizeof l->grid, hash_bytes(l->block, sizeof l->block, kernel));
}

struct launch_facts launch_facts_of(const struct exec_launch *l, uint32_t app, uint32_t registers_per_thread)
{
    const char *const name = exec_kernel_ptx(l->kernel)->name;
    return (struct launch_facts){.name = name,
                                 .key = key_of(l, name),
                                 .app = app,
                                 .grid = {l->grid[0], l->grid[1], l->grid[2]},
                                 .block = {l->block[0], l->block[1], l->block[2]},
                                 .blocks = l->block_count,
                                 .shared_bytes = l->shared_bytes,
                                 .threads_per_block = l->threads_per_block,
                                 .warps_per_block = l->warps_per_block,
                                 .registers_per_thread = registers_per_thread,
                                 .cooperative = l->cooperative,
                                 .launch = l};
}

bool launch_allocation(const struct launch_facts *l, size_t number, uint64_t *base, uint64_t *bytes)
{
    const struct devmem *memory = l->launch ? exec_memory(l->launch->env) : NULL;
    if (!memory || number >= memory->count) return false;
    const struct devmem_alloc *a = &memory->allocs[number];
    *base = a->sim;
    *bytes = a->freed ? 0 : a->hi - a->lo;
    return true;
}

bool launch_allocation_lives(const struct launch_facts *l, uint64_t allocated)
{
    const struct devmem *memory = l->launch ? exec_memory(l->launch->env) : NULL;
    for (size_t k = 0; memory && k < memory->count; k++)
        if (memory->allocs[k].serial == allocated) return !memory->allocs[k].freed;
    return false;
}

uint32_t launch_memory_generation(const struct launch_facts *l)
{
    const struct devmem *memory = l->launch ? exec_memory(l->launch->env) : NULL;
    return memory ? memory->generation + (uint32_t)memory->serial : 0;
}

uint32_t launch_structure_of(const struct launch_arrays *a, uint64_t address)
{
    uint32_t below = LAUNCH_NO_ARRAY, above = LAUNCH_NO_ARRAY;
    for (uint32_t k = 0; a && k < a->count; k++) {
        const struct launch_array *s = &a->array[k];
        if (!s->bytes || address - s->allocation >= s->base - s->allocation + s->bytes) continue;
        if (s->base <= address) {
            if (below == LAUNCH_NO_ARRAY || s->base > a->array[below].base) below = k;
        } else if (above == LAUNCH_NO_ARRAY || s->base < a->array[above].base) {
            above = k;
        }
    }
    return below != LAUNCH_NO_ARRAY ? below : above;
}
