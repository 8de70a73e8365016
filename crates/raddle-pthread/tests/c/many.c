// Many threads at once, and many locks: nothing is lost.
#include "check.h"

enum { LOCKS = 100 };

static pthread_mutex_t locks[LOCKS];
static long counters[LOCKS];
static pthread_barrier_t barrier;
static sem_t gate;
static long passed;

static void *alive(void *nothing) {
    sem_wait(&gate);
    __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
    sem_post(&gate);
    return nothing;
}

static void *by_all(void *n) {
    unsigned at = (unsigned)(uintptr_t)n;
    pthread_barrier_wait(&barrier);
    for (int n = 0; n < LOCKS; n++) {
        at = at * 1103515245 + 12345;
        int one = at / 65536 % LOCKS, two = at / 256 % LOCKS;
        pthread_mutex_lock(&locks[one < two ? one : two]);
        if (one != two) pthread_mutex_lock(&locks[one < two ? two : one]);
        counters[one]++;
        counters[two]++;
        if (n % 10 == 0) sched_yield();
        if (one != two) pthread_mutex_unlock(&locks[one]);
        pthread_mutex_unlock(&locks[two]);
    }
    return NULL;
}

int main(int number, char **words) {
    int threads = number > 1 ? atoi(words[1]) : 10000, lockers = threads / 10;
    pthread_t *all = calloc(threads, sizeof *all);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 << 10);
    sem_init(&gate, 0, 0);
    for (int n = 0; n < threads; n++) MUST(pthread_create(&all[n], &attr, alive, NULL) == 0);
    sem_post(&gate);
    for (int n = 0; n < threads; n++) MUST(pthread_join(all[n], NULL) == 0);
    MUST(passed == threads);
    for (int n = 0; n < LOCKS; n++) pthread_mutex_init(&locks[n], NULL);
    pthread_barrier_init(&barrier, NULL, lockers);
    for (intptr_t n = 0; n < lockers; n++) MUST(pthread_create(&all[n], &attr, by_all, (void *)n) == 0);
    for (int n = 0; n < lockers; n++) pthread_join(all[n], NULL);
    long sum = 0;
    for (int n = 0; n < LOCKS; n++) sum += counters[n];
    MUST(sum == 2L * lockers * LOCKS);
    SAY("well");
    return 0;
}
