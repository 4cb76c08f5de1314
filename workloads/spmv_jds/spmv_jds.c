/* spmv_jds: host script. The matrix is like one of finite elements: a row has 8 to 40 entries, near the diagonal. Rows
 * of a warp are filled up to the longest of them with zeros, as Parboil's converter does. LADM: 146,689 rows in 4585
 * blocks of 32 threads; ASSUMPTION: 24 entries per row, which gives 30 MB. Its
 * quick size has fewer rows.
 *
 * Footprint: 8 x entries + 12 x rows bytes, entries with the zeros. A launch per
 * repetition. Values and columns are streams of a thread each; x is gathered. */
#include "workload.h"

enum {
    SEED_LENGTH = 1,
    SEED_COLUMN,
    SEED_VALUE,
    SEED_X,
    WARP = 32,
    WARPS_MAX = 5000,
    LENGTH_MIN = 8,
    LENGTHS = 33,
    LENGTH_MAX = LENGTH_MIN + LENGTHS - 1,
    BAND = 2048
};

static const struct wl_param params[] = {
    {"rows", 16384, 1, WARP *WARPS_MAX, 0, "rows and columns"},
    {"repeat", 1, 1, 10000, 0, "launches"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "rows=1100", NULL},
    {"ladm", "rows=146689", "LADM, 30 MB, 4585 blocks"},
    {"ladmq", "rows=32768", "LADM quick: fewer rows"},
    {0},
};

/* Rows in the order of their length, longest first; diagonal k has sizes[k] entries, warps filled up. */
struct matrix {
    uint64_t rows, entries;
    uint32_t *order;
    int32_t *first, *diagonals;
};

static uint64_t length_of(uint64_t row) { return LENGTH_MIN + wl_below(SEED_LENGTH, row, LENGTHS); }

static uint64_t rounded(uint64_t rows) { return (rows + WARP - 1) / WARP * WARP; }

/* Rows of at least each length. */
static void count_rows(uint64_t rows, uint64_t at_least[LENGTH_MAX + 2])
{
    for (uint64_t k = 0; k <= LENGTH_MAX + 1; k++) at_least[k] = 0;
    for (uint64_t row = 0; row < rows; row++) at_least[length_of(row)]++;
    for (uint64_t k = LENGTH_MAX; k > 0; k--) at_least[k - 1] += at_least[k];
}

static uint64_t entries_of(uint64_t rows)
{
    uint64_t at_least[LENGTH_MAX + 2], entries = 0;
    count_rows(rows, at_least);
    for (uint64_t k = 1; k <= LENGTH_MAX; k++) entries += rounded(at_least[k]);
    return entries;
}

static struct matrix *matrix_new(struct wl *w, uint64_t rows)
{
    uint64_t at_least[LENGTH_MAX + 2];
    struct matrix *m = wl_scratch(w, sizeof *m);
    *m = (struct matrix){rows, entries_of(rows), wl_scratch(w, 4 * rows), wl_scratch(w, 4 * WARPS_MAX),
                         wl_scratch(w, 4 * WARPS_MAX)};
    count_rows(rows, at_least);
    for (uint64_t k = 0; k < LENGTH_MAX; k++)
        m->first[k + 1] = m->first[k] + (int32_t)rounded(at_least[k + 1]);
    for (uint64_t row = 0; row < rows; row++) m->order[at_least[length_of(row) + 1]++] = (uint32_t)row;
    for (uint64_t place = 0; place < rows; place += WARP)
        m->diagonals[place / WARP] = (int32_t)length_of(m->order[place]);
    return m;
}

/* Column of entry k of a row: one of BAND around the diagonal, inside the matrix. */
static uint32_t column_of(uint64_t rows, uint64_t row, uint64_t k)
{
    const uint64_t width = rows < BAND ? rows : BAND, half = width / 2;
    const uint64_t first = row < half ? 0 : row > rows - width + half ? rows - width : row - half;
    return (uint32_t)(first + wl_below(SEED_COLUMN, row * LENGTH_MAX + k, width));
}
static float value_of(uint64_t row, uint64_t k) { return wl_f32(SEED_VALUE, row * LENGTH_MAX + k, 0, 1); }

/* Row and place in it of an entry; false: a zero that fills a warp. */
static bool entry_at(const struct matrix *m, uint64_t at, uint64_t *diagonal, uint64_t *row, uint64_t *k)
{
    while ((uint64_t)m->first[*diagonal + 1] <= at) ++*diagonal;
    while ((uint64_t)m->first[*diagonal] > at) --*diagonal;
    const uint64_t place = at - (uint64_t)m->first[*diagonal];
    if (place >= m->rows) return false;
    *row = m->order[place];
    *k = *diagonal;
    return *k < length_of(*row);
}

static void fill_columns(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct matrix *m = arg;
    uint64_t row, k, diagonal = 0;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((uint32_t *)to)[i] =
            entry_at(m, first / 4 + i, &diagonal, &row, &k) ? column_of(m->rows, row, k) : 0;
}
static void fill_values(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    uint64_t row, k, diagonal = 0;
    for (uint64_t i = 0; i < bytes / 4; i++)
        ((float *)to)[i] = entry_at(arg, first / 4 + i, &diagonal, &row, &k) ? value_of(row, k) : 0;
}
static void fill_order(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    __builtin_memcpy(to, (const char *)((const struct matrix *)arg)->order + first, bytes);
}

static double expected(const void *arg, uint64_t row)
{
    const uint64_t rows = ((const struct matrix *)arg)->rows;
    float sum = 0;
    for (uint64_t k = 0; k < length_of(row); k++)
        sum = fmaf(value_of(row, k), wl_f32(SEED_X, column_of(rows, row, k), 0, 1), sum);
    return (double)sum;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t rows = (uint64_t)wl_param(w, "rows");
    return 8 * entries_of(rows) + 12 * rows;
}

static void run(struct wl *w)
{
    const int rows = (int)wl_param(w, "rows");
    struct matrix *m = matrix_new(w, (uint64_t)rows);
    int32_t *columns = wl_input(w, "columns", 4 * m->entries, fill_columns, m);
    float *values = wl_input(w, "values", 4 * m->entries, fill_values, m);
    uint32_t *order = wl_input(w, "order", 4 * m->rows, fill_order, m);
    float *x = wl_input_f32(w, "x", m->rows, SEED_X, 0, 1), *y = wl_alloc(w, "y", 4 * m->rows);
    wl_write(w, wl_variable(w, "diagonal_first", 4 * WARPS_MAX), m->first, 4 * WARPS_MAX);
    wl_write(w, wl_variable(w, "warp_diagonals", 4 * WARPS_MAX), m->diagonals, 4 * WARPS_MAX);
    for (int64_t i = wl_param(w, "repeat"); i > 0; i--)
        WL_LAUNCH(w, "spmv_jds", wl_dim(wl_blocks(rows, WARP)), wl_dim(WARP), y, values, columns, order, x,
                  rows);
    wl_check_f32(w, &(struct wl_check){.name = "y",
                                       .output = y,
                                       .count = m->rows,
                                       .reference = expected,
                                       .arg = m,
                                       .cost = LENGTH_MAX,
                                       .relative = 1e-5});
}

WORKLOAD(spmv_jds, .suite = "Parboil", .sharing = "-",
         .description = "sparse matrix times vector in jagged diagonals, a thread per row", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
