// What is measured inside one program: life, locks, hand-offs, memory.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

static long times;

static void *nothing(void *argument) {
    return argument;
}

static struct found create(void) {
    for (int round = 0; round < 200; round++) in_threads(nothing, 1);
    double begin = now_ns();
    for (long round = 0; round < times; round++) in_threads(nothing, 1);
    return (struct found){(now_ns() - begin) / times, times};
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t conds[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn;
static volatile long counted;

static void *hands_over(void *argument) {
    int me = (int)(long)argument;
    for (long round = 0; round < times; round++) {
        pthread_mutex_lock(&mutex);
        while (turn != me) pthread_cond_wait(&conds[me], &mutex);
        turn = !me;
        counted++;
        pthread_cond_signal(&conds[!me]);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static struct found condition(void) {
    counted = 0;
    double took = in_threads(hands_over, 2);
    return (struct found){took / times / 2, counted};
}

static pthread_barrier_t barrier;

static void *meets(void *argument) {
    for (long round = 0; round < times; round++) {
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) counted++;
    }
    return argument;
}

static struct found meeting(void) {
    counted = 0;
    pthread_barrier_init(&barrier, NULL, 128);
    double took = in_threads(meets, 128);
    pthread_barrier_destroy(&barrier);
    return (struct found){took / times, counted};
}

static void *counts(void *argument) {
    for (long round = 0; round < times; round++) {
        pthread_mutex_lock(&mutex);
        counted++;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static struct found contended(void) {
    counted = 0;
    double took = in_threads(counts, 64);
    return (struct found){took / times / 64, counted};
}

static struct found uncontended(void) {
    // A program that never had a second thread is another case.
    in_threads(nothing, 1);
    counted = 0;
    double begin = now_ns();
    counts(NULL);
    return (struct found){(now_ns() - begin) / times, counted};
}

static int there[2], back[2];

static void *answers(void *argument) {
    char byte;
    while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) continue;
    return argument;
}

// A hand-off from thread to thread by descriptors: bytes go there and back.
static struct found asked_and_answered(void) {
    pthread_t other;
    char byte = 0;
    long answered = 0;
    pthread_create(&other, NULL, answers, NULL);
    double begin = now_ns();
    for (long round = 0; round < times; round++) {
        if (write(there[1], &byte, 1) == 1) answered += read(back[0], &byte, 1) == 1;
    }
    double took = now_ns() - begin;
    return (struct found){took / times / 2, answered};
}

static struct found pipes(void) {
    must(!pipe(there) && !pipe(back), "no pipe");
    return asked_and_answered();
}

static struct found sockets(void) {
    int ends[2];
    must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "no sockets");
    there[1] = back[0] = ends[0];
    there[0] = back[1] = ends[1];
    return asked_and_answered();
}

static long resident_bytes(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    must(file && fscanf(file, "%ld %ld", &pages, &resident) == 2, "statm");
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static void *waits_at_barrier(void *argument) {
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&mutex);
    counted++;
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
    return argument;
}

// All wait at the barrier while memory is looked at; each has a stack of 64 KB, which is not touched.
static struct found alive(void) {
    pthread_attr_t attributes;
    pthread_t *all = calloc(times, sizeof *all);
    counted = 0;
    pthread_barrier_init(&barrier, NULL, times + 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    memset(all, 1, times * sizeof *all);
    long before = resident_bytes();
    for (long at = 0; at < times; at++) {
        must(!pthread_create(&all[at], &attributes, waits_at_barrier, NULL), "no thread");
    }
    pthread_barrier_wait(&barrier);
    while (pthread_mutex_lock(&mutex), counted < times) pthread_mutex_unlock(&mutex), sched_yield();
    pthread_mutex_unlock(&mutex);
    double each = (double)(resident_bytes() - before) / times;
    pthread_barrier_wait(&barrier);
    for (long at = 0; at < times; at++) pthread_join(all[at], NULL);
    return (struct found){each, counted};
}

// A line of threads, each with a slot of one number before it.
struct slot {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    long value;
    int is_full;
};

static struct slot *slots;

static void put(struct slot *slot, long value) {
    pthread_mutex_lock(&slot->mutex);
    while (slot->is_full) pthread_cond_wait(&slot->changed, &slot->mutex);
    slot->value = value;
    slot->is_full = 1;
    pthread_cond_signal(&slot->changed);
    pthread_mutex_unlock(&slot->mutex);
}

static long take(struct slot *slot) {
    pthread_mutex_lock(&slot->mutex);
    while (!slot->is_full) pthread_cond_wait(&slot->changed, &slot->mutex);
    long value = slot->value;
    slot->is_full = 0;
    pthread_cond_signal(&slot->changed);
    pthread_mutex_unlock(&slot->mutex);
    return value;
}

static void *is_stage(void *argument) {
    long stage = (long)argument;
    for (long message = 0; message < times; message++) put(&slots[stage + 1], take(&slots[stage]) + 1);
    return NULL;
}

static void *feeds(void *argument) {
    for (long message = 0; message < times; message++) put(&slots[0], message);
    return argument;
}

static struct found pipeline(void) {
    long stages = number("stages"), sum = 0;
    pthread_t *all = malloc((stages + 1) * sizeof *all);
    slots = calloc(stages + 1, sizeof *slots);
    for (long at = 0; at <= stages; at++) {
        pthread_mutex_init(&slots[at].mutex, NULL);
        pthread_cond_init(&slots[at].changed, NULL);
    }
    for (long at = 0; at < stages; at++) pthread_create(&all[at], NULL, is_stage, (void *)at);
    double begin = now_ns();
    pthread_create(&all[stages], NULL, feeds, NULL);
    for (long message = 0; message < times; message++) sum += take(&slots[stages]);
    double took = now_ns() - begin;
    for (long at = 0; at <= stages; at++) pthread_join(all[at], NULL);
    free(slots);
    free(all);
    return (struct found){took / times / stages, sum};
}
