// Mutexes of all kinds, read-write locks, spins, once: what they answer, and that they exclude.
#include "check.h"

enum { THREADS = 8, ROUNDS = 2000 };

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int counter, onces;

#define ADDS(name, lock, unlock) \
    static void *name(void *nothing) { \
        for (int n = 0; n < ROUNDS; n++) { \
            MUST(lock == 0); \
            int seen = counter; \
            if (n % 64 == 0) sched_yield(); \
            counter = seen + 1; \
            MUST(unlock == 0); \
        } \
        return nothing; \
    }

ADDS(by_plain, pthread_mutex_lock(&plain), pthread_mutex_unlock(&plain))
ADDS(by_recursive, pthread_mutex_lock(&recursive) || pthread_mutex_lock(&recursive),
     pthread_mutex_unlock(&recursive) || pthread_mutex_unlock(&recursive))
ADDS(by_checked, pthread_mutex_lock(&checked), pthread_mutex_unlock(&checked))
ADDS(by_adaptive, pthread_mutex_lock(&adaptive), pthread_mutex_unlock(&adaptive))
ADDS(by_rwlock, pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock))
ADDS(by_writers, pthread_rwlock_wrlock(&writers), pthread_rwlock_unlock(&writers))
ADDS(by_spin, pthread_spin_lock(&spin), pthread_spin_unlock(&spin))

static void many(const char *name, void *(*function)(void *)) {
    pthread_t threads[THREADS];
    counter = 0;
    for (int n = 0; n < THREADS; n++) pthread_create(&threads[n], NULL, function, NULL);
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    SAY("%s: %d", name, counter);
}

static void once_only(void) {
    sched_yield();
    onces++;
}

static void *by_once(void *nothing) {
    pthread_once(&once, once_only);
    MUST(onces == 1);
    return nothing;
}

static void *others(void *nothing) {
    struct timespec soon = after(CLOCK_REALTIME, 20), old = past(), none = no_time();
    TELL(pthread_mutex_trylock(&plain));
    TELL(pthread_mutex_timedlock(&plain, &soon));
    TELL(pthread_mutex_timedlock(&plain, &old));
    TELL(pthread_mutex_timedlock(&plain, &none));
    soon = after(CLOCK_MONOTONIC, 20);
    TELL(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &soon));
    TELL(pthread_mutex_clocklock(&plain, 77, &soon));
    TELL(pthread_mutex_trylock(&recursive));
    TELL(pthread_mutex_unlock(&recursive));
    TELL(pthread_mutex_trylock(&checked));
    TELL(pthread_mutex_unlock(&checked));
    TELL(pthread_rwlock_tryrdlock(&rwlock));
    TELL(pthread_rwlock_trywrlock(&rwlock));
    TELL(pthread_rwlock_timedrdlock(&rwlock, &old));
    TELL(pthread_rwlock_timedwrlock(&rwlock, &old));
    TELL(pthread_rwlock_timedwrlock(&rwlock, &none));
    TELL(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &soon));
    TELL(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &soon));
    TELL(pthread_spin_trylock(&spin));
    return nothing;
}

static void answers(void) {
    struct timespec old = past();
    pthread_t thread;
    TELL(pthread_mutex_lock(&plain));
    TELL(pthread_mutex_trylock(&plain));
    TELL(pthread_mutex_destroy(&plain));
    TELL(pthread_mutex_lock(&recursive));
    TELL(pthread_mutex_lock(&recursive));
    TELL(pthread_mutex_trylock(&recursive));
    TELL(pthread_mutex_timedlock(&recursive, &old));
    TELL(pthread_mutex_lock(&checked));
    TELL(pthread_mutex_lock(&checked));
    TELL(pthread_mutex_trylock(&checked));
    TELL(pthread_mutex_timedlock(&checked, &old));
    TELL(pthread_rwlock_wrlock(&rwlock));
    TELL(pthread_rwlock_wrlock(&rwlock));
    TELL(pthread_rwlock_rdlock(&rwlock));
    TELL(pthread_rwlock_tryrdlock(&rwlock));
    TELL(pthread_spin_lock(&spin));
    pthread_create(&thread, NULL, others, NULL);
    pthread_join(thread, NULL);
    TELL(pthread_spin_unlock(&spin));
    TELL(pthread_rwlock_unlock(&rwlock));
    TELL(pthread_rwlock_rdlock(&rwlock));
    TELL(pthread_rwlock_rdlock(&rwlock));
    TELL(pthread_rwlock_trywrlock(&rwlock));
    TELL(pthread_rwlock_unlock(&rwlock));
    TELL(pthread_rwlock_unlock(&rwlock));
    TELL(pthread_rwlock_trywrlock(&rwlock));
    TELL(pthread_rwlock_unlock(&rwlock));
    for (int n = 0; n < 5; n++) TELL(pthread_mutex_unlock(&recursive));
    TELL(pthread_mutex_unlock(&checked));
    TELL(pthread_mutex_unlock(&checked));
    TELL(pthread_mutex_unlock(&plain));
    TELL(pthread_mutex_destroy(&plain));
    TELL(pthread_mutex_lock(&plain));
    TELL(pthread_mutex_init(&plain, NULL));
    TELL(pthread_mutex_lock(&plain));
    TELL(pthread_mutex_unlock(&plain));
}

static void kinds(void) {
    int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
    for (int n = 0; n < 3; n++) {
        pthread_mutexattr_t attr;
        pthread_mutex_t mutex;
        pthread_mutexattr_init(&attr);
        pthread_mutexattr_settype(&attr, kinds[n]);
        pthread_mutexattr_setprotocol(&attr, n == 1 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
        TELL(pthread_mutex_init(&mutex, &attr));
        TELL(pthread_mutex_lock(&mutex));
        TELL(pthread_mutex_unlock(&mutex));
        TELL(pthread_mutex_destroy(&mutex));
        pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE);
        TELL(pthread_mutex_init(&mutex, &attr));
        TELL(pthread_mutex_lock(&mutex));
        TELL(pthread_mutex_unlock(&mutex));
        TELL(pthread_mutex_destroy(&mutex));
    }
}

static int is_set;

static void *sets(void *nothing) {
    pthread_mutex_lock(&plain);
    is_set = 1;
    pthread_mutex_unlock(&plain);
    return nothing;
}

// Threads that look again and again, by a lock and by a try, for what another has yet to do.
static void *looks(void *tries) {
    for (int seen = 0; !seen;) {
        if (tries && pthread_mutex_trylock(&plain)) continue;
        if (!tries) pthread_mutex_lock(&plain);
        seen = is_set;
        pthread_mutex_unlock(&plain);
    }
    return NULL;
}

static void lookers(void) {
    pthread_t threads[8], thread;
    for (intptr_t n = 0; n < 8; n++) pthread_create(&threads[n], NULL, looks, (void *)(n % 2));
    pthread_create(&thread, NULL, sets, NULL);
    for (int n = 0; n < 8; n++) pthread_join(threads[n], NULL);
    pthread_join(thread, NULL);
    SAY("seen");
}

static mtx_t mtx;
static cnd_t cnd;
static once_flag flag = ONCE_FLAG_INIT;

static int c11(void *ready) {
    call_once(&flag, once_only);
    mtx_lock(&mtx);
    *(int *)ready = 1;
    cnd_signal(&cnd);
    mtx_unlock(&mtx);
    return 3;
}

static void c11_locks(void) {
    thrd_t thread;
    int ready = 0, code;
    struct timespec old = past();
    SAY("%d %d", mtx_init(&mtx, mtx_timed | mtx_recursive), cnd_init(&cnd));
    SAY("%d %d", mtx_lock(&mtx), mtx_trylock(&mtx));
    SAY("%d", mtx_unlock(&mtx));
    SAY("%d", mtx_timedlock(&mtx, &old));
    SAY("%d", mtx_unlock(&mtx));
    SAY("%d", cnd_timedwait(&cnd, &mtx, &old) == thrd_timedout);
    thrd_create(&thread, c11, &ready);
    while (!ready) cnd_wait(&cnd, &mtx);
    SAY("%d %d", mtx_unlock(&mtx), cnd_broadcast(&cnd));
    thrd_join(thread, &code);
    SAY("%d", code);
    cnd_destroy(&cnd);
    mtx_destroy(&mtx);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    many("plain", by_plain);
    many("recursive", by_recursive);
    many("checked", by_checked);
    many("adaptive", by_adaptive);
    many("rwlock", by_rwlock);
    many("writers", by_writers);
    many("spin", by_spin);
    many("once", by_once);
    answers();
    lookers();
    kinds();
    onces = 0;
    c11_locks();
    return 0;
}
