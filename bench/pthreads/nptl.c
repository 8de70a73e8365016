// What POSIX threads cost. `BENCH_PRELOAD` names the library on which they are to run; without it they are the C
// library's. README.md says how it is called by hand.
#define _GNU_SOURCE
#include <unistd.h>

#include "measure.h"
#include "programs.h"
#include "servers.h"
#include "waits.h"

static struct found starting(void) {
    return starts(times);
}

static char own[4096];

static struct found serving(void) {
    return thread_a_request(own, times);
}

static struct found asking_memcached(void) {
    return memcached(times);
}

static const struct {
    const char *name;
    struct found (*measure)(void);
    // Whether this process itself is what is measured.
    int is_inside;
} all[] = {
    {"create", create, 1},       {"condition", condition, 1}, {"barrier", meeting, 1}, {"contended", contended, 1},
    {"uncontended", uncontended, 1}, {"pipe", pipes, 1},      {"socket", sockets, 1},  {"alive", alive, 1},
    {"pipeline", pipeline, 1},   {"start", starting, 0},      {"compute", computes, 0}, {"server", serving, 0},
    {"memcached", asking_memcached, 0},
};

// Becomes itself with the library; the program that is started there does not ask again.
static void preload(char **words) {
    const char *library = preloaded;
    setenv("LD_PRELOAD", library, 1);
    unsetenv("BENCH_PRELOAD");
    execv(own, words);
    must(0, own);
}

int main(int count, char **words) {
    long samples = 1;
    if (count == 3 && strcmp(words[1], "--serve") == 0) serve(atoi(words[2]));
    for (int at = 1; at + 1 < count; at += 2) {
        if (strcmp(words[at], "--params") == 0) parameters = words[at + 1];
        if (strcmp(words[at], "--samples") == 0) samples = atol(words[at + 1]);
    }
    must(readlink("/proc/self/exe", own, sizeof own - 1) > 0, "own path");
    preloaded = getenv("BENCH_PRELOAD");
    signal(SIGPIPE, SIG_IGN);
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        if (!is("measure", all[at].name)) continue;
        if (preloaded && all[at].is_inside) preload(words);
        times = number("times");
        for (; samples > 0; samples--) {
            struct found found = all[at].measure();
            printf("{\"ns_per_op\":%.6g,\"checksum\":\"%lu\",\"extra\":{}}\n", found.figure, found.checksum);
            fflush(stdout);
        }
        return 0;
    }
    fprintf(stderr, "no measure of that name\n");
    return 1;
}
