// What programs do to an allocator at bad moments. The argument says which.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[256];

static void replace(unsigned *seed, unsigned most) {
    *seed = *seed * 1103515245 + 12345;
    unsigned place = *seed >> 16 & 255, size = *seed >> 8 & most;
    char *block = malloc(size), *old = kept[place];
    memset(block, 1, size);
    kept[place] = block;
    free(old);
}

static void alarms(void (*handler)(int), int flags, int each_us) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    struct itimerval timer = {{0, each_us}, {0, each_us}};
    assert(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &timer, NULL));
}

// A handler leaves `malloc` by a jump, for good: the heap is not to be used any more, and the thread goes on.
static sigjmp_buf back;
static volatile int jumps, may_jump;

static void jumps_back(int number) {
    (void)number;
    if (!may_jump) return;
    may_jump = 0, jumps++;
    siglongjmp(back, 1);
}

static void jump(void) {
    static unsigned seed = 1;
    alarms(jumps_back, SA_NODEFER, 300);
    sigsetjmp(back, 1);
    may_jump = 1;
    while (jumps < 300) replace(&seed, 8191);
}

// Destructors allocate, in each round that there is, with all keys taken.
static pthread_key_t keys[1100];
static int key_count;

static void ends(void *value) {
    size_t round = (size_t)value;
    free(memset(malloc(round * 100), 1, round * 100));
    free(calloc(1, 3000000));
    if (round < 4) pthread_setspecific(keys[round], (void *)(round + 1));
}

static void *has_keys(void *argument) {
    for (int number = 0; number < key_count; number++) pthread_setspecific(keys[number], (void *)1);
    (void)argument;
    return malloc(77);
}

static void destructors(void) {
    while (key_count < 1100 && !pthread_key_create(&keys[key_count], ends)) key_count++;
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        void *block;
        assert(!pthread_create(&thread, NULL, has_keys, NULL) && !pthread_join(thread, &block) && block);
        free(block);
    }
}

// Handlers on a stack of two pages allocate, and fork.
static volatile int signals;

static void allocates(int number) {
    int error = errno;
    (void)number;
    signals++;
    free(malloc(signals % 3000));
    if (signals % 50 == 0) free(malloc(20 << 20));
    if (signals % 100 == 0) {
        pid_t child = fork();
        if (!child) free(malloc(100)), _exit(0);
        waitpid(child, NULL, 0);
    }
    errno = error;
}

static void small_stack(void) {
    unsigned seed = 7;
    stack_t stack = {.ss_size = 16384, .ss_sp = malloc(16384)};
    assert(!sigaltstack(&stack, NULL));
    alarms(allocates, SA_ONSTACK | SA_RESTART, 300);
    while (signals < 600) replace(&seed, 16383);
}

// Sizes and alignments that nobody can have, and those that are odd.
static void odd(void) {
    volatile size_t most = SIZE_MAX;
    for (int shift = 3; shift < 47; shift++)
        for (size_t size = 1; size <= 1 << 20; size *= 32) {
            void *block = NULL;
            int refused = posix_memalign(&block, (size_t)1 << shift, size);
            assert(refused == 0 || refused == ENOMEM);
            assert((uintptr_t)block % ((size_t)1 << shift) == 0);
            if (block) memset(block, 1, malloc_usable_size(block));
            free(block);
        }
    assert(!memalign(most, 1) && !memalign((size_t)1 << 63, 8) && !aligned_alloc(0, 8));
    assert(!aligned_alloc(3, 8) && errno == EINVAL);
    void *block = memalign(0, 10);
    assert(block), free(block);
    assert((block = pvalloc(0))), free(block);
    errno = 0;
    assert(!pvalloc(most) && errno == ENOMEM && !valloc(most - 4000));
    for (int shift = 0; shift < 20; shift++) {
        char *text = strdup("as it was");
        assert(!realloc(text, most - ((size_t)1 << shift) + 1) && !strcmp(text, "as it was"));
        free(text);
        char *large = memset(malloc(20 << 20), 3, 20 << 20);
        assert(!realloc(large, most - ((size_t)1 << shift) + 1) && large[(20 << 20) - 1] == 3);
        free(large);
    }
}

// The names that glibc has beside the usual ones.
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_memalign(size_t, size_t);
void *__libc_realloc(void *, size_t), __libc_free(void *);

static void names(void) {
    free(__libc_malloc(10)), free(__libc_calloc(10, 10)), free(__libc_memalign(64, 100));
    __libc_free(malloc(30));
    free(__libc_realloc(malloc(10), 1000));
    struct mallinfo2 before = mallinfo2();
    void *block = malloc(5 << 20);
    struct mallinfo2 after = mallinfo2();
    assert(before.arena >= 32 << 20 && after.uordblks >= before.uordblks + (5 << 20));
    assert((size_t)mallinfo().arena == after.arena);
    free(block);
}

static void twice(void) {
    char *volatile block = malloc(50);
    free(block), free(block);
    void *blocks[3000];
    for (int number = 0; number < 3000; number++) blocks[number] = malloc(50);
    for (int number = 0; number < 3000; number++) free(blocks[number]);
}

int main(int count, char **arguments) {
    assert(count == 2);
    const char *kind = arguments[1];
    if (!strcmp(kind, "jump")) jump();
    else if (!strcmp(kind, "destructors")) destructors();
    else if (!strcmp(kind, "small stack")) small_stack();
    else if (!strcmp(kind, "odd")) odd();
    else if (!strcmp(kind, "names")) names();
    else if (!strcmp(kind, "twice")) twice();
    else if (!strcmp(kind, "rights")) return getauxval(AT_SECURE) ? 0 : 3;
    _exit(0);
}
