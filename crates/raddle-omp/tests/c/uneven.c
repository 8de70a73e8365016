// A planted imbalance: iterations that cost as much as their number says, shared out in equal halves. Beside it a
// region that is even, one with tasks, and one whose members meet at a barrier.
#include <omp.h>
#include <stdio.h>

static volatile double sink;

static void work(long units) {
    double sum = 0;
    for (long at = 0; at < units * 100; at++) sum += at * 1e-9;
    sink = sum;
}

static void even(void) {
#pragma omp parallel for schedule(static)
    for (int at = 0; at < 64; at++) work(20);
}

static void triangle(void) {
#pragma omp parallel for schedule(static)
    for (int at = 0; at < 64; at++) work(at * 10);
}

static void meet(void) {
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) work(500);
#pragma omp barrier
        if (omp_get_thread_num() == 1) work(500);
    }
}

static void tree(int depth) {
    work(20);
    if (depth == 0) return;
    for (int child = 0; child < 2; child++) {
#pragma omp task
        tree(depth - 1);
    }
#pragma omp taskwait
}

static void tasks(void) {
#pragma omp parallel
#pragma omp single
    tree(5);
}

int main(void) {
    for (int round = 0; round < 40; round++) {
        even();
        triangle();
        if (round % 10 == 0) meet(), tasks();
    }
    puts("well");
    return 0;
}
