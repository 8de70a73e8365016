// Threads that wait for pipes, sockets, polls, files and children, and answer as natively.
#include "check.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { ROUNDS = 300, CLIENTS = 16, BULK = 1 << 20 };

static int ping[2], pong[2];

static void *echoes(void *nothing) {
    char byte;
    for (int n = 0; n < ROUNDS; n++) {
        MUST(read(ping[0], &byte, 1) == 1);
        MUST(write(pong[1], &byte, 1) == 1);
    }
    return nothing;
}

static void *drains(void *from) {
    static char bytes[10000];
    long sum = 0, some;
    while ((some = read(*(int *)from, bytes, sizeof bytes)) > 0) sum += some;
    return (void *)sum;
}

static void pipes(void) {
    pthread_t thread;
    void *result;
    char byte = 'a';
    MUST(pipe(ping) == 0 && pipe(pong) == 0);
    pthread_create(&thread, NULL, echoes, NULL);
    for (int n = 0; n < ROUNDS; n++) {
        MUST(write(ping[1], &byte, 1) == 1);
        MUST(read(pong[0], &byte, 1) == 1);
    }
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, drains, &ping[0]);
    char *bulk = calloc(1, BULK);
    SAY("%ld", (long)write(ping[1], bulk, BULK));
    struct iovec parts[2] = {{bulk, 100000}, {bulk, 1}};
    SAY("%ld", (long)writev(ping[1], parts, 2));
    close(ping[1]);
    pthread_join(thread, &result);
    SAY("drained %ld", (long)result);
    TELL_ERRNO((int)read(ping[0], &byte, 1));
    close(ping[0]);
    TELL_ERRNO((int)read(ping[0], &byte, 1));
    fcntl(pong[0], F_SETFL, O_NONBLOCK);
    TELL_ERRNO((int)read(pong[0], &byte, 1));
    close(pong[1]);
    SAY("%ld", (long)read(pong[0], &byte, 1));
    close(pong[0]);
    free(bulk);
}

static int listener;
static struct sockaddr_in address;

static void *serves(void *nothing) {
    for (;;) {
        int peer = accept(listener, NULL, NULL);
        MUST(peer >= 0);
        char bytes[100];
        long some = recv(peer, bytes, sizeof bytes, 0);
        MUST(some > 0);
        if (bytes[0] == 'q') {
            close(peer);
            return nothing;
        }
        MUST(send(peer, bytes, some, 0) == some);
        close(peer);
    }
}

static void *calls(void *text) {
    int own = socket(AF_INET, SOCK_STREAM, 0);
    MUST(connect(own, (void *)&address, sizeof address) == 0);
    MUST(send(own, text, 5, 0) == 5);
    char bytes[6] = "";
    if (*(char *)text != 'q') {
        MUST(recv(own, bytes, 5, MSG_WAITALL) == 5);
        MUST(!strcmp(bytes, text));
    }
    close(own);
    return NULL;
}

static void sockets(void) {
    socklen_t bytes = sizeof address;
    pthread_t servers[4], clients[CLIENTS];
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MUST(bind(listener, (void *)&address, sizeof address) == 0 && listen(listener, 100) == 0);
    getsockname(listener, (void *)&address, &bytes);
    for (int n = 0; n < 4; n++) pthread_create(&servers[n], NULL, serves, NULL);
    for (int n = 0; n < CLIENTS; n++) pthread_create(&clients[n], NULL, calls, "hello");
    for (int n = 0; n < CLIENTS; n++) pthread_join(clients[n], NULL);
    for (int n = 0; n < 4; n++) pthread_create(&clients[n], NULL, calls, "quit!");
    for (int n = 0; n < 4; n++) pthread_join(clients[n], NULL), pthread_join(servers[n], NULL);
    int pair[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    struct timeval brief = {.tv_usec = 20000};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &brief, sizeof brief);
    char byte;
    TELL_ERRNO((int)recv(pair[0], &byte, 1, 0));
    TELL_ERRNO((int)recv(pair[1], &byte, 1, MSG_DONTWAIT));
    TELL_ERRNO((int)recv(1000, &byte, 1, 0));
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, drains, &pair[1]);
    char *bulk = calloc(1, BULK);
    SAY("%ld", (long)send(pair[0], bulk, BULK, 0));
    SAY("%ld", (long)write(pair[0], bulk, BULK));
    shutdown(pair[0], SHUT_WR);
    pthread_join(thread, &result);
    SAY("drained %ld", (long)result);
    free(bulk);
    close(pair[0]), close(pair[1]), close(listener);
    struct addrinfo *found;
    SAY("%d", getaddrinfo("127.0.0.1", "80", NULL, &found));
    freeaddrinfo(found);
}

static int many[2][2];

static void *rings(void *descriptor) {
    usleep(1000);
    MUST(write(*(int *)descriptor, "12345678", 8) == 8);
    return NULL;
}

static void polls(void) {
    pthread_t thread;
    char bytes[8];
    MUST(pipe(many[0]) == 0 && pipe(many[1]) == 0);
    struct pollfd files[2] = {{many[0][0], POLLIN, 0}, {many[1][0], POLLIN, 0}};
    SAY("%d", poll(files, 2, 0));
    SAY("%d", poll(files, 1, 10));
    SAY("%d", poll(NULL, 0, 10));
    for (int n = 1; n <= 2; n++) {
        pthread_create(&thread, NULL, rings, &many[n - 1][1]);
        SAY("%d", poll(files, n, -1));
        SAY("%d", files[n - 1].revents);
        pthread_join(thread, NULL);
        SAY("%ld", (long)read(many[n - 1][0], bytes, 8));
    }
    fd_set set;
    FD_ZERO(&set);
    FD_SET(many[0][0], &set);
    pthread_create(&thread, NULL, rings, &many[0][1]);
    SAY("%d", select(FD_SETSIZE, &set, NULL, NULL, NULL));
    SAY("%d", FD_ISSET(many[0][0], &set) != 0);
    pthread_join(thread, NULL);
    SAY("%ld", (long)read(many[0][0], bytes, 8));
    struct timeval brief = {.tv_usec = 10000};
    SAY("%d", select(many[0][0] + 1, &set, NULL, NULL, &brief));
    SAY("%d", FD_ISSET(many[0][0], &set) != 0);
    int all = epoll_create1(0), event = eventfd(0, 0);
    struct epoll_event told = {.events = EPOLLIN, .data.u32 = 77};
    TELL_ERRNO(epoll_ctl(all, EPOLL_CTL_ADD, event, &told));
    SAY("%d", epoll_wait(all, &told, 1, 10));
    pthread_create(&thread, NULL, rings, &event);
    SAY("%d", epoll_wait(all, &told, 1, -1));
    SAY("%d", told.data.u32);
    pthread_join(thread, NULL);
    SAY("%ld", (long)read(event, bytes, 8));
    TELL_ERRNO(epoll_wait(1000, &told, 1, 10) < 0 ? -1 : 0);
    close(all), close(event);
}

static void *waits_for_child(void *child) {
    int status;
    MUST(waitpid((pid_t)(intptr_t)child, &status, 0) == (pid_t)(intptr_t)child);
    return (void *)(intptr_t)WEXITSTATUS(status);
}

static void children(void) {
    pthread_t threads[4];
    void *result;
    for (int n = 0; n < 4; n++) {
        pid_t child = fork();
        if (child == 0) {
            usleep(1000);
            _exit(n + 1);
        }
        pthread_create(&threads[n], NULL, waits_for_child, (void *)(intptr_t)child);
    }
    for (int n = 0; n < 4; n++) {
        pthread_join(threads[n], &result);
        SAY("child %d", (int)(intptr_t)result);
    }
    SAY("%d", system("exit 3") >> 8);
    TELL_ERRNO(waitpid(-1, NULL, WNOHANG) < 0 ? -1 : 0);
    FILE *file = tmpfile();
    TELL_ERRNO(flock(fileno(file), LOCK_EX));
    TELL_ERRNO(flock(fileno(file), LOCK_UN));
    struct flock lock = {.l_type = F_WRLCK};
    TELL_ERRNO(fcntl(fileno(file), F_SETLKW, &lock));
    TELL_ERRNO(fsync(fileno(file)));
    fclose(file);
    // A child of a program with threads has threads, too.
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pipes();
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    SAY("%d", status);
}

// What a descriptor is not for is refused at once.
static void wrong_ends(void) {
    int ends[2];
    char byte = 0;
    MUST(pipe(ends) == 0);
    TELL_ERRNO(write(ends[0], &byte, 1) < 0 ? -1 : 0);
    TELL_ERRNO(read(ends[1], &byte, 1) < 0 ? -1 : 0);
    close(ends[0]);
    close(ends[1]);
    // Not one of those just closed: a thread beside this one may have opened something of that number.
    TELL_ERRNO(read(1 << 20, &byte, 1) < 0 ? -1 : 0);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    wrong_ends();
    pipes();
    sockets();
    polls();
    children();
    return 0;
}
