// Each function of C's interface, its alignments, its refusals, errno.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void is_aligned(void *block, size_t align) {
    assert(block && (uintptr_t)block % align == 0);
    memset(block, 1, malloc_usable_size(block));
    free(block);
}

int main(void) {
    assert(malloc_usable_size(malloc(17)) == 32); // glibc's has 24
    void *nothing = malloc(0), *another = malloc(0);
    assert(nothing && another && nothing != another);
    free(nothing), free(another), free(NULL);
    char *zeroes = calloc(100, 3);
    for (int at = 0; at < 300; at++) assert(!zeroes[at]);
    zeroes = realloc(zeroes, 100000);
    assert(zeroes && !zeroes[299]);
    assert(!realloc(zeroes, 0));
    assert(malloc_usable_size(NULL) == 0);
    for (size_t align = 16; align <= 1 << 21; align *= 2)
        for (size_t size = 1; size <= 1 << 22; size = size * 5 + 3) {
            void *block = NULL;
            is_aligned(memalign(align, size), align);
            is_aligned(aligned_alloc(align, size), align);
            assert(!posix_memalign(&block, align, size));
            is_aligned(block, align);
        }
    is_aligned(valloc(100), 4096), is_aligned(pvalloc(100), 4096);
    volatile size_t much = SIZE_MAX / 2;
    void *place = &much;
    errno = 0;
    assert(!malloc(much + 2) && errno == ENOMEM);
    errno = 0;
    assert(!calloc(much, 3) && errno == ENOMEM);
    errno = 0;
    assert(!reallocarray(NULL, much, 3) && errno == ENOMEM);
    assert(posix_memalign(&place, 24, 8) == EINVAL && posix_memalign(&place, 4, 8) == EINVAL && place == &much);
    assert(posix_memalign(&place, 64, much) == ENOMEM);
    errno = 7;
    for (int round = 0; round < 1000; round++) free(malloc((size_t)round * 1000));
    assert(errno == 7);
    malloc_trim(0);
    char *line = NULL;
    assert(asprintf(&line, "%d", 12345) == 5 && !strcmp(line, "12345"));
    free(line);
    free(strdup("x"));
    char *told = NULL;
    size_t length;
    FILE *out = open_memstream(&told, &length);
    errno = 0;
    assert(malloc_info(1, out) == -1 && errno == EINVAL);
    assert(!malloc_info(0, out) && !fclose(out));
    // glibc's own would know of nothing.
    assert(strstr(told, "<size from=\"32\"") && !strstr(told, "<system type=\"current\" size=\"0\"/>"));
    assert(!strcmp(told + length - 10, "</malloc>\n"));
    free(told);
    return 0;
}
