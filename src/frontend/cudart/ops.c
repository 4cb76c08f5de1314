/* ops: what a stream does: each operation checked when it is submitted, its time, and what it does. */
#include <stdlib.h>
#include <string.h>

#include "frontend/cudart/process.h"

/* ---- which launches are timed: --kernels A,B and --launches 3-7,9 ---- */

static bool names_kernel(const char *list, const struct kernel *k)
{
    for (const char *at = list; *at;) {
        const size_t len = strcspn(at, ",");
        const char *found = memmem(k->label, strlen(k->label), at, len);
        if (len && (found || (strlen(k->name) == len && !strncmp(k->name, at, len)))) return true;
        at += len + (at[len] == ',');
    }
    return false;
}

static bool has_number(const char *list, uint64_t number)
{
    for (const char *at = list; *at;) {
        char *end;
        const uint64_t from = strtoull(at, &end, 10);
        const uint64_t to = *end == '-' ? strtoull(end + 1, &end, 10) : from;
        if (number >= from && number <= to) return true;
        at = end + strcspn(end, ",");
        at += *at == ',';
    }
    return false;
}

static bool is_timed(const struct kernel *k)
{
    const struct options *o = &process.options;
    if (o->kernels && !names_kernel(o->kernels, k)) return false;
    return !o->launches || has_number(o->launches, process.launch_count);
}

/* ---- kernels ---- */

static cudaError_t error_of(enum atoll_fault fault)
{
    switch (fault) {
    case ATOLL_FAULT_NONE: break;
    case ATOLL_FAULT_SHAPE: return cudaErrorInvalidConfiguration;
    case ATOLL_FAULT_COOPERATIVE: return cudaErrorCooperativeLaunchTooLarge;
    case ATOLL_FAULT_RESOURCES: return cudaErrorLaunchOutOfResources;
    case ATOLL_FAULT_ADDRESS: return cudaErrorIllegalAddress;
    case ATOLL_FAULT_MISALIGNED: return cudaErrorMisalignedAddress;
    case ATOLL_FAULT_ASSERT: return cudaErrorAssert;
    case ATOLL_FAULT_INSTRUCTION: return cudaErrorIllegalInstruction;
    case ATOLL_FAULT_TRAP:
    case ATOLL_FAULT_OTHER: return cudaErrorLaunchFailure;
    }
    return cudaSuccess;
}

/* A launch that cannot be is refused at once; what goes wrong inside shows when the host next looks. */
cudaError_t kernel_flight(const struct stream *s, const struct op *op, int device, atoll_flight **flight)
{
    struct kernel *k = op->launch.kernel;
    struct atoll_launched done;
    atoll_kernel *code;
    const cudaError_t error = kernel_code(k, device, &code);
    if (error) return error;
    process.launch_count++;
    const bool timed = !process.options.functional && is_timed(k);
    const struct atoll_launch launch = {.kernel = code,
                                        .grid = {op->launch.grid.x, op->launch.grid.y, op->launch.grid.z},
                                        .block = {op->launch.block.x, op->launch.block.y, op->launch.block.z},
                                        .shared_bytes = op->launch.shared,
                                        .cooperative = op->launch.cooperative,
                                        .functional = !timed,
                                        .packed = op->launch.params ? op->launch.params : "",
                                        .packed_bytes = op->launch.param_bytes,
                                        .label = k->label,
                                        .priority = s ? -s->priority : 0, /* CUDA: the smaller goes first */
                                        .number = process.launch_count};
    const atoll_status status = atoll_flight_new(process.atoll, &launch, &done, flight);
    if (status) return atoll_error(status, error_of(done.fault));
    process.timed_count += timed;
    return cudaSuccess;
}

cudaError_t kernel_fault(atoll_status status, enum atoll_fault fault)
{
    const cudaError_t code = atoll_error(status, error_of(fault));
    if (code == cudaErrorIllegalAddress)
        complain(
            "a real GPU notices only what is outside of 2 MiB pages in use; -s runtime.exact_addresses=false "
            "does as it does");
    return code;
}

/* ---- copies and fills ---- */

static bool on_device(const void *at)
{
    const struct block *b = block_of(at);
    if (b) return b->type == MEMORY_DEVICE;
    return atoll_memory_find(process.atoll, at, 1, NULL, NULL) || atoll_memory_reserved(process.atoll, at);
}

int copy_kind(const struct copy *c)
{
    if (c->kind != COPY_DEFAULT) return c->kind;
    return (on_device(c->from) ? 2 : 0) + (on_device(c->to) ? 1 : 0);
}

/* Bytes from the first to behind the last one that is touched; more than any memory has: SIZE_MAX. */
static size_t span(size_t width, size_t height, size_t depth, size_t pitch, size_t slice)
{
    size_t rows, slices, bytes;
    if (__builtin_mul_overflow(height - 1, pitch, &rows) ||
        __builtin_mul_overflow(depth - 1, slice, &slices) || __builtin_add_overflow(rows, slices, &bytes) ||
        __builtin_add_overflow(bytes, width, &bytes))
        return SIZE_MAX;
    return bytes;
}

static bool is_device_range(const void *at, size_t bytes)
{
    return atoll_memory_find(process.atoll, at, bytes, NULL, NULL);
}

enum engine copy_engine(const struct copy *c, double *seconds)
{
    const struct atoll_properties *p = &process.props;
    const double bytes = (double)(c->width * c->height * c->depth);
    *seconds = p->host_latency_seconds + bytes / p->host_bytes_per_second;
    if (bytes <= 0) *seconds = 0;
    switch (copy_kind(c)) {
    case COPY_HOST_DEVICE: return ENGINE_TO_DEVICE;
    case COPY_DEVICE_HOST: return ENGINE_TO_HOST;
    case COPY_HOST_HOST: *seconds = 0; return ENGINE_NONE;
    default:
        *seconds = 2 * bytes / p->memory_bytes_per_second;
        return ENGINE_ON_DEVICE; /* read and written */
    }
}

static cudaError_t check_copy(const struct copy *c)
{
    const int kind = copy_kind(c);
    if (!c->width || !c->height || !c->depth) return cudaSuccess;
    if (kind < 0 || kind > COPY_DEFAULT) return cudaErrorInvalidMemcpyDirection;
    if ((c->height > 1 || c->depth > 1) && (c->width > c->to_pitch || c->width > c->from_pitch))
        return cudaErrorInvalidPitchValue;
    const bool to_device = kind == COPY_HOST_DEVICE || kind == COPY_DEVICE_DEVICE;
    const bool from_device = kind == COPY_DEVICE_HOST || kind == COPY_DEVICE_DEVICE;
    const size_t to_bytes = span(c->width, c->height, c->depth, c->to_pitch, c->to_slice);
    const size_t from_bytes = span(c->width, c->height, c->depth, c->from_pitch, c->from_slice);
    const bool to_fits = to_device ? is_device_range(c->to, to_bytes) : to_bytes != SIZE_MAX;
    const bool from_fits = from_device ? is_device_range(c->from, from_bytes) : from_bytes != SIZE_MAX;
    if (c->to && c->from && to_fits && from_fits) return cudaSuccess;
    complain("copy of %zu x %zu x %zu bytes from %p to %p: %s", c->width, c->height, c->depth,
             (const void *)c->from, (void *)c->to,
             !c->to || !c->from ? "a null pointer"
             : !to_fits         ? "the destination is not inside one allocation of the device"
                                : "the source is not inside one allocation of the device");
    return cudaErrorInvalidValue;
}

static void move(const struct copy *c, char *to, size_t to_pitch, size_t to_slice, const char *from,
                 size_t from_pitch, size_t from_slice)
{
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memmove(to + z * to_slice + y * to_pitch, from + z * from_slice + y * from_pitch, c->width);
}

bool copy_stage(struct copy *c)
{
    const size_t slice = c->width * c->height;
    if (!c->width || !c->height || !c->depth) return true;
    c->staged = malloc(slice * c->depth);
    if (!c->staged) return false;
    move(c, c->staged, c->width, slice, c->from, c->from_pitch, c->from_slice);
    return true;
}

static void do_copy(const struct copy *c)
{
    if (c->staged)
        move(c, c->to, c->to_pitch, c->to_slice, c->staged, c->width, c->width * c->height);
    else
        move(c, c->to, c->to_pitch, c->to_slice, c->from, c->from_pitch, c->from_slice);
}

static void fill_row(char *to, const struct cudaMemsetParams *p)
{
    if (p->elementSize == 1) {
        memset(to, (int)p->value, p->width);
        return;
    }
    for (size_t x = 0; x < p->width; x++) memcpy(to + x * p->elementSize, &p->value, p->elementSize);
}

static cudaError_t check_set(const struct op *op)
{
    const struct cudaMemsetParams *p = &op->set.p;
    const size_t row = p->width * p->elementSize;
    if (!row || !p->height || !op->set.depth) return cudaSuccess;
    const size_t bytes = span(row, p->height, op->set.depth, p->pitch, op->set.slice);
    if (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) return cudaErrorInvalidValue;
    if (p->dst && is_device_range(p->dst, bytes)) return cudaSuccess;
    complain("fill of %zu bytes at %p: not inside one allocation", bytes, p->dst);
    return cudaErrorInvalidValue;
}

static void do_set(const struct op *op)
{
    const struct cudaMemsetParams *p = &op->set.p;
    for (size_t z = 0; z < op->set.depth; z++)
        for (size_t y = 0; y < p->height; y++) fill_row((char *)p->dst + z * op->set.slice + y * p->pitch, p);
}

enum engine set_engine(const struct op *op, double *seconds)
{
    const struct cudaMemsetParams *p = &op->set.p;
    *seconds = (double)(p->width * p->elementSize * p->height * op->set.depth) /
               process.props.memory_bytes_per_second;
    return ENGINE_ON_DEVICE;
}

/* ---- the others ---- */

/* Without the lock: the function may wait for another thread of the program. */
static void run_host(struct stream *s, const struct op *op)
{
    const cudaError_t status = process.sticky ? process.sticky : process.pending;
    show_prints();
    go_outside(true);
    if (op->callback)
        op->callback(!s || s == &process.devices[s->device].legacy ? NULL : (cudaStream_t)s, status,
                     op->host.userData);
    else
        op->host.fn(op->host.userData);
    go_outside(false);
}

cudaError_t op_check(const struct op *op)
{
    if (op->kind == OP_COPY) return check_copy(&op->copy);
    if (op->kind == OP_SET) return check_set(op);
    if (op->kind != OP_CONDITIONAL) return cudaSuccess;
    complain("conditional nodes of graphs are not supported");
    return cudaErrorNotSupported;
}

void op_effect(struct stream *s, struct op *op, int device)
{
    (void)device;
    if (op->kind == OP_COPY) do_copy(&op->copy);
    if (op->kind == OP_SET) do_set(op);
    if (op->kind == OP_HOST) run_host(s, op);
    if (op->kind == OP_RELEASE) (void)block_drop(op->freed);
}

void op_free(struct op *op)
{
    if (op->kind == OP_KERNEL) free(op->launch.params);
    op->launch.params = NULL;
    free(op->copy.staged);
    op->copy.staged = NULL;
}

cudaError_t op_copy_of(struct op *copy, const struct op *op)
{
    *copy = *op;
    if (op->kind != OP_KERNEL || !op->launch.params) return cudaSuccess;
    copy->launch.params = malloc(op->launch.param_bytes + 1);
    if (!copy->launch.params) return cudaErrorMemoryAllocation;
    memcpy(copy->launch.params, op->launch.params, op->launch.param_bytes);
    return cudaSuccess;
}

cudaError_t op_submit(struct stream *s, struct op *op)
{
    if (!s) {
        op_free(op);
        return cudaErrorInvalidResourceHandle;
    }
    if (s->capture_status != CAPTURE_NONE) return graph_capture(s, op);
    const cudaError_t forbidden = capture_forbids_legacy(s);
    if (forbidden) {
        op_free(op);
        return forbidden;
    }
    return task_submit(s, s->device, op, NULL, 0, NULL);
}
