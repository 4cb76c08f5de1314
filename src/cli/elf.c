/* elf: see elf.h. The file is not trusted: every offset is checked. */
#include "cli/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
    const uint8_t *at;
    uint64_t bytes;
};

static bool read_at(const struct image *i, uint64_t offset, void *to, uint64_t bytes)
{
    if (offset > i->bytes || bytes > i->bytes - offset) return false;
    memcpy(to, i->at + offset, bytes);
    return true;
}

/* The text at an offset, "" when it does not end inside the file. */
static const char *text_at(const struct image *i, uint64_t offset)
{
    if (offset >= i->bytes || !memchr(i->at + offset, 0, i->bytes - offset)) return "";
    return (const char *)i->at + offset;
}

static void look_at_library(const char *name, struct elf_facts *f)
{
    static const char cudart[] = "libcudart.so.";
    if (!strncmp(name, cudart, sizeof cudart - 1))
        (void)snprintf(f->cudart, sizeof f->cudart, "%s", name + sizeof cudart - 1);
    if (!strcmp(name, "libcuda.so.1")) f->needs_driver = true;
}

static void look_at_dynamic(const struct image *i, const Elf64_Shdr *dynamic, uint64_t strings,
                            struct elf_facts *f)
{
    Elf64_Dyn d;
    for (uint64_t at = 0; at + sizeof d <= dynamic->sh_size; at += sizeof d) {
        if (!read_at(i, dynamic->sh_offset + at, &d, sizeof d) || d.d_tag == DT_NULL) return;
        if (d.d_tag == DT_NEEDED) look_at_library(text_at(i, strings + d.d_un.d_val), f);
        if (d.d_tag == DT_RPATH) f->has_rpath = true;
    }
}

static void look_at_sections(const struct image *i, const Elf64_Ehdr *h, struct elf_facts *f)
{
    Elf64_Shdr names, s, strings;
    if (!read_at(i, h->e_shoff + (uint64_t)h->e_shstrndx * sizeof names, &names, sizeof names)) return;
    for (uint32_t k = 0; k < h->e_shnum; k++) {
        if (!read_at(i, h->e_shoff + (uint64_t)k * sizeof s, &s, sizeof s)) return;
        const char *name = text_at(i, names.sh_offset + s.sh_name);
        if (!strcmp(name, ".nv_fatbin") || !strcmp(name, "__nv_relfatbin")) f->has_device_code = true;
        if (s.sh_type == SHT_DYNAMIC &&
            read_at(i, h->e_shoff + (uint64_t)s.sh_link * sizeof strings, &strings, sizeof strings))
            look_at_dynamic(i, &s, strings.sh_offset, f);
    }
}

bool elf_look(const char *path, struct elf_facts *facts)
{
    struct stat st;
    Elf64_Ehdr h;
    *facts = (struct elf_facts){0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    if (fstat(fd, &st) != 0 || st.st_size <= 0) {
        (void)close(fd);
        return true;
    }
    struct image i = {.bytes = (uint64_t)st.st_size};
    void *map = mmap(NULL, i.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (map == MAP_FAILED) return false;
    i.at = map;
    facts->is_elf = read_at(&i, 0, &h, sizeof h) && !memcmp(h.e_ident, ELFMAG, SELFMAG) &&
                    h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_shentsize == sizeof(Elf64_Shdr);
    if (facts->is_elf) look_at_sections(&i, &h, facts);
    (void)munmap(map, i.bytes);
    return true;
}
