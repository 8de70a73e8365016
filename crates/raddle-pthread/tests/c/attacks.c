// What an audit has found: a condition variable with a robust mutex, one that is destroyed as its waiter is woken, a
// barrier that more threads use than it is for, a cancellation that comes when a thread's function has returned.
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

static pthread_mutex_t mutex;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waits, said;

static void *waits_with_a_robust_one(void *nothing) {
    MUST(pthread_mutex_lock(&mutex) == 0);
    waits = 1;
    while (!said) MUST(pthread_cond_wait(&cond, &mutex) == 0);
    TELL(pthread_mutex_unlock(&mutex));
    return nothing;
}

static void robust(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&mutex, &attributes);
    pthread_t thread;
    pthread_create(&thread, NULL, waits_with_a_robust_one, NULL);
    int begun = 0;
    while (!begun) {
        pthread_mutex_lock(&mutex);
        begun = waits;
        if (begun) {
            said = 1;
            pthread_cond_signal(&cond);
        }
        pthread_mutex_unlock(&mutex);
        sched_yield();
    }
    pthread_join(thread, NULL);
    pthread_mutex_lock(&mutex);
    struct timespec at = past();
    TELL(pthread_cond_timedwait(&cond, &mutex, &at));
    TELL(pthread_mutex_unlock(&mutex));
    TELL(pthread_cond_wait(&cond, &mutex));
    TELL(pthread_mutex_destroy(&mutex));
}

enum { TIMES = 5000 };

static void *waits_often(void *nothing) {
    for (int i = 1; i <= TIMES; i++) {
        pthread_mutex_lock(&mutex);
        waits = i;
        while (said < i) pthread_cond_wait(&cond, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    return nothing;
}

static void destroyed_when_woken(void) {
    pthread_mutex_init(&mutex, NULL);
    waits = said = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, waits_often, NULL);
    for (int i = 1; i <= TIMES; i++) {
        for (;;) {
            while (pthread_mutex_trylock(&mutex) != 0) {}
            if (waits == i) break;
            pthread_mutex_unlock(&mutex);
            sched_yield();
        }
        said = i;
        pthread_cond_broadcast(&cond);
        pthread_cond_destroy(&cond);
        memset(&cond, 0, sizeof cond);
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);
    SAY("destroyed");
}

static pthread_barrier_t barrier;
static _Atomic int tickets, serial;

static void *comes(void *nothing) {
    while (tickets++ < 2 * TIMES)
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) serial++;
    return nothing;
}

static void five_at_a_barrier_for_two(void) {
    pthread_t threads[5];
    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 5; i++) pthread_create(&threads[i], NULL, comes, NULL);
    for (int i = 0; i < 5; i++) pthread_join(threads[i], NULL);
    SAY("rounds: %d", serial == TIMES);
    TELL(pthread_barrier_destroy(&barrier));
}

static pthread_key_t key;
static sem_t began, cancelled;

static void says(void *word) {
    SAY("destructor");
    // A cancellation point.
    usleep(1);
}

static void *is_cancelled_too_late(void *nothing) {
    int before;
    pthread_setspecific(key, &key);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    sem_post(&began);
    sem_wait(&cancelled);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    return nothing;
}

static void pending_at_the_end(void) {
    pthread_t thread;
    pthread_key_create(&key, says);
    pthread_create(&thread, NULL, is_cancelled_too_late, NULL);
    sem_wait(&began);
    pthread_cancel(thread);
    sem_post(&cancelled);
    TELL(pthread_join(thread, NULL));
}

static void no_times(void) {
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec never = no_time(), at = past();
    TELL(pthread_rwlock_timedrdlock(&lock, &never));
    TELL(pthread_rwlock_clockwrlock(&lock, 77, &at));
    TELL(pthread_rwlock_timedrdlock(&lock, &at));
    sem_t sem;
    sem_init(&sem, 0, 3);
    TELL_ERRNO(sem_timedwait(&sem, &never));
    TELL_ERRNO(sem_clockwait(&sem, 77, &at));
    TELL_ERRNO(sem_timedwait(&sem, &at));
}

static pthread_mutex_t *shared(int memory) {
    pthread_mutex_t *mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    MUST(mutex != MAP_FAILED);
    return mutex;
}

// A program of its own, with the C library's threads.
static int dies_with_it(int memory) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    MUST(pthread_mutex_init(shared(memory), &attributes) == 0);
    MUST(pthread_mutex_lock(shared(memory)) == 0);
    return 0;
}

static void an_owner_in_another_program_dies(const char *program) {
    int memory = memfd_create("mutex", 0), status;
    MUST(memory >= 0 && ftruncate(memory, 4096) == 0);
    char number[16];
    snprintf(number, sizeof number, "%d", memory);
    pid_t child = fork();
    if (child == 0) {
        unsetenv("LD_PRELOAD");
        execl(program, program, number, NULL);
        _exit(99);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
    pthread_mutex_t *mutex = shared(memory);
    TELL(pthread_mutex_lock(mutex));
    TELL(pthread_mutex_consistent(mutex));
    TELL(pthread_mutex_unlock(mutex));
    TELL(pthread_mutex_lock(mutex));
    TELL(pthread_mutex_unlock(mutex));
}

int main(int words, char **word) {
    if (words > 1) _exit(dies_with_it(atoi(word[1])));
    an_owner_in_another_program_dies(word[0]);
    no_times();
    robust();
    destroyed_when_woken();
    five_at_a_barrier_for_two();
    pending_at_the_end();
}
