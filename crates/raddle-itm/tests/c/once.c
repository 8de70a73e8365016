/* What cannot be undone is done once; actions are called in their order; the program is told where it is. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern int _ITM_inTransaction(void) __attribute__((transaction_pure));
extern unsigned long _ITM_getTransactionId(void) __attribute__((transaction_pure));
extern void _ITM_addUserCommitAction(void (*)(void *), unsigned long, void *) __attribute__((transaction_pure));
extern void _ITM_addUserUndoAction(void (*)(void *), void *) __attribute__((transaction_pure));

static long counter, printed, waited;

static void says(void *text) { printf("%s %d\n", (char *)text, _ITM_inTransaction()); }

static void *counts(void *argument) {
    for (int i = 0; i < 2000; i++) {
        if (i % 100 == 0) {
            __transaction_relaxed {
                counter++;
                __asm__ volatile("" ::: "memory");
                write(-1, "", 0);
                printed++;
            }
        } else {
            __transaction_atomic { counter++; }
        }
    }
    return argument;
}

static int actions(int cancels) {
    int done = 0;
    __transaction_atomic {
        _ITM_addUserCommitAction(says, 1, "committed first");
        _ITM_addUserUndoAction(says, "undone last");
        _ITM_addUserUndoAction(says, "undone first");
        _ITM_addUserCommitAction(says, 1, "committed last");
        counter = -1;
        if (cancels) __transaction_cancel;
        done = _ITM_inTransaction();
    }
    return done;
}

int main(void) {
    setvbuf(stdout, 0, _IOLBF, 4096);
    pthread_t all[8];
    for (int i = 0; i < 8; i++) pthread_create(&all[i], 0, counts, 0);
    /* While they run, children begin with a clock that nobody has. */
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            __transaction_atomic { counter += 7; }
            __transaction_relaxed { counter += 7; write(-1, "", 0); }
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        waited += status;
    }
    for (int i = 0; i < 8; i++) pthread_join(all[i], 0);
    printf("%ld %ld %ld\n", counter, printed, waited);
    printf("%d %d\n", _ITM_inTransaction(), _ITM_getTransactionId() == 1);
    int inside = 0;
    unsigned long first = 0, second = 0;
    __transaction_relaxed { first = _ITM_getTransactionId(); puts("hello"); inside = _ITM_inTransaction(); }
    __transaction_atomic { second = _ITM_getTransactionId(); counter = 0; }
    printf("%d %d\n", inside, first != second && first > 1);
    int said = actions(0);
    printf("%d %ld\n", said != 0, counter);
    counter = 0;
    said = actions(1);
    printf("%d %ld\n", said, counter);
    return 0;
}
