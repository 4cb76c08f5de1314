/* boundaries: every organisation of the LLC with everything that a kernel's end may do to it: the machine is
 * refused, and the message says what to set, or no read is stale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "atoll.h"
#include "config/config.h"

enum { SETTINGS_MAX = 8 };

static const struct {
    const char *machine, *settings[SETTINGS_MAX];
    const char *coherent; /* the boundaries that are not refused; NULL: all */
} tried[] = {
    {"uba-mem", {0}, NULL},
    {"mcm-uba", {0}, NULL},
    {"uba-sm", {0}, NULL},
    {"a100", {0}, NULL},
    {"numa-gpu", {0}, "flush drop_remote replicas"},
    {"ladm-rr", {0}, "flush drop_remote replicas"},
    {"numa-gpu", {"system.gpus=1"}, NULL},
    {"selrep-private", {0}, "flush"},
    {"selrep-adaptive",
     {"selrep.profile_cyc=500", "selrep.period_cyc=1500", "selrep.samples=1", "selrep.equal=1"},
     NULL},
    {"selrep", {"selrep.degree=4"}, "flush replicas"},
    {"selrep", {"selrep.epoch_cyc=300", "selrep.samples=1", "selrep.sigmas=0"}, "flush replicas"},
    {"nuba-norep", {0}, NULL},
    {"nuba-norep", {"system.gpus=2"}, NULL},
    {"nuba-fullrep", {0}, "flush drop_remote replicas"},
    {"nuba-fullrep", {"system.gpus=2"}, "flush drop_remote replicas"},
    {"nuba", {"nuba.epoch_cyc=500"}, "flush drop_remote replicas"},
    {"mcm-nuba", {"nuba.replication=full"}, "flush drop_remote replicas"},
    {"mcm-nuba", {"nuba.replication=full", "map.kind=pae"}, "flush drop_remote replicas"},
};
enum { TRIED = sizeof tried / sizeof *tried };

static bool names(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
    return false;
}

static bool is_as_expected(size_t k, const char *boundary, const char *workload)
{
    atoll_sim *sim;
    struct atoll_outcome out;
    char set[64];
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    assert_int_equal(atoll_machine(sim, tried[k].machine), ATOLL_OK);
    for (size_t n = 0; n < SETTINGS_MAX && tried[k].settings[n]; n++)
        assert_int_equal(atoll_set(sim, tried[k].settings[n]), ATOLL_OK);
    (void)snprintf(set, sizeof set, "llc.boundary=%s", boundary);
    assert_int_equal(atoll_set(sim, set), ATOLL_OK);
    const struct atoll_job job = {.workload = workload, .check = true};
    const atoll_status status = atoll_run(sim, &job, &out);
    const bool coherent = !tried[k].coherent || names(tried[k].coherent, boundary);
    const bool as_expected =
        coherent ? status == ATOLL_OK
                 : status == ATOLL_MISTAKE && strstr(atoll_message(sim), "llc.boundary") != NULL;
    if (!as_expected)
        print_error("%s (row %zu), %s, %s: %s\n", tried[k].machine, k, set, workload,
                    status ? atoll_message(sim) : "not refused");
    if (status == ATOLL_OK) atoll_outcome_free(&out);
    atoll_destroy(sim);
    return as_expected;
}

/* Kernels of both read what others, in other SMs, wrote just before. */
static void every_boundary_is_coherent_or_refused(void **state)
{
    (void)state;
    static const char *const workloads[] = {"stencil5:tiny", "fdtd2d:tiny"};
    uint32_t failed = 0;
    for (size_t k = 0; k < TRIED; k++)
        for (uint32_t boundary = 0; boundary < llc_boundary_count; boundary++)
            for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++)
                failed += !is_as_expected(k, choice_name(CHOICES_llc_boundary, boundary), workloads[w]);
    assert_int_equal(failed, 0);
}

/* A new organisation needs a row. */
static void every_organisation_is_tried(void **state)
{
    (void)state;
    bool found[llc_organisation_count] = {false};
    for (size_t k = 0; k < TRIED; k++) {
        atoll_sim *sim;
        char *text;
        assert_int_equal(atoll_create(&sim), ATOLL_OK);
        assert_int_equal(atoll_machine(sim, tried[k].machine), ATOLL_OK);
        assert_int_equal(atoll_config(sim, ATOLL_YAML, &text), ATOLL_OK);
        for (uint32_t n = 0; n < llc_organisation_count; n++) {
            char line[64];
            (void)snprintf(line, sizeof line, "\n  organisation: %s",
                           choice_name(CHOICES_llc_organisation, n));
            found[n] |= strstr(text, line) != NULL;
        }
        free(text);
        atoll_destroy(sim);
    }
    for (uint32_t n = 0; n < llc_organisation_count; n++)
        if (!found[n])
            fail_msg("no machine here has organisation %s", choice_name(CHOICES_llc_organisation, n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_boundary_is_coherent_or_refused),
        cmocka_unit_test(every_organisation_is_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
