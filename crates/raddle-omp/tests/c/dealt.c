// Loops whose chunks may come in any order: each iteration runs once, and what the last one left is there behind them.
#include "check.h"
#include <string.h>

#define MOST 5000

static unsigned char done[MOST];
static volatile long sink;

static void work(int units) {
    for (int at = 0; at < units; at++) sink += at;
}

static void loop(int trip, int chunk, int threads, int heavy) {
    int last = -1, linear = 0;
    memset(done, 0, sizeof done);
#pragma omp parallel for schedule(nonmonotonic : dynamic, chunk) num_threads(threads) lastprivate(last) \
    linear(linear : 3)
    for (int at = 0; at < trip; at++) {
        // All that is dear stands in one member's share at first.
        if (at < trip / 4) work(heavy);
        __atomic_fetch_add(&done[at], 1, __ATOMIC_RELAXED);
        last = at;
        linear += 3;
    }
    for (int at = 0; at < trip; at++) CHECK(done[at] == 1);
    CHECK(trip == 0 || last == trip - 1);
    CHECK(linear == 3 * trip);
}

int main(void) {
    const int trips[] = {0, 1, 2, 3, 7, 64, 1000, MOST}, chunks[] = {1, 3, 16, 6000};
    for (int trip = 0; trip < 8; trip++)
        for (int chunk = 0; chunk < 4; chunk++)
            for (int threads = 1; threads <= 5; threads++) loop(trips[trip], chunks[chunk], threads, 50);
    for (int round = 0; round < 200; round++) loop(300, 1, 2, 200), loop(300, 2, 4, 0);
    // Two of them without a barrier between, again and again, and one that is left early.
    unsigned long sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    for (int round = 0; round < 100; round++) {
#pragma omp for schedule(nonmonotonic : dynamic) nowait
        for (int at = 0; at < 50; at++) sum += at;
#pragma omp for schedule(nonmonotonic : dynamic, 7) nowait
        for (long at = 100; at > 0; at -= 2) sum += at;
    }
    CHECK(sum == 100 * (1225 + 2550));
    printf("well\n");
    return 0;
}
