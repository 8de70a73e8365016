// Exceptions, destructors of threads' variables and initialisers of functions' statics, while ticks come often.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static void must(bool so, int line) {
    if (!so) {
        std::printf("line %d: not so\n", line);
        std::exit(1);
    }
}
#define MUST(what) must(what, __LINE__)

enum { THREADS = 8, ROUNDS = 300 };

static void spin(long turns) {
    for (volatile long turn = 0; turn < turns; turn = turn + 1) continue;
}

static std::atomic<int> alive, ended;

struct Counted {
    std::string text;
    explicit Counted(int number) : text(std::to_string(number) + " has a text that is too long to be kept inside") {
        alive++;
    }
    ~Counted() {
        spin(500);
        alive--;
    }
};

static void falls(int depth, int number) {
    Counted here(depth);
    spin(200);
    if (depth == 0) throw std::runtime_error(std::to_string(number));
    falls(depth - 1, number);
}

static void throws(int number) {
    for (int round = 0; round < ROUNDS; round++) {
        try {
            try {
                falls(5, number);
                MUST(false);
            } catch (const std::exception &) {
                spin(1000);
                try {
                    throw number;
                } catch (int other) {
                    MUST(other == number);
                    spin(500);
                }
                throw;
            }
        } catch (const std::runtime_error &error) {
            MUST(error.what() == std::to_string(number) && std::uncaught_exceptions() == 0);
        }
    }
}

struct Ends {
    int number = 0;
    ~Ends() {
        spin(3000);
        if (number) ended++;
    }
};
static thread_local Ends ends;
static void has_variable(int number) {
    ends.number = number + 1;
    spin(2000);
}

static int slowly() {
    spin(300000);
    return 7;
}
static void initialises(int) {
    static const int value = slowly();
    MUST(value == 7);
}

static std::once_flag once;
static std::atomic<int> tries;
static void calls_once(int) {
    try {
        std::call_once(once, [] {
            spin(20000);
            if (tries++ < 3) throw 1;
        });
    } catch (int) {
    }
}

static void all(const std::function<void(int)> &each) {
    std::vector<std::thread> threads;
    for (int at = 0; at < THREADS; at++) threads.emplace_back(each, at);
    for (auto &thread : threads) thread.join();
}

int main() {
    all(throws);
    std::printf("alive %d\n", alive.load());
    for (int round = 0; round < 10; round++) all(has_variable);
    std::printf("ended %d\n", ended.load());
    all(initialises);
    all(calls_once);
    std::printf("tries %d\n", tries.load());
    std::vector<std::future<int>> futures;
    const auto answers = [](int at) {
        spin(20000);
        if (at % 3 == 0) throw at;
        return at;
    };
    for (int at = 0; at < 32; at++) futures.push_back(std::async(std::launch::async, answers, at));
    int sum = 0;
    for (auto &future : futures) {
        try {
            sum += future.get();
        } catch (int thrown) {
            sum -= thrown;
        }
    }
    std::printf("sum %d\n", sum);
}
