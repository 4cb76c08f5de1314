/* handles: which pointers the library has given out, so that a wrong one is an error code, not a crash. */
#include <stdlib.h>

#include "frontend/cudart/process.h"

struct slot {
    const void *pointer;
    enum handle_kind kind; /* HANDLE_NONE with a pointer: dropped */
};
static struct {
    struct slot *slots;
    size_t capacity, used; /* a power of two */
} table;

static size_t slot_of(const void *pointer)
{
    size_t at = ((uintptr_t)pointer >> 4) * 0x9e3779b97f4a7c15u & (table.capacity - 1);
    while (table.slots[at].pointer && table.slots[at].pointer != pointer)
        at = (at + 1) & (table.capacity - 1);
    return at;
}

static bool grow(void)
{
    struct slot *old = table.slots;
    const size_t count = table.capacity, capacity = count ? 2 * count : 256;
    struct slot *fresh = calloc(capacity, sizeof *fresh);
    if (!fresh) return false;
    table.slots = fresh;
    table.capacity = capacity;
    table.used = 0;
    for (size_t i = 0; i < count; i++)
        if (old[i].kind != HANDLE_NONE) {
            fresh[slot_of(old[i].pointer)] = old[i];
            table.used++;
        }
    free(old);
    return true;
}

bool handle_add(const void *pointer, enum handle_kind kind)
{
    if (table.used * 2 >= table.capacity && !grow()) return false;
    struct slot *s = &table.slots[slot_of(pointer)];
    if (!s->pointer) table.used++;
    *s = (struct slot){pointer, kind};
    return true;
}

void handle_drop(const void *pointer)
{
    if (table.capacity) table.slots[slot_of(pointer)].kind = HANDLE_NONE;
}

bool handle_is(const void *pointer, enum handle_kind kind)
{
    return pointer && table.capacity && table.slots[slot_of(pointer)].pointer == pointer &&
           table.slots[slot_of(pointer)].kind == kind;
}
