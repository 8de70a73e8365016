// Cancellation, deferred to the calls that are its points; clean-ups; keys.
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t ready, never;

static void handler(void *what) {
    SAY("clean-up %s", (char *)what);
}

static void unlocks(void *lock) {
    SAY("unlock: %s", name_of(pthread_mutex_unlock(lock)));
}

static void *sleeps(void *nothing) {
    pthread_cleanup_push(handler, "of a sleep");
    sem_post(&ready);
    for (;;) sleep(1000);
    pthread_cleanup_pop(0);
    return nothing;
}

static void *waits(void *nothing) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlocks, &mutex);
    sem_post(&ready);
    for (;;) pthread_cond_wait(&cond, &mutex);
    pthread_cleanup_pop(1);
    return nothing;
}

static void *takes(void *nothing) {
    pthread_cleanup_push(handler, "of a semaphore");
    sem_post(&ready);
    sem_wait(&never);
    pthread_cleanup_pop(0);
    return nothing;
}

static void *tests(void *nothing) {
    sem_post(&ready);
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    return nothing;
}

static void *joins(void *nothing) {
    pthread_t thread;
    pthread_create(&thread, NULL, takes, NULL);
    pthread_join(thread, NULL);
    return nothing;
}

static void *lets_nobody(void *nothing) {
    int before;
    TELL(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before));
    MUST(before == PTHREAD_CANCEL_ENABLE);
    sem_post(&ready);
    struct timespec soon = after(CLOCK_REALTIME, 20);
    TELL_ERRNO(sem_timedwait(&never, &soon));
    pthread_testcancel();
    TELL(pthread_setcancelstate(77, &before));
    TELL(pthread_setcanceltype(77, &before));
    TELL(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before));
    MUST(before == PTHREAD_CANCEL_DEFERRED);
    // Natively what is said from here on would be a cancellation point, too.
    MUST(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before) == 0);
    MUST(before == PTHREAD_CANCEL_DISABLE);
    pthread_testcancel();
    SAY("not here");
    return nothing;
}

static void *ended(void *nothing) {
    return nothing;
}

static void is_cancelled(const char *name, void *(*function)(void *)) {
    pthread_t thread;
    void *result;
    MUST(pthread_create(&thread, NULL, function, NULL) == 0);
    sem_wait(&ready);
    MUST(pthread_cancel(thread) == 0);
    MUST(pthread_join(thread, &result) == 0);
    SAY("%s: %s", name, result == PTHREAD_CANCELED ? "cancelled" : "returned");
}

enum { STORM = 200 };

static int cleaned;

static void counts(void *nothing) {
    (void)nothing;
    __atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
}

static void *in_storm(void *nothing) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(counts, NULL);
    for (;;) pthread_cond_wait(&cond, &mutex);
    pthread_cleanup_pop(0);
    return nothing;
}

static void storm(void) {
    pthread_t threads[STORM];
    for (int n = 0; n < STORM; n++) pthread_create(&threads[n], NULL, in_storm, NULL);
    for (int n = 0; n < STORM; n++) {
        if (n % 3 == 0) pthread_cond_broadcast(&cond);
        pthread_cancel(threads[n]);
    }
    for (int n = 0; n < STORM; n++) {
        void *result;
        pthread_join(threads[n], &result);
        MUST(result == PTHREAD_CANCELED);
    }
    // One that was cancelled before its clean-up was pushed never came so far: none of these points is before it.
    SAY("cleaned: %d", cleaned);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    sem_init(&ready, 0, 0);
    sem_init(&never, 0, 0);
    is_cancelled("sleeps", sleeps);
    is_cancelled("waits", waits);
    is_cancelled("takes", takes);
    is_cancelled("tests", tests);
    is_cancelled("joins", joins);
    is_cancelled("lets nobody", lets_nobody);
    pthread_t thread;
    pthread_create(&thread, NULL, ended, NULL);
    while (pthread_tryjoin_np(thread, NULL)) sched_yield();
    storm();
    return 0;
}
