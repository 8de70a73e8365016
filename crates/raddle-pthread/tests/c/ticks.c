// Threads that spin while doing what a tick could break. One case a run.
#include "check.h"
#include <dlfcn.h>
#include <fenv.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

extern char **environ;
enum { THREADS = 8 };
static int rounds = 100;

static void run(void *(*f)(void *), int count) {
    pthread_t all[64];
    for (intptr_t at = 0; at < count; at++) MUST(pthread_create(&all[at], NULL, f, (void *)at) == 0);
    for (intptr_t at = 0; at < count; at++) MUST(pthread_join(all[at], NULL) == 0);
}

static void spin(long turns) { for (volatile long turn = 0; turn < turns; turn++) continue; }

// longjmp out of a spin, again and again
static void *jumps(void *number) {
    jmp_buf place;
    volatile int times = 0;
    if (setjmp(place) < rounds) {
        spin(2000);
        times++;
        longjmp(place, times);
    }
    MUST(times == rounds);
    return NULL;
}

// faults that are left by siglongjmp
static __thread sigjmp_buf fault_place;
static volatile int faults;
static void on_fault(int signal) {
    __atomic_add_fetch(&faults, 1, __ATOMIC_RELAXED);
    spin(500);
    siglongjmp(fault_place, 1);
}
static void *faults_often(void *number) {
    for (volatile int round = 0; round < rounds; round++) {
        if (sigsetjmp(fault_place, 1) == 0) {
            spin(1000);
            *(volatile int *)8 = 1;
            MUST(0);
        }
    }
    return NULL;
}
static void *faults_on_stack(void *number) {
    stack_t stack = {.ss_sp = malloc(1 << 18), .ss_size = 1 << 18};
    MUST(sigaltstack(&stack, NULL) == 0);
    faults_often(number);
    stack.ss_flags = SS_DISABLE;
    MUST(sigaltstack(&stack, NULL) == 0);
    free(stack.ss_sp);
    return NULL;
}
// by _longjmp, with the signal unblocked by hand
static jmp_buf *plain_place(void) { static __thread jmp_buf place; return &place; }
static void on_fault_plain(int signal) { longjmp(*plain_place(), 1); }
static void *faults_plain(void *number) {
    for (volatile int round = 0; round < rounds; round++) {
        if (setjmp(*plain_place()) == 0) {
            spin(1000);
            *(volatile int *)8 = 1;
        }
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGSEGV);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    }
    return NULL;
}

// rounding and exceptions of floating point are each thread's own
static volatile double one = 1, three = 3;
static void *rounds_own_way(void *number) {
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    int mode = modes[(intptr_t)number % 4];
    fesetround(mode);
    int raises = (intptr_t)number % 2;
    feclearexcept(FE_ALL_EXCEPT);
    if (raises) feraiseexcept(FE_DIVBYZERO);
    double expected = one / three;
    long double expected_long = (long double)one / three;
    for (int round = 0; round < rounds * 100; round++) {
        MUST(one / three == expected && (long double)one / three == expected_long);
        for (volatile int turn = 0; turn < 20; turn++) continue;
        if (round % 1000 == 0) sched_yield();
    }
    MUST(fegetround() == mode && fetestexcept(FE_DIVBYZERO) == (raises ? FE_DIVBYZERO : 0));
    return NULL;
}

// wide registers
__attribute__((target("avx2"))) static void *wide(void *number) {
    typedef long long v4 __attribute__((vector_size(32)));
    if (!__builtin_cpu_supports("avx2")) return NULL;
    long long n = (intptr_t)number + 1;
    v4 a = {n, n * 2, n * 3, n * 4};
    long turns = rounds * 20000L;
    long long out[4];
    __asm__ volatile("vmovdqu %1, %%ymm7\n vmovdqa %%ymm7, %%ymm15\n mov %2, %%rcx\n"
                     "1: vpaddq %%ymm7, %%ymm15, %%ymm8\n vpsubq %%ymm7, %%ymm8, %%ymm15\n dec %%rcx\n jnz 1b\n"
                     "vmovdqu %%ymm15, %0\n vzeroupper\n"
                     : "=m"(out) : "m"(a), "r"(turns) : "rcx", "xmm7", "xmm8", "xmm15", "memory");
    for (int at = 0; at < 4; at++) MUST(out[at] == a[at]);
    return NULL;
}

// what lies below the stack pointer
static void *red(void *number) {
    long n = (intptr_t)number + 77, bad = 0;
    long turns = rounds * 1000L;
    __asm__ volatile("mov %1, -8(%%rsp)\n mov %1, -120(%%rsp)\n mov %2, %%rcx\n"
                     "1: cmp %1, -8(%%rsp)\n jne 2f\n cmp %1, -120(%%rsp)\n jne 2f\n std\n cld\n dec %%rcx\n"
                     "jnz 1b\n jmp 3f\n"
                     "2: movq $1, %0\n3:\n" : "+r"(bad) : "r"(n), "r"(turns) : "rcx", "memory", "cc");
    MUST(!bad);
    return NULL;
}

// the allocator
static void *allocates(void *number) {
    enum { HELD = 64 };
    char *held[HELD] = {0};
    unsigned seed = (intptr_t)number + 1;
    for (int round = 0; round < rounds * 100; round++) {
        seed = seed * 1103515245 + 12345;
        int at = seed >> 16 & (HELD - 1);
        if (held[at]) { MUST(held[at][0] == (char)at); free(held[at]); }
        held[at] = malloc(1 + (seed >> 8) % (round % 50 ? 2000 : 300000));
        held[at][0] = at;
    }
    for (int at = 0; at < HELD; at++) free(held[at]);
    return NULL;
}

// libraries
static void *loads(void *number) {
    for (int round = 0; round < rounds / 10 + 1; round++) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        MUST(library);
        double (*f)(double) = dlsym(library, "cos");
        MUST(f && f(0) == 1);
        spin(5000);
        dlclose(library);
    }
    return NULL;
}

// children
static void *forks(void *number) {
    for (int round = 0; round < rounds / 20 + 1; round++) {
        spin(3000);
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            spin(3000);
            char *memory = malloc(1000);
            free(memory);
            _exit(7);
        }
        int status;
        MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    return NULL;
}
static void *in_child(void *nothing) { spin(3000); return nothing; }
static void *forks_with_threads(void *number) {
    for (int round = 0; round < rounds / 20 + 1; round++) {
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) { run(in_child, 4); _exit(9); }
        int status;
        MUST(waitpid(child, &status, 0) == child);
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    }
    return NULL;
}
static void *execs(void *number) {
    for (int round = 0; round < rounds / 30 + 1; round++) {
        spin(3000);
        pid_t child = vfork();
        if (child == 0) { execl("/bin/true", "true", NULL); _exit(1); }
        int status;
        MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        char *words[] = {"true", NULL};
        MUST(posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) == 0);
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
    return NULL;
}

// streams, locked while one spins
static FILE *out;
static void *writes(void *number) {
    for (int round = 0; round < rounds; round++) {
        flockfile(out);
        fprintf(out, "<%d", (int)(intptr_t)number);
        spin(1000);
        fprintf(out, ">");
        funlockfile(out);
        fprintf(out, ".");
    }
    return NULL;
}
static void streams(void) {
    char *text; size_t bytes;
    out = open_memstream(&text, &bytes);
    run(writes, THREADS);
    fclose(out);
    int open = 0, dots = 0, pairs = 0;
    for (size_t at = 0; at < bytes; at++) {
        if (text[at] == '<') { MUST(!open); open = 1; }
        else if (text[at] == '>') { MUST(open); open = 0; pairs++; }
        else if (text[at] == '.') { MUST(!open); dots++; }
    }
    SAY("%d %d", pairs == rounds * THREADS, dots == rounds * THREADS);
}

// sort with calls back
static int compare(const void *a, const void *b) {
    for (volatile int turn = 0; turn < 20; turn++) continue;
    return *(const int *)a - *(const int *)b;
}
static void *sorts(void *number) {
    int list[1000];
    for (int round = 0; round < rounds / 20 + 1; round++) {
        for (int at = 0; at < 1000; at++) list[at] = (at * 7919 + round) % 1009;
        qsort(list, 1000, sizeof *list, compare);
        for (int at = 1; at < 1000; at++) MUST(list[at - 1] <= list[at]);
    }
    return NULL;
}

// contexts of the program's own
static void co(unsigned high, unsigned low) {
    ucontext_t *both = (ucontext_t *)((uintptr_t)high << 32 | low);
    for (;;) { spin(2000); swapcontext(&both[1], &both[0]); }
}
static void *contexts(void *number) {
    ucontext_t *both = calloc(2, sizeof *both);
    char *stack = malloc(65536);
    getcontext(&both[1]);
    both[1].uc_stack.ss_sp = stack;
    both[1].uc_stack.ss_size = 65536;
    both[1].uc_link = NULL;
    makecontext(&both[1], (void (*)())co, 2, (unsigned)((uintptr_t)both >> 32), (unsigned)(uintptr_t)both);
    for (int round = 0; round < rounds; round++) { swapcontext(&both[0], &both[1]); spin(500); }
    free(stack); free(both);
    return NULL;
}

// locks of the program's own
static volatile int own_lock; static long guarded;
static void *own_locks(void *number) {
    for (int round = 0; round < rounds; round++) {
        while (__atomic_exchange_n(&own_lock, 1, __ATOMIC_ACQUIRE)) continue;
        long seen = guarded;
        spin(200);
        guarded = seen + 1;
        __atomic_store_n(&own_lock, 0, __ATOMIC_RELEASE);
    }
    return NULL;
}

// destructors
static pthread_key_t key; static int destroyed;
static void destroy(void *value) { spin(3000); __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED); free(value); }
static void *keeps(void *number) { pthread_setspecific(key, malloc(10)); spin(2000); return NULL; }

// cancel
static volatile int stop_now;
static void cleaned(void *nothing) { __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED); }
static void *spins_until_cancelled(void *number) {
    pthread_cleanup_push(cleaned, NULL);
    for (;;) { spin(100); pthread_testcancel(); }
    pthread_cleanup_pop(0);
}
static volatile int begun;
static void *asynchronous(void *number) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
    pthread_cleanup_push(cleaned, NULL);
    for (;;) continue;
    pthread_cleanup_pop(0);
}
static void cancels(void *(*f)(void *)) {
    pthread_t all[THREADS];
    for (int at = 0; at < THREADS; at++) MUST(pthread_create(&all[at], NULL, f, NULL) == 0);
    if (f == asynchronous) while (begun < THREADS) continue; else spin(100000);
    for (int at = 0; at < THREADS; at++) MUST(pthread_cancel(all[at]) == 0);
    for (int at = 0; at < THREADS; at++) {
        void *result;
        MUST(pthread_join(all[at], &result) == 0 && result == PTHREAD_CANCELED);
    }
}

// alarms
static volatile int alarms;
static void on_alarm(int signal) { alarms++; }
static void *spins_until_stopped(void *number) { while (!stop_now) continue; return NULL; }
static void timers(int restart) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = restart ? SA_RESTART : 0};
    sigaction(SIGALRM, &action, NULL);
    pthread_t all[THREADS];
    for (int at = 0; at < THREADS; at++) MUST(pthread_create(&all[at], NULL, spins_until_stopped, NULL) == 0);
    struct itimerval each = {.it_interval = {.tv_usec = 2000}, .it_value = {.tv_usec = 2000}};
    setitimer(ITIMER_REAL, &each, NULL);
    while (alarms < 20) continue;
    int ends[2]; MUST(pipe(ends) == 0);
    int broken = 0;
    if (!restart) for (int round = 0; round < 5; round++) {
        char byte;
        broken += read(ends[0], &byte, 1) == -1 && errno == EINTR;
    }
    SAY("broken %d", broken);
    int paused = pause();
    SAY("pause %d %d", paused, errno == EINTR);
    memset(&each, 0, sizeof each);
    setitimer(ITIMER_REAL, &each, NULL);
    stop_now = 1;
    for (int at = 0; at < THREADS; at++) pthread_join(all[at], NULL);
}

// all is blocked
static void *blocks_all(void *number) {
    sigset_t all; sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    while (!stop_now) continue;
    return NULL;
}
static void *stops(void *nothing) { stop_now = 1; return NULL; }
static void *blocks_by_kernel(void *number) {
    unsigned long all = ~0ul;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, 8);
    while (!stop_now) continue;
    return NULL;
}

// after a change of its mask, one is reached as before
static void *changes_and_spins(void *number) {
    sigset_t set;
    sigemptyset(&set);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    while (!stop_now) continue;
    return NULL;
}

static void stopped_by_another(void *(*spins)(void *)) {
    pthread_t all[4];
    for (int at = 0; at < 4; at++) MUST(pthread_create(&all[at], NULL, spins, NULL) == 0);
    run(stops, 1);
    for (int at = 0; at < 4; at++) MUST(pthread_join(all[at], NULL) == 0);
}

// real-time signals
static volatile int real;
static void on_real(int signal) { __atomic_add_fetch(&real, 1, __ATOMIC_RELAXED); }
static void real_time(void) {
    int count = 0;
    pthread_t all[THREADS];
    for (int at = 0; at < THREADS; at++) MUST(pthread_create(&all[at], NULL, spins_until_stopped, NULL) == 0);
    for (int down = 0; down < 4; down++) {
        struct sigaction action = {.sa_handler = on_real};
        if (sigaction(SIGRTMAX - down, &action, NULL)) continue;
        count++;
        MUST(kill(getpid(), SIGRTMAX - down) == 0);
        while (real < count) continue;
    }
    stop_now = 1;
    for (int at = 0; at < THREADS; at++) pthread_join(all[at], NULL);
    SAY("%d came", count);
}

static pthread_once_t once = PTHREAD_ONCE_INIT; static int initialised;
static void initialise(void) { spin(5000000); initialised++; }
static void *asks_once(void *number) { pthread_once(&once, initialise); MUST(initialised == 1); return NULL; }

static pthread_spinlock_t spinlock;
static void *spin_locks(void *number) {
    for (int round = 0; round < rounds; round++) {
        pthread_spin_lock(&spinlock);
        long seen = guarded; spin(300); guarded = seen + 1;
        pthread_spin_unlock(&spinlock);
    }
    return NULL;
}

// stop the world by signals, as collectors do
static sem_t stopped; static volatile int go_on; static __thread int is_target;
static volatile int right = 0, wrong = 0;
static void on_stop(int signal) {
    __atomic_add_fetch(is_target ? &right : &wrong, 1, __ATOMIC_RELAXED);
    sem_post(&stopped);
}
static volatile int begun_too;
static void *is_stopped(void *number) {
    is_target = 1;
    __atomic_add_fetch(&begun_too, 1, __ATOMIC_RELAXED);
    while (!stop_now) spin(100);
    return NULL;
}
static void world(void) {
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&stopped, 0, 0);
    pthread_t all[THREADS];
    for (int at = 0; at < THREADS; at++) MUST(pthread_create(&all[at], NULL, is_stopped, NULL) == 0);
    while (begun_too < THREADS) continue;
    for (int at = 0; at < THREADS; at++) {
        MUST(pthread_kill(all[at], SIGUSR1) == 0);
        while (sem_wait(&stopped) != 0) continue;
    }
    stop_now = 1;
    for (int at = 0; at < THREADS; at++) pthread_join(all[at], NULL);
    SAY("right %d wrong %d", right, wrong);
}
// timeouts by siglongjmp
static sigjmp_buf late;
static void on_late(int signal) { siglongjmp(late, 1); }
static void timeouts(void) {
    signal(SIGALRM, on_late);
    for (volatile int round = 0; round < 5; round++) {
        if (sigsetjmp(late, 1) == 0) {
            struct itimerval each = {.it_value = {.tv_usec = 5000}};
            setitimer(ITIMER_REAL, &each, NULL);
            for (;;) continue;
        }
    }
    SAY("five timeouts");
}

// who runs handlers, and what is blocked there
static pthread_t main_thread;
static int answers[2];
static volatile int in_main, elsewhere, blocked_there;
static void on_user(int signal) {
    if (pthread_equal(pthread_self(), main_thread)) in_main++; else elsewhere++;
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    if (answers[1]) MUST(write(answers[1], "a", 1) == 1);
    blocked_there += sigismember(&set, signal) && sigismember(&set, SIGUSR2);
}
static void leave_to_main(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}
static void *sends(void *nothing) { leave_to_main(); MUST(kill(getpid(), SIGUSR1) == 0); return NULL; }
static sem_t never;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static void *sends_later(void *wanted) {
    leave_to_main();
    for (intptr_t had = in_main; had < (intptr_t)wanted; had++) {
        MUST(kill(getpid(), SIGUSR1) == 0);
        while (in_main == had) usleep(100);
    }
    pthread_mutex_unlock(&held);
    return NULL;
}
static void *holds(void *wanted) {
    pthread_mutex_lock(&held);
    sem_post(&never);
    sends_later(wanted);
    return NULL;
}
static void who(void) {
    main_thread = pthread_self();
    struct sigaction action = {.sa_handler = on_user, .sa_flags = SA_RESTART};
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    SAY("raised: %d %d %d", in_main, elsewhere, blocked_there);
    pthread_t other;
    pthread_create(&other, NULL, sends, NULL);
    while (in_main < 2) continue;
    pthread_join(other, NULL);
    SAY("sent to one that spins: %d %d %d", in_main, elsewhere, blocked_there);
    pthread_create(&other, NULL, sends_later, (void *)4);
    pthread_join(other, NULL);
    SAY("sent to one that joins: %d %d %d", in_main, elsewhere, blocked_there);
    sem_init(&never, 0, 0);
    pthread_create(&other, NULL, holds, (void *)6);
    while (sem_wait(&never)) continue;
    pthread_mutex_lock(&held);
    SAY("sent to one that locks: %d %d %d", in_main, elsewhere, blocked_there);
    pthread_join(other, NULL);
    int ends[2];
    MUST(pipe(ends) == 0 && pipe(answers) == 0);
    char byte;
    pid_t child = fork();
    if (child == 0) {
        for (int times = 0; times < 3; times++) {
            kill(getppid(), SIGUSR1);
            MUST(read(answers[0], &byte, 1) == 1);
        }
        MUST(write(ends[1], "x", 1) == 1);
        _exit(0);
    }
    MUST(read(ends[0], &byte, 1) == 1);
    MUST(waitpid(child, NULL, 0) == child);
    SAY("sent to one that reads: %d %d %d", in_main, elsewhere, blocked_there);
    child = fork();
    if (child == 0) {
        kill(getppid(), SIGUSR1);
        MUST(read(answers[0], &byte, 1) == 1);
        _exit(0);
    }
    MUST(waitpid(child, NULL, 0) == child);
    SAY("sent to one that waits for a child: %d %d %d", in_main, elsewhere, blocked_there);
}
// left by a jump, again and again, with the mask as it was
static sigjmp_buf place;
static void on_left(int signal) { siglongjmp(place, 1); }
static void left(void) {
    signal(SIGUSR1, on_left);
    volatile int came = 0;
    for (volatile int round = 0; round < 100; round++) {
        if (sigsetjmp(place, 1) == 0) { raise(SIGUSR1); MUST(0); }
        came++;
    }
    sigset_t set, now;
    sigemptyset(&set); sigaddset(&set, SIGTERM);
    if (sigsetjmp(place, 1) == 0) { pthread_sigmask(SIG_BLOCK, &set, NULL); siglongjmp(place, 1); }
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    SAY("%d %d %d", came, sigismember(&now, SIGTERM), sigismember(&now, SIGUSR1));
}
static void reads_late(void) {
    signal(SIGALRM, on_late);
    int ends[2]; pipe(ends);
    for (volatile int round = 0; round < 5; round++) {
        if (sigsetjmp(late, 1) == 0) {
            struct itimerval each = {.it_value = {.tv_usec = 5000}};
            setitimer(ITIMER_REAL, &each, NULL);
            char byte;
            read(ends[0], &byte, 1);
            MUST(0);
        }
    }
    SAY("five reads");
}

// two signals at once, again and again
static volatile int came[2];
static void on_either(int signal) { came[signal == SIGUSR2]++; }
static void *sends_many(void *which) {
    int at = (intptr_t)which;
    sigset_t both;
    sigemptyset(&both); sigaddset(&both, SIGUSR1); sigaddset(&both, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    for (int had = 0; had < rounds; had++) {
        MUST(kill(getpid(), at ? SIGUSR2 : SIGUSR1) == 0);
        while (came[at] == had) sched_yield();
    }
    return NULL;
}
static void two(void) {
    signal(SIGUSR1, on_either);
    signal(SIGUSR2, on_either);
    pthread_t all[2];
    for (intptr_t at = 0; at < 2; at++) MUST(pthread_create(&all[at], NULL, sends_many, (void *)at) == 0);
    while (came[0] < rounds || came[1] < rounds) continue;
    for (int at = 0; at < 2; at++) MUST(pthread_join(all[at], NULL) == 0);
    SAY("%d %d", came[0], came[1]);
}

static void *clocks(void *number) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int round = 0; round < rounds * 300; round++) {
        clock_gettime(CLOCK_MONOTONIC, &b);
        MUST(b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec));
        a = b;
    }
    return NULL;
}
// small stacks
static void *small(void *number) { spin(300000); return NULL; }
static void small_stacks(void) {
    pthread_attr_t attributes; pthread_attr_init(&attributes);
    MUST(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
    pthread_t all[THREADS];
    for (int at = 0; at < THREADS; at++) MUST(pthread_create(&all[at], &attributes, small, NULL) == 0);
    for (int at = 0; at < THREADS; at++) MUST(pthread_join(all[at], NULL) == 0);
}
static void handler(int signal, void (*f)(int), int flags) {
    struct sigaction action = {.sa_handler = f, .sa_flags = flags};
    MUST(sigaction(signal, &action, NULL) == 0);
}

int main(int count, char **words) {
    const char *c = words[1];
    if (count > 2) rounds = atoi(words[2]);
#define CASE(name) else if (strcmp(c, name) == 0)
    if (0) ;
    CASE("jumps") run(jumps, THREADS);
    CASE("faults") { handler(SIGSEGV, on_fault, 0); run(faults_often, THREADS); SAY("%d", faults); }
    CASE("faultstack") { handler(SIGSEGV, on_fault, SA_ONSTACK); run(faults_on_stack, THREADS); SAY("%d", faults); }
    CASE("faultdefer") {
        handler(SIGSEGV, on_fault, SA_ONSTACK | SA_NODEFER);
        run(faults_on_stack, THREADS);
        SAY("%d", faults);
    }
    CASE("faultplain") { handler(SIGSEGV, on_fault_plain, 0); run(faults_plain, THREADS); }
    CASE("rounding") run(rounds_own_way, THREADS);
    CASE("wide") run(wide, THREADS);
    CASE("red") run(red, THREADS);
    CASE("alloc") run(allocates, THREADS);
    CASE("loads") run(loads, THREADS);
    CASE("forks") run(forks, THREADS);
    CASE("forkthreads") run(forks_with_threads, THREADS);
    CASE("execs") run(execs, THREADS);
    CASE("streams") streams();
    CASE("sorts") run(sorts, THREADS);
    CASE("contexts") run(contexts, THREADS);
    CASE("ownlocks") { run(own_locks, THREADS); SAY("%d", guarded == (long)rounds * THREADS); }
    CASE("keys") {
        pthread_key_create(&key, destroy);
        for (int i = 0; i < 20; i++) run(keeps, THREADS);
        SAY("%d", destroyed);
    }
    CASE("cancels") { for (int i = 0; i < 20; i++) cancels(spins_until_cancelled); SAY("%d", destroyed); }
    CASE("async") cancels(asynchronous);
    CASE("timers") timers(0);
    CASE("restarts") timers(1);
    CASE("blocks") stopped_by_another(blocks_all);
    CASE("unblocks") stopped_by_another(changes_and_spins);
    CASE("blockskernel") stopped_by_another(blocks_by_kernel);
    CASE("realtime") real_time();
    CASE("once") { run(asks_once, THREADS); SAY("%d", initialised); }
    CASE("spinlocks") {
        pthread_spin_init(&spinlock, 0);
        run(spin_locks, THREADS);
        SAY("%d", guarded == (long)rounds * THREADS);
    }
    CASE("world") world();
    CASE("timeouts") timeouts();
    CASE("who") who();
    CASE("two") two();
    CASE("left") left();
    CASE("readslate") reads_late();
    CASE("clocks") run(clocks, THREADS);
    CASE("small") small_stacks();
    else return 77;
    SAY("%s: well", c);
    return 0;
}
