// Threads that end from within, deep in frames of C: by pthread_exit, and cancelled.
#define _GNU_SOURCE
#include "door.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed;
enum { DEPTH = 12 };

// What each clean-up does, in the order in which they run.
static char order[200];
static void say(char what) {
    size_t length = strlen(order);
    order[length] = what;
    order[length + 1] = 0;
}

static void clean(const int *depth) { say('a' + *depth); }
static void handler(void *what) { say(*(char *)what); }

static pthread_key_t key;
static void destroys(void *what) { say(*(char *)what); }

static void *value_of(int number) { return (void *)(intptr_t)number; }

// A frame with a clean-up of the language's, and one of POSIX's.
__attribute__((noinline)) static int deep(int depth, void (*ends)(void *), void *argument) {
    __attribute__((cleanup(clean))) int guard = depth;
    int result = 1;
    pthread_cleanup_push(handler, depth % 2 ? "+" : "-");
    if (depth == 0) ends(argument); else result = deep(depth - 1, ends, argument) + 1;
    say('!');
    pthread_cleanup_pop(0);
    return result + guard;
}

static void *ends_deep(void *argument) {
    pthread_setspecific(key, "k");
    deep(DEPTH, pthread_exit, argument);
    say('?');
    return NULL;
}

static int runs(void *(*start)(void *), void *argument, void **result) {
    pthread_t thread;
    order[0] = 0;
    return pthread_create(&thread, NULL, start, argument) || pthread_join(thread, result);
}

static const char *all_clean_ups = "-a+b-c+d-e+f-g+h-i+j-k+l-mk";

// The innermost first, nothing after the call, and the destructors of its own storage at the end.
static void exits(void) {
    for (int i = 1; i <= 50; i++) {
        size_t bases = door_stop_at_base();
        void *result = NULL;
        CHECK(runs(ends_deep, value_of(i), &result) == 0);
        CHECK(result == value_of(i));
        CHECK(strcmp(order, all_clean_ups) == 0);
        CHECK(door_stop_at_base() == bases + 1);
    }
}

static void from_a_clean_up(void *argument) { pthread_exit(argument); }

// A handler that sleeps leaves its worker while it unwinds, and goes on on whichever.
static void sleeps_and_says(void *what) {
    usleep(200);
    for (int i = 0; i < 20; i++) sched_yield();
    say(*(char *)what);
}

static void *sleeps_while_it_ends(void *argument) {
    pthread_cleanup_push(sleeps_and_says, "2");
    pthread_cleanup_push(sleeps_and_says, "1");
    from_a_clean_up(argument);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

static void waits_while_it_unwinds(void) {
    void *result = NULL;
    CHECK(runs(sleeps_while_it_ends, value_of(5), &result) == 0);
    CHECK(result == value_of(5) && strcmp(order, "12") == 0);
}

static void *exits_at_the_base(void *argument) {
    // At the base there is no frame to unwind but this.
    pthread_exit(argument);
}

static atomic_int sleeping;

static void sleeps_for_ever(void *unused) {
    (void)unused;
    atomic_store(&sleeping, 1);
    for (;;) usleep(1000000000);
}

static void looks_for_ever(void *unused) {
    (void)unused;
    atomic_store(&sleeping, 1);
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
}

static void *cancelled_deep(void *how) {
    pthread_setspecific(key, "k");
    deep(DEPTH, how ? sleeps_for_ever : looks_for_ever, NULL);
    say('?');
    return NULL;
}

static void *does_not_look(void *argument) {
    while (atomic_load(&sleeping) != 2) sched_yield();
    return argument;
}

// Deferred: at a sleep, or where it is asked for; not before.
static void cancels(void) {
    pthread_t thread;
    void *result;
    for (int i = 0; i < 20; i++) {
        order[0] = 0;
        atomic_store(&sleeping, 0);
        pthread_create(&thread, NULL, cancelled_deep, value_of(i % 2));
        while (i % 4 < 2 && !atomic_load(&sleeping)) sched_yield();
        CHECK(pthread_cancel(thread) == 0);
        pthread_join(thread, &result);
        CHECK(result == PTHREAD_CANCELED);
        CHECK(strcmp(order, all_clean_ups) == 0);
    }
    pthread_create(&thread, NULL, does_not_look, value_of(3));
    CHECK(pthread_cancel(thread) == 0);
    atomic_store(&sleeping, 2);
    pthread_join(thread, &result);
    CHECK(result == value_of(3));
}

// A frame of Rust's that catches: the program aborts.
static void *through_catch(void *argument) {
    door_call_catching(exits_at_the_base, argument);
    return NULL;
}

static void *through_plain(void *argument) {
    door_call_plainly(exits_at_the_base, argument);
    return NULL;
}

int main(int count, char **words) {
    void *result = NULL;
    pthread_key_create(&key, destroys);
    if (count > 1) return runs(through_catch, words, &result);
    exits();
    waits_while_it_unwinds();
    CHECK(runs(exits_at_the_base, value_of(9), &result) == 0 && result == value_of(9));
    cancels();
    // A frame of Rust's with nothing to drop is passed.
    CHECK(runs(through_plain, value_of(4), &result) == 0 && result == value_of(4));
    return failed;
}
