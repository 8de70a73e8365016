/* Transactions: what holds, who waits, and mistakes; from threads of the C library and of Raddle. */
#include "check.h"
#include <pthread.h>
#include <signal.h>

enum { ACCOUNTS = 8, TRANSFERS = 2000, THREADS = 4 };

static raddle_var_t *accounts[ACCOUNTS];
static raddle_var_t *done;

struct transfer {
    uintptr_t from, to, amount;
};

static int transfer(raddle_stm_t *stm, void *arg)
{
    const struct transfer *what = arg;
    uintptr_t from, to;
    int code;
    if ((code = raddle_stm_read(stm, accounts[what->from], &from)) != RADDLE_OK)
        return code;
    if ((code = raddle_stm_write(stm, accounts[what->from], from - what->amount)) != RADDLE_OK)
        return code;
    if ((code = raddle_stm_read(stm, accounts[what->to], &to)) != RADDLE_OK)
        return code;
    return raddle_stm_write(stm, accounts[what->to], to + what->amount);
}

static int sum(raddle_stm_t *stm, void *arg)
{
    uintptr_t all = 0, one;
    for (int i = 0; i < ACCOUNTS; i++) {
        int code = raddle_stm_read(stm, accounts[i], &one);
        if (code != RADDLE_OK)
            return code;
        all += one;
    }
    *(uintptr_t *)arg = all;
    /* Opacity: no attempt sees another sum. */
    CHECK(all == 100 * ACCOUNTS);
    return RADDLE_OK;
}

static int one_more(raddle_stm_t *stm, void *arg)
{
    uintptr_t count;
    int code = raddle_stm_read(stm, arg, &count);
    return code == RADDLE_OK ? raddle_stm_write(stm, arg, count + 1) : code;
}

static void *transfers(void *arg)
{
    uintptr_t seed = (uintptr_t)arg + 1, all;
    for (int i = 0; i < TRANSFERS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        struct transfer what = { seed >> 40 & 7, seed >> 50 & 7, seed >> 33 & 3 };
        OK(raddle_atomically(transfer, &what));
        if (i % 16 == 0)
            OK(raddle_atomically(sum, &all));
    }
    OK(raddle_atomically(one_more, done));
    return arg;
}

/* Waits until all have come. */
static int all_done(raddle_stm_t *stm, void *arg)
{
    uintptr_t count;
    int code = raddle_stm_read(stm, done, &count);
    (void)arg;
    if (code != RADDLE_OK)
        return code;
    return count == 2 * THREADS ? RADDLE_OK : raddle_stm_retry(stm);
}

static void money_is_kept(void)
{
    pthread_t threads[THREADS];
    uintptr_t all = 0;
    OK(raddle_var_create(0, &done));
    for (int i = 0; i < ACCOUNTS; i++)
        OK(raddle_var_create(100, &accounts[i]));
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, transfers, (void *)i) == 0);
        OK(raddle_spawn_process(NULL, transfers, (void *)(i + THREADS)));
    }
    OK(raddle_atomically(all_done, NULL));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    OK(raddle_atomically(sum, &all));
    CHECK(all == 100 * ACCOUNTS);
    for (int i = 0; i < ACCOUNTS; i++)
        OK(raddle_var_destroy(accounts[i]));
    OK(raddle_var_destroy(done));
}

/* A code of the program's own rolls back; hooks run as they should. */
static int committed, aborted;
static raddle_var_t *var, *other;

static void *count(void *arg)
{
    ++*(int *)arg;
    return NULL;
}

static int gives_up(raddle_stm_t *stm, void *arg)
{
    OK(raddle_stm_on_commit(stm, count, &committed));
    OK(raddle_stm_on_abort(stm, count, &aborted));
    OK(raddle_stm_write(stm, var, 7));
    return *(int *)arg;
}

static int handles_a_part(raddle_stm_t *stm, void *arg)
{
    uintptr_t word;
    IS(1000, raddle_stm_nested(stm, gives_up, arg));
    OK(raddle_stm_read(stm, var, &word));
    CHECK(word == 1);
    return raddle_stm_write(stm, other, 5);
}

static int retries(raddle_stm_t *stm, void *arg)
{
    uintptr_t word;
    OK(raddle_stm_read(stm, arg, &word));
    OK(raddle_stm_write(stm, arg, 77));
    return raddle_stm_retry(stm);
}

static int takes(raddle_stm_t *stm, void *arg)
{
    return raddle_stm_write(stm, arg, 9);
}

static int alternatives(raddle_stm_t *stm, void *arg)
{
    (void)arg;
    return raddle_stm_or_else(stm, retries, var, takes, other);
}

static int says_again(raddle_stm_t *stm, void *arg)
{
    uintptr_t word;
    OK(raddle_stm_read(stm, arg, &word));
    return word == 1 ? RADDLE_EAGAIN : RADDLE_OK;
}

static void codes_roll_back(void)
{
    uintptr_t word;
    int code = 1000;
    OK(raddle_var_create(1, &var));
    OK(raddle_var_create(1, &other));
    IS(1000, raddle_atomically(gives_up, &code));
    CHECK(committed == 0 && aborted == 1);
    IS(1000, raddle_atomically_for(RADDLE_FOREVER, gives_up, &code));
    IS(1000, raddle_atomically_for(60 * RADDLE_SECOND, gives_up, &code));
    CHECK(committed == 0 && aborted == 3);
    OK(raddle_var_load(var, &word));
    CHECK(word == 1);
    OK(raddle_atomically(handles_a_part, &code));
    CHECK(committed == 0 && aborted == 4);
    OK(raddle_var_load(other, &word));
    CHECK(word == 5);
    OK(raddle_atomically(alternatives, NULL));
    OK(raddle_var_load(other, &word));
    CHECK(word == 9);
    OK(raddle_var_load(var, &word));
    CHECK(word == 1);
    /* A wait that is over. */
    IS(RADDLE_ETIMEDOUT, raddle_atomically_for(RADDLE_MS, retries, var));
    IS(RADDLE_ETIMEDOUT, raddle_atomically_for(0, says_again, var));
    code = RADDLE_OK;
    OK(raddle_atomically(gives_up, &code));
    CHECK(committed == 1 && aborted == 4);
    OK(raddle_var_load(var, &word));
    CHECK(word == 7);
    OK(raddle_atomically(says_again, var));
}

/* Blocks of bytes. */
static int grow(raddle_stm_t *stm, void *arg)
{
    char bytes[200];
    size_t size;
    OK(raddle_stm_read_block(stm, arg, bytes, sizeof bytes, &size));
    CHECK(size < sizeof bytes);
    memset(bytes + size, (int)('a' + size % 26), 1);
    OK(raddle_stm_write_block(stm, arg, bytes, size + 1));
    OK(raddle_stm_read_block(stm, arg, bytes, 2, &size));
    return RADDLE_OK;
}

static void *grows(void *arg)
{
    for (int i = 0; i < 40; i++)
        OK(raddle_atomically(grow, arg));
    return NULL;
}

static int look(raddle_stm_t *stm, void *arg)
{
    char bytes[200];
    size_t size;
    OK(raddle_stm_read_block(stm, arg, bytes, sizeof bytes, &size));
    CHECK(size == 162);
    for (size_t i = 2; i < size; i++)
        CHECK(bytes[i] == (char)('a' + i % 26));
    return raddle_stm_read_block(stm, arg, NULL, 0, NULL);
}

static void blocks(void)
{
    raddle_var_t *block, *empty;
    raddle_thread_t *threads[4];
    uintptr_t word;
    OK(raddle_var_create_block("ab", 2, &block));
    OK(raddle_var_create_block(NULL, 0, &empty));
    for (int i = 0; i < 4; i++)
        OK(raddle_spawn(&threads[i], grows, block));
    for (int i = 0; i < 4; i++)
        OK(raddle_join(threads[i], NULL));
    OK(raddle_atomically(look, block));
    IS(RADDLE_ENOTSUP, raddle_var_load(block, &word));
    IS(RADDLE_ENOTSUP, raddle_var_store(block, 1));
    OK(raddle_var_destroy(block));
    OK(raddle_var_destroy(empty));
}

/* Mistakes are told. */
static raddle_stm_t *kept;

static void *elsewhere(void *arg)
{
    uintptr_t word = 0;
    IS(RADDLE_EPERM, raddle_stm_read(arg, var, &word));
    IS(RADDLE_EPERM, raddle_stm_retry(arg));
    return NULL;
}

static int inner(raddle_stm_t *stm, void *arg)
{
    uintptr_t word;
    /* The attempt around it may be used, and is another one. */
    OK(raddle_stm_read(arg, var, &word));
    return raddle_stm_write(stm, other, word);
}

static int blind(raddle_stm_t *stm, void *arg)
{
    (void)arg;
    IS(RADDLE_EINVAL, raddle_stm_retry(stm));
    return 2000;
}

static int blind_again(raddle_stm_t *stm, void *arg)
{
    (void)stm;
    (void)arg;
    return RADDLE_EAGAIN;
}

static int mistakes(raddle_stm_t *stm, void *arg)
{
    raddle_thread_t *thread;
    pthread_t os;
    uintptr_t word;
    size_t size;
    (void)arg;
    kept = stm;
    IS(RADDLE_EINVAL, raddle_stm_read(NULL, var, &word));
    IS(RADDLE_EINVAL, raddle_stm_read(stm, NULL, &word));
    IS(RADDLE_EINVAL, raddle_stm_read(stm, var, NULL));
    IS(RADDLE_EHANDLE, raddle_stm_read((raddle_stm_t *)var, var, &word));
    IS(RADDLE_EHANDLE, raddle_stm_read(stm, (raddle_var_t *)stm, &word));
    IS(RADDLE_EHANDLE, raddle_stm_write(stm, (raddle_var_t *)((char *)var + 1), 1));
    IS(RADDLE_ENOTSUP, raddle_stm_read_block(stm, var, &word, sizeof word, &size));
    IS(RADDLE_ENOTSUP, raddle_stm_write_block(stm, var, &word, sizeof word));
    IS(RADDLE_EINVAL, raddle_stm_nested(stm, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_stm_or_else(stm, NULL, NULL, mistakes, NULL));
    IS(RADDLE_EINVAL, raddle_stm_on_commit(stm, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_stm_on_abort(stm, NULL, NULL));
    /* Others may not use it: neither a thread of Raddle, nor one of the C library. */
    OK(raddle_spawn(&thread, elsewhere, stm));
    OK(raddle_join(thread, NULL));
    CHECK(pthread_create(&os, NULL, elsewhere, stm) == 0);
    CHECK(pthread_join(os, NULL) == 0);
    OK(raddle_atomically(inner, stm));
    return RADDLE_OK;
}

static void *all_mistakes(void *arg)
{
    uintptr_t word;
    IS(RADDLE_EINVAL, raddle_atomically(NULL, NULL));
    IS(RADDLE_EINVAL, raddle_atomically_for(1, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_var_create(1, NULL));
    IS(RADDLE_EINVAL, raddle_var_create_block(NULL, 3, &other));
    IS(RADDLE_EINVAL, raddle_var_destroy(NULL));
    IS(RADDLE_EINVAL, raddle_var_load(var, NULL));
    IS(RADDLE_EHANDLE, raddle_var_load((raddle_var_t *)&(uintptr_t[4]){ 0 }, &word));
    OK(raddle_atomically(mistakes, NULL));
    OK(raddle_var_load(other, &word));
    CHECK(word == 7);
    IS(2000, raddle_atomically(blind, NULL));
    IS(RADDLE_EINVAL, raddle_atomically(blind_again, NULL));
    CHECK(strstr(raddle_last_error(), "no change") != NULL);
    return arg;
}

/* After it, a body runs once, whatever others do; and its mistakes are told. */
static int runs_before, runs_after;

static int once(raddle_stm_t *stm, void *arg)
{
    uintptr_t word;
    int code;
    runs_before++;
    code = raddle_stm_irrevocable(stm);
    if (code != RADDLE_OK)
        return code;
    runs_after++;
    OK(raddle_stm_read(stm, var, &word));
    OK(raddle_stm_write(stm, var, word + 1));
    return arg ? raddle_stm_retry(stm) : RADDLE_OK;
}

static int plus_one(raddle_stm_t *stm, void *arg)
{
    uintptr_t word;
    int code = raddle_stm_read(stm, var, &word);
    (void)arg;
    return code == RADDLE_OK ? raddle_stm_write(stm, var, word + 1) : code;
}

static void *by_each(void *arg)
{
    for (int round = 0; round < 300; round++) {
        int by = (int)(intptr_t)arg;
        OK(by < 0 ? raddle_atomically(once, NULL) : raddle_atomically_by(by, plus_one, NULL));
    }
    return arg;
}

static void algorithms(void)
{
    raddle_thread_t *all[4];
    uintptr_t word;
    OK(raddle_var_store(var, 0));
    for (intptr_t by = -1; by < 3; by++)
        OK(raddle_spawn(&all[by + 1], by_each, (void *)by));
    for (int at = 0; at < 4; at++)
        OK(raddle_join(all[at], NULL));
    OK(raddle_var_load(var, &word));
    CHECK(word == 4 * 300);
    CHECK(runs_before == 600 && runs_after == 300);
    IS(RADDLE_EINVAL, raddle_atomically_by(3, plus_one, NULL));
    IS(RADDLE_EINVAL, raddle_atomically_by(-1, plus_one, NULL));
    IS(RADDLE_EINVAL, raddle_atomically_by(RADDLE_NOREC, NULL, NULL));
    IS(RADDLE_EINVAL, raddle_atomically(once, &word));
    CHECK(strstr(raddle_last_error(), "irrevocable") != NULL);
    OK(raddle_var_load(var, &word));
    CHECK(word == 4 * 300);
}

/* A cancellation ends the wait of a transaction. */
static int waits_for_ever(void *arg)
{
    return raddle_atomically(retries, arg);
}

static void *is_cancelled(void *arg)
{
    IS(RADDLE_ECANCELED, raddle_token_run(arg, waits_for_ever, var));
    return NULL;
}

static void cancellation(void)
{
    raddle_token_t *token;
    raddle_thread_t *thread;
    OK(raddle_token_create(&token));
    OK(raddle_spawn_process(&thread, is_cancelled, token));
    OK(raddle_sleep(RADDLE_MS));
    OK(raddle_token_cancel(token));
    OK(raddle_join(thread, NULL));
    OK(raddle_token_destroy(token));
    IS(RADDLE_ECANCELED, raddle_within(RADDLE_MS, waits_for_ever, var));
}

int main(void)
{
    begin();
    money_is_kept();
    codes_roll_back();
    blocks();
    all_mistakes(NULL);
    OK(raddle_run(all_mistakes, NULL, NULL));
    algorithms();
    cancellation();
    OK(raddle_var_destroy(var));
    OK(raddle_var_destroy(other));
    return well();
}
