// A program with an allocator of its own, whose lock is a mutex: what the runtime allocates must not wait for it.
#include "check.h"
#include <stdint.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *next_free, *end_of_block;
static volatile unsigned turns;

// What one does who holds the lock.
#ifndef INSIDE
#define INSIDE()
#endif

// Long enough for others to come meanwhile.
static void *take(size_t bytes, size_t alignment) {
    pthread_mutex_lock(&lock);
    for (int turn = 0; turn < 1000; turn++) turns++;
    INSIDE();
    if (alignment < 16) alignment = 16;
    uintptr_t place = ((uintptr_t)next_free + 16 + alignment - 1) / alignment * alignment;
    if (next_free == NULL || place + bytes > (uintptr_t)end_of_block) {
        size_t block = (bytes + alignment + (1 << 22)) / 4096 * 4096;
        char *fresh = mmap(NULL, block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED) abort();
        end_of_block = fresh + block;
        place = ((uintptr_t)fresh + 16 + alignment - 1) / alignment * alignment;
    }
    ((size_t *)place)[-1] = bytes;
    next_free = (char *)place + bytes;
    pthread_mutex_unlock(&lock);
    return (void *)place;
}

void *malloc(size_t bytes) { return take(bytes, 16); }

void free(void *place) {
    if (place == NULL) return;
    pthread_mutex_lock(&lock);
    for (int turn = 0; turn < 1000; turn++) turns++;
    INSIDE();
    pthread_mutex_unlock(&lock);
}

void *calloc(size_t number, size_t bytes) { return take(number * bytes, 16); }

void *memalign(size_t alignment, size_t bytes) { return take(bytes, alignment); }

void *aligned_alloc(size_t alignment, size_t bytes) { return take(bytes, alignment); }

int posix_memalign(void **place, size_t alignment, size_t bytes) {
    *place = take(bytes, alignment);
    return 0;
}

void *realloc(void *place, size_t bytes) {
    void *fresh = take(bytes, 16);
    if (place != NULL) {
        size_t before = ((size_t *)place)[-1];
        memcpy(fresh, place, before < bytes ? before : bytes);
    }
    return fresh;
}

static void *sleeps(void *number) {
    struct timespec time = {0, 20000 + 1000 * (long)number};
    for (int round = 0; round < 20; round++) {
        void *volatile some = malloc(100);
        nanosleep(&time, NULL);
        free(some);
    }
    return number;
}

static void *computes(void *number) {
    for (int round = 0; round < 100; round++) {
        void *volatile some = malloc(50);
        free(some);
    }
    return number;
}

static void *asks(void *unused) {
    char text[64];
    for (int round = 0; round < 10; round++) {
        int ends[2];
        MUST(pipe(ends) == 0);
        pthread_t reader;
        MUST(pthread_create(&reader, NULL, computes, NULL) == 0);
        MUST(write(ends[1], "word", 4) == 4);
        MUST(read(ends[0], text, sizeof text) == 4);
        FILE *file = tmpfile();
        MUST(fwrite(text, 1, 4, file) == 4);
        fsync(fileno(file));
        fclose(file);
        close(ends[0]);
        close(ends[1]);
        MUST(pthread_join(reader, NULL) == 0);
    }
    return NULL;
}

int main(void) {
    for (int round = 0; round < 5; round++) {
        pthread_t all[48];
        for (long at = 0; at < 48; at++) {
            void *(*body)(void *) = at % 3 == 0 ? sleeps : at % 3 == 1 ? computes : asks;
            MUST(pthread_create(&all[at], NULL, body, (void *)at) == 0);
        }
        for (int at = 0; at < 48; at++) MUST(pthread_join(all[at], NULL) == 0);
    }
    SAY("allocated");
    return 0;
}
