// Members that spin on a flag without any call, more of them than workers: the last one begins, and all wait for the
// first.
#include "check.h"
#include <omp.h>
#include <stdio.h>

enum { MEMBERS = 6, ROUNDS = 3 };

static volatile int passed[MEMBERS + 1];

int main(void) {
    for (int round = 0; round < ROUNDS; round++) {
        for (int at = 0; at < MEMBERS; at++) passed[at] = 0;
        passed[MEMBERS] = 1;
#pragma omp parallel num_threads(MEMBERS)
        {
            int me = omp_get_thread_num();
            CHECK(omp_get_num_threads() == MEMBERS);
            while (!passed[me + 1]) {}
            passed[me] = 1;
            while (!passed[0]) {}
        }
    }
    puts("well");
    return 0;
}
