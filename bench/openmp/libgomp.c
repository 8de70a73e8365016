// What OpenMP's constructs cost, on whatever library stands behind them. README.md says how it is called by hand.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../pthreads/measure.h"

static long threads, times;

// A count of each thread's, on lines of its own.
static struct { long count; char rest[120]; } counts[256];

static void count(void) {
    counts[omp_get_thread_num()].count++;
}

static unsigned long counted(void) {
    unsigned long sum = 0;
    for (int at = 0; at < 256; at++) sum += counts[at].count, counts[at].count = 0;
    return sum;
}

static struct found since(double begin, unsigned long checksum) {
    return (struct found){(now_ns() - begin) / times, checksum};
}

static struct found regions(void) {
    double begin = now_ns();
    for (long at = 0; at < times; at++) {
#pragma omp parallel num_threads(threads)
        count();
    }
    return since(begin, counted() / threads);
}

static struct found barriers(void) {
    double begin = now_ns();
#pragma omp parallel num_threads(threads)
    for (long at = 0; at < times; at++) {
        count();
#pragma omp barrier
    }
    return since(begin, counted() / threads);
}

static struct found loops(void) {
    double begin = now_ns();
#pragma omp parallel num_threads(threads)
    for (long at = 0; at < times; at++) {
#pragma omp for schedule(static)
        for (long each = 0; each < threads; each++) count();
    }
    return since(begin, counted() / threads);
}

static struct found iterations(void) {
    double begin = now_ns();
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (long at = 0; at < times; at++) count();
    return since(begin, counted());
}

static struct found nested(void) {
    static unsigned long sum;
    sum = 0;
    omp_set_max_active_levels(2);
    double begin = now_ns();
    for (long at = 0; at < times; at++) {
#pragma omp parallel num_threads(threads)
        {
            unsigned long inner = 0;
#pragma omp parallel num_threads(threads) reduction(+ : inner)
            inner++;
#pragma omp atomic
            sum += inner;
        }
    }
    return since(begin, sum / (threads * threads));
}

static struct found tasks(void) {
    double begin = now_ns();
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (long at = 0; at < times; at++) {
#pragma omp task
        count();
    }
    return since(begin, counted());
}

static long fib(long n) {
    long one, two;
    if (n < 2) return n;
#pragma omp task shared(one)
    one = fib(n - 1);
    two = fib(n - 2);
#pragma omp taskwait
    return one + two;
}

static struct found fibs(void) {
    unsigned long sum = 0;
    long n = number("n");
    double begin = now_ns();
    for (long at = 0; at < times; at++) {
#pragma omp parallel num_threads(threads)
#pragma omp single
        sum += fib(n);
    }
    return since(begin, sum);
}

// Regions beside another program, which keeps a core busy.
static struct found beside(void) {
    pid_t neighbour = fork();
    must(neighbour >= 0, "no neighbour");
    if (neighbour == 0) {
        cpu_set_t first;
        CPU_ZERO(&first);
        CPU_SET(0, &first);
        sched_setaffinity(0, sizeof first, &first);
        alarm(60);
        for (;;) __asm__ volatile("");
    }
    usleep(20000);
    struct found found = is("construct", "barrier") ? barriers() : regions();
    kill(neighbour, SIGKILL);
    waitpid(neighbour, NULL, 0);
    return found;
}

static char own[4096];

// A process that has no region.
static struct found starts(void) {
    unsigned long done = 0;
    double begin = now_ns();
    for (long at = 0; at < times; at++) {
        pid_t child = vfork();
        if (child == 0) {
            execl(own, own, "--end", (char *)NULL);
            _exit(127);
        }
        int status = 1;
        must(waitpid(child, &status, 0) == child, "no child");
        done += status == 0;
    }
    return since(begin, done);
}

static const struct {
    const char *name;
    struct found (*measure)(void);
} all[] = {
    {"region", regions}, {"barrier", barriers}, {"loop", loops},     {"dynamic", iterations}, {"nested", nested},
    {"task", tasks},     {"fib", fibs},         {"beside", beside}, {"start", starts},
};

int main(int count, char **words) {
    long samples = 1;
    if (count == 2 && strcmp(words[1], "--end") == 0) return 0;
    for (int at = 1; at + 1 < count; at += 2) {
        if (strcmp(words[at], "--params") == 0) parameters = words[at + 1];
        if (strcmp(words[at], "--samples") == 0) samples = atol(words[at + 1]);
    }
    must(readlink("/proc/self/exe", own, sizeof own - 1) > 0, "own path");
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        if (!is("measure", all[at].name)) continue;
        threads = number("threads"), times = number("times");
        // The threads and their teams are made before the clock runs.
        if (!is("measure", "start")) {
            long asked = times;
            times = is("measure", "fib") ? 1 : asked / 10 + 1;
            all[at].measure();
            times = asked;
        }
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
