/* unsupported: a weak answer for every function that CUDA's libraries export; the files that implement one
 * override it. So every program links, and a call that cannot be served says so once and goes on. */
#include <string.h>

#include "frontend/cudart/process.h"

cudaError_t unsupported(const char *name)
{
    enum { MOST = 128 };
    static const char *said[MOST];
    static size_t count;
    enter_quietly();
    bool fresh = true;
    for (size_t i = 0; i < count; i++) fresh &= strcmp(said[i], name) != 0;
    if (fresh && count < MOST) {
        said[count++] = name;
        complain("%s is not supported: it returns %s", name,
                 strncmp(name, "cuda", 4) ? "CUDA_ERROR_NOT_SUPPORTED" : "cudaErrorNotSupported");
    }
    return leave(cudaErrorNotSupported);
}

#define NAME(name) \
    CUDA_API __attribute__((weak)) cudaError_t name(void); \
    CUDA_API __attribute__((weak)) cudaError_t name(void) { return unsupported(#name); }
#include "frontend/cudart/driver_names.def"
#include "frontend/cudart/names.def"
#undef NAME
