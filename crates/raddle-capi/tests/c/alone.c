/* The services without a runtime: locks, channels, selection, tokens between plain threads of the C library. No thread
 * of Raddle's is started. */
#include "check.h"

#include <dirent.h>
#include <pthread.h>

enum { THREADS = 4, TURNS = 2000 };

static int os_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static void together(void *(*body)(void *), void *arg)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, body, arg) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

struct counted {
    raddle_mutex_t *mutex;
    long count;
    int turns; /* few where one who is not running holds up the whole queue */
};

static void *count(void *arg)
{
    struct counted *counted = arg;
    for (int i = 0; i < counted->turns; i++) {
        OK(raddle_mutex_lock(counted->mutex));
        counted->count++;
        OK(raddle_mutex_unlock(counted->mutex));
    }
    return NULL;
}

static void locks(void)
{
    for (int kind = RADDLE_MUTEX; kind <= RADDLE_CLH; kind++) {
        struct counted counted = { NULL, 0, kind == RADDLE_MUTEX ? TURNS : 100 };
        OK(raddle_mutex_create(kind, &counted.mutex));
        together(count, &counted);
        CHECK(counted.count == THREADS * (long)counted.turns);
        OK(raddle_mutex_destroy(counted.mutex));
    }
}

static raddle_once_t once = RADDLE_ONCE_INIT, vain = RADDLE_ONCE_INIT;
static int done_once, tried;

static int do_once(void *arg)
{
    IS(RADDLE_EDEADLK, raddle_once(&once, do_once, arg));
    OK(raddle_sleep(RADDLE_MS));
    done_once++;
    return RADDLE_OK;
}

static int try_twice(void *arg)
{
    (void)arg;
    return ++tried < 2 ? RADDLE_ENOMEM : RADDLE_OK;
}

static void *ask_once(void *arg)
{
    OK(raddle_once(&once, do_once, arg));
    CHECK(done_once == 1);
    return NULL;
}

static void onces(void)
{
    together(ask_once, NULL);
    IS(RADDLE_ENOMEM, raddle_once(&vain, try_twice, NULL));
    OK(raddle_once(&vain, try_twice, NULL));
    OK(raddle_once(&vain, try_twice, NULL));
    CHECK(tried == 2);
    IS(RADDLE_EINVAL, raddle_once(NULL, try_twice, NULL));
    IS(RADDLE_EINVAL, raddle_once(&vain, NULL, NULL));
}

struct ends {
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    raddle_barrier_t *all;
    raddle_sem_t *permits;
};

static void *send_some(void *arg)
{
    struct ends *ends = arg;
    int is_last = -1;
    OK(raddle_barrier_wait(ends->all, &is_last));
    CHECK(is_last == 0 || is_last == 1);
    for (uintptr_t i = 1; i <= TURNS; i++)
        OK(raddle_send(ends->tx, i));
    OK(raddle_sem_release(ends->permits, 1));
    return NULL;
}

static void *receive_all(void *arg)
{
    struct ends *ends = arg;
    uintptr_t word, sum = 0;
    int code;
    while ((code = raddle_recv(ends->rx, &word)) == RADDLE_OK)
        sum += word;
    IS(RADDLE_ECLOSED, code);
    CHECK(sum == (uintptr_t)THREADS * TURNS * (TURNS + 1) / 2);
    return NULL;
}

static void channels(void)
{
    struct ends ends;
    pthread_t receiver;
    OK(raddle_channel(8, &ends.tx, &ends.rx));
    OK(raddle_barrier_create(THREADS, &ends.all));
    OK(raddle_sem_create(0, &ends.permits));
    CHECK(pthread_create(&receiver, NULL, receive_all, &ends) == 0);
    together(send_some, &ends);
    OK(raddle_sem_acquire(ends.permits, THREADS));
    OK(raddle_tx_close(ends.tx));
    CHECK(pthread_join(receiver, NULL) == 0);
    OK(raddle_rx_close(ends.rx));
    OK(raddle_barrier_destroy(ends.all));
    OK(raddle_sem_destroy(ends.permits));
}

static void *answer(void *arg)
{
    struct ends *ends = arg;
    void *data;
    size_t size;
    OK(raddle_recv_bytes(ends->rx, &data, &size, RADDLE_FOREVER));
    CHECK(size == 5 && strcmp(data, "hello") == 0);
    free(data);
    return NULL;
}

static void bytes(void)
{
    struct ends ends;
    pthread_t other;
    OK(raddle_channel_bytes(0, &ends.tx, &ends.rx));
    CHECK(pthread_create(&other, NULL, answer, &ends) == 0);
    OK(raddle_send_bytes(ends.tx, "hello", 5, RADDLE_FOREVER));
    CHECK(pthread_join(other, NULL) == 0);
    IS(RADDLE_ETIMEDOUT, raddle_send_bytes(ends.tx, "lost", 4, 0));
    OK(raddle_tx_close(ends.tx));
    OK(raddle_rx_close(ends.rx));
}

struct gate {
    raddle_mutex_t *mutex;
    raddle_cond_t *cond;
    int is_open;
};

static void *pass(void *arg)
{
    struct gate *gate = arg;
    OK(raddle_mutex_lock(gate->mutex));
    while (!gate->is_open)
        OK(raddle_cond_wait(gate->cond, gate->mutex));
    OK(raddle_mutex_unlock(gate->mutex));
    return NULL;
}

static void conditions(void)
{
    struct gate gate = { NULL, NULL, 0 };
    pthread_t other;
    OK(raddle_mutex_create(RADDLE_MUTEX, &gate.mutex));
    OK(raddle_cond_create(&gate.cond));
    CHECK(pthread_create(&other, NULL, pass, &gate) == 0);
    OK(raddle_mutex_lock(gate.mutex));
    gate.is_open = 1;
    OK(raddle_cond_broadcast(gate.cond));
    IS(RADDLE_ETIMEDOUT, raddle_cond_wait_for(gate.cond, gate.mutex, RADDLE_MS));
    OK(raddle_mutex_unlock(gate.mutex));
    CHECK(pthread_join(other, NULL) == 0);
    OK(raddle_cond_destroy(gate.cond));
    OK(raddle_mutex_destroy(gate.mutex));
}

static void selection(void)
{
    raddle_tx_t *tx;
    raddle_rx_t *rx, *timer;
    size_t chosen = 99;
    OK(raddle_channel(1, &tx, &rx));
    OK(raddle_after(RADDLE_MS, &timer));
    raddle_case_t cases[] = { { .rx = rx }, { .rx = timer } };
    OK(raddle_select(cases, 2, RADDLE_FOREVER, &chosen));
    CHECK(chosen == 1);
    OK(raddle_send(tx, 7));
    OK(raddle_select(cases, 2, RADDLE_FOREVER, &chosen));
    CHECK(chosen == 0 && cases[0].word == 7);
    IS(RADDLE_ETIMEDOUT, raddle_select(cases, 2, 0, &chosen));
    OK(raddle_tx_close(tx));
    IS(RADDLE_ECLOSED, raddle_select(cases, 2, RADDLE_FOREVER, &chosen));
    CHECK(chosen == 0);
    OK(raddle_rx_close(rx));
    OK(raddle_rx_close(timer));
}

static void *read_often(void *arg)
{
    raddle_rwlock_t *lock = arg;
    for (int i = 0; i < TURNS; i++) {
        OK(i % 8 ? raddle_rwlock_read(lock) : raddle_rwlock_write(lock));
        OK(raddle_rwlock_unlock(lock));
    }
    return NULL;
}

static void readers(void)
{
    raddle_rwlock_t *lock;
    OK(raddle_rwlock_create(&lock));
    together(read_often, lock);
    OK(raddle_rwlock_read(lock));
    OK(raddle_rwlock_read_for(lock, 0));
    IS(RADDLE_ETIMEDOUT, raddle_rwlock_write_for(lock, RADDLE_MS));
    OK(raddle_rwlock_unlock(lock));
    OK(raddle_rwlock_unlock(lock));
    IS(RADDLE_EPERM, raddle_rwlock_unlock(lock));
    OK(raddle_rwlock_destroy(lock));
}

static void *parked(void *arg)
{
    raddle_tx_t *tx = arg;
    raddle_ref_t *here;
    OK(raddle_ref_here(&here));
    OK(raddle_send(tx, (uintptr_t)here));
    OK(raddle_park());
    OK(raddle_ref_destroy(here));
    return NULL;
}

static void parking(void)
{
    pthread_t other;
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    uintptr_t who;
    OK(raddle_channel(1, &tx, &rx));
    CHECK(pthread_create(&other, NULL, parked, tx) == 0);
    OK(raddle_recv(rx, &who));
    OK(raddle_unpark((raddle_ref_t *)who));
    CHECK(pthread_join(other, NULL) == 0);
    OK(raddle_tx_close(tx));
    OK(raddle_rx_close(rx));
}

int main(void)
{
    begin();
    locks();
    onces();
    channels();
    bytes();
    conditions();
    selection();
    readers();
    parking();
    OK(raddle_sleep(RADDLE_US));
    CHECK(raddle_id() == 0 && raddle_worker() == -1);
    CHECK(os_threads() == 1);
    return well();
}
