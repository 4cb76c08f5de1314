/* errors: the last error of a thread, names and texts. */
#include <string.h>

#include "frontend/cudart/process.h"

static const struct {
    cudaError_t code;
    const char *name, *driver_name, *text;
} rows[] = {
#define ERROR(name, value, driver_name, text) {value, #name, driver_name, text},
#include "frontend/cudart/errors.def"
#undef ERROR
};

static size_t row_of(cudaError_t code)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code) return i;
    return SIZE_MAX;
}

CUDA_API const char *cudaGetErrorName(cudaError_t code)
{
    const size_t i = row_of(code);
    return i == SIZE_MAX ? "unrecognized error code" : rows[i].name;
}

CUDA_API const char *cudaGetErrorString(cudaError_t code)
{
    const size_t i = row_of(code);
    return i == SIZE_MAX ? "unrecognized error code" : rows[i].text;
}

/* A sticky error stays; the others are forgotten. */
CUDA_API cudaError_t cudaGetLastError(void)
{
    enter_quietly();
    const cudaError_t error = *last_error();
    *last_error() = process.sticky;
    return leave_quietly(error);
}

CUDA_API cudaError_t cudaPeekAtLastError(void)
{
    enter_quietly();
    return leave_quietly(*last_error());
}

CUDA_API cudaError_t cuGetErrorName(cudaError_t code, const char **name)
{
    const size_t i = row_of(code);
    *name = i == SIZE_MAX ? NULL : rows[i].driver_name;
    return i == SIZE_MAX ? cudaErrorInvalidValue : cudaSuccess;
}

CUDA_API cudaError_t cuGetErrorString(cudaError_t code, const char **text)
{
    const size_t i = row_of(code);
    *text = i == SIZE_MAX ? NULL : rows[i].text;
    return i == SIZE_MAX ? cudaErrorInvalidValue : cudaSuccess;
}
