/* What others' code does around transactions: each is a word on the command line. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int x;

__attribute__((transaction_safe, noinline)) static void fills(int *place, int count, int value) {
    for (int i = 0; i < count; i++) place[i] = value;
}

__attribute__((transaction_safe, noinline)) static int deep(int n) {
    int all[512], sum = 0;
    fills(all, 512, n + 0x41414141);
    for (int i = 0; i < 512; i += 100) sum += all[i] - 0x41414141;
    return sum + (n ? deep(n - 1) : 0);
}

/* Frames that are gone when what was written to them is undone. */
static void frames(void) {
    int got = 0;
    __transaction_atomic {
        x = 1;
        __transaction_atomic {
            x += deep(4);
            if (x) __transaction_cancel;
        }
        got = x;
    }
    printf("%d %d\n", got, x);
}

static void adds(int n) { __transaction_atomic { x += n; } }
static void before(void) { adds(1); }
static void in_parent(void) {
    adds(10);
    __transaction_atomic { x += 5000; if (deep(2)) __transaction_cancel; }
}
static void in_child(void) { adds(100); }

/* Handlers of a fork that run transactions. */
static void forks(void) {
    pthread_atfork(before, in_parent, in_child);
    __transaction_atomic { x = 1000; }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        adds(7);
        printf("child %d\n", x);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    adds(7);
    printf("parent %d\n", x);
}

static int *place, tries;
static void *moves(void *argument) { __transaction_atomic { place = &x; } return argument; }

__attribute__((transaction_pure, noinline)) static void disturbs(int *old) {
    if (tries++) return;
    pthread_t other;
    pthread_create(&other, NULL, moves, NULL);
    pthread_join(other, NULL);
    munmap(old, 4096);
}

static void *follows(void *argument) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    int got;
    __transaction_atomic { int *here = place; disturbs(here); got = *here; }
    printf("%d %d\n", got, tries);
    return argument;
}

/* A thread that blocks all signals follows what is gone. */
static void blocks(void) {
    place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    x = 9;
    pthread_t thread;
    pthread_create(&thread, NULL, follows, NULL);
    pthread_join(thread, NULL);
}

static int many[200000], counters[2];
static volatile int is_over, started;
static void *counts(void *argument) {
    int *counter = argument;
    __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
    while (!is_over) __transaction_atomic { ++*counter; }
    return argument;
}

/* A long transaction among those that commit all the time, and change nothing of its. */
static void outlasts(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, counts, &counters[i]);
    while (started < 2) sched_yield();
    fills(many, 200000, 1);
    for (int i = 0; i < 3; i++) {
        __transaction_atomic {
            int sum = 0;
            __transaction_atomic {
                for (int j = 0; j < 200000; j++) sum += many[j];
                x = 7;
                if (i == 2) __transaction_cancel;
            }
            x += sum;
        }
        printf("%d\n", x);
    }
    is_over = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

extern void _ITM_dropReferences(void *, size_t) __attribute__((transaction_pure));

static int both[2] __attribute__((aligned(8)));
static void *changes(void *argument) {
    __transaction_atomic { both[argument != NULL]++; }
    return argument;
}
__attribute__((transaction_pure, noinline)) static void disturbs_both(int which) {
    if (tries++) return;
    pthread_t other;
    pthread_create(&other, NULL, changes, which ? both : NULL);
    pthread_join(other, NULL);
}

/* What is dropped is no conflict; what stands beside it is. */
static void drops(int which) {
    int sum;
    tries = 0;
    __transaction_atomic {
        sum = both[0] + both[1];
        _ITM_dropReferences(&both[1], sizeof both[1]);
        disturbs_both(which);
        x = sum;
    }
    printf("%d %d\n", sum, tries);
}

static void says(int signal) {
    const char *word = signal == SIGSEGV ? "once\n" : "?\n";
    write(1, word, strlen(word));
}

/* The program's own ways to end, or not, by a signal of faults. */
static void signals(const char *how) {
    if (!strcmp(how, "ignored")) signal(SIGSEGV, SIG_IGN);
    struct sigaction once = {.sa_handler = says, .sa_flags = SA_RESETHAND};
    if (!strcmp(how, "once")) sigaction(SIGSEGV, &once, NULL);
    adds(1);
    if (!strcmp(how, "once")) *(volatile int *)NULL = 1;
    raise(SIGSEGV);
    puts("here");
}

static void *ends(void *argument) {
    __transaction_relaxed { x++; pthread_exit(NULL); }
    return argument;
}

int main(int count, char **words) {
    const char *word = count > 1 ? words[1] : "";
    if (!strcmp(word, "frames")) frames();
    else if (!strcmp(word, "forks")) forks();
    else if (!strcmp(word, "blocks")) blocks();
    else if (!strcmp(word, "outlasts")) outlasts();
    else if (!strcmp(word, "drops")) { drops(1); drops(0); }
    else if (!strcmp(word, "ends")) {
        pthread_t thread;
        pthread_create(&thread, NULL, ends, NULL);
        pthread_join(thread, NULL);
        adds(1);
    } else signals(word);
    return 0;
}
