/* script, inside: an application and the parts that build it. */
#ifndef ATOLL_FRONTEND_SCRIPT_PRIVATE_H
#define ATOLL_FRONTEND_SCRIPT_PRIVATE_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/embedded.h"
#include "frontend/script/fiber.h"
#include "frontend/script/script.h"
#include "workload.h"

enum { SCRIPT_PARAMS_MAX = 24, SCRIPT_MODULES_MAX = 16 };

/* A workload outside the tree: compiled and loaded. */
struct outside {
    void *library;
    const struct workload *workload;
    uint32_t module_count;
    struct embedded_file modules[SCRIPT_MODULES_MAX]; /* PTX, in the arena given */
};

struct script_app {
    struct wl wl; /* first: what the script holds */
    const struct workload *workload;
    int64_t values[SCRIPT_PARAMS_MAX];
    const char *label;
    struct outside outside;

    struct script_options options;
    struct rt_context *rt;
    struct rt_module *modules[SCRIPT_MODULES_MAX];
    uint32_t module_count;
    struct arena scratch;        /* of the script */
    struct script_input *inputs; /* see inputs.c */
    void *read_buffer;           /* of wl_read() */
    uint64_t read_bytes;
    struct fiber fiber;
    struct diag diag; /* what the script raised */
    bool started, ended, cancelled;

    uint32_t outputs;
    uint64_t words_checked, bytes_allocated;
};

struct script_set {
    struct arena arena; /* set, applications, labels */
    const char *text;
    uint32_t count;
    struct script_app **apps;
};

/* registry.c */
extern const struct workload *const script_registry[]; /* generated; ends with NULL */

/* spec.c: sizes. Places in messages are those of size within source. */
void spec_apply(const struct workload *workload, struct diag_source source, size_t offset, size_t len,
                int64_t values[static SCRIPT_PARAMS_MAX]);
void spec_check_workload(const struct workload *workload); /* raises a mistake when its rows make no sense */

/* calls.c */
extern const struct wl_calls script_calls;
struct script_app *script_app_of(struct wl *w);

/* inputs.c */
void *input_f32(struct wl *w, const char *name, uint64_t count, uint64_t seed, float low, float high);
void many_f32(struct wl *w, const struct wl_numbers *n, uint64_t first, uint64_t count, float *to);

/* check.c */
void check_f32(struct wl *w, const struct wl_check *check);
void check_u32(struct wl *w, const struct wl_check *check);

/* outside.c: compiles (or finds compiled) and loads the workload in that folder. */
void outside_open(struct outside *o, struct arena *arena, const char *folder);
void outside_close(struct outside *o);

#endif
