/* raytrace: one launch per frame, a thread per pixel. The thread traces a ray through a bounding volume hierarchy
 * with a stack of its own, shades the closest hit, traces a shadow ray, and follows mirror reflections. Nodes,
 * triangles and materials are read-only and shared; a thread writes its pixel only.
 *
 * The reference of the host intersects all triangles without the hierarchy. Hits must therefore agree to the bit:
 * every product that is added to something is an explicit fmaf(), so that no compiler may contract it otherwise. */
#include "device.h"

#define STACK_MAX 32
#define T_MIN     1e-5f

struct node { /* child: left child, right child follows; or first triangle if count > 0 */
    float low[3];
    int child;
    float high[3];
    int count;
};

struct triangle { /* corner, two edges from it */
    float corner[3];
    int material;
    float edge1[3], pad1, edge2[3], pad2;
};

struct vec {
    float x, y, z;
};

struct view {
    float eye[3], forward[3], right[3], up[3], light[3];
};

__constant__ view camera;

static __device__ __forceinline__ vec vec_of(const float *f) { return vec{f[0], f[1], f[2]}; }
static __device__ __forceinline__ float dot(vec a, vec b)
{
    return fmaf(a.x, b.x, fmaf(a.y, b.y, a.z * b.z));
}
static __device__ __forceinline__ vec cross(vec a, vec b)
{
    return vec{fmaf(a.y, b.z, -(a.z * b.y)), fmaf(a.z, b.x, -(a.x * b.z)), fmaf(a.x, b.y, -(a.y * b.x))};
}
static __device__ __forceinline__ vec along(vec a, float by, vec b)
{
    return vec{fmaf(by, b.x, a.x), fmaf(by, b.y, a.y), fmaf(by, b.z, a.z)};
}

/* Distance at which the ray enters the box; INFINITY: it does not before `limit`. */
static __device__ __forceinline__ float enter(const node *box, vec origin, vec inverse, float limit)
{
    const float x0 = (box->low[0] - origin.x) * inverse.x, x1 = (box->high[0] - origin.x) * inverse.x;
    const float y0 = (box->low[1] - origin.y) * inverse.y, y1 = (box->high[1] - origin.y) * inverse.y;
    const float z0 = (box->low[2] - origin.z) * inverse.z, z1 = (box->high[2] - origin.z) * inverse.z;
    const float from = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), 0.0f));
    const float to = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fminf(fmaxf(z0, z1), limit));
    return from <= to ? from : INFINITY;
}

/* Distance of the hit; INFINITY: none. */
static __device__ __forceinline__ float intersect(const triangle *t, vec origin, vec direction)
{
    const vec e1 = vec_of(t->edge1), e2 = vec_of(t->edge2), p = cross(direction, e2);
    float det = dot(e1, p);
    const float sign = det < 0.0f ? -1.0f : 1.0f;
    det *= sign;
    if (det < 1e-20f) return INFINITY;
    const vec s = vec{origin.x - t->corner[0], origin.y - t->corner[1], origin.z - t->corner[2]};
    const float u = dot(s, p) * sign;
    if (u < 0.0f || u > det) return INFINITY;
    const vec q = cross(s, e1);
    const float v = dot(direction, q) * sign;
    if (v < 0.0f || v > det || u > det - v)
        return INFINITY; /* products with +-1 are exact, contracted or not */
    const float distance = dot(e2, q) * sign / det;
    return distance > T_MIN ? distance : INFINITY;
}

static __device__ __forceinline__ float away_from_zero(float f)
{
    return fabsf(f) < 1e-12f ? (f < 0.0f ? -1e-12f : 1e-12f) : f;
}

/* Closest hit, smallest number among equally close ones; -1: none. With any: the first hit found. */
static __device__ int trace(const node *nodes, const triangle *triangles, vec origin, vec direction, bool any,
                            float *distance)
{
    const vec inverse = vec{1.0f / away_from_zero(direction.x), 1.0f / away_from_zero(direction.y),
                            1.0f / away_from_zero(direction.z)};
    int stack[STACK_MAX], depth = 0, at = 1, best = -1;
    float closest = INFINITY;
    for (;;) {
        const node *n = nodes + at;
        const int child = n->child, count = n->count;
        if (count > 0) {
            for (int k = child; k < child + count; k++) {
                const float t = intersect(triangles + k, origin, direction);
                if (t < closest || (t == closest && t < INFINITY && k < best)) {
                    closest = t;
                    best = k;
                }
            }
            if (any && best >= 0) break;
        } else {
            const float left = enter(nodes + child, origin, inverse, closest);
            const float right = enter(nodes + child + 1, origin, inverse, closest);
            const int near = left <= right ? child : child + 1;
            if (fmaxf(left, right) < INFINITY) stack[depth++] = near ^ 1; /* siblings differ in bit 0 */
            if (fminf(left, right) < INFINITY) {
                at = near;
                continue;
            }
        }
        if (depth == 0) break;
        at = stack[--depth];
    }
    *distance = closest;
    return best;
}

extern "C" __global__ void raytrace_frame(const node *nodes, const triangle *triangles,
                                          const float4 *materials, float4 *image, int width, int height,
                                          int bounces)
{
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    const float sx = ((float)px + 0.5f) / (float)width - 0.5f, sy = ((float)py + 0.5f) / (float)height - 0.5f;
    const vec light = vec_of(camera.light);
    vec origin = vec_of(camera.eye);
    vec direction = along(along(vec_of(camera.forward), sx, vec_of(camera.right)), sy, vec_of(camera.up));
    float red = 0.0f, green = 0.0f, blue = 0.0f, weight = 1.0f, depth = 0.0f;
    for (int bounce = 0; bounce <= bounces; bounce++) {
        float distance;
        const int hit = trace(nodes, triangles, origin, direction, false, &distance);
        if (hit < 0) {
            red = fmaf(weight, 0.5f, red);
            green = fmaf(weight, 0.7f, green);
            blue = fmaf(weight, 1.0f, blue);
            break;
        }
        if (bounce == 0) depth = distance;
        vec normal = cross(vec_of(triangles[hit].edge1), vec_of(triangles[hit].edge2));
        const float facing = dot(direction, normal), square = dot(normal, normal);
        if (facing > 0.0f) normal = vec{-normal.x, -normal.y, -normal.z};
        origin = along(origin, distance, direction);
        float lit = dot(normal, light);
        if (lit > 0.0f) {
            float ignored;
            if (trace(nodes, triangles, origin, light, true, &ignored) >= 0) lit = 0.0f;
        } else {
            lit = 0.0f;
        }
        const float shade = weight * fmaf(0.8f, lit / sqrtf(square), 0.2f);
        const float4 colour = materials[triangles[hit].material];
        red = fmaf(shade, colour.x, red);
        green = fmaf(shade, colour.y, green);
        blue = fmaf(shade, colour.z, blue);
        weight *= 0.4f;
        direction = along(direction, 2.0f * fabsf(facing) / square, normal);
    }
    image[py * width + px] = make_float4(red, green, blue, depth);
}
