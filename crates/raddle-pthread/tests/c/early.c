// What a program's libraries do before its `main`, and before those of the runtime: libgomp asks where it may run.
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int begun, answers[16], made;
static pthread_t early;

static void begins(void) { begun++; }

static void *adds(void *nothing) {
    pthread_mutex_lock(&mutex);
    made++;
    pthread_mutex_unlock(&mutex);
    return &made;
}

static void before_all(void) {
    int at = 0, policy;
    cpu_set_t set;
    struct sched_param parameters;
    char name[16];
    pthread_attr_t attributes;
    answers[at++] = pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    answers[at++] = pthread_getschedparam(pthread_self(), &policy, &parameters);
    answers[at++] = pthread_getname_np(pthread_self(), name, sizeof name);
    answers[at++] = pthread_kill(pthread_self(), 0);
    answers[at++] = pthread_mutex_lock(&mutex);
    answers[at++] = pthread_cond_signal(&cond);
    answers[at++] = pthread_mutex_unlock(&mutex);
    answers[at++] = pthread_rwlock_rdlock(&lock);
    answers[at++] = pthread_rwlock_unlock(&lock);
    answers[at++] = pthread_once(&once, begins);
    answers[at++] = pthread_getattr_np(pthread_self(), &attributes);
    answers[at++] = pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &policy);
    answers[at++] = pthread_create(&early, NULL, adds, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_all;

int main(void) {
    for (int at = 0; at < 16; at++) SAY("%d: %s", at, name_of(answers[at]));
    void *result;
    TELL(pthread_join(early, &result));
    MUST(result == &made && made == 1 && begun == 1);
    pthread_t late;
    TELL(pthread_create(&late, NULL, adds, NULL));
    TELL(pthread_join(late, NULL));
    cpu_set_t set;
    TELL(pthread_getaffinity_np(late = pthread_self(), sizeof set, &set));
    return 0;
}
