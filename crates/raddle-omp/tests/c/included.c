/* Tasks that run at once, within their parents: their children outlive them, wait for nothing, and are waited for. */
#include "check.h"
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 200, DEPTH = 40, LONG = 3000 };

static long total;

static void add(void) {
    __atomic_add_fetch(&total, 1, __ATOMIC_RELAXED);
}

/* Each of them is over before its child, which keeps all of them. */
static void chain(int depth) {
#pragma omp task if (0) firstprivate(depth)
    {
        if (depth > 0) chain(depth - 1);
#pragma omp task
        add();
    }
}

static void outlived(void) {
    long wanted = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp taskgroup
        chain(DEPTH);
        wanted += DEPTH + 1;
        CHECK(__atomic_load_n(&total, __ATOMIC_RELAXED) == wanted);
    }
    /* The end of the region waits for what the last of them have left. */
#pragma omp parallel num_threads(4)
    chain(DEPTH);
    CHECK(total == wanted + 4 * (DEPTH + 1));
}

/* A `taskwait` in an included task waits for that one's children, and none in its parent for them. */
static int sum(int n) {
    int a = 0, b = 0;
    if (n < 2) return n;
#pragma omp task shared(a) if (n % 3 == 0)
    a = sum(n - 1);
#pragma omp task shared(b) if (n % 2 == 0)
    b = sum(n - 2);
#pragma omp taskwait
    return a + b;
}

static void mixed(void) {
    int result = 0, final_result = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        result = sum(18);
#pragma omp task final(1) shared(final_result)
        {
            CHECK(omp_in_final());
            final_result = sum(12);
        }
#pragma omp taskwait
    }
    CHECK(result == 2584 && final_result == 144);
}

/* An untied one may give itself back in its middle, and again and again; what stands behind it comes after its end. */
static void untied(void) {
    long before = total;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        int turns = 0;
#pragma omp task untied if (0) shared(turns)
        {
#pragma omp task
            add();
            for (int turn = 0; turn < 1000; turn++) {
#pragma omp taskyield
                turns++;
            }
#pragma omp taskwait
            turns++;
        }
        CHECK(turns == 1001);
        CHECK(__atomic_load_n(&total, __ATOMIC_RELAXED) == before + round + 1);
    }
}

/* The same of a final one's child with a dependence, which waits for others first, and of one with an event. */
static void awaited(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task final(1)
        {
            int x = 0, turns = 0;
#pragma omp task untied depend(inout : x) shared(turns)
            {
#pragma omp taskyield
                turns = 1;
            }
            CHECK(turns == 1);
        }
        int turns = 0;
        omp_event_handle_t event;
#ifdef __clang__
        /* gcc's waits for the event, too. */
#pragma omp task untied if (0) detach(event) shared(turns)
        {
#pragma omp taskyield
            turns = 1;
        }
        CHECK(turns == 1);
        omp_fulfill_event(event);
#endif
    }
    /* Outside of all regions, and among very many. */
    omp_event_handle_t event;
#ifdef __clang__
#pragma omp task detach(event)
    {}
    omp_fulfill_event(event);
#endif
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int round = 0; round < 2000; round++) {
#pragma omp task
            add();
        }
        /* gcc makes no task, and no event, of an empty body. */
#pragma omp task detach(event)
        add();
        omp_fulfill_event(event);
    }
}

/* Who waits far up in a deep tree is woken for what comes far below, and runs it. */
static void deep(int depth) {
#pragma omp task firstprivate(depth) if (depth % 8 != 0)
    {
        add();
        if (depth < LONG) deep(depth + 1);
    }
#pragma omp task
    add();
#pragma omp taskwait
}

static void waits(void) {
    long before = total;
#pragma omp parallel num_threads(8)
#pragma omp single
    deep(1);
    CHECK(total == before + 2 * LONG);
}

int main(void) {
    outlived();
    mixed();
    untied();
    awaited();
    waits();
    puts("well");
    return 0;
}
