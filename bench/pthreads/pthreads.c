// What POSIX threads cost: run it natively and with the library preloaded, as README.md says. Prints microseconds.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int times;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1e6 + at.tv_nsec / 1e3;
}

static double run(void *(*function)(void *), int count) {
    pthread_t all[128];
    double begin = now();
    for (long at = 0; at < count; at++) pthread_create(&all[at], NULL, function, (void *)at);
    for (int at = 0; at < count; at++) pthread_join(all[at], NULL);
    return now() - begin;
}

static void *nothing(void *argument) {
    return argument;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t conds[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn;

static void *hands_over(void *argument) {
    int me = (int)(long)argument;
    for (int round = 0; round < times; round++) {
        pthread_mutex_lock(&mutex);
        while (turn != me) pthread_cond_wait(&conds[me], &mutex);
        turn = !me;
        pthread_cond_signal(&conds[!me]);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static pthread_barrier_t barrier;

static void *meets(void *argument) {
    for (int round = 0; round < times; round++) pthread_barrier_wait(&barrier);
    return argument;
}

static volatile long counted;

static void *counts(void *argument) {
    for (int round = 0; round < times; round++) {
        pthread_mutex_lock(&mutex);
        counted++;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static int there[2], back[2];

static void *echoes_pipe(void *argument) {
    char byte;
    while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) continue;
    return argument;
}

static int ends[2];

static void *echoes_socket(void *argument) {
    char byte;
    while (recv(ends[1], &byte, 1, 0) == 1 && send(ends[1], &byte, 1, 0) == 1) continue;
    return argument;
}

static double pipes(void) {
    pthread_t other;
    char byte = 0;
    if (pipe(there) || pipe(back)) abort();
    pthread_create(&other, NULL, echoes_pipe, NULL);
    double begin = now();
    for (int round = 0; round < times; round++) {
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) abort();
    }
    double took = now() - begin;
    close(there[1]);
    pthread_join(other, NULL);
    return took / times / 2;
}

static double sockets(void) {
    pthread_t other;
    char byte = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
    pthread_create(&other, NULL, echoes_socket, NULL);
    double begin = now();
    for (int round = 0; round < times; round++) {
        if (send(ends[0], &byte, 1, 0) != 1 || recv(ends[0], &byte, 1, 0) != 1) abort();
    }
    double took = now() - begin;
    shutdown(ends[0], SHUT_RDWR);
    pthread_join(other, NULL);
    return took / times / 2;
}

static double create(void) {
    for (int round = 0; round < 1000; round++) run(nothing, 1);
    double begin = now();
    for (int round = 0; round < times; round++) run(nothing, 1);
    return (now() - begin) / times;
}

static double contended(void) {
    return run(counts, 64) / times / 64;
}

static double uncontended(void) {
    run(nothing, 1);
    double begin = now();
    counts(NULL);
    return (now() - begin) / times;
}

static double condition(void) {
    return run(hands_over, 2) / times / 2;
}

static double meeting(void) {
    pthread_barrier_init(&barrier, NULL, 128);
    return run(meets, 128) / times;
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        double (*measure)(void);
        int times;
    } all[] = {
        {"create", create, 20000},       {"condition", condition, 100000}, {"barrier", meeting, 1000},
        {"contended", contended, 50000}, {"uncontended", uncontended, 20000000},
        {"pipe", pipes, 20000},          {"socket", sockets, 20000},
    };
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        if (count > 1 && strcmp(words[1], all[at].name) != 0) continue;
        times = count > 2 ? atoi(words[2]) : all[at].times;
        printf("%-12s %9.4f\n", all[at].name, all[at].measure());
        fflush(stdout);
    }
}
