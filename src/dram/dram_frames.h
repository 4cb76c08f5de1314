/* dram_frames: the free frames of a chiplet's memory.
 *
 * A frame is map.page_size bytes of memory. Its colour is what its address bits select above the page: under
 * a fixed-channel map the channel, under the page_move map the channel index in all stacks. The other maps
 * have one colour. Placement policies choose colours (page colouring). Within a colour frames are handed out
 * row first: the columns of a row, then the other banks, then the next row, so that neighbouring pages share
 * open rows. */
#ifndef ATOLL_DRAM_FRAMES_H
#define ATOLL_DRAM_FRAMES_H

#include "dram/dram_map.h"

struct dram_frames;

struct dram_frames *dram_frames_new(struct arena *a, const struct dram_map *map);
/* The top `bytes` of the memory are never handed out. Precondition: one colour, no frame was handed out, a multiple
 * of the page size. */
void dram_frames_reserve(struct dram_frames *f, uint64_t bytes);
uint32_t dram_frames_colours(const struct dram_frames *f);
uint64_t dram_frames_per_colour(const struct dram_frames *f);
uint64_t dram_frames_used(const struct dram_frames *f, uint32_t colour);
uint32_t dram_frames_colour_of(const struct dram_frames *f, uint64_t address);

/* False: the colour has no free frame. Else *address is the frame's first byte. */
bool dram_frames_try_take(struct dram_frames *f, uint32_t colour, uint64_t *address);
/* The frame is free again; it is the next of its colour to be handed out. */
void dram_frames_give(struct dram_frames *f, uint64_t address);

#endif
