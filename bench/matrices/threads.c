/* The same two computations as product.occ and lu.occ, by the same blocks and the same BLAS, on POSIX threads.
 *
 *   cc -O2 -pthread -o threads threads.c libblas.so.3     ./threads THREADS
 *   cc -O2 -shared -fPIC -DFOR_OCCAM -o liblu.so threads.c
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { blocks = 8, size = 96, n = blocks * size, area = size * size, rounds = 5 };

/* One block as a lower triangular one, with ones on its diagonal, and an upper one. */
static void factor (int m, double *a)
{
    for (int k = 0; k < m; k++)
        for (int i = k + 1; i < m; i++) {
            a[i * m + k] /= a[k * m + k];
            for (int j = k + 1; j < m; j++)
                a[i * m + j] -= a[i * m + k] * a[k * m + j];
        }
}

#ifdef FOR_OCCAM
void _lu_block (intptr_t *w)
{
    factor ((int) w[0], (double *) w[1]);
}
#else
#include <pthread.h>

void dgemm_ (const char *, const char *, const int *, const int *, const int *, const double *, const double *,
             const int *, const double *, const int *, const double *, double *, const int *);
void dtrsm_ (const char *, const char *, const char *, const char *, const int *, const int *, const double *,
             const double *, const int *, double *, const int *);

static const int m = size;
static const double one = 1.0, minus_one = -1.0;
static int threads = 1;

/* c := c + alpha * a * b, row by row. */
static void multiply (double alpha, const double *a, const double *b, double *c)
{
    dgemm_ ("N", "N", &m, &m, &m, &alpha, b, &m, a, &m, &one, c, &m);
}

static double *block (double *matrix, int row, int column)
{
    return matrix + (size_t) (column * blocks + row) * area;
}

static double first (int i, int j) { return (i * 7 + j * 3) % 11; }
static double second (int i, int j) { return (i * 5 + j * 13) % 17; }
static double element (int i, int j)
{
    return (i * 7 + j * 3) % 11 - 5 + (i == j ? 8.0 * n : 0.0);
}

static double *made (double (*of) (int, int))
{
    double *matrix = malloc ((size_t) n * n * sizeof (double));
    for (int r = 0; r < blocks; r++)
        for (int c = 0; c < blocks; c++)
            for (int i = 0; i < size; i++)
                for (int j = 0; j < size; j++)
                    block (matrix, r, c)[i * size + j] = of (r * size + i, c * size + j);
    return matrix;
}

static double *left, *right, *result;
static double sums[blocks];

/* Each thread has columns of blocks, dealt in turn. */
static void *product (void *which)
{
    for (int c = (int) (intptr_t) which; c < blocks; c += threads) {
        sums[c] = 0.0;
        for (int r = 0; r < blocks; r++) {
            double *to = block (result, r, c);
            for (int i = 0; i < area; i++)
                to[i] = 0.0;
            for (int k = 0; k < blocks; k++)
                multiply (1.0, block (left, r, k), block (right, k, c), to);
            for (int i = 0; i < size; i++)
                sums[c] += to[i * size + i];
        }
    }
    return NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static int columns_done;

static void *lu (void *which)
{
    for (int c = (int) (intptr_t) which; c < blocks; c += threads) {
        for (int k = 0; k < c; k++) {
            pthread_mutex_lock (&lock);
            while (columns_done <= k)
                pthread_cond_wait (&finished, &lock);
            pthread_mutex_unlock (&lock);
            double *top = block (result, k, c);
            dtrsm_ ("R", "U", "N", "U", &m, &m, &one, block (result, k, k), &m, top, &m);
            for (int r = k + 1; r < blocks; r++)
                multiply (minus_one, block (result, r, k), top, block (result, r, c));
        }
        factor (size, block (result, c, c));
        for (int r = c + 1; r < blocks; r++)
            dtrsm_ ("L", "L", "N", "N", &m, &m, &one, block (result, c, c), &m, block (result, r, c), &m);
        sums[c] = 0.0;
        for (int i = 0; i < size; i++)
            sums[c] += block (result, c, c)[i * size + i];
        pthread_mutex_lock (&lock);
        while (columns_done != c)
            pthread_cond_wait (&finished, &lock);
        columns_done++;
        pthread_cond_broadcast (&finished);
        pthread_mutex_unlock (&lock);
    }
    return NULL;
}

static void timed (const char *name, void *(*work) (void *))
{
    struct timespec begun, ended;
    pthread_t all[blocks];
    clock_gettime (CLOCK_MONOTONIC, &begun);
    for (intptr_t i = 0; i < threads; i++)
        pthread_create (&all[i], NULL, work, (void *) i);
    for (int i = 0; i < threads; i++)
        pthread_join (all[i], NULL);
    clock_gettime (CLOCK_MONOTONIC, &ended);
    double sum = 0.0;
    for (int c = 0; c < blocks; c++)
        sum += sums[c];
    printf ("%s of %d: %.0f us, sum %.3f\n", name, n,
            (ended.tv_sec - begun.tv_sec) * 1e6 + (ended.tv_nsec - begun.tv_nsec) / 1e3, sum);
}

int main (int count, char **arguments)
{
    threads = count > 1 ? atoi (arguments[1]) : 1;
    threads = threads < 1 ? 1 : threads > blocks ? blocks : threads;
    left = made (first);
    right = made (second);
    result = malloc ((size_t) n * n * sizeof (double));
    for (int round = 0; round < rounds; round++)
        timed ("product", product);
    for (int round = 0; round < rounds; round++) {
        free (result);
        result = made (element);
        columns_done = 0;
        timed ("LU", lu);
    }
    return 0;
}
#endif
