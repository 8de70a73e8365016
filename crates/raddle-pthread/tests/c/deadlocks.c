// Programs that wait for ever, by the name of their fault; and one that does not, though all its threads wait.
#include "check.h"
#include <sys/time.h>

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never_signalled = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static pthread_t joiners[2];
static sem_t woken;

static void *first_then_second(void *nothing) {
    pthread_mutex_lock(&first_lock);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&second_lock);
    return nothing;
}

static void *second_then_first(void *nothing) {
    pthread_mutex_lock(&second_lock);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first_lock);
    return nothing;
}

static void *joins(void *other) {
    pthread_barrier_wait(&both);
    pthread_join(joiners[(intptr_t)other], NULL);
    return NULL;
}

static void *waits(void *nothing) {
    pthread_mutex_lock(&first_lock);
    for (;;) pthread_cond_wait(&never_signalled, &first_lock);
    return nothing;
}

static void handler(int signal) {
    sem_post(&woken);
}

int main(int count, char **words) {
    pthread_t one, two;
    MUST(count == 2);
    if (strcmp(words[1], "locks") == 0) {
        pthread_barrier_init(&both, NULL, 2);
        pthread_create(&one, NULL, first_then_second, NULL);
        pthread_create(&two, NULL, second_then_first, NULL);
        pthread_join(one, NULL);
    } else if (strcmp(words[1], "joins") == 0) {
        pthread_barrier_init(&both, NULL, 3);
        pthread_create(&joiners[0], NULL, joins, (void *)1);
        pthread_create(&joiners[1], NULL, joins, (void *)0);
        pthread_barrier_wait(&both);
        pthread_mutex_lock(&first_lock);
        for (;;) pthread_cond_wait(&never_signalled, &first_lock);
    } else if (strcmp(words[1], "lost") == 0) {
        pthread_create(&one, NULL, waits, NULL);
        pthread_create(&two, NULL, waits, NULL);
        pthread_join(one, NULL);
    } else if (strcmp(words[1], "handler") == 0) {
        sem_init(&woken, 0, 0);
        struct sigaction action = {.sa_handler = handler};
        MUST(sigaction(SIGALRM, &action, NULL) == 0);
        struct itimerval soon = {.it_value.tv_usec = 700000};
        MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
        while (sem_wait(&woken) != 0) MUST(errno == EINTR);
        SAY("woken by a handler");
    }
    return 0;
}
