/* slurm_task: the side of a node: runs the points that a file of the shared directory names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweep/files.h"
#include "sweep/pool.h"
#include "sweep/slurm.h"

struct task {
    const char *spool;
    struct arena arena;
    struct pool *pool;
    char **keys; /* by id of the pool */
    uint32_t count;
};

static const char *path_of(struct task *t, const char *kind, const char *name)
{
    return arena_printf(&t->arena, "%s/%s.%s", t->spool, kind, name);
}

/* The file of a point as a job; false when it is not there or broken. */
static bool read_job(struct task *t, uint32_t id, struct pool_job *job)
{
    char *text = files_read(path_of(t, "point", t->keys[id]));
    json_t *root = text ? json_loads(text, 0, NULL) : NULL;
    const char *machine = NULL, *workload = NULL;
    json_int_t instructions = 0;
    json_t *sets = NULL;
    const bool good = root && json_unpack(root, "{s:s, s:s, s:I, s:o}", "machine", &machine, "workload",
                                          &workload, "instructions", &instructions, "sets", &sets) == 0;
    if (good) {
        const char **texts = ARENA_ARRAY(&t->arena, const char *, json_array_size(sets) + 1);
        *job = (struct pool_job){.id = id,
                                 .machine = arena_strdup(&t->arena, machine),
                                 .workload = arena_strdup(&t->arena, workload),
                                 .sets = texts,
                                 .set_count = json_array_size(sets),
                                 .instructions = (uint64_t)instructions};
        for (size_t i = 0; i < job->set_count; i++)
            texts[i] = arena_strdup(&t->arena, json_string_value(json_array_get(sets, i)));
    }
    json_decref(root);
    free(text);
    return good;
}

static void set_text(json_t *to, const char *key, const char *text)
{
    if (text) (void)json_object_set_new(to, key, json_string(text));
}

static void write_result(struct task *t, const struct pool_result *r)
{
    char host[65] = "";
    (void)gethostname(host, sizeof host - 1);
    const char *node = getenv("SLURMD_NODENAME");
    json_t *root = json_pack("{s:i, s:f, s:s, s:s}", "status", (int)r->status, "wall_seconds",
                             r->wall_seconds, "started_at", r->started_at, "host", node ? node : host);
    set_text(root, "result", r->result);
    set_text(root, "message", r->message);
    set_text(root, "log", r->log);
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    files_write(path_of(t, "done", t->keys[r->id]), text ? text : "");
    free(text);
}

static void run_points(struct task *t)
{
    struct pool_result result;
    for (uint32_t next = 0; next < t->count || pool_running(t->pool);) {
        struct pool_job job;
        while (next < t->count && pool_has_room(t->pool)) {
            const uint32_t id = next++;
            if (access(path_of(t, "done", t->keys[id]), F_OK) != 0 && read_job(t, id, &job))
                pool_start(t->pool, &job);
        }
        if (!pool_wait(t->pool, 1, &result)) continue;
        write_result(t, &result);
        pool_result_free(&result);
    }
}

static void free_task(void *arg)
{
    struct task *t = arg;
    pool_free(t->pool);
    arena_free(&t->arena);
}

void slurm_task(const char *spool, const char *task, const char *program)
{
    struct task t = {.spool = spool};
    struct diag_cleanup freeing;
    char *save = NULL;
    const char *cpus = getenv("SLURM_CPUS_PER_TASK");
    arena_init(&t.arena);
    diag_defer(&freeing, free_task, &t);
    char *list = files_read(path_of(&t, "task", task));
    if (!list) diag_mistake("cannot read the task '%s' of '%s'", task, spool);
    char *keys = arena_strdup(&t.arena, list);
    t.keys = ARENA_ARRAY(&t.arena, char *, strlen(list) / STUDY_KEY_CHARS + 1);
    free(list);
    for (char *key = strtok_r(keys, "\n", &save); key; key = strtok_r(NULL, "\n", &save))
        t.keys[t.count++] = key;
    const int jobs = cpus ? atoi(cpus) : 1;
    t.pool = pool_new(&(struct pool_options){.program = program, .jobs = jobs > 0 ? (uint32_t)jobs : 1});
    run_points(&t);
    diag_done(&freeing, true);
}
