// raddle-measure's side in C: arguments, samples as lines of JSON, and the threads that all measures use.
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// What was asked: the parameters as text, and one of them by its name.
static const char *parameters = "";

static const char *parameter(const char *name) {
    size_t length = strlen(name);
    for (const char *at = parameters; at && *at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
    }
    fprintf(stderr, "wants --params %s=...\n", name);
    exit(1);
}

static long number(const char *name) {
    return atol(parameter(name));
}

static int is(const char *name, const char *value) {
    const char *found = parameter(name);
    size_t length = strcspn(found, ",");
    return strlen(value) == length && strncmp(found, value, length) == 0;
}

static void must(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static double now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e9 + at.tv_nsec;
}

// What a measure found: nanoseconds (or bytes) an operation, and a sum that must be right.
struct found {
    double figure;
    unsigned long checksum;
};

// Runs a function in so many threads, each told its number, and waits for all.
static double in_threads(void *(*function)(void *), long count) {
    pthread_t *all = malloc(count * sizeof *all);
    double begin = now_ns();
    for (long at = 0; at < count; at++) must(!pthread_create(&all[at], NULL, function, (void *)at), "no thread");
    for (long at = 0; at < count; at++) pthread_join(all[at], NULL);
    double took = now_ns() - begin;
    free(all);
    return took;
}
