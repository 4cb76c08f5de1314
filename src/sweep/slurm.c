/* slurm: see slurm.h. This side submits, collects, and submits again what was lost. */
#include "sweep/slurm.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sweep/files.h"
#include "sweep/process.h"
#include "sweep/sweep.h"

enum { ATTEMPTS_MAX = 3, PER_TASK_MAX = 16, TASKS_MAX = 1000, POLL_MS = 500, ASK_SECONDS = 2 };

enum state { TO_SUBMIT, SUBMITTED, OVER };

struct entry {
    uint32_t point;
    enum state state;
    uint32_t attempts;
    uint32_t job; /* Slurm's number, when submitted */
};

struct slurm {
    struct sweep_points points;
    char *spool; /* absolute */
    struct entry *entries;
    uint32_t count, open; /* not over yet */
    uint32_t batch;
    uint32_t *left; /* points, for the progress */
};

static const char *key_of(const struct slurm *s, const struct entry *e)
{
    return s->points.study->points[e->point].key;
}

static const char *path_of(const struct slurm *s, const char *kind, const char *name)
{
    return arena_printf(&s->points.study->arena, "%s/%s.%s", s->spool, kind, name);
}

/* ---- submitting ---- */

static void write_point(const struct slurm *s, const struct entry *e)
{
    const struct pool_job job = sweep_job(s->points.study, e->point);
    json_t *sets = json_array();
    for (size_t i = 0; i < job.set_count; i++) (void)json_array_append_new(sets, json_string(job.sets[i]));
    json_t *root = json_pack("{s:s, s:s, s:I, s:o}", "machine", job.machine, "workload", job.workload,
                             "instructions", (json_int_t)job.instructions, "sets", sets);
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    files_write(path_of(s, "point", key_of(s, e)), text ? text : "");
    free(text);
}

/* Claims what is to be submitted; what others run or ran is left to them. */
static uint32_t choose(struct slurm *s, struct entry **chosen)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct entry *e = &s->entries[i];
        if (e->state != TO_SUBMIT) continue;
        const enum store_claim claim = store_claim(s->points.store, key_of(s, e));
        if (claim == STORE_CLAIMED) chosen[count++] = e;
        if (claim != STORE_FINISHED) continue;
        e->state = OVER;
        s->open--;
        s->points.finished++;
    }
    return count;
}

static uint32_t task_size(const struct slurm *s, uint32_t count)
{
    const uint32_t asked = s->points.options->per_task;
    const uint32_t even = (count + s->points.options->jobs - 1) / s->points.options->jobs;
    const uint32_t least = (count + TASKS_MAX - 1) / TASKS_MAX; /* arrays are limited */
    const uint32_t size = asked ? asked : even < PER_TASK_MAX ? even : PER_TASK_MAX;
    return size > least ? size : least;
}

/* Files with the keys of each task; returns how many tasks. */
static uint32_t write_tasks(const struct slurm *s, struct entry **chosen, uint32_t count, const char *batch)
{
    struct arena *a = &s->points.study->arena;
    const uint32_t size = task_size(s, count);
    uint32_t tasks = 0;
    for (uint32_t first = 0; first < count; first += size, tasks++) {
        char *keys = arena_alloc(a, (size_t)size * (STUDY_KEY_CHARS + 1) + 1);
        for (uint32_t i = first; i < count && i < first + size; i++) {
            write_point(s, chosen[i]);
            (void)strcat(strcat(keys, key_of(s, chosen[i])), "\n");
        }
        files_write(path_of(s, "task", arena_printf(a, "%s.%u", batch, tasks)), keys);
    }
    return tasks;
}

static uint32_t call_sbatch(const struct slurm *s, const char *batch, uint32_t tasks)
{
    struct arena *a = &s->points.study->arena;
    const struct atoll_sweep *o = s->points.options;
    const char *argv[300] = {"sbatch", "--parsable", "--job-name=atoll"};
    size_t n = 3;
    argv[n++] = arena_printf(a, "--array=0-%u", tasks - 1);
    argv[n++] = arena_printf(a, "--output=%s/log.%%A_%%a", s->spool);
    for (size_t i = 0; i < o->sbatch_count && n < 290; i++) argv[n++] = o->sbatch[i];
    argv[n++] = arena_printf(a, "--wrap='%s' worker --spool '%s' --task %s.$SLURM_ARRAY_TASK_ID", o->program,
                             s->spool, batch);
    int code;
    char *answer = files_ask(argv, &code);
    char *end = NULL;
    const unsigned long job = answer ? strtoul(answer, &end, 10) : 0;
    if (code || !job)
        diag_mistake("sbatch did not take the job: %.400s%s", answer ? answer : "no answer",
                     code == 127 ? " (is Slurm installed?)" : "");
    free(answer);
    return (uint32_t)job;
}

static void submit(struct slurm *s)
{
    struct arena *a = &s->points.study->arena;
    struct entry **chosen = ARENA_ARRAY(a, struct entry *, s->count + 1);
    const uint32_t count = choose(s, chosen);
    if (!count) return;
    const char *batch = arena_printf(a, "%lx-%ld-%u", (unsigned long)time(NULL), (long)getpid(), s->batch++);
    const uint32_t tasks = write_tasks(s, chosen, count, batch);
    const uint32_t job = call_sbatch(s, batch, tasks);
    char *keys = arena_alloc(a, (size_t)count * (STUDY_KEY_CHARS + 1) + 1), *to = keys;
    for (uint32_t i = 0; i < count; i++) {
        chosen[i]->state = SUBMITTED;
        chosen[i]->job = job;
        chosen[i]->attempts++;
        to += sprintf(to, "%s\n", key_of(s, chosen[i]));
    }
    files_write(path_of(s, "job", arena_printf(a, "%u", job)), keys); /* for a runner that comes after us */
    sweep_note(s->points.options, "slurm job %u: %u points in %u tasks", job, count, tasks);
}

/* ---- collecting ---- */

static void drop_json(void *arg) { json_decref(arg); }

/* True when the point has a result now. */
static bool collect(struct slurm *s, struct entry *e)
{
    const char *path = path_of(s, "done", key_of(s, e));
    if (access(path, F_OK) != 0) return false;
    char *text = files_read(path);
    json_t *root = text ? json_loads(text, 0, NULL) : NULL;
    struct diag_cleanup dropping;
    free(text);
    if (!root) return false;
    diag_defer(&dropping, drop_json, root);
    struct pool_result r = {.status = (enum study_status)json_integer_value(json_object_get(root, "status")),
                            .result = (char *)(uintptr_t)json_string_value(json_object_get(root, "result")),
                            .message = (char *)(uintptr_t)json_string_value(json_object_get(root, "message")),
                            .log = (char *)(uintptr_t)json_string_value(json_object_get(root, "log")),
                            .wall_seconds = json_number_value(json_object_get(root, "wall_seconds"))};
    const char *started = json_string_value(json_object_get(root, "started_at"));
    (void)snprintf(r.started_at, sizeof r.started_at, "%s", started ? started : "");
    sweep_points_put(&s->points, e->point, &r, json_string_value(json_object_get(root, "host")));
    diag_done(&dropping, true);
    (void)unlink(path);
    (void)unlink(path_of(s, "point", key_of(s, e)));
    e->state = OVER;
    s->open--;
    return true;
}

static void collect_all(struct slurm *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (s->entries[i].state != OVER) (void)collect(s, &s->entries[i]);
}

/* ---- jobs that are gone ---- */

/* Does Slurm still know the job as waiting or running? When it cannot be asked: yes, for now. */
static bool job_alive(uint32_t job)
{
    char number[32];
    (void)snprintf(number, sizeof number, "%u", job);
    const char *const argv[] = {"squeue", "-h", "-j", number, "-o", "%i", NULL};
    int code;
    char *answer = files_ask(argv, &code);
    const bool unknown = answer && strstr(answer, "Invalid job id");
    const bool alive = code == 0 ? answer && *answer : !unknown;
    free(answer);
    return alive;
}

static void lost(struct slurm *s, struct entry *e)
{
    if (collect(s, e)) return; /* it came in between */
    if (e->attempts < ATTEMPTS_MAX) {
        e->state = TO_SUBMIT;
        return;
    }
    struct pool_result r = {.status = STUDY_CRASHED};
    (void)store_time_text(r.started_at);
    r.message = arena_printf(&s->points.study->arena,
                             "the Slurm task ended %u times without a result; see %s/log.%u_*\n", e->attempts,
                             s->spool, e->job);
    sweep_points_put(&s->points, e->point, &r, NULL);
    e->state = OVER;
    s->open--;
}

static void look_for_lost(struct slurm *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t job = s->entries[i].job;
        if (s->entries[i].state != SUBMITTED || job_alive(job)) continue;
        uint32_t again = 0;
        for (uint32_t k = i; k < s->count; k++) {
            if (s->entries[k].state != SUBMITTED || s->entries[k].job != job) continue;
            lost(s, &s->entries[k]);
            again += s->entries[k].state == TO_SUBMIT;
        }
        (void)unlink(path_of(s, "job", arena_printf(&s->points.study->arena, "%u", job)));
        if (again)
            sweep_note(s->points.options, "slurm job %u ended without results of %u points: submitted again",
                       job, again);
        return; /* one question at a time */
    }
}

/* ---- a runner that was killed left its jobs: they go on ---- */

static void adopt_job(struct slurm *s, const char *name)
{
    const uint32_t job = (uint32_t)strtoul(name, NULL, 10);
    char *keys = files_read(path_of(s, "job", name));
    if (keys && job && job_alive(job)) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < s->count; i++) {
            if (s->entries[i].state != TO_SUBMIT || !strstr(keys, key_of(s, &s->entries[i]))) continue;
            if (store_claim(s->points.store, key_of(s, &s->entries[i])) != STORE_CLAIMED) continue;
            s->entries[i].state = SUBMITTED;
            s->entries[i].job = job;
            s->entries[i].attempts = 1;
            found++;
        }
        if (found)
            sweep_note(s->points.options,
                       "slurm job %u of an earlier sweep still has %u points: waiting for it", job, found);
    }
    free(keys);
}

static void adopt(struct slurm *s)
{
    DIR *dir = opendir(s->spool);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, "job.", 4) == 0) adopt_job(s, entry->d_name + 4);
    if (dir) (void)closedir(dir);
}

/* ---- the sweep ---- */

static void cancel(const struct slurm *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct entry *e = &s->entries[i];
        if (e->state != SUBMITTED) continue;
        store_release(s->points.store, key_of(s, e));
        if (i && s->entries[i - 1].job == e->job) continue;
        char number[32];
        int code;
        (void)snprintf(number, sizeof number, "%u", e->job);
        free(files_ask((const char *const[]){"scancel", number, NULL}, &code));
    }
}

static void tell(const struct slurm *s)
{
    struct sweep_rest rest = {.left = s->left, .at_once = s->points.options->jobs};
    for (uint32_t i = 0; i < s->count; i++)
        if (s->entries[i].state != OVER) s->left[rest.left_count++] = s->entries[i].point;
    sweep_tell(&s->points, &rest);
}

static void run(struct slurm *s)
{
    const struct atoll_sweep *o = s->points.options;
    double ask_seconds = process_seconds() + ASK_SECONDS;
    while (s->open && !(o->stop && *o->stop)) {
        collect_all(s);
        submit(s);
        if (process_seconds() >= ask_seconds) {
            store_beat(s->points.store);
            look_for_lost(s);
            ask_seconds = process_seconds() + ASK_SECONDS;
        }
        tell(s);
        (void)usleep(POLL_MS * 1000);
    }
    s->points.summary.stopped = s->open > 0;
    if (s->open) cancel(s);
}

void sweep_slurm(struct study *study, struct store *store, const struct atoll_sweep *o,
                 struct atoll_sweep_summary *summary)
{
    struct slurm s = {0};
    const char *spool = o->spool ? o->spool : arena_printf(&study->arena, "%s.spool", o->db);
    sweep_points_begin(&s.points, study, store, o);
    files_make_directory(spool);
    char *real = realpath(spool, NULL);
    s.spool = arena_strdup(&study->arena, real ? real : spool);
    free(real);
    s.count = s.open = s.points.todo_count;
    s.entries = ARENA_ARRAY(&study->arena, struct entry, s.count + 1);
    s.left = ARENA_ARRAY(&study->arena, uint32_t, s.count + 1);
    for (uint32_t i = 0; i < s.count; i++) s.entries[i].point = s.points.todo[i];
    collect_all(&s);
    adopt(&s);
    run(&s);
    sweep_points_end(&s.points, summary);
}
