/* What create, yield, join, fork, lock and a rendezvous cost from C; examples/speed.rs is the same from Rust. */
#include <raddle.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 100, TURNS = 2000 };

static int64_t begun;

static void report(const char *name, double count)
{
    printf("%s %.2f\n", name, (double)(raddle_now() - begun) / count);
}

static void *itself(void *arg)
{
    return arg;
}

static void create(const char *name, int (*spawn)(raddle_thread_t **, raddle_fn, void *))
{
    raddle_thread_t *all[BATCH];
    begun = raddle_now();
    for (int turn = 0; turn < TURNS; turn++) {
        for (uintptr_t i = 0; i < BATCH; i++)
            if (spawn(&all[i], itself, (void *)i) != RADDLE_OK)
                exit(1);
        for (uintptr_t i = 0; i < BATCH; i++) {
            void *result;
            if (raddle_join(all[i], &result) != RADDLE_OK || result != (void *)i)
                exit(1);
        }
    }
    report(name, (double)BATCH * TURNS);
}

static void forks(const char *name)
{
    raddle_fork_t *all[BATCH];
    begun = raddle_now();
    for (int turn = 0; turn < TURNS; turn++) {
        for (uintptr_t i = 0; i < BATCH; i++)
            if (raddle_fork(&all[i], itself, (void *)i) != RADDLE_OK)
                exit(1);
        for (uintptr_t i = 0; i < BATCH; i++) {
            void *result;
            if (raddle_fork_join(all[i], &result) != RADDLE_OK || result != (void *)i)
                exit(1);
        }
    }
    report(name, (double)BATCH * TURNS);
}

static void *yield(void *arg)
{
    for (int i = 0; i < BATCH * TURNS; i++)
        raddle_yield();
    return arg;
}

static void yields(const char *name, int (*spawn)(raddle_thread_t **, raddle_fn, void *))
{
    raddle_thread_t *two[2];
    begun = raddle_now();
    for (int i = 0; i < 2; i++)
        if (spawn(&two[i], yield, NULL) != RADDLE_OK)
            exit(1);
    for (int i = 0; i < 2; i++)
        raddle_join(two[i], NULL);
    report(name, 2.0 * BATCH * TURNS);
}

static void locks(const char *name)
{
    raddle_mutex_t *made;
    raddle_mutex_create(RADDLE_MUTEX, &made);
    raddle_mutex_t *const mutex = made; /* whose address nobody has: it stays in a register, as Rust's */
    begun = raddle_now();
    for (int i = 0; i < 10 * BATCH * TURNS; i++)
        if (raddle_mutex_lock(mutex) != RADDLE_OK || raddle_mutex_unlock(mutex) != RADDLE_OK)
            exit(1);
    report(name, 10.0 * BATCH * TURNS);
    raddle_mutex_destroy(mutex);
}

static void *send(void *tx)
{
    for (uintptr_t i = 0; i < (uintptr_t)BATCH * TURNS; i++)
        raddle_send(tx, i);
    return NULL;
}

static void rendezvous(const char *name)
{
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    raddle_thread_t *sender;
    raddle_channel(0, &tx, &rx);
    begun = raddle_now();
    raddle_spawn_process(&sender, send, tx);
    for (uintptr_t i = 0; i < (uintptr_t)BATCH * TURNS; i++) {
        uintptr_t word;
        if (raddle_recv(rx, &word) != RADDLE_OK || word != i)
            exit(1);
    }
    raddle_join(sender, NULL);
    report(name, (double)BATCH * TURNS);
    raddle_tx_close(tx);
    raddle_rx_close(rx);
}

static void *measure(void *arg)
{
    create("thread-create-join", raddle_spawn);
    create("process-create-join", raddle_spawn_process);
    create("light-create-join", raddle_spawn_light);
    forks("fork-join");
    yields("process-yield", raddle_spawn_process);
    yields("light-yield", raddle_spawn_light);
    locks("mutex-lock-unlock");
    rendezvous("rendezvous");
    return arg;
}

int main(void)
{
    return raddle_run(measure, NULL, NULL);
}
