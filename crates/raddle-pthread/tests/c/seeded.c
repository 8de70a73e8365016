// The order in which threads come is one that a seed has chosen.
#include "check.h"
enum { THREADS = 8, ROUNDS = 20 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static char order[THREADS * ROUNDS + 1];
static int at;
static void *comes(void *number) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        order[at++] = 'a' + (intptr_t)number;
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&mutex);
        // Time is the seed's, too.
        if (round % 3 == 0) usleep(1 + (intptr_t)number * 7 % 5);
        sched_yield();
    }
    return NULL;
}
int main(void) {
    pthread_t all[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) MUST(pthread_create(&all[i], NULL, comes, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) MUST(pthread_join(all[i], NULL) == 0);
    puts(order);
}
