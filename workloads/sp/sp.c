/* sp: host script. 4.2 clauses per variable, where random 3-SAT becomes hard. The host does the same
 * iterations: some operations per edge. SelRep: 17.0 MB shared of 22 MB
 * (the rows of edges belong to one SM each). */
#include "workload.h"

enum { SEED_VARIABLE = 1, SEED_SIGN, SEED_ETA, LITERALS = 3, BLOCK = 256 };
static const float THRESHOLD = 0.3f;

static const struct wl_param params[] = {
    {"clauses", 42000, 8, 1 << 26, 0, "clauses of three literals"},
    {"iterations", 3, 1, 1000, 0, "iterations, two launches each"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "clauses=420", NULL},
    {"selrep", "clauses=412000", "SelRep, 17.0 MB shared"},
    {0},
};

struct problem {
    uint64_t clauses, variables, edges;
    int32_t *literals, *first, *edge; /* host copies of what the device has */
    float *eta, *next, *products;
};

static uint64_t variables_of(const struct wl *w) { return (uint64_t)wl_param(w, "clauses") * 10 / 42; }

/* Three different variables. */
static int32_t literal_at(const struct problem *p, uint64_t edge)
{
    const uint64_t clause = edge / LITERALS, n = p->variables,
                   a = wl_below(SEED_VARIABLE, clause * LITERALS, n);
    const uint64_t b = (a + 1 + wl_below(SEED_VARIABLE, clause * LITERALS + 1, n - 1)) % n;
    uint64_t c = (a + 1 + wl_below(SEED_VARIABLE, clause * LITERALS + 2, n - 1)) % n;
    while (c == a || c == b) c = (c + 1) % n;
    const uint64_t v[LITERALS] = {a, b, c};
    return (int32_t)(2 * v[edge % LITERALS] + (wl_u64(SEED_SIGN, edge) & 1));
}

/* Literals, and the rows of edges by variable (a counting sort). */
static struct problem problem_of(struct wl *w)
{
    struct problem p = {.clauses = (uint64_t)wl_param(w, "clauses"), .variables = variables_of(w)};
    p.edges = p.clauses * LITERALS;
    p.literals = wl_scratch(w, p.edges * 4), p.edge = wl_scratch(w, p.edges * 4);
    p.first = wl_scratch(w, (p.variables + 2) * 4);
    for (uint64_t e = 0; e < p.edges; e++) {
        p.literals[e] = literal_at(&p, e);
        p.first[(p.literals[e] >> 1) + 2]++;
    }
    for (uint64_t v = 2; v < p.variables + 2; v++) p.first[v] += p.first[v - 1];
    for (uint64_t e = 0; e < p.edges; e++) p.edge[p.first[(p.literals[e] >> 1) + 1]++] = (int32_t)e;
    p.eta = wl_scratch(w, p.edges * 4), p.next = wl_scratch(w, p.edges * 4);
    p.products = wl_scratch(w, p.variables * 8);
    for (uint64_t e = 0; e < p.edges; e++) p.eta[e] = wl_f32(SEED_ETA, e, 0, 0.9f);
    return p;
}

static void multiply_up(const struct problem *p)
{
    for (uint64_t v = 0; v < p->variables; v++) {
        float product[2] = {1, 1};
        for (int32_t k = p->first[v]; k < p->first[v + 1]; k++)
            product[p->literals[p->edge[k]] & 1] *= 1 - p->eta[p->edge[k]];
        p->products[2 * v] = product[0];
        p->products[2 * v + 1] = product[1];
    }
}

static void update(struct problem *p)
{
    for (uint64_t c = 0; c < p->clauses; c++) {
        float chance[LITERALS];
        for (uint64_t k = 0; k < LITERALS; k++) {
            const int32_t literal = p->literals[c * LITERALS + k], negated = literal & 1;
            const float *product = p->products + (literal & ~1);
            const float same = product[negated] / (1 - p->eta[c * LITERALS + k]), other = product[!negated];
            chance[k] = (1 - other) * same / ((1 - other) * same + (1 - same) * other + same * other);
        }
        for (uint64_t k = 0; k < LITERALS; k++)
            p->next[c * LITERALS + k] = fminf(chance[(k + 1) % LITERALS] * chance[(k + 2) % LITERALS], 0.99f);
    }
    float *spare = p->eta;
    p->eta = p->next;
    p->next = spare;
}

static double bias_at(const void *arg, uint64_t v)
{
    const struct problem *p = arg;
    const double a = (double)p->products[2 * v], b = (double)p->products[2 * v + 1];
    return ((1 - a) * b - (1 - b) * a) / ((1 - a) * b + (1 - b) * a + a * b);
}

/* A bias at the threshold may go either way. */
static void check_decided(struct wl *w, const struct problem *p, const int32_t *decided)
{
    const int32_t *got = wl_output(w, "decided", decided, p->variables * 4);
    for (uint64_t v = 0; v < p->variables; v++) {
        const double bias = bias_at(p, v);
        const int32_t want = fabs(bias) < (double)THRESHOLD ? 0 : bias > 0 ? 1 : -1;
        const bool close = fabs(fabs(bias) - (double)THRESHOLD) < 1e-3 && got[v] >= -1 && got[v] <= 1;
        if (got[v] != want && !close)
            wl_fail(w, "decided[%llu] is %d, but the bias is %g", (unsigned long long)v, got[v], bias);
    }
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t edges = (uint64_t)wl_param(w, "clauses") * LITERALS;
    return 4 * (4 * edges + 5 * variables_of(w) + 1);
}

static void run(struct wl *w)
{
    struct problem p = problem_of(w);
    const int clauses = (int)p.clauses, variables = (int)p.variables;
    int32_t *literals = wl_alloc(w, "literals", p.edges * 4), *edge = wl_alloc(w, "edges", p.edges * 4);
    int32_t *first = wl_alloc(w, "first edge", (p.variables + 1) * 4),
            *decided = wl_alloc(w, "decided", p.variables * 4);
    float *eta = wl_input_f32(w, "surveys 0", p.edges, SEED_ETA, 0, 0.9f),
          *next = wl_alloc(w, "surveys 1", p.edges * 4);
    float *products = wl_alloc(w, "products", p.variables * 8), *bias = wl_alloc(w, "bias", p.variables * 4);
    wl_write(w, literals, p.literals, p.edges * 4);
    wl_write(w, edge, p.edge, p.edges * 4);
    wl_write(w, first, p.first, (p.variables + 1) * 4);
    const struct wl_dim of_variables = wl_dim(wl_blocks(variables, BLOCK)), block = wl_dim(BLOCK);
    for (int64_t k = wl_param(w, "iterations"); k > 0; k--) {
        WL_LAUNCH(w, "sp_products", of_variables, block, first, edge, literals, eta, products, variables);
        WL_LAUNCH(w, "sp_update", wl_dim(wl_blocks(clauses, BLOCK)), block, literals, products, eta, next,
                  clauses);
        float *spare = eta;
        eta = next;
        next = spare;
        multiply_up(&p);
        update(&p);
    }
    WL_LAUNCH(w, "sp_products", of_variables, block, first, edge, literals, eta, products, variables);
    WL_LAUNCH(w, "sp_bias", of_variables, block, products, bias, decided, THRESHOLD, variables);
    multiply_up(&p);

    struct wl_check check = {.relative = 1e-3, .absolute = 1e-5, .reference = wl_expect_f32};
    check.name = "surveys", check.output = eta, check.count = p.edges, check.arg = p.eta;
    wl_check_f32(w, &check);
    check.name = "products", check.output = products, check.count = 2 * p.variables, check.arg = p.products;
    wl_check_f32(w, &check);
    check.name = "bias", check.output = bias, check.count = p.variables, check.arg = &p,
    check.reference = bias_at;
    wl_check_f32(w, &check);
    check_decided(w, &p, decided);
}

WORKLOAD(sp, .suite = "Lonestar", .sharing = "-", .description = "survey propagation on random 3-SAT",
         .params = params, .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
