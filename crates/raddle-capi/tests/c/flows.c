/* Threads, processes, light ones, forks, loops, scopes; parking, blocking; what is called from threads of the C
 * library, in a child that forked, while signals come. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static _Thread_local int own;
static pthread_key_t key;
static atomic_int destroyed;

static void count_destruction(void *value)
{
    (void)value;
    atomic_fetch_add(&destroyed, 1);
}

static void *with_storage(void *arg)
{
    int number = (int)(intptr_t)arg;
    CHECK(own == 0 && pthread_getspecific(key) == NULL);
    own = number;
    errno = number;
    CHECK(pthread_setspecific(key, arg) == 0);
    for (int i = 0; i < 20; i++) {
        OK(raddle_yield());
        CHECK(own == number && errno == number && pthread_getspecific(key) == arg);
    }
    return (void *)(intptr_t)(number * 2);
}

static void *plain(void *arg)
{
    OK(raddle_yield());
    return (char *)arg + 1;
}

static void storage(void)
{
    enum { COUNT = 50 };
    raddle_thread_t *threads[COUNT];
    void *result;
    for (int i = 0; i < COUNT; i++)
        OK(raddle_spawn(&threads[i], with_storage, (void *)(intptr_t)(i + 1)));
    for (int i = 0; i < COUNT; i++) {
        OK(raddle_join(threads[i], &result));
        CHECK((intptr_t)result == 2 * (i + 1));
    }
    CHECK(own == 0 && atomic_load(&destroyed) == COUNT);
}

static void kinds(void)
{
    int (*const spawns[])(raddle_thread_t **, raddle_fn, void *) = { raddle_spawn, raddle_spawn_process,
                                                                     raddle_spawn_light };
    for (size_t kind = 0; kind < 3; kind++) {
        raddle_thread_t *threads[100];
        for (uintptr_t i = 0; i < 100; i++)
            OK(spawns[kind](&threads[i], plain, (void *)i));
        for (uintptr_t i = 0; i < 100; i++) {
            void *result;
            OK(raddle_join(threads[i], &result));
            CHECK((uintptr_t)result == i + 1);
        }
    }
    for (int kind = RADDLE_THREAD; kind <= RADDLE_LIGHT; kind++) {
        raddle_spawn_options_t options = RADDLE_SPAWN_OPTIONS_INIT;
        raddle_thread_t *thread;
        void *result;
        options.kind = kind;
        options.worker = 0;
        options.stack_size = 300000;
        options.name = "named";
        OK(raddle_spawn_with(&thread, &options, plain, (void *)7));
        OK(raddle_join(thread, &result));
        CHECK((uintptr_t)result == 8);
    }
}

/* Detached ones tell by a channel that they have run. Each has an end of its own: who has received does not know that
 * the send has returned. */
static void *tell(void *tx)
{
    CHECK(raddle_id() != 0);
    OK(raddle_send(tx, raddle_worker() >= 0));
    OK(raddle_tx_close(tx));
    return NULL;
}

static void detached(void)
{
    raddle_tx_t *tx, *other;
    raddle_rx_t *rx;
    raddle_thread_t *thread;
    uintptr_t on_worker;
    OK(raddle_channel(-1, &tx, &rx));
    OK(raddle_tx_clone(tx, &other));
    OK(raddle_spawn(NULL, tell, tx));
    OK(raddle_spawn_process(&thread, tell, other));
    OK(raddle_detach(thread));
    for (int i = 0; i < 2; i++) {
        OK(raddle_recv(rx, &on_worker));
        CHECK(on_worker == 1);
    }
    IS(RADDLE_ECLOSED, raddle_recv(rx, &on_worker));
    OK(raddle_rx_close(rx));
}

static void *parks(void *arg)
{
    (void)arg;
    OK(raddle_park());
    OK(raddle_park_for(RADDLE_US));
    return NULL;
}

static void parking(void)
{
    raddle_thread_t *thread;
    raddle_ref_t *ref;
    int finished;
    OK(raddle_spawn(&thread, parks, NULL));
    OK(raddle_ref_of(thread, &ref));
    OK(raddle_is_finished(thread, &finished));
    CHECK(finished == 0);
    IS(RADDLE_ETIMEDOUT, raddle_join_for(thread, 0, NULL));
    IS(RADDLE_ETIMEDOUT, raddle_join_for(thread, RADDLE_MS, NULL));
    OK(raddle_unpark(ref));
    OK(raddle_join_for(thread, RADDLE_FOREVER, NULL));
    OK(raddle_unpark(ref)); /* it has ended */
    OK(raddle_ref_destroy(ref));
}

static void *fibonacci(void *arg)
{
    uintptr_t n = (uintptr_t)arg;
    raddle_fork_t *fork;
    void *first;
    if (n < 2)
        return arg;
    OK(raddle_fork(&fork, fibonacci, (void *)(n - 1)));
    uintptr_t second = (uintptr_t)fibonacci((void *)(n - 2));
    OK(raddle_fork_join(fork, &first));
    return (void *)((uintptr_t)first + second);
}

static void *into(void *arg)
{
    ++*(int *)arg;
    return NULL;
}

static atomic_size_t sum;

static void add(size_t n, void *arg)
{
    CHECK(arg == &sum);
    atomic_fetch_add(&sum, n);
}

static int in_scope(raddle_scope_t *scope, void *arg)
{
    int *numbers = arg;
    for (int i = 0; i < 10; i++)
        OK(raddle_scope_spawn(scope, into, &numbers[i]));
    return 77;
}

static void *forks_here(void *arg)
{
    int numbers[10] = { 0 }, first = 0, second = 0;
    raddle_fork_t *fork;
    CHECK((uintptr_t)fibonacci((void *)15) == 610);
    OK(raddle_both(into, &first, into, &second));
    CHECK(first == 1 && second == 1);
    atomic_store(&sum, 0);
    OK(raddle_for(10, 1000, add, &sum));
    CHECK(atomic_load(&sum) == 499500 - 45);
    OK(raddle_for(10, 10, add, &sum));
    CHECK(raddle_scope(in_scope, numbers) == 77);
    for (int i = 0; i < 10; i++)
        CHECK(numbers[i] == 1);
    OK(raddle_fork(&fork, plain, NULL));
    OK(raddle_fork_drop(fork));
    return arg;
}

static void forks(void)
{
    void *result;
    forks_here(NULL); /* on the main thread */
    OK(raddle_run(forks_here, (void *)5, &result));
    CHECK((uintptr_t)result == 5);
}

static void *sleeps_in_kernel(void *arg)
{
    usleep(1000);
    return arg;
}

static void *blocks(void *arg)
{
    void *result;
    OK(raddle_blocking(sleeps_in_kernel, arg, &result));
    CHECK(result == arg);
    return NULL;
}

/* In a call that blocks the caller is the same thread still: it may give back what it has taken. */
static void *unlocks(void *arg)
{
    OK(raddle_mutex_unlock(arg));
    return arg;
}

static void *locks_and_blocks(void *arg)
{
    OK(raddle_mutex_lock(arg));
    OK(raddle_blocking(unlocks, arg, NULL));
    IS(RADDLE_EPERM, raddle_mutex_unlock(arg));
    return arg;
}

static void lock_over_blocking(void)
{
    raddle_mutex_t *mutex;
    OK(raddle_mutex_create(RADDLE_MUTEX, &mutex));
    OK(raddle_run(locks_and_blocks, mutex, NULL));
    locks_and_blocks(mutex);
    OK(raddle_mutex_destroy(mutex));
}

static atomic_int stopped;

static void *stops(void *arg)
{
    atomic_store(&stopped, 1);
    return arg;
}

/* A loop that never waits lets others run in the end, though its lock and unlock may be no calls. */
static void *locks_until_stopped(void *mutex)
{
    raddle_thread_t *thread;
    OK(raddle_spawn_process(&thread, stops, NULL));
    while (!atomic_load_explicit(&stopped, memory_order_relaxed)) {
        OK(raddle_mutex_lock(mutex));
        OK(raddle_mutex_unlock(mutex));
    }
    OK(raddle_join(thread, NULL));
    return mutex;
}

struct contest {
    raddle_mutex_t *mutex;
    int (*lock)(raddle_mutex_t *mutex);
    int (*unlock)(raddle_mutex_t *mutex);
    int count; /* behind the lock */
};

/* As the compiler does it and by the functions, in turn. Nobody is told that it has what another has, or the other way
 * round. */
static void *contends(void *arg)
{
    struct contest *contest = arg;
    for (int i = 0; i < 5000; i++) {
        if (i % 2)
            OK(raddle_mutex_lock(contest->mutex));
        else
            OK(contest->lock(contest->mutex));
        contest->count++;
        if (i % 3)
            OK(raddle_mutex_unlock(contest->mutex));
        else
            OK(contest->unlock(contest->mutex));
        if (i % 100 == 0)
            IS(RADDLE_OK, raddle_yield());
    }
    return arg;
}

static void locks_in_two_ways(void)
{
    struct contest contest = { .lock = raddle_mutex_lock, .unlock = raddle_mutex_unlock };
    raddle_thread_t *threads[3];
    pthread_t foreign;
    OK(raddle_mutex_create(RADDLE_MUTEX, &contest.mutex));
    OK(raddle_run(locks_until_stopped, contest.mutex, NULL));
    OK(raddle_spawn(&threads[0], contends, &contest));
    OK(raddle_spawn_process(&threads[1], contends, &contest));
    OK(raddle_spawn_light(&threads[2], contends, &contest));
    CHECK(pthread_create(&foreign, NULL, contends, &contest) == 0);
    for (int i = 0; i < 3; i++)
        OK(raddle_join(threads[i], NULL));
    CHECK(pthread_join(foreign, NULL) == 0);
    CHECK(contest.count == 4 * 5000);
    OK(raddle_mutex_destroy(contest.mutex));
}

static void blocking(void)
{
    raddle_thread_t *threads[8];
    for (uintptr_t i = 0; i < 8; i++)
        OK(raddle_spawn(&threads[i], blocks, (void *)i));
    for (int i = 0; i < 8; i++)
        OK(raddle_join(threads[i], NULL));
    blocks(NULL);
}

/* Threads that Raddle did not make spawn, fork and wait. */
static void *foreign(void *arg)
{
    for (int i = 0; i < 50; i++) {
        raddle_thread_t *thread;
        void *result;
        OK(raddle_spawn_process(&thread, plain, arg));
        OK(raddle_join(thread, &result));
        CHECK(result == (char *)arg + 1);
        CHECK((uintptr_t)fibonacci((void *)5) == 5);
    }
    return NULL;
}

static void foreigners(void)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, foreign, (void *)i) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static pthread_key_t last_key, parking_key;
static atomic_int ends;

/* At the end of a thread, when what libraries keep in its storage may be gone: calls do what they do else. */
static void at_end(void *arg)
{
    raddle_thread_t *thread;
    raddle_fork_t *fork;
    raddle_mutex_t *mutex;
    raddle_options_t *options;
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    uintptr_t word;
    OK(raddle_mutex_create(RADDLE_MUTEX, &mutex));
    OK(raddle_mutex_lock(mutex));
    IS(RADDLE_EDEADLK, raddle_mutex_lock(mutex));
    OK(raddle_mutex_unlock(mutex));
    OK(raddle_mutex_destroy(mutex));
    OK(raddle_spawn(&thread, plain, arg));
    OK(raddle_join(thread, NULL));
    OK(raddle_fork(&fork, plain, arg));
    OK(raddle_fork_join(fork, NULL));
    OK(raddle_channel(1, &tx, &rx));
    OK(raddle_send(tx, 1));
    OK(raddle_recv(rx, &word));
    IS(RADDLE_ETIMEDOUT, raddle_recv_for(rx, &word, RADDLE_US));
    OK(raddle_tx_close(tx));
    OK(raddle_rx_close(rx));
    OK(raddle_options_create(&options));
    IS(RADDLE_ESETTING, raddle_options_set(options, "RADDLE_WORKERS", "many"));
    OK(raddle_options_destroy(options));
    CHECK(raddle_last_error() != NULL);
    OK(raddle_sleep(RADDLE_US));
    OK(raddle_yield());
    raddle_id();
    raddle_worker();
    atomic_fetch_add(&ends, 1);
    /* Destructors go around again, behind those of whoever was first. */
    if (arg != (void *)3)
        CHECK(pthread_setspecific(last_key, (char *)arg + 1) == 0);
}

static void *with_end(void *arg)
{
    CHECK(pthread_setspecific(last_key, (void *)1) == 0);
    return plain(arg);
}

/* What the standard library needs for a park of a plain thread may be gone: that is told, and ends nothing. */
static void parks_at_end(void *arg)
{
    int kept = dup(2), nowhere = open("/dev/null", O_WRONLY);
    CHECK(kept >= 0 && nowhere >= 0 && dup2(nowhere, 2) == 2);
    int code = raddle_park_for(RADDLE_US);
    CHECK(dup2(kept, 2) == 2 && close(kept) == 0 && close(nowhere) == 0);
    CHECK(code == RADDLE_OK || code == RADDLE_EPANIC);
    atomic_fetch_add(&ends, 1);
    if (arg != (void *)3)
        CHECK(pthread_setspecific(parking_key, (char *)arg + 1) == 0);
}

static void *with_park_at_end(void *arg)
{
    CHECK(pthread_setspecific(parking_key, (void *)1) == 0);
    OK(raddle_park_for(RADDLE_US));
    return arg;
}

static void thread_ends(void)
{
    pthread_t foreign;
    raddle_thread_t *thread;
    CHECK(pthread_key_create(&last_key, at_end) == 0);
    CHECK(pthread_create(&foreign, NULL, with_end, NULL) == 0);
    CHECK(pthread_join(foreign, NULL) == 0);
    CHECK(atomic_load(&ends) == 3);
    OK(raddle_spawn(&thread, with_end, NULL));
    OK(raddle_join(thread, NULL));
    CHECK(atomic_load(&ends) == 6);
    CHECK(pthread_key_create(&parking_key, parks_at_end) == 0);
    CHECK(pthread_create(&foreign, NULL, with_park_at_end, NULL) == 0);
    CHECK(pthread_join(foreign, NULL) == 0);
    CHECK(atomic_load(&ends) == 9);
}

static atomic_int signals;

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals, 1);
}

/* Signals interrupt whatever runs; waits and sleeps last as long as they should. */
static void under_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    int64_t begun = raddle_now();
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < 50; i++) {
        CHECK(kill(getpid(), SIGUSR1) == 0);
        foreign(NULL);
    }
    OK(raddle_sleep(5 * RADDLE_MS));
    CHECK(raddle_now() - begun >= 5 * RADDLE_MS);
    OK(raddle_sleep_until(raddle_now() + RADDLE_MS));
    CHECK(atomic_load(&signals) > 0);
}

/* The child has none of its parent's workers: it starts its own. */
static void forked(void)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        begin();
        foreign(NULL);
        forks_here(NULL);
        _exit(5);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

static void *in_runtime(void *arg)
{
    raddle_thread_t *thread;
    OK(raddle_spawn(&thread, plain, arg));
    OK(raddle_join(thread, &arg));
    return arg;
}

static void runtimes(void)
{
    raddle_options_t *options;
    raddle_runtime_t *runtime;
    raddle_thread_t *thread;
    size_t workers;
    uint64_t value, abandoned = 99;
    void *result;
    OK(raddle_options_create(&options));
    OK(raddle_options_set(options, "RADDLE_WORKERS", "3"));
    OK(raddle_options_light_processes(options));
    OK(raddle_runtime_create(options, &runtime));
    IS(RADDLE_ESTARTED, raddle_init(options));
    OK(raddle_options_destroy(options));
    OK(raddle_runtime_workers(runtime, &workers));
    CHECK(workers == 3);
    OK(raddle_runtime_workers(NULL, &workers));
    CHECK(workers >= 1);
    OK(raddle_runtime_run(runtime, in_runtime, (void *)1, &result));
    CHECK((uintptr_t)result == 2);
    OK(raddle_runtime_spawn(runtime, &thread, in_runtime, (void *)2));
    OK(raddle_join(thread, &result));
    CHECK((uintptr_t)result == 3);
    OK(raddle_counter(runtime, "spawns", &value));
    CHECK(value >= 1);
    OK(raddle_runtime_shutdown(runtime, &abandoned));
    CHECK(abandoned == 0);
    size_t names = 0;
    while (raddle_counter_name(names) != NULL)
        OK(raddle_counter(NULL, raddle_counter_name(names++), &value));
    CHECK(names > 10);
}

int main(void)
{
    begin();
    CHECK(pthread_key_create(&key, count_destruction) == 0);
    OK(raddle_init(NULL));
    storage();
    kinds();
    detached();
    parking();
    forks();
    blocking();
    lock_over_blocking();
    locks_in_two_ways();
    foreigners();
    thread_ends();
    under_signals();
    forked();
    runtimes();
    return well();
}
