/* Tasks, futures, wakers, a descriptor in a selection; and mistakes with them. */
#include "check.h"
#include <pthread.h>
#include <sys/socket.h>

/* A task that adds up what comes: the usual way of a state that is polled. */
struct adder {
    raddle_rx_t *rx;
    raddle_future_t *next;
    uintptr_t sum;
    int *ended;
};

static int add(void *arg, const raddle_waker_t *waker, void **result)
{
    struct adder *state = arg;
    for (;;) {
        uintptr_t word;
        if (state->next == NULL)
            OK(raddle_future_recv(state->rx, &state->next));
        int code = raddle_future_poll(state->next, waker, &word);
        if (code == RADDLE_EAGAIN)
            return code;
        OK(raddle_future_destroy(state->next));
        state->next = NULL;
        if (code == RADDLE_ECLOSED) {
            *result = (void *)state->sum;
            return RADDLE_OK;
        }
        OK(code);
        state->sum += word;
    }
}

static void end_adder(void *arg)
{
    struct adder *state = arg;
    if (state->next != NULL)
        raddle_future_destroy(state->next);
    raddle_rx_close(state->rx);
    __atomic_fetch_add(state->ended, 1, __ATOMIC_RELEASE);
    free(state);
}

static struct adder *new_adder(raddle_rx_t *rx, int *ended)
{
    struct adder *state = calloc(1, sizeof *state);
    state->rx = rx;
    state->ended = ended;
    return state;
}

static void *sends(void *arg)
{
    for (uintptr_t n = 1; n <= 1000; n++)
        OK(raddle_send(arg, n));
    OK(raddle_tx_close(arg));
    return NULL;
}

static void tasks_receive(void)
{
    raddle_task_t *tasks[10];
    raddle_tx_t *tx;
    raddle_rx_t *rx, *own;
    uintptr_t sum = 0;
    int ended = 0, code;
    void *result;
    OK(raddle_channel(3, &tx, &rx));
    for (int i = 0; i < 10; i++) {
        OK(raddle_rx_clone(rx, &own));
        OK(raddle_task_spawn(&tasks[i], add, end_adder, new_adder(own, &ended)));
    }
    OK(raddle_rx_close(rx));
    OK(raddle_spawn(NULL, sends, tx));
    for (int i = 0; i < 10; i++) {
        OK(raddle_task_join(tasks[i], RADDLE_FOREVER, &code, &result));
        OK(code);
        sum += (uintptr_t)result;
    }
    CHECK(sum == 500500);
    CHECK(__atomic_load_n(&ended, __ATOMIC_ACQUIRE) == 10);
}

/* A task that waits is aborted; its argument is given back. */
static void aborted_tasks_are_told(void)
{
    raddle_task_t *task;
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    int ended = 0, is;
    OK(raddle_channel(0, &tx, &rx));
    OK(raddle_task_spawn(&task, add, end_adder, new_adder(rx, &ended)));
    IS(RADDLE_ETIMEDOUT, raddle_task_join(task, RADDLE_MS, NULL, NULL));
    OK(raddle_task_is_finished(task, &is));
    CHECK(is == 0);
    OK(raddle_task_abort(task));
    IS(RADDLE_ENOTRUN, raddle_task_join(task, RADDLE_FOREVER, NULL, NULL));
    while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) == 0)
        raddle_yield();
    IS(RADDLE_ECLOSED, raddle_send(tx, 1));
    OK(raddle_tx_close(tx));
}

/* A waker of its own: what an OS thread tells. */
struct told {
    raddle_waker_t *waker; /* under no lock: the channel orders */
    raddle_tx_t *ask;
    int polls;
};

static int wait_for_os_thread(void *arg, const raddle_waker_t *waker, void **result)
{
    struct told *state = arg;
    raddle_waker_t *clone;
    (void)result;
    if (++state->polls == 1) {
        IS(RADDLE_EPERM, raddle_waker_destroy((raddle_waker_t *)waker));
        OK(raddle_waker_clone(waker, &clone));
        OK(raddle_send(state->ask, (uintptr_t)clone));
        return RADDLE_EAGAIN;
    }
    return 42;
}

static void *tells(void *arg)
{
    uintptr_t word;
    OK(raddle_recv(arg, &word));
    OK(raddle_waker_wake((raddle_waker_t *)word));
    OK(raddle_waker_wake((raddle_waker_t *)word));
    OK(raddle_waker_destroy((raddle_waker_t *)word));
    return NULL;
}

static void os_threads_wake(void)
{
    struct told state = { NULL, NULL, 0 };
    raddle_rx_t *rx;
    raddle_task_t *task;
    raddle_future_t *future;
    pthread_t thread;
    int code = 0;
    OK(raddle_channel(1, &state.ask, &rx));
    CHECK(pthread_create(&thread, NULL, tells, rx) == 0);
    OK(raddle_task_spawn(&task, wait_for_os_thread, NULL, &state));
    OK(raddle_task_join(task, RADDLE_FOREVER, &code, NULL));
    CHECK(code == 42);
    CHECK(pthread_join(thread, NULL) == 0);
    /* The same as a future, and its code. */
    state.polls = 0;
    CHECK(pthread_create(&thread, NULL, tells, rx) == 0);
    OK(raddle_task_spawn(&task, wait_for_os_thread, NULL, &state));
    OK(raddle_future_task(task, &future));
    IS(42, raddle_future_wait(future, RADDLE_FOREVER, NULL));
    OK(raddle_future_destroy(future));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(raddle_tx_close(state.ask));
    OK(raddle_rx_close(rx));
}

/* Nobody can wake it any more. */
static int forgets(void *arg, const raddle_waker_t *waker, void **result)
{
    (void)arg;
    (void)waker;
    (void)result;
    return RADDLE_EAGAIN;
}

static void lost_tasks_are_told(void)
{
    raddle_task_t *task;
    OK(raddle_task_spawn(&task, forgets, NULL, NULL));
    IS(RADDLE_ENOTRUN, raddle_task_join(task, RADDLE_FOREVER, NULL, NULL));
    CHECK(strlen(raddle_last_error()) > 0);
    OK(raddle_task_spawn(NULL, forgets, NULL, NULL));
}

/* Each kind of future, waited for. */
static void freed(uintptr_t word)
{
    *(int *)word += 1;
}

static int is_full(raddle_stm_t *stm, void *arg)
{
    uintptr_t word;
    int code = raddle_stm_read(stm, arg, &word);
    if (code != RADDLE_OK)
        return code;
    return word == 3 ? 77 : raddle_stm_retry(stm);
}

static void futures_are_waited_for(void)
{
    raddle_future_t *future, *second;
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    raddle_sem_t *sem;
    raddle_var_t *var;
    uintptr_t word;
    size_t permits;
    int drops = 0;
    OK(raddle_channel(1, &tx, &rx));
    OK(raddle_future_send(tx, 5, &future));
    OK(raddle_future_wait(future, RADDLE_FOREVER, NULL));
    IS(RADDLE_EINVAL, raddle_future_wait(future, RADDLE_FOREVER, NULL));
    OK(raddle_future_destroy(future));
    OK(raddle_future_recv(rx, &future));
    OK(raddle_future_wait(future, RADDLE_FOREVER, &word));
    CHECK(word == 5);
    OK(raddle_future_destroy(future));
    OK(raddle_future_recv(rx, &future));
    IS(RADDLE_ETIMEDOUT, raddle_future_wait(future, RADDLE_MS, &word));
    OK(raddle_send(tx, 6));
    OK(raddle_future_wait(future, 0, &word));
    CHECK(word == 6);
    OK(raddle_future_destroy(future));
    OK(raddle_tx_close(tx));
    OK(raddle_rx_close(rx));
    /* What is owned goes to drop. */
    OK(raddle_channel_owned(1, freed, &tx, &rx));
    OK(raddle_future_send(tx, (uintptr_t)&drops, &future));
    OK(raddle_future_send(tx, (uintptr_t)&drops, &second));
    OK(raddle_future_wait(future, RADDLE_FOREVER, NULL));
    IS(RADDLE_ETIMEDOUT, raddle_future_wait(second, 0, NULL));
    OK(raddle_future_destroy(future));
    OK(raddle_future_destroy(second));
    CHECK(drops == 1);
    OK(raddle_future_recv(rx, &future));
    OK(raddle_future_wait(future, RADDLE_FOREVER, &word));
    CHECK(word == (uintptr_t)&drops && drops == 1);
    OK(raddle_future_destroy(future));
    /* So does what comes where nobody wants it. */
    OK(raddle_send(tx, (uintptr_t)&drops));
    OK(raddle_future_recv(rx, &future));
    OK(raddle_future_wait(future, RADDLE_FOREVER, NULL));
    CHECK(drops == 2);
    OK(raddle_future_destroy(future));
    OK(raddle_tx_close(tx));
    OK(raddle_rx_close(rx));
    /* Time; permits; a transaction. */
    OK(raddle_future_sleep(RADDLE_MS, &future));
    OK(raddle_future_wait(future, RADDLE_FOREVER, NULL));
    OK(raddle_future_destroy(future));
    OK(raddle_sem_create(2, &sem));
    OK(raddle_future_acquire(sem, 2, &future));
    OK(raddle_future_acquire(sem, 1, &second));
    OK(raddle_future_wait(future, RADDLE_FOREVER, NULL));
    OK(raddle_sem_available(sem, &permits));
    CHECK(permits == 0);
    IS(RADDLE_EBUSY, raddle_sem_destroy(sem));
    OK(raddle_future_destroy(second));
    OK(raddle_future_destroy(future));
    IS(RADDLE_EINVAL, raddle_future_acquire(sem, 0, &future));
    OK(raddle_sem_destroy(sem));
    OK(raddle_var_create(0, &var));
    OK(raddle_future_atomically(is_full, var, &future));
    IS(RADDLE_ETIMEDOUT, raddle_future_wait(future, RADDLE_MS, NULL));
    OK(raddle_var_store(var, 3));
    IS(77, raddle_future_wait(future, RADDLE_FOREVER, NULL));
    OK(raddle_future_destroy(future));
    OK(raddle_var_destroy(var));
    IS(RADDLE_EINVAL, raddle_future_sleep(RADDLE_FOREVER, &future));
}

/* A descriptor: as a future, and beside a channel in a selection. */
static void descriptors_are_waited_for(void)
{
    int ends[2];
    char byte;
    size_t done, chosen;
    raddle_fd_t *here, *there;
    raddle_future_t *future;
    raddle_tx_t *tx;
    raddle_rx_t *rx, *ready, *clone;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    OK(raddle_fd_open(ends[0], RADDLE_FD_OWNED, &here));
    OK(raddle_fd_open(ends[1], RADDLE_FD_OWNED, &there));
    OK(raddle_future_fd(here, RADDLE_READ, &future));
    IS(RADDLE_ETIMEDOUT, raddle_future_wait(future, RADDLE_MS, NULL));
    IS(RADDLE_EBUSY, raddle_fd_close(here));
    OK(raddle_fd_write(there, "x", 1, RADDLE_FOREVER, &done));
    OK(raddle_future_wait(future, RADDLE_FOREVER, NULL));
    OK(raddle_future_destroy(future));
    OK(raddle_fd_read(here, &byte, 1, 0, &done));
    OK(raddle_future_fd(here, RADDLE_WRITE, &future));
    OK(raddle_future_wait(future, RADDLE_FOREVER, NULL));
    OK(raddle_future_destroy(future));
    IS(RADDLE_EINVAL, raddle_future_fd(here, 3, &future));

    OK(raddle_channel(1, &tx, &rx));
    OK(raddle_fd_when(here, RADDLE_READ, &ready));
    IS(RADDLE_ENOTSUP, raddle_rx_clone(ready, &clone));
    IS(RADDLE_ENOTSUP, raddle_future_recv(ready, &future));
    IS(RADDLE_EBUSY, raddle_fd_close(here));
    raddle_case_t cases[] = { { .rx = rx }, { .rx = ready } };
    IS(RADDLE_ETIMEDOUT, raddle_select(cases, 2, RADDLE_MS, &chosen));
    OK(raddle_fd_write(there, "y", 1, RADDLE_FOREVER, &done));
    OK(raddle_select(cases, 2, RADDLE_FOREVER, &chosen));
    CHECK(chosen == 1);
    OK(raddle_fd_read(here, &byte, 1, 0, &done));
    CHECK(byte == 'y');
    IS(RADDLE_ECLOSED, raddle_select(cases, 2, RADDLE_FOREVER, &chosen));
    OK(raddle_rx_close(ready));
    OK(raddle_fd_when(here, RADDLE_READ, &ready));
    cases[1].rx = ready;
    OK(raddle_send(tx, 3));
    OK(raddle_select(cases, 2, RADDLE_FOREVER, &chosen));
    CHECK(chosen == 0 && cases[0].word == 3);
    /* Hung up: readable. */
    OK(raddle_fd_close(there));
    OK(raddle_recv(ready, NULL));
    OK(raddle_rx_close(ready));
    IS(RADDLE_EINVAL, raddle_fd_when(here, 0, &ready));
    IS(RADDLE_EINVAL, raddle_fd_when(here, RADDLE_READ, NULL));
    OK(raddle_fd_close(here));
    OK(raddle_tx_close(tx));
    OK(raddle_rx_close(rx));
}

/* Mistakes. */
static void mistakes(void)
{
    raddle_future_t *future;
    raddle_task_t *task;
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    raddle_waker_t *waker;
    uintptr_t other[4] = { 0 };
    IS(RADDLE_EINVAL, raddle_task_spawn(&task, NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_task_spawn((raddle_task_t **)1, forgets, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_task_join(NULL, 0, NULL, NULL));
    IS(RADDLE_EHANDLE, raddle_task_join((raddle_task_t *)other, 0, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_task_abort(NULL));
    IS(RADDLE_EINVAL, raddle_task_detach(NULL));
    IS(RADDLE_EHANDLE, raddle_task_detach((raddle_task_t *)other));
    IS(RADDLE_EINVAL, raddle_future_poll(NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_future_wait(NULL, 0, NULL));
    IS(RADDLE_EHANDLE, raddle_future_wait((raddle_future_t *)other, 0, NULL));
    IS(RADDLE_EHANDLE, raddle_future_destroy((raddle_future_t *)other));
    IS(RADDLE_EINVAL, raddle_waker_clone(NULL, &waker));
    IS(RADDLE_EHANDLE, raddle_waker_wake((raddle_waker_t *)other));
    OK(raddle_channel_bytes(1, &tx, &rx));
    IS(RADDLE_ENOTSUP, raddle_future_recv(rx, &future));
    IS(RADDLE_ENOTSUP, raddle_future_send(tx, 1, &future));
    IS(RADDLE_EHANDLE, raddle_future_recv((raddle_rx_t *)tx, &future));
    OK(raddle_tx_close(tx));
    OK(raddle_rx_close(rx));
    OK(raddle_future_sleep(RADDLE_SECOND, &future));
    IS(RADDLE_EINVAL, raddle_future_poll(future, NULL, NULL));
    IS(RADDLE_EHANDLE, raddle_future_poll(future, (raddle_waker_t *)other, NULL));
    OK(raddle_future_destroy(future));
}

static int waits(void *arg)
{
    return raddle_future_wait(arg, RADDLE_FOREVER, NULL);
}

static int joins(void *arg)
{
    return raddle_task_join(arg, RADDLE_FOREVER, NULL, NULL);
}

static int never(void *arg, const raddle_waker_t *waker, void **result)
{
    raddle_future_t **sleep = arg;
    (void)result;
    return raddle_future_poll(*sleep, waker, NULL);
}

static void *joins_aborted(void *task)
{
    int code;
    while ((code = raddle_task_join(task, RADDLE_FOREVER, NULL, NULL)) == RADDLE_EBUSY)
        raddle_yield();
    IS(RADDLE_ENOTRUN, code);
    return NULL;
}

/* Of two who join, one is refused. */
static void two_who_join(void)
{
    raddle_future_t *sleep;
    raddle_task_t *task;
    raddle_thread_t *thread;
    int code;
    OK(raddle_future_sleep(3600 * RADDLE_SECOND, &sleep));
    OK(raddle_task_spawn(&task, never, NULL, &sleep));
    OK(raddle_spawn(&thread, joins_aborted, task));
    while ((code = raddle_task_join(task, 0, NULL, NULL)) == RADDLE_ETIMEDOUT)
        raddle_yield();
    IS(RADDLE_EBUSY, code);
    IS(RADDLE_EBUSY, raddle_task_detach(task));
    OK(raddle_task_abort(task));
    OK(raddle_join(thread, NULL));
    OK(raddle_future_destroy(sleep));
}

/* A cancelled wait leaves what it would have used up. */
static void cancelled_waits(void)
{
    raddle_future_t *future, *sleep;
    raddle_task_t *task;
    OK(raddle_future_sleep(3600 * RADDLE_SECOND, &future));
    IS(RADDLE_ECANCELED, raddle_within(RADDLE_MS, waits, future));
    IS(RADDLE_ETIMEDOUT, raddle_future_wait(future, 0, NULL));
    OK(raddle_future_destroy(future));
    OK(raddle_future_sleep(3600 * RADDLE_SECOND, &sleep));
    OK(raddle_task_spawn(&task, never, NULL, &sleep));
    IS(RADDLE_ECANCELED, raddle_within(RADDLE_MS, joins, task));
    IS(RADDLE_ETIMEDOUT, raddle_task_join(task, 0, NULL, NULL));
    OK(raddle_task_abort(task));
    IS(RADDLE_ENOTRUN, raddle_task_join(task, RADDLE_FOREVER, NULL, NULL));
    OK(raddle_future_destroy(sleep));
}

static void *all(void *arg)
{
    tasks_receive();
    aborted_tasks_are_told();
    os_threads_wake();
    lost_tasks_are_told();
    futures_are_waited_for();
    descriptors_are_waited_for();
    mistakes();
    cancelled_waits();
    two_who_join();
    return arg;
}

int main(void)
{
    begin();
    all(NULL);
    OK(raddle_run(all, NULL, NULL));
    return well();
}
