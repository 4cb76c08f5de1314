/* check_private: the state of --check. Included only by the files of check/. */
#ifndef ATOLL_CHECK_PRIVATE_H
#define ATOLL_CHECK_PRIVATE_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/map.h"
#include "check/check.h"

enum { CHECK_WORDS = 32, CHECK_WARPS = 256 };

/* One store to one line. Version 0 is the data of the host. */
struct version {
    uint64_t line; /* key */
    uint64_t block, issue_cyc, ack_cyc;
    uint32_t kernel;
    uint16_t sm, generation;
    uint8_t warp;
    bool acknowledged;
    bool kept; /* in a remote data cache: its home does not have it yet, or had not */
};

/* Newest acknowledged versions at the end of a cycle. */
struct acknowledged {
    uint64_t cyc;
    uint32_t version[CHECK_WORDS];
};

/* The reference state of a line, independent of caches. */
struct line {
    uint64_t key;                /* app << 56 | virtual line */
    uint64_t frame;              /* physical line + 1; 0: no request was sent yet */
    uint32_t *newest;            /* newest issued version per word; NULL: never written */
    struct acknowledged *states; /* oldest first */
    uint32_t state_count, state_capacity;
    bool moved;                        /* copies in L1s may belong to an earlier frame of the line */
    uint32_t read_only_in, written_in; /* last kernel (from 1) that read it as read-only; that wrote it */
};

/* Contents of a frame in memory. */
struct memory_line {
    uint64_t key;                 /* key + 1 of the line in this frame; 0: none yet */
    uint32_t now[CHECK_WORDS];    /* versions that memory has accepted */
    uint32_t coming[CHECK_WORDS]; /* versions written to memory, accepted or not */
    uint32_t *performed;          /* united: newest versions that a slice of any node has; NULL: none */
};

/* A copy of a line, or the data of a request. */
struct copy {
    uint64_t frame; /* physical line + 1 of the data; 0: no copy */
    uint64_t bytes[2];
    uint32_t version[CHECK_WORDS];
};

struct request_copy {
    struct copy data;  /* data of the reply */
    struct line *line; /* NULL: the request is not in flight */
    uint64_t frame;    /* physical line + 1 to which the request was sent */
    uint64_t bytes[2];
    uint32_t version; /* version of a store */
    uint32_t sm;
    struct kept *kept; /* bytes of a remote data cache: the stores in them; data has the versions */
    bool stays;        /* a store that a remote data cache keeps: a later request acknowledges it */
};

/* A store that a remote data cache keeps. */
struct kept {
    struct kept *next;
    struct line *line;
    uint64_t bytes[2];
    uint32_t version;
};

/* The versions that a load must see, determined at its issue. */
struct ticket {
    struct ticket *next;
    struct line *line;
    uint64_t block, issue_cyc;
    uint32_t words; /* mask */
    uint8_t warp;
    uint32_t must[CHECK_WORDS], newest[CHECK_WORDS];
};

struct check_sm {
    uint64_t acquire_cyc;  /* cycle of the last acquire point of this SM */
    struct ticket **loads; /* by the SM's number of the load */
    uint32_t *unsent;      /* versions issued and not sent; oldest first */
    uint32_t unsent_count, unsent_capacity;
    uint32_t last_sent; /* request */
    struct {
        uint32_t stores, last; /* stores not acknowledged; version of the last store */
        uint16_t generation;
    } warps[CHECK_WARPS];
};

struct check_place {
    struct check *check;
    const char *name;
    struct copy *coming;            /* data that a remote data cache has read for the line; NULL: none does */
    struct copy *copies, *arriving; /* arriving: data of pending memory reads, at the memory side only */
    uint32_t lines;
    bool coherent;
    struct check_place *next;
};

struct check {
    struct arena arena;
    struct map lines;  /* from key to struct line */
    struct map memory; /* from physical line to struct memory_line */
    struct version *versions;
    uint32_t version_count, version_capacity;
    const char **kernels;
    uint32_t kernel_count, kernel_capacity;
    struct check_sm *sms;
    uint32_t sm_count;
    struct request_copy *requests;
    struct ticket *free_tickets;
    struct check_place *places;
    struct check_sparse *sparse;
    struct kept *free_kept;
    bool expects_stale, cumulative;
    struct observation { /* a load read a store that was not answered */
        uint64_t block, cyc;
        uint32_t sm, version;
    } * observations;
    uint32_t observation_count, observation_capacity;
    uint64_t unacknowledged;
    bool replicas, united; /* check_replicas() */
    struct check_counts counts;
};

static inline uint32_t check_words_of(const uint64_t bytes[2])
{
    uint32_t words = 0;
    for (uint32_t w = 0; w < CHECK_WORDS; w++)
        if (bytes[w / 16] >> (w % 16 * 4) & 15) words |= 1u << w;
    return words;
}

static inline uint32_t check_words_in(uint8_t sectors)
{
    uint32_t words = 0;
    for (uint32_t s = 0; s < 4; s++)
        if (sectors >> s & 1) words |= 0xffu << (8 * s);
    return words;
}

static inline bool check_has_word(const struct copy *copy, uint32_t w)
{
    return (copy->bytes[w / 16] >> (w % 16 * 4) & 15) == 15;
}

/* failure.c: human-readable names of versions and readers; the arena of the check holds the text. */
const char *check_describe(struct check *c, uint32_t version);
const char *check_reader(struct check *c, uint32_t sm, uint32_t warp, uint64_t block);
_Noreturn void check_stale(struct check *c, uint64_t now, const char *reader, uint64_t key, uint32_t word,
                           const char *place, uint32_t seen, uint32_t must, const char *why);
_Noreturn void check_wrong(struct check *c, uint64_t now, uint64_t key, uint32_t word, const char *place,
                           const char *what);

/* check.c */
struct line *check_line(struct check *c, uint64_t key);
/* The newest acknowledged version of a word. */
uint32_t check_acknowledged(const struct line *l, uint32_t word);
void check_acknowledge(struct check *c, struct line *l, uint32_t version, const uint64_t bytes[2],
                       uint64_t now);
/* sparse.c */
/* Memory gets what remote data caches keep at the end of a run. */
void check_sparse_finish(struct check *c);
void check_sparse_free_all(struct check *c);
/* copies.c */
void check_store(struct check *c, const char *place, struct copy *copy, uint32_t request, uint64_t now);
struct memory_line *check_memory_line(struct check *c, uint64_t frame);
/* True if the version is not 0 and belongs to another line. */
static inline bool check_is_foreign(const struct check *c, uint32_t version, uint64_t key)
{
    return version && c->versions[version].line != key;
}

#endif
