/* compile: the CUDA sources of tests/analysis through clang at every level of optimisation, and nvcc where it
 * is. */
#ifndef ATOLL_TESTS_ANALYSIS_COMPILE_H
#define ATOLL_TESTS_ANALYSIS_COMPILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMPILE_O0, COMPILE_O1, COMPILE_O2, COMPILE_O3, COMPILE_NVCC, COMPILE_LEVELS };

static char compile_folder[] = "/tmp/atoll-analysis-XXXXXX";
static const char *const compile_files[] = {"no_locality",  "row_column", "intra_thread",
                                            "unclassified", "tricky",     "hostile"};

static inline const char *compile_level(uint32_t level)
{
    static const char *const names[] = {"clang -O0", "clang -O1", "clang -O2", "clang -O3", "nvcc"};
    return names[level];
}

static inline bool compile_has_nvcc(void) { return system("nvcc --version >/dev/null 2>&1") == 0; }

/* Valid until the next call. */
static inline const char *compile_path(const char *file, uint32_t level)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s.%u.ptx", compile_folder, file, level);
    return path;
}

static inline int compile_all(uint32_t level)
{
    for (uint32_t k = 0; k < sizeof compile_files / sizeof *compile_files; k++) {
        char command[512];
        if (level == COMPILE_NVCC)
            (void)snprintf(command, sizeof command,
                           "nvcc -ptx -arch=compute_75 -Iworkloads tests/analysis/%s.cu -o %s",
                           compile_files[k], compile_path(compile_files[k], level));
        else
            (void)snprintf(
                command, sizeof command,
                "clang -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/nonexistent "
                "--cuda-gpu-arch=sm_70 "
                "-Xclang -target-feature -Xclang +ptx64 -Wall -Wextra -Wno-sign-compare -O%u -S -Iworkloads "
                "tests/analysis/%s.cu -o %s",
                level, compile_files[k], compile_path(compile_files[k], level));
        if (system(command) != 0) {
            (void)fprintf(stderr, "does not compile: %s\n", command);
            return -1;
        }
    }
    return 0;
}

static inline int compile_begin(void **state)
{
    (void)state;
    if (!mkdtemp(compile_folder)) return -1;
    for (uint32_t level = COMPILE_O0; level <= COMPILE_O3; level++)
        if (compile_all(level)) return -1;
    return compile_has_nvcc() ? compile_all(COMPILE_NVCC) : 0;
}

static inline int compile_end(void **state)
{
    (void)state;
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s", compile_folder);
    return system(command);
}

#endif
