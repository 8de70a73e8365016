// Condition variables, barriers, semaphores, sleeps.
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, back = PTHREAD_COND_INITIALIZER;
static int turn, woken;

enum { ROUNDS = 2000, MANY = 32 };

static void *plays(void *who) {
    int own = (int)(intptr_t)who;
    for (int n = 0; n < ROUNDS; n++) {
        pthread_mutex_lock(&mutex);
        while (turn % 2 != own) pthread_cond_wait(own ? &back : &cond, &mutex);
        turn++;
        pthread_cond_signal(own ? &cond : &back);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static int open_gate;

static void *waits_at_gate(void *kind) {
    pthread_mutex_lock(&mutex);
    while (!open_gate) {
        struct timespec late = after(CLOCK_REALTIME, 600000), later = after(CLOCK_MONOTONIC, 600000);
        switch ((intptr_t)kind % 3) {
        case 0: pthread_cond_wait(&cond, &mutex); break;
        case 1: pthread_cond_timedwait(&cond, &mutex, &late); break;
        default: pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &later);
        }
    }
    woken++;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void conditions(void) {
    pthread_t threads[MANY];
    for (intptr_t n = 0; n < 2; n++) pthread_create(&threads[n], NULL, plays, (void *)n);
    for (int n = 0; n < 2; n++) pthread_join(threads[n], NULL);
    SAY("turns: %d", turn);
    for (intptr_t n = 0; n < MANY; n++) pthread_create(&threads[n], NULL, waits_at_gate, (void *)n);
    for (int n = 0; n < 100; n++) sched_yield();
    pthread_mutex_lock(&mutex);
    open_gate = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    for (int n = 0; n < MANY; n++) pthread_join(threads[n], NULL);
    SAY("woken: %d", woken);
    struct timespec soon = after(CLOCK_REALTIME, 20), old = past(), none = no_time();
    pthread_mutex_lock(&mutex);
    TELL(pthread_cond_timedwait(&cond, &mutex, &soon));
    MUST(after(CLOCK_REALTIME, 0).tv_sec >= soon.tv_sec);
    TELL(pthread_cond_timedwait(&cond, &mutex, &old));
    TELL(pthread_cond_timedwait(&cond, &mutex, &none));
    soon = after(CLOCK_MONOTONIC, 20);
    TELL(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &soon));
    TELL(pthread_cond_clockwait(&cond, &mutex, 77, &soon));
    TELL(pthread_mutex_trylock(&mutex));
    pthread_mutex_unlock(&mutex);
    pthread_condattr_t attr;
    pthread_cond_t own;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    TELL(pthread_cond_init(&own, &attr));
    pthread_mutex_lock(&mutex);
    soon = after(CLOCK_MONOTONIC, 20);
    TELL(pthread_cond_timedwait(&own, &mutex, &soon));
    pthread_mutex_unlock(&mutex);
    TELL(pthread_cond_signal(&own));
    TELL(pthread_cond_broadcast(&own));
    TELL(pthread_cond_destroy(&own));
    pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_t shared;
    pthread_mutex_t both;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&both, &shared);
    TELL(pthread_cond_init(&own, &attr));
    pthread_mutex_lock(&both);
    soon = after(CLOCK_MONOTONIC, 20);
    TELL(pthread_cond_timedwait(&own, &both, &soon));
    pthread_mutex_unlock(&both);
    TELL(pthread_cond_destroy(&own));
    pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    TELL(pthread_cond_wait(&cond, &checked));
}

// A condition variable that goes as soon as its waiters have been woken.
struct brief {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int is_done;
};

static void *ends_brief(void *data) {
    struct brief *brief = data;
    pthread_mutex_lock(&brief->mutex);
    brief->is_done = 1;
    pthread_cond_broadcast(&brief->cond);
    pthread_mutex_unlock(&brief->mutex);
    return NULL;
}

static void briefs(void) {
    for (int n = 0; n < 300; n++) {
        struct brief *brief = malloc(sizeof *brief);
        pthread_t thread;
        pthread_mutex_init(&brief->mutex, NULL);
        pthread_cond_init(&brief->cond, NULL);
        brief->is_done = 0;
        pthread_create(&thread, NULL, ends_brief, brief);
        pthread_mutex_lock(&brief->mutex);
        while (!brief->is_done) pthread_cond_wait(&brief->cond, &brief->mutex);
        pthread_mutex_unlock(&brief->mutex);
        pthread_join(thread, NULL);
        MUST(pthread_cond_destroy(&brief->cond) == 0);
        MUST(pthread_mutex_destroy(&brief->mutex) == 0);
        memset(brief, -1, sizeof *brief);
        free(brief);
    }
}

static pthread_barrier_t barrier;
static int rounds[100], serials;

static void *meets(void *nothing) {
    for (int n = 0; n < 100; n++) {
        __atomic_fetch_add(&rounds[n], 1, __ATOMIC_RELAXED);
        int answer = pthread_barrier_wait(&barrier);
        MUST(rounds[n] == MANY);
        MUST(answer == 0 || answer == PTHREAD_BARRIER_SERIAL_THREAD);
        if (answer) __atomic_fetch_add(&serials, 1, __ATOMIC_RELAXED);
    }
    return nothing;
}

static void barriers(void) {
    pthread_t threads[MANY];
    TELL(pthread_barrier_init(&barrier, NULL, 0));
    TELL(pthread_barrier_init(&barrier, NULL, MANY));
    for (int n = 0; n < MANY; n++) pthread_create(&threads[n], NULL, meets, NULL);
    for (int n = 0; n < MANY; n++) pthread_join(threads[n], NULL);
    SAY("serial: %d", serials);
    TELL(pthread_barrier_destroy(&barrier));
    TELL(pthread_barrier_init(&barrier, NULL, 1));
    SAY("%d", pthread_barrier_wait(&barrier));
    TELL(pthread_barrier_destroy(&barrier));
}

static sem_t ping, pong;

static void *answers(void *nothing) {
    for (int n = 0; n < ROUNDS; n++) {
        sem_wait(&ping);
        sem_post(&pong);
    }
    return nothing;
}

static void semaphores(void) {
    pthread_t thread;
    int value;
    TELL_ERRNO(sem_init(&ping, 0, 0));
    TELL_ERRNO(sem_init(&pong, 0, 3));
    TELL_ERRNO(sem_init(&pong, 0, UINT_MAX));
    sem_getvalue(&pong, &value);
    SAY("%d", value);
    TELL_ERRNO(sem_trywait(&ping));
    struct timespec soon = after(CLOCK_REALTIME, 20), old = past(), none = no_time();
    TELL_ERRNO(sem_timedwait(&ping, &soon));
    TELL_ERRNO(sem_timedwait(&ping, &old));
    TELL_ERRNO(sem_timedwait(&ping, &none));
    soon = after(CLOCK_MONOTONIC, 20);
    TELL_ERRNO(sem_clockwait(&ping, CLOCK_MONOTONIC, &soon));
    TELL_ERRNO(sem_clockwait(&ping, 77, &soon));
    TELL_ERRNO(sem_post(&pong));
    TELL_ERRNO(sem_timedwait(&pong, &old));
    pthread_create(&thread, NULL, answers, NULL);
    for (int n = 0; n < 2; n++) sem_wait(&pong);
    for (int n = 0; n < ROUNDS; n++) {
        sem_post(&ping);
        sem_wait(&pong);
    }
    pthread_join(thread, NULL);
    sem_getvalue(&pong, &value);
    SAY("%d", value);
    sem_t full;
    sem_init(&full, 0, INT_MAX);
    TELL_ERRNO(sem_post(&full));
    sem_init(&full, 1, 1);
    TELL_ERRNO(sem_wait(&full));
    TELL_ERRNO(sem_trywait(&full));
    TELL_ERRNO(sem_post(&full));
    TELL_ERRNO(sem_destroy(&full));
}

static void *sleeps(void *nothing) {
    struct timespec span = {.tv_nsec = 1000000}, wrong = {.tv_nsec = -1}, left;
    struct timespec before = after(CLOCK_MONOTONIC, 0), then = after(CLOCK_MONOTONIC, 5), now;
    TELL_ERRNO(nanosleep(&span, &left));
    TELL_ERRNO(nanosleep(&wrong, &left));
    TELL_ERRNO(usleep(1000));
    SAY("%u", sleep(0));
    TELL(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL));
    TELL(clock_nanosleep(CLOCK_REALTIME, 0, &span, NULL));
    TELL(clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL));
    TELL(clock_nanosleep(77, 0, &span, NULL));
    SAY("%d", thrd_sleep(&span, NULL));
    clock_gettime(CLOCK_MONOTONIC, &now);
    MUST((now.tv_sec - before.tv_sec) * 1000 + (now.tv_nsec - before.tv_nsec) / 1000000 >= 4);
    return nothing;
}

int main(void) {
    pthread_t thread;
    setvbuf(stdout, NULL, _IOLBF, 0);
    conditions();
    briefs();
    barriers();
    semaphores();
    pthread_create(&thread, NULL, sleeps, NULL);
    pthread_join(thread, NULL);
    sleeps(NULL);
    return 0;
}
