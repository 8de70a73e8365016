// Two functions allocate: what one keeps stands in the profile, what the other frees was there once.
#include <stdlib.h>

static char *volatile some[1000];

__attribute__((noinline)) void keeps(size_t size) {
    char *volatile block = malloc(size);
    block[0] = 1;
}

__attribute__((noinline)) void frees(size_t size) {
    for (int at = 0; at < 1000; at++) some[at] = malloc(size);
    for (int at = 0; at < 1000; at++) free(some[at]);
}

int main(void) {
    char *volatile grows = malloc(10);
    for (int round = 0; round < 1000; round++) {
        keeps(1000), frees(1000), keeps(100000);
        grows = realloc(grows, (size_t)round * 20000 + 1);
    }
    free(grows);
    return 0;
}
