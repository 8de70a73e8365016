/* Regions of two, with time between them in which the second member sleeps: each of both works for a while. */
#include "check.h"
#include <unistd.h>

static volatile long done[2];

int main(void) {
    for (int round = 0; round < 30; round++) {
        usleep(2000);
#pragma omp parallel num_threads(2)
        for (int at = 0; at < 300000; at++) done[omp_get_thread_num()]++;
    }
    CHECK(done[0] == 9000000 && done[1] == 9000000);
    printf("well\n");
    return 0;
}
