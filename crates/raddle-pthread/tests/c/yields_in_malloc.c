// As own_malloc.c, of an allocator that lets others run while it has its lock, and takes a second one.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static unsigned entries;

static void inside(void) {
    // The second lock is taken by others, too, without the first.
    pthread_mutex_lock(&second);
    unsigned entry = entries++;
    pthread_mutex_unlock(&second);
    if (entry % 4 == 0) sched_yield();
    if (entry % 64 == 0) usleep(50);
}

#define INSIDE() inside()
#include "own_malloc.c"
