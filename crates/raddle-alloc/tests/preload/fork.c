// A program with threads in malloc forks; each child, and the parent, goes on to allocate and to start threads.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int over;

static void *works(void *argument) {
    unsigned seed = (unsigned)(size_t)argument;
    void *kept[64] = {0};
    for (int round = 0; argument ? !atomic_load(&over) : round < 1000; round++) {
        seed = seed * 1103515245 + 12345;
        int place = seed >> 16 & 63;
        free(kept[place]);
        assert((kept[place] = malloc(seed >> 8 & 4095)));
    }
    for (int place = 0; place < 64; place++) free(kept[place]);
    return NULL;
}

int main(void) {
    pthread_t threads[3], inner;
    for (size_t number = 0; number < 3; number++)
        assert(!pthread_create(&threads[number], NULL, works, (void *)(number + 1)));
    for (int round = 0; round < 40; round++) {
        works(NULL);
        pid_t child = fork();
        assert(child >= 0);
        if (!child) {
            works(NULL);
            assert(!pthread_create(&inner, NULL, works, NULL) && !pthread_join(inner, NULL));
            _exit(0);
        }
        int status;
        assert(waitpid(child, &status, 0) == child && status == 0);
    }
    atomic_store(&over, 1);
    for (int number = 0; number < 3; number++) pthread_join(threads[number], NULL);
    return 0;
}
