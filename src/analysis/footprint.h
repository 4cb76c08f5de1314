/* footprint: what a block touches through a row of the locality table, as spans of bytes from the start of
 * the structure. Private to analysis/. */
#ifndef ATOLL_ANALYSIS_FOOTPRINT_H
#define ATOLL_ANALYSIS_FOOTPRINT_H

#include "analysis/index.h"
#include "analysis/spans.h"
#include "exec/launch_pattern.h"

struct sizing {
    struct arena *arena;
    const struct symbolic *s;
    const struct locality_launch *l;
    struct spans *all, *own, *work; /* work: two of them */
};

/* ---- footprint.c: one row at a point of a launch ---- */

enum {
    THREAD_DEPS = DEP_TX | DEP_TY | DEP_TZ | DEP_LANE,
    BLOCK_DEPS = DEP_BX | DEP_BY | DEP_BZ,
};

/* How the block's threads lie to each other. */
struct threads {
    bool linear, known;
    int64_t step[3];
};

/* Places of the row's elements, as far as they are constants of the launch. */
uint32_t footprint_places(struct arena *arena, const struct locality_row *row, struct index_point *n,
                          int64_t **out);
/* Is what the loop adds in the places already? */
bool footprint_is_in_places(const struct symbolic *s, const struct locality_row *row,
                            const struct symbolic_loop *l);
/* Does the expression go by lines over these (DEP_*)? */
bool footprint_linear_in(const struct expr *e, uint32_t which);
/* Does the loop move every thread by the same? a[tx*k] it does not. */
bool footprint_moves_alike(const struct expr *index, const struct atom *iv);
/* The index without constants of the launch: those are in the places. */
bool footprint_index(const struct locality_row *row, struct index_point *n, int64_t *v);
/* How far it goes when *thing goes up by one, or in one iteration of a loop. False: not known. */
bool footprint_distance(const struct locality_row *row, struct index_point *n, int64_t *thing, int64_t *d);
int64_t footprint_loop_distance(const struct locality_row *row, struct index_point *n, const struct atom *iv);
/* What a loop adds that does not go by a line: every iteration's own place. False: too many. */
bool footprint_repeat(const struct locality_row *row, struct index_point *n, const struct atom *iv,
                      uint64_t trips, struct spans *s);
struct threads footprint_threads(const struct locality_row *row, struct index_point *n);
/* From what the first thread touches to what the block does. */
void footprint_add_threads(const struct locality_row *row, struct index_point *n, const struct threads *t,
                           struct spans *s, struct spans *work);

/* ---- footprint_block.c ---- */

/* All that a block touches in all iterations: at least that, where bounds differ between threads. False: not
 * known. Also how far the next block in each direction lies; *linear: every block lies so. */
bool footprint_of_block(struct sizing *z, const struct locality_row *row, const int64_t bid[3],
                        struct spans *out, int64_t distance[3], bool *linear);

/* Every block touches the same bytes, moved by a multiple of its coordinates. */
bool footprint_blocks_alike(const struct expr *index);
/* Bits of the loops around a loop, that loop included. */
uint64_t footprint_loops_around(const struct sizing *z, uint32_t loop);
/* Loops that end before the access and count in its index (bits `ended`): true if how often they run depends on
 * the launch and on loops around the access only; *by receives the latter. */
bool footprint_ended_by(const struct sizing *z, uint64_t ended, uint64_t around, uint64_t *by);
/* Largest number of iterations of a loop, over all threads and blocks. 0: not known. */
uint64_t footprint_trips(const struct sizing *z, const struct locality_row *row, uint32_t loop);
/* The places of the row's accesses are numbers of the launch. */
bool footprint_places_are_known(const struct locality_row *row, struct index_point *n);
/* Adds the spans of every constant that the index chooses from. False: other choices are in the index. */
bool footprint_repeat_choices(const struct expr *index, struct spans *s);

/* ---- pattern.c ---- */

/* The bytes that each block touches through a row, as a mixed-radix number; the pieces are of the arena.
 * array_bytes limits loops whose iterations are not known. *any: bits of the coordinates that are not in the
 * index. False: the index is not linear, depends on data, or has too many digits. */
bool pattern_of_row(struct sizing *z, const struct locality_row *row, uint64_t array_bytes,
                    struct launch_pattern *out, uint8_t *any);

/* Patterns and touched bytes of all arguments, whose base and bytes are known. */
void pattern_put_all(struct arena *arena, const struct symbolic *s, struct locality_table *t,
                     const struct locality_launch *l);

/* overlap.c: of what one block touches of the argument's structure, most bytes that another touches too. */
void overlap_find(struct sizing *z, struct locality_table *t);

#endif
