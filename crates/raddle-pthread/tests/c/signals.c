// Signals: masks of threads, who is told, which waits end, what children inherit.
#include "check.h"
#include <poll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <spawn.h>

static volatile sig_atomic_t handled;
static sem_t posted, never;

static void counts(int signal) {
    (void)signal;
    handled++;
    sem_post(&posted);
}

static void install(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
    MUST(sigaction(signal, &action, NULL) == 0);
    MUST(sigaction(signal, NULL, &before) == 0);
    MUST(before.sa_handler == handler);
}

static volatile sig_atomic_t alarmed;

static void on_alarm(int signal) {
    (void)signal;
    alarmed++;
}

// Again and again: one may come before the wait begins.
static void in_a_while(void) {
    struct itimerval soon = {.it_value = {.tv_usec = 30000}, .it_interval = {.tv_usec = 30000}};
    setitimer(ITIMER_REAL, &soon, NULL);
}

static void no_more(void) {
    struct itimerval never = {0};
    setitimer(ITIMER_REAL, &never, NULL);
}

static void *sends(void *signal) {
    usleep(20000);
    kill(getpid(), (int)(intptr_t)signal);
    return NULL;
}

static void waits_end(void) {
    struct timespec span = {.tv_sec = 1000};
    char byte;
    int ends[2];
    MUST(pipe(ends) == 0);
    struct pollfd files[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    install(SIGALRM, on_alarm, 0);
    in_a_while();
    TELL_ERRNO(sem_wait(&never));
    in_a_while();
    TELL_ERRNO(nanosleep(&span, &span));
    MUST(span.tv_sec >= 990);
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    in_a_while();
    TELL_ERRNO(nanosleep(&span, &span));
    pthread_setcancelstate(state, NULL);
    in_a_while();
    MUST(sleep(1000) >= 990);
    in_a_while();
    TELL_ERRNO((int)read(ends[0], &byte, 1));
    in_a_while();
    TELL_ERRNO(poll(files, 1, -1));
    in_a_while();
    TELL_ERRNO(poll(files, 2, -1));
    in_a_while();
    TELL_ERRNO(select(ends[0] + 1, &set, NULL, NULL, NULL));
    in_a_while();
    TELL_ERRNO(pause());
    SAY("handled %d", alarmed > 0);
    no_more();
    // What a handler lets begin again goes on.
    install(SIGALRM, on_alarm, SA_RESTART);
    pid_t child = fork();
    if (child == 0) {
        usleep(100000);
        _exit(0);
    }
    in_a_while();
    MUST(waitpid(child, NULL, 0) == child);
    SAY("handled %d", alarmed > 0);
    no_more();
    signal(SIGALRM, SIG_IGN);
    close(ends[0]), close(ends[1]);
}

static void *waits_for_signal(void *nothing) {
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    SAY("sigwait: %d", sigwait(&set, &signal));
    SAY("%d", signal == SIGUSR2);
    return nothing;
}

static void *blocks(void *nothing) {
    sigset_t all, before;
    sigfillset(&all);
    TELL(pthread_sigmask(SIG_BLOCK, &all, &before));
    SAY("inherited: %d", sigismember(&before, SIGUSR2));
    TELL(pthread_sigmask(77, &all, NULL));
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    SAY("usr1 %d kill %d", sigismember(&before, SIGUSR1), sigismember(&before, SIGKILL));
    return nothing;
}

static void masks(void) {
    pthread_t thread;
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    TELL(pthread_sigmask(SIG_BLOCK, &set, NULL));
    // It would end the program, if anybody did not block it.
    kill(getpid(), SIGUSR2);
    pthread_create(&thread, NULL, waits_for_signal, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, waits_for_signal, NULL);
    kill(getpid(), SIGUSR2);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, blocks, NULL);
    pthread_join(thread, NULL);
    sigprocmask(SIG_SETMASK, NULL, &before);
    SAY("usr1 %d usr2 %d", sigismember(&before, SIGUSR1), sigismember(&before, SIGUSR2));
    install(SIGUSR2, counts, 0);
    handled = 0;
    raise(SIGUSR2);
    SAY("blocked: %d", handled);
    sigset_t none;
    sigemptyset(&none);
    TELL_ERRNO(sigsuspend(&none));
    SAY("handled: %d", handled);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGUSR2);
    SAY("raised: %d", handled);
    kill(getpid(), SIGUSR2);
    SAY("killed: %d", handled);
    TELL(pthread_kill(pthread_self(), SIGUSR2));
    SAY("sent: %d", handled);
    sem_init(&posted, 0, 0);
    pthread_create(&thread, NULL, sends, (void *)(intptr_t)SIGUSR2);
    while (sem_wait(&posted)) MUST(errno == EINTR);
    pthread_join(thread, NULL);
    SAY("by another: %d", handled);
}

static void children(void) {
    char *words[] = {"sh", "-c", "kill -TERM $$; echo lives", NULL};
    extern char **environ;
    pid_t child;
    int status;
    MUST(posix_spawnp(&child, "sh", NULL, NULL, words, environ) == 0);
    waitpid(child, &status, 0);
    SAY("spawned: %d", WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    fflush(stdout);
    child = fork();
    if (child == 0) execvp("sh", words), _exit(1);
    waitpid(child, &status, 0);
    SAY("forked: %d", WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    SAY("system: %d", system("kill -TERM $$; echo lives") == SIGTERM);
    child = fork();
    if (child == 0) {
        kill(getppid(), 0);
        for (;;) sleep(1000);
    }
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
    SAY("killed: %d", WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    sem_init(&posted, 0, 0);
    sem_init(&never, 0, 0);
    waits_end();
    masks();
    children();
    raise(SIGTERM);
    SAY("not here");
    return 0;
}
