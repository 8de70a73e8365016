// Who runs when: the same from the same seed.
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static char order[1000];
static int said, turns, waiting, alive = 8;

static void *takes_turns(void *number) {
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    for (int round = 0; round < 50; round++) {
        pthread_mutex_lock(&mutex);
        order[said++] = '0' + (int)(long)number;
        turns++;
        pthread_cond_broadcast(&cond);
        if (round % 5 == 2 && waiting + 1 < alive) {
            waiting++;
            for (int turn = turns; turn == turns;) pthread_cond_wait(&cond, &mutex);
            waiting--;
        }
        pthread_mutex_unlock(&mutex);
        if (round % 3 == 0) sched_yield();
        if (round % 11 == 0) pthread_sigmask(round % 2 ? SIG_BLOCK : SIG_UNBLOCK, &some, NULL);
    }
    pthread_mutex_lock(&mutex);
    turns++;
    alive--;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    MUST(pthread_sigmask(SIG_BLOCK, &some, NULL) == 0);
    pthread_t all[8];
    for (long at = 0; at < 8; at++) MUST(pthread_create(&all[at], NULL, takes_turns, (void *)at) == 0);
    for (int at = 0; at < 8; at++) MUST(pthread_join(all[at], NULL) == 0);
    SAY("%s", order);
    return 0;
}
