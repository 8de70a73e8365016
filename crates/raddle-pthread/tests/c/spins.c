// Threads that spin without a call, more of them than workers: those behind them, sleepers and readers go on.
#include "check.h"
#include <math.h>

enum { SPINNERS = 24 };

static volatile int flag;
static volatile int spinning;
static __thread int own;

static void set(void) {
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

static void *sets(void *nothing) {
    set();
    return nothing;
}

static void *sets_after_sleep(void *nothing) {
    struct timespec span = {.tv_nsec = 3000000};
    MUST(nanosleep(&span, NULL) == 0);
    set();
    return nothing;
}

static int ends[2];

static void *sets_after_read(void *nothing) {
    char byte;
    MUST(read(ends[0], &byte, 1) == 1 && byte == 'x');
    set();
    return nothing;
}

// All that a thread has must be the same wherever it goes on: registers of both kinds, errno, its storage.
static void *spins(void *number) {
    int mine = (int)(intptr_t)number;
    errno = mine;
    own = mine;
    __atomic_add_fetch(&spinning, 1, __ATOMIC_RELAXED);
    double sum = mine;
    long turns = 0;
    while (!flag) {
        sum += 0.5;
        sum -= 0.5;
        turns++;
    }
    MUST(errno == mine && own == mine && sum == mine && turns >= 0);
    return number;
}

static void spin_until(void *(*setter)(void *), const char *what) {
    pthread_t spinners[SPINNERS], other;
    flag = 0;
    spinning = 0;
    for (intptr_t at = 0; at < SPINNERS; at++) MUST(pthread_create(&spinners[at], NULL, spins, (void *)at) == 0);
    MUST(pthread_create(&other, NULL, setter, NULL) == 0);
    if (setter == sets_after_read) {
        // Spinning itself, until all do.
        while (__atomic_load_n(&spinning, __ATOMIC_RELAXED) < SPINNERS) continue;
        MUST(write(ends[1], "x", 1) == 1);
    }
    for (intptr_t at = 0; at < SPINNERS; at++) {
        void *result;
        MUST(pthread_join(spinners[at], &result) == 0 && result == (void *)at);
    }
    MUST(pthread_join(other, NULL) == 0);
    SAY("%s: all have seen the flag", what);
}

// Who is interrupted in the midst of waking, locking and allocating has done all of it once, whatever runs meanwhile.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counted;

static void *counts(void *nothing) {
    for (int round = 0; round < 2000; round++) {
        pthread_mutex_lock(&mutex);
        long seen = counted;
        for (volatile int turn = 0; turn < 200; turn++) continue;
        counted = seen + 1;
        pthread_mutex_unlock(&mutex);
        char *memory = malloc(1 + round % 300);
        memset(memory, round, 1 + round % 300);
        free(memory);
    }
    return nothing;
}

static void count(void) {
    pthread_t all[8];
    for (int at = 0; at < 8; at++) MUST(pthread_create(&all[at], NULL, counts, NULL) == 0);
    for (int at = 0; at < 8; at++) MUST(pthread_join(all[at], NULL) == 0);
    SAY("%ld", counted);
}

// One that stands in a call of the C library's keeps nobody waiting, either: an extra worker takes what is behind it.
static sem_t reads;

static void *writes_a_line(void *nothing) {
    sem_wait(&reads);
    MUST(write(ends[1], "a line\n", 7) == 7);
    return nothing;
}

static void *reads_a_line(void *file) {
    char line[9];
    sem_post(&reads);
    MUST(fgets(line, sizeof line, file) == line);
    printf("%s", line);
    return NULL;
}

static void stand(void) {
    pthread_t writer, reader;
    sem_init(&reads, 0, 0);
    MUST(pthread_create(&writer, NULL, writes_a_line, NULL) == 0);
    MUST(pthread_create(&reader, NULL, reads_a_line, fdopen(ends[0], "r")) == 0);
    MUST(pthread_join(writer, NULL) == 0 && pthread_join(reader, NULL) == 0);
}

int main(void) {
    MUST(pipe(ends) == 0);
    spin_until(sets, "a thread behind them");
    spin_until(sets_after_sleep, "one that sleeps");
    spin_until(sets_after_read, "one that reads");
    count();
    stand();
    return 0;
}
