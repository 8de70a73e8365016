// There is no memory any more: to make a block smaller is not refused, and a program that gives some back goes on.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *blocks[100000];

static int fill(int count, size_t size) {
    while (count < 100000 && (blocks[count] = malloc(size))) count++;
    assert(errno == ENOMEM);
    return count;
}

int main(void) {
    char *small = malloc(60000), *run = malloc(10 << 20), *mapping = malloc(100 << 20);
    memset(small, 3, 60000), memset(run, 4, 10 << 20), mapping[0] = 5;
    // A part of another mapping's: the kernel refuses to move both at once.
    char *split = malloc(20 << 20);
    for (size_t at = 0; at < 20 << 20; at += 4096) split[at] = (char)(at >> 12);
    char *part = (char *)(((size_t)split + (8 << 20)) & ~4095ul);
    assert(!madvise(part, 1 << 20, MADV_DONTFORK));
    split = realloc(split, 60 << 20);
    assert(split);
    for (size_t at = 0; at < 20 << 20; at += 4096) assert(split[at] == (char)(at >> 12));
    free(split);

    int count = fill(fill(0, 60000), 1000);
    assert(count > 1000);
    small = realloc(small, 1000), run = realloc(run, 2000), mapping = realloc(mapping, 3000);
    assert(small && run && mapping && small[999] == 3 && run[1999] == 4 && mapping[0] == 5);
    assert(!realloc(run, 200 << 20) && errno == ENOMEM && run[1999] == 4);
    while (count > 0) free(blocks[--count]);
    free(small), free(run), free(mapping);
    assert((run = malloc(10 << 20)));
    return 0;
}
