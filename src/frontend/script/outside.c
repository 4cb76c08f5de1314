/* outside: a workload in a folder of the user's: *.cu (device code) and one *.c (host script).
 *
 *   folder ── hash of its files ──► cache/<hash>/ there?  yes: load
 *                                    no: clang *.cu -> *.ptx, cc *.c -> script.so, in a new folder, then
 * rename
 *
 * The headers of the kit travel inside the program and are written beside the results, so that no source tree
 * is needed. Compilers: $ATOLL_CLANG or clang, $CC or cc. Cache: $ATOLL_CACHE, else $XDG_CACHE_HOME/atoll,
 * else
 * ~/.cache/atoll, else /tmp/atoll-<user id>. */
#include "base/map.h"
#include "frontend/script/script_private.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef ATOLL_DEVICE_FLAGS
#error "the build passes the flags for device code"
#endif

enum { FILES_MAX = 256, ARGS_MAX = 64, OUTPUT_SHOWN_MAX = 6000 };

struct source_file {
    const char *name; /* within the folder */
    const char *text;
    size_t len;
};

struct folder {
    struct arena *arena;
    const char *path;
    struct source_file files[FILES_MAX];
    uint32_t count;
    const char *script; /* the one *.c */
};

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* ---- files ---- */

static void close_file(void *arg) { (void)fclose(arg); }

static const char *read_whole(struct arena *arena, const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f) diag_mistake("cannot read %s: %s", path, strerror(errno));
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, close_file, f);
    struct stat info;
    if (fstat(fileno(f), &info) != 0 || !S_ISREG(info.st_mode)) diag_mistake("%s is not a file", path);
    char *text = arena_alloc(arena, (size_t)info.st_size + 1);
    *len = fread(text, 1, (size_t)info.st_size, f);
    diag_done(&cleanup, true);
    return text;
}

static void write_whole(const char *path, const char *text, size_t len)
{
    FILE *f = fopen(path, "wb");
    const bool wrote = f && fwrite(text, 1, len, f) == len;
    if ((f && fclose(f) != 0) || !wrote) diag_mistake("cannot write %s: %s", path, strerror(errno));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct source_file *)a)->name, ((const struct source_file *)b)->name);
}

static void close_directory(void *arg) { (void)closedir(arg); }

static void read_folder(struct folder *f)
{
    DIR *d = opendir(f->path);
    if (!d) diag_mistake("cannot open the workload folder %s: %s", f->path, strerror(errno));
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, close_directory, d);
    for (struct dirent *e; (e = readdir(d));) {
        const bool script = ends_with(e->d_name, ".c"), device = ends_with(e->d_name, ".cu");
        if (!script && !device && !ends_with(e->d_name, ".h") && !ends_with(e->d_name, ".cuh")) continue;
        if (f->count == FILES_MAX) diag_mistake("%s: more than %d source files", f->path, FILES_MAX);
        struct source_file *file = &f->files[f->count++];
        file->name = arena_strdup(f->arena, e->d_name);
        file->text = read_whole(f->arena, arena_printf(f->arena, "%s/%s", f->path, e->d_name), &file->len);
        if (script && f->script)
            diag_mistake("%s has two host scripts, %s and %s: one *.c is expected", f->path, f->script,
                         file->name);
        if (script) f->script = file->name;
    }
    diag_done(&cleanup, true);
    if (!f->script) diag_mistake("%s has no host script (*.c): see docs/workloads-howto.md", f->path);
    qsort(f->files, f->count, sizeof *f->files, by_name);
}

static uint64_t hash_folder(const struct folder *f, const char *const *compilers)
{
    uint64_t h = WL_API;
    h = hash_bytes(ATOLL_DEVICE_FLAGS, sizeof ATOLL_DEVICE_FLAGS, h);
    for (; *compilers; compilers++) h = hash_bytes(*compilers, strlen(*compilers), h);
    for (const struct embedded_file *k = embedded_kit; k->name; k++) h = hash_bytes(k->text, k->len_bytes, h);
    h = hash_bytes(f->path, strlen(f->path), h); /* an #include may lead out of the folder */
    for (uint32_t i = 0; i < f->count; i++) {
        h = hash_bytes(f->files[i].name, strlen(f->files[i].name) + 1, h);
        h = hash_bytes(f->files[i].text, f->files[i].len, h);
    }
    return h;
}

/* ---- the cache ---- */

static void make_directory(const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        diag_mistake("cannot create %s: %s", path, strerror(errno));
}

static const char *cache_folder(struct arena *arena)
{
    const char *own = getenv("ATOLL_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *path;
    if (own && *own) {
        path = own;
    } else if (xdg && *xdg) {
        make_directory(xdg);
        path = arena_printf(arena, "%s/atoll", xdg);
    } else if (home && *home && access(home, W_OK) == 0) {
        make_directory(arena_printf(arena, "%s/.cache", home));
        path = arena_printf(arena, "%s/.cache/atoll", home);
    } else {
        path = arena_printf(arena, "/tmp/atoll-%u", (unsigned)getuid());
    }
    make_directory(path);
    struct stat info; /* what lies there is loaded into this process: it must be the user's own */
    if (stat(path, &info) != 0 || info.st_uid != getuid() || (info.st_mode & 022))
        diag_mistake("the cache %s must belong to you and be writable by you alone (or set ATOLL_CACHE)",
                     path);
    return path;
}

struct doomed {
    const char *path;
};

/* A folder of plain files and one level of folders below. */
static void remove_folder(const char *path)
{
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char below[4096];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        (void)snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (unlink(below) != 0) remove_folder(below);
    }
    if (d) (void)closedir(d);
    (void)rmdir(path);
}

static void remove_doomed(void *arg) { remove_folder(((struct doomed *)arg)->path); }

/* ---- compiling ---- */

static const char *output_of(struct arena *arena, const char *log)
{
    size_t len = 0;
    const char *text = read_whole(arena, log, &len);
    return len <= OUTPUT_SHOWN_MAX
               ? text
               : arena_printf(arena, "%.*s\n... (%zu bytes in all)\n", OUTPUT_SHOWN_MAX, text, len);
}

/* Runs a command with its output in a file; a mistake when it cannot be run or fails. */
static void run_command(struct arena *arena, const char *what, const char *hint, char **args, const char *log)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t pid;
    const int failed = posix_spawnp(&pid, args[0], &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) diag_mistake("cannot compile %s: %s: %s. %s", what, args[0], strerror(failed), hint);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        diag_mistake("%s does not compile; %s says:\n%s", what, args[0], output_of(arena, log));
}

/* A command line being put together: words of it are copies in the arena. */
struct command {
    struct arena *arena;
    char *args[ARGS_MAX + 1];
    size_t count;
};

static void add(struct command *c, const char *word)
{
    if (c->count == ARGS_MAX) diag_mistake("'%s' has more than %d words", c->args[0], ARGS_MAX);
    c->args[c->count++] = arena_strdup(c->arena, word);
}

/* Words separated by spaces: flags, or a compiler as in CC="ccache gcc". */
static void add_words(struct command *c, const char *words)
{
    for (char *rest = arena_strdup(c->arena, words), *word; (word = strsep(&rest, " "));)
        if (*word) add(c, word);
}

static void compile_device(const struct folder *f, const char *clang, const char *file, const char *into)
{
    struct command c = {.arena = f->arena};
    const char *source = arena_printf(f->arena, "%s/%s", f->path, file);
    add_words(&c, clang);
    add_words(&c, ATOLL_DEVICE_FLAGS);
    add(&c, arena_printf(f->arena, "-I%s/kit", into));
    add(&c, source);
    add(&c, "-o");
    add(&c, arena_printf(f->arena, "%s/%.*s.ptx", into, (int)(strlen(file) - 3), file));
    run_command(f->arena, source, "Device code needs clang (apt install clang), or name it in ATOLL_CLANG",
                c.args, arena_printf(f->arena, "%s/log", into));
}

static void compile_script(const struct folder *f, const char *cc, const char *into)
{
    struct command c = {.arena = f->arena};
    const char *source = arena_printf(f->arena, "%s/%s", f->path, f->script);
    add_words(&c, cc);
    add_words(
        &c,
        "-shared -fPIC -O2 -g -std=gnu17 -ffp-contract=off -fwrapv -fno-strict-aliasing -Wall -DWL_OUTSIDE");
    add(&c, arena_printf(f->arena, "-I%s/kit", into));
    add(&c, source);
    add(&c, "-o");
    add(&c, arena_printf(f->arena, "%s/script.so", into));
    add(&c, "-lm");
    run_command(f->arena, source, "Host scripts need a C compiler (apt install gcc), or name it in CC",
                c.args, arena_printf(f->arena, "%s/log", into));
}

/* Compiles into a fresh folder and renames it: several processes may do so at once. */
static void compile_folder(const struct folder *f, const char *clang, const char *cc, const char *cache,
                           const char *ready)
{
    char *into = arena_printf(f->arena, "%s/new.XXXXXX", cache);
    if (!mkdtemp(into)) diag_mistake("cannot create a folder in %s: %s", cache, strerror(errno));
    struct doomed doomed = {into};
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, remove_doomed, &doomed);
    make_directory(arena_printf(f->arena, "%s/kit", into));
    for (const struct embedded_file *k = embedded_kit; k->name; k++)
        write_whole(arena_printf(f->arena, "%s/kit/%s", into, k->name), k->text, k->len_bytes);
    compile_script(f, cc, into);
    for (uint32_t i = 0; i < f->count; i++)
        if (ends_with(f->files[i].name, ".cu")) compile_device(f, clang, f->files[i].name, into);
    const bool moved = rename(into, ready) == 0;
    if (!moved && errno != EEXIST && errno != ENOTEMPTY)
        diag_mistake("cannot rename %s to %s: %s", into, ready, strerror(errno));
    diag_done(&cleanup, !moved); /* another process was first: its result is the same */
}

/* ---- loading ---- */

static void load_modules(struct outside *o, const struct folder *f, const char *ready)
{
    for (uint32_t i = 0; i < f->count; i++) {
        const char *file = f->files[i].name;
        if (!ends_with(file, ".cu")) continue;
        if (o->module_count == SCRIPT_MODULES_MAX)
            diag_mistake("%s: more than %d files of device code", f->path, SCRIPT_MODULES_MAX);
        struct embedded_file *m = &o->modules[o->module_count++];
        m->name = arena_printf(f->arena, "%s/%.*s.ptx", ready, (int)(strlen(file) - 3), file);
        m->text = read_whole(f->arena, m->name, &m->len_bytes);
    }
    if (!o->module_count) diag_mistake("%s has no device code (*.cu): see docs/workloads-howto.md", f->path);
}

void outside_open(struct outside *o, struct arena *arena, const char *folder)
{
    const char *clang = getenv("ATOLL_CLANG"), *cc = getenv("CC");
    if (!clang || !*clang) clang = "clang";
    if (!cc || !*cc) cc = "cc";
    struct folder *f = ARENA_NEW(arena, struct folder);
    char *path = realpath(folder, NULL);
    if (!path) diag_mistake("cannot open the workload folder %s: %s", folder, strerror(errno));
    *f = (struct folder){.arena = arena, .path = arena_strdup(arena, path)};
    free(path);
    read_folder(f);

    const char *cache = cache_folder(arena), *compilers[] = {clang, cc, NULL};
    const char *ready =
        arena_printf(arena, "%s/%016llx", cache, (unsigned long long)hash_folder(f, compilers));
    if (access(arena_printf(arena, "%s/script.so", ready), R_OK) != 0)
        compile_folder(f, clang, cc, cache, ready);

    load_modules(o, f, ready);
    o->library = dlopen(arena_printf(arena, "%s/script.so", ready), RTLD_NOW | RTLD_LOCAL);
    if (!o->library) diag_mistake("cannot load the script of %s: %s", folder, dlerror());
    o->workload = dlsym(o->library, "workload_outside");
    if (!o->workload)
        diag_mistake("%s/%s does not define its workload: WORKLOAD(name, ...)", folder, f->script);
    spec_check_workload(o->workload);
}

void outside_close(struct outside *o)
{
    if (o->library) (void)dlclose(o->library);
    *o = (struct outside){0};
}
