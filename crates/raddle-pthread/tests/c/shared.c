// Robust mutexes that are shared with other programs: their holder, or its whole process, ends.
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct Shared {
    pthread_mutex_t mutex, other;
    pthread_cond_t cond;
    sem_t ready, go;
    int turn;
};

static struct Shared *shared;

static void make(pthread_mutex_t *it, int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    MUST(pthread_mutexattr_settype(&attributes, type) == 0);
    MUST(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
    MUST(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
    MUST(pthread_mutex_init(it, &attributes) == 0);
    pthread_mutexattr_destroy(&attributes);
}

static void wait_for(sem_t *it) {
    while (sem_wait(it) != 0) MUST(errno == EINTR);
}

static pid_t child(void (*runs)(void)) {
    fflush(stdout);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        runs();
        _exit(0);
    }
    return child;
}

static void reap(pid_t child) {
    int status;
    MUST(waitpid(child, &status, 0) == child);
    MUST(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
}

static void locks(void) {
    MUST(pthread_mutex_lock(&shared->mutex) == 0);
}

static void locks_both(void) {
    MUST(pthread_mutex_lock(&shared->other) == 0 && pthread_mutex_lock(&shared->mutex) == 0);
}

static void locks_and_stays(void) {
    MUST(pthread_mutex_lock(&shared->mutex) == 0);
    sem_post(&shared->ready);
    for (;;) pause();
}

static void locks_until_asked(void) {
    MUST(pthread_mutex_lock(&shared->mutex) == 0);
    sem_post(&shared->ready);
    wait_for(&shared->go);
    MUST(pthread_mutex_unlock(&shared->mutex) == 0);
}

static void *thread_locks(void *nothing) {
    locks();
    return NULL;
}

static void thread_of_child(void) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, thread_locks, NULL) == 0 && pthread_join(thread, NULL) == 0);
    int error = pthread_mutex_lock(&shared->mutex);
    MUST(error == EOWNERDEAD && pthread_mutex_consistent(&shared->mutex) == 0);
}

static void *thread_locks_and_stays(void *nothing) {
    locks_and_stays();
    return NULL;
}

static void thread_of_child_stays(void) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, thread_locks_and_stays, NULL) == 0);
    pthread_join(thread, NULL);
}

static void *tells(void *nothing) {
    sem_post(&shared->ready);
    int error = pthread_mutex_lock(&shared->mutex);
    SAY("who waits: %s", name_of(error));
    if (error == EOWNERDEAD) TELL(pthread_mutex_consistent(&shared->mutex));
    TELL(pthread_mutex_unlock(&shared->mutex));
    return NULL;
}

// Taken back from one who has ended, and as before.
static void taken_back(void) {
    TELL(pthread_mutex_lock(&shared->mutex));
    TELL(pthread_mutex_consistent(&shared->mutex));
    TELL(pthread_mutex_consistent(&shared->mutex));
    TELL(pthread_mutex_unlock(&shared->mutex));
    TELL(pthread_mutex_lock(&shared->mutex));
    TELL(pthread_mutex_unlock(&shared->mutex));
}

static void with_children(int type) {
    make(&shared->mutex, type);
    make(&shared->other, type);
    reap(child(locks));
    taken_back();
    reap(child(locks_both));
    TELL(pthread_mutex_trylock(&shared->other));
    taken_back();
    TELL(pthread_mutex_consistent(&shared->other));
    TELL(pthread_mutex_unlock(&shared->other));
    reap(child(thread_of_child));
    taken_back();
    for (int times = 0; times < 2; times++) {
        pid_t killed = child(times ? thread_of_child_stays : locks_and_stays);
        wait_for(&shared->ready);
        TELL(pthread_mutex_trylock(&shared->mutex));
        struct timespec now = past();
        TELL(pthread_mutex_timedlock(&shared->mutex, &now));
        TELL(pthread_mutex_unlock(&shared->mutex));
        pthread_t waits;
        MUST(pthread_create(&waits, NULL, tells, NULL) == 0);
        wait_for(&shared->ready);
        kill(killed, SIGKILL);
        MUST(pthread_join(waits, NULL) == 0);
        reap(killed);
    }
    pid_t gives_back = child(locks_until_asked);
    wait_for(&shared->ready);
    pthread_t waits;
    MUST(pthread_create(&waits, NULL, tells, NULL) == 0);
    wait_for(&shared->ready);
    sem_post(&shared->go);
    MUST(pthread_join(waits, NULL) == 0);
    reap(gives_back);
}

static void with_threads(int type) {
    make(&shared->mutex, type);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, thread_locks, NULL) == 0 && pthread_join(thread, NULL) == 0);
    taken_back();
    TELL(pthread_mutex_lock(&shared->mutex));
    if (type != PTHREAD_MUTEX_NORMAL) TELL(pthread_mutex_lock(&shared->mutex));
    if (type == PTHREAD_MUTEX_RECURSIVE) TELL(pthread_mutex_unlock(&shared->mutex));
    MUST(pthread_create(&thread, NULL, tells, NULL) == 0);
    wait_for(&shared->ready);
    MUST(pthread_mutex_unlock(&shared->mutex) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    TELL(pthread_mutex_unlock(&shared->mutex));
    // Given back as it is: it is lost, and so it is told to who waits.
    MUST(pthread_create(&thread, NULL, thread_locks, NULL) == 0 && pthread_join(thread, NULL) == 0);
    TELL(pthread_mutex_lock(&shared->mutex));
    TELL(pthread_mutex_unlock(&shared->mutex));
    TELL(pthread_mutex_lock(&shared->mutex));
    TELL(pthread_mutex_trylock(&shared->mutex));
    TELL(pthread_mutex_destroy(&shared->mutex));
}

static void takes_turns(int me) {
    for (int round = 0; round < 100; round++) {
        MUST(pthread_mutex_lock(&shared->mutex) == 0);
        while (shared->turn != me) MUST(pthread_cond_wait(&shared->cond, &shared->mutex) == 0);
        shared->turn = !me;
        pthread_cond_signal(&shared->cond);
        MUST(pthread_mutex_unlock(&shared->mutex) == 0);
    }
}

static void plays(void) {
    takes_turns(1);
}

static void with_condition(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    MUST(pthread_cond_init(&shared->cond, &attributes) == 0);
    make(&shared->mutex, PTHREAD_MUTEX_NORMAL);
    pid_t other = child(plays);
    takes_turns(0);
    reap(other);
    SAY("took turns with a child");
}

int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(shared != MAP_FAILED);
    MUST(sem_init(&shared->ready, 1, 0) == 0 && sem_init(&shared->go, 1, 0) == 0);
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
    for (int at = 0; at < 3; at++) {
        with_children(types[at]);
        with_threads(types[at]);
    }
    with_condition();
    return 0;
}
