/* Extremes, and calls from places where nobody is expected: each returns, by a code where it is a mistake. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Whatever this is, it is an answer. */
static int any_code(int code)
{
    CHECK(strcmp(raddle_errname(code), "?") != 0);
    return code;
}

static void extremes(void)
{
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    raddle_sem_t *sem;
    raddle_barrier_t *barrier;
    raddle_options_t *options;
    uintptr_t word;
    size_t chosen;
    /* Memory is asked for when there is something to keep. */
    OK(raddle_channel(INT64_MAX, &tx, &rx));
    OK(raddle_send(tx, 1));
    OK(raddle_tx_close(tx));
    OK(raddle_rx_close(rx));
    IS(RADDLE_EINVAL, raddle_sem_create(SIZE_MAX, &sem));
    OK(raddle_channel(INT64_MIN, &tx, &rx));
    OK(raddle_send_for(tx, 1, INT64_MIN));
    OK(raddle_recv_for(rx, &word, INT64_MAX));
    IS(RADDLE_ETIMEDOUT, raddle_recv_for(rx, &word, 0));
    raddle_case_t one = { .rx = rx };
    IS(RADDLE_EINVAL, raddle_select(&one, SIZE_MAX, 0, &chosen));
    OK(raddle_tx_close(tx));
    OK(raddle_rx_close(rx));
    OK(raddle_after(INT64_MAX, &rx));
    IS(RADDLE_ETIMEDOUT, raddle_recv_for(rx, &word, 0));
    OK(raddle_rx_close(rx));
    IS(RADDLE_EINVAL, raddle_tick(0, &rx));
    IS(RADDLE_EINVAL, raddle_sleep(INT64_MIN));
    OK(raddle_sleep_until(INT64_MIN));
    if (any_code(raddle_barrier_create(SIZE_MAX, &barrier)) == RADDLE_OK) {
        IS(RADDLE_ETIMEDOUT, raddle_barrier_wait_for(barrier, 0, NULL));
        OK(raddle_barrier_destroy(barrier));
    }
    IS(RADDLE_EINVAL, raddle_for(9, 3, NULL, NULL));
    OK(raddle_options_create(&options));
    IS(RADDLE_ESETTING, raddle_options_set(options, "", "1"));
    IS(RADDLE_ESETTING, raddle_options_set(options, "WORKERS", "1"));
    CHECK(strstr(raddle_last_error(), "WORKERS") != NULL);
    IS(RADDLE_ESETTING, raddle_options_set(options, "RADDLE_WORKERS", "99999999999999999999"));
    OK(raddle_options_destroy(options));
    IS(RADDLE_EOS, raddle_trace_dump("/nowhere/at/all.rdt"));
}

static raddle_runtime_t *own;

static void *ends_its_own_runtime(void *arg)
{
    IS(RADDLE_EDEADLK, raddle_runtime_shutdown(own, NULL));
    return arg;
}

static void *waits_a_moment(void *arg)
{
    OK(raddle_sleep(RADDLE_MS));
    return arg;
}

/* Not by those who run there; and who is not waited for is. */
static void shutdowns(void)
{
    uint64_t abandoned = 7;
    OK(raddle_runtime_create(NULL, &own));
    OK(raddle_runtime_run(own, ends_its_own_runtime, NULL, NULL));
    for (int i = 0; i < 10; i++)
        OK(raddle_runtime_spawn(own, NULL, waits_a_moment, NULL));
    OK(raddle_runtime_shutdown(own, &abandoned));
    CHECK(abandoned == 0);
}

static int dropped;

static void drop_calls(uintptr_t word)
{
    uint64_t value;
    dropped += (int)word;
    OK(raddle_counter(NULL, raddle_counter_name(0), &value));
}

/* What is never received is given to its function, which may call what does not wait. */
static void drops(void)
{
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    IS(RADDLE_EINVAL, raddle_channel_owned(1, NULL, &tx, &rx));
    OK(raddle_channel_owned(3, drop_calls, &tx, &rx));
    OK(raddle_send(tx, 1));
    OK(raddle_send(tx, 2));
    OK(raddle_rx_close(rx));
    CHECK(dropped == 3);
    IS(RADDLE_ECLOSED, raddle_send(tx, 4));
    CHECK(dropped == 3);
    OK(raddle_tx_close(tx));
}

static void *reads_for_long(void *fd)
{
    char byte;
    size_t done;
    OK(raddle_fd_read(fd, &byte, 1, RADDLE_FOREVER, &done));
    CHECK(done == 1);
    return NULL;
}

/* Closed while somebody waits: refused; ended by the peer it goes. */
static void closed_while_waited_for(void)
{
    int ends[2];
    raddle_fd_t *here, *there;
    raddle_thread_t *reader;
    size_t done;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    OK(raddle_fd_open(ends[0], RADDLE_FD_OWNED, &here));
    OK(raddle_fd_open(ends[1], RADDLE_FD_OWNED, &there));
    OK(raddle_spawn(&reader, reads_for_long, here));
    char *dump = NULL;
    do {
        free(dump);
        OK(raddle_yield());
        OK(raddle_dump(&dump));
    } while (strstr(dump, "descriptor") == NULL);
    free(dump);
    IS(RADDLE_EBUSY, raddle_fd_close(here));
    OK(raddle_fd_write(there, "x", 1, RADDLE_FOREVER, &done));
    OK(raddle_join(reader, NULL));
    /* One handle more for the same descriptor. */
    raddle_fd_t *again;
    int number;
    OK(raddle_fd_number(here, &number));
    OK(raddle_fd_open(number, 0, &again));
    OK(raddle_fd_write(there, "y", 1, RADDLE_FOREVER, &done));
    OK(raddle_spawn(&reader, reads_for_long, again));
    OK(raddle_join(reader, NULL));
    IS(RADDLE_ETIMEDOUT, raddle_fd_read(again, &number, 1, RADDLE_MS, &done));
    OK(raddle_fd_close(again));
    OK(raddle_fd_close(here));
    IS(RADDLE_EOS, raddle_fd_write(there, "z", 1, 0, &done));
    CHECK(errno == EPIPE);
    OK(raddle_fd_close(there));
}

static raddle_mutex_t *mutex;
static pthread_key_t key;

/* The storage of the library for this thread may be gone by now. */
static void at_thread_end(void *arg)
{
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    raddle_thread_t *thread;
    uintptr_t word;
    static int turns;
    any_code(raddle_mutex_lock(mutex));
    any_code(raddle_mutex_unlock(mutex));
    IS(RADDLE_EINVAL, raddle_mutex_lock(NULL));
    CHECK(raddle_last_error() != NULL);
    if (any_code(raddle_channel(1, &tx, &rx)) == RADDLE_OK) {
        any_code(raddle_send(tx, 1));
        any_code(raddle_recv(rx, &word));
        any_code(raddle_tx_close(tx));
        any_code(raddle_rx_close(rx));
    }
    if (any_code(raddle_spawn(&thread, waits_a_moment, NULL)) == RADDLE_OK)
        any_code(raddle_join(thread, NULL));
    any_code(raddle_sleep(1));
    any_code(raddle_yield());
    /* Once more, when all else has ended. */
    if (turns++ < 2)
        pthread_setspecific(key, arg);
}

static void *ends(void *arg)
{
    pthread_setspecific(key, &key);
    OK(raddle_yield());
    return arg;
}

static void at_ends_of_threads(void)
{
    pthread_t thread;
    CHECK(pthread_key_create(&key, at_thread_end) == 0);
    CHECK(pthread_create(&thread, NULL, ends, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static raddle_token_t *token;

static int destroys_its_token(void *arg)
{
    (void)arg;
    OK(raddle_token_cancel(token));
    OK(raddle_token_destroy(token));
    IS(RADDLE_ECANCELED, raddle_check());
    IS(RADDLE_ECANCELED, raddle_sleep(RADDLE_SECOND));
    return 17;
}

static int nested(void *arg)
{
    int depth = (int)(intptr_t)arg;
    if (depth == 0)
        return raddle_check();
    return depth % 2 ? raddle_shield(nested, (void *)(intptr_t)(depth - 1))
                     : raddle_within(RADDLE_FOREVER, nested, (void *)(intptr_t)(depth - 1));
}

static void regions(void)
{
    OK(raddle_token_create(&token));
    CHECK(raddle_token_run(token, destroys_its_token, NULL) == 17);
    OK(nested((void *)100));
    any_code(raddle_within(0, nested, NULL));
}

static int is_well(void *arg)
{
    raddle_thread_t *thread;
    OK(raddle_spawn(&thread, waits_a_moment, arg));
    return raddle_join(thread, NULL);
}

static int returns_a_code(void *arg)
{
    (void)arg;
    return RADDLE_ECLOSED;
}

static void explores(void)
{
    char *report = NULL;
    IS(RADDLE_EINVAL, raddle_explore(1, NULL, NULL, NULL));
    OK(raddle_explore(20, is_well, NULL, &report));
    CHECK(report == NULL);
    IS(RADDLE_EFOUND, raddle_explore(2, returns_a_code, NULL, NULL));
    IS(RADDLE_EFOUND, raddle_explore(2, returns_a_code, NULL, &report));
    CHECK(strstr(report, "returned 6") != NULL);
    free(report);
}

static void *computes(void *arg)
{
    return (void *)((uintptr_t)arg + 1);
}

/* A child that ends by exit, whose functions of atexit call the library, as do the parent's. */
static void at_exit(void)
{
    raddle_thread_t *thread;
    void *result;
    OK(raddle_spawn(&thread, computes, (void *)1));
    OK(raddle_join(thread, &result));
    if (result != (void *)2)
        _exit(2);
}

static void exits(void)
{
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        exit(0);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    begin();
    atexit(at_exit);
    OK(raddle_mutex_create(RADDLE_MUTEX, &mutex));
    extremes();
    shutdowns();
    drops();
    closed_while_waited_for();
    at_ends_of_threads();
    regions();
    explores();
    exits();
    return well();
}
