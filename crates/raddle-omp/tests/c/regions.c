/* Regions: how many members, who they are, nesting, what is a thread's own. */
#include "check.h"
#include <errno.h>
#include <pthread.h>

static int own;
#pragma omp threadprivate(own)
static __thread int local;
static long wrong;

static void sizes(void) {
    for (int n = 1; n <= 9; n++) {
        int seen[16] = {0}, size = 0;
#pragma omp parallel num_threads(n)
        {
#pragma omp atomic
            seen[omp_get_thread_num()]++;
#pragma omp master
            size = omp_get_num_threads();
        }
        CHECK(size == n);
        for (int k = 0; k < n; k++) CHECK(seen[k] == 1);
    }
    CHECK(omp_get_num_threads() == 1 && omp_get_thread_num() == 0 && !omp_in_parallel());
}

static void nesting(void) {
    omp_set_max_active_levels(3);
    int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(4) reduction(+ : sum)
        {
            CHECK(omp_get_level() == 2 && omp_get_active_level() == 2);
            CHECK(omp_get_ancestor_thread_num(1) == outer && omp_get_team_size(1) == 3);
#pragma omp parallel num_threads(2) reduction(+ : sum)
            sum += 1;
        }
        CHECK(omp_get_thread_num() == outer && omp_get_num_threads() == 3);
    }
    CHECK(sum == 24);
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(3)
    {
#pragma omp parallel num_threads(4)
        CHECK(omp_get_num_threads() == 1 && omp_get_level() == 2);
    }
}

/* What is a thread's own stays as it is over waits, and from region to region. */
static void storage(int rounds) {
#pragma omp parallel num_threads(4)
    {
        own = 100 + omp_get_thread_num();
        local = 200 + omp_get_thread_num();
        errno = 300 + omp_get_thread_num();
    }
    for (int round = 0; round < rounds; round++) {
#pragma omp parallel num_threads(4) reduction(+ : wrong)
        {
            int me = omp_get_thread_num();
            for (int k = 0; k < 10; k++) {
                wrong += own != 100 + me;
                wrong += local != 200 + me;
                wrong += errno != 300 + me;
#pragma omp barrier
            }
        }
    }
    CHECK(wrong == 0);
}

static void copies(void) {
    int value = 0;
    own = 7;
#pragma omp parallel num_threads(4) copyin(own) private(value)
    {
        CHECK(own == 7);
#pragma omp single copyprivate(value)
        value = 42;
        CHECK(value == 42);
    }
}

static void *root(void *argument) {
    int sum = 0;
    for (int k = 0; k < 50; k++) {
#pragma omp parallel num_threads(3) reduction(+ : sum)
        sum += 1;
    }
    CHECK(sum == 150);
    return argument;
}

int main(int count, char **words) {
    sizes();
    nesting();
    storage(count > 1 ? atoi(words[1]) : 100);
    copies();
    /* Threads of the program's own have regions, too, at the same time. */
    pthread_t threads[4];
    for (int k = 0; k < 4; k++) CHECK(pthread_create(&threads[k], NULL, root, NULL) == 0);
    for (int k = 0; k < 4; k++) CHECK(pthread_join(threads[k], NULL) == 0);
    printf("well\n");
    return 0;
}
