/* The memory manager: blocks of each kind, refusals, options, figures, from threads of both sorts. */
#include "check.h"
#include <errno.h>
#include <pthread.h>

enum { BLOCKS = 2000 };

static void *blocks[BLOCKS];

static void *fills(void *arg)
{
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = (size_t)i * 37 % 5000 + 1;
        unsigned char *block = raddle_malloc(size);
        CHECK(block && raddle_usable_size(block) >= size);
        memset(block, i & 255, size);
        blocks[i] = block;
    }
    OK(raddle_memory_rest());
    return arg;
}

static void *frees(void *arg)
{
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(*(unsigned char *)blocks[i] == (i & 255));
        raddle_free(blocks[i]);
    }
    return arg;
}

int main(void)
{
    pthread_t other;
    char *json = NULL;
    volatile size_t most = SIZE_MAX;
    begin();
    fills(NULL);
    CHECK(!pthread_create(&other, NULL, frees, NULL) && !pthread_join(other, NULL));
    OK(raddle_run(fills, NULL, NULL));
    frees(NULL);
    unsigned char *zeroes = raddle_calloc(100, 30);
    for (int i = 0; i < 3000; i++)
        CHECK(!zeroes[i]);
    zeroes = raddle_realloc(zeroes, 300000);
    CHECK(zeroes && !zeroes[2999]);
    raddle_free(zeroes);
    void *aligned = raddle_aligned_alloc(4096, 100);
    CHECK(aligned && (uintptr_t)aligned % 4096 == 0);
    raddle_free(aligned), raddle_free(NULL), raddle_free(raddle_realloc(NULL, 5));
    CHECK(raddle_usable_size(NULL) == 0);
    errno = 0;
    CHECK(!raddle_malloc(most) && errno == ENOMEM);
    CHECK(!raddle_calloc(most / 2, 3) && !raddle_aligned_alloc(48, 10));
    CHECK(raddle_memory_options("decay=500") == RADDLE_OK);
    CHECK(raddle_memory_options("speed=11") == RADDLE_ESETTING && strstr(raddle_last_error(), "allowed: decay"));
    CHECK(raddle_memory_options(NULL) == RADDLE_EINVAL && raddle_memory_stats(NULL) == RADDLE_EINVAL);
    raddle_memory_purge();
    OK(raddle_memory_stats(&json));
    CHECK(json && strstr(json, "\"mapped_bytes\": "));
    free(json);
    return well();
}
