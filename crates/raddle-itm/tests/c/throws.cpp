// Exceptions commit what was done, or end within; in attempts in vain they are as if never thrown.
#include <pthread.h>
#include <stdexcept>
#include <cstdio>
#include <new>

static long counter, other;
static int alive;

struct Counted {
    int *place;
    __attribute__((transaction_safe)) Counted() : place(new int(7)) {}
    __attribute__((transaction_safe)) ~Counted() { delete place; }
};

__attribute__((transaction_safe, noinline)) static void throws(int n) {
    counter++;
    if (n % 3 == 0) throw n;
}

static void *works(void *argument) {
    for (int i = 0; i < 3000; i++) {
        try {
            __transaction_atomic {
                Counted counted;
                long before = counter;
                try {
                    throws(i);
                } catch (int n) {
                    other += *counted.place;
                }
                if (counter != before + 1) throw 1.5;
                throws(i + 1);
            }
        } catch (int n) {
            __transaction_atomic { other++; }
        }
    }
    return argument;
}

__attribute__((transaction_safe)) static int *makes(bool cancels) {
    int *got = nullptr;
    __transaction_atomic {
        got = new int[100000];
        got[5] = 5;
        delete new Counted;
        if (cancels) __transaction_cancel;
    }
    return got;
}

int main() {
    pthread_t all[6];
    for (auto &one : all) pthread_create(&one, nullptr, works, nullptr);
    for (auto &one : all) pthread_join(one, nullptr);
    std::printf("%ld %ld\n", counter, other);
    for (int i = 0; i < 100; i++) delete[] makes(i % 2);
    try {
        __transaction_atomic { counter = 1; throw std::runtime_error("out of it"); }
    } catch (std::exception &e) {
        std::printf("%s %ld\n", e.what(), counter);
    }
    try {
        __transaction_relaxed { counter = 2; std::puts("relaxed"); throw 4; }
    } catch (int n) {
        std::printf("%d %ld\n", n, counter);
    }
    return alive;
}
