// Small means of the test programs: what is told goes to standard output, and must be the same on both sides.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const char *name_of(int error) {
    const char *name = strerrorname_np(error);
    return name ? name : "?";
}

// What a call has returned: an error's name.
#define TELL(call) printf("%s: %s\n", #call, name_of(call))
// The same of one that sets errno.
#define TELL_ERRNO(call) printf("%s: %s\n", #call, (call) == 0 ? "0" : name_of(errno))
#define SAY(...) printf(__VA_ARGS__), printf("\n")

#define MUST(what) \
    do { \
        if (!(what)) { \
            printf("line %d: not so: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

static inline struct timespec after(clockid_t clock, long milliseconds) {
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_sec += milliseconds / 1000;
    at.tv_nsec += milliseconds % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

static inline struct timespec past(void) {
    return (struct timespec){.tv_sec = 1, .tv_nsec = 0};
}

static inline struct timespec no_time(void) {
    return (struct timespec){.tv_sec = 1, .tv_nsec = 1000000000};
}
