/* child: kernels that launch kernels (CUDA's dynamic parallelism, second version).
 *
 *   __cudaCDP2GetParameterBufferV2(kernel, grid, block, shared) ─► memory that the thread writes arguments to
 *   __cudaCDP2LaunchDeviceV2(buffer, stream) ─► exec_child, in the list of the launch that made it
 *
 * A child may begin when it is launched, or later: there is no way in CUDA for its parent to wait for it.
 * Whoever runs the parent takes the children from it when its grid has ended, and orders them by
 * exec_child_follows(). Streams and events that kernels make are numbers: what is launched to one block's
 * streams runs in the order of the calls, which is more order than events could ask for. */
#include "exec/sites.h"

#include <stdlib.h>

/* Of CUDA: error codes, streams with a meaning, how deep children may have children. */
enum { CUDA_SUCCESS = 0, CUDA_CONFIGURATION = 9, CUDA_MEMORY = 2, CUDA_DEPTH = 65, CUDA_VALUE = 1 };
enum { STREAM_TAIL = 3, STREAM_FIRE_AND_FORGET = 4, DEPTH_MOST = 24, THREADS_MOST = 1024 };

static void read_dim(const struct exec_warp *w, const struct call_site *call, uint32_t k, uint32_t lane,
                     uint32_t dim[3])
{
    const struct call_value *a = &call->args[k];
    if (k < call->n_args && a->is_param && a->bytes >= 12)
        local_read(w, lane, w->local_base + a->offset, dim, 12);
}

/* Memory for the arguments. NULL tells the program that it cannot be, and it calls no further. */
void child_buffer(struct exec_warp *w, uint32_t mask, const struct call_site *call)
{
    struct exec_env *env = w->env;
    FOR_LANES(lane, mask)
    {
        const struct ptx_func *f = exec_code_of(env, builtin_argument(w, call, 0, lane));
        struct exec_child *c = f && f->is_entry ? calloc(1, sizeof *c + f->param_bytes + 8) : NULL;
        if (!c) {
            builtin_result(w, call, lane, 0);
            continue;
        }
        c->kernel = f;
        read_dim(w, call, 1, lane, c->grid);
        read_dim(w, call, 2, lane, c->block);
        c->dynamic_shared_bytes = (uint32_t)builtin_argument(w, call, 3, lane);
        c->buffer =
            (uint64_t)devmem_alloc(env->memory, f->param_bytes + 8, 64, DEVMEM_HEAP, "child arguments");
        c->next = env->child_buffers;
        env->child_buffers = c;
        builtin_result(w, call, lane, c->buffer);
    }
}

static struct exec_child *take_buffer(struct exec_env *env, uint64_t buffer)
{
    for (struct exec_child **at = &env->child_buffers; *at; at = &(*at)->next) {
        struct exec_child *c = *at;
        if (c->buffer != buffer) continue;
        *at = c->next;
        c->next = NULL;
        return c;
    }
    return NULL;
}

static bool fits(const struct exec_child *c)
{
    bool fits = true;
    for (int k = 0; k < 3; k++) fits &= c->grid[k] && c->block[k] && c->block[k] <= THREADS_MOST;
    return fits && (uint64_t)c->block[0] * c->block[1] * c->block[2] <= THREADS_MOST;
}

static uint32_t launch(const struct exec_warp *w, uint64_t buffer, uint64_t stream)
{
    struct exec_env *env = w->env;
    struct exec_launch *parent = w->block->launch;
    struct exec_child *c = take_buffer(env, buffer);
    if (!c) return CUDA_VALUE;
    memcpy(c->params, (const void *)buffer, c->kernel->param_bytes);
    devmem_release_heap(env->memory, buffer);
    access_reset(env);
    c->stream = stream;
    c->block_idx = w->block->block_idx;
    const uint32_t error = parent->depth >= DEPTH_MOST ? CUDA_DEPTH
                           : fits(c)                   ? CUDA_SUCCESS
                                                       : CUDA_CONFIGURATION;
    if (error) {
        free(c);
        return error;
    }
    struct exec_child **at = &parent->children;
    if (parent->last_child) at = &parent->last_child->next;
    *at = parent->last_child = c;
    return CUDA_SUCCESS;
}

void child_launch(struct exec_warp *w, uint32_t mask, const struct call_site *call)
{
    FOR_LANES(lane, mask)
    {
        const uint32_t error =
            launch(w, builtin_argument(w, call, 0, lane), builtin_argument(w, call, 1, lane));
        if (error) w->env->child_error = error;
        builtin_result(w, call, lane, error);
    }
}

/* cudaGetLastError() of the device: the last one of all threads, which is more than a thread would see. */
void child_error(struct exec_warp *w, uint32_t mask, const struct call_site *call, bool forget)
{
    FOR_LANES(lane, mask) builtin_result(w, call, lane, w->env->child_error);
    if (forget) w->env->child_error = CUDA_SUCCESS;
}

/* A stream or an event: a number that no other has. */
void child_handle(struct exec_warp *w, const struct insn *i, uint32_t mask, const struct call_site *call)
{
    FOR_LANES(lane, mask)
    {
        const uint64_t handle = 256 + ++w->env->child_handles;
        lane_write(w, i, lane, builtin_argument(w, call, 0, lane), &handle, 8);
        builtin_result(w, call, lane, CUDA_SUCCESS);
    }
}

bool exec_child_is_tail(const struct exec_child *c) { return c->stream == STREAM_TAIL; }

bool exec_child_follows(const struct exec_child *later, const struct exec_child *earlier)
{
    if (later->stream == STREAM_TAIL) return true; /* after everything */
    if (earlier->stream == STREAM_TAIL) return false;
    if (later->stream == STREAM_FIRE_AND_FORGET || earlier->stream == STREAM_FIRE_AND_FORGET) return false;
    /* the default stream of a block and its other streams that block; see above for events */
    return later->block_idx == earlier->block_idx;
}

struct exec_child *exec_take_children(struct exec_launch *l)
{
    struct exec_child *first = l->children;
    l->children = l->last_child = NULL;
    return first;
}

void exec_children_free(struct exec_child *c)
{
    while (c) {
        struct exec_child *next = c->next;
        free(c);
        c = next;
    }
}
