/* Every spelling of ld, st, atom and red that 716 real CUDA programs use is executed once, in its space, with
 * registers of its type. Values are the business of memory_test; here nothing may be refused. */
#include "runtime_testbed.h"

static const char *const spellings[] = {
    "atom.add.acq_rel.cta.u64",
    "atom.add.acquire.cta.u32",
    "atom.add.noftz.f16x2",
    "atom.add.relaxed.cta.u32",
    "atom.add.relaxed.cta.u64",
    "atom.add.release.gpu.u32",
    "atom.add.u32",
    "atom.global.add.f32",
    "atom.global.add.f64",
    "atom.global.add.u32",
    "atom.global.add.u64",
    "atom.global.and.b32",
    "atom.global.cas.b32",
    "atom.global.cas.b64",
    "atom.global.dec.u32",
    "atom.global.exch.b32",
    "atom.global.inc.u32",
    "atom.global.max.s32",
    "atom.global.max.u32",
    "atom.global.max.u64",
    "atom.global.min.s32",
    "atom.global.min.u32",
    "atom.global.or.b32",
    "atom.global.sys.add.f64",
    "atom.global.sys.add.u32",
    "atom.global.sys.and.b32",
    "atom.global.sys.cas.b32",
    "atom.global.sys.dec.u32",
    "atom.global.sys.exch.b32",
    "atom.global.sys.inc.u32",
    "atom.global.sys.max.s32",
    "atom.global.sys.min.s32",
    "atom.global.sys.or.b32",
    "atom.global.sys.xor.b32",
    "atom.global.xor.b32",
    "atom.global.xor.b64",
    "atom.or.acq_rel.cta.b32",
    "atom.shared.add.f32",
    "atom.shared.add.f64",
    "atom.shared.add.u32",
    "atom.shared.exch.b32",
    "atom.shared.max.s32",
    "atom.shared.min.s32",
    "atom.shared.or.b32",
    "ld.acquire.cta.b64",
    "ld.acquire.cta.u32",
    "ld.acquire.gpu.u32",
    "ld.acquire.sys.global.u8",
    "ld.ca.u32",
    "ld.cg.u32",
    "ld.const.f32",
    "ld.const.f64",
    "ld.const.s8",
    "ld.const.u16",
    "ld.const.u32",
    "ld.const.u64",
    "ld.const.u8",
    "ld.const.v2.f32",
    "ld.const.v2.u32",
    "ld.const.v4.f32",
    "ld.const.v4.u32",
    "ld.f32",
    "ld.f64",
    "ld.global.ca.f32",
    "ld.global.ca.f64",
    "ld.global.ca.u64",
    "ld.global.ca.v4.f32",
    "ld.global.cg.f32",
    "ld.global.cg.f64",
    "ld.global.cg.u64",
    "ld.global.cg.v4.f32",
    "ld.global.cs.f32",
    "ld.global.cv.u64",
    "ld.global.f32",
    "ld.global.f64",
    "ld.global.nc.f32",
    "ld.global.nc.f64",
    "ld.global.nc.s32",
    "ld.global.nc.u16",
    "ld.global.nc.u32",
    "ld.global.nc.u64",
    "ld.global.nc.u8",
    "ld.global.nc.v2.f32",
    "ld.global.nc.v2.f64",
    "ld.global.nc.v2.u16",
    "ld.global.nc.v2.u32",
    "ld.global.nc.v2.u64",
    "ld.global.nc.v4.f32",
    "ld.global.nc.v4.u32",
    "ld.global.nc.v4.u8",
    "ld.global.s16",
    "ld.global.s32",
    "ld.global.s8",
    "ld.global.u16",
    "ld.global.u32",
    "ld.global.u64",
    "ld.global.u8",
    "ld.global.v2.f32",
    "ld.global.v2.f64",
    "ld.global.v2.u16",
    "ld.global.v2.u32",
    "ld.global.v2.u64",
    "ld.global.v2.u8",
    "ld.global.v4.f32",
    "ld.global.v4.u16",
    "ld.global.v4.u32",
    "ld.global.v4.u8",
    "ld.local.f32",
    "ld.local.f64",
    "ld.local.s16",
    "ld.local.s8",
    "ld.local.u32",
    "ld.local.u64",
    "ld.local.u8",
    "ld.local.v2.f32",
    "ld.local.v2.f64",
    "ld.local.v2.u32",
    "ld.local.v2.u64",
    "ld.local.v4.f32",
    "ld.local.v4.u32",
    "ld.local.v4.u8",
    "ld.param.b32",
    "ld.param.b64",
    "ld.param.f32",
    "ld.param.f64",
    "ld.param.s32",
    "ld.param.s8",
    "ld.param.u16",
    "ld.param.u32",
    "ld.param.u64",
    "ld.param.u8",
    "ld.param.v2.f32",
    "ld.param.v2.u32",
    "ld.param.v2.u8",
    "ld.param.v4.u8",
    "ld.relaxed.cta.b32",
    "ld.relaxed.gpu.u32",
    "ld.relaxed.gpu.v2.u32",
    "ld.relaxed.gpu.v2.u64",
    "ld.relaxed.sys.b32",
    "ld.relaxed.sys.b64",
    "ld.shared.f32",
    "ld.shared.f64",
    "ld.shared.s16",
    "ld.shared.s32",
    "ld.shared.s8",
    "ld.shared.u16",
    "ld.shared.u32",
    "ld.shared.u64",
    "ld.shared.u8",
    "ld.shared.v2.f32",
    "ld.shared.v2.f64",
    "ld.shared.v2.u16",
    "ld.shared.v2.u32",
    "ld.shared.v2.u64",
    "ld.shared.v2.u8",
    "ld.shared.v4.f32",
    "ld.shared.v4.u32",
    "ld.shared.v4.u8",
    "ld.u32",
    "ld.u64",
    "ld.u8",
    "ld.v2.f32",
    "ld.volatile.global.f32",
    "ld.volatile.global.s32",
    "ld.volatile.global.u32",
    "ld.volatile.global.u8",
    "ld.volatile.shared.f32",
    "ld.volatile.shared.f64",
    "ld.volatile.shared.u16",
    "ld.volatile.shared.u32",
    "ld.volatile.shared.u8",
    "ld.volatile.u32",
    "red.and.release.cta.b32",
    "st.cg.u32",
    "st.f32",
    "st.f64",
    "st.global.cs.f32",
    "st.global.f32",
    "st.global.f64",
    "st.global.u16",
    "st.global.u32",
    "st.global.u64",
    "st.global.u8",
    "st.global.v2.f32",
    "st.global.v2.f64",
    "st.global.v2.u16",
    "st.global.v2.u32",
    "st.global.v2.u64",
    "st.global.v2.u8",
    "st.global.v4.f32",
    "st.global.v4.u16",
    "st.global.v4.u32",
    "st.global.v4.u8",
    "st.local.f32",
    "st.local.f64",
    "st.local.u16",
    "st.local.u32",
    "st.local.u64",
    "st.local.u8",
    "st.local.v2.f32",
    "st.local.v2.f64",
    "st.local.v2.u32",
    "st.local.v2.u64",
    "st.local.v2.u8",
    "st.local.v4.f32",
    "st.local.v4.u16",
    "st.local.v4.u32",
    "st.local.v4.u8",
    "st.param.b32",
    "st.param.b64",
    "st.param.f32",
    "st.param.f64",
    "st.relaxed.cta.b32",
    "st.relaxed.gpu.v2.u32",
    "st.relaxed.gpu.v2.u64",
    "st.release.gpu.u32",
    "st.release.sys.global.u8",
    "st.shared.f32",
    "st.shared.f64",
    "st.shared.u16",
    "st.shared.u32",
    "st.shared.u64",
    "st.shared.u8",
    "st.shared.v2.f32",
    "st.shared.v2.f64",
    "st.shared.v2.u16",
    "st.shared.v2.u32",
    "st.shared.v4.f32",
    "st.shared.v4.u32",
    "st.shared.v4.u8",
    "st.u32",
    "st.u64",
    "st.volatile.global.f32",
    "st.volatile.global.u32",
    "st.volatile.global.u8",
    "st.volatile.shared.f32",
    "st.volatile.shared.f64",
    "st.volatile.shared.u16",
    "st.volatile.shared.u32",
    "st.volatile.shared.u64",
    "st.volatile.shared.u8",
    "st.volatile.u32",
};

/* The register file that a type lives in. */
static const char *register_of(const char *spelling)
{
    const char *type = strrchr(spelling, '.') + 1;
    if (!strcmp(type, "f32")) return "%f";
    if (!strcmp(type, "f64")) return "%fd";
    if (strstr(type, "64")) return "%rd";
    if (!strcmp(type, "f16x2") || strstr(type, "32")) return "%r";
    return "%h";
}

static void value(char *to, size_t cap, const char *spelling, uint32_t first)
{
    const char *v = strstr(spelling, ".v"), *reg = register_of(spelling);
    const uint32_t count = v && (v[2] == '2' || v[2] == '4') ? (uint32_t)(v[2] - '0') : 1;
    to[0] = 0;
    for (uint32_t k = 0; k < count; k++)
        snprintf(to + strlen(to), cap - strlen(to), "%s%s%u", k ? "," : count > 1 ? "{" : "", reg, first + k);
    if (count > 1) snprintf(to + strlen(to), cap - strlen(to), "}");
}

static const char *address_of(const char *spelling)
{
    if (strstr(spelling, ".shared")) return "[sh+16]";
    if (strstr(spelling, ".local")) return "[lo+16]";
    if (strstr(spelling, ".const")) return "[co+16]";
    if (strstr(spelling, "st.param")) return "[arg]";
    if (strstr(spelling, ".param")) return "[ps]";
    return "[%rd3]";
}

static void statement(char *to, size_t cap, const char *spelling)
{
    char first[128], second[128];
    value(first, sizeof first, spelling, 6);
    value(second, sizeof second, spelling, 10);
    if (!strncmp(spelling, "ld", 2))
        snprintf(to, cap, "%s %s, %s;\n", spelling, first, address_of(spelling));
    else if (!strncmp(spelling, "st", 2))
        snprintf(to, cap, "%s %s, %s;\n", spelling, address_of(spelling), first);
    else if (!strncmp(spelling, "red", 3))
        snprintf(to, cap, "%s %s, %s;\n", spelling, address_of(spelling), second);
    else
        snprintf(to, cap, "%s %s, %s, %s%s%s;\n", spelling, first, address_of(spelling), second,
                 strstr(spelling, ".cas") ? ", " : "", strstr(spelling, ".cas") ? second : "");
}

static void every_access_of_real_programs_is_executed(void **state)
{
    (void)state;
    char ptx[8192], line[512];
    for (size_t n = 0; n < sizeof spellings / sizeof *spellings; n++) {
        statement(line, sizeof line, spellings[n]);
        const bool argument = !strncmp(spellings[n], "st.param", 8);
        snprintf(ptx, sizeof ptx,
                 PTX_HEAD ".shared .align 16 .b8 sh[64];\n.const .align 16 .b8 co[64];\n"
                          ".func f(.param .align 16 .b8 x[32])\n{\nret;\n}\n"
                          ".visible .entry k(.param .u64 p0, .param .align 16 .b8 ps[32])\n{\n"
                          ".reg .b16 %%h<16>;\n.reg .b32 %%r<16>;\n.reg .f32 %%f<16>;\n.reg .b64 "
                          "%%rd<16>;\n.reg .f64 %%fd<16>;\n"
                          ".local .align 16 .b8 lo[64];\nld.param.u64 %%rd3, [p0];\nmov.u32 %%r0, "
                          "sh;\nmov.b64 %%rd6, 1;\nmov.b64 %%rd7, 1;\n"
                          "%s%s%sst.global.u32 [%%rd3+256], 1;\nret;\n}\n",
                 argument ? "{\n.param .align 16 .b8 arg[32];\n" : "", line,
                 argument ? "call f, (arg);\n}\n" : "");
        struct bed b = {.ptx = ptx, .block = {1}, .structure_bytes = 32};
        bed_run(&b);
        if (b.kind != DIAG_NONE) fail_msg("%s: %s", spellings[n], b.diag.text);
        assert_int_equal(b.copy[64], 1);
        diag_clear(&b.diag);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_access_of_real_programs_is_executed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
