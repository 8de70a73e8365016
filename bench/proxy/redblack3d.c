/* The rival of apps/redblack3d: the same solver in C, its cells split along the last axis, by stock MPI alone.
 *
 *   mpirun -np P redblack3d-c MODEL NX NY NZ ITERATIONS
 *
 * MODEL is sync (exchange, then compute), async (post, compute inner cells, wait) or polled (as async, and MPI_Testall
 * after each plane: what a programmer does by hand). Prints the median time of an iteration in milliseconds, the least
 * and the most of them, the time waited for, and a checksum of the same cells as the Rust program's. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OMEGA 1.5

static int nx, ny, nz, first, planes;
static size_t row, plane;
static double *u, *hump[3];
static int rank, ranks, before, after, polls;
static MPI_Request requests[4];

static void tables(int axis, int n) {
    hump[axis] = malloc(sizeof(double) * (size_t)n);
    for (int at = 0; at < n; at++)
        hump[axis][at] = (double)((size_t)(at + 1) * (size_t)(n - at)) / (double)((size_t)n * (size_t)n);
}

/* One plane, counted from the ghosts, of one colour. */
static void relax(int z, int colour) {
    for (int y = 1; y <= ny; y++) {
        const double of_row = hump[1][y - 1] * hump[2][z - 1 + first];
        const int skip = (1 + y + z + first - 3) % 2 != colour;
        double *restrict here = u + (size_t)y * row + (size_t)z * plane;
        const double *columns = hump[0];
        for (int x = 1 + skip; x <= nx; x += 2) {
            const double around = (here[x - 1] + here[x + 1]) + (here[x - (ptrdiff_t)row] + here[x + row])
                                  + (here[x - (ptrdiff_t)plane] + here[x + plane]);
            here[x] = here[x] + OMEGA * ((around + columns[x - 1] * of_row) / 6.0 - here[x]);
        }
    }
    if (polls) {
        int all;
        MPI_Testall(4, requests, &all, MPI_STATUSES_IGNORE);
    }
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t mixed(uint64_t place, uint64_t bits) {
    uint64_t word = bits ^ (place * UINT64_C(0x9e3779b97f4a7c15));
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

int main(int count, char **words) {
    MPI_Init(&count, &words);
    if (count != 6) {
        fprintf(stderr, "usage: MODEL NX NY NZ ITERATIONS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const char *model = words[1];
    const int sync = strcmp(model, "sync") == 0, polled = strcmp(model, "polled") == 0, times = atoi(words[5]);
    nx = atoi(words[2]), ny = atoi(words[3]), nz = atoi(words[4]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    first = rank * (nz / ranks) + (rank < nz % ranks ? rank : nz % ranks);
    planes = nz / ranks + (rank < nz % ranks);
    before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    after = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    row = (size_t)nx + 2, plane = row * ((size_t)ny + 2);
    u = calloc(plane * ((size_t)planes + 2), sizeof *u);
    tables(0, nx), tables(1, ny), tables(2, nz);
    double *spans = malloc(sizeof(double) * (size_t)times), waited = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < times; at++) {
        const double began = MPI_Wtime();
        for (int colour = 0; colour < 2; colour++) {
            MPI_Irecv(u, (int)plane, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(u + plane * ((size_t)planes + 1), (int)plane, MPI_DOUBLE, after, 1, MPI_COMM_WORLD, &requests[1]);
            MPI_Isend(u + plane, (int)plane, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[2]);
            MPI_Isend(u + plane * (size_t)planes, (int)plane, MPI_DOUBLE, after, 0, MPI_COMM_WORLD, &requests[3]);
            const int from = 1 + (before != MPI_PROC_NULL), to = planes - (after != MPI_PROC_NULL);
            double since = MPI_Wtime();
            if (sync) MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), waited += MPI_Wtime() - since;
            polls = polled;
            for (int z = from; z <= to; z++) relax(z, colour);
            polls = 0;
            since = MPI_Wtime();
            if (!sync) MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), waited += MPI_Wtime() - since;
            if (from == 2) relax(1, colour);
            if (to == planes - 1) relax(planes, colour);
        }
        spans[at] = MPI_Wtime() - began;
    }
    uint64_t sum = 0, all = 0;
    for (int z = 1; z <= planes; z++)
        for (int y = 1; y <= ny; y++)
            for (int x = 1; x <= nx; x++) {
                uint64_t bits;
                memcpy(&bits, u + (size_t)x + (size_t)y * row + (size_t)z * plane, sizeof bits);
                const uint64_t line = (uint64_t)(y - 1) + (uint64_t)ny * (uint64_t)(z - 1 + first);
                sum += mixed((uint64_t)(x - 1) + (uint64_t)nx * line, bits);
            }
    MPI_Reduce(&sum, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    qsort(spans, (size_t)times, sizeof *spans, ascending);
    if (rank == 0)
        printf("%s: %.2f ms an iteration (median; %.2f to %.2f), waiting %.2f, checksum %016llx\n", model,
               1e3 * spans[times / 2], 1e3 * spans[0], 1e3 * spans[times - 1], 1e3 * waited / times,
               (unsigned long long)all);
    MPI_Finalize();
    return 0;
}
