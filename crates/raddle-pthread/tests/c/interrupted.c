// A signal for a thread that waits at a futex by the system call, for what the sender has: its handler runs meanwhile.
#include "check.h"
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>

static unsigned word = 1;
static volatile unsigned handled, waits, goes_on;
static volatile pthread_t where;

static void handler(int signal) {
    (void)signal;
    where = pthread_self();
    __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void *waiter(void *unused) {
    __atomic_store_n(&waits, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) != 0) {
        long answer = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
        MUST(answer == 0 || errno == EAGAIN || errno == EINTR);
    }
    __atomic_store_n(&goes_on, 1, __ATOMIC_SEQ_CST);
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, waiter, NULL) == 0);
    while (!waits) sched_yield();
    usleep(20000);
    for (unsigned round = 1; round <= 5; round++) {
        MUST(pthread_kill(thread, SIGUSR1) == 0);
        // If the handler waits for what is released below, this does not end.
        while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) != round) usleep(100);
        SAY("by %s", pthread_equal(where, thread) ? "who waits" : "another");
    }
    SAY("handled, and it %s", goes_on ? "goes on" : "waits");
    __atomic_store_n(&word, 0, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    MUST(pthread_join(thread, NULL) == 0);
    SAY("joined");
    return 0;
}
