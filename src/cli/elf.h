/* elf: what an executable file says about the CUDA libraries that it needs. */
#ifndef ATOLL_CLI_ELF_H
#define ATOLL_CLI_ELF_H

#include <stdbool.h>

struct elf_facts {
    bool is_elf;          /* a whole 64-bit ELF file; else nothing below is known */
    char cudart[32];      /* "13" of a needed libcudart.so.13; "": none */
    bool needs_driver;    /* libcuda.so.1 */
    bool has_device_code; /* a section of fat binaries */
    bool has_rpath;       /* searched before LD_LIBRARY_PATH */
};

/* False when the file cannot be read. */
bool elf_look(const char *path, struct elf_facts *facts);

#endif
