// raddle.hpp: results and exceptions come out of joins, destructors run in cancelled frames, nothing leaks.
#include <raddle.hpp>

#include <cstdio>
#include <numeric>
#include <shared_mutex>
#include <sys/socket.h>
#include <unistd.h>

using namespace std::chrono_literals;

#define CHECK(what)                                                               \
    do {                                                                          \
        if (!(what)) {                                                            \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            std::_Exit(1);                                                        \
        }                                                                         \
    } while (0)

template <class E, class F> static bool throws(F f)
{
    try {
        f();
    } catch (const E &) {
        return true;
    }
    return false;
}

/// Counts those that live.
struct counted {
    static std::atomic<int> alive;
    int value = 0;
    explicit counted(int value = 0) : value(value) { ++alive; }
    counted(const counted &other) : value(other.value) { ++alive; }
    ~counted() { --alive; }
};
std::atomic<int> counted::alive{0};

static void once()
{
    raddle::once_flag flag;
    int done = 0;
    CHECK(throws<std::runtime_error>([&] { raddle::call_once(flag, [] { throw std::runtime_error("in vain"); }); }));
    for (int n = 0; n < 2; n++)
        raddle::call_once(flag, [&] {
            raddle::this_thread::yield();
            ++done;
        });
    CHECK(done == 1);
}

static void threads()
{
    auto forty_two = raddle::spawn([] { return 6 * 7; });
    CHECK(forty_two.join() == 42);
    for (auto kind : {raddle::kind::thread, raddle::kind::process, raddle::kind::light}) {
        raddle::how how;
        how.kind = kind;
        how.name = "one";
        how.stack_size = 256 << 10;
        auto text = raddle::spawn(how, [text = std::string("hello")] { return text + " there"; });
        CHECK(text.join() == "hello there");
    }
    auto fails = raddle::spawn([]() -> int { throw std::runtime_error("it went wrong"); });
    CHECK(throws<std::runtime_error>([&] { fails.join(); }));
    int by_destructor = 0;
    {
        auto joined = raddle::spawn([&] { by_destructor = 1; });
        auto moved = std::move(joined);
        CHECK(!joined.joinable() && moved.joinable());
    }
    CHECK(by_destructor == 1);
    auto [tx, rx] = raddle::channel<int>(1);
    raddle::spawn([tx = tx] { tx.send(5); }).detach();
    CHECK(rx.recv() == 5);
    auto parked = raddle::spawn([] { raddle::this_thread::park(); });
    raddle::ref(parked).unpark();
    parked.join();
    auto slow = raddle::spawn([rx = rx] { return rx.recv().has_value(); });
    CHECK(!slow.join_for(1ms));
    tx.send(1);
    CHECK(slow.join());
    CHECK(raddle::blocking([] { return usleep(100), 3; }) == 3);
    CHECK(raddle::run([] { return raddle::this_thread::id() != 0; }));
}

static int fibonacci(int n)
{
    if (n < 2)
        return n;
    raddle::fork first([n] { return fibonacci(n - 1); });
    int second = fibonacci(n - 2);
    return first.join() + second;
}

static void forks()
{
    CHECK(raddle::run([] { return fibonacci(16); }) == 987);
    auto [one, two] = raddle::both([] { return 1; }, [] { return std::string("two"); });
    CHECK(one == 1 && two == "two");
    CHECK(throws<int>([] { raddle::both([] { throw 1; }, [] {}); }));
    std::vector<int> numbers(1000);
    raddle::parallel_for(0, numbers.size(), [&](std::size_t n) { numbers[n] = static_cast<int>(n); });
    CHECK(std::accumulate(numbers.begin(), numbers.end(), 0) == 499500);
    CHECK(throws<std::out_of_range>([] {
        raddle::parallel_for(0, 10, [](std::size_t n) {
            if (n == 5)
                throw std::out_of_range("five");
        });
    }));
    std::atomic<int> sum{0};
    raddle::with_scope([&](raddle::scope &scope) {
        for (int i = 1; i <= 10; i++)
            scope.spawn([&sum, i] { sum += i; });
    });
    CHECK(sum == 55);
    CHECK(throws<std::logic_error>([] {
        raddle::with_scope([](raddle::scope &scope) { scope.spawn([] { throw std::logic_error("a child"); }); });
    }));
    raddle::with_scope([](raddle::scope &scope) {
        for (int i = 0; i < 5; i++)
            scope.spawn([box = counted(i)] { raddle::this_thread::park(); });
        scope.cancel();
    });
    CHECK(counted::alive == 0);
}

static void channels()
{
    auto [tx, rx] = raddle::channel<std::string>(2);
    auto sends = raddle::spawn([tx = std::move(tx)] {
        for (auto word : {"one", "two", "three", "four"})
            tx.send(word);
    });
    std::string all;
    for (auto &word : rx)
        all += word;
    CHECK(all == "onetwothreefour");
    sends.join();
    {
        auto [to, from] = raddle::channel<counted>(3);
        to.send(counted(1));
        to.send(counted(2));
        CHECK(from.recv()->value == 1);
        CHECK(to.try_send(counted(3)) && to.try_send(counted(4)) && !to.try_send(counted(5)));
        CHECK(!to.send_for(counted(6), 1ms));
        from.close();
        CHECK(throws<raddle::closed>([&, &to = to] { to.send(counted(7)); }));
    }
    CHECK(counted::alive == 0); // what nobody received was destroyed
    auto [words, word_in] = raddle::channel<double>(0);
    auto [texts, text_in] = raddle::channel<counted>(0);
    auto both = raddle::spawn([words = words, texts = texts] {
        for (int i = 0; i < 20; i++)
            raddle::select().send(words, 0.5, [] {}).send(texts, counted(9), [] {}).run();
    });
    words.close();
    texts.close();
    int got = 0;
    bool open = true;
    while (open)
        raddle::select()
            .recv(word_in, [&](std::optional<double> value) { value ? got += *value == 0.5 : open = false; })
            .recv(text_in, [&](std::optional<counted> value) { value ? got += value->value == 9 : open = false; })
            .run();
    CHECK(got == 20);
    both.join();
    CHECK(counted::alive == 0);
    auto late = raddle::after(1ms);
    auto [never, nothing] = raddle::channel<int>(0);
    bool rang = false;
    raddle::select().recv(nothing, [](auto) {}).recv(late, [&](auto) { rang = true; }).run();
    CHECK(rang);
    CHECK(!raddle::select().recv(nothing, [](auto) {}).run_for(1ms));
    CHECK(raddle::tick(1ms).recv().has_value());
    (void)never;
}

static void cancellation()
{
    raddle::token token;
    std::atomic<int> destroyed{0};
    struct guard {
        std::atomic<int> &count;
        ~guard() { ++count; }
    };
    auto [ready, is_ready] = raddle::channel<int>(0);
    auto waits = raddle::spawn([&, &ready = ready] {
        return token.run([&] {
            guard outer{destroyed};
            auto inner = [&] {
                guard inner{destroyed};
                ready.send(1);
                raddle::this_thread::sleep_for(std::chrono::hours(1000));
            };
            inner();
            return 0;
        });
    });
    is_ready.recv();
    token.cancel();
    CHECK(throws<raddle::cancelled>([&] { waits.join(); }));
    CHECK(destroyed == 2);
    CHECK(throws<raddle::cancelled>([] { raddle::within(1ms, [] { raddle::this_thread::park(); }); }));
    CHECK(raddle::within(1h, [] { return 4; }) == 4);
    raddle::how how;
    how.token = &token;
    auto never = raddle::spawn(how, [box = counted(1)] { return box.value; });
    CHECK(throws<raddle::cancelled>([&] { never.join(); }));
    CHECK(counted::alive == 0);
    never = raddle::spawn([] { return 0; });
    // A cancelled wait at a condition leaves the lock, which unique_lock gives back.
    raddle::mutex mutex;
    raddle::condition_variable condition;
    CHECK(throws<raddle::cancelled>([&] {
        raddle::within(1ms, [&] {
            std::unique_lock<raddle::mutex> lock(mutex);
            condition.wait(lock);
        });
    }));
    std::lock_guard<raddle::mutex> again(mutex);
}

/// What is asked for twice is refused, not made up.
static void twice()
{
    auto fails = raddle::spawn([]() -> std::string { throw 1; });
    CHECK(fails.join_for(std::chrono::hours(1)));
    CHECK(throws<int>([&] { fails.get(); }));
    CHECK(throws<raddle::error>([&] { fails.get(); }));
    CHECK(throws<raddle::error>([&] { fails.join(); }));
    raddle::thread<int> none;
    CHECK(throws<raddle::error>([&] { none.get(); }));
    auto parks = raddle::spawn([] { return raddle::this_thread::park(), 1; });
    CHECK(throws<raddle::error>([&] { parks.get(); }));
    raddle::ref(parks).unpark();
    CHECK(parks.join() == 1);
    CHECK(throws<raddle::error>([&] { parks.join(); }));
    raddle::fork fork([]() -> std::string { throw 2; });
    CHECK(throws<int>([&] { fork.join(); }));
    CHECK(throws<raddle::error>([&] { fork.join(); }));
    {
        auto [tx, rx] = raddle::channel<counted>(2);
        raddle::select select;
        select.send(tx, counted(7), [] {});
        CHECK(select.run_for(std::chrono::hours(1)) == std::size_t(0));
        CHECK(throws<raddle::error>([&] { select.run(); }));
        CHECK(rx.recv()->value == 7);
    }
    CHECK(counted::alive == 0);
}

/// What a thread has captured that never begins, and that nobody joins, is destroyed all the same.
static void never_begun()
{
    raddle::token token;
    token.cancel();
    raddle::how how;
    how.token = &token;
    auto [tx, rx] = raddle::channel<int>(0);
    raddle::spawn(how, [tx = tx, box = counted(1)] { tx.send(box.value); }).detach();
    tx.close();
    CHECK(!rx.recv()); // the other end has gone with the thread
    while (counted::alive != 0)
        raddle::this_thread::yield();
}

/// Children may not spawn: they are told, while the body spawns, too.
static void children()
{
    std::atomic<int> refused{0};
    raddle::with_scope([&](raddle::scope &scope) {
        for (int i = 0; i < 50; i++)
            scope.spawn([&] { refused += throws<raddle::error>([&] { scope.spawn([] {}); }); });
    });
    CHECK(refused == 50);
}

/// Who has been told by another thread may destroy what it was told by.
static void told()
{
    for (int i = 0; i < 300; i++) {
        raddle::semaphore done(0);
        raddle::barrier met(2);
        raddle::spawn([&] {
            done.release();
        }).detach();
        done.acquire();
        auto other = raddle::spawn([&] { met.wait(); });
        met.wait();
    }
}

static void locks()
{
    for (auto kind : {raddle::lock_kind::parking, raddle::lock_kind::spin, raddle::lock_kind::ticket,
                      raddle::lock_kind::mcs, raddle::lock_kind::clh}) {
        raddle::mutex mutex(kind);
        int count = 0;
        raddle::with_scope([&](raddle::scope &scope) {
            for (int i = 0; i < 8; i++)
                scope.spawn([&] {
                    for (int turn = 0; turn < 20; turn++) {
                        std::lock_guard<raddle::mutex> lock(mutex);
                        count++;
                    }
                });
        });
        CHECK(count == 160);
        CHECK(throws<raddle::error>([&] { mutex.unlock(); }));
    }
    raddle::shared_mutex shared;
    std::shared_lock<raddle::shared_mutex> one(shared), two(shared);
    CHECK(!shared.try_lock());
    raddle::mutex mutex;
    raddle::condition_variable condition;
    bool open = false;
    auto opens = raddle::spawn([&] {
        std::lock_guard<raddle::mutex> lock(mutex);
        open = true;
        condition.notify_all();
    });
    {
        std::unique_lock<raddle::mutex> lock(mutex);
        condition.wait(lock, [&] { return open; });
        CHECK(!condition.wait_for(lock, 1ms));
        CHECK(lock.owns_lock());
    }
    opens.join();
    raddle::semaphore permits(1);
    permits.acquire();
    CHECK(!permits.try_acquire_for(1ms));
    permits.release();
    raddle::barrier barrier(2);
    auto other = raddle::spawn([&] { return barrier.wait(); });
    CHECK(barrier.wait() != other.join());
}

static void others()
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    raddle::fd one(ends[0]), two(ends[1]);
    auto reads = raddle::spawn([&] {
        std::string all;
        char bytes[16];
        while (auto count = two.read(bytes, sizeof bytes))
            if (all.append(bytes, count); all.size() >= 11)
                break;
        return all;
    });
    one.write_all("hello world");
    CHECK(reads.join() == "hello world");
    raddle::runtime runtime(raddle::options().set("RADDLE_WORKERS", "1"));
    static raddle::mark mark("a span of C++");
    CHECK(runtime.run([] {
        raddle::span here(mark);
        mark.here(1);
        return raddle::spawn([] { return 1; }).join();
    }) == 1);
    CHECK(runtime.counter("spawns") >= 1);
    CHECK(throws<raddle::error>([] { raddle::options().set("RADDLE_WORKERS", "none"); }));
}

struct big {
    long numbers[5];
};

static void transactions()
{
    raddle::tvar<long> from(100), to(0), other(5);
    raddle::tvar<big> many(big{{1, 2, 3, 4, 5}});
    auto move = [&](long amount) {
        return raddle::atomically([&](raddle::tx &tx) {
            long left = tx.read(from) - amount;
            tx.write(from, left);
            if (left < 0)
                throw std::runtime_error("too little");
            tx.write(to, tx.read(to) + amount);
            return left;
        });
    };
    {
        std::vector<raddle::thread<void>> threads;
        for (int i = 0; i < 4; i++)
            threads.push_back(raddle::spawn([&] {
                for (int n = 0; n < 20; n++)
                    move(1);
            }));
        for (auto &thread : threads)
            thread.join();
    }
    CHECK(from.load() == 20 && to.load() == 80);
    CHECK(throws<std::runtime_error>([&] { move(21); }));
    // A wait for a change that is cancelled.
    CHECK(throws<raddle::cancelled>([&] {
        raddle::within(1ms, [&] { raddle::atomically([&](raddle::tx &tx) { tx.check(tx.read(other) == 7); }); });
    }));
    CHECK(from.load() == 20 && to.load() == 80);
    // Who waits is woken by a commit; hooks run once, and captured things go.
    auto held = std::make_shared<int>(0);
    auto waits = raddle::spawn([&] {
        return raddle::atomically([&, held](raddle::tx &tx) {
            tx.on_commit([held] { ++*held; });
            tx.on_abort([held] {});
            tx.check(tx.read(other) == 6);
            big all = tx.read(many);
            all.numbers[4] = 50;
            tx.write(many, all);
            return all.numbers[0];
        });
    });
    raddle::this_thread::sleep_for(std::chrono::milliseconds(1));
    other.store(6);
    CHECK(waits.join() == 1);
    CHECK(*held == 1 && held.use_count() == 1);
    CHECK(many.load().numbers[4] == 50);
    auto taken = raddle::atomically([&](raddle::tx &tx) {
        return tx.or_else(
            [&](raddle::tx &tx) -> std::string {
                tx.write(from, 0L);
                tx.check(tx.read(to) == 0);
                return "first";
            },
            [&](raddle::tx &tx) -> std::string {
                tx.write(other, 7L);
                return "second";
            });
    });
    CHECK(taken == "second" && from.load() == 20 && other.load() == 7);
    // A part's exception rolls back the part, and may be handled.
    raddle::atomically([&](raddle::tx &tx) {
        bool caught = false;
        try {
            tx.or_else(
                [&](raddle::tx &tx) {
                    tx.write(other, 8L);
                    throw 3;
                },
                [](raddle::tx &) {});
        } catch (int number) {
            caught = number == 3;
        }
        CHECK(caught && tx.read(other) == 7);
    });
    CHECK(throws<raddle::timed_out>([&] {
        raddle::atomically_for(std::chrono::milliseconds(1), [&](raddle::tx &tx) {
            (void)tx.read(to);
            tx.retry();
        });
    }));
    CHECK(throws<raddle::error>([&] { raddle::atomically([&](raddle::tx &tx) { tx.retry(); }); }));
    int once = 0;
    long kept = raddle::atomically(raddle::algorithm::pessimistic, [&](raddle::tx &tx) {
        tx.write(other, tx.read(other) + 1);
        return tx.read(other);
    });
    CHECK(kept == 8);
    raddle::atomically([&](raddle::tx &tx) {
        tx.irrevocable();
        once++;
        tx.write(other, 5L);
    });
    CHECK(once == 1 && other.load() == 5);
}

static void tasks()
{
    auto [tx, rx] = raddle::channel<std::string>(1);
    // NOLINTNEXTLINE: an object for what is kept from poll to poll
    auto joins = raddle::spawn_task([from = raddle::next(rx), text = std::string(), &rx = rx](
                                        const raddle_waker_t *waker) mutable -> std::optional<std::string> {
        try {
            while (auto word = from.poll(waker)) {
                text += *word;
                from = raddle::next(rx);
            }
            return std::nullopt;
        } catch (const raddle::closed &) {
            return text;
        }
    });
    tx.send("one ");
    tx.send("two ");
    tx.send("three");
    tx.close();
    CHECK(joins.join() == "one two three");
    auto fails = raddle::spawn_task([](const raddle_waker_t *) -> std::optional<int> { throw std::string("no"); });
    CHECK(throws<std::string>([&] { fails.join(); }));
    auto held = std::make_shared<int>(0);
    auto sleeps = raddle::spawn_task(
        [held, wait = raddle::later(std::chrono::hours(1))](const raddle_waker_t *waker) mutable -> std::optional<int> {
            return wait.poll(waker) ? std::optional<int>(1) : std::nullopt;
        });
    sleeps.abort();
    CHECK(throws<raddle::cancelled>([&] { sleeps.join(); }));
    // Woken from elsewhere.
    auto [wakers, woken] = raddle::channel<raddle::waker>(1);
    auto wakes = raddle::spawn([&woken = woken] { woken.recv()->wake(); });
    auto asks = raddle::spawn_task([&wakers = wakers, polls = 0](const raddle_waker_t *waker) mutable {
        if (polls++ == 0)
            wakers.send(raddle::waker(waker));
        return polls == 1 ? std::optional<int>() : std::optional<int>(polls);
    });
    CHECK(asks.join() == 2);
    wakes.join();
    raddle::later(std::chrono::milliseconds(1)).wait();
}

static void descriptors()
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    raddle::fd one(ends[0]), two(ends[1]);
    auto [tx, rx] = raddle::channel<int>(1);
    std::string seen;
    auto choose = [&, &rx = rx] {
        raddle::select()
            .recv(rx, [&](std::optional<int> number) { seen += std::to_string(*number); })
            .recv(one.when_readable(), [&](std::optional<std::uintptr_t>) {
                char byte;
                one.read(&byte, 1);
                seen += byte;
            })
            .run();
    };
    two.write_all("x");
    choose();
    tx.send(7);
    choose();
    CHECK(seen == "x7");
    CHECK(raddle::dump().find("raddle") != std::string::npos);
}

struct alignas(64) wide {
    int word;
};

static void memory()
{
    std::vector<int, raddle::allocator<int>> numbers;
    for (int number = 0; number < 10000; number++)
        numbers.push_back(number);
    CHECK(numbers[9999] == 9999);
    std::vector<wide, raddle::allocator<wide>> all(10);
    CHECK(reinterpret_cast<std::uintptr_t>(all.data()) % 64 == 0);
    bool refused = false;
    try {
        raddle::allocator<wide>().allocate(std::size_t(-1) / 32);
    } catch (const std::bad_alloc &) {
        refused = true;
    }
    CHECK(refused);
}

int main()
{
    alarm(240);
    memory();
    once();
    threads();
    forks();
    channels();
    cancellation();
    twice();
    never_begun();
    children();
    told();
    locks();
    others();
    transactions();
    tasks();
    descriptors();
    std::puts("well");
}
