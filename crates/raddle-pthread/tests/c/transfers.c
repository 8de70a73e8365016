// Calls at descriptors that other programs here do not make: each waits once for another thread, and errs.
#include "check.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

ssize_t __read(int, void *, size_t);
ssize_t __write(int, const void *, size_t);
int __poll(struct pollfd *, nfds_t, int);
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);

static int ends[2], pipes[2];

// A number of bytes, or an error's name.
static void tell(const char *what, long answer) {
    if (answer >= 0) SAY("%s: %ld", what, answer);
    else SAY("%s: %s", what, name_of(errno));
}

#define TELL_LONG(call) tell(#call, (long)(call))

// Sends three bytes to each when the other has been asked, most likely while it waits.
static void *sends(void *nothing) {
    for (int n = 0; n < 20; n++) sched_yield();
    MUST(write(ends[1], "abc", 3) == 3);
    MUST(write(pipes[1], "def", 3) == 3);
    return nothing;
}

// A thread sends while this call is made; what is left is taken away.
#define WHILE_SENT(call) \
    do { \
        pthread_t thread; \
        char rest[16]; \
        pthread_create(&thread, NULL, sends, NULL); \
        TELL_LONG(call); \
        pthread_join(thread, NULL); \
        while (recv(ends[0], rest, sizeof rest, MSG_DONTWAIT) > 0) continue; \
        struct pollfd more = {pipes[0], POLLIN, 0}; \
        while (poll(&more, 1, 0) > 0) MUST(read(pipes[0], rest, sizeof rest) > 0); \
    } while (0)

static void reads(void) {
    char some[8], more[8];
    struct iovec parts[2] = {{some, 2}, {more, 8}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    WHILE_SENT(__read(pipes[0], some, 8));
    WHILE_SENT(__read_chk(pipes[0], some, 2, 8));
    WHILE_SENT(__recv_chk(ends[0], some, 8, 8, 0));
    WHILE_SENT(readv(pipes[0], parts, 2));
    SAY("%.2s %.1s", some, more);
    WHILE_SENT(recvfrom(ends[0], some, 8, 0, NULL, NULL));
    WHILE_SENT(recvfrom(ends[0], some, 3, MSG_WAITALL, NULL, NULL));
    WHILE_SENT(recvmsg(ends[0], &message, 0));
    WHILE_SENT(recvmsg(ends[0], &message, MSG_PEEK));
    SAY("%.2s %.1s", some, more);
    TELL_LONG(recvmsg(ends[0], &message, MSG_DONTWAIT));
    TELL_LONG(recvfrom(ends[0], some, 8, MSG_DONTWAIT, NULL, NULL));
    TELL_LONG(__read(-1, some, 1));
    TELL_LONG(__read_chk(-1, some, 1, 8));
    TELL_LONG(__recv_chk(pipes[0], some, 1, 8, 0));
    TELL_LONG(readv(pipes[0], parts, -1));
    TELL_LONG(readv(pipes[0], parts, 5000));
    TELL_LONG(read(pipes[0], some, 0));
    TELL_LONG(read(ends[0], some, 0));
    TELL_LONG(readv(pipes[1], parts, 1));
    TELL_LONG(recvfrom(pipes[0], some, 1, 0, NULL, NULL));
    TELL_LONG(recvmsg(-1, &message, 0));
}

static void waits_for_several(void) {
    struct timespec span = {.tv_sec = 100}, none = {0}, wrong = no_time();
    struct pollfd files[2] = {{ends[0], POLLIN, 0}, {pipes[0], POLLIN, 0}};
    struct epoll_event event = {.events = EPOLLIN}, events[2];
    sigset_t mask;
    fd_set set;
    sigemptyset(&mask);
    int epoll = epoll_create1(0);
    MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
    WHILE_SENT(__poll(files, 1, 100000));
    WHILE_SENT(ppoll(files, 1, &span, &mask));
    WHILE_SENT(ppoll(files, 1, NULL, NULL));
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    WHILE_SENT(pselect(ends[0] + 1, &set, NULL, NULL, &span, &mask));
    SAY("%d %d", FD_ISSET(ends[0], &set), FD_ISSET(pipes[0], &set));
    WHILE_SENT(epoll_pwait(epoll, events, 2, -1, &mask));
    WHILE_SENT(epoll_pwait(epoll, events, 2, 100000, NULL));
    TELL_LONG(__poll(files, 2, 0));
    TELL_LONG(__poll(files, 2, 5));
    TELL_LONG(ppoll(files, 2, &none, NULL));
    TELL_LONG(ppoll(files, 2, &wrong, NULL));
    TELL_LONG(pselect(ends[0] + 1, &set, NULL, NULL, &wrong, NULL));
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    TELL_LONG(pselect(ends[0] + 1, &set, NULL, NULL, &none, NULL));
    TELL_LONG(pselect(-1, &set, NULL, NULL, &none, NULL));
    TELL_LONG(epoll_pwait(epoll, events, 2, 5, NULL));
    TELL_LONG(epoll_pwait(epoll, events, 0, 5, NULL));
    TELL_LONG(epoll_pwait(ends[0], events, 2, 5, NULL));
    files[0].fd = 900;
    TELL_LONG(__poll(files, 1, 5));
    SAY("%d", files[0].revents == POLLNVAL);
    close(epoll);
}

static void writes(void) {
    char some[8];
    struct iovec parts[2] = {{"ab", 2}, {"c", 1}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    TELL_LONG(__write(pipes[1], "abc", 3));
    TELL_LONG(read(pipes[0], some, 8));
    TELL_LONG(sendto(ends[1], "abcd", 4, 0, NULL, 0));
    TELL_LONG(sendmsg(ends[1], &message, 0));
    TELL_LONG(recv(ends[0], some, 8, 0));
    SAY("%.7s", some);
    TELL_LONG(__write(pipes[1], "", 0));
    TELL_LONG(__write(-1, "a", 1));
    TELL_LONG(__write(pipes[0], "a", 1));
    TELL_LONG(sendto(pipes[1], "a", 1, 0, NULL, 0));
    TELL_LONG(sendto(-1, "a", 1, 0, NULL, 0));
    TELL_LONG(sendmsg(pipes[1], &message, 0));
    TELL_LONG(fdatasync(pipes[0]));
    TELL_LONG(fdatasync(-1));
}

enum { BULK = 600000 };

// Takes as much at once by `MSG_WAITALL`, then what is left by pieces; says what each byte was, added up.
static void *takes_much(void *nothing) {
    unsigned char *bytes = malloc(BULK);
    long sum = 0, some = recv(ends[0], bytes, BULK, MSG_WAITALL);
    MUST(some == BULK);
    for (long n = 0; n < some; n++) sum += bytes[n];
    for (long left = 2 * BULK + 1; left > 0; left -= some) {
        some = recv(ends[0], bytes, BULK / 7, 0);
        MUST(some > 0);
        for (long n = 0; n < some; n++) sum += bytes[n];
    }
    free(bytes);
    return (void *)sum;
}

// More than a socket holds: a call on a blocking one sends all of it.
static void sends_much(void) {
    unsigned char *bytes = malloc(BULK);
    pthread_t thread;
    void *sum;
    for (int n = 0; n < BULK; n++) bytes[n] = n * 7;
    struct iovec parts[3] = {{bytes, 1}, {NULL, 0}, {bytes, BULK}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    pthread_create(&thread, NULL, takes_much, NULL);
    TELL_LONG(write(ends[1], bytes, BULK));
    TELL_LONG(sendmsg(ends[1], &message, 0));
    TELL_LONG(send(ends[1], bytes, BULK, 0));
    pthread_join(thread, &sum);
    SAY("bytes in all %ld", (long)sum);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    long sent = sendmsg(ends[1], &message, 0);
    SAY("%d", sent > 0 && sent < BULK);
    TELL_LONG(sendmsg(ends[1], &message, 0));
    TELL_LONG(write(ends[1], bytes, BULK));
    fcntl(ends[1], F_SETFL, 0);
    for (long left = sent, some; left > 0; left -= some) {
        some = recv(ends[0], bytes, left < BULK ? left : BULK, MSG_WAITALL);
        MUST(some > 0);
    }
    TELL_LONG(recv(ends[0], bytes, 5, MSG_WAITALL | MSG_DONTWAIT));
    free(bytes);
}

// Datagrams: to wait for all means nothing.
static void datagrams(void) {
    int both[2];
    char some[8];
    struct timeval soon = {.tv_usec = 20000};
    MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, both) == 0);
    TELL_LONG(write(both[1], "abc", 3));
    TELL_LONG(recv(both[0], some, 8, MSG_WAITALL));
    TELL_LONG(write(both[1], "", 0));
    TELL_LONG(setsockopt(both[0], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon));
    TELL_LONG(read(both[0], some, 8));
    TELL_LONG(recv(both[0], some, 8, MSG_WAITALL));
    close(both[0]);
    close(both[1]);
}

static void *connects(void *place) {
    int peer = socket(AF_UNIX, SOCK_STREAM, 0);
    for (int n = 0; n < 20; n++) sched_yield();
    MUST(connect(peer, place, sizeof(struct sockaddr_un)) == 0);
    char byte;
    MUST(read(peer, &byte, 1) == 0);
    close(peer);
    return NULL;
}

static void accepts(void) {
    struct sockaddr_un place = {.sun_family = AF_UNIX}, from;
    socklen_t length = sizeof from;
    pthread_t thread;
    snprintf(place.sun_path + 1, sizeof place.sun_path - 1, "raddle-transfers-%d", getpid());
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    MUST(bind(listener, (struct sockaddr *)&place, sizeof place) == 0 && listen(listener, 5) == 0);
    pthread_create(&thread, NULL, connects, &place);
    int peer = accept4(listener, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    MUST(peer >= 0);
    SAY("%d %d", fcntl(peer, F_GETFL) == (O_RDWR | O_NONBLOCK), fcntl64(peer, F_GETFD) == FD_CLOEXEC);
    SAY("%d", from.sun_family == AF_UNIX);
    close(peer);
    pthread_join(thread, NULL);
    TELL_LONG(accept4(listener, NULL, NULL, 12345));
    TELL_LONG(accept4(ends[0], NULL, NULL, 0));
    TELL_LONG(accept(ends[0], NULL, NULL));
    TELL_LONG(accept(pipes[0], NULL, NULL));
    TELL_LONG(accept4(-1, NULL, NULL, 0));
    TELL_LONG(fcntl64(listener, F_SETFL, O_NONBLOCK));
    TELL_LONG(accept4(listener, NULL, NULL, 0));
    TELL_LONG(fcntl64(-1, F_GETFL));
    TELL_LONG(fcntl64(listener, 12345));
    close(listener);
}

// A number that another descriptor had is waited for anew.
static void duplicates(void) {
    int second[2];
    char some[8];
    MUST(pipe(second) == 0);
    WHILE_SENT(read(pipes[0], some, 8));
    TELL_LONG(dup2(pipes[0], second[0]) == second[0]);
    WHILE_SENT(read(second[0], some, 3));
    TELL_LONG(dup3(ends[0], second[0], O_CLOEXEC) == second[0]);
    WHILE_SENT(read(second[0], some, 3));
    SAY("%d", fcntl(second[0], F_GETFD) == FD_CLOEXEC);
    TELL_LONG(dup2(second[0], second[0]) == second[0]);
    TELL_LONG(dup3(second[0], second[0], 0));
    TELL_LONG(dup3(second[0], second[1], 12345));
    TELL_LONG(dup2(-1, second[0]));
    TELL_LONG(dup2(ends[0], -1));
    close(second[0]);
    close(second[1]);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && pipe(pipes) == 0);
    reads();
    waits_for_several();
    writes();
    sends_much();
    datagrams();
    accepts();
    duplicates();
}
