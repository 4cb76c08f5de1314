/* sim: what is behind an atoll_sim handle, for the files of api/.
 *
 * Every public function wraps its work in api_run(), which turns what was raised below into a status
 * and a message. */
#ifndef ATOLL_API_SIM_H
#define ATOLL_API_SIM_H

#include <atoll.h>

#include "base/diag.h"
#include "config/machine.h"

struct atoll_sim {
    struct diag diag; /* of the last call */
    struct machine machine;
    void (*progress)(void *arg, const struct atoll_progress *p);
    void *progress_arg;
    volatile bool interrupted; /* the running kernel ends soon */
};

/* Clears the last message, runs body(arg), returns its status. */
atoll_status api_run(atoll_sim *sim, diag_body_fn *body, void *arg);

/* A FILE that collects text; closed and freed when unwinding. api_text_end() hands the text over. */
struct api_text {
    FILE *file;
    char *text;
    size_t len;
    struct diag_cleanup cleanup;
};
void api_text_begin(struct api_text *t);
char *api_text_end(struct api_text *t);

#endif
