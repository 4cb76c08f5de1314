/* plan: the points of a study: configuration, key and command of every run. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "config/machine.h"
#include "study/study_private.h"
#include "system/rules.h"

/* generated: a hash of the sources that decide what a run gives */
extern const char study_build_id[];

/* ---- keys ---- */

static uint64_t add_text(uint64_t hash, const char *text) { return hash_bytes(text, strlen(text) + 1, hash); }

/* A workload of the user's is what its files say today. */
static uint64_t add_folder(uint64_t hash, const char *spec)
{
    char path[4096], buf[65536];
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(spec, ":"), spec);
    struct dirent **names;
    const int count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char file[8192];
        (void)snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        FILE *f = names[i]->d_name[0] == '.' ? NULL : fopen(file, "rb");
        for (size_t got; f && (got = fread(buf, 1, sizeof buf, f)) > 0;) hash = hash_bytes(buf, got, hash);
        if (f) (void)fclose(f);
        free(names[i]);
    }
    if (count >= 0) free(names);
    return hash;
}

void study_key(char key[STUDY_KEY_CHARS + 1], const char *config_json, const char *workload,
               uint64_t instructions)
{
    uint64_t h[2] = {0x41746f6c6cu, 0x6b6579u};
    for (int k = 0; k < 2; k++) {
        h[k] = add_text(h[k], study_build_id);
        h[k] = add_text(h[k], config_json);
        h[k] = add_text(h[k], workload);
        h[k] = hash_bytes(&instructions, sizeof instructions, h[k]);
        if (strchr(workload, '/')) h[k] = add_folder(h[k], workload);
    }
    (void)snprintf(key, STUDY_KEY_CHARS + 1, "%016llx%016llx", (unsigned long long)h[0],
                   (unsigned long long)h[1]);
}

/* ---- combinations ---- */

uint32_t study_combo_with(const struct study *s, uint32_t combo, uint32_t axis, uint32_t value)
{
    struct study_combo want = s->combos[combo];
    want.value[axis] = value;
    for (uint32_t i = 0; i < s->combo_count; i++)
        if (memcmp(&s->combos[i], &want, sizeof want) == 0) return i;
    return STUDY_NONE;
}

const char *study_combo_name(struct study *s, uint32_t combo)
{
    const char *text = "";
    for (uint32_t a = 0; a < s->axis_count; a++) {
        const uint32_t v = s->combos[combo].value[a];
        if (v != s->axes[a].base)
            text = arena_printf(&s->arena, "%s%s%s", text, *text ? ", " : "", s->axes[a].values[v].name);
    }
    return text;
}

static void visit_list(const struct study_setting *set, void (*visit)(void *, const struct study_setting *),
                       void *arg)
{
    for (; set; set = set->next) visit(arg, set);
}

void study_each_setting(const struct study *s, const struct study_point *p,
                        void (*visit)(void *arg, const struct study_setting *set), void *arg)
{
    visit_list(s->set, visit, arg);
    visit_list(s->machines[p->machine].set, visit, arg);
    visit_list(s->workloads[p->workload].set, visit, arg);
    for (uint32_t a = 0; a < s->axis_count; a++) {
        const struct study_value *v = &s->axes[a].values[s->combos[p->combo].value[a]];
        const struct study_own *own = v->own;
        while (own && own->machine != p->machine) own = own->next;
        visit_list(own ? own->set : v->set, visit, arg);
    }
    visit_list(s->scale_set, visit, arg);
    if (s->seed_count == 1 && s->seeds[0] == 1) return; /* the default */
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)s->seeds[p->seed]);
    visit(arg, &(struct study_setting){.key = "sim.seed", .value = text});
}

struct writing {
    struct study *s;
    const char *text;
};

static void add_option(void *arg, const struct study_setting *set)
{
    struct writing *w = arg;
    const char *quote = strpbrk(set->value, " $*?[;&|<>()") ? "'" : "";
    w->text = arena_printf(&w->s->arena, "%s -s %s=%s%s%s", w->text, set->key, quote, set->value, quote);
}

const char *study_command(struct study *s, uint32_t point)
{
    const struct study_point *p = &s->points[point];
    struct writing w = {s, arena_printf(&s->arena, "atoll run -m %s -w %s", s->machines[p->machine].preset,
                                        s->workloads[p->workload].spec)};
    study_each_setting(s, p, add_option, &w);
    if (p->instructions)
        w.text = arena_printf(&s->arena, "%s --max-instructions %llu", w.text,
                              (unsigned long long)p->instructions);
    return w.text;
}

/* ---- configurations ---- */

static bool preset_exists(const char *name)
{
    const size_t len = strlen(name);
    if (strchr(name, '/') || strstr(name, ".y")) return true; /* a path: reading it tells */
    for (size_t i = 0; machine_preset(i); i++)
        if (strncmp(machine_preset(i), name, len) == 0 && strcmp(machine_preset(i) + len, ".yaml") == 0)
            return true;
    return false;
}

struct configuring {
    const struct study *s;
    const struct study_point *p;
    struct machine machine;
    char *json;
    bool complete; /* names and values are right; only their combination may be wrong */
};

static void apply(void *arg, const struct study_setting *set)
{
    struct configuring *c = arg;
    machine_set_at(&c->machine, set->key, set->key_place, set->value, set->place);
}

static void configure(void *arg)
{
    struct configuring *c = arg;
    const struct study_machine *m = &c->s->machines[c->p->machine];
    machine_load_at(&c->machine, m->preset, m->place);
    study_each_setting(c->s, c->p, apply, c);
    c->complete = true;
    machine_finish(&c->machine, &system_rules);
    json_t *json = machine_dump_json(&c->machine);
    c->json = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
}

/* Sets config of the point, or what is wrong with it. */
static void configure_point(struct study *s, struct study_point *p, enum study_unknown unknown)
{
    struct configuring c = {.s = s, .p = p};
    struct diag inner;
    diag_init(&inner);
    machine_init(&c.machine);
    const enum diag_kind kind = diag_run(&inner, configure, &c);
    if (kind == DIAG_NONE)
        p->config = arena_strdup(&s->arena, c.json);
    else
        p->wrong = arena_strdup(&s->arena, inner.text);
    free(c.json);
    machine_free(&c.machine);
    if (kind != DIAG_NONE && !c.complete && unknown != STUDY_UNKNOWN_FAILS) diag_pass_on(&inner);
    diag_clear(&inner);
}

/* ---- points ---- */

uint32_t study_point_at(const struct study *s, uint32_t machine, uint32_t combo, uint32_t workload,
                        uint32_t seed)
{
    if (combo == STUDY_NONE || machine >= s->machine_count || workload >= s->workload_count)
        return STUDY_NONE;
    return ((machine * s->combo_count + combo) * s->seed_count + seed) * s->workload_count + workload;
}

/* The workloads of one configuration; those of a wrong one are told apart by their command. */
static void plan_configuration(struct study *s, struct study_point like, enum study_unknown unknown)
{
    const struct study_machine *m = &s->machines[like.machine];
    bool configured = false;
    for (uint32_t w = 0; w < s->workload_count; w++) {
        const uint32_t idx = study_point_at(s, like.machine, like.combo, w, like.seed);
        struct study_point *p = &s->points[idx];
        *p = like;
        p->workload = w;
        p->instructions = s->workloads[w].instructions;
        if (m->missing || m->best_of) continue;
        if (s->workloads[w].set || !configured) {
            configure_point(s, p, unknown);
            if (!s->workloads[w].set) {
                configured = true; /* the same for all others without settings of their own */
                like.config = p->config;
                like.wrong = p->wrong;
            }
        }
        study_key(p->key, p->config ? p->config : study_command(s, idx), s->workloads[w].spec,
                  p->instructions);
    }
}

void study_plan(struct study *s, enum study_unknown unknown)
{
    const double all = (double)s->machine_count * s->combo_count * s->seed_count * s->workload_count;
    if (all > STUDY_POINTS_MAX)
        diag_mistake("%s: %.0f points are more than the %d that a study may have", s->source.name, all,
                     STUDY_POINTS_MAX);
    s->point_count = (uint32_t)all;
    s->points = ARENA_ARRAY(&s->arena, struct study_point, s->point_count);
    for (uint32_t m = 0; m < s->machine_count; m++) {
        if (unknown == STUDY_UNKNOWN_IS_MISSING && !s->machines[m].best_of &&
            !preset_exists(s->machines[m].preset))
            s->machines[m].missing =
                arena_printf(&s->arena, "this version has no machine '%s'", s->machines[m].preset);
        for (uint32_t c = 0; c < s->combo_count; c++)
            for (uint32_t k = 0; k < s->seed_count; k++)
                plan_configuration(s, (struct study_point){.machine = m, .combo = c, .seed = k}, unknown);
    }
}

/* ---- compare ---- */

void study_make(struct study *s, const char *const *machines, size_t machine_count,
                const char *const *workloads, size_t workload_count, const char *const *sets,
                size_t set_count)
{
    struct arena *a = &s->arena;
    static const uint64_t seeds[] = {1};
    s->source = (struct diag_source){"compare", "", 0};
    s->name = s->title = "compare";
    s->machines = ARENA_ARRAY(a, struct study_machine, machine_count);
    s->workloads = ARENA_ARRAY(a, struct study_workload, workload_count);
    s->groups = ARENA_NEW(a, struct study_group);
    s->groups[0] = (struct study_group){"", 0, (uint32_t)workload_count};
    s->combos = ARENA_NEW(a, struct study_combo);
    s->combo_count = s->group_count = s->seed_count = 1;
    s->seeds = seeds;
    for (; s->machine_count < machine_count; s->machine_count++) {
        const char *name = arena_strdup(a, machines[s->machine_count]);
        s->machines[s->machine_count] = (struct study_machine){.name = name, .preset = name};
    }
    for (; s->workload_count < workload_count; s->workload_count++) {
        const char *name = arena_strdup(a, workloads[s->workload_count]);
        s->workloads[s->workload_count] = (struct study_workload){.name = name, .spec = name};
    }
    uint32_t *every = ARENA_ARRAY(a, uint32_t, workload_count + 1);
    for (uint32_t i = 0; i < workload_count; i++) every[i] = i;
    s->every = every;
    struct study_setting **tail = &s->set;
    for (size_t i = 0; i < set_count; i++) {
        struct diag_source *source = ARENA_NEW(a, struct diag_source);
        const char *text = arena_strdup(a, sets[i]);
        *source = (struct diag_source){"-s", text, strlen(text)};
        const size_t key = strcspn(text, "=");
        const struct diag_place at = {source, 1, 1, (uint32_t)strlen(text)};
        if (!text[key])
            diag_mistake_at(at, "an override is written section.key=value, such as -s gpu.llc_size='3 MiB'");
        struct study_setting *set = ARENA_NEW(a, struct study_setting);
        *set =
            (struct study_setting){.key = arena_strndup(a, text, key),
                                   .value = text + key + 1,
                                   .key_place = {source, 1, 1, (uint32_t)key},
                                   .place = {source, 1, (uint32_t)key + 2, (uint32_t)strlen(text + key + 1)}};
        *tail = set;
        tail = &set->next;
    }
    study_read_metrics(s, NULL);
    study_read_figures(s, NULL);
}
