/* store_study: studies and their points in the database, and a study with its results read back. */
#include <stdlib.h>
#include <string.h>

#include "sweep/store_private.h"

/* ---- writing ---- */

static char *axes_text(const struct study *study, uint32_t combo)
{
    json_t *axes = json_object();
    for (uint32_t a = 0; a < study->axis_count; a++)
        (void)json_object_set_new(axes, study->axes[a].name,
                                  json_string(study->axes[a].values[study->combos[combo].value[a]].name));
    char *text = json_dumps(axes, JSON_COMPACT);
    json_decref(axes);
    return text;
}

static void put_point(struct store *s, const struct study *study, int64_t id, uint32_t idx)
{
    const struct study_point *p = &study->points[idx];
    char *axes = axes_text(study, p->combo);
    store_do(s, "INSERT INTO point(study,idx,key,machine,workload,axes,seed,note) VALUES(?,?,?,?,?,?,?,?)",
             "iissssis", id, (int64_t)idx, p->key[0] ? p->key : NULL, study->machines[p->machine].name,
             study->workloads[p->workload].name, axes, (int64_t)study->seeds[p->seed],
             study->machines[p->machine].missing);
    free(axes);
}

void store_put_study(struct store *s, const struct study *study, const char *command)
{
    struct store_transaction t;
    char now[32];
    store_transact(s, &t);
    store_do(s, "DELETE FROM study WHERE name=?", "s", study->name);
    store_do(s,
             "INSERT INTO study(name,title,paper,file,text,scale,command,version,added_at) "
             "VALUES(?,?,?,?,?,?,?,?,?)",
             "sssssssss", study->name, study->title, study->paper, study->source.name, study->source.text,
             study->scale, command, ATOLL_VERSION, store_time_text(now));
    const int64_t id = sqlite3_last_insert_rowid(s->db);
    for (uint32_t i = 0; i < study->point_count; i++) put_point(s, study, id, i);
    store_commit(&t);
}

/* ---- reading ---- */

uint32_t store_study_count(const struct store *s)
{
    struct store_query q;
    store_begin((struct store *)(uintptr_t)s, &q, "SELECT count(*) FROM study", "");
    const uint32_t count = store_step(&q) ? (uint32_t)sqlite3_column_int64(q.stmt, 0) : 0;
    store_end(&q);
    return count;
}

static const char *text_at(const struct store_query *q, int column)
{
    return (const char *)sqlite3_column_text(q->stmt, column);
}

static void free_study(void *arg) { study_free(arg); }

/* Points come from the table, not from planning again: presets may have changed since. */
static void get_points(struct store *s, struct study *study, int64_t id)
{
    struct store_query q;
    uint32_t i = 0;
    study->point_count =
        study->machine_count * study->combo_count * study->seed_count * study->workload_count;
    study->points = ARENA_ARRAY(&study->arena, struct study_point, study->point_count);
    for (uint32_t m = 0; m < study->machine_count; m++)
        for (uint32_t c = 0; c < study->combo_count; c++)
            for (uint32_t k = 0; k < study->seed_count; k++)
                for (uint32_t w = 0; w < study->workload_count; w++)
                    study->points[study_point_at(study, m, c, w, k)] =
                        (struct study_point){.machine = m,
                                             .combo = c,
                                             .workload = w,
                                             .seed = k,
                                             .instructions = study->workloads[w].instructions};
    store_begin(s, &q, "SELECT idx,key,machine,workload,note FROM point WHERE study=? ORDER BY idx", "i", id);
    for (; store_step(&q); i++) {
        struct study_point *p = i < study->point_count ? &study->points[i] : NULL;
        if (!p || strcmp(study->machines[p->machine].name, text_at(&q, 2)) != 0 ||
            strcmp(study->workloads[p->workload].name, text_at(&q, 3)) != 0)
            diag_mistake("'%s': study '%s' was stored by a version that makes other points of it: run 'atoll "
                         "sweep' again",
                         s->path, study->name);
        if (text_at(&q, 1)) (void)snprintf(p->key, sizeof p->key, "%s", text_at(&q, 1));
        if (text_at(&q, 4)) study->machines[p->machine].missing = arena_strdup(&study->arena, text_at(&q, 4));
    }
    store_end(&q);
    if (i != study->point_count)
        diag_mistake("'%s': study '%s' has %u of its %u points: run 'atoll sweep' again", s->path,
                     study->name, i, study->point_count);
}

/* As a paper has them: figures by number, then studies of our own. */
#define IN_ORDER "instr(name,'-fig')=0, CAST(substr(name,instr(name,'-fig')+4) AS INTEGER), name"

struct study *store_get_study(struct store *s, uint32_t i, const char **command)
{
    struct store_query q;
    struct diag_cleanup freeing;
    struct study *study = study_new();
    diag_defer(&freeing, free_study, study);
    store_begin(s, &q, "SELECT id,file,text,scale,command FROM study ORDER BY " IN_ORDER " LIMIT 1 OFFSET ?",
                "i", (int64_t)i);
    if (!store_step(&q)) diag_mistake("'%s' has no study %u", s->path, i);
    const int64_t id = sqlite3_column_int64(q.stmt, 0);
    const char *text = text_at(&q, 2), *scale = text_at(&q, 3);
    if (command) *command = arena_strdup(&study->arena, text_at(&q, 4));
    study_read_text(study, text_at(&q, 1), text, strlen(text), *scale ? scale : NULL);
    store_end(&q);
    get_points(s, study, id);
    diag_done(&freeing, false);
    return study;
}

static enum study_status status_of(const char *name)
{
    for (int i = 0; i < STUDY_PENDING; i++)
        if (strcmp(study_status_names[i], name) == 0) return (enum study_status)i;
    return STUDY_FAILED;
}

void store_get_results(struct store *s, struct study_data *d)
{
    struct study *study = d->study;
    for (uint32_t i = 0; i < study->point_count; i++) {
        struct store_query q;
        struct study_result *r = &d->results[i];
        if (!study->points[i].key[0]) continue;
        store_begin(
            s, &q,
            "SELECT status,result,message,bound_by,cpu_seconds,wall_seconds,config FROM run WHERE key=?", "s",
            study->points[i].key);
        if (store_step(&q)) {
            r->status = status_of(text_at(&q, 0));
            if (text_at(&q, 1)) r->root = json_loads(text_at(&q, 1), 0, NULL);
            if (r->status == STUDY_DONE && !r->root) r->status = STUDY_FAILED;
            if (text_at(&q, 2)) r->message = arena_strdup(&study->arena, text_at(&q, 2));
            if (text_at(&q, 3)) r->bound_by = arena_strdup(&study->arena, text_at(&q, 3));
            r->cpu_seconds = sqlite3_column_double(q.stmt, 4);
            r->wall_seconds = sqlite3_column_double(q.stmt, 5);
            if (text_at(&q, 6)) study->points[i].config = arena_strdup(&study->arena, text_at(&q, 6));
        }
        store_end(&q);
    }
}
