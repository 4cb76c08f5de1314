/* dram_frames: which frames of a GPU's memory are free.
 *
 * A frame is map.page_size bytes of memory. Under a fixed-channel map the frame chooses the channel, under
 * the page_move map the channel index (in all stacks); that choice is the frame's class, and placement
 * policies ask for it. The other maps have one class. Within a class frames are handed out row first: the
 * columns of a row, then the other banks, then the next row, so that neighbouring pages share open rows. */
#ifndef ATOLL_DRAM_FRAMES_H
#define ATOLL_DRAM_FRAMES_H

#include "dram/dram_map.h"

struct dram_frames;

struct dram_frames *dram_frames_new(struct arena *a, const struct dram_map *map);
uint32_t dram_frames_classes(const struct dram_frames *f);
uint64_t dram_frames_per_class(const struct dram_frames *f);
uint64_t dram_frames_used(const struct dram_frames *f, uint32_t class_idx);
uint32_t dram_frames_class_of(const struct dram_frames *f, uint64_t address);

/* False when the class is full; else *address is the frame's first byte. */
bool dram_frames_try_take(struct dram_frames *f, uint32_t class_idx, uint64_t *address);
/* Takes a frame back; it is the next to be handed out. */
void dram_frames_give(struct dram_frames *f, uint64_t address);

#endif
