// Exceptions that are changed where they are caught, and transactions that begin anew while one is under way.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <pthread.h>

struct Large {
    long values[9];
};
static long a, b;
static int tries;
static void *blocks[64];
constexpr int SIZE = sizeof(Large) + 128;

__attribute__((transaction_safe, noinline)) static void throws() { throw Large(); }
__attribute__((transaction_safe, noinline)) static void sets(Large &large, long value) {
    for (long &one : large.values) one = value;
}
__attribute__((transaction_safe, noinline)) static void changes() {
    try {
        throws();
    } catch (Large &large) {
        sets(large, 0x4141414141414141);
        a = large.values[8];
    }
}
__attribute__((transaction_pure, noinline)) static void takes() {
    for (void *&block : blocks) {
        block = std::malloc(SIZE);
        std::memset(block, 0, SIZE);
    }
}

static void *adds(void *argument) {
    __transaction_atomic { a++; }
    return argument;
}
__attribute__((transaction_pure, noinline)) static void disturbs() {
    if (tries++ >= 3) return;
    pthread_t thread;
    pthread_create(&thread, nullptr, adds, nullptr);
    pthread_join(thread, nullptr);
}

struct Late {
    __attribute__((transaction_safe, noinline)) Late() {}
    __attribute__((transaction_safe, noinline)) ~Late() {
        disturbs();
        b = a + 1;
    }
};
__attribute__((transaction_safe, noinline)) static void passes() {
    Late late;
    if (a >= 0) throw 5;
}
__attribute__((transaction_safe, noinline)) static void catches() {
    try {
        passes();
    } catch (int n) {
        b += n;
    }
}
__attribute__((transaction_safe, noinline)) static void rethrows() {
    try {
        passes();
    } catch (int n) {
        b += n;
        throw;
    }
}

static void says() {
    std::printf("%ld %ld %d %d\n", a, b, tries, std::uncaught_exceptions());
    tries = 0;
}

int main() {
    __transaction_atomic { changes(); takes(); }
    int wrong = 0;
    for (void *block : blocks)
        for (int i = 0; i < SIZE; i++) wrong += static_cast<char *>(block)[i] != 0;
    std::printf("%lx %d\n", a, wrong);
    a = 0;
    __transaction_atomic { catches(); }
    says();
    try {
        __transaction_atomic { passes(); }
    } catch (int n) {
        b += n;
    }
    says();
    try {
        __transaction_atomic { rethrows(); }
    } catch (int n) {
        b += n;
    }
    says();
}
