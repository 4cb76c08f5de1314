/* Fuzzes lexer, parser, linker, control flow and data flow with arbitrary bytes.
 * covers: src/ptx
 *
 * Any input must end in a module or in a mistake of the user: no crash, no leak, no hang, no internal error.
 * What comes out is walked: every index must lead somewhere. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ptx/flow.h"

struct input {
    struct arena arena;
    struct diag_source source[2];
    uint32_t n_sources;
    uint64_t sink; /* so that nothing is optimised away */
};

#define REQUIRE(condition) \
    if (!(condition)) abort()

static void walk_function(struct input *in, const struct ptx_func *f)
{
    char text[256];
    for (uint32_t pc = 0; pc < f->n_instrs; pc++) {
        const struct ptx_instr *i = &f->instrs[pc];
        REQUIRE(i->first_operand + i->n_operands <= f->n_operands);
        struct ptx_reg_walk w;
        ptx_walk_start(&w, f, i);
        for (uint32_t r; (r = ptx_next_read(&w)) != PTX_NO_REG;) REQUIRE(r < f->n_regs);
        ptx_walk_start(&w, f, i);
        for (uint32_t r; (r = ptx_next_written(&w)) != PTX_NO_REG;) REQUIRE(r < f->n_regs);
        if (i->op == PTX_OP_BRA) REQUIRE(ptx_operand_at(f, i, 0)->id < f->n_instrs);
        in->sink += strlen(ptx_print_instr(f, i, text, sizeof text));
        in->sink += ptx_place(f, i).line + (ptx_loc_file(f->module, i, NULL) != NULL);
    }
}

static void analyse_function(struct input *in, const struct ptx_func *f)
{
    const struct ptx_cfg *c = ptx_cfg_build(&in->arena, f);
    const struct ptx_defuse *du = ptx_defuse_build(&in->arena, f);
    const struct ptx_slots *s = ptx_slots_build(&in->arena, c, du);
    const struct ptx_uniform *u = ptx_uniform_build(&in->arena, c, du, f->is_entry);
    struct ptx_reaching *reaching = ptx_reaching_start(&in->arena, c, du);
    for (uint32_t r = 0; r < f->n_regs; r++) {
        REQUIRE(s->slot[r] == PTX_NO_INDEX || s->slot[r] < s->n_slots[f->regs[r].reg_class]);
        in->sink += u->reg[r];
        uint32_t defs[4];
        if (du->use_start[r] != du->use_start[r + 1])
            in->sink += ptx_reaching_defs(reaching, r, du->uses[du->use_start[r]], defs, 4);
    }
    for (uint32_t pc = 0; pc < f->n_instrs; pc++)
        if (ptx_is_branch(&f->instrs[pc])) REQUIRE(ptx_reconvergence(c, pc) <= f->n_instrs);
}

static bool supported(const struct ptx_instr *i) { return i->op % 3 != 0; }
static bool provided(const char *name) { return name[0] == 'v'; }

static void body(void *arg)
{
    struct input *in = arg;
    static const struct ptx_ability ability = {.instruction = supported, .function = provided};
    struct ptx_module *modules[2];
    for (uint32_t m = 0; m < in->n_sources; m++) {
        modules[m] = ptx_parse(&in->arena, &in->source[m]);
        for (uint32_t i = 0; i < modules[m]->n_funcs; i++) {
            if (!modules[m]->funcs[i]->has_body) continue;
            walk_function(in, modules[m]->funcs[i]);
            analyse_function(in, modules[m]->funcs[i]);
        }
        in->sink += strlen(ptx_coverage_text(&in->arena, &modules[m], 1, &ability));
    }
    const struct ptx_program *p = ptx_link(&in->arena, modules, in->n_sources);
    for (uint32_t i = 0; i < p->n_entries; i++) {
        in->sink += ptx_shared_layout(&in->arena, p, p->entries[i])->static_bytes;
        in->sink += ptx_find_entry(p, p->entries[i]->name) != NULL;
    }
    in->sink += ptx_nearest_entry(p, "kernel") != NULL;
}

/* ---- mutation by statement: bytes alone seldom keep PTX whole enough to get past the parser ---- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct span {
    size_t from, to;
};

static uint32_t draw(uint64_t *state, size_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

/* A statement (up to and with ';', ':', '{', '}' or a line's end) or a word, somewhere. */
static struct span pick_span(const uint8_t *data, size_t size, uint64_t *rng, bool word)
{
    const char *ends = word ? " \t\n,;()[]{}" : ";:{}\n";
    size_t from = draw(rng, size);
    while (from > 0 && !strchr(ends, data[from - 1])) from--;
    size_t to = from;
    while (to < size && !strchr(ends, data[to])) to++;
    if (!word && to < size) to++;
    return (struct span){from, to};
}

/* [from, +cut) of the data becomes `times` copies of text. */
static size_t replace(uint8_t *data, size_t size, size_t max_size, struct span at, const void *text,
                      size_t len, size_t times)
{
    const size_t cut = at.to - at.from;
    while (times > 1 && size - cut + times * len > max_size) times /= 2;
    if (size - cut + times * len > max_size) return size;
    memmove(data + at.from + times * len, data + at.to, size - at.to);
    for (size_t n = 0; n < times; n++) memcpy(data + at.from + n * len, text, len);
    return size - cut + times * len;
}

/* A number at or after some place; an empty span when there is none. */
static struct span pick_number(const uint8_t *data, size_t size, uint64_t *rng)
{
    size_t from = draw(rng, size);
    while (from < size && (data[from] < '0' || data[from] > '9')) from++;
    size_t to = from;
    while (to < size && ((data[to] >= '0' && data[to] <= '9') || data[to] == '.')) to++;
    return (struct span){from, to};
}

/* Six ways on top of libFuzzer's own: a statement or word replaced by another one (or by nothing), inserted,
 * moved, repeated up to thousands of times (depth, lengths), a number replaced by one at a limit, the end cut
 * off. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    enum { SPAN_MAX = 512 };
    static const char *const numbers[] = {"0",
                                          "1",
                                          "-1",
                                          "2",
                                          "31",
                                          "32",
                                          "63",
                                          "64",
                                          "127",
                                          "255",
                                          "65535",
                                          "65536",
                                          "2147483647",
                                          "2147483648",
                                          "4294967295",
                                          "4294967296",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "18446744073709551615",
                                          "(1/0)",
                                          "(7%(3-3))",
                                          "(1<<64)",
                                          "0f7F800000",
                                          "1.0",
                                          "0dFFFFFFFFFFFFFFFF"};
    uint64_t rng = seed;
    uint8_t copy[SPAN_MAX];
    if (!size || draw(&rng, 3) == 0) return LLVMFuzzerMutate(data, size, max_size);
    const uint32_t kind = draw(&rng, 7);
    if (kind == 5) return 1 + draw(&rng, size);
    if (kind == 4) {
        const char *n = numbers[draw(&rng, sizeof numbers / sizeof *numbers)];
        return replace(data, size, max_size, pick_number(data, size, &rng), n, strlen(n), 1);
    }
    const bool word = draw(&rng, 2);
    struct span at = pick_span(data, size, &rng, word), from = pick_span(data, size, &rng, word);
    if (kind == 3 && draw(&rng, 2)) { /* one character: brackets, signs */
        from.from = draw(&rng, size);
        from.to = from.from + 1;
    }
    const size_t len = kind == 0 ? 0 : from.to - from.from;
    if (len > SPAN_MAX) return LLVMFuzzerMutate(data, size, max_size);
    memcpy(copy, data + from.from, len);
    if (kind == 3) at = (struct span){from.from, from.from};
    if (kind == 2 || kind == 6) at.to = at.from;
    if (kind == 6) { /* out of its place, then into another */
        size = replace(data, size, max_size, from, "", 0, 1);
        if (at.from > size) at.from = at.to = size;
    }
    return replace(data, size, max_size, at, copy, len, kind == 3 ? (size_t)1 << draw(&rng, 16) : 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {0};
    arena_init(&in.arena);
    /* a NUL byte parts two modules that are linked */
    const uint8_t *second = size ? memchr(data, 0, size) : NULL;
    const size_t first_len = second ? (size_t)(second - data) : size;
    in.source[0] = (struct diag_source){.name = "a.ptx", .text = (const char *)data, .len_bytes = first_len};
    in.n_sources = 1;
    if (second) {
        in.source[1] = (struct diag_source){
            .name = "b.ptx", .text = (const char *)second + 1, .len_bytes = size - first_len - 1};
        in.n_sources = 2;
    }
    struct diag d;
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, body, &in);
    REQUIRE(kind == DIAG_NONE || kind == DIAG_MISTAKE);
    diag_clear(&d);
    arena_free(&in.arena);
    return 0;
}
