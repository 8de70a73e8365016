// Other names of calls, what is known of a thread, and calls that older or checked programs make.
#define _FORTIFY_SOURCE 2
#include "check.h"
#include <setjmp.h>
#include <sys/syscall.h>

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spin;
static sem_t go;

// Names that programs for an older C library ask for, and that a linker gives to nobody else.
#define OLD(name, ...) \
    extern int old##name(__VA_ARGS__); \
    __asm__(".symver old" #name ", " #name "@GLIBC_2.2.5")

OLD(__pthread_mutex_lock, pthread_mutex_t *);
OLD(__pthread_mutex_trylock, pthread_mutex_t *);
OLD(__pthread_mutex_unlock, pthread_mutex_t *);
OLD(__pthread_rwlock_rdlock, pthread_rwlock_t *);
OLD(__pthread_rwlock_tryrdlock, pthread_rwlock_t *);
OLD(__pthread_rwlock_wrlock, pthread_rwlock_t *);
OLD(__pthread_rwlock_trywrlock, pthread_rwlock_t *);
OLD(__pthread_rwlock_unlock, pthread_rwlock_t *);
OLD(__pthread_once, pthread_once_t *, void (*)(void));
OLD(pthread_yield, void);
extern void (*bsd_signal(int, void (*)(int)))(int);

static void *tries(void *nothing) {
    TELL(old__pthread_mutex_trylock(&mutex));
    TELL(old__pthread_mutex_unlock(&mutex));
    TELL(old__pthread_rwlock_tryrdlock(&rwlock));
    TELL(old__pthread_rwlock_trywrlock(&rwlock));
    return nothing;
}

static void in_a_thread(void *(*function)(void *)) {
    pthread_t thread;
    pthread_create(&thread, NULL, function, NULL);
    pthread_join(thread, NULL);
}

static void once_only(void) {
    SAY("once");
}

static void aliases(void) {
    TELL(old__pthread_mutex_lock(&mutex));
    TELL(old__pthread_mutex_lock(&mutex));
    TELL(old__pthread_rwlock_wrlock(&rwlock));
    in_a_thread(tries);
    TELL(old__pthread_mutex_unlock(&mutex));
    TELL(old__pthread_mutex_unlock(&mutex));
    TELL(old__pthread_rwlock_unlock(&rwlock));
    TELL(old__pthread_rwlock_rdlock(&rwlock));
    TELL(old__pthread_rwlock_tryrdlock(&rwlock));
    TELL(old__pthread_rwlock_unlock(&rwlock));
    TELL(old__pthread_rwlock_unlock(&rwlock));
    TELL(pthread_rwlock_destroy(&rwlock));
    TELL(old__pthread_once(&once, once_only));
    TELL(old__pthread_once(&once, once_only));
    TELL(pthread_spin_init(&spin, 0));
    TELL(pthread_spin_trylock(&spin));
    TELL(pthread_spin_trylock(&spin));
    TELL(pthread_spin_unlock(&spin));
    TELL(pthread_spin_destroy(&spin));
}


static void *has_a_number(void *nothing) {
    pid_t number = gettid();
    for (int n = 0; n < 10; n++) sched_yield();
    SAY("%d", number == gettid() && number == syscall(SYS_gettid) && number != getpid());
    return nothing;
}

static void *has_a_clock(void *nothing) {
    clockid_t clock;
    struct timespec before, later;
    TELL(pthread_getcpuclockid(pthread_self(), &clock));
    TELL_ERRNO(clock_gettime(clock, &before));
    for (volatile int n = 0; n < 1000000; n++) continue;
    TELL_ERRNO(clock_gettime(clock, &later));
    SAY("%d", later.tv_sec > before.tv_sec || later.tv_nsec > before.tv_nsec);
    return nothing;
}

// How many processors a thread is bound to, its class and its priority.
static void tell_scheduling(pthread_t thread) {
    cpu_set_t set;
    int class;
    struct sched_param parameters;
    TELL(pthread_getaffinity_np(thread, sizeof set, &set));
    TELL(pthread_getschedparam(thread, &class, &parameters));
    SAY("all %d one %d class %d priority %d", CPU_COUNT(&set) > 1, CPU_COUNT(&set) == 1, class,
        parameters.sched_priority);
}

static void *tells_its_own(void *nothing) {
    tell_scheduling(pthread_self());
    return nothing;
}

// What was set before it ran.
static void *waits(void *nothing) {
    sem_wait(&go);
    tell_scheduling(pthread_self());
    return nothing;
}

static void *is_inherited(void *nothing) {
    struct sched_param none = {0};
    cpu_set_t set, one;
    MUST(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0);
    CPU_ZERO(&one);
    for (int n = 0; n < CPU_SETSIZE && !CPU_COUNT(&one); n++) {
        if (CPU_ISSET(n, &set)) CPU_SET(n, &one);
    }
    TELL(pthread_setaffinity_np(pthread_self(), sizeof one, &one));
    TELL(pthread_setschedparam(pthread_self(), SCHED_BATCH, &none));
    in_a_thread(tells_its_own);
    TELL(pthread_getaffinity_np(pthread_self(), 1, &set));
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    TELL(pthread_attr_setaffinity_np(&attributes, sizeof set, &set));
    TELL(pthread_attr_setschedpolicy(&attributes, SCHED_OTHER));
    TELL(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED));
    TELL(pthread_create(&thread, &attributes, tells_its_own, NULL));
    pthread_join(thread, NULL);
    CPU_ZERO(&set);
    CPU_SET(CPU_SETSIZE - 1, &set);
    TELL(pthread_attr_setaffinity_np(&attributes, sizeof set, &set));
    TELL(pthread_create(&thread, &attributes, tells_its_own, NULL));
    pthread_attr_destroy(&attributes);
    return nothing;
}

static void what_is_known(void) {
    pthread_t thread;
    clockid_t clock;
    cpu_set_t set;
    struct sched_param parameters = {0};
    sem_init(&go, 0, 0);
    pthread_create(&thread, NULL, waits, NULL);
    tell_scheduling(thread);
    MUST(pthread_getaffinity_np(thread, sizeof set, &set) == 0);
    TELL(pthread_setaffinity_np(thread, sizeof set, &set));
    CPU_ZERO(&set);
    TELL(pthread_setaffinity_np(thread, sizeof set, &set));
    TELL(pthread_setschedparam(thread, SCHED_OTHER, &parameters));
    TELL(pthread_setschedparam(thread, 77, &parameters));
    TELL(pthread_setschedprio(thread, 0));
    TELL(pthread_setschedprio(thread, 1));
    parameters.sched_priority = 5;
    TELL(pthread_setschedparam(thread, SCHED_OTHER, &parameters));
    TELL(pthread_setschedparam(thread, SCHED_RR, &parameters));
    tell_scheduling(thread);
    TELL(pthread_setschedprio(thread, 7));
    TELL(pthread_setschedprio(thread, 100));
    tell_scheduling(thread);
    parameters.sched_priority = 1000;
    TELL(pthread_setschedparam(thread, SCHED_RR, &parameters));
    TELL(pthread_getcpuclockid(thread, &clock));
    sem_post(&go);
    pthread_join(thread, NULL);
    // Without a call between that lets it run, on one worker.
    parameters.sched_priority = 0;
    pthread_create(&thread, NULL, waits, NULL);
    int before_it_runs = pthread_setschedparam(thread, SCHED_BATCH, &parameters);
    TELL(before_it_runs);
    sem_post(&go);
    pthread_join(thread, NULL);
    in_a_thread(is_inherited);
    SAY("%d", gettid() == getpid());
    in_a_thread(has_a_number);
    in_a_thread(has_a_clock);
}

static sigjmp_buf place;
static jmp_buf plain;

extern _Noreturn void unchecked_longjmp(jmp_buf, int) __asm__("_longjmp");

static void jumps_back(int value) {
    if (value == 1) siglongjmp(place, value);
    if (value == 2) longjmp(plain, value);
    unchecked_longjmp(plain, value);
}

// Out of blocked signals, with the mask of then, and without it.
static void *jumps(void *nothing) {
    sigset_t set, now;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    for (volatile int value = 1; value < 4; value++) {
        volatile int back = 0;
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        back = value == 1 ? sigsetjmp(place, 1) : _setjmp(plain);
        if (!back) {
            pthread_sigmask(SIG_BLOCK, &set, NULL);
            jumps_back(value);
        }
        pthread_sigmask(SIG_BLOCK, NULL, &now);
        SAY("back with %d, blocked %d", back, sigismember(&now, SIGUSR2));
    }
    return nothing;
}

static volatile sig_atomic_t told;

static void tells(int signal) {
    told = signal;
}

static void *yields(void *nothing) {
    TELL(oldpthread_yield());
    thrd_yield();
    return nothing;
}

static int c11_ends(void *semaphore) {
    sem_post(semaphore);
    return 0;
}

static void signals(void) {
    sigset_t set;
    siginfo_t info;
    SAY("%d", bsd_signal(SIGUSR1, tells) == SIG_DFL);
    raise(SIGUSR1);
    SAY("%d %d", told == SIGUSR1, bsd_signal(SIGUSR1, SIG_IGN) == tells);
    TELL_ERRNO(bsd_signal(1000, tells) == SIG_ERR ? -1 : 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR2);
    SAY("%d", sigwaitinfo(&set, &info) == SIGUSR2 && info.si_signo == SIGUSR2);
    struct timespec none = {0}, wrong = no_time();
    TELL_ERRNO(sigtimedwait(&set, &info, &none));
    TELL_ERRNO(sigtimedwait(&set, &info, &wrong));
    SAY("%d", SIGRTMAX - SIGRTMIN > 8);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    aliases();
    what_is_known();
    in_a_thread(jumps);
    in_a_thread(yields);
    thrd_t thread;
    SAY("%d", thrd_create(&thread, c11_ends, &go) == thrd_success);
    SAY("%d", thrd_detach(thread) == thrd_success);
    sem_wait(&go);
    signals();
}
