// Linked against the library: its functions, and a word for each thread.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

int shared_run(int (*function)(void *), void *data);
void *shared_exchange(void *word);

static int on_its_stack(void *data) {
    char here;
    return (uintptr_t)&here - (uintptr_t)data > (1 << 16) || (uintptr_t)data - (uintptr_t)&here > (1 << 16) ? 7 : 8;
}

static void *thread(void *word) {
    if (shared_exchange(word)) return "a word before it was set";
    for (int i = 0; i < 1000; i++)
        if (shared_exchange(word) != word) return "another thread's word";
    return NULL;
}

int main(void) {
    char here;
    if (shared_run(on_its_stack, &here) != 7) return puts("not on a stack of its own"), 1;
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread, (void *)(i + 1));
    for (int i = 0; i < 4; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        if (complaint) return puts(complaint), 1;
    }
    return 0;
}
