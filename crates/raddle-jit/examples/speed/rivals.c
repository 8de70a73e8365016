// The work of the occam programs beside it, for a comparison. With CHECKED it makes the checks that occam makes:
// overflow, subscripts, division by zero, reals that are none. `rivals NAME` prints the seconds of the shortest of three runs.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef CHECKED
static __attribute__((noinline, noreturn, cold)) void fail(void) { abort(); }
static inline int add(int a, int b) { int r; if (__builtin_add_overflow(a, b, &r)) fail(); return r; }
static inline int sub(int a, int b) { int r; if (__builtin_sub_overflow(a, b, &r)) fail(); return r; }
static inline int mul(int a, int b) { int r; if (__builtin_mul_overflow(a, b, &r)) fail(); return r; }
static inline int quo(int a, int b) { if (b == 0 || b == -1) fail(); return a / b; }
static inline int rem_(int a, int b) { if (b == 0 || b == -1) fail(); return a % b; }
static inline int in(int i, int n) { if ((unsigned)i >= (unsigned)n) fail(); return i; }
static inline uint8_t byte(int v) { if ((unsigned)v > 255) fail(); return (uint8_t)v; }
static inline double fin(double v) { if (!__builtin_isfinite(v)) fail(); return v; }
#else
#define add(a, b) ((a) + (b))
#define sub(a, b) ((a) - (b))
#define mul(a, b) ((a) * (b))
#define quo(a, b) ((a) / (b))
#define rem_(a, b) ((a) % (b))
#define in(i, n) (i)
#define byte(v) ((uint8_t)(v))
#define fin(v) (v)
#endif

volatile double sink;
// Sizes that the compiler does not know, where occam's machine does not either, are none: all are constants in both.
#define HIDE(p) __asm__ volatile("" : : "r"(p) : "memory")

static void update(void) {
    int n = 10000, *a = malloc(n * sizeof *a);
    for (int i = 0; i < n; i++) a[in(i, n)] = i;
    for (int k = 0; k < 10000; k++) {
        for (int i = 0; i < n; i++) a[in(i, n)] = add(a[in(i, n)], 1);
        HIDE(a);
    }
    free(a);
}

static void sieve(void) {
    int n = 1000000;
    uint8_t *composite = malloc(n);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < n; i++) composite[in(i, n)] = 0;
        HIDE(composite);
        for (int i = 2; i < 1000; i++)
            if (composite[in(i, n)] == 0)
                for (int j = mul(i, i); j < n; j = add(j, i)) composite[in(j, n)] = 1;
        HIDE(composite);
    }
    free(composite);
}

enum { M = 300 };
static double ma[M][M], mb[M][M], mc[M][M];
static void matrix(void) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            ma[in(i, M)][in(j, M)] = add(i, j);
            mb[in(i, M)][in(j, M)] = sub(i, j);
        }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            double sum = 0;
            for (int k = 0; k < M; k++) sum = fin(sum + fin(ma[in(i, M)][in(k, M)] * mb[in(k, M)][in(j, M)]));
            mc[in(i, M)][in(j, M)] = sum;
        }
    HIDE(mc);
}

static void mandelbrot(void) {
    int n = 400, inside = 0;
    for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column++) {
            double cx = fin(fin(column * 0.0075) - 2.0), cy = fin(fin(row * 0.005) - 1.0), x = 0, y = 0, xx = 0, yy = 0;
            int steps = 0;
            while (steps < 100 && fin(xx + yy) < 4.0) {
                y = fin(fin(fin(2.0 * x) * y) + cy);
                x = fin(fin(xx - yy) + cx);
                xx = fin(x * x);
                yy = fin(y * y);
                steps = add(steps, 1);
            }
            inside = add(inside, steps);
        }
    sink = inside;
}

static void nbody(void) {
    double x[5], y[5], z[5], vx[5], vy[5], vz[5], m[5], dt = 0.01;
    for (int i = 0; i < 5; i++) {
        x[in(i, 5)] = mul(i, 3); y[in(i, 5)] = mul(i, i); z[in(i, 5)] = sub(7, i);
        vx[in(i, 5)] = vy[in(i, 5)] = vz[in(i, 5)] = 0;
        m[in(i, 5)] = add(i, 1);
    }
    HIDE(x); HIDE(y); HIDE(z);
    for (int step = 0; step < 500000; step++) {
        for (int i = 0; i < 4; i++) {
            int first = add(i, 1), behind = add(first, sub(4, i));
            for (int j = first; j < behind; j++) {
                double dx = fin(x[in(i, 5)] - x[in(j, 5)]), dy = fin(y[in(i, 5)] - y[in(j, 5)]);
                double dz = fin(z[in(i, 5)] - z[in(j, 5)]);
                double square = fin(fin(fin(dx * dx) + fin(dy * dy)) + fin(dz * dz));
                double share = fin(dt / fin(square * fin(sqrt(square))));
                vx[in(i, 5)] = fin(vx[in(i, 5)] - fin(dx * fin(m[in(j, 5)] * share)));
                vy[in(i, 5)] = fin(vy[in(i, 5)] - fin(dy * fin(m[in(j, 5)] * share)));
                vz[in(i, 5)] = fin(vz[in(i, 5)] - fin(dz * fin(m[in(j, 5)] * share)));
                vx[in(j, 5)] = fin(vx[in(j, 5)] + fin(dx * fin(m[in(i, 5)] * share)));
                vy[in(j, 5)] = fin(vy[in(j, 5)] + fin(dy * fin(m[in(i, 5)] * share)));
                vz[in(j, 5)] = fin(vz[in(j, 5)] + fin(dz * fin(m[in(i, 5)] * share)));
            }
        }
        for (int i = 0; i < 5; i++) {
            x[in(i, 5)] = fin(x[in(i, 5)] + fin(dt * vx[in(i, 5)]));
            y[in(i, 5)] = fin(y[in(i, 5)] + fin(dt * vy[in(i, 5)]));
            z[in(i, 5)] = fin(z[in(i, 5)] + fin(dt * vz[in(i, 5)]));
        }
    }
    sink = x[0];
}

static __attribute__((noinline)) void multiply(const double *u, int n, double *v, int nv) {
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) {
            int d = add(add(quo(mul(add(i, j), add(add(i, j), 1)), 2), i), 1);
            sum = fin(sum + fin(u[in(j, n)] / d));
        }
        v[in(i, nv)] = sum;
    }
}

static void spectral(void) {
    static double u[500], v[500];
    for (int i = 0; i < 500; i++) u[i] = 1;
    for (int round = 0; round < 40; round++) {
        multiply(u, 500, v, 500);
        multiply(v, 500, u, 500);
    }
    sink = u[0];
}

static void fannkuch(void) {
    enum { N = 9 };
    int perm[N], perm1[N], count[N], flips_max = 0, checksum = 0, perm_count = 0, r = N, goes = 1;
    for (int i = 0; i < N; i++) perm1[in(i, N)] = i;
    while (goes) {
        while (r != 1) { count[in(sub(r, 1), N)] = r; r = sub(r, 1); }
        for (int i = 0; i < N; i++) perm[in(i, N)] = perm1[in(i, N)];
        int flips = 0, k = perm[0];
        while (k != 0) {
            int i = 0, j = k;
            while (i < j) {
                int temp = perm[in(i, N)];
                perm[in(i, N)] = perm[in(j, N)];
                perm[in(j, N)] = temp;
                i = add(i, 1); j = sub(j, 1);
            }
            flips = add(flips, 1);
            k = perm[0];
        }
        if (flips > flips_max) flips_max = flips;
        checksum = (perm_count & 1) == 0 ? add(checksum, flips) : sub(checksum, flips);
        for (int rotates = 1; rotates;) {
            if (r == N) { rotates = goes = 0; break; }
            int first = perm1[0];
            for (int i = 0; i < r; i++) perm1[in(i, N)] = perm1[in(add(i, 1), N)];
            perm1[in(r, N)] = first;
            count[in(r, N)] = sub(count[in(r, N)], 1);
            if (count[in(r, N)] > 0) rotates = 0; else r = add(r, 1);
        }
        perm_count = add(perm_count, 1);
    }
    sink = checksum + flips_max;
}

enum { L = 128 };
static int now[L][L], next[L][L];
static __attribute__((noinline)) void step(int from[L][L], int to[L][L]) {
    for (int i = 0; i < L; i++) {
        int up = rem_(add(i, L - 1), L), down = rem_(add(i, 1), L);
        for (int j = 0; j < L; j++) {
            int left = rem_(add(j, L - 1), L), right = rem_(add(j, 1), L);
            #define F(a, b) from[in(a, L)][in(b, L)]
            int sum = add(add(add(F(up, left), F(up, j)), add(F(up, right), F(i, left))),
                          add(add(F(i, right), F(down, left)), add(F(down, j), F(down, right))));
            to[in(i, L)][in(j, L)] = sum == 3 || (sum == 2 && F(i, j) == 1);
        }
    }
}

static void life(void) {
    for (int i = 0; i < L; i++)
        for (int j = 0; j < L; j++) now[i][j] = rem_(add(mul(i, 7), mul(j, 5)), 11) < 4;
    for (int round = 0; round < 100; round++) { step(now, next); step(next, now); }
}

int main(int count, char **names) {
    struct { const char *name; void (*run)(void); } all[] = {
        {"update", update}, {"sieve", sieve}, {"matrix", matrix}, {"mandelbrot", mandelbrot},
        {"nbody", nbody}, {"spectral", spectral}, {"fannkuch", fannkuch}, {"life", life},
    };
    for (int at = 0; at < 8; at++) {
        if (count > 1 && strcmp(names[1], all[at].name) != 0) continue;
        double least = 1e9;
        for (int round = 0; round < 3; round++) {
            struct timespec from, to;
            clock_gettime(CLOCK_MONOTONIC, &from);
            all[at].run();
            clock_gettime(CLOCK_MONOTONIC, &to);
            double took = (to.tv_sec - from.tv_sec) + 1e-9 * (to.tv_nsec - from.tv_nsec);
            if (took < least) least = took;
        }
        printf("%s %.6f\n", all[at].name, least);
    }
    return 0;
}
