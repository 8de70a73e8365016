// Children: how they are started and waited for, by threads, and what is refused.
#include "check.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;
static char *shell[] = {"sh", "-c", "exit $CODE", NULL};
static char *with_code[] = {"CODE=7", "PATH=/bin:/usr/bin", NULL};

// Which of the calls a child makes to become another program.
static void becomes(int way) {
    int file = open("/bin/sh", O_RDONLY | O_CLOEXEC);
    environ = with_code;
    switch (way) {
        case 0: execv("/bin/sh", shell);
        case 1: execve("/bin/sh", shell, with_code);
        case 2: execvp("sh", shell);
        case 3: execvpe("sh", shell, with_code);
        case 4: fexecve(file, shell, with_code);
        case 5: execl("/bin/sh", "sh", "-c", "exit 7", NULL);
    }
    _exit(99);
}

static pid_t child(int way) {
    pid_t made = fork();
    if (made == 0) becomes(way);
    return made;
}

static void *starts(void *way) {
    int status = 0;
    pid_t made = child((int)(intptr_t)way);
    MUST(waitpid(made, &status, 0) == made);
    return (void *)(intptr_t)WEXITSTATUS(status);
}

static void becoming(void) {
    pthread_t threads[6];
    void *code;
    for (intptr_t way = 0; way < 6; way++) pthread_create(&threads[way], NULL, starts, (void *)way);
    for (int way = 0; way < 6; way++) {
        pthread_join(threads[way], &code);
        SAY("way %d: %d", way, (int)(intptr_t)code);
    }
    TELL_ERRNO(execv("/no such program", shell));
    TELL_ERRNO(execve("/no such program", shell, with_code));
    TELL_ERRNO(execvp("no such program", shell));
    TELL_ERRNO(execvpe("no such program", shell, with_code));
    TELL_ERRNO(fexecve(-1, shell, with_code));
    TELL_ERRNO(execv("/etc/passwd", shell));
}

static void *waits_one(void *way) {
    struct rusage used = {0};
    siginfo_t info = {0};
    int status = 0;
    switch ((int)(intptr_t)way) {
        case 0: MUST(wait(&status) > 0); break;
        case 1: MUST(wait3(&status, 0, &used) > 0); break;
        case 2: MUST(wait4(-1, &status, 0, &used) > 0); break;
        case 3: MUST(waitid(P_ALL, 0, &info, WEXITED) == 0);
                MUST(info.si_code == CLD_EXITED && info.si_status == 7);
                status = info.si_status << 8;
    }
    return (void *)(intptr_t)WEXITSTATUS(status);
}

static void waiting(void) {
    struct rusage used;
    siginfo_t info = {0};
    pthread_t thread;
    void *code;
    for (intptr_t way = 0; way < 4; way++) {
        child(0);
        pthread_create(&thread, NULL, waits_one, (void *)way);
        pthread_join(thread, &code);
        SAY("wait %d: %d", (int)way, (int)(intptr_t)code);
    }
    TELL_ERRNO(wait(NULL));
    TELL_ERRNO(wait3(NULL, 0, &used));
    TELL_ERRNO(wait4(-1, NULL, 0, &used));
    TELL_ERRNO(wait4(getpid(), NULL, 0, NULL));
    TELL_ERRNO(wait4(-1, NULL, 12345, NULL));
    TELL_ERRNO(waitid(P_ALL, 0, &info, WEXITED));
    TELL_ERRNO(waitid(P_ALL, 0, &info, 0));
    TELL_ERRNO(waitid(77, 0, &info, WEXITED));
    int ends[2];
    char byte;
    MUST(pipe(ends) == 0);
    pid_t made = fork();
    if (made == 0) {
        MUST(read(ends[0], &byte, 1) == 1);
        _exit(3);
    }
    SAY("%d", wait4(made, NULL, WNOHANG, NULL));
    SAY("%d", wait3(NULL, WNOHANG, NULL));
    TELL_ERRNO(waitid(P_PID, made, &info, WEXITED | WNOHANG));
    MUST(write(ends[1], "a", 1) == 1);
    TELL_ERRNO(waitid(P_PID, made, &info, WEXITED | WNOWAIT));
    SAY("%d", info.si_status);
    SAY("%d", wait(NULL) == made);
}

static void *reads_stream(void *command) {
    char line[100] = "";
    FILE *stream = popen(command, "r");
    MUST(stream != NULL);
    (void)!fgets(line, sizeof line, stream);
    int status = pclose(stream);
    SAY("%s said %.4s and ended with %d", (char *)command, line, WEXITSTATUS(status));
    return NULL;
}

static void streams(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, reads_stream, "echo well; exit 5");
    pthread_join(thread, NULL);
    FILE *stream = popen("read line; exit $line", "w");
    fprintf(stream, "9\n");
    SAY("%d", WEXITSTATUS(pclose(stream)));
    TELL_ERRNO(popen("true", "wrong") == NULL ? -1 : 0);
    SAY("%d", WEXITSTATUS(system("exit 6")));
    SAY("%d", system(NULL) != 0);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    becoming();
    waiting();
    streams();
}
