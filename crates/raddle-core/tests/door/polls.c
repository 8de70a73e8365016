// A poller of C: called while something is outstanding, by idle workers and at boundaries, and never after it is freed.
#define _GNU_SOURCE
#include "door.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int failed;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// A network in small: what is sent arrives when its time has come and somebody asks.
typedef struct {
    door_poller *poller;
    _Atomic int64_t due;
    _Atomic uint32_t arrived;
    atomic_int calls, idle_calls, waits_refused;
} network;

static uint64_t ask(void *data, int is_idle) {
    network *n = data;
    atomic_fetch_add(is_idle ? &n->idle_calls : &n->calls, 1);
    uint32_t word = 0;
    atomic_fetch_add(&n->waits_refused, door_futex_wait(&word, 0, ANY, FOR_EVER, NULL) == EDEADLK);
    int64_t due = atomic_load(&n->due);
    if (due && now() >= due) {
        atomic_store(&n->due, 0);
        atomic_fetch_add(&n->arrived, 1);
        door_futex_wake((uint32_t *)&n->arrived, 1, ANY);
        door_poller_end(n->poller, 1);
    }
    return 50000;
}

static void *sends_and_waits(void *data) {
    network *n = data;
    for (uint32_t i = 0; i < 20; i++) {
        atomic_store(&n->due, now() + 200000);
        door_poller_begin(n->poller, 1);
        while (atomic_load(&n->arrived) == i) door_futex_wait((uint32_t *)&n->arrived, i, ANY, FOR_EVER, NULL);
    }
    return data;
}

// All wait: idle workers ask.
static void when_idle(void) {
    network n = {0};
    n.poller = door_poller_new(20000, ask, &n);
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, sends_and_waits, &n);
    pthread_join(thread, &result);
    door_poller_free(n.poller);
    CHECK(result == &n && n.arrived == 20 && n.idle_calls >= 20);
    CHECK(n.waits_refused == n.calls + n.idle_calls);
}

static atomic_int goes_on;
static void *yields(void *unused) {
    while (atomic_load(&goes_on)) sched_yield();
    return unused;
}

// All are busy: workers ask at boundaries, not more often than the gap allows; and not at all when nothing is outstanding.
static void when_busy(void) {
    enum { GAP = 1000000, BUSY = 4 };
    network n = {0};
    pthread_t busy[BUSY];
    n.poller = door_poller_new(GAP, ask, &n);
    atomic_store(&goes_on, 1);
    for (int i = 0; i < BUSY; i++) pthread_create(&busy[i], NULL, yields, NULL);
    int64_t began = now();
    while (now() - began < 5 * GAP) sched_yield();
    CHECK(n.calls == 0 && n.idle_calls == 0);
    began = now();
    door_poller_begin(n.poller, 1);
    while (n.calls < 10) sched_yield();
    // Ten calls at boundaries have nine gaps between them.
    CHECK(now() - began >= 9 * GAP);
    door_poller_end(n.poller, 1);
    atomic_store(&goes_on, 0);
    for (int i = 0; i < BUSY; i++) pthread_join(busy[i], NULL);
    door_poller_free(n.poller);
}

typedef struct { atomic_int alive, calls; } life;

static uint64_t lives(void *data) {
    life *l = data;
    for (int i = 0; i < 20; i++) CHECK(atomic_load(&l->alive) == 1);
    return atomic_fetch_add(&l->calls, 1) < 0;
}

static uint64_t ask_life(void *data, int is_idle) {
    (void)is_idle;
    return lives(data);
}

static void *makes_and_frees(void *unused) {
    for (int i = 0; i < 300; i++) {
        life *l = calloc(1, sizeof *l);
        atomic_store(&l->alive, 1);
        door_poller *poller = door_poller_new(0, ask_life, l);
        door_poller_begin(poller, 3);
        while (i % 3 == 0 && atomic_load(&l->calls) == 0) usleep(1);
        door_poller_free(poller);
        atomic_store(&l->alive, 0);
        free(l);
    }
    return unused;
}

// Made and freed, with something outstanding, by several at once, while workers ask.
static void freed_in_use(void) {
    pthread_t makers[3], busy;
    atomic_store(&goes_on, 1);
    pthread_create(&busy, NULL, yields, NULL);
    for (int i = 0; i < 3; i++) pthread_create(&makers[i], NULL, makes_and_frees, NULL);
    for (int i = 0; i < 3; i++) pthread_join(makers[i], NULL);
    atomic_store(&goes_on, 0);
    pthread_join(busy, NULL);
}

int main(void) {
    when_idle();
    when_busy();
    freed_in_use();
    return failed;
}
