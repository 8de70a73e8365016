/* Calls by chance, of whatever handle there is, null, or none at all: each returns. Each flow has its own objects, of
 * all kinds, and nothing that was destroyed is used again. */
#include "check.h"
#include <pthread.h>
#include <sys/socket.h>

enum { HANDLES = 256, FLOWS = 3, ROUNDS = 3000 };

struct flow {
    unsigned long seed;
    void *handles[HANDLES];
    size_t count;
};

static void *nothing[64]; /* no object begins so */

static unsigned long chance(struct flow *flow, unsigned long below)
{
    flow->seed = flow->seed * 6364136223846793005u + 1442695040888963407u;
    return (flow->seed >> 33) % below;
}

static void *pick(struct flow *flow)
{
    switch (chance(flow, 6)) {
    case 0: return NULL;
    case 1: return nothing;
    case 2: return nothing + chance(flow, 16);
    default: return flow->count ? flow->handles[chance(flow, flow->count)] : NULL;
    }
}

static void keep(struct flow *flow, int code, void *handle)
{
    if (code != RADDLE_OK || handle == NULL)
        return;
    if (flow->count == HANDLES)
        flow->count = 0;
    flow->handles[flow->count++] = handle;
}

static void *itself(void *arg)
{
    return arg;
}

static int any_code(void *arg)
{
    return (int)chance(arg, 20);
}

static int part(raddle_stm_t *stm, void *arg)
{
    struct flow *flow = arg;
    char bytes[10];
    uintptr_t word;
    size_t size;
    int code = RADDLE_OK;
    for (int i = 0; i < 3 && code != RADDLE_EAGAIN; i++)
        switch (chance(flow, 12)) {
        case 0: code = raddle_stm_read(stm, pick(flow), &word); break;
        case 1: code = raddle_stm_write(stm, pick(flow), 7); break;
        case 2: code = raddle_stm_read_block(stm, pick(flow), bytes, chance(flow, 10), &size); break;
        case 3: code = raddle_stm_write_block(stm, pick(flow), "bytes", chance(flow, 5)); break;
        case 4: code = raddle_stm_on_commit(stm, itself, NULL); break;
        case 5: code = raddle_stm_on_abort(stm, itself, NULL); break;
        case 6: code = raddle_stm_nested(stm, chance(flow, 3) ? NULL : part, arg); break;
        case 7: code = raddle_stm_or_else(stm, part, arg, chance(flow, 3) ? NULL : part, arg); break;
        default: break;
        }
    return code == RADDLE_EAGAIN ? code : (int)chance(flow, 3);
}

static int poll_by_chance(void *arg, const raddle_waker_t *waker, void **result)
{
    struct flow own = { .seed = (unsigned long)waker ^ (unsigned long)result };
    (void)arg;
    OK(raddle_waker_wake(waker));
    return chance(&own, 3) ? RADDLE_EAGAIN : (int)chance(&own, 20);
}

static void drop(uintptr_t word)
{
    (void)word;
}

#define MAKE(type, call)              \
    do {                              \
        type *made = NULL;            \
        int code_ = (call);           \
        keep(flow, code_, made);      \
    } while (0)

static void make_channel(struct flow *flow)
{
    raddle_tx_t *tx = NULL;
    raddle_rx_t *rx = NULL;
    int64_t capacity = (int64_t)chance(flow, 4) - 1;
    int code;
    switch (chance(flow, 3)) {
    case 0: code = raddle_channel(capacity, &tx, &rx); break;
    case 1: code = raddle_channel_owned(capacity, drop, &tx, &rx); break;
    default: code = raddle_channel_bytes(capacity, &tx, &rx); break;
    }
    keep(flow, code, tx);
    keep(flow, code, rx);
}

static void make(struct flow *flow)
{
    void *of = pick(flow);
    int ends[2];
    switch (chance(flow, 22)) {
    case 0: MAKE(raddle_var_t, raddle_var_create(1, &made)); break;
    case 1: MAKE(raddle_var_t, raddle_var_create_block("abc", chance(flow, 4), &made)); break;
    case 2: MAKE(raddle_mutex_t, raddle_mutex_create((int)chance(flow, 7) - 1, &made)); break;
    case 3: MAKE(raddle_rwlock_t, raddle_rwlock_create(&made)); break;
    case 4: MAKE(raddle_sem_t, raddle_sem_create(chance(flow, 3), &made)); break;
    case 5: MAKE(raddle_cond_t, raddle_cond_create(&made)); break;
    case 6: MAKE(raddle_barrier_t, raddle_barrier_create(chance(flow, 3), &made)); break;
    case 7: MAKE(raddle_token_t, raddle_token_create(&made)); break;
    case 8: MAKE(raddle_token_t, raddle_token_child(of, &made)); break;
    case 9: MAKE(raddle_rx_t, raddle_after((int64_t)chance(flow, 1000), &made)); break;
    case 10: MAKE(raddle_tx_t, raddle_tx_clone(of, &made)); break;
    case 11: MAKE(raddle_rx_t, raddle_rx_clone(of, &made)); break;
    case 12: MAKE(raddle_future_t, raddle_future_recv(of, &made)); break;
    case 13: MAKE(raddle_future_t, raddle_future_send(of, 1, &made)); break;
    case 14: MAKE(raddle_future_t, raddle_future_sleep((int64_t)chance(flow, 1000), &made)); break;
    case 15: MAKE(raddle_future_t, raddle_future_acquire(of, chance(flow, 3), &made)); break;
    case 16: MAKE(raddle_future_t, raddle_future_fd(of, (int)chance(flow, 4), &made)); break;
    case 17: MAKE(raddle_rx_t, raddle_fd_when(of, (int)chance(flow, 4), &made)); break;
    case 18: MAKE(raddle_task_t, raddle_task_spawn(&made, poll_by_chance, NULL, NULL)); break;
    case 19: MAKE(raddle_ref_t, raddle_ref_here(&made)); break;
    case 20:
        if (chance(flow, 16) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0)
            for (int i = 0; i < 2; i++)
                MAKE(raddle_fd_t, raddle_fd_open(ends[i], RADDLE_FD_OWNED, &made));
        break;
    default: make_channel(flow); break;
    }
}

static void use(struct flow *flow)
{
    void *of = pick(flow), *other = pick(flow), *data = NULL;
    raddle_case_t cases[] = { { .tx = of, .data = "q", .size = 1 }, { .rx = other } };
    char byte;
    uintptr_t word;
    size_t size;
    int flag;
    switch (chance(flow, 31)) {
    case 0: raddle_send_for(of, 1, 0); break;
    case 1: raddle_recv_for(of, &word, 0); break;
    case 2: raddle_send_bytes(of, "xyz", 3, 0); break;
    case 3:
        if (raddle_recv_bytes(of, &data, &size, 0) == RADDLE_OK)
            free(data);
        break;
    case 4:
        if (raddle_select(cases, chance(flow, 3), 0, &size) == RADDLE_OK && size == 1)
            free(cases[1].data);
        break;
    case 5: raddle_mutex_trylock(of); break;
    case 6: raddle_mutex_unlock(of); break;
    case 7: raddle_mutex_lock_for(of, 0); break;
    case 8: raddle_rwlock_read_for(of, 0); break;
    case 9: raddle_rwlock_write_for(of, 0); break;
    case 10: raddle_rwlock_unlock(of); break;
    case 11: raddle_sem_acquire_for(of, chance(flow, 4), 0); break;
    case 12: raddle_sem_release(of, chance(flow, 4)); break;
    case 13: raddle_cond_wait_for(of, other, 1000); break;
    case 14: raddle_cond_broadcast(of); break;
    case 15: raddle_barrier_wait_for(of, 1000, &flag); break;
    case 16: raddle_token_run(of, any_code, flow); break;
    case 17: raddle_token_cancel(of); break;
    case 18: raddle_future_poll(of, other, &word); break;
    case 19: raddle_future_wait(of, 0, &word); break;
    case 20: raddle_task_abort(of); break;
    case 21: raddle_task_is_finished(of, &flag); break;
    case 22: raddle_atomically(part, flow); break;
    case 23: raddle_atomically_for(0, part, flow); break;
    case 24: raddle_var_store(of, 3); break;
    case 25: raddle_var_load(of, &word); break;
    case 26: raddle_fd_write(of, "hi", 2, 0, &size); break;
    case 27: raddle_fd_read(of, &byte, 1, 0, &size); break;
    case 28: raddle_fd_wait(of, (int)chance(flow, 4), 0); break;
    case 29: raddle_unpark(of); break;
    default: raddle_counter(of, "spawns", &(uint64_t){ 0 }); break;
    }
}

static void forget(struct flow *flow, void *handle)
{
    size_t kept = 0;
    for (size_t i = 0; i < flow->count; i++)
        if (flow->handles[i] != handle)
            flow->handles[kept++] = flow->handles[i];
    flow->count = kept;
}

/* Each end refuses what is of another kind. */
static void end(struct flow *flow)
{
    if (flow->count == 0)
        return;
    void *handle = flow->handles[chance(flow, flow->count)];
    if (raddle_tx_close(handle) == RADDLE_OK || raddle_rx_close(handle) == RADDLE_OK
        || raddle_mutex_destroy(handle) == RADDLE_OK || raddle_rwlock_destroy(handle) == RADDLE_OK
        || raddle_sem_destroy(handle) == RADDLE_OK || raddle_cond_destroy(handle) == RADDLE_OK
        || raddle_barrier_destroy(handle) == RADDLE_OK || raddle_token_destroy(handle) == RADDLE_OK
        || raddle_var_destroy(handle) == RADDLE_OK || raddle_future_destroy(handle) == RADDLE_OK
        || raddle_task_detach(handle) == RADDLE_OK || raddle_fd_close(handle) == RADDLE_OK
        || raddle_ref_destroy(handle) == RADDLE_OK || raddle_waker_destroy(handle) == RADDLE_OK
        || raddle_options_destroy(handle) == RADDLE_OK)
        forget(flow, handle);
}

static void *run(void *arg)
{
    struct flow *flow = arg;
    for (int round = 0; round < ROUNDS; round++)
        switch (chance(flow, 8)) {
        case 0: end(flow); break;
        case 1: case 2: case 3: make(flow); break;
        default: use(flow); break;
        }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    raddle_thread_t *threads[FLOWS];
    pthread_t os[FLOWS];
    struct flow *flows = calloc(2 * FLOWS, sizeof *flows);
    begin();
    for (unsigned long i = 0; i < 2 * FLOWS; i++)
        flows[i].seed = 1000 * seed + i;
    for (int i = 0; i < FLOWS; i++) {
        raddle_spawn_options_t options = RADDLE_SPAWN_OPTIONS_INIT;
        options.kind = i % 2 ? RADDLE_PROCESS : RADDLE_THREAD;
        options.stack_size = 1 << 20;
        OK(raddle_spawn_with(&threads[i], &options, run, &flows[i]));
        CHECK(pthread_create(&os[i], NULL, run, &flows[FLOWS + i]) == 0);
    }
    for (int i = 0; i < FLOWS; i++) {
        OK(raddle_join(threads[i], NULL));
        CHECK(pthread_join(os[i], NULL) == 0);
    }
    return well();
}
