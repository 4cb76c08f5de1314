/* The public interface: statuses and messages, several simulators side by side, nothing printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <atoll.h>

static void a_failing_call_returns_a_status_and_a_message_and_the_next_call_works(void **state)
{
    (void)state;
    atoll_sim *sim;
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    assert_string_equal(atoll_message(sim), "");
    assert_int_equal(atoll_machine(sim, "nowhere"), ATOLL_MISTAKE);
    assert_non_null(strstr(atoll_message(sim), "unknown machine 'nowhere'"));
    assert_int_equal(atoll_machine(sim, "uba-mem"), ATOLL_OK);
    assert_string_equal(atoll_message(sim), "");
    assert_int_equal(atoll_set(sim, "gpu.llc_size=7 B"), ATOLL_MISTAKE);
    assert_int_equal(atoll_set(sim, "gpu.llc_size=12 MiB"), ATOLL_OK);
    assert_int_equal(atoll_check_machine(sim), ATOLL_OK);
    atoll_destroy(sim);
    atoll_destroy(NULL);
}

static void simulators_do_not_share_anything(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    atoll_sim *sims[COUNT];
    char *texts[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char set[32];
        assert_int_equal(atoll_create(&sims[i]), ATOLL_OK);
        (void)snprintf(set, sizeof set, "sim.seed=%d", 100 + i);
        assert_int_equal(atoll_set(sims[i], set), ATOLL_OK);
        if (i == 2) assert_int_equal(atoll_set(sims[i], "nonsense"), ATOLL_MISTAKE);
    }
    for (int i = 0; i < COUNT; i++) {
        char line[32];
        assert_int_equal(atoll_config(sims[i], ATOLL_YAML, &texts[i]), ATOLL_OK);
        (void)snprintf(line, sizeof line, "seed: %d\n", 100 + i);
        assert_non_null(strstr(texts[i], line));
        free(texts[i]);
        atoll_destroy(sims[i]);
    }
}

static void data_that_nobody_wants_is_not_made(void **state)
{
    (void)state;
    for (int functional = 0; functional < 2; functional++)
        for (int no_data = 0; no_data < 2; no_data++) {
            atoll_sim *sim;
            struct atoll_outcome out;
            const struct atoll_job job = {.workload = "vecadd:tiny",
                                          .functional = functional,
                                          .timeline = !functional,
                                          .no_data = no_data};
            assert_int_equal(atoll_create(&sim), ATOLL_OK);
            assert_int_equal(atoll_run(sim, &job, &out), ATOLL_OK);
            assert_non_null(out.report);
            assert_int_equal(out.json == NULL, no_data);
            assert_int_equal(out.csv == NULL, no_data);
            assert_int_equal(out.timeline != NULL, !functional);
            atoll_outcome_free(&out);
            atoll_destroy(sim);
        }
}

static void the_library_prints_nothing(void **state)
{
    (void)state;
    FILE *capture = tmpfile();
    const int saved_out = dup(1), saved_err = dup(2);
    (void)fflush(stdout);
    (void)dup2(fileno(capture), 1);
    (void)dup2(fileno(capture), 2);
    atoll_sim *sim;
    char *text = NULL;
    (void)atoll_create(&sim);
    (void)atoll_machine(sim, "/nonexistent.yaml");
    (void)atoll_set(sim, "a.b=c");
    (void)atoll_list(sim, "nothing", ATOLL_TEXT, &text);
    const atoll_status listed = atoll_list(sim, "params", ATOLL_JSON, &text);
    const atoll_status wrong = atoll_config(sim, ATOLL_CSV, &text + 0);
    atoll_destroy(sim);
    (void)fflush(stdout);
    (void)dup2(saved_out, 1);
    (void)dup2(saved_err, 2);
    (void)close(saved_out);
    (void)close(saved_err);
    assert_int_equal(lseek(fileno(capture), 0, SEEK_END), 0);
    (void)fclose(capture);
    assert_int_equal(listed, ATOLL_OK);
    assert_int_equal(wrong, ATOLL_MISTAKE);
    assert_non_null(strstr(text, "gpu.llc_size"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_call_returns_a_status_and_a_message_and_the_next_call_works),
        cmocka_unit_test(simulators_do_not_share_anything),
        cmocka_unit_test(data_that_nobody_wants_is_not_made),
        cmocka_unit_test(the_library_prints_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
