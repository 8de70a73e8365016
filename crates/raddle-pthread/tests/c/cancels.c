// Cancellation ends waits for descriptors and children, and runs the clean-ups; a wait that is over is not undone.
#include "check.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int ends[2], full[2], pair[2], listener, poller;
static pid_t child;
static sem_t begins;

static void cleans(void *what) {
    SAY("clean-up of %s", (char *)what);
}

#define WAITER(name, call) \
    static void *name(void *nothing) { \
        char byte[1] = "", some[9000] = ""; \
        (void)byte, (void)some; \
        pthread_cleanup_push(cleans, #name); \
        sem_post(&begins); \
        call; \
        SAY(#name " has come back: %s", strerrorname_np(errno)); \
        pthread_cleanup_pop(0); \
        return nothing; \
    }

WAITER(reads, read(ends[0], byte, 1))
WAITER(writes, write(full[1], byte, 1))
WAITER(writes_much, write(full[1], some, sizeof some))
WAITER(receives, recv(pair[0], byte, 1, 0))
WAITER(accepts, accept(listener, NULL, NULL))
WAITER(polls_one, poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, -1))
WAITER(polls_two,
       poll((struct pollfd[]){{.fd = ends[0], .events = POLLIN}, {.fd = pair[0], .events = POLLIN}}, 2, -1))
WAITER(polls_until, poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, 1000000))
WAITER(waits_for_events, epoll_wait(poller, &(struct epoll_event){}, 1, -1))
WAITER(waits_for_child, waitpid(child, NULL, 0))

static void *selects(void *nothing) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    pthread_cleanup_push(cleans, "selects");
    sem_post(&begins);
    select(ends[0] + 1, &set, NULL, NULL, NULL);
    SAY("selects has come back");
    pthread_cleanup_pop(0);
    return nothing;
}

static void cancel(const char *name, void *(*waits)(void *)) {
    // At once, and when it has had time to wait.
    for (int times = 0; times < 2; times++) {
        pthread_t thread;
        void *result;
        MUST(pthread_create(&thread, NULL, waits, NULL) == 0);
        sem_wait(&begins);
        if (times == 1) usleep(5000);
        MUST(pthread_cancel(thread) == 0);
        MUST(pthread_join(thread, &result) == 0);
        SAY("%s: %s", name, result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    }
}

static void *is_not_cancelled(void *nothing) {
    char byte;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    sem_post(&begins);
    MUST(read(ends[0], &byte, 1) == 1);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    SAY("what it waited for has come");
    pthread_testcancel();
    return nothing;
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    sem_init(&begins, 0, 0);
    MUST(pipe(ends) == 0 && pipe(full) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    // Filled by writes that do not wait.
    MUST(fcntl(full[1], F_SETFL, O_NONBLOCK) == 0);
    char some[4096] = "";
    while (write(full[1], some, sizeof some) > 0) continue;
    MUST(fcntl(full[1], F_SETFL, 0) == 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    MUST((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    MUST(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
    MUST((poller = epoll_create1(0)) >= 0);
    MUST(epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &(struct epoll_event){.events = EPOLLIN}) == 0);
    if ((child = fork()) == 0) {
        for (;;) pause();
    }

    cancel("read", reads);
    cancel("write", writes);
    cancel("a long write", writes_much);
    cancel("recv", receives);
    cancel("accept", accepts);
    cancel("poll of one", polls_one);
    cancel("poll of two", polls_two);
    cancel("poll with a time", polls_until);
    cancel("select", selects);
    cancel("epoll_wait", waits_for_events);
    cancel("waitpid", waits_for_child);

    pthread_t thread;
    void *result;
    MUST(pthread_create(&thread, NULL, is_not_cancelled, NULL) == 0);
    sem_wait(&begins);
    MUST(pthread_cancel(thread) == 0);
    MUST(write(ends[1], "x", 1) == 1);
    MUST(pthread_join(thread, &result) == 0);
    SAY("then: %s", result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");

    // The descriptors serve on.
    char byte;
    MUST(write(ends[1], "y", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'y');
    MUST(write(pair[1], "z", 1) == 1 && read(pair[0], &byte, 1) == 1 && byte == 'z');
    MUST(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    return 0;
}
