/* registry: the bundled workloads, as CMake found them, and what is known about each. */
#include "frontend/script/script_private.h"

#include <string.h>

size_t script_bundled_count(void)
{
    size_t n = 0;
    while (script_registry[n]) n++;
    return n;
}

const struct workload *script_bundled(size_t i)
{
    DIAG_ASSERT(i < script_bundled_count());
    return script_registry[i];
}

static bool has_word(const char *words, const char *word)
{
    const size_t len = strlen(word);
    for (const char *at = words; at && len && (at = strstr(at, word)); at += len)
        if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0')) return true;
    return false;
}

const struct workload *script_find(const char *name)
{
    for (size_t i = 0; script_registry[i]; i++)
        if (strcmp(script_registry[i]->name, name) == 0) return script_registry[i];
    for (size_t i = 0; script_registry[i]; i++)
        if (has_word(script_registry[i]->aliases, name)) return script_registry[i];
    return NULL;
}

struct script_info script_info(const struct workload *workload)
{
    return (struct script_info){
        .name = workload->name,
        .suite = workload->suite ? workload->suite : "-",
        .sharing = workload->sharing ? workload->sharing : "-",
        .description = workload->description ? workload->description : "",
        .footprint_bytes = script_footprint_bytes(workload, "small"),
    };
}

uint64_t script_footprint_bytes(const struct workload *workload, const char *size)
{
    struct script_app app = {.wl.calls = &script_calls, .workload = workload};
    const struct diag_source source = {"size", size, strlen(size)};
    spec_apply(workload, source, 0, source.len_bytes, app.values);
    return workload->footprint_bytes ? workload->footprint_bytes(&app.wl) : 0;
}
