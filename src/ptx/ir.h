/* ir: the decoded form of a PTX module. What every consumer (lanes, exec, analyses, runtime) reads.
 *
 *   module ─┬─ symbols     variables, functions, parameters; by index
 *           ├─ functions ─┬─ instrs     struct ptx_instr, in file order, index = "pc" of this function
 *           │             ├─ operands   pool; instr.first_operand .. + n_operands
 *           │             ├─ regs       virtual registers, numbered densely in order of first appearance
 *           │             ├─ labels     name -> pc
 *           │             └─ tables     .branchtargets / .calltargets / .callprototype
 *           └─ spellings   full text of each distinct mnemonic ("ld.global.nc.v4.f32")
 *
 * Ownership: everything lives in the arena given to ptx_parse(). After ptx_link() it is read-only and may be
 * shared. Names are NUL-terminated. Enumerators are extended, never renumbered by meaning: use the names. */
#ifndef ATOLL_PTX_IR_H
#define ATOLL_PTX_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

/* ---- closed sets ---- */

enum ptx_op {
    PTX_OP_UNKNOWN, /* an opcode that Atoll has never heard of; text in the spelling */
#define OP(name, spelling, destinations, class) PTX_OP_##name,
#include "ptx/opcodes.def"
    PTX_OP_COUNT
};

enum ptx_class {
    PTX_CLASS_UNKNOWN,
    PTX_CLASS_ALU,
    PTX_CLASS_SFU,
    PTX_CLASS_MOVE,
    PTX_CLASS_MEM,
    PTX_CLASS_WARP,
    PTX_CLASS_SYNC,
    PTX_CLASS_TENSOR,
    PTX_CLASS_CTRL,
    PTX_CLASS_TEX,
    PTX_CLASS_VIDEO
};

enum ptx_type {
    PTX_T_NONE,
#define TYPE(name, spelling, bits, kind) PTX_T_##name,
#include "ptx/types.def"
    PTX_T_COUNT
};

enum ptx_sreg {
#define SREG(name, spelling, type, varies) PTX_SREG_##name,
#include "ptx/sregs.def"
    PTX_SREG_COUNT
};

enum ptx_shape {
    PTX_SHAPE_NONE,
#define SHAPE(name, m, n, k) PTX_SHAPE_##name,
#include "ptx/shapes.def"
    PTX_SHAPE_COUNT
};

enum ptx_rnd {
    PTX_RND_NONE,
    PTX_RND_RN,
    PTX_RND_RZ,
    PTX_RND_RM,
    PTX_RND_RP,
    PTX_RND_RNA,
    PTX_RND_RS,
    PTX_RND_RNI, /* to an integral value */
    PTX_RND_RZI,
    PTX_RND_RMI,
    PTX_RND_RPI
};

enum ptx_cmp {
    PTX_CMP_NONE,
    PTX_CMP_EQ,
    PTX_CMP_NE,
    PTX_CMP_LT,
    PTX_CMP_LE,
    PTX_CMP_GT,
    PTX_CMP_GE,
    PTX_CMP_LO, /* unsigned < */
    PTX_CMP_LS,
    PTX_CMP_HI,
    PTX_CMP_HS,
    PTX_CMP_EQU, /* ...U: true when either is NaN */
    PTX_CMP_NEU,
    PTX_CMP_LTU,
    PTX_CMP_LEU,
    PTX_CMP_GTU,
    PTX_CMP_GEU,
    PTX_CMP_NUM,
    PTX_CMP_NAN
};

enum ptx_part { PTX_PART_NONE, PTX_PART_LO, PTX_PART_HI, PTX_PART_WIDE };

/* The operation inside the operation: of atom/red/redux/bar.red/set/setp/video, mode of vote/shfl/match/shf/
 * testp/prmt, fragment of wmma. */
enum ptx_sub {
    PTX_SUB_NONE,
    PTX_SUB_ADD,
    PTX_SUB_MIN,
    PTX_SUB_MAX,
    PTX_SUB_INC,
    PTX_SUB_DEC,
    PTX_SUB_AND,
    PTX_SUB_OR,
    PTX_SUB_XOR,
    PTX_SUB_EXCH,
    PTX_SUB_CAS,
    PTX_SUB_POPC,
    PTX_SUB_ALL,
    PTX_SUB_ANY,
    PTX_SUB_UNI,
    PTX_SUB_BALLOT,
    PTX_SUB_UP,
    PTX_SUB_DOWN,
    PTX_SUB_BFLY,
    PTX_SUB_IDX,
    PTX_SUB_LEFT,
    PTX_SUB_RIGHT,
    PTX_SUB_FINITE,
    PTX_SUB_INFINITE,
    PTX_SUB_NUMBER,
    PTX_SUB_NOTANUMBER,
    PTX_SUB_NORMAL,
    PTX_SUB_SUBNORMAL,
    PTX_SUB_F4E,
    PTX_SUB_B4E,
    PTX_SUB_RC8,
    PTX_SUB_ECL,
    PTX_SUB_ECR,
    PTX_SUB_RC16,
    PTX_SUB_FRAG_A,
    PTX_SUB_FRAG_B,
    PTX_SUB_FRAG_C,
    PTX_SUB_FRAG_D,
    PTX_SUB_COMPLETE_TX, /* cp.async.bulk: an mbarrier is told */
    PTX_SUB_BULK_GROUP,  /* or the group of the thread */
    PTX_SUB_PROXY_ALIAS, /* fence.proxy */
    PTX_SUB_PROXY_ASYNC,
    PTX_SUB_PROXY_TENSORMAP
};

enum ptx_space {
    PTX_SPACE_GENERIC, /* none written: a generic address */
    PTX_SPACE_REG,
    PTX_SPACE_CONST,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_LOCAL,
    PTX_SPACE_PARAM,
    PTX_SPACE_SHARED,
    PTX_SPACE_SHARED_CLUSTER,
    PTX_SPACE_TEX
};

enum ptx_cache {
    PTX_CACHE_NONE,
    PTX_CACHE_CA,
    PTX_CACHE_CG,
    PTX_CACHE_CS,
    PTX_CACHE_LU,
    PTX_CACHE_CV,
    PTX_CACHE_WB,
    PTX_CACHE_WT
};

enum ptx_evict {
    PTX_EVICT_NONE,
    PTX_EVICT_NORMAL,
    PTX_EVICT_UNCHANGED,
    PTX_EVICT_FIRST,
    PTX_EVICT_LAST,
    PTX_EVICT_NO_ALLOCATE
};

/* Cache level of prefetch, or the L2 hint of an access. */
enum ptx_level {
    PTX_LEVEL_NONE,
    PTX_LEVEL_L1,
    PTX_LEVEL_L2,
    PTX_LEVEL_L2_EVICT_NORMAL,
    PTX_LEVEL_L2_EVICT_FIRST,
    PTX_LEVEL_L2_EVICT_LAST,
    PTX_LEVEL_L2_64B,
    PTX_LEVEL_L2_128B,
    PTX_LEVEL_L2_256B
};

enum ptx_sem {
    PTX_SEM_NONE, /* nothing written: weak for ld/st, relaxed for atom/red, acq_rel for fence */
    PTX_SEM_WEAK,
    PTX_SEM_RELAXED,
    PTX_SEM_ACQUIRE,
    PTX_SEM_RELEASE,
    PTX_SEM_ACQ_REL,
    PTX_SEM_SC,
    PTX_SEM_VOLATILE,
    PTX_SEM_MMIO
};

enum ptx_scope { PTX_SCOPE_NONE, PTX_SCOPE_CTA, PTX_SCOPE_CLUSTER, PTX_SCOPE_GPU, PTX_SCOPE_SYS };
enum ptx_layout { PTX_LAYOUT_NONE, PTX_LAYOUT_ROW, PTX_LAYOUT_COL };

enum ptx_geom {
    PTX_GEOM_NONE,
    PTX_GEOM_1D,
    PTX_GEOM_2D,
    PTX_GEOM_3D,
    PTX_GEOM_A1D,
    PTX_GEOM_A2D,
    PTX_GEOM_CUBE,
    PTX_GEOM_ACUBE,
    PTX_GEOM_2DMS,
    PTX_GEOM_A2DMS
};

/* Which level of a mipmap: of tex and txq. */
enum ptx_mip { PTX_MIP_NONE, PTX_MIP_BASE, PTX_MIP_LEVEL, PTX_MIP_GRAD };

/* What a texture or surface instruction moves or asks for: component of tld4, raw bytes or formatted values
 * of suld, sust and sured, the question of txq and suq. */
enum ptx_image {
    PTX_IMAGE_NONE,
    PTX_IMAGE_R,
    PTX_IMAGE_G,
    PTX_IMAGE_B, /* of tld4 the third component, of surfaces raw bytes */
    PTX_IMAGE_A,
    PTX_IMAGE_P, /* formatted */
    PTX_IMAGE_WIDTH,
    PTX_IMAGE_HEIGHT,
    PTX_IMAGE_DEPTH,
    PTX_IMAGE_CHANNEL_DATA_TYPE,
    PTX_IMAGE_CHANNEL_ORDER,
    PTX_IMAGE_NORMALIZED_COORDS,
    PTX_IMAGE_FORCE_UNNORMALIZED_COORDS,
    PTX_IMAGE_FILTER_MODE,
    PTX_IMAGE_ADDR_MODE_0,
    PTX_IMAGE_ADDR_MODE_1,
    PTX_IMAGE_ADDR_MODE_2,
    PTX_IMAGE_ARRAY_SIZE,
    PTX_IMAGE_NUM_MIPMAP_LEVELS,
    PTX_IMAGE_NUM_SAMPLES,
    PTX_IMAGE_MEMORY_LAYOUT
};

/* flags of an instruction */
enum {
    PTX_F_SAT = 1u << 0,
    PTX_F_SATFINITE = 1u << 1,
    PTX_F_FTZ = 1u << 2,
    PTX_F_NOFTZ = 1u << 3,
    PTX_F_APPROX = 1u << 4,
    PTX_F_FULL = 1u << 5,
    PTX_F_NAN = 1u << 6, /* min.NaN */
    PTX_F_XORSIGN = 1u << 7,
    PTX_F_ABS = 1u << 8,
    PTX_F_RELU = 1u << 9,
    PTX_F_OOB = 1u << 10,
    PTX_F_CC = 1u << 11,  /* writes the carry; addc/subc/madc read it by themselves */
    PTX_F_UNI = 1u << 12, /* bra.uni call.uni ret.uni: the compiler promises no divergence */
    PTX_F_TO = 1u << 13,  /* cvta.to */
    PTX_F_SYNC = 1u << 14,
    PTX_F_ALIGNED = 1u << 15, /* `.aligned`, and every `bar.` (not `barrier.`) */
    PTX_F_SHIFTAMT = 1u << 16,
    PTX_F_WRAP = 1u << 17,
    PTX_F_CLAMP = 1u << 18,
    PTX_F_TRANS = 1u << 19,
    PTX_F_PARITY = 1u << 20,
    PTX_F_NOINC = 1u << 21,
    PTX_F_NOCOMPLETE = 1u << 22,
    PTX_F_EXPECT_TX = 1u << 23,
    PTX_F_NC = 1u << 24,
    PTX_F_CACHE_HINT = 1u << 25,
    PTX_F_READ = 1u << 26,
    PTX_F_UNIFIED = 1u << 27,
    PTX_F_TRAP = 1u << 28,
    PTX_F_ZERO = 1u << 29,
    PTX_F_IMPLICIT = 1u << 30, /* a `ret` that the parser added at the end of a body */
    PTX_F_UNKNOWN = 1u << 31   /* opcode or some modifier unknown: raise when executed */
};

/* ---- operands ---- */

enum ptx_operand_kind {
    PTX_OPND_NONE,     /* absent (call without prototype) */
    PTX_OPND_REG,      /* id = register */
    PTX_OPND_IMM,      /* value = bits, see below */
    PTX_OPND_SREG,     /* id = enum ptx_sreg; value = which, for %envreg and %pm */
    PTX_OPND_SYM,      /* address of symbol id (variable or function) + value */
    PTX_OPND_ADDR_REG, /* [register id + value] */
    PTX_OPND_ADDR_SYM, /* [symbol id + value] */
    PTX_OPND_ADDR_IMM, /* [value] */
    PTX_OPND_LABEL,    /* id = pc of the target; n_instrs of the function never occurs */
    PTX_OPND_VEC,      /* {a,b,..}: count elements in the pool from index id */
    PTX_OPND_LIST,     /* (a,b,..) of a call, or [texture, {..}]: count elements from index id */
    PTX_OPND_TABLE,    /* id = table of the function (.branchtargets, .calltargets, .callprototype) */
    PTX_OPND_SINK      /* `_` */
};

/* flags of an operand */
enum {
    PTX_OPF_NOT = 1,      /* !%p */
    PTX_OPF_NEG = 2,      /* -%r */
    PTX_OPF_FLOAT = 4,    /* the literal was written as a floating-point one */
    PTX_OPF_UNSIGNED = 8, /* the literal carried U */
    PTX_OPF_INVERT = 16   /* ~%r */
};

/* A selection within a register: byte or half-word of the video instructions. */
enum ptx_sel {
    PTX_SEL_NONE,
    PTX_SEL_B0,
    PTX_SEL_B1,
    PTX_SEL_B2,
    PTX_SEL_B3,
    PTX_SEL_H0,
    PTX_SEL_H1,
    PTX_SEL_OTHER /* .b10, .h32, ...: mask and byte pattern, kept in value */
};

/* Immediates: integers are two's complement in 64 bits (use the low bits of the operand's type). A literal in
 * a .f32/.f64 position is already converted to that type: value holds its bit pattern (f32 in the low 32). */
struct ptx_operand {
    uint8_t kind;  /* enum ptx_operand_kind */
    uint8_t flags; /* PTX_OPF_ */
    uint8_t sel;   /* enum ptx_sel */
    uint8_t count; /* elements of VEC and LIST (a LIST of more than 255 is a parse error) */
    uint32_t id;
    int64_t value;
};
_Static_assert(sizeof(struct ptx_operand) == 16, "four operands a cache line");

#define PTX_NO_REG   UINT32_MAX
#define PTX_NO_INDEX UINT32_MAX

/* Operand order is the order of the PTX text, destinations first.
 *   setp p|q, a, b      [0]=p [1]=q (n_dsts 2) [2]=a [3]=b      same for shfl d|p, match.all d|p, elect
 *   ld v2 {a,b},[x]     [0]=VEC(a,b) [1]=ADDR
 *   st [x], a           [0]=ADDR [1]=a (n_dsts 0)
 *   atom d,[x],b(,c)    [0]=d [1]=ADDR [2]=b [3]=c
 *   bra L               [0]=LABEL
 *   brx.idx i, T        [0]=i [1]=TABLE
 *   call (r),f,(a),P    [0]=target (SYM of a function, or REG) [1]=LIST returns [2]=LIST arguments
 *                       [3]=TABLE or NONE; always four. n_dsts 0: registers in [1] are written.
 *   mov {a,b}, x        [0]=VEC [1]=x;  mov x, {a,b}: [0]=x [1]=VEC
 *   tex v4 {..}|p,[t,{c}],l
 *                       [0]=VEC ([1]=p) then LIST(t, VEC c), then level, gradients (VEC), offsets (VEC)
 *                       t, and the sampler s of [t,s,{c}], are ADDR_REG or ADDR_SYM; same for tld4
 *   suld {..},[s,{c}]   [0]=VEC [1]=LIST
 *   sust [s,{c}],{..}   [0]=LIST [1]=VEC; same for sured */
struct ptx_instr {
    uint16_t op;   /* enum ptx_op */
    uint8_t type;  /* enum ptx_type: the types in the order of the spelling; */
    uint8_t type2; /*   cvt.D.S: type=D type2=S; set.D.S; setp.S: type=S; mul.wide.s32: type=S32 */
    uint8_t type3;
    uint8_t type4;    /* mma.D.A.B.C */
    uint8_t rnd;      /* enum ptx_rnd */
    uint8_t cmp;      /* enum ptx_cmp */
    uint8_t sub;      /* enum ptx_sub */
    uint8_t part;     /* enum ptx_part */
    uint8_t space;    /* enum ptx_space; of cvta, isspacep: the space named. cp.async: destination */
    uint8_t space2;   /* cp.async: source; else generic */
    uint8_t vec;      /* 1, 2, 4, 8 */
    uint8_t sem;      /* enum ptx_sem */
    uint8_t scope;    /* enum ptx_scope */
    uint8_t cache;    /* enum ptx_cache */
    uint8_t evict;    /* enum ptx_evict */
    uint8_t level;    /* enum ptx_level */
    uint8_t shape;    /* enum ptx_shape */
    uint8_t layout_a; /* enum ptx_layout */
    uint8_t layout_b;
    uint8_t count;  /* ldmatrix .x1 .x2 .x4 */
    uint8_t geom;   /* enum ptx_geom */
    uint8_t mip;    /* enum ptx_mip */
    uint8_t image;  /* enum ptx_image */
    uint8_t n_dsts; /* leading operands that are written */
    uint8_t n_operands;
    uint8_t guard_not;      /* @!%p */
    uint16_t col;           /* of the mnemonic, from 1; 65535: there or beyond */
    uint32_t flags;         /* PTX_F_ */
    uint32_t guard;         /* predicate register or PTX_NO_REG */
    uint32_t first_operand; /* in the function's pool */
    uint32_t spelling;      /* in the module's spellings */
    uint32_t line;          /* of the PTX file, from 1 */
    uint32_t loc;           /* in the module's locs, or PTX_NO_INDEX */
};
_Static_assert(sizeof(struct ptx_instr) <= 56, "an instruction stays within a cache line");

/* ---- functions and symbols ---- */

enum ptx_reg_class { PTX_REG_PRED, PTX_REG_32, PTX_REG_64, PTX_REG_128, PTX_REG_CLASS_COUNT };

struct ptx_reg {
    const char *name;
    uint8_t type;      /* enum ptx_type as declared */
    uint8_t reg_class; /* enum ptx_reg_class: 8, 16 and 32 bits share PTX_REG_32 */
};

struct ptx_label {
    const char *name;
    uint32_t target; /* pc */
    uint32_t line;
};

enum ptx_table_kind { PTX_TABLE_BRANCH_TARGETS, PTX_TABLE_CALL_TARGETS, PTX_TABLE_CALL_PROTOTYPE };

struct ptx_proto_param {
    uint8_t space; /* PTX_SPACE_REG or PTX_SPACE_PARAM */
    uint8_t type;
    uint32_t align;
    uint64_t size_bytes;
};

struct ptx_table {
    const char *name;
    uint8_t kind;     /* enum ptx_table_kind */
    uint32_t n_items; /* pcs, or symbols */
    uint32_t *items;
    uint32_t first_item;       /* while parsing */
    uint32_t n_rets, n_params; /* of a prototype: rets first */
    struct ptx_proto_param *params;
};

struct ptx_module;

enum ptx_linkage { PTX_LINK_LOCAL, PTX_LINK_VISIBLE, PTX_LINK_WEAK, PTX_LINK_COMMON, PTX_LINK_EXTERN };
enum ptx_symbol_kind { PTX_SYM_VAR, PTX_SYM_FUNC };

/* A place in an initialiser that holds an address. */
struct ptx_reloc {
    uint64_t offset;     /* in the variable */
    uint32_t size_bytes; /* 1 (mask), 4 or 8 */
    uint32_t symbol;     /* of this module */
    int64_t addend;
    uint8_t generic; /* generic(symbol): a generic address, else one in the symbol's space */
    uint8_t shift;   /* mask(): which byte, as a right shift in bits */
};

struct ptx_symbol {
    const char *name;
    struct ptx_func *func; /* FUNC: itself. VAR: the function it is declared in, NULL at module scope */
    /* After ptx_link(): the definition (maybe in another module; maybe this). NULL when nobody defines it:
     * a library function of the simulator (vprintf, malloc) or, for a variable, an error already raised. */
    const struct ptx_symbol *def;
    const struct ptx_module *module;
    uint8_t kind;    /* enum ptx_symbol_kind */
    uint8_t space;   /* enum ptx_space */
    uint8_t type;    /* of an element */
    uint8_t vec;     /* .v2 .v4: 2, 4; else 1 */
    uint8_t linkage; /* enum ptx_linkage */
    bool managed;    /* .attribute(.managed) */
    bool is_array;   /* declared with [] */
    bool unsized;    /* s[]: dynamic shared memory, or an extern of unknown size */
    uint32_t align;  /* bytes */
    uint32_t line;
    uint32_t index;         /* in the module's symbols */
    uint32_t program_index; /* dense over module-scope variables of the program, set by ptx_link() on
                               definitions */
    uint64_t size_bytes;
    uint64_t offset;     /* parameter: in the parameter block; .param of a call sequence: in the function's
                            argument frame; .local of a function: in its stack frame */
    const uint8_t *init; /* init_bytes of the leading bytes; the rest is zero. NULL: all zero */
    uint64_t init_bytes;
    uint32_t n_relocs;
    const struct ptx_reloc *relocs;
};

struct ptx_func {
    const char *name;
    struct ptx_module *module;
    uint32_t symbol; /* in the module */
    uint32_t index;  /* in the module's funcs */
    uint32_t line, end_line;
    bool is_entry;
    bool has_body;
    bool noreturn;
    bool has_call, has_indirect_call;

    /* Formal parameters are symbols: rets at first_param .. + n_rets, then n_params. */
    uint32_t first_param, n_rets, n_params;
    uint64_t param_bytes; /* of an entry: size of its parameter block */

    /* Storage of one activation: .param variables of call sequences and, for a .func, its formal returns and
     * parameters (arg_bytes); .local variables (local_bytes). */
    uint64_t arg_bytes, local_bytes;
    uint32_t arg_align, local_align;

    uint32_t maxntid[3], reqntid[3]; /* 0: not given */
    uint32_t minnctapersm, maxnctapersm, maxnreg;
    uint32_t reqnctapercluster[3], maxclusterrank;

    struct ptx_instr *instrs;
    struct ptx_operand *operands;
    struct ptx_reg *regs;
    struct ptx_label *labels; /* by pc */
    struct ptx_table *tables;
    uint32_t n_instrs, n_operands, n_regs, n_labels, n_tables;
};

struct ptx_loc {
    uint32_t file; /* index of .file, see ptx_loc_file() */
    uint32_t line, col;
};

struct ptx_alias {
    uint32_t alias, aliasee; /* symbols */
};

struct ptx_module {
    const struct diag_source *source;
    uint32_t version_major, version_minor;
    uint32_t target_sm; /* 75 of sm_75 */
    bool target_debug;
    uint32_t address_bits; /* 32 or 64 */
    const char *target;    /* "sm_75, debug" */
    struct ptx_symbol *symbols;
    struct ptx_func **funcs; /* entries, functions and prototypes in order of first declaration */
    const char **spellings;
    struct ptx_loc *locs;
    const char **files; /* by number of .file; holes are NULL */
    struct ptx_alias *aliases;
    uint32_t n_symbols, n_funcs, n_spellings, n_locs, n_files, n_aliases;
    uint64_t n_instrs; /* of all functions */
};

struct ptx_program {
    struct ptx_module **modules;
    uint32_t n_modules;
    const struct ptx_symbol **vars; /* module-scope variables that are definitions, by program_index */
    struct ptx_func **entries;      /* kernels with a body */
    uint32_t n_vars, n_entries;
};

/* ---- services ---- */

struct arena;

/* Parses text; raises a mistake with all that is wrong (up to diag's limit). The source and its text must
 * outlive the module. */
struct ptx_module *ptx_parse(struct arena *arena, const struct diag_source *source);
/* Reads the file into the arena first. */
struct ptx_module *ptx_parse_file(struct arena *arena, const char *path);

/* Joins modules: extern to visible, weak, common, alias. Unresolved functions stay def == NULL when
 * is_builtin(name) says so, and are otherwise left to fail when called; unresolved variables are mistakes. */
struct ptx_program *ptx_link(struct arena *arena, struct ptx_module *const *modules, uint32_t count);
/* NULL when there is none; near names are for the caller's message. */
struct ptx_func *ptx_find_entry(const struct ptx_program *program, const char *name);
const char *ptx_nearest_entry(const struct ptx_program *program, const char *name);

/* The function that a SYM operand of a call names (through link and alias), NULL when undefined. */
struct ptx_func *ptx_callee(const struct ptx_func *caller, uint32_t symbol);

/* Shared memory of one kernel: the .shared variables that it and what it calls name, laid out. */
struct ptx_shared_var {
    const struct ptx_symbol *symbol; /* the definition */
    uint64_t offset;
};
struct ptx_shared_layout {
    struct ptx_shared_var *vars;
    uint32_t n_vars;
    uint64_t static_bytes;   /* end of the static ones */
    uint64_t dynamic_offset; /* where extern __shared__ starts; static_bytes rounded up to its alignment */
    bool uses_dynamic;
};
struct ptx_shared_layout *ptx_shared_layout(struct arena *arena, const struct ptx_program *program,
                                            const struct ptx_func *entry);

/* ---- names and small questions ---- */
enum { PTX_THREADS_MOST = 1024 }; /* of a block, on every GPU */
/* Of the largest block that .reqntid or else .maxntid allows; 0: neither is given. */
uint32_t ptx_func_threads(const struct ptx_func *f);
/* Does .reqnctapercluster ask for more than one block? */
bool ptx_func_has_cluster(const struct ptx_func *f);
const char *ptx_op_name(enum ptx_op op);
enum ptx_class ptx_op_class(enum ptx_op op);
const char *ptx_type_name(enum ptx_type type);
uint32_t ptx_type_bits(enum ptx_type type);
/* 'B', 'U', 'S', 'F', 'P', 'X' or 0 */
char ptx_type_kind(enum ptx_type type);
const char *ptx_sreg_name(enum ptx_sreg sreg);
enum ptx_type ptx_sreg_type(enum ptx_sreg sreg);
char ptx_sreg_varies(enum ptx_sreg sreg); /* 'L', 'W' or 'T', see sregs.def */
const char *ptx_space_name(enum ptx_space space);
void ptx_shape_mnk(enum ptx_shape shape, uint32_t *m, uint32_t *n, uint32_t *k);

static inline const struct ptx_operand *ptx_operand_at(const struct ptx_func *f, const struct ptx_instr *i,
                                                       uint32_t n)
{
    return &f->operands[i->first_operand + n];
}

/* "ld.global.f32" */
static inline const char *ptx_spelling(const struct ptx_func *f, const struct ptx_instr *i)
{
    return f->module->spellings[i->spelling];
}

/* Every register an instruction reads (guard, sources, addresses, elements) or writes, in operand order;
 * duplicates are kept. A guarded write leaves the old value where the guard is false, so it ends no live
 * range. */
struct ptx_reg_walk {
    const struct ptx_func *func;
    const struct ptx_instr *instr;
    uint32_t operand, element;
    bool guard_done;
};
void ptx_walk_start(struct ptx_reg_walk *w, const struct ptx_func *f, const struct ptx_instr *i);
uint32_t ptx_next_read(struct ptx_reg_walk *w);    /* PTX_NO_REG at the end */
uint32_t ptx_next_written(struct ptx_reg_walk *w); /* likewise; use a walk of its own */

/* Ends a basic block? Leaves the function or program for every active lane when unguarded? */
bool ptx_is_branch(const struct ptx_instr *i);     /* bra, brx.idx */
bool ptx_is_terminator(const struct ptx_instr *i); /* bra, brx.idx, ret, exit, trap */

/* For messages: place of an instruction; text such as `kernel.cu:12` of its .loc or NULL. */
struct diag_place ptx_place(const struct ptx_func *f, const struct ptx_instr *i);
const char *ptx_loc_file(const struct ptx_module *m, const struct ptx_instr *i, uint32_t *line);
/* One instruction as text (registers, immediates, labels), for messages and tests; returns buf. */
char *ptx_print_instr(const struct ptx_func *f, const struct ptx_instr *i, char *buf, size_t buf_bytes);

/* ---- what cannot be executed ---- */
struct ptx_uncovered {
    const struct ptx_func *func;
    uint32_t pc;
    const char *undefined; /* a function that it calls and nobody defines; NULL: the instruction itself */
};
/* What an executor can do. */
struct ptx_ability {
    bool (*instruction)(const struct ptx_instr *i);
    bool (*function)(const char *name);      /* functions that it provides; NULL: calls are not looked at */
    const char *(*advice)(const char *name); /* about a function that nobody defines; may be NULL */
};
/* All instructions of the modules that cannot be executed (every unknown one among them) and all calls of
 * functions that neither a module nor the executor has, in file order. */
uint32_t ptx_coverage(struct arena *arena, struct ptx_module *const *modules, uint32_t count,
                      const struct ptx_ability *can, struct ptx_uncovered **list);
/* The same as text: one line each, then for each module a summary by spelling and by function. */
char *ptx_coverage_text(struct arena *arena, struct ptx_module *const *modules, uint32_t count,
                        const struct ptx_ability *can);

#endif
