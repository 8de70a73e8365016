/* What the programs of these tests share: checks that say where they fail, a watchdog. */
#ifndef CHECK_H
#define CHECK_H

#include <raddle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Minutes: it only ends what hangs. */
#define WATCHDOG_SECONDS 240

#define CHECK(what)                                                                     \
    do {                                                                                \
        if (!(what)) {                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);          \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

#define IS(expected, call)                                                              \
    do {                                                                                \
        int is_ = (call);                                                               \
        if (is_ != (expected)) {                                                        \
            fprintf(stderr, "%s:%d: %s is %s, not %s: %s\n", __FILE__, __LINE__, #call, \
                    raddle_errname(is_), raddle_errname(expected), raddle_last_error()); \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

#define OK(call) IS(RADDLE_OK, call)

static inline void begin(void)
{
    alarm(WATCHDOG_SECONDS);
}

static inline int well(void)
{
    puts("well");
    return 0;
}

#endif
