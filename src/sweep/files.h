/* files: small files of a shared directory, and commands whose answer is a line or a few. */
#ifndef ATOLL_SWEEP_FILES_H
#define ATOLL_SWEEP_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* The whole of a file, the caller's; NULL when it cannot be read. */
char *files_read(const char *path);
/* Written beside and moved into place: whole or not at all. Raises. */
void files_write(const char *path, const char *text);
/* Makes a directory (its parent exists); one that is there is fine. Raises. */
void files_make_directory(const char *path);
/* Runs a program (found on PATH) and returns what it printed, both streams, the caller's. *code: its exit
 * code, 127 when it cannot be started. argv ends with NULL. */
char *files_ask(const char *const *argv, int *code);

#endif
