/* shard: the part of a long proof that a run of the tests checks. The commit selects the shard, so that successive
 * commits check all of them. ATOLL_SHARDS=all checks every shard (make proof), ATOLL_SHARDS=7 checks shard 7. */
#ifndef ATOLL_TESTS_SHARD_H
#define ATOLL_TESTS_SHARD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t shard_of_commit(uint32_t shards)
{
    char commit[16] = "0";
    FILE *f = popen("git rev-parse --short=6 HEAD 2>/dev/null", "r");
    if (f) {
        if (!fgets(commit, sizeof commit, f)) commit[0] = '0';
        (void)pclose(f);
    }
    return (uint32_t)(strtoul(commit, NULL, 16) % shards);
}

/* True if this run checks the shard `k`, counted modulo `shards`. Prints the choice at its first call. */
static inline bool shard_is_chosen(uint32_t k, uint32_t shards)
{
    static uint32_t chosen = UINT32_MAX;
    const char *const named = getenv("ATOLL_SHARDS");
    if (named && !strcmp(named, "all")) return true;
    if (chosen == UINT32_MAX) {
        chosen = named ? (uint32_t)strtoul(named, NULL, 10) % shards : shard_of_commit(shards);
        printf("shard %u of %u (ATOLL_SHARDS=%u checks it again, ATOLL_SHARDS=all checks every shard)\n",
               chosen, shards, chosen);
    }
    return k % shards == chosen;
}

#endif
