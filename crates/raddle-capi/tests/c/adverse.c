/* What a program does wrong is told by a code, where it can be told; nothing is printed, and nothing ends. */
#include "check.h"

#include <errno.h>
#include <sys/socket.h>

/* Where no shim of an MPI is. */
static void no_mpi(void)
{
    raddle_net_t *net;
    setenv("MPI_SHIM_DIR", "/nowhere", 1);
    IS(RADDLE_ENOTSUP, raddle_net_start(RADDLE_SECOND, RADDLE_LATE_ERROR, 0, &net));
    CHECK(strstr(raddle_last_error(), "raddle mpi") != NULL);
    IS(RADDLE_EINVAL, raddle_net_start(RADDLE_SECOND, 3, 0, &net));
    IS(RADDLE_EINVAL, raddle_net_start(RADDLE_SECOND, RADDLE_LATE_ALL, -1, &net));
}

static void nulls(void)
{
    void *data;
    uint64_t value;
    size_t count;
    IS(RADDLE_EINVAL, raddle_spawn(NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_join(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_join_for(NULL, 0, NULL));
    IS(RADDLE_EINVAL, raddle_detach(NULL));
    IS(RADDLE_EINVAL, raddle_is_finished(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_spawn_with(NULL, NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_fork(NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_fork_join(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_fork_drop(NULL));
    IS(RADDLE_EINVAL, raddle_both(NULL, NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_for(0, 9, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_scope(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_scope_spawn(NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_scope_cancel(NULL));
    IS(RADDLE_EINVAL, raddle_run(NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_blocking(NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_unpark(NULL));
    IS(RADDLE_EINVAL, raddle_ref_here(NULL));
    IS(RADDLE_EINVAL, raddle_token_create(NULL));
    IS(RADDLE_EINVAL, raddle_token_cancel(NULL));
    IS(RADDLE_EINVAL, raddle_token_run(NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_within(0, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_channel(1, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_send(NULL, 1));
    IS(RADDLE_EINVAL, raddle_recv(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_recv_bytes(NULL, &data, NULL, 0));
    IS(RADDLE_EINVAL, raddle_select(NULL, 1, 0, NULL));
    IS(RADDLE_EINVAL, raddle_select(NULL, 0, RADDLE_FOREVER, NULL));
    IS(RADDLE_ETIMEDOUT, raddle_select(NULL, 0, 0, NULL));
    IS(RADDLE_EINVAL, raddle_mutex_create(RADDLE_MUTEX, NULL));
    IS(RADDLE_EINVAL, raddle_mutex_lock(NULL));
    IS(RADDLE_EINVAL, raddle_rwlock_unlock(NULL));
    IS(RADDLE_EINVAL, raddle_cond_wait(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_sem_acquire(NULL, 1));
    IS(RADDLE_EINVAL, raddle_barrier_wait(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_barrier_create(0, (raddle_barrier_t **)&data));
    IS(RADDLE_EINVAL, raddle_fd_open(-1, 0, (raddle_fd_t **)&data));
    IS(RADDLE_EINVAL, raddle_fd_wait(NULL, RADDLE_READ, 0));
    IS(RADDLE_EINVAL, raddle_net_start(RADDLE_FOREVER, RADDLE_LATE_ERROR, 0, NULL));
    IS(RADDLE_EINVAL, raddle_net_end(NULL));
    IS(RADDLE_EINVAL, raddle_net_place(NULL, &count, NULL));
    IS(RADDLE_EINVAL, raddle_net_mode(NULL, RADDLE_MODE_INLINE, -1));
    IS(RADDLE_EINVAL, raddle_net_point(NULL));
    IS(RADDLE_EINVAL, raddle_net_counters(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_net_bind(NULL));
    IS(RADDLE_EINVAL, raddle_remote_tx_open(NULL, "c", 1, 0, NULL));
    IS(RADDLE_EINVAL, raddle_remote_rx_open(NULL, "c", 1, 0, NULL));
    IS(RADDLE_EINVAL, raddle_remote_send(NULL, "x", 1));
    IS(RADDLE_EINVAL, raddle_remote_recv(NULL, NULL, NULL, 0));
    IS(RADDLE_EINVAL, raddle_remote_when(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_remote_tx_close(NULL));
    IS(RADDLE_EINVAL, raddle_remote_rx_close(NULL));
    IS(RADDLE_EINVAL, raddle_net_send(NULL, 1, 0, "x", 1));
    IS(RADDLE_EINVAL, raddle_net_receive(NULL, 1, 70000, &value, sizeof value, NULL));
    IS(RADDLE_EINVAL, raddle_net_all_gather(NULL, &value, sizeof value, NULL));
    IS(RADDLE_EINVAL, raddle_array_create(NULL, "u", NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_array_part(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_array_destroy(NULL));
    IS(RADDLE_EINVAL, raddle_halo_create(NULL, NULL, 1, NULL));
    IS(RADDLE_EINVAL, raddle_halo_start(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_halo_wait(NULL));
    IS(RADDLE_EINVAL, raddle_halo_report(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_halo_destroy(NULL));
    IS(RADDLE_EINVAL, raddle_counter(NULL, NULL, &value));
    IS(RADDLE_EINVAL, raddle_dump(NULL));
    IS(RADDLE_EINVAL, raddle_mark_create(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_span_begin(NULL));
    IS(RADDLE_EINVAL, raddle_options_create(NULL));
    IS(RADDLE_EINVAL, raddle_options_set(NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_runtime_create(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_runtime_shutdown(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_runtime_run(NULL, NULL, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_tx_len(NULL, &count));
    IS(RADDLE_EINVAL, raddle_sleep(-1));
    IS(RADDLE_EINVAL, raddle_trace_level(9));
    CHECK(raddle_counter_name(1000000) == NULL);
    CHECK(strcmp(raddle_errname(99), "?") == 0 && strcmp(raddle_errname(0), "RADDLE_OK") == 0);
    CHECK(strlen(raddle_strerror(-5)) > 0 && strcmp(raddle_version(), "0.1.0") == 0);
}

/* Objects of one kind where another is asked for. */
static void kinds(void)
{
    raddle_mutex_t *mutex;
    raddle_sem_t *sem;
    raddle_tx_t *tx, *bytes_tx;
    raddle_rx_t *rx, *bytes_rx;
    uintptr_t word;
    void *data;
    OK(raddle_mutex_create(RADDLE_MUTEX, &mutex));
    OK(raddle_sem_create(1, &sem));
    OK(raddle_channel(1, &tx, &rx));
    OK(raddle_channel_bytes(1, &bytes_tx, &bytes_rx));
    IS(RADDLE_EHANDLE, raddle_sem_acquire((raddle_sem_t *)mutex, 1));
    IS(RADDLE_EHANDLE, raddle_mutex_lock((raddle_mutex_t *)sem));
    IS(RADDLE_EHANDLE, raddle_mutex_lock((raddle_mutex_t *)((char *)mutex + 1)));
    IS(RADDLE_EHANDLE, raddle_recv((raddle_rx_t *)tx, &word));
    IS(RADDLE_ENOTSUP, raddle_send(bytes_tx, 1));
    IS(RADDLE_ENOTSUP, raddle_send_bytes(tx, "x", 1, 0));
    IS(RADDLE_ENOTSUP, raddle_recv(bytes_rx, &word));
    IS(RADDLE_ENOTSUP, raddle_recv_bytes(rx, &data, NULL, 0));
    IS(RADDLE_EINVAL, raddle_send_bytes(bytes_tx, NULL, 3, 0));
    raddle_case_t both = { .tx = tx, .rx = rx };
    IS(RADDLE_EINVAL, raddle_select(&both, 1, 0, NULL));
    raddle_case_t off = { NULL, NULL, 0, NULL, 0 };
    IS(RADDLE_ETIMEDOUT, raddle_select(&off, 1, RADDLE_MS, NULL));
    IS(RADDLE_EINVAL, raddle_mutex_create(77, &mutex));
    OK(raddle_mutex_destroy(mutex));
    OK(raddle_sem_destroy(sem));
    OK(raddle_tx_close(tx));
    OK(raddle_rx_close(rx));
    OK(raddle_tx_close(bytes_tx));
    OK(raddle_rx_close(bytes_rx));
}

static void *unlock_of_another(void *arg)
{
    IS(RADDLE_EPERM, raddle_mutex_unlock(arg));
    return NULL;
}

static void *unlock_of_another_writer(void *arg)
{
    IS(RADDLE_EPERM, raddle_rwlock_unlock(arg));
    return NULL;
}

static void locks(void)
{
    raddle_thread_t *other;
    for (int kind = RADDLE_MUTEX; kind <= RADDLE_CLH; kind++) {
        raddle_mutex_t *mutex;
        raddle_cond_t *cond;
        OK(raddle_mutex_create(kind, &mutex));
        OK(raddle_cond_create(&cond));
        IS(RADDLE_EPERM, raddle_mutex_unlock(mutex));
        OK(raddle_mutex_lock(mutex));
        IS(RADDLE_EDEADLK, raddle_mutex_lock(mutex));
        IS(RADDLE_EBUSY, raddle_mutex_destroy(mutex));
        OK(raddle_spawn(&other, unlock_of_another, mutex));
        OK(raddle_join(other, NULL));
        if (kind == RADDLE_MUTEX) {
            IS(RADDLE_ETIMEDOUT, raddle_mutex_trylock(mutex));
            IS(RADDLE_EDEADLK, raddle_mutex_lock_for(mutex, RADDLE_MS));
        } else {
            IS(RADDLE_ENOTSUP, raddle_cond_wait(cond, mutex));
            IS(RADDLE_ENOTSUP, raddle_mutex_lock_for(mutex, RADDLE_MS));
        }
        OK(raddle_mutex_unlock(mutex));
        IS(kind == RADDLE_MUTEX ? RADDLE_EPERM : RADDLE_ENOTSUP, raddle_cond_wait(cond, mutex));
        OK(raddle_mutex_destroy(mutex));
        OK(raddle_cond_destroy(cond));
    }
    raddle_rwlock_t *lock;
    OK(raddle_rwlock_create(&lock));
    OK(raddle_rwlock_write(lock));
    IS(RADDLE_EDEADLK, raddle_rwlock_write(lock));
    IS(RADDLE_EDEADLK, raddle_rwlock_read(lock));
    IS(RADDLE_EBUSY, raddle_rwlock_destroy(lock));
    OK(raddle_spawn(&other, unlock_of_another_writer, lock));
    OK(raddle_join(other, NULL));
    OK(raddle_rwlock_unlock(lock));
    OK(raddle_rwlock_read(lock));
    IS(RADDLE_EBUSY, raddle_rwlock_destroy(lock));
    OK(raddle_rwlock_unlock(lock));
    OK(raddle_rwlock_destroy(lock));
}

static void closed(void)
{
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    raddle_sem_t *sem;
    uintptr_t word;
    size_t len;
    OK(raddle_channel(2, &tx, &rx));
    OK(raddle_send(tx, 1));
    OK(raddle_tx_len(tx, &len));
    CHECK(len == 1);
    OK(raddle_tx_close(tx));
    OK(raddle_recv(rx, &word));
    CHECK(word == 1);
    IS(RADDLE_ECLOSED, raddle_recv(rx, &word));
    IS(RADDLE_ECLOSED, raddle_recv_for(rx, &word, RADDLE_MS));
    OK(raddle_rx_close(rx));
    OK(raddle_channel(2, &tx, &rx));
    OK(raddle_rx_close(rx));
    IS(RADDLE_ECLOSED, raddle_send(tx, 1));
    IS(RADDLE_ECLOSED, raddle_send_for(tx, 1, 0));
    OK(raddle_tx_close(tx));
    OK(raddle_sem_create(0, &sem));
    IS(RADDLE_EINVAL, raddle_sem_acquire(sem, 0));
    IS(RADDLE_EINVAL, raddle_sem_release(sem, SIZE_MAX));
    IS(RADDLE_ETIMEDOUT, raddle_sem_acquire_for(sem, 1, 0));
    OK(raddle_sem_close(sem));
    IS(RADDLE_ECLOSED, raddle_sem_acquire(sem, 1));
    OK(raddle_sem_destroy(sem));
}

static void *wait_for_permit(void *arg)
{
    IS(RADDLE_ECLOSED, raddle_sem_acquire(arg, 1));
    return NULL;
}

/* Destroyed while somebody waits: refused, as long as that is so. */
static void busy(void)
{
    raddle_sem_t *sem;
    raddle_thread_t *waits;
    OK(raddle_sem_create(0, &sem));
    OK(raddle_spawn_process(&waits, wait_for_permit, sem));
    int code;
    while ((code = raddle_join_for(waits, 0, NULL)) == RADDLE_ETIMEDOUT) {
        char *dump;
        OK(raddle_dump(&dump));
        int is_there = strstr(dump, "acquire") != NULL;
        free(dump);
        if (is_there) {
            IS(RADDLE_EBUSY, raddle_sem_destroy(sem));
            OK(raddle_sem_close(sem));
            OK(raddle_join(waits, NULL));
            break;
        }
        OK(raddle_sleep(RADDLE_MS));
    }
    OK(raddle_sem_destroy(sem));
}

static void settings(void)
{
    raddle_options_t *options;
    raddle_spawn_options_t spawn = RADDLE_SPAWN_OPTIONS_INIT;
    raddle_thread_t *none;
    uint64_t value;
    OK(raddle_options_create(&options));
    IS(RADDLE_ESETTING, raddle_options_set(options, "RADDLE_WORKERS", "many"));
    CHECK(strstr(raddle_last_error(), "1 to 1024") != NULL);
    IS(RADDLE_ESETTING, raddle_options_set(options, "RADDLE_NONSENSE", "1"));
    IS(RADDLE_EINVAL, raddle_options_set(options, "RADDLE_WORKERS", "\xff"));
    IS(RADDLE_EINVAL, raddle_options_on_deadlock(options, NULL, NULL));
    OK(raddle_options_destroy(options));
    spawn.worker = 1000;
    IS(RADDLE_EINVAL, raddle_spawn_with(&none, &spawn, unlock_of_another, NULL));
    spawn.worker = -1;
    spawn.kind = 17;
    IS(RADDLE_EINVAL, raddle_spawn_with(&none, &spawn, unlock_of_another, NULL));
    spawn.kind = RADDLE_PROCESS;
    spawn.stack_size = SIZE_MAX / 2;
    IS(RADDLE_EINVAL, raddle_spawn_with(&none, &spawn, unlock_of_another, NULL));
    spawn.size = 3;
    IS(RADDLE_EINVAL, raddle_spawn_with(&none, &spawn, unlock_of_another, NULL));
    IS(RADDLE_EINVAL, raddle_counter(NULL, "no_such_counter", &value));
}

/* What there was to say of an error is not said of the next one. */
static void last_words(void)
{
    raddle_options_t *options;
    raddle_mutex_t *mutex;
    OK(raddle_mutex_create(RADDLE_MUTEX, &mutex));
    OK(raddle_options_create(&options));
    IS(RADDLE_ESETTING, raddle_options_set(options, "RADDLE_WORKERS", "many"));
    OK(raddle_options_destroy(options));
    CHECK(*raddle_last_error() != 0);
    IS(RADDLE_EPERM, raddle_mutex_unlock(mutex));
    CHECK(*raddle_last_error() == 0);
    OK(raddle_mutex_destroy(mutex));
}

/* A case in a selection meets neither itself nor another one of the same call; each is there as often as it stands. */
static void duplicates(void)
{
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    size_t chosen = 9;
    OK(raddle_channel(0, &tx, &rx));
    raddle_case_t both[] = { { .tx = tx, .word = 1 }, { .rx = rx }, { .tx = tx, .word = 2 }, { .rx = rx } };
    IS(RADDLE_ETIMEDOUT, raddle_select(both, 4, 0, &chosen));
    IS(RADDLE_ETIMEDOUT, raddle_select(both, 4, RADDLE_MS, &chosen));
    CHECK(chosen == 9);
    OK(raddle_tx_close(tx));
    raddle_case_t closed[] = { { NULL, NULL, 0, NULL, 0 }, { .rx = rx }, { .rx = rx } };
    IS(RADDLE_ECLOSED, raddle_select_first(closed, 3, RADDLE_FOREVER, &chosen));
    CHECK(chosen == 1);
    OK(raddle_rx_close(rx));
}

static raddle_scope_t *kept;

static void *spawn_from_outside(void *arg)
{
    IS(RADDLE_EPERM, raddle_scope_spawn(arg, unlock_of_another, NULL));
    return NULL;
}

/* The body has returned, and the scope waits: children are told all the same. */
static void *spawn_from_child(void *arg)
{
    for (int i = 0; i < 200; i++) {
        IS(RADDLE_EPERM, raddle_scope_spawn(kept, spawn_from_outside, NULL));
        IS(RADDLE_EPERM, raddle_scope_cancel(kept));
        OK(raddle_yield());
    }
    return arg;
}

static int body_of_children(raddle_scope_t *scope, void *arg)
{
    kept = scope;
    for (int i = 0; i < 3; i++)
        OK(raddle_scope_spawn(scope, spawn_from_child, arg));
    return 4321;
}

static void *opens_scope(void *arg)
{
    CHECK(raddle_scope(body_of_children, arg) == 4321);
    return arg;
}

static int body(raddle_scope_t *scope, void *arg)
{
    raddle_thread_t *other;
    (void)arg;
    kept = scope;
    OK(raddle_spawn(&other, spawn_from_outside, scope));
    OK(raddle_join(other, NULL));
    return 1234;
}

static void descriptors(void)
{
    int ends[2];
    raddle_fd_t *one, *other;
    char byte;
    size_t done;
    IS(RADDLE_EOS, raddle_fd_open(1000000, 0, &one));
    CHECK(errno == EBADF);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    OK(raddle_fd_open(ends[0], RADDLE_FD_OWNED, &one));
    OK(raddle_fd_open(ends[1], RADDLE_FD_OWNED, &other));
    IS(RADDLE_EINVAL, raddle_fd_wait(one, 3, 0));
    IS(RADDLE_ETIMEDOUT, raddle_fd_wait(one, RADDLE_READ, 0));
    IS(RADDLE_ETIMEDOUT, raddle_fd_read(one, &byte, 1, RADDLE_MS, &done));
    IS(RADDLE_EINVAL, raddle_fd_read(one, NULL, 1, 0, &done));
    OK(raddle_fd_close(other));
    OK(raddle_fd_read(one, &byte, 1, RADDLE_FOREVER, &done));
    CHECK(done == 0);
    IS(RADDLE_EOS, raddle_fd_write(one, "x", 1, RADDLE_FOREVER, &done));
    CHECK(errno == EPIPE);
    OK(raddle_fd_close(one));
}

int main(void)
{
    begin();
    nulls();
    no_mpi();
    kinds();
    locks();
    closed();
    busy();
    settings();
    last_words();
    duplicates();
    CHECK(raddle_scope(body, NULL) == 1234);
    opens_scope(NULL);
    OK(raddle_run(opens_scope, NULL, NULL));
    descriptors();
    return well();
}
