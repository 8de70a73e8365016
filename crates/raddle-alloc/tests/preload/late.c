// The library is loaded late, and closed: threads that had heaps of it end afterwards.
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static void *(*late_malloc)(size_t);
static void (*late_free)(void *);
static pthread_barrier_t barrier;

static void *works(void *argument) {
    (void)argument;
    for (int round = 0; round < 1000; round++) late_free(late_malloc((size_t)round));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

int main(int count, char **arguments) {
    assert(count == 2);
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    assert(library);
    *(void **)&late_malloc = dlsym(library, "malloc");
    *(void **)&late_free = dlsym(library, "free");
    assert(late_malloc && late_free && late_malloc != malloc);
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    assert(!pthread_create(&thread, NULL, works, NULL));
    pthread_barrier_wait(&barrier);
    assert(!dlclose(library));
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    return 0;
}
