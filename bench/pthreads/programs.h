// What is measured from outside: the program under test is a process of its own, its clock is here, in a process that
// never runs on the library.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

// The library that the program under test is to have, if any.
static const char *preloaded;

// Starts a program; what it says goes nowhere.
static pid_t start(char *const *words) {
    pid_t child = fork();
    if (child != 0) return child;
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    if (preloaded) setenv("LD_PRELOAD", preloaded, 1);
    execvp(words[0], words);
    _exit(127);
}

// Waits for its end, and says how it was: 127 if there is no such program.
static int end_of(pid_t child) {
    int status = 0;
    must(child > 0 && waitpid(child, &status, 0) == child, "no child");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void ends_well(char *const *words) {
    int code = end_of(start(words));
    if (code != 0) fprintf(stderr, "%s ended with %d\n", words[0], code), exit(1);
}

// Starts and ends of a program that makes no thread.
static struct found starts(long times) {
    char *words[] = {"/bin/true", NULL};
    double begin = now_ns();
    for (long at = 0; at < times; at++) ends_well(words);
    return (struct found){(now_ns() - begin) / times, times};
}

static char compressed[] = "/tmp/raddle-lab-XXXXXX";

static void remove_compressed(void) {
    unlink(compressed);
}

// A file of lines that compress, 12 MB: also 80 pictures of x264's.
static void make_compressed(void) {
    FILE *out = fdopen(mkstemp(compressed), "w");
    must(out != NULL, compressed);
    atexit(remove_compressed);
    unsigned long state = 1;
    for (long line = 0; line < 800000; line++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        fprintf(out, "%ld %lx\n", line, state >> 36);
    }
    must(fclose(out) == 0, compressed);
}

// A program that computes on two threads.
static struct found computes(void) {
    static int is_made;
    if (!is_made) make_compressed();
    is_made = 1;
    char *pigz[] = {"pigz", "-p2", "-n", "-c", compressed, NULL};
    char *xz[] = {"xz", "-T2", "-0", "-c", compressed, NULL};
    char *x264[] = {"x264", "--quiet", "--threads", "2", "--input-res", "352x288", "--input-csp", "i420", "--demuxer",
                    "raw", "--muxer", "raw", "--frames", "40", "-o", "/dev/null", compressed, NULL};
    double begin = now_ns();
    ends_well(is("program", "pigz") ? pigz : is("program", "xz") ? xz : x264);
    return (struct found){now_ns() - begin, 1};
}
