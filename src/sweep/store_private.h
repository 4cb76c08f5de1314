/* Shared by the files of the store only. */
#ifndef ATOLL_SWEEP_STORE_PRIVATE_H
#define ATOLL_SWEEP_STORE_PRIVATE_H

#include <sqlite3.h>

#include "sweep/store.h"

enum { STORE_SCHEMA = 1, STORE_APPLICATION = 0x41746f6c };

struct store {
    sqlite3 *db;
    char *path;
    char host[65];
    int64_t runner; /* row of this process; 0: none yet */
};

/* Raises what SQLite says, in the user's words, unless rc is OK, ROW or DONE. */
void store_check(struct store *s, int rc);
void store_exec(struct store *s, const char *sql);
/* A statement with text parameters bound in order: 's' text, 'i' int64, 'd' double. Finalised by store_end(),
 * also when unwinding. */
struct store_query {
    sqlite3_stmt *stmt;
    struct store *store;
    struct diag_cleanup cleanup;
};
void store_begin(struct store *s, struct store_query *q, const char *sql, const char *types, ...);
bool store_step(struct store_query *q);
void store_end(struct store_query *q);
/* begin, step once, end. */
void store_do(struct store *s, const char *sql, const char *types, ...);
/* The statements between are one transaction; unwinding rolls it back. */
struct store_transaction {
    struct store *store;
    struct diag_cleanup cleanup;
};
void store_transact(struct store *s, struct store_transaction *t);
void store_commit(struct store_transaction *t);

#endif
