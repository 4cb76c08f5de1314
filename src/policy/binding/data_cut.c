/* data_cut: lines, blocks and nodes of a page; see data_cut.h. */
#include "policy/binding/data_cut.h"

#include <assert.h>
#include <string.h>

#include "analysis/locality.h"
#include "base/diag.h"
#include "check/fault.h"

enum { LINE_LOG2 = 7, VISITS_MAX = 1 << 19 };

const char *cut_method_name(enum cut_method m)
{
    static const char *const names[] = {[CUT_INDEX] = "index",
                                        [CUT_LAYOUT] = "layout",
                                        [CUT_PROPORTIONAL] = "proportional",
                                        [CUT_LITERAL] = "equation",
                                        [CUT_IN_TURN] = "in turn"};
    return names[m];
}

/* ---- blocks that touch bytes ---- */

struct search {
    const struct data_cut *cut;
    const struct launch_pattern *p;
    uint32_t piece, pieces; /* the first piece that counts, and how many */
    int64_t rest_first[LAUNCH_DIGITS_MAX + 1],
        rest_end[LAUNCH_DIGITS_MAX + 1]; /* reach of the digits from k on */
    uint32_t at[4];                      /* coordinate per axis */
    cut_visit *visit;
    void *arg;
    uint32_t left; /* visits until the search stops */
};

/* Blocks differ in coordinates that the index does not have: all of them touch the bytes. */
static void visit_blocks(struct search *s, int64_t first, int64_t end)
{
    const struct binding *const b = &s->cut->binding;
    uint32_t last[3];
    for (uint32_t k = 0; k < 3; k++) last[k] = s->cut->open_axes >> k & 1 ? b->grid[k] - 1 : s->at[k];
    for (uint32_t z = s->at[2]; z <= last[2]; z++)
        for (uint32_t y = s->at[1]; y <= last[1]; y++)
            for (uint32_t x = s->at[0]; x <= last[0]; x++) {
                if (!s->left) return;
                s->left--;
                s->visit(s->arg, first, end, binding_node(b, x, y, z));
            }
}

static void search_pieces(struct search *s, int64_t first, int64_t end, int64_t moved)
{
    const struct launch_pattern *const p = s->p;
    const uint32_t last = s->piece + s->pieces;
    uint32_t low = s->piece, high = last;
    while (low < high) { /* the first piece that ends behind `first` */
        const uint32_t middle = low + (high - low) / 2;
        if (p->piece[middle].end <= first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < last && p->piece[low].first < end && s->left; low++) {
        const int64_t from = p->piece[low].first > first ? p->piece[low].first : first,
                      to = p->piece[low].end < end ? p->piece[low].end : end;
        visit_blocks(s, from + moved, to + moved);
    }
}

/* Values of digit k and those below it whose sum reaches [first, end); moved: sum of the digits above. */
static void search_digit(struct search *s, uint32_t k, int64_t first, int64_t end, int64_t moved)
{
    if (k == s->p->digits) {
        search_pieces(s, first, end, moved);
        return;
    }
    const struct launch_digit *const d = &s->p->digit[k];
    const int64_t step = (int64_t)d->step, below = first - s->rest_end[k + 1],
                  room = end - s->rest_first[k + 1];
    if (room <= 0) return;
    uint64_t v = below < 0 ? 0 : (uint64_t)(below / step) + 1;
    uint64_t last = (uint64_t)((room - 1) / step);
    if (last > d->count - 1) last = d->count - 1;
    for (; v <= last && s->left; v++) {
        s->at[d->axis] = (uint32_t)(d->descending ? d->count - 1 - v : v);
        search_digit(s, k + 1, first - (int64_t)v * step, end - (int64_t)v * step, moved + (int64_t)v * step);
    }
    s->at[d->axis] = 0;
}

/* Searches the pieces [s->piece, s->piece + s->pieces). */
static void search_from(struct search *s, int64_t first, int64_t end)
{
    const struct launch_pattern *const p = s->p;
    s->rest_first[p->digits] = p->piece[s->piece].first;
    s->rest_end[p->digits] = p->piece[s->piece + s->pieces - 1].end;
    for (uint32_t k = p->digits; k-- > 0;) {
        s->rest_first[k] = s->rest_first[k + 1];
        s->rest_end[k] = s->rest_end[k + 1] + (int64_t)(p->digit[k].step * (p->digit[k].count - 1));
    }
    search_digit(s, 0, first, end, 0);
}

/* Digits narrow the search only where the pieces lie closer than the steps. Pieces of twenty arrays behind each
 * other are searched one by one. */
static bool search_pattern(const struct data_cut *cut, const struct launch_pattern *p, int64_t first,
                           int64_t end, cut_visit *visit, void *arg)
{
    struct search s = {.cut = cut, .p = p, .visit = visit, .arg = arg, .left = VISITS_MAX};
    const uint64_t spread = (uint64_t)(p->piece[p->pieces - 1].end - p->piece[0].first);
    s.pieces = p->digits && spread > p->digit[0].step ? 1 : p->pieces;
    for (; s.piece < p->pieces && s.left; s.piece += s.pieces) search_from(&s, first, end);
    return s.left != 0;
}

static void search_layout(const struct data_cut *cut, int64_t first, int64_t end, cut_visit *visit, void *arg)
{
    uint32_t low = 0, high = cut->spans;
    const int64_t from = first - (int64_t)cut->span_bytes_max;
    while (low < high) { /* the first span that may reach `first` */
        const uint32_t middle = low + (high - low) / 2;
        if (cut->span[middle].first <= from)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < cut->spans && cut->span[low].first < end; low++) {
        const struct launch_span *const s = &cut->span[low];
        if (s->end <= first) continue;
        visit(arg, s->first > first ? s->first : first, s->end < end ? s->end : end,
              binding_node_of(&cut->binding, s->block));
    }
}

/* Line by line, the block in proportion to the offset. */
static void search_proportion(const struct data_cut *cut, int64_t first, int64_t end, cut_visit *visit,
                              void *arg)
{
    const uint64_t line = (uint64_t)1 << LINE_LOG2;
    for (uint64_t at = (uint64_t)first; at < (uint64_t)end; at = (at + line) & ~(line - 1)) {
        const uint64_t next = (at + line) & ~(line - 1);
        const uint64_t block = (uint64_t)((unsigned __int128)at * cut->binding.blocks / cut->bytes);
        visit(arg, (int64_t)at, next < (uint64_t)end ? (int64_t)next : end,
              binding_node_of(&cut->binding, block));
    }
}

bool cut_nodes_of(const struct data_cut *cut, int64_t first, int64_t end, cut_visit *visit, void *arg)
{
    bool complete = true;
    if (first < 0) first = 0;
    if (end > (int64_t)cut->bytes) end = (int64_t)cut->bytes;
    if (first >= end) return true;
    switch (cut->method) {
    case CUT_INDEX:
        for (uint32_t k = 0; k < cut->patterns; k++)
            complete &= search_pattern(cut, &cut->pattern[k], first, end, visit, arg);
        break;
    case CUT_LAYOUT: search_layout(cut, first, end, visit, arg); break;
    case CUT_PROPORTIONAL: search_proportion(cut, first, end, visit, arg); break;
    case CUT_LITERAL:
    case CUT_IN_TURN: break;
    }
    return complete;
}

/* ---- the node of a page ---- */

struct cut_scratch *cut_scratch_new(struct arena *a, uint32_t page_log2, uint32_t nodes)
{
    struct cut_scratch *s = ARENA_NEW(a, struct cut_scratch);
    s->words = (1u << (page_log2 - LINE_LOG2)) / 64 + 1;
    s->lines = ARENA_ARRAY(a, uint64_t, (size_t)nodes * s->words);
    return s;
}

struct counting {
    struct cut_scratch *scratch;
    uint64_t page_address, base;
};

static void count_lines(void *arg, int64_t first, int64_t end, uint32_t node)
{
    const struct counting *const c = arg;
    uint64_t *const lines = c->scratch->lines + (size_t)node * c->scratch->words;
    const uint64_t from = (c->base + (uint64_t)first - c->page_address) >> LINE_LOG2,
                   to = (c->base + (uint64_t)end - 1 - c->page_address) >> LINE_LOG2;
    for (uint64_t k = from; k <= to; k++) lines[k / 64] |= (uint64_t)1 << (k % 64);
}

static uint32_t lines_of(const struct cut_scratch *s, uint32_t node)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->words; k++)
        n += (uint32_t)__builtin_popcountll(s->lines[(size_t)node * s->words + k]);
    return n;
}

/* Counts pages whose lines the same nodes touch equally: how many such pages lie below the offset. Digits that the
 * binding does not read repeat the same nodes; each of their values is a further page, or several values share one.
 * The other digits add the page's distance, so that neighbours with the same nodes differ. */
static uint64_t rank_of(const struct data_cut *cut, uint64_t offset)
{
    const uint64_t page = (uint64_t)1 << cut->page_log2;
    const uint8_t axes = binding_axes(&cut->binding);
    uint64_t rank = 0, bound = 0;
    if (cut->method != CUT_INDEX) return offset / page;
    const struct launch_pattern *const p = &cut->pattern[0];
    offset = (int64_t)offset > p->piece[0].first ? offset - (uint64_t)p->piece[0].first : 0;
    for (uint32_t k = 0; k < p->digits; k++) {
        const struct launch_digit *const d = &p->digit[k];
        const uint64_t v = offset / d->step < d->count ? offset / d->step : d->count - 1;
        offset -= v * d->step;
        if (d->axis != LAUNCH_FREE && axes >> d->axis & 1)
            bound += v * d->step;
        else if (d->step >= page)
            rank = rank * d->count + v;
        else if (d->count * d->step >= page)
            rank = rank * (d->count * d->step / page) + v * d->step / page;
    }
    return rank + (bound + offset) / page;
}

/* The node with the most lines. UINT32_MAX: no block touches the bytes. */
static uint32_t most_lines(const struct data_cut *cut, uint64_t rank)
{
    struct cut_scratch *const s = cut->scratch;
    uint32_t most = 0, equal = 0, chosen = UINT32_MAX;
    for (uint32_t k = 0; k < cut->binding.nodes; k++) {
        const uint32_t n = lines_of(s, k);
        if (n > most) equal = 0;
        if (n >= most && n) equal++;
        if (n > most) most = n;
    }
    if (!most || !equal) return UINT32_MAX;
    uint32_t turn = (uint32_t)(rank % equal);
    for (uint32_t k = 0; k < cut->binding.nodes && chosen == UINT32_MAX; k++)
        if (lines_of(s, k) == most && !turn--) chosen = k;
    return chosen;
}

/* The node of the bytes [first, end) from the base on. */
static uint32_t node_of_bytes(const struct data_cut *cut, uint64_t page_address, int64_t first, int64_t end)
{
    struct counting c = {.scratch = cut->scratch, .page_address = page_address, .base = cut->base};
    memset(cut->scratch->lines, 0,
           (size_t)cut->binding.nodes * cut->scratch->words * sizeof *cut->scratch->lines);
    (void)cut_nodes_of(cut, first, end, count_lines, &c);
    return most_lines(cut, rank_of(cut, first > 0 ? (uint64_t)first : 0));
}

/* The page of the nearest touched byte, page by page; below first. */
static uint32_t node_of_neighbour(const struct data_cut *cut, uint64_t page)
{
    const uint64_t lowest = (cut->base + cut->first) >> cut->page_log2,
                   highest = (cut->base + (cut->end ? cut->end - 1 : 0)) >> cut->page_log2;
    uint32_t node = UINT32_MAX;
    uint64_t at = page > highest ? highest + 1 : page;
    while (node == UINT32_MAX && at > lowest) {
        at--;
        const int64_t first = (int64_t)((at << cut->page_log2) - cut->base);
        node = node_of_bytes(cut, at << cut->page_log2, first, first + ((int64_t)1 << cut->page_log2));
    }
    at = page < lowest ? lowest : page + 1;
    for (; node == UINT32_MAX && at <= highest; at++) {
        const int64_t first = (int64_t)((at << cut->page_log2) - cut->base);
        node = node_of_bytes(cut, at << cut->page_log2, first, first + ((int64_t)1 << cut->page_log2));
    }
    return node == UINT32_MAX ? 0 : node;
}

static uint32_t literal_node(const struct data_cut *cut, uint64_t offset)
{
    assert(cut->bytes);
    if (cut->granule) return (uint32_t)(offset / cut->granule % cut->binding.nodes);
    return (uint32_t)((unsigned __int128)offset * cut->binding.nodes / cut->bytes);
}

uint32_t cut_node(const struct data_cut *cut, uint64_t page)
{
    const uint64_t address = page << cut->page_log2;
    const int64_t first = (int64_t)(address - cut->base), end = first + ((int64_t)1 << cut->page_log2);
    if (cut->method == CUT_IN_TURN) return (uint32_t)(page % cut->binding.nodes);
    if (cut->method == CUT_LITERAL) {
        const uint64_t offset = first > 0 ? (uint64_t)first : 0;
        return literal_node(cut, offset < cut->bytes ? offset : cut->bytes - 1);
    }
    const uint32_t node = node_of_bytes(cut, address, first, end);
    return node == UINT32_MAX ? node_of_neighbour(cut, page) : node;
}

/* ---- the cut of an array ---- */

static void keep_patterns(struct data_cut *cut, struct arena *a, const struct launch_array *s)
{
    struct launch_pattern *const p = ARENA_ARRAY(a, struct launch_pattern, s->patterns);
    memcpy(p, s->pattern, s->patterns * sizeof *p);
    for (uint32_t k = 0; k < s->patterns; k++) {
        struct launch_bytes *const piece = ARENA_ARRAY(a, struct launch_bytes, p[k].pieces);
        memcpy(piece, p[k].piece, p[k].pieces * sizeof *piece);
        p[k].piece = piece;
    }
    cut->pattern = p;
    cut->patterns = s->patterns;
    cut->method = CUT_INDEX;
}

static bool keep_layout(struct data_cut *cut, struct arena *a, const struct launch_facts *l, uint32_t array)
{
    uint32_t count;
    const struct launch_span *const from = launch_layout(l, array, &count);
    if (!from || !count) return false;
    struct launch_span *const to = ARENA_ARRAY(a, struct launch_span, count);
    memcpy(to, from, count * sizeof *to);
    cut->span = to;
    cut->spans = count;
    for (uint32_t k = 0; k < count; k++)
        if ((uint64_t)(to[k].end - to[k].first) > cut->span_bytes_max)
            cut->span_bytes_max = (uint64_t)(to[k].end - to[k].first);
    cut->method = CUT_LAYOUT;
    return true;
}

static bool is_irregular(uint8_t locality)
{
    return locality == LOCALITY_ITL || locality == LOCALITY_NONE || locality == LOCALITY_UNKNOWN;
}

/* Bytes of a row of the structure: the step of the free digit above the digit of the column. */
static uint64_t row_bytes(const struct launch_array *s)
{
    const struct launch_pattern *const p = s->patterns ? &s->pattern[0] : NULL;
    uint64_t row = 0;
    for (uint32_t k = 0; p && k < p->digits; k++) {
        if (p->digit[k].axis == LAUNCH_X) return row ? row : s->end - s->first;
        row = p->digit[k].step;
    }
    return s->end - s->first;
}

/* Equation 1 of the paper: the stride in equal parts of whole pages. */
static uint64_t equation_1(uint64_t stride_bytes, uint32_t nodes, uint32_t page_log2)
{
    const uint64_t page = (uint64_t)1 << page_log2, part = (stride_bytes + nodes - 1) / nodes;
    return (part + page - 1) / page * page;
}

static void set_literal(struct data_cut *cut, const struct launch_array *s, uint8_t locality)
{
    cut->method = CUT_LITERAL;
    switch (locality_action((enum locality_class)locality)->placement) {
    case LOCALITY_STRIDE_AWARE: {
        const uint64_t stride = s->stride_bytes
                                    ? (uint64_t)(s->stride_bytes < 0 ? -s->stride_bytes : s->stride_bytes)
                                    : cut->bytes;
        cut->granule = equation_1(stride, cut->binding.nodes, cut->page_log2);
        return;
    }
    case LOCALITY_COL_BASED:
        cut->granule = equation_1(row_bytes(s), cut->binding.nodes, cut->page_log2);
        return;
    case LOCALITY_ROW_BASED:
    case LOCALITY_KERNEL_WIDE_DATA: break;
    }
    cut->granule = 0;
}

struct data_cut cut_of_array(struct arena *a, const struct config *c, const struct launch_facts *l,
                             const struct nodes *n, const struct lasp_plan *plan, uint32_t array,
                             struct cut_scratch *scratch)
{
    const struct launch_array *const s = &launch_arrays(l)->array[array];
    const uint8_t locality = lasp_class(c, l, array);
    struct data_cut cut = {.method = CUT_PROPORTIONAL,
                           .binding = plan->binding,
                           .base = FAULT_FIRES(pointer_at_allocation) ? s->allocation : s->base,
                           .bytes = s->bytes,
                           .first = s->first,
                           .end = s->end,
                           .page_log2 = (uint32_t)__builtin_ctzll(c->map.page_size),
                           .scratch = scratch};
    /* A class that is given says that the index is not known, whatever the analysis found. */
    const bool indexed = s->patterns && (locality == s->locality || !is_irregular(locality));
    /* The binding of the winner does not separate the blocks of this structure: its own class decides. */
    const bool blind = indexed ? s->any & binding_axes(&cut.binding) : is_irregular(locality);
    if (blind && !FAULT_FIRES(loser_on_one_node))
        cut.binding = lasp_binding(c, l, n, locality, s->datablock_bytes);
    if (c->lasp.match == lasp_match_literal) {
        set_literal(&cut, s, locality);
        return cut;
    }
    if (indexed) {
        keep_patterns(&cut, a, s);
        if (!FAULT_FIRES(loser_on_one_node)) cut.open_axes = s->any & binding_axes(&cut.binding);
    } else if (!is_irregular(locality) && keep_layout(&cut, a, l, array)) {
        return cut;
    }
    if (cut.method == CUT_PROPORTIONAL && s->end > s->first) {
        cut.base += s->first;
        cut.bytes = s->end - s->first;
        cut.end -= cut.first;
        cut.first = 0;
    }
    return cut;
}
