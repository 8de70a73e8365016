// A program that starts another one, which may be traced as well.
#include "check.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int main(int number, char **words) {
    if (number > 1) return 0;
    char *others[] = {words[0], "child", NULL};
    pid_t child;
    MUST(posix_spawn(&child, words[0], NULL, NULL, others, environ) == 0);
    int status;
    MUST(waitpid(child, &status, 0) == child);
    SAY("the child has ended with %d", status);
    return 0;
}
