// A mutex and a condition variable of C on the futex: values, counts, bits, time-outs, and moves from word to word.
#define _GNU_SOURCE
#include "door.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int failed;

// 0 is free, 1 taken, 2 taken and perhaps somebody waits.
typedef struct { _Atomic uint32_t word; uintptr_t owner; } mutex;
typedef struct { _Atomic uint32_t turn; } condition;
#define WORD(atomic) ((uint32_t *)&(atomic))

static int lock_until(mutex *m, int64_t nanoseconds) {
    uint32_t free = 0;
    if (!atomic_compare_exchange_strong(&m->word, &free, 1))
        while (atomic_exchange(&m->word, 2) != 0)
            if (door_futex_wait(WORD(m->word), 2, ANY, nanoseconds, &m->owner) == ETIMEDOUT) return ETIMEDOUT;
    door_owner_set(&m->owner);
    return 0;
}

static void lock(mutex *m) { lock_until(m, FOR_EVER); }

static void unlock(mutex *m) {
    door_owner_clear(&m->owner);
    if (atomic_exchange(&m->word, 0) == 2) door_futex_wake(WORD(m->word), 1, ANY);
}

static void cond_wait(condition *c, mutex *m) {
    uint32_t turn = atomic_load(&c->turn);
    unlock(m);
    door_futex_wait(WORD(c->turn), turn, ANY, FOR_EVER, NULL);
    // As one who was moved here: whoever comes after must be woken by the unlock.
    while (atomic_exchange(&m->word, 2) != 0) door_futex_wait(WORD(m->word), 2, ANY, FOR_EVER, &m->owner);
    door_owner_set(&m->owner);
}

// One wakes, the others wait for the mutex instead.
static long broadcast(condition *c, mutex *m) {
    uint32_t turn = atomic_fetch_add(&c->turn, 1) + 1;
    return door_futex_requeue(WORD(c->turn), turn, 1, WORD(m->word), INT32_MAX);
}

enum { THREADS = 16, ROUNDS = 2000 };
static mutex m;
static condition changed;
static int inside, round_, waiting, passed;

static void *adds(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        lock(&m);
        int seen = inside;
        if (i % 16 == 0) sched_yield();
        inside = seen + 1;
        CHECK(door_owner_is_caller(&m.owner));
        unlock(&m);
    }
    return unused;
}

static void run_all(void *(*start)(void *), void *argument) {
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&all[i], NULL, start, argument);
    for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL);
}

static void exclusion(void) {
    run_all(adds, NULL);
    CHECK(inside == THREADS * ROUNDS);
    CHECK(m.word == 0 && m.owner == 0);
}

static void *waits_for_rounds(void *unused) {
    lock(&m);
    for (int i = 1; i <= 50; i++) {
        waiting++;
        while (round_ < i) cond_wait(&changed, &m);
        passed++;
    }
    unlock(&m);
    return unused;
}

static void requeues(void) {
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&all[i], NULL, waits_for_rounds, NULL);
    long moved = 0;
    for (int i = 1; i <= 50; i++) {
        for (;;) {
            lock(&m);
            if (waiting == THREADS * i) break;
            unlock(&m);
            sched_yield();
        }
        CHECK(passed == THREADS * (i - 1));
        round_ = i;
        long now = broadcast(&changed, &m);
        CHECK(now >= 0 && now <= THREADS);
        moved += now;
        unlock(&m);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL);
    CHECK(passed == THREADS * 50);
    // Who had not slept yet saw the turn change; most had.
    CHECK(moved > THREADS);
    // The word has another value: nothing is moved, and that is said.
    CHECK(door_futex_requeue(WORD(changed.turn), 7, 1, WORD(m.word), 1) == -1);
}

static _Atomic uint32_t gate, kept;
static atomic_int out[3];

static void *waits_with_bit(void *bit) {
    if (door_futex_wait(WORD(gate), 0, 1u << (intptr_t)bit, FOR_EVER, NULL) == 0) atomic_fetch_add(&out[(intptr_t)bit], 1);
    return NULL;
}

// Wakes as many as there are, however late they come to sleep.
static void wake_all(uint32_t count, uint32_t bits) {
    for (uint32_t woken = 0; woken < count; sched_yield()) woken += door_futex_wake(WORD(gate), count - woken, bits);
}

static void bits(void) {
    pthread_t all[6];
    for (intptr_t i = 0; i < 6; i++) pthread_create(&all[i], NULL, waits_with_bit, (void *)(i % 3));
    wake_all(2, 2);
    for (int i = 0; i < 100; i++) sched_yield();
    CHECK(out[0] == 0 && out[1] == 2 && out[2] == 0);
    CHECK(door_futex_wake(WORD(gate), 9, 2 | 8) == 0);
    wake_all(4, 1 | 4);
    for (int i = 0; i < 6; i++) pthread_join(all[i], NULL);
    CHECK(out[0] == 2 && out[1] == 2 && out[2] == 2);
    CHECK(door_futex_wake(WORD(gate), 9, ANY) == 0);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *gives_up(void *unused) {
    int64_t began = now();
    CHECK(lock_until(&m, 3000000) == ETIMEDOUT);
    CHECK(now() - began >= 3000000);
    return unused;
}

static void timeouts(void) {
    CHECK(door_futex_wait(WORD(kept), 1, ANY, FOR_EVER, NULL) == EAGAIN);
    CHECK(door_futex_wait(WORD(kept), 0, ANY, 0, NULL) == ETIMEDOUT);
    // With no bits no wake ends it, only its time.
    CHECK(door_futex_wait(WORD(kept), 0, 0, 1000000, NULL) == ETIMEDOUT);
    lock(&m);
    run_all(gives_up, NULL);
    CHECK(door_owner_is_caller(&m.owner));
    unlock(&m);
    CHECK(lock_until(&m, 3000000) == 0);
    unlock(&m);
    // Nobody of those is left at the word.
    CHECK(door_futex_wake(WORD(m.word), 9, ANY) == 0);
}

// An OS thread, before there is any thread of C, waits as well.
__attribute__((constructor)) static void before_main(void) {
    int64_t began = now();
    CHECK(door_futex_wait(WORD(kept), 0, ANY, 2000000, NULL) == ETIMEDOUT);
    CHECK(now() - began >= 2000000);
    lock(&m);
    CHECK(door_owner_is_caller(&m.owner));
    unlock(&m);
}

int main(void) {
    exclusion();
    requeues();
    bits();
    timeouts();
    return failed;
}
