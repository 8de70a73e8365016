// Threads that yield a million times, sleep, poll and wait at futexes, through an adaptor that exports all these names.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 10, YIELDS = 100000 };
size_t door_count(size_t what) __attribute__((weak));

static atomic_int turn;

static void *yields(void *unused) {
    for (int i = 0; i < YIELDS; i++) sched_yield();
    return unused;
}

static void *waits(void *pipe) {
    struct timespec span = {0, 1000000};
    struct pollfd file = {((int *)pipe)[0], POLLIN, 0};
    for (int i = 0; i < 100; i++) nanosleep(&span, NULL);
    while (atomic_load(&turn) == 0) syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return (void *)(intptr_t)(poll(&file, 1, -1) == 1 && syscall(SYS_getpid) == getpid());
}

// On an OS thread, before there is any thread of C: these go to the kernel, once.
__attribute__((constructor)) static void before_main(void) {
    for (int i = 0; i < 1000; i++) sched_yield();
    usleep(1);
}

int main(void) {
    pthread_t all[THREADS];
    int ends[2];
    void *result;
    if (!door_count) return puts("no adaptor"), 1;
    if (pipe(ends)) return puts("no pipe"), 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&all[i], NULL, yields, all + i)) return puts("no thread"), 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(all[i], &result) || result != all + i) return puts("no result"), 1;
    for (int i = 0; i < THREADS; i++) pthread_create(&all[i], NULL, waits, ends);
    usleep(1000);
    atomic_store(&turn, 1);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, THREADS, NULL, NULL, 0);
    if (write(ends[1], "x", 1) != 1) return puts("nothing written"), 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(all[i], &result) || !result) return puts("a poll or a number is wrong"), 1;
    // Each call of this program has been the adaptor's, and none of the runtime's.
    if (door_count(0) != 2 * THREADS) return puts("threads"), 1;
    if (door_count(1) != (size_t)THREADS * YIELDS + 1000) return puts("yields"), 1;
    if (door_count(2) != THREADS * 100 + 2) return puts("sleeps"), 1;
    if (door_count(3) != THREADS) return puts("polls"), 1;
    if (door_count(4) < THREADS + 1) return puts("system calls"), 1;
    return 0;
}
