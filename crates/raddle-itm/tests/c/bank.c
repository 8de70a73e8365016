/* Threads move money between accounts, others add all up: no sum is ever wrong, not even in an attempt in vain. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 256, START = 100 };
static long accounts[ACCOUNTS];
static int rounds;
static volatile int wrong;

__attribute__((transaction_pure)) static void is_wrong(void) { wrong = 1; }

static void *moves(void *argument) {
    unsigned seed = (unsigned)(long)argument * 2654435761u + 1;
    for (int i = 0; i < rounds; i++) {
        unsigned from = (seed = seed * 1103515245u + 12345) >> 8, to = (seed = seed * 1103515245u + 12345) >> 8;
        __transaction_atomic {
            accounts[from % ACCOUNTS] -= i;
            accounts[to % ACCOUNTS] += i;
        }
    }
    return 0;
}

static void *adds(void *argument) {
    for (int i = 0; i < rounds / 50; i++) {
        long sum = 0;
        __transaction_atomic {
            sum = 0;
            for (int k = 0; k < ACCOUNTS; k++) sum += accounts[k];
            if (sum != ACCOUNTS * START) is_wrong();
        }
        if (sum != ACCOUNTS * START) wrong = 1;
    }
    return argument;
}

int main(int count, char **arguments) {
    int threads = atoi(arguments[1]);
    rounds = atoi(arguments[2]);
    pthread_t all[64];
    for (int i = 0; i < ACCOUNTS; i++) accounts[i] = START;
    for (long i = 0; i < threads; i++) pthread_create(&all[i], 0, i % 4 == 3 ? adds : moves, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(all[i], 0);
    long sum = 0;
    for (int i = 0; i < ACCOUNTS; i++) sum += accounts[i];
    printf("%ld %s\n", sum, wrong ? "wrong" : "well");
    return 0;
}
