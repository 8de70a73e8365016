// A broken pipe sends a signal to who writes, and ends the program if nobody handles that.
#include "check.h"
#include <sys/socket.h>
#include <sys/uio.h>

static volatile int handled;

static void on_broken(int signal) {
    handled++;
}

static char much[100000];

#define BREAKS(call) \
    do { \
        handled = 0; \
        errno = 0; \
        MUST((call) == -1); \
        SAY("%s: %s, handled: %d", #call, name_of(errno), handled); \
    } while (0)

int main(void) {
    int ends[2], sockets[2];
    MUST(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    close(ends[0]);
    close(sockets[0]);
    struct sigaction action = {.sa_handler = on_broken};
    sigaction(SIGPIPE, &action, NULL);
    struct iovec part = {much, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    BREAKS(write(ends[1], much, 1));
    BREAKS(write(ends[1], much, sizeof much));
    BREAKS(writev(ends[1], &part, 1));
    BREAKS(write(sockets[1], much, 1));
    BREAKS(write(sockets[1], much, sizeof much));
    BREAKS(send(sockets[1], much, 1, 0));
    BREAKS(send(sockets[1], much, 1, MSG_NOSIGNAL));
    BREAKS(sendmsg(sockets[1], &message, 0));
    BREAKS(sendmsg(sockets[1], &message, MSG_NOSIGNAL));
    signal(SIGPIPE, SIG_IGN);
    BREAKS(write(ends[1], much, 1));
    sigset_t broken;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigprocmask(SIG_BLOCK, &broken, NULL);
    sigaction(SIGPIPE, &action, NULL);
    BREAKS(write(ends[1], much, 1));
    struct timespec none = {0, 0};
    sigtimedwait(&broken, NULL, &none);
    sigprocmask(SIG_UNBLOCK, &broken, NULL);
    signal(SIGPIPE, SIG_DFL);
    fflush(stdout);
    write(ends[1], much, 1);
    SAY("not here");
}
