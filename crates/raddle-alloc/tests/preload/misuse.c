// What the hardened mode has to notice, one at a time.
#define _GNU_SOURCE
#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MEBIBYTE = 1 << 20 };

static void again(void) {
    for (int round = 0; round < 10000; round++) (void)!malloc(100);
}

// Pointers that the allocator has not given out, or not so.
static int foreign(const char *kind, char *block, char *large) {
    char *volatile mapping = malloc(20 * MEBIBYTE);
    char *hole = mmap(0, 64 * MEBIBYTE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *volatile wrong = (char *)&mapping;
    assert(mapping && hole != MAP_FAILED);
    if (!strcmp(kind, "stack")) free(wrong);
    else if (!strcmp(kind, "hole")) free(hole + 40 * MEBIBYTE);
    else if (!strcmp(kind, "middle")) free(block + 16);
    else if (!strcmp(kind, "middle of a run")) free(large + 65536);
    else if (!strcmp(kind, "middle of a mapping")) free(mapping + 4096);
    else if (!strcmp(kind, "size of the stack's")) return malloc_usable_size(wrong) > 0;
    else if (!strcmp(kind, "grow the middle")) return !realloc(large + 65536, 10);
    return 0;
}

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
        for (size_t size = 20 * MEBIBYTE; size < 80 * MEBIBYTE; size += 12 * MEBIBYTE + 1) {
            char *some = calloc(1, size);
            assert(!some[size - 1]);
            some[size - 1] = 1;
            some = realloc(some, size * 2);
            assert(some[size - 1] == 1 && malloc_usable_size(some) >= size * 2);
            some[size * 2 - 1] = 1;
            some = realloc(some, size);
            assert(some[size - 1] == 1);
            free(some);
        }
    } else if (!strcmp(arguments[1], "twice")) {
        free(block), free(other), free(block);
    } else if (!strcmp(arguments[1], "large twice")) {
        free(large), free(large);
    } else if (!strcmp(arguments[1], "after")) {
        free(block);
        block[50] = 2;
        again();
    } else if (!strcmp(arguments[1], "link")) {
        free(block);
        *(char **)block = block;
        again();
    } else if (!strcmp(arguments[1], "grow")) {
        free(block);
        block = realloc(block, 90);
    } else if (!strcmp(arguments[1], "beyond")) {
        large[4 * 65536] = 1;
    } else if (!strcmp(arguments[1], "beyond a mapping")) {
        char *volatile mapping = malloc(20 * MEBIBYTE);
        char *end = mapping + malloc_usable_size(mapping);
        // Whatever the kernel has put there, or nothing.
        mmap(end, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        *end = 1;
    } else {
        return foreign(arguments[1], block, large);
    }
    free(block), free(other), free(large);
    return 0;
}
