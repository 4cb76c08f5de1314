/* dram_frames: see dram_frames.h. */
#include "dram/dram_frames.h"

#include "base/diag.h"

struct frame_colour {
    uint64_t fresh_count; /* frames handed out that were never handed out before */
    uint64_t returned_count;
    uint32_t *returned; /* their numbers; allocated at the first return */
};

struct dram_frames {
    const struct dram_map *map;
    struct arena *arena;
    uint64_t per_colour;
    uint8_t order[DRAM_MAP_BITS_MAX]; /* address bit of bit i of a frame's number */
    uint32_t order_count;
    uint8_t colour_bits[DRAM_MAP_BITS_MAX]; /* address bit of bit i of the colour */
    uint32_t colour_bit_count;
    struct frame_colour *colours;
};

static void order_bits(struct dram_frames *f, enum dram_field field)
{
    const struct dram_map *m = f->map;
    for (uint32_t bit = m->page_bits; bit < m->bits; bit++)
        if (m->layout[bit].field == field) f->order[f->order_count++] = (uint8_t)bit;
}

struct dram_frames *dram_frames_new(struct arena *a, const struct dram_map *map)
{
    struct dram_frames *f = ARENA_NEW(a, struct dram_frames);
    f->map = map;
    f->arena = a;
    if (map->colour_count == 1) {
        /* no choice of channel: by address */
        for (uint32_t bit = map->page_bits; bit < map->bits; bit++) f->order[f->order_count++] = (uint8_t)bit;
    } else {
        order_bits(f, DRAM_FIELD_COLUMN);
        order_bits(f, DRAM_FIELD_BANK);
        order_bits(f, DRAM_FIELD_ROW);
        for (uint32_t bit = map->page_bits; bit < map->bits; bit++)
            if (map->layout[bit].field == DRAM_FIELD_CHANNEL)
                f->colour_bits[f->colour_bit_count++] = (uint8_t)bit;
    }
    DIAG_ASSERT(UINT64_C(1) << f->colour_bit_count == map->colour_count);
    f->per_colour = (map->size_bytes >> map->page_bits) / map->colour_count;
    f->colours = ARENA_ARRAY(a, struct frame_colour, map->colour_count);
    return f;
}

void dram_frames_reserve(struct dram_frames *f, uint64_t bytes)
{
    const uint64_t frames = bytes >> f->map->page_bits;
    DIAG_ASSERT(!bytes || f->map->colour_count == 1);
    DIAG_ASSERT(frames << f->map->page_bits == bytes && frames < f->per_colour);
    f->per_colour -= frames;
}

uint32_t dram_frames_colours(const struct dram_frames *f) { return f->map->colour_count; }
uint64_t dram_frames_per_colour(const struct dram_frames *f) { return f->per_colour; }

uint64_t dram_frames_used(const struct dram_frames *f, uint32_t colour)
{
    return f->colours[colour].fresh_count - f->colours[colour].returned_count;
}

static uint64_t spread(const uint8_t *bits, uint32_t count, uint64_t value)
{
    uint64_t address = 0;
    for (uint32_t i = 0; i < count; i++) address |= (value >> i & 1) << bits[i];
    return address;
}

static uint64_t gather(const uint8_t *bits, uint32_t count, uint64_t address)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; i++) value |= (address >> bits[i] & 1) << i;
    return value;
}

uint32_t dram_frames_colour_of(const struct dram_frames *f, uint64_t address)
{
    return (uint32_t)gather(f->colour_bits, f->colour_bit_count, address);
}

bool dram_frames_try_take(struct dram_frames *f, uint32_t colour, uint64_t *address)
{
    DIAG_ASSERT(colour < f->map->colour_count);
    struct frame_colour *c = &f->colours[colour];
    uint64_t number;
    if (c->returned_count)
        number = c->returned[--c->returned_count];
    else if (c->fresh_count < f->per_colour)
        number = c->fresh_count++;
    else
        return false;
    *address = spread(f->order, f->order_count, number) | spread(f->colour_bits, f->colour_bit_count, colour);
    return true;
}

void dram_frames_give(struct dram_frames *f, uint64_t address)
{
    struct frame_colour *c = &f->colours[dram_frames_colour_of(f, address)];
    const uint64_t number = gather(f->order, f->order_count, address);
    DIAG_ASSERT(number < c->fresh_count && c->returned_count < c->fresh_count);
    if (!c->returned) c->returned = ARENA_ARRAY(f->arena, uint32_t, f->per_colour);
    c->returned[c->returned_count++] = (uint32_t)number;
}
