/* raytrace: host script. The scene is a landscape of 4 x 2^depth triangles; the camera moves around it, one launch
 * per frame. The hierarchy is a complete binary tree over groups of four triangles in Morton order.
 *
 * Footprint: 2 x 2^depth nodes of 32 B, 4 x 2^depth triangles of 48 B, 64 materials of 16 B, and width x height
 * pixels of 16 B. CARVE: 150 MB.
 *
 * Structures: nodes and triangles are read-only and shared, the upper levels of the tree by all blocks, leaves by
 * the blocks whose rays and reflections reach them; the image is private. */
#include "workload.h"

enum { SEED_HEIGHT = 1, SEED_MATERIAL, SEED_COLOUR, MATERIALS = 64, BLOCK_X = 8, BLOCK_Y = 16, OCTAVES = 6 };
static const float T_MIN = 1e-5f, BOX_MARGIN = 1e-5f;

static const struct wl_param params[] = {
    {"depth", 13, 2, 24, 0, "levels of the tree below its root; 4 x 2^depth triangles"},
    {"width", 256, 1, 1 << 14, 0, "pixels of a row"},
    {"height", 128, 1, 1 << 14, 0, "rows"},
    {"bounces", 1, 0, 8, 0, "reflections of a ray"},
    {"frames", 1, 1, 1000, 0, "launches"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "depth=5,width=20,height=12,frames=2", NULL},
    {"carve", "depth=19,width=1024,height=1024", "CARVE, 150 MB"},
    {"carve_s8", "depth=16,width=512,height=256", "CARVE, 1/8: 19 MB"},
    {"carve_s32", "depth=14,width=256,height=128", "CARVE, 1/32: 4.7 MB"},
    {0},
};

/* As in the device code. */
struct node {
    float low[3];
    int32_t child;
    float high[3];
    int32_t count;
};

struct triangle {
    float corner[3];
    int32_t material;
    float edge1[3], pad1, edge2[3], pad2;
};

struct vec {
    float x, y, z;
};

struct view {
    float eye[3], forward[3], right[3], up[3], light[3];
};

struct scene {
    uint32_t depth, leaves;
    uint32_t columns, rows; /* squares of the landscape */
    float *heights;         /* (columns + 1) x (rows + 1) */
    struct node *nodes;
    int width, height, bounces;
    struct view view;
};

/* ---- the scene ---- */

/* A smooth function of random values on a lattice, 0 .. 1. */
static double noise(uint64_t octave, double x, double y)
{
    const uint64_t cx = (uint64_t)x, cy = (uint64_t)y;
    double fx = x - (double)cx, fy = y - (double)cy;
    fx = fx * fx * (3 - 2 * fx);
    fy = fy * fy * (3 - 2 * fy);
    double corner[4];
    for (uint64_t k = 0; k < 4; k++)
        corner[k] = (double)wl_f32(SEED_HEIGHT + 10 * octave, (cy + k / 2) * 4096 + cx + k % 2, 0, 1);
    return (corner[0] * (1 - fx) + corner[1] * fx) * (1 - fy) + (corner[2] * (1 - fx) + corner[3] * fx) * fy;
}

static float height_at(double x, double y)
{
    double sum = 0, amplitude = 0.2, lattice = 4;
    for (uint64_t octave = 0; octave < OCTAVES; octave++) {
        sum += amplitude * noise(octave, x * lattice, y * lattice);
        amplitude *= 0.45;
        lattice *= 2;
    }
    return (float)sum;
}

static struct vec vertex(const struct scene *s, uint32_t column, uint32_t row)
{
    return (struct vec){(float)column / (float)s->columns, (float)row / (float)s->rows,
                        s->heights[(uint64_t)row * (s->columns + 1) + column]};
}

/* Odd bits of a leaf's number give its column, even bits its row. A leaf has two squares of a row. */
static struct triangle triangle_at(const struct scene *s, uint64_t number)
{
    uint32_t column = 0, row = 0;
    for (uint32_t bit = 0; bit < s->depth; bit++)
        *(bit & 1 ? &column : &row) |= (uint32_t)(number >> 2 >> bit & 1) << (bit / 2);
    column = 2 * column + (number >> 1 & 1);
    const bool upper = number & 1;
    const struct vec a = vertex(s, column + upper, row + upper), b = vertex(s, column + !upper, row + upper),
                     c = vertex(s, column + upper, row + !upper);
    return (struct triangle){.corner = {a.x, a.y, a.z},
                             .material = (int32_t)wl_below(SEED_MATERIAL, number, MATERIALS),
                             .edge1 = {b.x - a.x, b.y - a.y, b.z - a.z},
                             .edge2 = {c.x - a.x, c.y - a.y, c.z - a.z}};
}

static void widen(struct node *n, const float *low, const float *high)
{
    for (int c = 0; c < 3; c++) {
        n->low[c] = fminf(n->low[c], low[c]);
        n->high[c] = fmaxf(n->high[c], high[c]);
    }
}

/* Root: node 1. Children of node k: 2k and 2k + 1. Leaves: the second half. */
static void build_tree(struct wl *w, struct scene *s)
{
    s->nodes = wl_scratch(w, sizeof *s->nodes * 2 * s->leaves);
    for (uint32_t k = 2 * s->leaves - 1; k >= 1; k--) {
        struct node *n = s->nodes + k;
        *n = (struct node){.low = {9, 9, 9}, .high = {-9, -9, -9}};
        if (k < s->leaves) {
            n->child = (int32_t)(2 * k);
            for (uint32_t c = 2 * k; c <= 2 * k + 1; c++) widen(n, s->nodes[c].low, s->nodes[c].high);
            continue;
        }
        n->child = (int32_t)(4 * (k - s->leaves));
        n->count = 4;
        for (uint32_t t = 0; t < 4; t++) {
            const struct triangle tri = triangle_at(s, (uint64_t)n->child + t);
            for (int corner = 0; corner < 3; corner++) {
                float at[3];
                for (int c = 0; c < 3; c++)
                    at[c] = tri.corner[c] + (corner == 1 ? tri.edge1[c] : corner == 2 ? tri.edge2[c] : 0);
                widen(n, at, at);
            }
        }
        /* A box contains every hit that the rounded test of a triangle accepts. */
        for (int c = 0; c < 3; c++) {
            n->low[c] -= BOX_MARGIN;
            n->high[c] += BOX_MARGIN;
        }
    }
}

static void fill_nodes(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    __builtin_memcpy(to, (const char *)((const struct scene *)arg)->nodes + first, bytes);
}

static void fill_triangles(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const uint64_t size = sizeof(struct triangle);
    for (uint64_t k = first; k < first + bytes; k += 4) { /* 64 KiB cut through a triangle */
        const struct triangle t = triangle_at(arg, k / size);
        __builtin_memcpy((char *)to + (k - first), (const char *)&t + k % size, 4);
    }
}

static float colour_of(uint64_t material, uint64_t channel)
{
    return wl_f32(SEED_COLOUR, material * 4 + channel, 0.1f, 1);
}

static struct view view_of(int frame)
{
    const double angle = 0.1 + 0.05 * frame, c = cos(angle), s = sin(angle);
    return (struct view){.eye = {(float)(0.5 - 0.8 * c), (float)(0.5 - 0.8 * s), 0.9f},
                         .forward = {(float)c, (float)s, -1.0f},
                         .right = {(float)(-0.7 * s), (float)(0.7 * c), 0.01f},
                         .up = {(float)(0.62 * c), (float)(0.62 * s), 0.62f},
                         .light = {0.48f, 0.36f, 0.8f}};
}

/* ---- reference: every ray against every triangle, in the device's arithmetic ---- */

static struct vec vec_of(const float *f) { return (struct vec){f[0], f[1], f[2]}; }
static float dot(struct vec a, struct vec b) { return fmaf(a.x, b.x, fmaf(a.y, b.y, a.z * b.z)); }
static struct vec cross(struct vec a, struct vec b)
{
    return (struct vec){fmaf(a.y, b.z, -(a.z * b.y)), fmaf(a.z, b.x, -(a.x * b.z)),
                        fmaf(a.x, b.y, -(a.y * b.x))};
}
static struct vec along(struct vec a, float by, struct vec b)
{
    return (struct vec){fmaf(by, b.x, a.x), fmaf(by, b.y, a.y), fmaf(by, b.z, a.z)};
}

static float intersect(const struct triangle *t, struct vec origin, struct vec direction)
{
    const struct vec e1 = vec_of(t->edge1), e2 = vec_of(t->edge2), p = cross(direction, e2);
    const float volume = dot(e1, p), sign = volume < 0 ? -1 : 1, det = volume * sign;
    if (det < 1e-20f) return INFINITY;
    const struct vec s = {origin.x - t->corner[0], origin.y - t->corner[1], origin.z - t->corner[2]};
    const float u = dot(s, p) * sign;
    const struct vec q = cross(s, e1);
    const float v = dot(direction, q) * sign;
    if (u < 0 || u > det || v < 0 || v > det || u > det - v) return INFINITY;
    const float distance = dot(e2, q) * sign / det;
    return distance > T_MIN ? distance : INFINITY;
}

static int64_t closest(const struct scene *s, struct vec origin, struct vec direction, float *distance)
{
    int64_t best = -1;
    *distance = INFINITY;
    for (uint64_t k = 0; k < 4 * (uint64_t)s->leaves; k++) {
        const struct triangle tri = triangle_at(s, k);
        const float t = intersect(&tri, origin, direction);
        if (t >= *distance) continue;
        *distance = t;
        best = (int64_t)k;
    }
    return best;
}

static double expected(const void *arg, uint64_t at)
{
    const struct scene *s = arg;
    const int px = (int)(at / 4 % (uint64_t)s->width), py = (int)(at / 4 / (uint64_t)s->width);
    const uint64_t channel = at % 4;
    static const double sky[3] = {0.5, 0.7, 1.0};
    const float sx = ((float)px + 0.5f) / (float)s->width - 0.5f;
    const float sy = ((float)py + 0.5f) / (float)s->height - 0.5f;
    const struct vec light = vec_of(s->view.light);
    struct vec origin = vec_of(s->view.eye);
    struct vec direction =
        along(along(vec_of(s->view.forward), sx, vec_of(s->view.right)), sy, vec_of(s->view.up));
    double sum = 0, weight = 1;
    for (int bounce = 0; bounce <= s->bounces; bounce++) {
        float distance, ignored;
        const int64_t hit = closest(s, origin, direction, &distance);
        if (channel == 3) return hit < 0 ? 0 : (double)distance;
        if (hit < 0) return sum + weight * sky[channel];
        const struct triangle tri = triangle_at(s, (uint64_t)hit);
        struct vec normal = cross(vec_of(tri.edge1), vec_of(tri.edge2));
        const float facing = dot(direction, normal), square = dot(normal, normal);
        if (facing > 0) normal = (struct vec){-normal.x, -normal.y, -normal.z};
        origin = along(origin, distance, direction);
        float lit = dot(normal, light);
        if (lit <= 0 || closest(s, origin, light, &ignored) >= 0) lit = 0;
        sum += weight * (0.2 + 0.8 * (double)lit / sqrt((double)square)) *
               (double)colour_of((uint64_t)tri.material, channel);
        weight *= 0.4;
        direction = along(direction, 2.0f * fabsf(facing) / square, normal);
    }
    return sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t leaves = (uint64_t)1 << wl_param(w, "depth");
    return 2 * leaves * sizeof(struct node) + 4 * leaves * sizeof(struct triangle) + MATERIALS * 16 +
           16 * (uint64_t)wl_param(w, "width") * (uint64_t)wl_param(w, "height");
}

static void run(struct wl *w)
{
    struct scene *s = wl_scratch(w, sizeof *s);
    s->depth = (uint32_t)wl_param(w, "depth");
    s->leaves = 1u << s->depth;
    s->columns = 2u << (s->depth / 2);
    s->rows = 1u << ((s->depth + 1) / 2);
    s->heights = wl_scratch(w, 4 * (uint64_t)(s->columns + 1) * (s->rows + 1));
    for (uint32_t row = 0; row <= s->rows; row++)
        for (uint32_t column = 0; column <= s->columns; column++)
            s->heights[(uint64_t)row * (s->columns + 1) + column] =
                height_at((double)column / s->columns, (double)row / s->rows);
    build_tree(w, s);
    s->width = (int)wl_param(w, "width");
    s->height = (int)wl_param(w, "height");
    s->bounces = (int)wl_param(w, "bounces");
    const uint64_t pixels = (uint64_t)s->width * (uint64_t)s->height, leaves = s->leaves;
    const int frames = (int)wl_param(w, "frames");
    float colours[MATERIALS * 4];
    for (uint64_t k = 0; k < MATERIALS * 4; k++) colours[k] = colour_of(k / 4, k % 4);
    struct node *nodes = wl_input(w, "nodes", 2 * leaves * sizeof *nodes, fill_nodes, s);
    struct triangle *triangles = wl_input(w, "triangles", 4 * leaves * sizeof *triangles, fill_triangles, s);
    float *materials = wl_alloc(w, "materials", sizeof colours), *image = wl_alloc(w, "image", 16 * pixels);
    void *camera = wl_variable(w, "camera", sizeof s->view);
    wl_write(w, materials, colours, sizeof colours);
    const struct wl_dim grid = wl_dim(wl_blocks(s->width, BLOCK_X), wl_blocks(s->height, BLOCK_Y));
    wl_measure(w);
    for (int frame = 0; frame < frames; frame++) {
        s->view = view_of(frame);
        wl_write(w, camera, &s->view, sizeof s->view);
        WL_LAUNCH(w, "raytrace_frame", grid, wl_dim(BLOCK_X, BLOCK_Y), nodes, triangles, materials, image,
                  s->width, s->height, s->bounces);
        wl_check_f32(w, &(struct wl_check){.name = "image",
                                           .output = image,
                                           .count = 4 * pixels,
                                           .reference = expected,
                                           .arg = s,
                                           .cost = 8 * leaves * (uint64_t)(s->bounces + 1),
                                           .relative = 1e-4,
                                           .absolute = 1e-5});
    }
}

WORKLOAD(raytrace, .suite = "OptiX", .sharing = "-",
         .description = "ray tracing of a landscape through a tree of boxes, a launch per frame",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
