// Mutexes whose holder ends; what is shared with a child.
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

static pthread_mutex_t mutex;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t ready;

static void make(pthread_mutex_t *it, int type, int protocol) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    MUST(pthread_mutex_init(it, &attributes) == 0);
    pthread_mutexattr_destroy(&attributes);
}

static void *keeps_it(void *nothing) {
    MUST(pthread_mutex_lock(&mutex) == 0);
    return NULL;
}

static void *keeps_it_twice(void *nothing) {
    MUST(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == 0);
    pthread_exit(NULL);
}

static void *keeps_it_until_asked(void *nothing) {
    MUST(pthread_mutex_lock(&mutex) == 0);
    sem_post(&ready);
    for (;;) pause();
}

static void *tells(void *nothing) {
    sem_post(&ready);
    int error = pthread_mutex_lock(&mutex);
    SAY("who waits: %s", name_of(error));
    if (error == EOWNERDEAD) {
        TELL(pthread_mutex_consistent(&mutex));
        TELL(pthread_mutex_unlock(&mutex));
    }
    return NULL;
}

static pthread_t start(void *(*function)(void *)) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, function, NULL) == 0);
    return thread;
}

static void join(pthread_t thread) {
    MUST(pthread_join(thread, NULL) == 0);
}

static void ended(int type, int protocol) {
    make(&mutex, type, protocol);
    TELL(pthread_mutex_consistent(&mutex));
    TELL(pthread_mutex_unlock(&mutex));
    join(start(type == PTHREAD_MUTEX_RECURSIVE ? keeps_it_twice : keeps_it));
    TELL(pthread_mutex_lock(&mutex));
    TELL(pthread_mutex_consistent(&mutex));
    TELL(pthread_mutex_consistent(&mutex));
    TELL(pthread_mutex_unlock(&mutex));
    TELL(pthread_mutex_trylock(&mutex));
    TELL(pthread_mutex_unlock(&mutex));
    join(start(keeps_it));
    TELL(pthread_mutex_trylock(&mutex));
    // Given back as it is.
    TELL(pthread_mutex_unlock(&mutex));
    TELL(pthread_mutex_lock(&mutex));
    TELL(pthread_mutex_trylock(&mutex));
    TELL(pthread_mutex_destroy(&mutex));
}

static void waits(void) {
    make(&mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE);
    pthread_t holder = start(keeps_it_until_asked);
    sem_wait(&ready);
    pthread_t waiter = start(tells);
    sem_wait(&ready);
    pthread_cancel(holder);
    join(holder);
    join(waiter);
    TELL(pthread_mutex_lock(&mutex));
    TELL(pthread_mutex_unlock(&mutex));
    TELL(pthread_mutex_destroy(&mutex));
}

// Several at once, given back in another order.
static pthread_mutex_t many[5];

static void *keeps_some(void *nothing) {
    for (int at = 0; at < 5; at++) MUST(pthread_mutex_lock(&many[at]) == 0);
    MUST(pthread_mutex_unlock(&many[2]) == 0 && pthread_mutex_unlock(&many[4]) == 0);
    MUST(pthread_mutex_unlock(&many[0]) == 0);
    return NULL;
}

static void some(void) {
    for (int at = 0; at < 5; at++) make(&many[at], PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE);
    join(start(keeps_some));
    for (int at = 0; at < 5; at++) TELL(pthread_mutex_lock(&many[at]));
}

static void *ends_as_one_waits(void *nothing) {
    MUST(pthread_mutex_lock(&mutex) == 0);
    pthread_cond_signal(&cond);
    return NULL;
}

static void with_condition(void) {
    make(&mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE);
    MUST(pthread_mutex_lock(&mutex) == 0);
    pthread_t other = start(ends_as_one_waits);
    int error = 0;
    while (error == 0) error = pthread_cond_wait(&cond, &mutex);
    SAY("who waits by a condition: %s", name_of(error));
    TELL(pthread_mutex_consistent(&mutex));
    TELL(pthread_mutex_unlock(&mutex));
    join(other);
}

struct Shared {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    pthread_barrier_t barrier;
    pthread_rwlock_t rwlock;
    sem_t there, back;
    int turn, counted;
};

static void *spins_too(void *shared) {
    struct Shared *it = shared;
    for (int round = 0; round < 200; round++) {
        pthread_mutex_lock(&it->mutex);
        it->counted++;
        pthread_mutex_unlock(&it->mutex);
    }
    return NULL;
}

static void play(struct Shared *it, int me) {
    for (int round = 0; round < 100; round++) {
        pthread_mutex_lock(&it->mutex);
        while (it->turn != me) pthread_cond_wait(&it->cond, &it->mutex);
        it->turn = !me;
        pthread_cond_broadcast(&it->cond);
        pthread_mutex_unlock(&it->mutex);
    }
    for (int round = 0; round < 50; round++) pthread_barrier_wait(&it->barrier);
    for (int round = 0; round < 100; round++) {
        pthread_rwlock_wrlock(&it->rwlock);
        it->counted++;
        pthread_rwlock_unlock(&it->rwlock);
        pthread_rwlock_rdlock(&it->rwlock);
        pthread_rwlock_unlock(&it->rwlock);
    }
    for (int round = 0; round < 100; round++) {
        if (me) {
            sem_wait(&it->there);
            sem_post(&it->back);
        } else {
            sem_post(&it->there);
            sem_wait(&it->back);
        }
    }
    pthread_barrier_wait(&it->barrier);
    pthread_t all[4];
    for (int at = 0; at < 4; at++) MUST(pthread_create(&all[at], NULL, spins_too, it) == 0);
    for (int at = 0; at < 4; at++) join(all[at]);
}

static void shared(void) {
    struct Shared *it = mmap(NULL, sizeof *it, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(it != MAP_FAILED);
    pthread_mutexattr_t of_mutex;
    pthread_mutexattr_init(&of_mutex);
    pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
    pthread_condattr_t of_cond;
    pthread_condattr_init(&of_cond);
    pthread_condattr_setpshared(&of_cond, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_t of_barrier;
    pthread_barrierattr_init(&of_barrier);
    pthread_barrierattr_setpshared(&of_barrier, PTHREAD_PROCESS_SHARED);
    pthread_rwlockattr_t of_rwlock;
    pthread_rwlockattr_init(&of_rwlock);
    pthread_rwlockattr_setpshared(&of_rwlock, PTHREAD_PROCESS_SHARED);
    MUST(pthread_mutex_init(&it->mutex, &of_mutex) == 0 && pthread_cond_init(&it->cond, &of_cond) == 0);
    MUST(pthread_barrier_init(&it->barrier, &of_barrier, 2) == 0 && pthread_rwlock_init(&it->rwlock, &of_rwlock) == 0);
    MUST(sem_init(&it->there, 1, 0) == 0 && sem_init(&it->back, 1, 0) == 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        play(it, 1);
        _exit(0);
    }
    play(it, 0);
    MUST(waitpid(child, NULL, 0) == child);
    SAY("counted with a child: %d", it->counted);
}

int main(void) {
    sem_init(&ready, 0, 0);
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
    for (int at = 0; at < 3; at++) ended(types[at], PTHREAD_PRIO_NONE);
    ended(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT);
    waits();
    some();
    with_condition();
    shared();
    return 0;
}
