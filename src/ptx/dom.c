/* dom: dominators and post-dominators; see dom.h. */
#include "ptx/dom.h"

#define NONE UINT32_MAX

/* All arrays are indexed by depth-first number but `number`, which maps nodes to numbers. */
struct state {
    const struct ptx_graph *g;
    uint32_t *number, *node, *parent, *semi, *ancestor, *label, *bucket, *next, *stack;
};

/* Numbers the nodes in the order of a depth-first search; returns how many there are. */
static uint32_t search(struct state *s, uint32_t root, uint32_t *edge)
{
    const struct ptx_graph *g = s->g;
    uint32_t count = 0, depth = 0;
    for (uint32_t v = 0; v < g->n_nodes; v++) s->number[v] = NONE;
    s->number[root] = count;
    s->node[count] = root;
    s->parent[count++] = NONE;
    s->stack[depth] = root;
    edge[depth++] = g->out_start[root];
    while (depth) {
        const uint32_t v = s->stack[depth - 1];
        if (edge[depth - 1] == g->out_start[v + 1]) {
            depth--;
            continue;
        }
        const uint32_t w = g->out[edge[depth - 1]++];
        if (s->number[w] != NONE) continue;
        s->number[w] = count;
        s->node[count] = w;
        s->parent[count++] = s->number[v];
        s->stack[depth] = w;
        edge[depth++] = g->out_start[w];
    }
    return count;
}

/* The vertex of least semi-dominator on the way from v to the root of its tree; shortens that way. */
static uint32_t evaluate(struct state *s, uint32_t v)
{
    if (s->ancestor[v] == NONE) return s->label[v];
    uint32_t depth = 0;
    for (uint32_t u = v; s->ancestor[s->ancestor[u]] != NONE; u = s->ancestor[u]) s->stack[depth++] = u;
    while (depth) {
        const uint32_t u = s->stack[--depth], a = s->ancestor[u];
        if (s->semi[s->label[a]] < s->semi[s->label[u]]) s->label[u] = s->label[a];
        s->ancestor[u] = s->ancestor[a];
    }
    return s->label[v];
}

static uint32_t semi_dominator(struct state *s, uint32_t w)
{
    const struct ptx_graph *g = s->g;
    const uint32_t node = s->node[w];
    uint32_t best = s->semi[w];
    for (uint32_t e = g->in_start[node]; e < g->in_start[node + 1]; e++) {
        const uint32_t v = s->number[g->in[e]];
        if (v == NONE) continue; /* not reached from the root */
        const uint32_t u = evaluate(s, v);
        if (s->semi[u] < best) best = s->semi[u];
    }
    return best;
}

void ptx_dominators(const struct ptx_graph *g, uint32_t root, uint32_t *idom, uint32_t *scratch)
{
    const uint32_t n = g->n_nodes;
    struct state s = {.g = g, .number = scratch};
    uint32_t **const parts[] = {&s.node,  &s.parent, &s.semi, &s.ancestor,
                                &s.label, &s.bucket, &s.next, &s.stack};
    for (uint32_t i = 0; i < 8; i++) *parts[i] = scratch + (size_t)(i + 1) * n;
    for (uint32_t v = 0; v < n; v++) idom[v] = NONE;
    const uint32_t count = search(&s, root, s.semi);
    for (uint32_t v = 0; v < count; v++) {
        s.semi[v] = s.label[v] = v;
        s.ancestor[v] = s.bucket[v] = NONE;
    }
    uint32_t *dom = idom; /* by number first; turned into nodes at the end through `next` */
    for (uint32_t w = count; w-- > 1;) {
        s.semi[w] = semi_dominator(&s, w);
        s.next[w] = s.bucket[s.semi[w]];
        s.bucket[s.semi[w]] = w;
        const uint32_t p = s.parent[w];
        s.ancestor[w] = p;
        for (uint32_t v = s.bucket[p], after; v != NONE; v = after) {
            after = s.next[v];
            const uint32_t u = evaluate(&s, v);
            dom[v] = s.semi[u] < s.semi[v] ? u : p;
        }
        s.bucket[p] = NONE;
    }
    for (uint32_t w = 1; w < count; w++)
        if (dom[w] != s.semi[w]) dom[w] = dom[dom[w]];
    for (uint32_t w = 1; w < count; w++) s.next[w] = dom[w];
    for (uint32_t v = 0; v < n; v++) {
        const uint32_t w = s.number[v];
        idom[v] = NONE;
        if (w != NONE && w) idom[v] = s.node[s.next[w]];
    }
}
