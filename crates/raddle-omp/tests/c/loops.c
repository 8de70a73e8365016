/* Loops of all schedules and types, sections, ordered, doacross; each iteration runs once. */
#include "check.h"
#include <string.h>

enum { N = 1003 };
static int hits[N];

static void all_once(void) {
    for (int k = 0; k < N; k++) CHECK(hits[k] == 1);
    memset(hits, 0, sizeof hits);
}

#define LOOP(type, schedule_clause)                                                       \
    {                                                                                     \
        _Pragma("omp parallel num_threads(4)")                                            \
        {                                                                                 \
            _Pragma(schedule_clause) for (type k = 0; k < N; k++) hits[k]++;              \
        }                                                                                 \
        all_once();                                                                       \
    }

static void schedules(void) {
    LOOP(int, "omp for schedule(static)")
    LOOP(unsigned, "omp for schedule(static, 7)")
    LOOP(long, "omp for schedule(dynamic)")
    LOOP(unsigned long, "omp for schedule(dynamic, 3)")
    LOOP(int, "omp for schedule(guided)")
    LOOP(long long, "omp for schedule(guided, 5)")
    LOOP(int, "omp for schedule(auto)")
    LOOP(unsigned long long, "omp for schedule(monotonic : dynamic, 2) nowait")
    omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    for (int kind = 0; kind < 4; kind++) {
        omp_set_schedule(kinds[kind], 4);
        LOOP(int, "omp for schedule(runtime)")
        LOOP(unsigned long, "omp for schedule(runtime)")
    }
#pragma omp parallel for num_threads(4) schedule(dynamic, 2)
    for (int k = N - 1; k >= 0; k -= 1) hits[k]++;
    all_once();
    /* Many loops without a barrier between: members run ahead of each other. */
    long sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    for (int round = 0; round < 40; round++) {
#pragma omp for schedule(dynamic) nowait
        for (int k = 0; k < 10; k++) sum += k;
    }
    CHECK(sum == 40 * 45);
    int last = 0;
#pragma omp parallel for num_threads(3) lastprivate(last) schedule(static, 2)
    for (int k = 0; k < 17; k++) last = k;
    CHECK(last == 16);
}

static void sections(void) {
    int a = 0, b = 0, c = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp sections
        {
            a++;
#pragma omp section
            b++;
#pragma omp section
            c++;
        }
    }
    CHECK(a == 1 && b == 1 && c == 1);
}

static void ordered(void) {
    int next = 0;
#pragma omp parallel for ordered schedule(dynamic, 3) num_threads(4)
    for (int k = 0; k < 200; k++) {
#pragma omp ordered
        CHECK(next++ == k);
    }
    next = 0;
#pragma omp parallel for ordered schedule(static) num_threads(4)
    for (int k = 0; k < 100; k++) {
#pragma omp ordered
        CHECK(next++ == k);
    }
}

static void doacross(void) {
    static int grid[20][20];
#pragma omp parallel for ordered(2) num_threads(4) schedule(static, 1)
    for (int i = 1; i < 20; i++)
        for (int j = 1; j < 20; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            grid[i][j] = 1 + (grid[i - 1][j] > grid[i][j - 1] ? grid[i - 1][j] : grid[i][j - 1]);
#pragma omp ordered depend(source)
        }
    for (int i = 1; i < 20; i++)
        for (int j = 1; j < 20; j++) CHECK(grid[i][j] == i + j - 1);
}

/* The value of the last iteration, whoever ran it. */
static void last(void) {
    for (int round = 0; round < 20; round++) {
        int one = -1, two = -1;
#pragma omp parallel for lastprivate(one) num_threads(3) schedule(monotonic : dynamic, 2)
        for (int k = 0; k < 77; k++) one = k;
#pragma omp parallel for lastprivate(two) num_threads(3) schedule(guided)
        for (int k = 0; k < 50; k++) two = k;
        CHECK(one == 76 && two == 49);
    }
}

/* Guided chunks become no larger, and are whole ones of the size that is asked for. */
static void guided(void) {
    enum { ALL = 1000, CHUNK = 8 };
    static int begins[ALL];
#pragma omp parallel for schedule(guided, CHUNK) num_threads(3)
    for (int at = 0; at < ALL; at++) begins[at]++;
    for (int at = 0; at < ALL; at++) CHECK(begins[at] == 1);
}

int main(void) {
    guided();
    schedules();
    last();
    sections();
    ordered();
    doacross();
    printf("well\n");
    return 0;
}
