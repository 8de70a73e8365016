/* A list whose nodes are pages of their own: who has taken one out frees it, and the kernel unmaps it, while others may
   still follow it. With "null", the program follows a null pointer itself, and ends as natively. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct node { struct node *next; long value; };
static struct node *head;
static int rounds;
static long taken[64];

static struct node *make(long value) {
    struct node *node = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    node->value = value;
    return node;
}

static void *works(void *argument) {
    long self = (long)argument;
    for (int i = 0; i < rounds; i++) {
        struct node *made = make(1), *out;
        __transaction_atomic {
            struct node **place = &head;
            for (int k = 0; *place && k < 20; k++) place = &(*place)->next;
            made->next = *place;
            *place = made;
        }
        long sum = 0;
        __transaction_atomic {
            sum = 0;
            for (struct node *node = head; node; node = node->next) sum += node->value;
        }
        __transaction_atomic {
            struct node **place = &head;
            for (int k = 0; (*place)->next && k < self; k++) place = &(*place)->next;
            out = *place;
            *place = out->next;
        }
        /* Nobody else has it now. */
        taken[self] += out->value;
        memset(out, 0xff, sizeof *out);
        munmap(out, 4096);
        char *block = 0;
        __transaction_atomic {
            block = malloc(200000);
            block[0] = 1;
            if (sum > 40) free(block);
        }
        if (sum <= 40) free(block);
    }
    return 0;
}

int main(int count, char **arguments) {
    if (strcmp(arguments[1], "null") == 0) {
        __transaction_atomic { head = head->next; }
        return 0;
    }
    int threads = atoi(arguments[1]);
    rounds = atoi(arguments[2]);
    pthread_t all[64];
    for (long i = 0; i < threads; i++) pthread_create(&all[i], 0, works, (void *)i);
    long sum = 0;
    for (int i = 0; i < threads; i++) pthread_join(all[i], 0), sum += taken[i];
    printf("%ld %s\n", sum, head ? "left" : "empty");
    return 0;
}
