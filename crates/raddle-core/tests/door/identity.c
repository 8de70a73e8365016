// What a thread of C has that a thread of Rust has not: who it is, where its stack lies, how it rounds, how it ends.
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t door_stop_at_base(void);
static int failed;
#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); failed = 1; } } while (0)

static void *same(void *argument) { return argument; }

// Who has not been joined keeps its name to itself.
static void identities(void) {
    int reused = 0;
    for (int i = 0; i < 100; i++) {
        pthread_t first, second;
        void *x, *y;
        pthread_create(&first, NULL, same, (void *)1);
        usleep(100);
        pthread_create(&second, NULL, same, (void *)2);
        reused += pthread_equal(first, second) != 0;
        pthread_join(first, &x);
        pthread_join(second, &y);
        CHECK(x == (void *)1 && y == (void *)2);
    }
    CHECK(reused == 0);
}

static pthread_t known[4];
static void *knows_itself(void *index) {
    return (void *)(intptr_t)pthread_equal(pthread_self(), known[(intptr_t)index]);
}

// It is known before it runs, and is what the thread itself sees.
static void known_before_it_runs(void) {
    for (int i = 0; i < 4; i++) pthread_create(&known[i], NULL, knows_itself, (void *)(intptr_t)i);
    for (int i = 0; i < 4; i++) {
        void *right;
        pthread_join(known[i], &right);
        CHECK(right);
    }
}

static double divide(volatile double a, volatile double b) { return a / b; }

static void *rounds_up(void *unused) {
    fesetround(FE_UPWARD);
    for (int i = 0; i < 50; i++) {
        sched_yield();
        if (fegetround() != FE_UPWARD || divide(1, 3) <= 0.33333333333333331) return (void *)1;
    }
    return unused;
}

static void *rounds_to_nearest(void *unused) {
    for (int i = 0; i < 50; i++) {
        if (fegetround() != FE_TONEAREST || divide(1, 3) != 0.33333333333333331) return (void *)1;
        sched_yield();
    }
    return unused;
}

static void *rounds_as(void *mode) { return (void *)(intptr_t)(fegetround() == (intptr_t)mode); }

static void rounding(void) {
    int leaks = 0;
    void *x, *y;
    pthread_t first, second;
    for (int i = 0; i < 50; i++) {
        pthread_create(&first, NULL, rounds_up, NULL);
        pthread_create(&second, NULL, rounds_to_nearest, NULL);
        pthread_join(first, &x);
        pthread_join(second, &y);
        leaks += x || y;
    }
    CHECK(leaks == 0);
    CHECK(fegetround() == FE_TONEAREST);
    // A thread begins with its maker's.
    fesetround(FE_DOWNWARD);
    pthread_create(&first, NULL, rounds_as, (void *)(intptr_t)FE_DOWNWARD);
    pthread_join(first, &x);
    CHECK(x && fegetround() == FE_DOWNWARD);
    fesetround(FE_TONEAREST);
    pthread_create(&first, NULL, rounds_as, (void *)(intptr_t)FE_TONEAREST);
    pthread_join(first, &x);
    CHECK(x);
}

enum { BYTES = 64 << 10 };
static pthread_key_t key;
static int destroyed_there;

static int is_in(void *memory, void *place) {
    return (uintptr_t)place - (uintptr_t)memory < BYTES;
}

static void destroys(void *memory) {
    char here;
    destroyed_there += is_in(memory, &here);
}

static void *runs_there(void *memory) {
    char here;
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    pthread_setspecific(key, memory);
    sched_yield();
    if (pthread_getattr_np(pthread_self(), &attributes)) return NULL;
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    return (void *)(intptr_t)(is_in(memory, &here) && low == memory && bytes == BYTES);
}

// A stack of the program's own is used from the start to the last destructor, and not a moment longer.
static void own_stacks(void) {
    pthread_key_create(&key, destroys);
    char *memory = aligned_alloc(4096, BYTES);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory, BYTES);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        void *right;
        pthread_create(&thread, &attributes, runs_there, memory);
        pthread_join(thread, &right);
        CHECK(right);
        memset(memory, 0xee, BYTES);
    }
    CHECK(destroyed_there == 100);
    free(memory);
}

static int cleaned;
static void clean(int *unused) { (void)unused; cleaned++; }

__attribute__((noinline)) static void exits(int depth, void *result) {
    __attribute__((cleanup(clean))) int guard = depth;
    sched_yield();
    if (depth == 0) pthread_exit(result);
    if (cleaned >= 0) exits(depth - 1, result);
    sched_yield();
}

static void *exits_deep(void *result) {
    exits(9, result);
    return NULL;
}

static void *exits_there(void *memory) {
    pthread_setspecific(key, memory);
    exits(9, memory);
    return NULL;
}

// A thread that ends from within is unwound to its base, no further, and is joined as any.
static void forced(void) {
    pthread_t thread;
    void *result;
    for (int i = 1; i <= 100; i++) {
        pthread_create(&thread, NULL, exits_deep, (void *)(intptr_t)i);
        pthread_join(thread, &result);
        CHECK(result == (void *)(intptr_t)i && cleaned == 10 * i);
    }
    CHECK(door_stop_at_base() == 100);
    char *memory = aligned_alloc(4096, BYTES);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory, BYTES);
    pthread_create(&thread, &attributes, exits_there, memory);
    pthread_join(thread, &result);
    CHECK(result == memory && destroyed_there == 101 && door_stop_at_base() == 101);
    free(memory);
}

// Detached, before its end and after.
static void detached(void) {
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, same, NULL);
        if (i % 2) usleep(1);
        CHECK(pthread_detach(thread) == 0);
        CHECK(pthread_join(thread, NULL) != 0);
    }
}

int main(void) {
    identities();
    known_before_it_runs();
    rounding();
    own_stacks();
    forced();
    detached();
    return failed;
}
