// What allocators cost many threads, and whether one that is stopped stops others. The allocator is the C library's, or
// what is preloaded.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../pthreads/measure.h"

enum { SLOTS = 4096, WINDOW = 500, LIFE = 10000, MOST_VICTIMS = 256, LIMIT_MS = 5000 };

static _Atomic(char *) slots[SLOTS];
static long threads, each;

static unsigned long next(unsigned long *seed) {
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    return *seed >> 20;
}

static unsigned long seed_of(void *thread) {
    return ((unsigned long)thread + 1) * 0x9e3779b97f4a7c15UL;
}

// Small blocks; of mixed ones one in 64 is larger; of huge ones one in 16 has a mapping of its own.
enum kind { SMALL, MIXED, HUGE };

static char *block(unsigned long *seed, enum kind kind) {
    unsigned long any = next(seed), size = 16 + next(seed) % 1000;
    if (kind == HUGE && any % 16 == 1) size = (8 << 20) + next(seed) % (24 << 20);
    else if (kind != SMALL && any % 64 == 2) size = 1024 + next(seed) % 200000;
    char *block = malloc(size);
    must(block != NULL, "no memory");
    block[0] = 1, block[size - 1] = 1;
    return block;
}

static void exchange_one(unsigned long *seed, enum kind kind) {
    char *mine = block(seed, kind);
    free(atomic_exchange_explicit(&slots[next(seed) % SLOTS], mine, memory_order_acq_rel));
}

static void *exchanges(void *thread) {
    unsigned long seed = seed_of(thread);
    for (long turn = 0; turn < each; turn++) exchange_one(&seed, SMALL);
    return NULL;
}

static void *pairs(void *thread) {
    (void)thread;
    for (long turn = 0; turn < each; turn++) {
        char *volatile block = malloc(64);
        block[0] = 1;
        free(block);
    }
    return NULL;
}

// A thread replaces blocks of its window, then hands the window to a new thread and ends.
struct life {
    unsigned long seed;
    long left;
    char *window[WINDOW];
};

static _Atomic long alive;

static void *lives(void *argument) {
    struct life *life = argument;
    long turns = life->left < LIFE ? life->left : LIFE;
    for (long turn = 0; turn < turns; turn++) {
        char **place = &life->window[next(&life->seed) % WINDOW];
        free(*place);
        *place = block(&life->seed, SMALL);
    }
    life->left -= turns;
    if (life->left == 0) {
        for (int at = 0; at < WINDOW; at++) free(life->window[at]);
        free(life);
        alive--;
        return NULL;
    }
    pthread_t heir;
    must(!pthread_create(&heir, NULL, lives, life), "no thread");
    pthread_detach(heir);
    return NULL;
}

static double generations(void) {
    double begin = now_ns();
    alive = threads;
    for (long thread = 0; thread < threads; thread++) {
        struct life *life = calloc(1, sizeof *life);
        life->seed = seed_of((void *)thread), life->left = each;
        pthread_t first;
        must(!pthread_create(&first, NULL, lives, life), "no thread");
        pthread_detach(first);
    }
    while (alive > 0) usleep(200);
    return now_ns() - begin;
}

// A thread starts, has its first block, frees it, and ends.
static void *first_block(void *thread) {
    char *volatile block = malloc(64);
    must(block != NULL, "no memory");
    block[0] = 1;
    free(block);
    return thread;
}

static double starts(long times) {
    double begin = now_ns();
    for (long turn = 0; turn < times; turn++) {
        pthread_t thread;
        must(!pthread_create(&thread, NULL, first_block, NULL), "no thread");
        pthread_join(thread, NULL);
    }
    return now_ns() - begin;
}

// Half of the threads allocate, and each hands its blocks to one of the other half, which frees them.
enum { RING = 1024, MOST_RINGS = 256 };
static struct {
    _Alignas(64) _Atomic(long) put;
    _Alignas(64) _Atomic(long) taken;
    _Alignas(64) char *blocks[RING];
} rings[MOST_RINGS];

static void *hands_over(void *thread) {
    long at = (long)thread / 2;
    unsigned long seed = seed_of(thread);
    for (long turn = 0; turn < each; turn++) {
        if ((long)thread % 2 == 0) {
            char *mine = block(&seed, SMALL);
            while (turn - atomic_load_explicit(&rings[at].taken, memory_order_acquire) == RING) sched_yield();
            rings[at].blocks[turn % RING] = mine;
            atomic_store_explicit(&rings[at].put, turn + 1, memory_order_release);
        } else {
            while (atomic_load_explicit(&rings[at].put, memory_order_acquire) == turn) sched_yield();
            free(rings[at].blocks[turn % RING]);
            atomic_store_explicit(&rings[at].taken, turn + 1, memory_order_release);
        }
    }
    return NULL;
}

static double handed_over(void) {
    must(threads % 2 == 0 && threads / 2 <= MOST_RINGS, "not pairs of threads");
    for (long at = 0; at < threads / 2; at++) rings[at].put = rings[at].taken = 0;
    return in_threads(hands_over, threads);
}

static double resident_bytes(void) {
    long all, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    must(file && fscanf(file, "%ld %ld", &all, &resident) == 2, "own memory");
    fclose(file);
    return resident * (double)sysconf(_SC_PAGESIZE);
}

// A trial: victims are stopped for ever, by a signal, at random instructions of their calls; then others work.
static _Thread_local volatile sig_atomic_t is_inside;
static _Atomic int ready, parked;
static enum kind kind;

static void stops(int number) {
    (void)number;
    if (!is_inside) return;
    parked++;
    while (1) pause();
}

static void *victim(void *thread) {
    unsigned long seed = seed_of(thread);
    ready++;
    while (1) {
        is_inside = 1;
        for (int turn = 0; turn < 1000; turn++) exchange_one(&seed, kind);
        is_inside = 0;
    }
    return NULL;
}

static void *peer(void *thread) {
    unsigned long seed = seed_of((char *)thread + 1000);
    for (int turn = 0; turn < 10000; turn++) exchange_one(&seed, kind);
    return NULL;
}

static void trial(long victims, long round, int told) {
    pthread_t all[MOST_VICTIMS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 17);
    signal(SIGUSR1, stops);
    for (long at = 0; at < victims; at++) {
        must(!pthread_create(&all[at], &small, victim, (void *)(at + 1000 * round)), "no thread");
    }
    while (ready < victims) usleep(100);
    usleep(1000 + round * 777 % 5000);
    while (parked < victims) {
        for (long at = 0; at < victims; at++) pthread_kill(all[at], SIGUSR1);
        usleep(1000);
    }
    must(write(told, "p", 1) == 1, "pipe");
    in_threads(peer, 2);
    in_threads(peer, 1);
    _exit(0);
}

// Whether others have not gone on.
static int freezes(long victims, long round) {
    int ends[2], status = 0;
    char byte;
    must(!pipe(ends), "pipe");
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) trial(victims, round, ends[1]);
    close(ends[1]);
    must(read(ends[0], &byte, 1) == 1, "a trial that did not begin");
    close(ends[0]);
    for (int ms = 0; ms < LIMIT_MS; ms++) {
        if (waitpid(child, &status, WNOHANG) == child) {
            must(status == 0, "a trial that failed");
            return 0;
        }
        usleep(1000);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return 1;
}

static struct found frozen(long times) {
    long victims = number("victims"), count = 0;
    must(victims <= MOST_VICTIMS, "too many victims");
    kind = is("kind", "small") ? SMALL : is("kind", "huge") ? HUGE : MIXED;
    for (long round = 0; round < times; round++) count += freezes(victims, round);
    return (struct found){count, times};
}

static struct found measured(long times) {
    if (is("measure", "freeze")) return frozen(times);
    threads = number("threads");
    each = times / threads;
    unsigned long done = each * threads;
    if (is("measure", "pair")) return (struct found){in_threads(pairs, threads) / done, done};
    if (is("measure", "start")) return (struct found){starts(done) / done, done};
    // Of each block both ends are a turn.
    if (is("measure", "consumer")) return (struct found){handed_over() / (done / 2), done};
    if (is("measure", "generations")) return (struct found){generations() / done, done};
    double took = in_threads(exchanges, threads);
    return (struct found){is("measure", "resident") ? resident_bytes() : took / done, done};
}

int main(int count, char **words) {
    long samples = 1;
    for (int at = 1; at + 1 < count; at += 2) {
        if (strcmp(words[at], "--params") == 0) parameters = words[at + 1];
        if (strcmp(words[at], "--samples") == 0) samples = atol(words[at + 1]);
    }
    for (; samples > 0; samples--) {
        struct found found = measured(number("times"));
        printf("{\"ns_per_op\":%.6g,\"checksum\":\"%lu\",\"extra\":{}}\n", found.figure, found.checksum);
        fflush(stdout);
    }
    return 0;
}
