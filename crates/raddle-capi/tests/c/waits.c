/* What waits between threads of Raddle and others: every kind of lock, channels, selection, cancellation, deadlines,
 * descriptors; and what looks on: traces, the hook for deadlocks. */
#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

enum { TURNS = 500 };

struct counted {
    raddle_mutex_t *mutex;
    raddle_rwlock_t *rwlock;
    long count;
    int turns; /* few where one who is not running holds up the whole queue */
};

static void *count(void *arg)
{
    struct counted *counted = arg;
    for (int i = 0; i < counted->turns; i++) {
        OK(raddle_mutex_lock(counted->mutex));
        counted->count++;
        if (i % 64 == 0)
            OK(raddle_yield());
        OK(raddle_mutex_unlock(counted->mutex));
    }
    return NULL;
}

static void *write_often(void *arg)
{
    struct counted *counted = arg;
    for (int i = 0; i < TURNS; i++) {
        OK(raddle_rwlock_write(counted->rwlock));
        counted->count++;
        OK(raddle_rwlock_unlock(counted->rwlock));
        OK(raddle_rwlock_read_for(counted->rwlock, RADDLE_FOREVER));
        OK(raddle_rwlock_unlock(counted->rwlock));
    }
    return NULL;
}

/* Six threads of three kinds and one of the C library. */
static void mixed(void *(*body)(void *), void *arg)
{
    raddle_thread_t *threads[6];
    pthread_t foreign;
    for (int i = 0; i < 6; i++) {
        raddle_spawn_options_t options = RADDLE_SPAWN_OPTIONS_INIT;
        options.kind = i % 3;
        OK(raddle_spawn_with(&threads[i], &options, body, arg));
    }
    CHECK(pthread_create(&foreign, NULL, body, arg) == 0);
    for (int i = 0; i < 6; i++)
        OK(raddle_join(threads[i], NULL));
    CHECK(pthread_join(foreign, NULL) == 0);
}

static raddle_once_t once = RADDLE_ONCE_INIT;

static int do_once(void *done)
{
    for (int i = 0; i < 10; i++)
        OK(raddle_yield());
    OK(raddle_sleep(RADDLE_MS));
    ++*(int *)done;
    return RADDLE_OK;
}

static void *ask_once(void *done)
{
    OK(raddle_once(&once, do_once, done));
    CHECK(*(int *)done == 1);
    return NULL;
}

static void locks(void)
{
    int done = 0;
    mixed(ask_once, &done);
    for (int kind = RADDLE_MUTEX; kind <= RADDLE_CLH; kind++) {
        struct counted counted = { NULL, NULL, 0, kind == RADDLE_MUTEX ? TURNS : 70 };
        OK(raddle_mutex_create(kind, &counted.mutex));
        mixed(count, &counted);
        CHECK(counted.count == 7 * counted.turns);
        OK(raddle_mutex_destroy(counted.mutex));
    }
    struct counted counted = { NULL, NULL, 0, TURNS };
    OK(raddle_rwlock_create(&counted.rwlock));
    mixed(write_often, &counted);
    CHECK(counted.count == 7 * TURNS);
    OK(raddle_rwlock_destroy(counted.rwlock));
}

/* A ring through which a number goes round: words, rendezvous. */
struct station {
    raddle_rx_t *from;
    raddle_tx_t *to;
};

static void *pass_on(void *arg)
{
    struct station *station = arg;
    uintptr_t word;
    while (raddle_recv(station->from, &word) == RADDLE_OK)
        OK(raddle_send(station->to, word + 1));
    OK(raddle_tx_close(station->to));
    return NULL;
}

static void ring(void)
{
    enum { STATIONS = 20 };
    struct station stations[STATIONS];
    raddle_thread_t *threads[STATIONS];
    raddle_tx_t *first;
    raddle_rx_t *last;
    uintptr_t word = 0;
    OK(raddle_channel(0, &first, &last));
    for (int i = 0; i < STATIONS; i++) {
        stations[i].from = last;
        OK(raddle_channel(i % 2, &stations[i].to, &last));
        OK(raddle_spawn_process(&threads[i], pass_on, &stations[i]));
    }
    for (int round = 0; round < 10; round++) {
        OK(raddle_send(first, word));
        OK(raddle_recv(last, &word));
    }
    CHECK(word == 10 * STATIONS);
    OK(raddle_tx_close(first));
    IS(RADDLE_ECLOSED, raddle_recv(last, &word));
    for (int i = 0; i < STATIONS; i++) {
        OK(raddle_join(threads[i], NULL));
        OK(raddle_rx_close(stations[i].from));
    }
    OK(raddle_rx_close(last));
}

struct choices {
    raddle_tx_t *words, *bytes;
};

static void *offers(void *arg)
{
    struct choices *choices = arg;
    for (int i = 0; i < 40; i++) {
        raddle_case_t cases[2] = { { .tx = choices->words, .word = 3 },
                                   { .tx = choices->bytes, .data = "ab", .size = 2 } };
        size_t chosen;
        OK(raddle_select(cases, 2, RADDLE_FOREVER, &chosen));
        CHECK(chosen < 2);
    }
    OK(raddle_tx_close(choices->words));
    OK(raddle_tx_close(choices->bytes));
    return NULL;
}

static void selection(void)
{
    struct choices choices;
    raddle_rx_t *words, *bytes, *ticks, *never;
    raddle_thread_t *thread;
    size_t chosen;
    int received = 0, ticked = 0;
    OK(raddle_channel(0, &choices.words, &words));
    OK(raddle_channel_bytes(0, &choices.bytes, &bytes));
    OK(raddle_tick(RADDLE_MS, &ticks));
    OK(raddle_after(RADDLE_FOREVER, &never));
    OK(raddle_spawn(&thread, offers, &choices));
    raddle_case_t cases[] = { { .rx = words }, { .rx = bytes }, { .rx = ticks }, { .rx = never } };
    while (cases[0].rx != NULL || cases[1].rx != NULL) {
        int code = raddle_select_first(cases, 4, RADDLE_FOREVER, &chosen);
        if (code == RADDLE_ECLOSED) {
            cases[chosen].rx = NULL; /* off */
            continue;
        }
        OK(code);
        received += chosen < 2;
        ticked += chosen == 2;
        if (chosen == 0)
            CHECK(cases[0].word == 3);
        if (chosen == 1) {
            CHECK(cases[1].size == 2 && strcmp(cases[1].data, "ab") == 0);
            free(cases[1].data);
        }
    }
    CHECK(received == 40 && ticked >= 0);
    OK(raddle_join(thread, NULL));
    OK(raddle_rx_close(words));
    OK(raddle_rx_close(bytes));
    OK(raddle_rx_close(ticks));
    OK(raddle_rx_close(never));
}

/* Each wait ends by a code when its region is cancelled; the next one, too; in a shield none does. */
static int put_in_order(void *arg)
{
    int code = raddle_sleep(RADDLE_US);
    *(int *)arg += code == RADDLE_OK;
    return code;
}

static void *put_in_order_alone(void *arg)
{
    return (void *)(intptr_t)put_in_order(arg);
}

static int ended; /* by a process that may be late */

struct cancelled {
    raddle_token_t *token;
    raddle_tx_t *ready;
    int shielded;
};

static int wait_in_vain(void *arg)
{
    struct cancelled *shared = arg;
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    raddle_mutex_t *mutex;
    raddle_cond_t *cond;
    raddle_sem_t *sem;
    raddle_barrier_t *barrier;
    raddle_thread_t *other;
    raddle_fork_t *fork;
    int ends[2], finished = 0;
    raddle_fd_t *fd;
    uintptr_t word;
    OK(raddle_channel(0, &tx, &rx));
    OK(raddle_mutex_create(RADDLE_MUTEX, &mutex));
    OK(raddle_cond_create(&cond));
    OK(raddle_sem_create(0, &sem));
    OK(raddle_barrier_create(2, &barrier));
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    OK(raddle_fd_open(ends[0], RADDLE_FD_OWNED, &fd));
    OK(raddle_mutex_lock(mutex));
    OK(raddle_check());
    OK(raddle_send(shared->ready, 1));
    IS(RADDLE_ECANCELED, raddle_recv(rx, &word)); /* here it waits */
    IS(RADDLE_ECANCELED, raddle_check());
    IS(RADDLE_ECANCELED, raddle_send(tx, 1));
    IS(RADDLE_ECANCELED, raddle_cond_wait(cond, mutex));
    IS(RADDLE_ECANCELED, raddle_sem_acquire(sem, 1));
    IS(RADDLE_ECANCELED, raddle_barrier_wait(barrier, NULL));
    IS(RADDLE_ECANCELED, raddle_sleep(RADDLE_SECOND));
    IS(RADDLE_ECANCELED, raddle_park());
    IS(RADDLE_ECANCELED, raddle_fd_wait(fd, RADDLE_READ, RADDLE_FOREVER));
    OK(raddle_mutex_unlock(mutex)); /* the wait took it again */
    IS(RADDLE_EPERM, raddle_mutex_unlock(mutex));
    OK(raddle_fork(&fork, put_in_order_alone, &finished));
    OK(raddle_fork_join(fork, NULL)); /* no cancellation ends this */
    OK(raddle_spawn_process(&other, put_in_order_alone, &ended));
    int code = raddle_join(other, NULL);
    if (code == RADDLE_ECANCELED)
        OK(raddle_detach(other)); /* the handle has stayed */
    OK(raddle_shield(put_in_order, &shared->shielded));
    OK(raddle_rx_close(rx));
    OK(raddle_tx_close(tx));
    OK(raddle_mutex_destroy(mutex));
    OK(raddle_cond_destroy(cond));
    OK(raddle_sem_destroy(sem));
    OK(raddle_barrier_destroy(barrier));
    OK(raddle_fd_close(fd));
    close(ends[1]);
    return 4321;
}

static void *in_region(void *arg)
{
    struct cancelled *shared = arg;
    CHECK(raddle_token_run(shared->token, wait_in_vain, shared) == 4321);
    OK(raddle_check());
    IS(RADDLE_ECANCELED, raddle_token_run(shared->token, wait_in_vain, shared));
    return NULL;
}

static int sleep_long(void *arg)
{
    (void)arg;
    IS(RADDLE_ECANCELED, raddle_sleep(1000000 * RADDLE_SECOND));
    return RADDLE_OK;
}

static void *sleep_long_alone(void *arg)
{
    return (void *)(intptr_t)sleep_long(arg);
}

static int cancel_children(raddle_scope_t *scope, void *arg)
{
    for (int i = 0; i < 5; i++)
        OK(raddle_scope_spawn(scope, sleep_long_alone, arg));
    OK(raddle_yield());
    OK(raddle_scope_cancel(scope));
    return RADDLE_OK;
}

static void cancellation(void)
{
    struct cancelled shared = { NULL, NULL, 0 };
    raddle_token_t *child;
    raddle_rx_t *ready;
    raddle_thread_t *thread;
    uintptr_t word;
    int is_cancelled;
    OK(raddle_token_create(&shared.token));
    OK(raddle_token_child(shared.token, &child));
    OK(raddle_channel(1, &shared.ready, &ready));
    OK(raddle_spawn(&thread, in_region, &shared));
    OK(raddle_recv(ready, &word));
    OK(raddle_token_cancel(shared.token));
    OK(raddle_join(thread, NULL));
    CHECK(shared.shielded == 1);
    OK(raddle_token_is_cancelled(child, &is_cancelled));
    CHECK(is_cancelled == 1);
    raddle_spawn_options_t options = RADDLE_SPAWN_OPTIONS_INIT;
    options.token = child;
    OK(raddle_spawn_with(&thread, &options, sleep_long_alone, NULL));
    IS(RADDLE_ENOTRUN, raddle_join(thread, NULL));
    OK(raddle_token_destroy(child));
    OK(raddle_token_create(&child));
    options.token = child;
    OK(raddle_spawn_with(&thread, &options, sleep_long_alone, NULL));
    OK(raddle_yield());
    OK(raddle_token_cancel(child));
    int code = raddle_join(thread, NULL); /* it had begun, or not */
    CHECK(code == RADDLE_OK || code == RADDLE_ENOTRUN);
    OK(raddle_token_destroy(child));
    OK(raddle_token_destroy(shared.token));
    code = raddle_within(RADDLE_MS, sleep_long, NULL); /* on a slow machine the time is over before it begins */
    CHECK(code == RADDLE_OK || code == RADDLE_ECANCELED);
    CHECK(raddle_within(RADDLE_FOREVER, put_in_order, &shared.shielded) == RADDLE_OK);
    OK(raddle_scope(cancel_children, NULL));
    OK(raddle_rx_close(ready));
    OK(raddle_tx_close(shared.ready));
}

/* An echo server with a thread a connection. */
static void *serve(void *arg)
{
    raddle_fd_t *peer;
    char bytes[64];
    size_t got, put, at;
    OK(raddle_fd_open((int)(intptr_t)arg, RADDLE_FD_OWNED, &peer));
    for (;;) {
        OK(raddle_fd_read(peer, bytes, sizeof bytes, RADDLE_FOREVER, &got));
        if (got == 0)
            break;
        for (at = 0; at < got; at += put)
            OK(raddle_fd_write(peer, bytes + at, got - at, RADDLE_FOREVER, &put));
    }
    OK(raddle_fd_close(peer));
    return NULL;
}

enum { CLIENTS = 20 };

static void *listen_for(void *arg)
{
    raddle_fd_t *listener = arg;
    raddle_thread_t *threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        int number;
        OK(raddle_fd_accept(listener, RADDLE_FOREVER, &number));
        OK(raddle_spawn(&threads[i], serve, (void *)(intptr_t)number));
    }
    for (int i = 0; i < CLIENTS; i++)
        OK(raddle_join(threads[i], NULL));
    return NULL;
}

static struct sockaddr_in address;

static void *ask(void *arg)
{
    raddle_fd_t *fd;
    char answer[8];
    size_t at, done;
    int number = socket(AF_INET, SOCK_STREAM, 0);
    (void)arg;
    CHECK(number >= 0);
    OK(raddle_fd_open(number, RADDLE_FD_OWNED, &fd));
    OK(raddle_fd_connect(fd, &address, sizeof address, RADDLE_FOREVER));
    for (int i = 0; i < 10; i++) {
        OK(raddle_fd_wait(fd, RADDLE_WRITE, RADDLE_FOREVER));
        for (at = 0; at < 8; at += done)
            OK(raddle_fd_write(fd, &"question"[at], 8 - at, RADDLE_FOREVER, &done));
        for (at = 0; at < 8; at += done)
            OK(raddle_fd_read(fd, answer + at, 8 - at, RADDLE_FOREVER, &done));
        CHECK(memcmp(answer, "question", 8) == 0);
    }
    OK(raddle_fd_close(fd));
    return NULL;
}

static void sockets(void)
{
    raddle_fd_t *listener;
    raddle_thread_t *server, *clients[CLIENTS];
    socklen_t size = sizeof address;
    int same, number = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(number, (struct sockaddr *)&address, size) == 0 && listen(number, 64) == 0);
    CHECK(getsockname(number, (struct sockaddr *)&address, &size) == 0);
    OK(raddle_fd_open(number, RADDLE_FD_OWNED, &listener));
    OK(raddle_fd_number(listener, &same));
    CHECK(same == number);
    IS(RADDLE_ETIMEDOUT, raddle_fd_accept(listener, 0, &same));
    OK(raddle_spawn(&server, listen_for, listener));
    for (int i = 1; i < CLIENTS; i++)
        OK(raddle_spawn_process(&clients[i], ask, NULL));
    ask(NULL); /* on the main thread */
    for (int i = 1; i < CLIENTS; i++)
        OK(raddle_join(clients[i], NULL));
    OK(raddle_join(server, NULL));
    OK(raddle_fd_close(listener));
}

/* Two who wait for each other are told to the hook, which cancels one of them. */
static raddle_token_t *rescue;

static void told(const char *report, void *arg)
{
    CHECK(strstr(report, "deadlock") != NULL && arg == &rescue);
    OK(raddle_token_cancel(rescue));
}

static int receive_in_vain(void *arg)
{
    uintptr_t word;
    return raddle_recv(arg, &word);
}

static void *deadlocks(void *arg)
{
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    (void)arg;
    OK(raddle_channel(0, &tx, &rx));
    IS(RADDLE_ECANCELED, raddle_token_run(rescue, receive_in_vain, rx));
    OK(raddle_tx_close(tx));
    OK(raddle_rx_close(rx));
    return NULL;
}

static void hook(void)
{
    raddle_options_t *options;
    raddle_runtime_t *runtime;
    OK(raddle_token_create(&rescue));
    OK(raddle_options_create(&options));
    OK(raddle_options_on_deadlock(options, told, &rescue));
    OK(raddle_options_set(options, "RADDLE_WORKERS", "1"));
    OK(raddle_runtime_create(options, &runtime));
    OK(raddle_runtime_run(runtime, deadlocks, NULL, NULL));
    OK(raddle_runtime_shutdown(runtime, NULL));
    OK(raddle_options_destroy(options));
    OK(raddle_token_destroy(rescue));
}

static void *mark(void *arg)
{
    raddle_mark_t *mark;
    OK(raddle_mark_create("a span of C", &mark));
    OK(raddle_trace_level(3));
    OK(raddle_span_begin(mark));
    OK(raddle_trace_mark(mark, 5));
    OK(raddle_trace_counter(mark, 6));
    OK(raddle_span_end(mark));
    OK(raddle_trace_dump(arg));
    OK(raddle_trace_level(0));
    return NULL;
}

static void traces(const char *file)
{
    FILE *trace;
    OK(raddle_run(mark, (void *)file, NULL));
    trace = fopen(file, "r");
    CHECK(trace != NULL);
    fclose(trace);
}

int main(int count, char **arguments)
{
    begin();
    locks();
    ring();
    selection();
    cancellation();
    sockets();
    hook();
    if (count > 1)
        traces(arguments[1]);
    return well();
}
