// 1000 threads by 1000 locks, with cancellations and signals: so many times a hundred of these.
#include "check.h"
enum { THREADS = 1000, LOCKS = 1000 };
static pthread_mutex_t locks[LOCKS];
static long values[LOCKS];
static volatile int over;
static long handled, cancelled, done;
static void on_user(int signal) { __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED); }
static void gives_back(void *lock) { pthread_mutex_unlock(lock); }
static void *works(void *number) {
    unsigned seed = (intptr_t)number * 2654435761u + 1;
    for (int round = 0; !over; round++) {
        seed = seed * 1103515245 + 12345;
        int one = seed / 65536 % LOCKS;
        pthread_mutex_lock(&locks[one]);
        pthread_cleanup_push(gives_back, &locks[one]);
        long seen = values[one];
        if (round % 16 == 0) usleep(100); else if (round % 8 == 0) sched_yield();
        values[one] = seen + 1;
        __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
        pthread_cleanup_pop(1);
    }
    return number;
}
int main(int count, char **words) {
    int hundreds = count > 1 ? atoi(words[1]) : 1;
    struct sigaction action = {.sa_handler = on_user, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    for (int at = 0; at < LOCKS; at++) pthread_mutex_init(&locks[at], NULL);
    pthread_t all[THREADS];
    for (intptr_t at = 0; at < THREADS; at++) MUST(pthread_create(&all[at], NULL, works, (void *)at) == 0);
    long made = THREADS, sent = 0;
    unsigned seed = 7;
    for (int times = 0; times < hundreds * 100; times++) {
        seed = seed * 1103515245 + 12345;
        int one = seed / 65536 % THREADS;
        if (times % 4) {
            MUST(pthread_kill(all[one], SIGUSR1) == 0);
            sent++;
            continue;
        }
        MUST(pthread_cancel(all[one]) == 0);
        void *result;
        MUST(pthread_join(all[one], &result) == 0 && result == PTHREAD_CANCELED);
        cancelled++;
        MUST(pthread_create(&all[one], NULL, works, (void *)(intptr_t)one) == 0);
        made++;
    }
    over = 1;
    for (int at = 0; at < THREADS; at++) MUST(pthread_join(all[at], NULL) == 0);
    long sum = 0;
    for (int at = 0; at < LOCKS; at++) {
        sum += values[at];
        MUST(pthread_mutex_trylock(&locks[at]) == 0);
    }
    MUST(sum == done && handled > 0 && handled <= sent);
    SAY("made %ld, cancelled %ld, sent %ld", made, cancelled, sent);
}
