/* Nodes: SMs and colours of each node on a tree of 2 GPUs x 2 chiplets x 4 partitions x 3 SMs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/nodes.h"

static struct config tree(void)
{
    struct config c;
    config_defaults(&c);
    c.system.gpus = 2;
    c.gpu.chiplets = 2;
    c.chiplet.partitions = 4;
    c.partition.sms = 3;
    return c;
}

static void expect(struct nodes n, uint32_t count, uint32_t sms, uint32_t colours, uint32_t per_gpu)
{
    assert_int_equal(n.count, count);
    assert_int_equal(n.sms_per_node, sms);
    assert_int_equal(n.colours_per_node, colours);
    assert_int_equal(n.per_gpu, per_gpu);
}

static void a_level_has_its_share_of_sms_and_colours(void **state)
{
    (void)state;
    const struct config c = tree();
    expect(nodes_at(&c, NODE_PARTITION, 8), 16, 3, 2, 8);
    expect(nodes_at(&c, NODE_CHIPLET, 8), 4, 12, 8, 2);
    expect(nodes_at(&c, NODE_GPU, 8), 2, 24, 16, 1);
}

static void partitions_without_colours_of_their_own_share_the_node_of_their_chiplet(void **state)
{
    (void)state;
    const struct config c = tree();
    expect(nodes_at(&c, NODE_PARTITION, 1), 4, 12, 1, 2);
    expect(nodes_at(&c, NODE_PARTITION, 4), 16, 3, 1, 8);
}

static void members_of_a_node_have_consecutive_numbers(void **state)
{
    (void)state;
    const struct config c = tree();
    for (enum node_level level = NODE_PARTITION; level <= NODE_GPU; level++) {
        const struct nodes n = nodes_at(&c, level, 8);
        for (uint32_t sm = 0; sm < 48; sm++) {
            const uint32_t node = nodes_of_sm(&n, sm);
            assert_in_range(sm, nodes_first_sm(&n, node), nodes_first_sm(&n, node) + n.sms_per_node - 1);
        }
        for (uint32_t node = 0; node < n.count; node++)
            for (uint64_t page = 0; page < 40; page++)
                assert_int_equal(nodes_of_colour(&n, nodes_colour(&n, node, page)), node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_has_its_share_of_sms_and_colours),
        cmocka_unit_test(partitions_without_colours_of_their_own_share_the_node_of_their_chiplet),
        cmocka_unit_test(members_of_a_node_have_consecutive_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
