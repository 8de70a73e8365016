/* A `main` whose stack is as deep as the limit lets it be. */
#include "check.h"

static int deep(int n) {
    volatile char room[1 << 20];
    for (int k = 0; k < 1 << 20; k += 4096) room[k] = (char)n;
    int sum = n == 0 ? 0 : deep(n - 1);
    for (int k = 0; k < 1 << 20; k += 4096) CHECK(room[k] == (char)n);
    return sum + 1;
}

int main(int count, char **words) {
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += 1;
    CHECK(sum == 2);
    CHECK(deep(count > 1 ? atoi(words[1]) : 3) > 0);
#pragma omp parallel num_threads(2) reduction(+ : sum)
    sum += 1;
    CHECK(sum == 4);
    printf("well\n");
    return 0;
}
