/* The store: rows whole or absent, claims, and databases that are not ours. */
#include "sweep/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweep/store_private.h"

struct scratch {
    char dir[64], path[96];
};

static int set_up(void **state)
{
    struct scratch *s = calloc(1, sizeof *s);
    (void)strcpy(s->dir, "/tmp/atoll-store-XXXXXX");
    if (!s || !mkdtemp(s->dir)) return 1;
    (void)snprintf(s->path, sizeof s->path, "%s/x.db", s->dir);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scratch *s = *state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", s->dir);
    const int code = system(command); /* NOLINT: a directory of our own */
    free(s);
    return code;
}

/* ---- helpers ---- */

static const struct store_run example = {
    .key = "k1",
    .machine = "uba-mem",
    .workload = "vecadd:tiny",
    .command = "atoll run",
    .config = "{}",
    .status = STUDY_DONE,
    .result = "{\"totals\": {\"cycles\": 7, \"seconds\": 0.5, \"ipc\": 2.0, \"bound_by\": \"dram\"}}",
    .started_at = "2026-01-01T00:00:00Z",
    .wall_seconds = 3};

static struct store *opened;
static void open_write(void *path) { opened = store_open(path, STORE_WRITE); }
static void open_read(void *path) { opened = store_open(path, STORE_READ); }

static void expect_mistake(diag_body_fn *body, void *arg, const char *fragment)
{
    struct diag d;
    diag_init(&d);
    assert_int_equal(diag_run(&d, body, arg), DIAG_MISTAKE);
    if (!strstr(d.text, fragment)) fail_msg("'%s' is not in: %s", fragment, d.text);
    diag_clear(&d);
}

static int64_t count(struct store *s, const char *sql)
{
    struct store_query q;
    store_begin(s, &q, sql, "");
    assert_true(store_step(&q));
    const int64_t n = sqlite3_column_int64(q.stmt, 0);
    store_end(&q);
    return n;
}

/* ---- rows ---- */

static void a_run_is_written_once_and_its_figures_become_columns(void **state)
{
    struct scratch *s = *state;
    struct store *db = store_open(s->path, STORE_WRITE);
    assert_int_equal(store_claim(db, "k1"), STORE_CLAIMED);
    assert_false(store_has_run(db, "k1"));
    store_put_run(db, &example);
    struct store_run again = example;
    again.status = STUDY_FAILED;
    store_put_run(db, &again);
    assert_true(store_has_run(db, "k1"));
    assert_int_equal(count(db, "SELECT count(*) FROM run"), 1);
    assert_int_equal(count(db, "SELECT cycles FROM run WHERE status='done' AND bound_by='dram' AND ipc=2.0"),
                     7);
    assert_int_equal(count(db, "SELECT count(*) FROM claim"), 0);
    assert_int_equal(store_claim(db, "k1"), STORE_FINISHED);
    assert_true(store_mean_wall(db, "vecadd:tiny") == 3);
    store_close(db);
}

/* Two studies share k1; k3 is asked for twice, k2 by the first alone. */
static void what_other_studies_ask_for_is_counted_once(void **state)
{
    const struct scratch *s = *state;
    struct store *db = store_open(s->path, STORE_WRITE);
    for (int64_t id = 1; id <= 2; id++)
        store_do(db,
                 "INSERT INTO study(id,name,title,file,text,scale,command,version,added_at) "
                 "VALUES(?,?,'','','','','','','')",
                 "is", id, id == 1 ? "first" : "second");
    static const struct {
        int64_t study;
        const char *key;
    } points[] = {{1, "k1"}, {1, "k2"}, {2, "k1"}, {2, "k3"}, {2, "k3"}, {2, "k4"}, {2, NULL}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        store_do(db, "INSERT INTO point(study,idx,key,machine,workload,axes,seed) VALUES(?,?,?,'','','',1)",
                 "iis", points[i].study, (int64_t)i, points[i].key);
    const struct study first = {.name = "first"};
    assert_int_equal(store_left_elsewhere(db, &first), 2);
    struct store_run run = example;
    run.key = "k3";
    store_put_run(db, &run);
    assert_int_equal(store_left_elsewhere(db, &first), 1);
    store_close(db);
}

static void put_large(void *arg)
{
    struct store_run large = example;
    static char log[400001];
    memset(log, 'x', sizeof log - 1);
    large.key = "k2";
    large.log = log;
    store_put_run(arg, &large);
}

static void a_full_disk_leaves_nothing_half_written(void **state)
{
    struct scratch *s = *state;
    struct store *db = store_open(s->path, STORE_WRITE);
    char limit[64];
    store_put_run(db, &example);
    (void)snprintf(limit, sizeof limit, "PRAGMA max_page_count=%lld",
                   (long long)count(db, "PRAGMA page_count") + 2);
    store_exec(db, limit);
    expect_mistake(put_large, db, "the disk is full. Nothing is lost");
    assert_int_equal(count(db, "SELECT count(*) FROM run"), 1);
    store_exec(db, "PRAGMA max_page_count=1000000");
    put_large(db); /* goes on */
    assert_int_equal(count(db, "SELECT count(*) FROM run"), 2);
    store_close(db);
}

/* ---- claims ---- */

static void two_runners_never_have_the_same_point(void **state)
{
    struct scratch *s = *state;
    struct store *a = store_open(s->path, STORE_WRITE), *b = store_open(s->path, STORE_WRITE);
    assert_int_equal(store_claim(a, "k1"), STORE_CLAIMED);
    assert_int_equal(store_claim(b, "k1"), STORE_TAKEN);
    assert_int_equal(store_claim(b, "k2"), STORE_CLAIMED);
    store_release(a, "k1");
    assert_int_equal(store_claim(b, "k1"), STORE_CLAIMED);
    assert_int_equal(store_claim(a, "k1"), STORE_TAKEN);
    store_put_run(b, &example);
    assert_int_equal(store_claim(a, "k1"), STORE_FINISHED);
    store_close(a);
    store_close(b);
}

static void claims_of_the_dead_count_for_nothing(void **state)
{
    struct scratch *s = *state;
    struct store *db = store_open(s->path, STORE_WRITE);
    store_do(db, "INSERT INTO runner(id,host,pid,born,beat) VALUES(77,?,?,1,0)", "si", db->host,
             (int64_t)getpid());
    store_do(db, "INSERT INTO runner(id,host,pid,born,beat) VALUES(78,'elsewhere',1,1,?)", "i",
             (int64_t)time(NULL));
    store_do(db, "INSERT INTO runner(id,host,pid,born,beat) VALUES(79,'elsewhere',1,1,?)", "i",
             (int64_t)time(NULL) - 3600);
    store_exec(db, "INSERT INTO claim VALUES('same number, another process',77)");
    store_exec(db, "INSERT INTO claim VALUES('alive elsewhere',78)");
    store_exec(db, "INSERT INTO claim VALUES('silent elsewhere',79)");
    assert_int_equal(store_claim(db, "same number, another process"), STORE_CLAIMED);
    assert_int_equal(store_claim(db, "alive elsewhere"), STORE_TAKEN);
    assert_int_equal(store_claim(db, "silent elsewhere"), STORE_CLAIMED);
    store_close(db);
}

/* ---- files that are not ours ---- */

static void other_databases_are_refused(void **state)
{
    struct scratch *s = *state;
    struct store *db = store_open(s->path, STORE_WRITE);
    store_exec(db, "PRAGMA user_version=99");
    store_close(db);
    expect_mistake(open_write, s->path, "was made by a newer version of Atoll (schema 99, this one knows 1)");
    expect_mistake(open_read, s->path, "was made by a newer version of Atoll");

    FILE *f = fopen(s->path, "w");
    (void)fputs("this is a text, and it is longer than the header of a database, to be sure of it: "
                "0123456789012345678901234567890123456789",
                f);
    (void)fclose(f);
    expect_mistake(open_write, s->path, "is not a database of Atoll");

    (void)unlink(s->path);
    sqlite3 *other;
    assert_int_equal(sqlite3_open(s->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "CREATE TABLE t(x)", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(other);
    expect_mistake(open_write, s->path, "is a database of another program");
    expect_mistake(open_write, (char[]){"/nonexistent/x.db"},
                   "cannot open or create the database '/nonexistent/x.db'");
    expect_mistake(open_read, (char[]){"/nonexistent/x.db"}, "cannot read the database '/nonexistent/x.db'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_is_written_once_and_its_figures_become_columns, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_nothing_half_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_other_studies_ask_for_is_counted_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_runners_never_have_the_same_point, set_up, tear_down),
        cmocka_unit_test_setup_teardown(claims_of_the_dead_count_for_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_databases_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
