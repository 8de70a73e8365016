// Transactions as gcc compiles them, by the library that the program finds: libitm, or Raddle's for it if that is
// preloaded. The same work as the programs in Rust beside it.
//
// While one thread alone has run transactions, libitm takes a lock around each and notes nothing (`serialirr`); from
// the second on it uses one of its methods for several, `ml_wt` or `gl_wt`. Those are measured, also with one thread:
// then the better of them there, unless ITM_DEFAULT_METHOD says which.
#include <pthread.h>
#include <stdatomic.h>

#include "../pthreads/measure.h"

enum { ACCOUNTS = 1024, BALANCE = 1000, READS = 16 };

static long accounts[ACCOUNTS];
static long threads, each;
static _Atomic int is_over;

// Which accounts one turn of a bank is about; as bench_common::transactions::transfer.
static void pick(unsigned long thread, unsigned long turn, long *from, long *to) {
    unsigned long mixed = ((thread << 40) ^ turn) * 0x9e3779b97f4a7c15UL;
    *from = (mixed >> 20) % ACCOUNTS;
    *to = (mixed >> 40) % ACCOUNTS;
    if (*from == *to) *to = (*to + 1) % ACCOUNTS;
}

static void transfer(long from, long to) {
    __transaction_atomic {
        accounts[from] -= 1;
        accounts[to] += 1;
    }
}

static long sum_of(int count) {
    long sum = 0;
    __transaction_atomic {
        sum = 0;
        for (int at = 0; at < count; at++) sum += accounts[at];
    }
    return sum;
}

static void *counter(void *thread) {
    (void)thread;
    for (long turn = 0; turn < each; turn++) {
        __transaction_atomic { accounts[0] += 1; }
    }
    return NULL;
}

static void *two(void *thread) {
    (void)thread;
    for (long turn = 0; turn < each; turn++) transfer(0, 1);
    return NULL;
}

static void *reads(void *thread) {
    (void)thread;
    for (long turn = 0; turn < each; turn++) must(sum_of(READS) == READS, "a sum that never was");
    return NULL;
}

static void *bank(void *thread) {
    for (long turn = 0; turn < each; turn++) {
        long from, to;
        pick((unsigned long)thread, turn, &from, &to);
        transfer(from, to);
    }
    return NULL;
}

// The first one audits; the others move money until it is done.
static void *audit(void *thread) {
    long from, to;
    if (thread == NULL) {
        for (long turn = 0; turn < each * threads; turn++) {
            must(sum_of(ACCOUNTS) == (long)ACCOUNTS * BALANCE, "a sum that never was");
        }
        is_over = 1;
    }
    for (long turn = 0; !is_over; turn++) {
        pick((unsigned long)thread, turn, &from, &to);
        transfer(from, to);
    }
    return NULL;
}

static const struct {
    const char *name;
    void *(*run)(void *);
    long balance;
} all[] = {
    {"counter", counter, 0}, {"transfer", two, 0},      {"reads", reads, 1},
    {"bank", bank, BALANCE}, {"audit", audit, BALANCE},
};

int main(int count, char **words) {
    long samples = 1;
    for (int at = 1; at + 1 < count; at += 2) {
        if (strcmp(words[at], "--params") == 0) parameters = words[at + 1];
        if (strcmp(words[at], "--samples") == 0) samples = atol(words[at + 1]);
    }
    threads = number("threads");
    each = number("rounds") / threads;
    if (threads == 1) setenv("ITM_DEFAULT_METHOD", "gl_wt", 0);
    for (size_t form = 0; form < sizeof all / sizeof *all; form++) {
        if (!is("form", all[form].name)) continue;
        for (int at = 0; at < ACCOUNTS; at++) accounts[at] = all[form].balance;
        for (; samples > 0; samples--) {
            is_over = 0;
            double ns = in_threads(all[form].run, threads) / (double)(each * threads);
            printf("{\"ns_per_op\":%.6g,\"checksum\":\"%ld\",\"extra\":{}}\n", ns, each * threads);
            fflush(stdout);
        }
        return 0;
    }
    fprintf(stderr, "no form is called that\n");
    return 1;
}
