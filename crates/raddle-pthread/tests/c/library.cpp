// What C++'s standard library builds on POSIX threads and on futexes.
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <iostream>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace std;
using namespace chrono_literals;

static atomic<int> made;

struct Slow {
    Slow() {
        this_thread::yield();
        made++;
    }
};

static Slow &guarded() {
    static Slow one;
    return one;
}

static const auto before_main = this_thread::get_id();
thread_local int own = 5;

struct Ends {
    ~Ends() { cout << "end of a thread's variable" << endl; }
};

int main() {
    cout << "main began in main's thread: " << (before_main == this_thread::get_id()) << endl;
    latch all(16);
    vector<thread> threads;
    for (int n = 0; n < 16; n++)
        threads.emplace_back([&, n] {
            guarded();
            own += n;
            this_thread::yield();
            if (own != 5 + n) abort();
            all.count_down();
        });
    all.wait();
    for (auto &one : threads) one.join();
    cout << "made " << made << endl;
    cout << async(launch::async, [] { return 42; }).get() << endl;
    auto throws = async(launch::async, []() -> int { throw runtime_error("thrown in a thread"); });
    try {
        throws.get();
    } catch (exception &caught) {
        cout << caught.what() << endl;
    }
    atomic<int> word{0};
    thread waits([&] {
        word.wait(0);
        cout << "woken" << endl;
    });
    word = 1;
    word.notify_all();
    waits.join();
    counting_semaphore<8> semaphore(0);
    thread takes([&] { semaphore.acquire(); });
    semaphore.release();
    takes.join();
    barrier meets(8);
    {
        vector<jthread> rounds;
        for (int n = 0; n < 8; n++)
            rounds.emplace_back([&] {
                for (int round = 0; round < 100; round++) meets.arrive_and_wait();
            });
    }
    jthread stops([](stop_token token) {
        mutex lock;
        condition_variable_any never;
        unique_lock held(lock);
        never.wait(held, token, [] { return false; });
        cout << "stopped" << endl;
    });
    stops.request_stop();
    stops.join();
    shared_timed_mutex shared;
    timed_mutex timed;
    shared.lock();
    timed.lock();
    thread([&] { cout << shared.try_lock_shared_for(5ms) << timed.try_lock_for(5ms) << endl; }).join();
    once_flag flag;
    try {
        call_once(flag, [] { throw 1; });
    } catch (int) {
        cout << "thrown by once" << endl;
    }
    call_once(flag, [] { cout << "once" << endl; });
    call_once(flag, [] { cout << "twice" << endl; });
    promise<int> promised;
    auto result = promised.get_future();
    thread last([&] {
        thread_local Ends ends;
        (void)&ends;
        promised.set_value_at_thread_exit(3);
    });
    last.join();
    cout << result.get() << endl;
}
