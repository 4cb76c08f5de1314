/* Pages whose lines lie in several nodes: homes by granule, every line in a place of its own, compact frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/rng.h"
#include "config/machine.h"
#include "pages/pages_private.h"
#include "system/rules.h"

enum { CHIPLETS = 16, PAGE_LINES = 32, FIRST_PAGE = 1000 };

struct fixture {
    struct arena arena;
    struct machine machine;
    struct pages *pages;
};

static void open_pages(struct fixture *f)
{
    arena_init(&f->arena);
    machine_init(&f->machine);
    machine_load(&f->machine, "ladm-hcoda");
    machine_finish(&f->machine, &system_rules);
    f->pages = pages_new(&f->arena, &f->machine.config,
                         &(struct pages_wiring){.map = dram_map_new(&f->arena, &f->machine.config)});
}

static void close_pages(struct fixture *f)
{
    pages_free(f->pages);
    machine_free(&f->machine);
    arena_free(&f->arena);
}

/* Places `pages` pages in random order. Every line is at the node of its granule and nowhere else in memory. */
static void check_lines(uint64_t granule_lines, uint64_t offset_lines, uint64_t count)
{
    struct fixture f;
    struct map lines;
    struct rng r = rng_seed(granule_lines, offset_lines);
    open_pages(&f);
    map_init(&lines);
    const struct page_rule rule = {.granule_lines = granule_lines,
                                   .origin_line = FIRST_PAGE * PAGE_LINES + offset_lines,
                                   .nodes = CHIPLETS};
    pages_assign_range(f.pages, 0, FIRST_PAGE, count, &rule);
    for (uint64_t placed = 0; placed < count;) {
        const uint64_t key = pages_key(0, FIRST_PAGE + rng_below(&r, count));
        if (pages_find(f.pages, 0, key)) continue;
        assert_true(pages_place(f.pages, 0, key) & PAGES_INTERLEAVED);
        placed++;
    }
    for (uint64_t line = FIRST_PAGE * PAGE_LINES; line < (FIRST_PAGE + count) * PAGE_LINES; line++) {
        const uint64_t *entry = pages_find(f.pages, 0, pages_key(0, line / PAGE_LINES));
        const struct home home = pages_line(f.pages, *entry, line);
        const int64_t from = (int64_t)(line - rule.origin_line);
        const int64_t granule = from >= 0 ? from / (int64_t)granule_lines
                                          : -((-from + (int64_t)granule_lines - 1) / (int64_t)granule_lines);
        const int64_t node = (granule % CHIPLETS + CHIPLETS) % CHIPLETS;
        bool fresh;
        assert_int_equal(home.channel / config_channels_per_chiplet(&f.machine.config), node);
        (void)map_put(&lines, home.line, &fresh);
        assert_true(fresh);
    }
    /* a part of the structure per node, in whole pages, and one more at each end */
    assert_true(f.pages->parts.count <= count + 2 * CHIPLETS);
    map_free(&lines);
    close_pages(&f);
}

static void body(void *unused)
{
    (void)unused;
    check_lines(1, 0, 64);
    check_lines(8, 0, 40);
    check_lines(8, 5, 40);
    check_lines(3, 31, 50);  /* no divisor of a page */
    check_lines(48, 7, 100); /* one page and a half */
}

static void every_line_of_an_interleaved_page_is_at_the_node_of_its_granule(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, body, NULL)) fail_msg("%s", d.text);
    diag_clear(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_of_an_interleaved_page_is_at_the_node_of_its_granule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
