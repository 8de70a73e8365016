// A handler allocates and frees, whatever it has interrupted: malloc, free, or the first call of a thread.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local unsigned seed;
static _Thread_local unsigned char *kept[16];
static atomic_long handled;

static void holds(unsigned char *block, size_t size, int value) {
    for (size_t at = 0; at < size; at++) assert(block[at] == value);
}

static void handler(int number) {
    (void)number;
    for (int round = 0; round < 3; round++) {
        seed = seed * 1103515245 + 12345;
        int place = seed >> 16 & 15;
        if (kept[place]) holds(kept[place], 48, 0xaa), free(kept[place]);
        assert((kept[place] = malloc(48)));
        memset(kept[place], 0xaa, 48);
    }
    atomic_fetch_add(&handled, 1);
}

static atomic_int ready, over;

static void *works(void *argument) {
    unsigned mine = (unsigned)(size_t)argument;
    unsigned char *blocks[64] = {0};
    atomic_fetch_add(&ready, 1);
    while (!atomic_load(&over)) {
        mine = mine * 1103515245 + 12345;
        int place = mine >> 16 & 63;
        if (blocks[place]) holds(blocks[place], 48, 0x55), free(blocks[place]);
        assert((blocks[place] = malloc(mine >> 24 & 1 ? 48 : 47)));
        memset(blocks[place], 0x55, 48);
    }
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    assert(!sigaction(SIGUSR1, &action, NULL));
    pthread_t threads[2];
    for (size_t number = 0; number < 2; number++)
        assert(!pthread_create(&threads[number], NULL, works, (void *)(number + 1)));
    while (atomic_load(&ready) < 2) sched_yield();
    // Signals that nobody has had yet are one: more are sent until so many have been handled.
    for (int round = 0; atomic_load(&handled) < 400; round++) {
        assert(!pthread_kill(threads[round & 1], SIGUSR1));
        sched_yield();
    }
    atomic_store(&over, 1);
    for (int number = 0; number < 2; number++) pthread_join(threads[number], NULL);
    return 0;
}
