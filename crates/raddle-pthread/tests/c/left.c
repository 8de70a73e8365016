// `main` leaves before the others: it is joined, and the program ends behind the last destructor.
#include "check.h"

static pthread_t first;
static pthread_key_t key;

static void says(void *word) {
    intptr_t round = (intptr_t)word;
    usleep(20000);
    SAY("destructor %ld", (long)round);
    if (round < 3) pthread_setspecific(key, (void *)(round + 1));
}

static void *joins_main(void *nothing) {
    void *result;
    TELL(pthread_join(first, &result));
    SAY("main: %ld", (long)(intptr_t)result);
    pthread_setspecific(key, (void *)1);
    return nothing;
}

int main(void) {
    first = pthread_self();
    pthread_key_create(&key, says);
    pthread_t thread;
    pthread_create(&thread, NULL, joins_main, NULL);
    pthread_exit((void *)7);
}
