// Opens a library that has an allocator of its own, has threads work there, closes it, and ends the threads.
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static void *library;
static pthread_barrier_t barrier;

static void *work(void *nothing) {
    size_t (*works)(void) = (size_t (*)(void))dlsym(library, "raddle_closed_work");
    assert(works && works() == 2890);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return nothing;
}

int main(int count, char **arguments) {
    assert(count == 2);
    for (int round = 0; round < 20; round++) {
        pthread_t threads[3];
        assert(!pthread_barrier_init(&barrier, NULL, 4));
        assert((library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL)));
        for (int n = 0; n < 3; n++) assert(!pthread_create(&threads[n], NULL, work, NULL));
        pthread_barrier_wait(&barrier);
        assert(!dlclose(library));
        pthread_barrier_wait(&barrier);
        for (int n = 0; n < 3; n++) assert(!pthread_join(threads[n], NULL));
        pthread_barrier_destroy(&barrier);
    }
    return 0;
}
