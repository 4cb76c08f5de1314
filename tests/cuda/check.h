/* check.h: what the CUDA test programs share. A program ends with 0 when everything held, else with 1 after
 * saying what did not. */
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

static int failures;

#define HOLDS(condition) \
    do { \
        if (!(condition)) { \
            std::printf("%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            failures++; \
        } \
    } while (0)
#define GIVES(code, call) \
    do { \
        const cudaError_t got_ = (call); \
        if (got_ != (code)) { \
            std::printf("%s:%d: %s gives %s instead of %s\n", __FILE__, __LINE__, #call, \
                        cudaGetErrorName(got_), cudaGetErrorName(code)); \
            failures++; \
        } \
    } while (0)
#define OK(call) GIVES(cudaSuccess, call)

static inline int finish()
{
    std::puts(failures ? "FAILED" : "all held");
    return failures ? 1 : 0;
}
