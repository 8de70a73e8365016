// Servers under load: the server is the program under test; one thread here asks by so many connections at once.
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "programs.h"

enum { REQUEST = 64 };

// A listener at a free port of this machine.
static int listens(struct sockaddr_in *place) {
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof *place;
    *place = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    must(!bind(listener, (struct sockaddr *)place, sizeof *place) && !listen(listener, 1024), "no listener");
    must(!getsockname(listener, (struct sockaddr *)place, &length), "no port");
    return listener;
}

// Waits for a server that has just been started.
static int connected(const struct sockaddr_in *place) {
    for (int attempt = 0; attempt < 5000; attempt++) {
        int yes = 1, peer = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (connect(peer, (const struct sockaddr *)place, sizeof *place) == 0) return peer;
        close(peer);
        usleep(1000);
    }
    must(0, "no server");
    return -1;
}

// The server's thread for one request.
static void *serves(void *argument) {
    int peer = (int)(long)argument;
    char request[REQUEST];
    if (recv(peer, request, REQUEST, MSG_WAITALL) == REQUEST) {
        request[0]++;
        (void)!write(peer, request, REQUEST);
    }
    // The client has closed when this ends.
    (void)!read(peer, request, 1);
    close(peer);
    return NULL;
}

// The server: a thread for each request, which is a connection.
_Noreturn static void serve(int listener) {
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (;;) {
        pthread_t thread;
        int peer = accept(listener, NULL, NULL);
        must(peer >= 0 && !pthread_create(&thread, &detached, serves, (void *)(long)peer), "no peer");
    }
}

static int asks(const struct sockaddr_in *place) {
    static const char request[REQUEST] = "a";
    int peer = connected(place);
    must(write(peer, request, REQUEST) == REQUEST, "request");
    return peer;
}

// Reads the answer, and leaves no connection that the system has to remember.
static int is_answered(int peer) {
    char answer[REQUEST] = "";
    struct linger at_once = {1, 0};
    int well = recv(peer, answer, REQUEST, MSG_WAITALL) == REQUEST && answer[0] == 'b';
    setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(peer);
    return well;
}

static struct found thread_a_request(const char *own, long times) {
    long connections = number("connections"), begun = 0, answered = 0;
    struct sockaddr_in place;
    char listener[16];
    struct pollfd all[connections];
    snprintf(listener, sizeof listener, "%d", listens(&place));
    pid_t server = start((char *[]){(char *)own, "--serve", listener, NULL});
    is_answered(asks(&place));
    double begin = now_ns();
    for (; begun < connections; begun++) all[begun] = (struct pollfd){asks(&place), POLLIN, 0};
    for (long ended = 0; ended < times;) {
        must(poll(all, connections, 10000) > 0, "no answer in 10 s");
        for (long at = 0; at < connections; at++) {
            if (!all[at].revents) continue;
            answered += is_answered(all[at].fd);
            ended++;
            all[at].fd = begun < times ? begun++, asks(&place) : -1;
            all[at].revents = 0;
        }
    }
    double took = now_ns() - begin;
    kill(server, SIGKILL);
    end_of(server);
    close(atoi(listener));
    return (struct found){took / times, answered};
}

enum { VALUE = 100 };

// Asks for a value that is there; one time in ten sets it.
static void asks_memcached(int peer, long turn, long key) {
    char request[256];
    int length = turn % 10 ? sprintf(request, "get key%ld\r\n", key)
                           : sprintf(request, "set key%ld 0 0 %d\r\n%0*ld\r\n", key, VALUE, VALUE, key);
    must(write(peer, request, length) == length, "request");
}

// Answers are short, and arrive whole but for the rarest; then the rest is waited for.
static int memcached_answers(int peer, long key) {
    char answer[512], wanted[256];
    int has = 0, stored = 0;
    sprintf(wanted, "VALUE key%ld 0 %d\r\n%0*ld\r\nEND\r\n", key, VALUE, VALUE, key);
    do {
        int more = recv(peer, answer + has, sizeof answer - 1 - has, 0);
        must(more > 0, "memcached has gone");
        answer[has += more] = 0;
        stored = !strcmp(answer, "STORED\r\n");
    } while (!stored && strncmp(answer + has - 5, "END\r\n", 5));
    return stored || !strcmp(answer, wanted);
}

static struct found memcached(long times) {
    long connections = number("connections"), begun = 0, right = 0;
    struct sockaddr_in place;
    struct pollfd all[connections];
    char port[16];
    close(listens(&place));
    snprintf(port, sizeof port, "%d", ntohs(place.sin_port));
    pid_t server = start((char *[]){"memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", port, "-U", "0", "-t", "2",
                                    NULL});
    for (long at = 0; at < connections; at++) {
        all[at] = (struct pollfd){connected(&place), POLLIN, 0};
        asks_memcached(all[at].fd, 0, at);
        must(memcached_answers(all[at].fd, at), "a set");
    }
    double begin = now_ns();
    for (; begun < connections; begun++) asks_memcached(all[begun].fd, begun, begun);
    for (long ended = 0; ended < times;) {
        must(poll(all, connections, 10000) > 0, "no answer in 10 s");
        for (long at = 0; at < connections; at++) {
            if (!all[at].revents) continue;
            right += memcached_answers(all[at].fd, at);
            ended++;
            if (begun < times) asks_memcached(all[at].fd, begun++, at);
        }
    }
    double took = now_ns() - begin;
    for (long at = 0; at < connections; at++) close(all[at].fd);
    kill(server, SIGTERM);
    end_of(server);
    return (struct found){took / times, right};
}
