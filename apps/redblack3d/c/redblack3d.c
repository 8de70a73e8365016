/* RedBlack3D in C, on raddle.h: the same numbers as the program in Rust beside it, bit by bit (a test compares them).
 *
 *   raddle mpi build
 *   cc -O3 -ffp-contract=off redblack3d.c -o redblack3d-c $(pkg-config --cflags --libs raddle)
 *   mpirun -np 2 ./redblack3d-c shared 256x256x256 20 [RANKSxRANKSxRANKS]
 *
 * MODEL is sync (exchange, then compute), or async, shared, watched, dedicated or auto: post, compute inner cells, wait,
 * compute the others; who moves messages meanwhile is named by it. Rank 0 prints what an iteration has taken, the mode,
 * and the residual and a checksum of all cells as bits. */
#include <raddle.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OMEGA 1.5

static const char *const models[] = {"sync", "async", "shared", "watched", "dedicated", "auto"};
static const int modes[] = {RADDLE_MODE_INLINE,  RADDLE_MODE_INLINE,    RADDLE_MODE_SHARED,
                            RADDLE_MODE_WATCHED, RADDLE_MODE_DEDICATED, RADDLE_MODE_AUTO};

struct box {
    size_t start[3], length[3];
};

struct solver {
    size_t cells[3], ranks[3], iterations;
    int has_ranks, model;
    raddle_net_t *net;
    raddle_part_t u;
    double *hump[3];
};

/* What a plane needs. */
struct sweep {
    const struct solver *solver;
    struct box box;
    size_t colour;
};

static void must(int code, const char *what)
{
    if (code == RADDLE_OK)
        return;
    fprintf(stderr, "redblack3d-c: %s: %s: %s\n", what, raddle_errname(code), raddle_last_error());
    exit(1);
}

/* The cells of one colour of a plane of a box. */
static void relax(size_t z, void *arg)
{
    const struct sweep *sweep = arg;
    const struct solver *solver = sweep->solver;
    const raddle_part_t *u = &solver->u;
    const ptrdiff_t row = (ptrdiff_t)u->stride[1], plane = (ptrdiff_t)u->stride[2];
    const size_t first = sweep->box.start[0], end = first + sweep->box.length[0];
    const double *columns = solver->hump[0] + u->start[0];
    for (size_t y = sweep->box.start[1]; y < sweep->box.start[1] + sweep->box.length[1]; y++) {
        const double of_row = solver->hump[1][y + u->start[1]] * solver->hump[2][z + u->start[2]];
        const size_t sum = first + u->start[0] + y + u->start[1] + z + u->start[2];
        double *restrict here = u->first + (ptrdiff_t)y * row + (ptrdiff_t)z * plane;
        for (size_t x = first + (sum % 2 != sweep->colour); x < end; x += 2) {
            const ptrdiff_t at = (ptrdiff_t)x;
            const double around = (here[at - 1] + here[at + 1]) + (here[at - row] + here[at + row])
                                  + (here[at - plane] + here[at + plane]);
            here[at] = here[at] + OMEGA * ((around + columns[at] * of_row) / 6.0 - here[at]);
        }
    }
    raddle_net_point(solver->net);
}

static void sweep_box(const struct solver *solver, const struct box *box, size_t colour)
{
    struct sweep sweep = {solver, *box, colour};
    if (box->length[0] > 0 && box->length[1] > 0)
        must(raddle_for(box->start[2], box->start[2] + box->length[2], relax, &sweep), "a sweep");
}

/* What is not inner: slabs of the last axis first, then what is left along the others. */
static void sweep_annulus(const struct solver *solver, size_t colour)
{
    const raddle_part_t *u = &solver->u;
    struct box rest = {{0, 0, 0}, {u->length[0], u->length[1], u->length[2]}};
    for (int axis = 2; axis >= 0; axis--) {
        struct box slab = rest;
        const size_t inner = u->inner_start[axis], end = inner + u->inner_length[axis];
        slab.start[axis] = 0, slab.length[axis] = inner;
        sweep_box(solver, &slab, colour);
        slab.start[axis] = end, slab.length[axis] = u->length[axis] - end;
        sweep_box(solver, &slab, colour);
        rest.start[axis] = inner, rest.length[axis] = u->inner_length[axis];
    }
}

static void half(const struct solver *solver, raddle_halo_t *halo, raddle_array_t *array, size_t colour)
{
    const raddle_part_t *u = &solver->u;
    must(raddle_halo_start(halo, array), "an exchange");
    if (solver->model == 0) {
        const struct box all = {{0, 0, 0}, {u->length[0], u->length[1], u->length[2]}};
        must(raddle_halo_wait(halo), "an exchange");
        sweep_box(solver, &all, colour);
        return;
    }
    struct box inner;
    memcpy(inner.start, u->inner_start, sizeof inner.start);
    memcpy(inner.length, u->inner_length, sizeof inner.length);
    sweep_box(solver, &inner, colour);
    must(raddle_halo_wait(halo), "an exchange");
    sweep_annulus(solver, colour);
}

/* A number that depends on the place of a cell and on each bit of it: SplitMix64's mixer (Steele, Lea, Flood 2014). */
static uint64_t mixed(uint64_t place, uint64_t bits)
{
    uint64_t word = bits ^ (place * UINT64_C(0x9e3779b97f4a7c15));
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

struct judgement {
    double residual;
    uint64_t checksum;
};

/* Of all ranks; ghosts must have come. */
static struct judgement judge(const struct solver *solver, size_t size)
{
    const raddle_part_t *u = &solver->u;
    const ptrdiff_t row = (ptrdiff_t)u->stride[1], plane = (ptrdiff_t)u->stride[2];
    struct judgement own = {0.0, 0}, sum = {0.0, 0}, *all = calloc(size, sizeof *all);
    for (size_t z = 0; z < u->length[2]; z++)
        for (size_t y = 0; y < u->length[1]; y++)
            for (size_t x = 0; x < u->length[0]; x++) {
                const double *here = u->first + x + y * u->stride[1] + z * u->stride[2];
                const size_t at[3] = {x + u->start[0], y + u->start[1], z + u->start[2]};
                const double around = (here[-1] + here[1]) + (here[-row] + here[row]) + (here[-plane] + here[plane]);
                const double source = solver->hump[0][at[0]] * (solver->hump[1][at[1]] * solver->hump[2][at[2]]);
                uint64_t bits;
                memcpy(&bits, here, sizeof bits);
                own.residual = fmax(own.residual, fabs(around + source - 6.0 * *here));
                own.checksum += mixed(at[0] + solver->cells[0] * (at[1] + solver->cells[1] * at[2]), bits);
            }
    if (all == NULL)
        exit(1);
    must(raddle_net_all_gather(solver->net, &own, sizeof own, all), "the sum");
    for (size_t rank = 0; rank < size; rank++) {
        sum.residual = fmax(sum.residual, all[rank].residual);
        sum.checksum += all[rank].checksum;
    }
    free(all);
    return sum;
}

static void tell(const struct solver *solver, int64_t taken, const raddle_halo_report_t *report, struct judgement what)
{
    const double each = 1e6 * (double)(solver->iterations > 0 ? solver->iterations : 1);
    char *library, *mode;
    uint64_t bits;
    must(raddle_net_library(solver->net, &library), "the library");
    must(raddle_net_report(solver->net, &mode), "the mode");
    memcpy(&bits, &what.residual, sizeof bits);
    printf("%zux%zux%zu cells, %s, %s\n", solver->cells[0], solver->cells[1], solver->cells[2], library,
           models[solver->model]);
    printf("an iteration takes %.2f ms (mean), of which waiting %.2f, copying %.2f; messages of %llu bytes\n",
           (double)taken / each, (double)report->waited_ns / each, (double)report->copying_ns / each,
           (unsigned long long)report->bytes);
    printf("mode %s\nresidual %016llx, checksum %016llx\n", mode, (unsigned long long)bits,
           (unsigned long long)what.checksum);
    free(library);
    free(mode);
}

static void *solve(void *arg)
{
    struct solver *solver = arg;
    raddle_array_t *array;
    raddle_halo_t *halo;
    raddle_halo_report_t report;
    size_t rank, size;
    must(raddle_net_start(120 * RADDLE_SECOND, RADDLE_LATE_ERROR, 0.0, &solver->net), "the net");
    must(raddle_net_place(solver->net, &rank, &size), "the rank");
    must(raddle_net_mode(solver->net, modes[solver->model], -1), "the mode");
    for (int axis = 0; axis < 3; axis++) {
        const size_t n = solver->cells[axis];
        solver->hump[axis] = malloc(n * sizeof(double));
        if (solver->hump[axis] == NULL)
            exit(1);
        for (size_t at = 0; at < n; at++)
            solver->hump[axis][at] = (double)((at + 1) * (n - at)) / (double)(n * n);
    }
    must(raddle_array_create(solver->net, "u", solver->cells, solver->has_ranks ? solver->ranks : NULL, &array),
         "the array");
    must(raddle_array_part(array, &solver->u), "the array");
    must(raddle_halo_create(solver->net, array, 1, &halo), "the plan");
    must(raddle_net_barrier(solver->net), "the beginning");
    const int64_t began = raddle_now();
    for (size_t iteration = 0; iteration < solver->iterations; iteration++)
        for (size_t colour = 0; colour < 2; colour++)
            half(solver, halo, array, colour);
    const int64_t taken = raddle_now() - began;
    must(raddle_halo_report(halo, &report), "the report");
    must(raddle_halo_start(halo, array), "the last exchange");
    must(raddle_halo_wait(halo), "the last exchange");
    const struct judgement what = judge(solver, size);
    if (rank == 0)
        tell(solver, taken, &report, what);
    must(raddle_halo_destroy(halo), "the plan");
    must(raddle_array_destroy(array), "the array");
    must(raddle_net_end(solver->net), "the end");
    return NULL;
}

int main(int count, char **words)
{
    struct solver solver = {.model = -1};
    for (int at = 0; count > 1 && at < (int)(sizeof models / sizeof *models); at++)
        if (strcmp(words[1], models[at]) == 0)
            solver.model = at;
    const int is_well = (count == 4 || count == 5) && solver.model >= 0
                        && sscanf(words[2], "%zux%zux%zu", &solver.cells[0], &solver.cells[1], &solver.cells[2]) == 3
                        && sscanf(words[3], "%zu", &solver.iterations) == 1;
    solver.has_ranks = count == 5;
    if (!is_well
        || (count == 5
            && sscanf(words[4], "%zux%zux%zu", &solver.ranks[0], &solver.ranks[1], &solver.ranks[2]) != 3)) {
        fprintf(stderr, "usage: redblack3d-c sync|async|shared|watched|dedicated|auto NXxNYxNZ ITERATIONS [RANKS]\n");
        return 2;
    }
    /* A worker that takes a plane may look after MPI at its end: on a stack that has room for it. */
    raddle_options_t *options;
    must(raddle_options_create(&options), "the settings");
    must(raddle_options_set(options, "RADDLE_STACK_SIZE", "256K"), "the settings");
    must(raddle_init(options), "the runtime");
    must(raddle_options_destroy(options), "the settings");
    must(raddle_run(solve, &solver, NULL), "the program");
    for (int axis = 0; axis < 3; axis++)
        free(solver.hump[axis]);
    return 0;
}
