// Loops that never wait: they keep nobody from running who waits for their worker, if they yield when a tick is over.
#define _GNU_SOURCE
#include "door.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int failed;
enum { TICK = 10000000 };

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static atomic_int flag;

static void *sets(void *unused) {
    atomic_store(&flag, 1);
    return unused;
}

static void *sleeps_and_sets(void *unused) {
    usleep(1000);
    return sets(unused);
}

// On one worker the others could not run else.
static void spins_until(void *(*other)(void *)) {
    pthread_t thread;
    atomic_store(&flag, 0);
    pthread_create(&thread, NULL, other, NULL);
    while (!atomic_load(&flag)) door_yield_if_due();
    pthread_join(thread, NULL);
}

// Several that compute get their turns; none yields before a tick is over.
static void *computes(void *unused) {
    int64_t began = now(), until = began + 10 * TICK;
    int64_t ways = 0;
    while (now() < until) ways += door_yield_if_due();
    CHECK(ways <= (now() - began) / TICK + 1);
    return ways ? &flag : unused;
}

static void shares(void) {
    pthread_t all[6];
    int gave = 0;
    for (int i = 0; i < 6; i++) pthread_create(&all[i], NULL, computes, NULL);
    for (int i = 0; i < 6; i++) {
        void *way;
        pthread_join(all[i], &way);
        gave += way != NULL;
    }
    CHECK(gave > 0);
}

// Nobody waits: nobody yields, however long it lasts.
static void alone(void) {
    int64_t began = now();
    while (now() - began < 4 * TICK) CHECK(!door_tick_due() && !door_yield_if_due());
}

// On an OS thread the kernel sees to it.
__attribute__((constructor)) static void before_main(void) { CHECK(!door_tick_due() && !door_yield_if_due()); }

int main(void) {
    spins_until(sets);
    spins_until(sleeps_and_sets);
    shares();
    alone();
    return failed;
}
