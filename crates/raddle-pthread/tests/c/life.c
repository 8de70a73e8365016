// Threads from their making to their end.
#include "check.h"

static __thread int mine = 7;
static pthread_key_t key, second;

static void *add(void *n) {
    MUST(mine == 7);
    mine++;
    errno = (int)(intptr_t)n;
    sched_yield();
    MUST(errno == (int)(intptr_t)n);
    return (void *)((intptr_t)n + 1);
}

static void *leaves(void *n) {
    pthread_exit(n);
}

static void ended(void *value) {
    static int again;
    SAY("destructor of %s", (char *)value);
    if (!again++) pthread_setspecific(second, "second");
}

static void *keyed(void *value) {
    pthread_setspecific(key, value);
    return pthread_getspecific(key) == value ? "same" : "other";
}

static void handler(void *what) {
    SAY("clean-up %s", (char *)what);
}

static void *cleans(void *how) {
    pthread_cleanup_push(handler, "outer");
    pthread_cleanup_push(handler, "middle");
    pthread_cleanup_push(handler, "inner");
    if (how) pthread_exit("left");
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(1);
    return "returned";
}

static void *self_is(void *place) {
    return (void *)(intptr_t)pthread_equal(*(pthread_t *)place, pthread_self());
}

static sem_t go, gone;

static void *waits(void *nothing) {
    sem_wait(&go);
    sem_post(&gone);
    return nothing;
}

static void *detaches(void *nothing) {
    SAY("detaches itself: %s", name_of(pthread_detach(pthread_self())));
    sem_post(&gone);
    return nothing;
}

static void *joins_self(void *nothing) {
    SAY("joins itself: %s", name_of(pthread_join(pthread_self(), NULL)));
    return nothing;
}

static void *deep(void *bytes) {
    size_t size = (size_t)(intptr_t)bytes;
    volatile char *place = __builtin_alloca(size);
    for (size_t n = 0; n < size; n += 1024) place[n] = 1;
    return (void *)place[0] + 41;
}

static int c11(void *n) {
    return *(int *)n * 2;
}

static int c11_leaves(void *n) {
    (void)n;
    thrd_exit(-5);
}

static tss_t tss;

static void tss_ended(void *value) {
    SAY("end of %s", (char *)value);
}

static int c11_tss(void *value) {
    tss_set(tss, value);
    return tss_get(tss) == value;
}

static void attributes(void) {
    pthread_attr_t attr;
    pthread_t thread;
    void *result;
    pthread_attr_init(&attr);
    TELL(pthread_create(&thread, &attr, deep, (void *)(900 << 10)));
    TELL(pthread_join(thread, &result));
    TELL(pthread_attr_setstacksize(&attr, 1));
    TELL(pthread_attr_setstacksize(&attr, 1 << 20));
    TELL(pthread_create(&thread, &attr, deep, (void *)(900 << 10)));
    TELL(pthread_join(thread, &result));
    SAY("deep: %d", (int)(intptr_t)result);
    char *memory = malloc(256 << 10);
    TELL(pthread_attr_setstack(&attr, memory, 256 << 10));
    TELL(pthread_create(&thread, &attr, deep, (void *)(100 << 10)));
    TELL(pthread_join(thread, &result));
    SAY("on own memory: %d", (int)(intptr_t)result);
    free(memory);
    pthread_attr_destroy(&attr);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sem_init(&go, 0, 0);
    TELL(pthread_create(&thread, &attr, waits, NULL));
    TELL(pthread_detach(thread));
    TELL(pthread_join(thread, NULL));
    sem_post(&go);
    sem_wait(&gone);
    pthread_attr_destroy(&attr);
}

static void names(void) {
    pthread_t thread;
    char name[16] = "";
    sem_init(&go, 0, 0);
    pthread_create(&thread, NULL, waits, NULL);
    TELL(pthread_getname_np(thread, name, 16));
    SAY("%s", name);
    TELL(pthread_setname_np(thread, "a name that is too long"));
    TELL(pthread_setname_np(thread, "fifteen letters"));
    TELL(pthread_getname_np(thread, name, 5));
    TELL(pthread_getname_np(thread, name, 16));
    SAY("%s", name);
    TELL(pthread_kill(thread, 0));
    TELL(pthread_kill(thread, 1000));
    TELL(pthread_tryjoin_np(thread, NULL));
    struct timespec before = past(), late = after(CLOCK_MONOTONIC, 600000);
    TELL(pthread_timedjoin_np(thread, NULL, &before));
    int policy;
    struct sched_param parameters;
    TELL(pthread_getschedparam(thread, &policy, &parameters));
    SAY("%d %d", policy, parameters.sched_priority);
    cpu_set_t set;
    TELL(pthread_getaffinity_np(thread, sizeof set, &set));
    MUST(CPU_COUNT(&set) > 0);
    sem_post(&go);
    TELL(pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &late));
}

int main(void) {
    pthread_t threads[100], thread;
    void *result;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (intptr_t n = 0; n < 100; n++) MUST(pthread_create(&threads[n], NULL, add, (void *)n) == 0);
    for (intptr_t n = 0; n < 100; n++) {
        MUST(pthread_join(threads[n], &result) == 0);
        MUST((intptr_t)result == n + 1);
    }
    pthread_create(&thread, NULL, leaves, "left");
    pthread_join(thread, &result);
    SAY("%s", (char *)result);
    pthread_key_create(&key, ended);
    pthread_key_create(&second, ended);
    pthread_create(&thread, NULL, keyed, "first");
    pthread_join(thread, &result);
    SAY("%s", (char *)result);
    for (intptr_t how = 0; how < 2; how++) {
        pthread_create(&thread, NULL, cleans, (void *)how);
        pthread_join(thread, &result);
        SAY("%s", (char *)result);
    }
    pthread_create(&thread, NULL, self_is, &thread);
    pthread_join(thread, &result);
    MUST(result);
    MUST(pthread_equal(pthread_self(), pthread_self()));
    sem_init(&gone, 0, 0);
    pthread_create(&thread, NULL, detaches, NULL);
    sem_wait(&gone);
    pthread_create(&thread, NULL, joins_self, NULL);
    TELL(pthread_join(thread, NULL));
    attributes();
    names();
    thrd_t thrd;
    int number = 21, code;
    SAY("%d", thrd_create(&thrd, c11, &number) == thrd_success);
    SAY("%d", thrd_join(thrd, &code) == thrd_success);
    SAY("%d", code);
    thrd_create(&thrd, c11_leaves, NULL);
    thrd_join(thrd, &code);
    SAY("%d", code);
    tss_create(&tss, tss_ended);
    thrd_create(&thrd, c11_tss, "a value");
    thrd_join(thrd, &code);
    SAY("%d", code);
    pthread_create(&thread, NULL, add, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}
