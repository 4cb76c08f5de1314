/* yaml_events: see yaml_events.h. */
#include "config/yaml_events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TREE_DEPTH_MAX = 16 };

/* ---- files ---- */

static void close_file(void *arg) { (void)close(*(int *)arg); }

void yaml_slurp(struct arena *a, const char *kind, const char *path, struct diag_place named_at,
                struct diag_source *source)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    struct diag_cleanup closing;
    if (fd < 0) diag_mistake_at(named_at, "cannot open %s file '%s': %s", kind, path, strerror(errno));
    diag_defer(&closing, close_file, &fd);
    if (fstat(fd, &st) != 0)
        diag_mistake_at(named_at, "cannot read %s file '%s': %s", kind, path, strerror(errno));
    if (S_ISDIR(st.st_mode)) diag_mistake_at(named_at, "%s file '%s' is a directory", kind, path);
    if (!S_ISREG(st.st_mode)) diag_mistake_at(named_at, "%s file '%s' is not a regular file", kind, path);
    if (st.st_size > YAML_FILE_BYTES_MAX)
        diag_mistake_at(named_at, "%s file '%s' has %lld bytes; %s %s file has at most %d", kind, path,
                        (long long)st.st_size, strchr("aeiou", *kind) ? "an" : "a", kind,
                        YAML_FILE_BYTES_MAX);
    char *text = arena_alloc(a, (size_t)st.st_size + 1);
    size_t len = 0;
    while (len < (size_t)st.st_size) {
        const ssize_t got = read(fd, text + len, (size_t)st.st_size - len);
        if (got < 0) diag_mistake_at(named_at, "cannot read %s file '%s': %s", kind, path, strerror(errno));
        if (got == 0) break;
        len += (size_t)got;
    }
    diag_done(&closing, true);
    *source = (struct diag_source){path, text, len};
}

/* ---- events ---- */

static void delete_parser(void *arg)
{
    struct yaml_events *y = arg;
    if (y->event_held) yaml_event_delete(&y->event);
    yaml_parser_delete(&y->parser);
}

/* libyaml counts characters, a place counts bytes. */
static uint32_t byte_column(const struct diag_source *source, yaml_mark_t mark)
{
    const char *p = source->text, *end = source->text + source->len_bytes;
    for (size_t line = 0; line < mark.line && p < end; line++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        p = newline ? newline + 1 : end;
    }
    const char *start = p;
    if (mark.line == 0 && end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3; /* the mark is not counted */
    for (size_t column = 0; column < mark.column && p < end; column++) {
        p++;
        while (p < end && ((unsigned char)*p & 0xc0) == 0x80) p++;
    }
    return (uint32_t)(p - start) + 1;
}

struct diag_place yaml_here(const struct yaml_events *y)
{
    const yaml_mark_t start = y->event.start_mark, end = y->event.end_mark;
    const uint32_t width =
        end.line == start.line && end.column > start.column ? (uint32_t)(end.column - start.column) : 1;
    return (struct diag_place){y->source, (uint32_t)start.line + 1, byte_column(y->source, start), width};
}

void yaml_begin(struct yaml_events *y, const struct diag_source *source, const char *instead_of_anchors)
{
    y->source = source;
    y->instead_of_anchors = instead_of_anchors;
    y->event_held = false;
    if (!yaml_parser_initialize(&y->parser)) diag_mistake("out of host memory for the YAML parser");
    diag_defer(&y->deleting, delete_parser, y);
    yaml_parser_set_input_string(&y->parser, (const unsigned char *)source->text, source->len_bytes);
}

void yaml_end(struct yaml_events *y) { diag_done(&y->deleting, true); }

void yaml_next(struct yaml_events *y)
{
    if (y->event_held) yaml_event_delete(&y->event);
    y->event_held = false;
    if (!yaml_parser_parse(&y->parser, &y->event)) {
        struct diag_place p = {y->source, (uint32_t)y->parser.problem_mark.line + 1,
                               (uint32_t)y->parser.problem_mark.column + 1, 1};
        if (y->parser.error == YAML_READER_ERROR) p = diag_place_at(y->source, y->parser.problem_offset, 1);
        diag_mistake_at(p, "not valid YAML: %s%s%s", y->parser.problem ? y->parser.problem : "syntax error",
                        y->parser.context ? ", " : "", y->parser.context ? y->parser.context : "");
    }
    y->event_held = true;
    const bool anchored = (y->event.type == YAML_SCALAR_EVENT && y->event.data.scalar.anchor) ||
                          (y->event.type == YAML_MAPPING_START_EVENT && y->event.data.mapping_start.anchor) ||
                          (y->event.type == YAML_SEQUENCE_START_EVENT && y->event.data.sequence_start.anchor);
    if (anchored || y->event.type == YAML_ALIAS_EVENT)
        diag_mistake_at(yaml_here(y), "anchors and aliases are not used %s", y->instead_of_anchors);
}

const char *yaml_scalar(const struct yaml_events *y, struct arena *a)
{
    if (memchr(y->event.data.scalar.value, 0, y->event.data.scalar.length))
        diag_mistake_at(yaml_here(y), "a value contains a NUL character");
    return arena_strdup(a, (const char *)y->event.data.scalar.value);
}

/* ---- a tree ---- */

static struct yaml_node *read_node(struct yaml_events *y, struct arena *a, unsigned depth);

static void read_entries(struct yaml_events *y, struct arena *a, struct yaml_node *parent, unsigned depth)
{
    const bool map = parent->kind == YAML_MAP;
    struct yaml_node **tail = &parent->first;
    for (yaml_next(y); y->event.type != YAML_MAPPING_END_EVENT && y->event.type != YAML_SEQUENCE_END_EVENT;
         yaml_next(y)) {
        const char *key = NULL;
        struct diag_place key_place = {0};
        if (map) {
            if (y->event.type != YAML_SCALAR_EVENT)
                diag_mistake_at(yaml_here(y), "a key must be a plain name");
            key = yaml_scalar(y, a);
            key_place = yaml_here(y);
            if (yaml_get(parent, key)) diag_mistake_at(key_place, "'%s' is given twice", key);
            yaml_next(y);
        }
        struct yaml_node *child = read_node(y, a, depth + 1);
        child->key = key;
        child->key_place = key_place;
        *tail = child;
        tail = &child->next;
        parent->count++;
    }
}

/* The present event starts a node; afterwards it is the node's last one. */
static struct yaml_node *read_node(struct yaml_events *y, struct arena *a, unsigned depth)
{
    struct yaml_node *node = ARENA_NEW(a, struct yaml_node);
    node->place = yaml_here(y);
    if (depth > TREE_DEPTH_MAX) diag_mistake_at(node->place, "nested more than %d deep", TREE_DEPTH_MAX);
    if (y->event.type == YAML_SCALAR_EVENT) {
        node->text = yaml_scalar(y, a);
        return node;
    }
    node->kind = y->event.type == YAML_MAPPING_START_EVENT ? YAML_MAP : YAML_LIST;
    read_entries(y, a, node, depth);
    return node;
}

struct yaml_node *yaml_read_tree(struct arena *a, const struct diag_source *source)
{
    struct yaml_events *y = ARENA_NEW(a, struct yaml_events);
    struct yaml_node *root = NULL;
    yaml_begin(y, source, "here: write values out");
    yaml_next(y); /* stream start */
    yaml_next(y);
    if (y->event.type != YAML_STREAM_END_EVENT) {
        yaml_next(y);
        root = read_node(y, a, 0);
        yaml_next(y); /* document end */
        yaml_next(y);
        if (y->event.type != YAML_STREAM_END_EVENT)
            diag_mistake_at(yaml_here(y), "a file holds one document; a second one starts here");
    }
    yaml_end(y);
    return root;
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    for (const struct yaml_node *n = map->first; n; n = n->next)
        if (n->key && strcmp(n->key, key) == 0) return n;
    return NULL;
}
