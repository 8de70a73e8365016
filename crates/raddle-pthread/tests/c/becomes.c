// A program that becomes itself again and again, while its threads compute: no signal of ours is its end.
#include "check.h"

static volatile int over;

static void *computes(void *unused) {
    (void)unused;
    while (!over) continue;
    return NULL;
}

int main(int argc, char **argv) {
    int left = argc > 1 ? atoi(argv[1]) : 150;
    pthread_t all[3];
    for (int i = 0; i < 3; i++) MUST(pthread_create(&all[i], NULL, computes, NULL) == 0);
    for (volatile int i = 0; i < 300000; i++) continue;
    if (left > 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", left - 1);
        char *next[] = {argv[0], number, NULL};
        // One that fails first: all is as before then.
        MUST(execv("/nowhere", next) == -1 && errno == ENOENT);
        execv("/proc/self/exe", next);
        return 3;
    }
    over = 1;
    for (int i = 0; i < 3; i++) MUST(pthread_join(all[i], NULL) == 0);
    puts("has become itself");
    return 0;
}
