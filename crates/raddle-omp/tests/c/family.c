// Tasks whose last child is over for a thread that counts no more: one that is no member fulfils an event, and untied
// tasks go on in other members.
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 300, TASKS = 16, CHILDREN = 10 };

static omp_event_handle_t event;
static int is_made, has_waited;
static long total;

static void *fulfil(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&is_made, __ATOMIC_ACQUIRE)) usleep(100);
    usleep(2000);
    omp_fulfill_event(event);
    // It is here until the end, and settles nothing.
    while (!__atomic_load_n(&has_waited, __ATOMIC_ACQUIRE)) usleep(100);
    return NULL;
}

static void events(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fulfil, NULL) == 0);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        omp_event_handle_t own;
#pragma omp task detach(own)
        usleep(10);
        event = own;
        __atomic_store_n(&is_made, 1, __ATOMIC_RELEASE);
#pragma omp taskwait
        __atomic_store_n(&has_waited, 1, __ATOMIC_RELEASE);
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

static void leaf(void) {
    __atomic_add_fetch(&total, 1, __ATOMIC_RELAXED);
}

static void untied(void) {
    long wanted = 0;
#pragma omp parallel num_threads(8)
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        for (int at = 0; at < TASKS; at++) {
#pragma omp task untied
            {
                for (int child = 0; child < CHILDREN; child++) {
#pragma omp task
                    leaf();
#pragma omp taskyield
                }
#pragma omp taskwait
                leaf();
            }
        }
        wanted += TASKS * (CHILDREN + 1);
#pragma omp taskwait
        CHECK(__atomic_load_n(&total, __ATOMIC_RELAXED) == wanted);
    }
}

int main(void) {
    events();
    untied();
    puts("well");
    return 0;
}
