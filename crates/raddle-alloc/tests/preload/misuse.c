// What the hardened mode has to notice, one at a time.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    assert(count == 2);
    char *volatile block = malloc(100), *volatile other = malloc(100), *volatile large = malloc(200000);
    memset(block, 1, 100), memset(large, 1, 200000);
    if (!strcmp(arguments[1], "nothing")) {
        for (int round = 0; round < 2000; round++) {
            char *some = calloc(1, (size_t)round * 50 + 1);
            some = realloc(some, (size_t)round * 30 + 1);
            assert(!some[0]);
            free(some);
        }
    } else if (!strcmp(arguments[1], "twice")) {
        free(block), free(other), free(block);
    } else if (!strcmp(arguments[1], "large twice")) {
        free(large), free(large);
    } else if (!strcmp(arguments[1], "middle")) {
        free(block + 16);
    } else if (!strcmp(arguments[1], "foreign")) {
        char *volatile foreign = (char *)&arguments;
        free(foreign);
    } else if (!strcmp(arguments[1], "after")) {
        free(block);
        block[50] = 2;
        for (int round = 0; round < 10000; round++) (void)!malloc(100);
    } else if (!strcmp(arguments[1], "beyond")) {
        large[4 * 65536] = 1;
    }
    free(block), free(other), free(large);
    return 0;
}
