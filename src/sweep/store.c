/* store: opening a database, errors in the user's words, runs, claims. Studies are in store_study.c. */
#include "sweep/store.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sweep/process.h"
#include "sweep/store_private.h"

extern const char study_build_id[];

enum { BUSY_MS = 60000, BEAT_SECONDS_MAX = 120 };

static const char schema[] =
    "CREATE TABLE study(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, paper TEXT,"
    " file TEXT NOT NULL, text TEXT NOT NULL, scale TEXT NOT NULL, command TEXT NOT NULL,"
    " version TEXT NOT NULL, added_at TEXT NOT NULL) STRICT;"
    "CREATE TABLE point(study INTEGER NOT NULL REFERENCES study(id) ON DELETE CASCADE, idx INTEGER NOT NULL,"
    " key TEXT, machine TEXT NOT NULL, workload TEXT NOT NULL, axes TEXT NOT NULL, seed INTEGER NOT NULL,"
    " note TEXT, PRIMARY KEY(study, idx)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE run(key TEXT PRIMARY KEY, status TEXT NOT NULL, machine TEXT NOT NULL,"
    " workload TEXT NOT NULL, command TEXT NOT NULL, config TEXT, result TEXT, message TEXT, log TEXT,"
    " cycles INTEGER, seconds REAL, warp_instructions INTEGER, ipc REAL, bound_by TEXT,"
    " version TEXT NOT NULL, build TEXT NOT NULL, host TEXT NOT NULL, started_at TEXT NOT NULL,"
    " finished_at TEXT NOT NULL, wall_seconds REAL NOT NULL, cpu_seconds REAL, max_rss_bytes INTEGER) STRICT;"
    "CREATE TABLE runner(id INTEGER PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL,"
    " born INTEGER NOT NULL, beat INTEGER NOT NULL) STRICT;"
    "CREATE TABLE claim(key TEXT PRIMARY KEY, runner INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE INDEX point_key ON point(key);"
    "CREATE INDEX run_workload ON run(workload);";

/* ---- what SQLite says ---- */

void store_check(struct store *s, int rc)
{
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE) return;
    const char *why = s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc);
    switch (rc & 0xff) {
    case SQLITE_FULL:
        diag_mistake("'%s': the disk is full. Nothing is lost: what was finished is kept, and the same "
                     "command goes on from there when there is room",
                     s->path);
    case SQLITE_IOERR:
        diag_mistake("'%s': cannot be written or read (%s); is the disk, the quota or the limit of file "
                     "sizes full? Nothing "
                     "is lost: what was finished is kept, and the same command goes on from there",
                     s->path, why);
    case SQLITE_CANTOPEN: diag_mistake("cannot open or create the database '%s': %s", s->path, why);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        diag_mistake("the database '%s' or its directory may not be written: %s; --db names another place",
                     s->path, why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        diag_mistake("the database '%s' has been locked by another process for %d seconds", s->path,
                     BUSY_MS / 1000);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: diag_mistake("'%s' is not a database of Atoll, or it is damaged: %s", s->path, why);
    default: break;
    }
    diag_mistake("the database '%s': %s", s->path, why);
}

void store_exec(struct store *s, const char *sql)
{
    store_check(s, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

static void finalize(void *arg) { (void)sqlite3_finalize(((struct store_query *)arg)->stmt); }

static void begin(struct store *s, struct store_query *q, const char *sql, const char *types, va_list list)
{
    *q = (struct store_query){.store = s};
    store_check(s, sqlite3_prepare_v2(s->db, sql, -1, &q->stmt, NULL));
    diag_defer(&q->cleanup, finalize, q);
    for (int i = 0; types[i]; i++) {
        int rc;
        if (types[i] == 's') {
            rc = sqlite3_bind_text(q->stmt, i + 1, va_arg(list, const char *), -1, SQLITE_STATIC);
        } else if (types[i] == 'i') {
            rc = sqlite3_bind_int64(q->stmt, i + 1, va_arg(list, int64_t));
        } else {
            const double v = va_arg(list, double);
            rc = isfinite(v) ? sqlite3_bind_double(q->stmt, i + 1, v) : sqlite3_bind_null(q->stmt, i + 1);
        }
        store_check(s, rc);
    }
}

void store_begin(struct store *s, struct store_query *q, const char *sql, const char *types, ...)
{
    va_list list;
    va_start(list, types);
    begin(s, q, sql, types, list);
    va_end(list);
}

bool store_step(struct store_query *q)
{
    const int rc = sqlite3_step(q->stmt);
    store_check(q->store, rc);
    return rc == SQLITE_ROW;
}

void store_end(struct store_query *q) { diag_done(&q->cleanup, true); }

void store_do(struct store *s, const char *sql, const char *types, ...)
{
    struct store_query q;
    va_list list;
    va_start(list, types);
    begin(s, &q, sql, types, list);
    va_end(list);
    (void)store_step(&q);
    store_end(&q);
}

static void roll_back(void *arg)
{
    const struct store_transaction *t = arg;
    (void)sqlite3_exec(t->store->db, "ROLLBACK", NULL, NULL, NULL);
}

void store_transact(struct store *s, struct store_transaction *t)
{
    t->store = s;
    store_exec(s, "BEGIN IMMEDIATE");
    diag_defer(&t->cleanup, roll_back, t);
}

void store_commit(struct store_transaction *t)
{
    store_exec(t->store, "COMMIT");
    diag_done(&t->cleanup, false);
}

/* ---- opening ---- */

static int64_t number(struct store *s, const char *sql)
{
    struct store_query q;
    store_begin(s, &q, sql, "");
    const int64_t v = store_step(&q) ? sqlite3_column_int64(q.stmt, 0) : 0;
    store_end(&q);
    return v;
}

/* Two runners may create it at the same time: the first one does. */
static void create_schema(struct store *s)
{
    struct store_transaction t;
    char pragmas[128];
    store_transact(s, &t);
    if (number(s, "SELECT count(*) FROM sqlite_master") == 0) {
        store_exec(s, schema);
        (void)snprintf(pragmas, sizeof pragmas, "PRAGMA application_id=%d; PRAGMA user_version=%d",
                       STORE_APPLICATION, STORE_SCHEMA);
        store_exec(s, pragmas);
    }
    store_commit(&t);
}

static void check_schema(struct store *s)
{
    const int64_t application = number(s, "PRAGMA application_id"),
                  version = number(s, "PRAGMA user_version");
    if (application != STORE_APPLICATION)
        diag_mistake("'%s' is a database of another program, not results of 'atoll sweep'", s->path);
    if (version > STORE_SCHEMA)
        diag_mistake("'%s' was made by a newer version of Atoll (schema %lld, this one knows %d): use that "
                     "version, or --db with a new file",
                     s->path, (long long)version, STORE_SCHEMA);
}

/* The switch to write-ahead logging is refused while another runner does the same. */
static void use_write_ahead_log(struct store *s)
{
    int rc = SQLITE_OK;
    for (int tries = 0; tries < 200; tries++) {
        rc = sqlite3_exec(s->db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON",
                          NULL, NULL, NULL);
        if (rc != SQLITE_BUSY && rc != SQLITE_LOCKED) break;
        (void)usleep(50000);
    }
    store_check(s, rc);
}

static void close_store(void *arg)
{
    struct store *s = arg;
    (void)sqlite3_close_v2(s->db);
    free(s->path);
    free(s);
}

void store_close(struct store *s)
{
    if (!s) return;
    if (s->runner) (void)sqlite3_exec(s->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    close_store(s);
}

const char *store_path(const struct store *s) { return s->path; }

/* A reader needs to write beside a database with a write-ahead log; where it may not, nobody else does. */
static void open_to_read(struct store *s, const char *path)
{
    if (access(path, R_OK) != 0) diag_mistake("cannot read the database '%s': %m", path);
    store_check(s, sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE, NULL));
    (void)sqlite3_busy_timeout(s->db, BUSY_MS);
    const int rc = sqlite3_exec(s->db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) & 0xff;
    if (rc != SQLITE_CANTOPEN && rc != SQLITE_READONLY) {
        store_check(s, rc);
        return;
    }
    char uri[4096 + 64] = "file:";
    size_t len = strlen(uri);
    for (const char *p = path; *p && len < 4096; p++)
        len += (size_t)snprintf(uri + len, 8, strchr("%?#", *p) ? "%%%02x" : "%c", (unsigned char)*p);
    (void)snprintf(uri + len, sizeof uri - len, "?immutable=1");
    (void)sqlite3_close_v2(s->db);
    store_check(s, sqlite3_open_v2(uri, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL));
}

struct store *store_open(const char *path, enum store_mode mode)
{
    struct diag_cleanup closing;
    struct store *s = calloc(1, sizeof *s);
    if (!s) diag_mistake("out of host memory");
    diag_defer(&closing, close_store, s);
    s->path = strdup(mode == STORE_MEMORY ? ":memory:" : path);
    if (!s->path) diag_mistake("out of host memory");
    (void)gethostname(s->host, sizeof s->host - 1);
    if (mode == STORE_READ) {
        open_to_read(s, path);
    } else {
        store_check(s, sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
        (void)sqlite3_busy_timeout(s->db, BUSY_MS);
        use_write_ahead_log(s);
        if (number(s, "SELECT count(*) FROM sqlite_master") == 0) create_schema(s);
    }
    check_schema(s);
    diag_done(&closing, false);
    return s;
}

/* ---- runs ---- */

bool store_has_run(struct store *s, const char *key)
{
    struct store_query q;
    store_begin(s, &q, "SELECT 1 FROM run WHERE key=?", "s", key);
    const bool found = store_step(&q);
    store_end(&q);
    return found;
}

const char *store_time_text(char buf[32])
{
    const time_t now = time(NULL);
    struct tm tm;
    (void)strftime(buf, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    return buf;
}

static const json_t *at(const json_t *root, const char *section, const char *name)
{
    return json_object_get(json_object_get(root, section), name);
}
static double real_at(const json_t *root, const char *section, const char *name)
{
    const json_t *v = at(root, section, name);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void drop_json(void *arg) { json_decref(*(json_t **)arg); }
static void drop_text(void *arg) { free(*(char **)arg); }

/* The figures that one wants in SQL become columns; the configuration is one already. */
static void insert_run(struct store *s, const struct store_run *r)
{
    struct diag_cleanup dropping, freeing;
    char now[32];
    json_t *root = r->result ? json_loads(r->result, 0, NULL) : NULL;
    char *result = NULL;
    diag_defer(&dropping, drop_json, &root);
    diag_defer(&freeing, drop_text, &result);
    if (root) {
        (void)json_object_del(root, "config");
        result = json_dumps(root, JSON_COMPACT);
    }
    store_do(
        s,
        "INSERT OR IGNORE INTO run(key,status,machine,workload,command,config,result,message,log,bound_by,"
        "version,build,host,started_at,finished_at,wall_seconds,cpu_seconds,max_rss_bytes,cycles,seconds,"
        "warp_instructions,ipc) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,CAST(? AS INTEGER),"
        "CAST(? AS INTEGER),?,CAST(? AS INTEGER),?)",
        "sssssssssssssssddddddd", r->key, study_status_names[r->status], r->machine, r->workload, r->command,
        r->config, result, r->message, r->log, json_string_value(at(root, "totals", "bound_by")),
        ATOLL_VERSION, study_build_id, r->host ? r->host : s->host, r->started_at, store_time_text(now),
        r->wall_seconds, real_at(root, "host", "cpu_seconds"), real_at(root, "host", "max_rss_bytes"),
        real_at(root, "totals", "cycles"), real_at(root, "totals", "seconds"),
        real_at(root, "totals", "warp_instructions"), real_at(root, "totals", "ipc"));
    diag_done(&freeing, true);
    diag_done(&dropping, true);
}

void store_put_run(struct store *s, const struct store_run *run)
{
    struct store_transaction t;
    store_transact(s, &t);
    insert_run(s, run);
    store_do(s, "DELETE FROM claim WHERE key=?", "s", run->key);
    store_commit(&t);
}

uint32_t store_drop_failures(struct store *s, const struct study *study)
{
    store_do(s,
             "DELETE FROM run WHERE status<>'done' AND key IN (SELECT key FROM point WHERE study="
             "(SELECT id FROM study WHERE name=?))",
             "s", study->name);
    return (uint32_t)sqlite3_changes(s->db);
}

double store_mean_wall(struct store *s, const char *workload)
{
    struct store_query q;
    store_begin(s, &q, "SELECT avg(wall_seconds) FROM run WHERE workload=? AND status='done'", "s", workload);
    const double v = store_step(&q) && sqlite3_column_type(q.stmt, 0) != SQLITE_NULL
                         ? sqlite3_column_double(q.stmt, 0)
                         : NAN;
    store_end(&q);
    return v;
}

uint32_t store_left_elsewhere(struct store *s, const struct study *study)
{
    struct store_query q;
    store_begin(
        s, &q,
        "SELECT count(DISTINCT key) FROM point WHERE key IS NOT NULL AND key NOT IN (SELECT key FROM run) "
        "AND key NOT IN (SELECT key FROM point JOIN study ON study.id=point.study "
        "WHERE name=? AND key IS NOT NULL)",
        "s", study->name);
    const uint32_t count = store_step(&q) ? (uint32_t)sqlite3_column_int64(q.stmt, 0) : 0;
    store_end(&q);
    return count;
}

/* ---- who runs what ---- */

void store_beat(struct store *s)
{
    if (!s->runner) {
        store_do(s, "INSERT INTO runner(host,pid,born,beat) VALUES(?,?,?,?)", "siii", s->host,
                 (int64_t)getpid(), process_born(getpid()), (int64_t)time(NULL));
        s->runner = sqlite3_last_insert_rowid(s->db);
        return;
    }
    store_do(s, "UPDATE runner SET beat=? WHERE id=?", "ii", (int64_t)time(NULL), s->runner);
}

/* A process of this host is alive when it is there; one of another host when it has said so lately. */
static bool runner_alive(struct store *s, int64_t id)
{
    struct store_query q;
    bool alive = false;
    store_begin(s, &q, "SELECT host,pid,born,beat FROM runner WHERE id=?", "i", id);
    if (store_step(&q)) {
        const char *host = (const char *)sqlite3_column_text(q.stmt, 0);
        if (strcmp(host, s->host) == 0)
            alive = process_born((pid_t)sqlite3_column_int64(q.stmt, 1)) == sqlite3_column_int64(q.stmt, 2);
        else
            alive = (int64_t)time(NULL) - sqlite3_column_int64(q.stmt, 3) < BEAT_SECONDS_MAX;
    }
    store_end(&q);
    return alive;
}

static int64_t claimant(struct store *s, const char *key)
{
    struct store_query q;
    store_begin(s, &q, "SELECT runner FROM claim WHERE key=?", "s", key);
    const int64_t id = store_step(&q) ? sqlite3_column_int64(q.stmt, 0) : 0;
    store_end(&q);
    return id;
}

enum store_claim store_claim(struct store *s, const char *key)
{
    struct store_transaction t;
    enum store_claim answer = STORE_FINISHED;
    if (!s->runner) store_beat(s);
    store_transact(s, &t);
    if (!store_has_run(s, key)) {
        const int64_t id = claimant(s, key);
        answer = id && id != s->runner && runner_alive(s, id) ? STORE_TAKEN : STORE_CLAIMED;
        if (answer == STORE_CLAIMED)
            store_do(s, "INSERT OR REPLACE INTO claim(key,runner) VALUES(?,?)", "si", key, s->runner);
    }
    store_commit(&t);
    return answer;
}

void store_release(struct store *s, const char *key)
{
    store_do(s, "DELETE FROM claim WHERE key=? AND runner=?", "si", key, s->runner);
}
