/* A device of the public interface: arrays, textures and surfaces, with time and without; mistakes come back
 * as statuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <atoll.h>

/* board[y][x] = 2 * picture(x + 1/2, y + 1/2) */
static const char ptx[] =
    ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 t, .param .u64 s)\n{\n"
    ".reg .b32 %r<4>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [t];\nld.param.u64 %rd2, "
    "[s];\n"
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\ncvt.rn.f32.u32 %f1, %r1;\ncvt.rn.f32.u32 %f2, %r2;\n"
    "add.f32 %f1, %f1, 0f3F000000;\nadd.f32 %f2, %f2, 0f3F000000;\n"
    "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];\nadd.f32 %f3, %f3, %f3;\nmov.b32 %r3, %f3;\n"
    "shl.b32 %r1, %r1, 2;\nsust.b.2d.b32.trap [%rd2, {%r1, %r2}], {%r3};\nret;\n}\n";

enum { W = 24, H = 6 };

struct rig {
    atoll_sim *sim;
    atoll_device *device;
    atoll_kernel *kernel;
    atoll_array *picture, *board;
    uint64_t texture, surface;
};

static const struct atoll_array_info floats = {.shape = {.width = W, .height = H},
                                               .texel = {ATOLL_TEXEL_FLOAT, 32, 1}};

static void open_rig(struct rig *r, bool functional)
{
    atoll_program *program;
    struct atoll_array_info info;
    assert_int_equal(atoll_create(&r->sim), ATOLL_OK);
    assert_int_equal(atoll_machine(r->sim, "uba-mem"), ATOLL_OK);
    const struct atoll_device_options options = {
        .label = "test", .functional = functional, .check = !functional};
    assert_int_equal(atoll_device_open(r->sim, &options, &r->device), ATOLL_OK);
    assert_int_equal(atoll_program_new(r->device, &program), ATOLL_OK);
    assert_int_equal(atoll_program_add(program, "k.ptx", ptx, sizeof ptx), ATOLL_OK);
    assert_int_equal(atoll_kernel_find(program, "k", &r->kernel), ATOLL_OK);
    assert_non_null(r->kernel);
    assert_int_equal(atoll_array_create(r->device, &floats, "picture", &r->picture), ATOLL_OK);
    assert_int_equal(atoll_array_create(r->device, &floats, "board", &r->board), ATOLL_OK);
    atoll_array_describe(r->picture, &info);
    assert_true(info.row_bytes >= W * 4 && info.plane_bytes >= info.row_bytes * H &&
                info.bytes >= info.plane_bytes);
    assert_int_equal(info.shape.width, W);
    for (uint32_t k = 0; k < W * H; k++)
        *(float *)((char *)info.memory + k / W * info.row_bytes + k % W * 4) = (float)k;
    const struct atoll_texture t = {
        .array = r->picture, .linear = true, .address = {ATOLL_CLAMP, ATOLL_CLAMP}};
    assert_int_equal(atoll_texture_create(r->device, &t, &r->texture), ATOLL_OK);
    assert_int_equal(atoll_surface_create(r->device, r->board, &r->surface), ATOLL_OK);
}

static atoll_status run(struct rig *r, struct atoll_launched *done)
{
    const void *args[] = {&r->texture, &r->surface};
    return atoll_launch(
        r->device,
        &(struct atoll_launch){.kernel = r->kernel, .grid = {H, 1, 1}, .block = {W, 1, 1}, .args = args},
        done);
}

static void close_rig(struct rig *r)
{
    atoll_device_close(r->device);
    atoll_destroy(r->sim);
}

static void kernels_read_textures_and_write_surfaces(void **state)
{
    (void)state;
    for (int functional = 0; functional < 2; functional++) {
        struct rig r = {0};
        struct atoll_launched done;
        struct atoll_array_info info;
        struct atoll_outcome outcome;
        open_rig(&r, functional);
        assert_int_equal(run(&r, &done), ATOLL_OK);
        assert_true(functional ? done.cycles == 0 : done.cycles > 0);
        atoll_array_describe(r.board, &info);
        for (uint32_t k = 0; k < W * H; k++)
            assert_true(*(float *)((char *)info.memory + k / W * info.row_bytes + k % W * 4) == 2 * (float)k);
        assert_int_equal(atoll_texture_destroy(r.device, r.texture), ATOLL_OK);
        assert_int_equal(atoll_surface_destroy(r.device, r.surface), ATOLL_OK);
        assert_int_equal(atoll_array_free(r.device, r.picture), ATOLL_OK);
        assert_int_equal(atoll_device_finish(r.device, &outcome), ATOLL_OK);
        atoll_outcome_free(&outcome);
        close_rig(&r);
    }
}

static void wrong_images_are_statuses(void **state)
{
    (void)state;
    struct rig r = {0};
    struct atoll_launched done;
    atoll_array *none = NULL;
    uint64_t handle = 1;
    open_rig(&r, true);
    const struct atoll_array_info odd = {.shape = {.width = 4}, .texel = {ATOLL_TEXEL_SIGNED, 24, 1}};
    assert_int_equal(atoll_array_create(r.device, &odd, NULL, &none), ATOLL_MISTAKE);
    assert_non_null(strstr(atoll_message(r.sim), "1 channels of 24 bits"));
    assert_null(none);
    assert_int_equal(atoll_array_level(r.device, r.picture, 1, &none), ATOLL_MISTAKE);
    const struct atoll_texture stray = {
        .memory = &handle, .width = 1, .texel = {ATOLL_TEXEL_FLOAT, 32, 1}, .address = {ATOLL_CLAMP}};
    assert_int_equal(atoll_texture_create(r.device, &stray, &handle), ATOLL_MISTAKE);
    assert_non_null(strstr(atoll_message(r.sim), "texture object"));
    assert_int_equal(atoll_surface_destroy(r.device, r.texture), ATOLL_MISTAKE);
    assert_int_equal(atoll_array_free(r.device, r.board), ATOLL_OK);
    assert_int_equal(atoll_array_free(r.device, r.board), ATOLL_MISTAKE);
    assert_int_equal(run(&r, &done), ATOLL_MISTAKE);
    assert_non_null(
        strstr(atoll_message(r.sim), "the array of surface object 2 (24 x 6 x 1 texels) was freed"));
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_read_textures_and_write_surfaces),
        cmocka_unit_test(wrong_images_are_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
