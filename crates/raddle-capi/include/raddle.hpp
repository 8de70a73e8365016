// raddle.hpp - Raddle for C++17 and later: objects that clean up after themselves, lambdas, exceptions.
//
// Each function here calls one of raddle.h, whose page says what it returns, whether it waits and from where it may be
// called. What differs:
//
// - A code other than RADDLE_OK is an exception: raddle::cancelled, raddle::closed, raddle::timed_out, all of them
//   raddle::error. So a cancellation unwinds through the frames of C++ and runs their destructors; a destructor itself
//   never waits in a way that could be cancelled.
// - Functions with a time-out return bool or std::optional instead of throwing raddle::timed_out.
// - An exception that leaves a thread, a fork or a region comes out of its join.
// - Handles are objects that can be moved, not copied. A thread that is destroyed is joined, as std::jthread.
//
// An exception in flight lies in thread-local storage: a light process must not wait in a catch block, nor in a
// destructor that an exception runs (that of a raddle::thread waits).
#ifndef RADDLE_HPP
#define RADDLE_HPP

#include <raddle.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace raddle {

// ---------------------------------------------------------------------------------------------------- errors

/// A code of raddle.h as an exception.
class error : public std::runtime_error {
public:
    explicit error(int code) : std::runtime_error(text(code)), code_(code) {}
    int code() const noexcept { return code_; }

private:
    static std::string text(int code)
    {
        std::string all = std::string(raddle_errname(code)) + ": " + raddle_strerror(code);
        return *raddle_last_error() ? all + ": " + raddle_last_error() : all;
    }
    int code_;
};

/// The region of the caller has been cancelled. Let it through: who catches it gets it again at the next wait.
class cancelled : public error {
public:
    cancelled() : error(RADDLE_ECANCELED) {}
};

class closed : public error {
public:
    closed() : error(RADDLE_ECLOSED) {}
};

class timed_out : public error {
public:
    timed_out() : error(RADDLE_ETIMEDOUT) {}
};

/// Throws what belongs to a code, unless that is RADDLE_OK.
inline void check(int code)
{
    switch (code) {
    case RADDLE_OK: return;
    case RADDLE_ECANCELED:
    case RADDLE_ENOTRUN: throw cancelled();
    case RADDLE_ECLOSED: throw closed();
    case RADDLE_ETIMEDOUT: throw timed_out();
    default: throw error(code);
    }
}

using duration = std::chrono::nanoseconds;

namespace detail {

/// False if the time was over; throws for all other codes.
inline bool in_time(int code)
{
    if (code == RADDLE_ETIMEDOUT)
        return false;
    check(code);
    return true;
}

inline std::int64_t ns(duration span)
{
    return span.count() < 0 ? 0 : span.count();
}

/// A handle with its end. Who has been told by another thread may come to it before that one's call has returned: it
/// tries again. What is waited for all the same is left as it is.
template <class T, int (*Destroy)(T *)> struct destroy {
    void operator()(T *handle) const noexcept
    {
        for (int n = 0; Destroy(handle) == RADDLE_EBUSY && n < 1000; n++)
            raddle_yield();
    }
};
template <class T, int (*Destroy)(T *)> using handle = std::unique_ptr<T, destroy<T, Destroy>>;

template <class T, int (*Destroy)(T *), class Make> handle<T, Destroy> make(Make make)
{
    T *made = nullptr;
    check(make(&made));
    return handle<T, Destroy>(made);
}

/// What a call has come to: a value, or an exception.
template <class R> class outcome {
public:
    template <class F> void run(F &&f) noexcept
    {
        try {
            if constexpr (std::is_void_v<R>)
                std::invoke(std::forward<F>(f)), value_.emplace();
            else
                value_.emplace(std::invoke(std::forward<F>(f)));
        } catch (...) {
            exception_ = std::current_exception();
        }
    }
    /// Once; what is asked for again, or before it is there, is RADDLE_EINVAL.
    R take()
    {
        if (exception_)
            std::rethrow_exception(std::exchange(exception_, nullptr));
        if (!value_)
            throw error(RADDLE_EINVAL);
        auto value = std::exchange(value_, std::nullopt);
        if constexpr (!std::is_void_v<R>)
            return std::move(*value);
    }
    bool has_failed() const noexcept { return exception_ != nullptr; }
    /// As before the call.
    void forget() noexcept
    {
        exception_ = nullptr;
        value_.reset();
    }
    void fail(int code) noexcept
    {
        try {
            check(code);
        } catch (...) {
            exception_ = std::current_exception();
        }
    }

private:
    struct nothing {};
    std::optional<std::conditional_t<std::is_void_v<R>, nothing, R>> value_;
    std::exception_ptr exception_;
};

/// A call of the caller's frame, for functions of C.
template <class F> struct call {
    using result = std::invoke_result_t<F &>;
    F &f;
    outcome<result> out;
    explicit call(F &f) : f(f) {}
    static void *start(void *self)
    {
        auto *here = static_cast<call *>(self);
        here->out.run(here->f);
        return nullptr;
    }
    static int body(void *self) { return start(self), RADDLE_OK; }
};

/// What a thread and its handle share.
template <class F> struct job {
    using result = std::invoke_result_t<F>;
    std::optional<F> f;
    outcome<result> out;
    handle<raddle_token_t, raddle_token_destroy> in; // whose region it runs in; null for none
    explicit job(F f) : f(std::move(f)) {}
    static int body(void *self)
    {
        auto *here = static_cast<job *>(self);
        here->out.run(std::move(*here->f));
        return RADDLE_OK;
    }
    static void *start(void *self)
    {
        std::unique_ptr<std::shared_ptr<job>> mine(static_cast<std::shared_ptr<job> *>(self));
        job &here = **mine;
        int code = here.in ? raddle_token_run(here.in.get(), body, &here) : body(&here);
        if (code != RADDLE_OK)
            here.out.fail(code); // it was cancelled before it began
        here.f.reset(); // what it has captured goes with the thread, not with its handle
        return nullptr;
    }
};

} // namespace detail

// ---------------------------------------------------------------------------------------------------- tokens

/// Cancelled once, from anywhere, with all that runs under it.
class token {
public:
    token() : token_(detail::make<raddle_token_t, raddle_token_destroy>(raddle_token_create)) {}
    token child() const { return token(token_.get()); }
    void cancel() const { check(raddle_token_cancel(token_.get())); }
    bool is_cancelled() const
    {
        int is = 0;
        check(raddle_token_is_cancelled(token_.get(), &is));
        return is != 0;
    }
    /// Runs f, whose waits throw raddle::cancelled when this is cancelled, and returns what it returns.
    template <class F> auto run(F &&f) const
    {
        detail::call<std::remove_reference_t<F>> call(f);
        check(raddle_token_run(token_.get(), call.body, &call));
        return call.out.take();
    }
    raddle_token_t *get() const noexcept { return token_.get(); }

private:
    explicit token(raddle_token_t *above)
        : token_(detail::make<raddle_token_t, raddle_token_destroy>(
              [above](raddle_token_t **out) { return raddle_token_child(above, out); }))
    {
    }
    detail::handle<raddle_token_t, raddle_token_destroy> token_;
};

/// Runs f, whose waits throw raddle::cancelled when the time is over. Throws raddle::cancelled if f let that through.
template <class F> auto within(duration span, F &&f)
{
    detail::call<std::remove_reference_t<F>> call(f);
    check(raddle_within(detail::ns(span), call.body, &call));
    return call.out.take();
}

/// Runs f, whose waits no cancellation ends.
template <class F> auto shield(F &&f)
{
    detail::call<std::remove_reference_t<F>> call(f);
    check(raddle_shield(call.body, &call));
    return call.out.take();
}

/// Throws raddle::cancelled if the region of the caller has been cancelled.
inline void check_cancelled()
{
    check(raddle_check());
}

// ---------------------------------------------------------------------------------------------------- threads

enum class kind { thread = RADDLE_THREAD, process = RADDLE_PROCESS, light = RADDLE_LIGHT };

/// How a thread is to be made.
struct how {
    raddle::kind kind = raddle::kind::thread;
    int worker = -1;
    std::size_t stack_size = 0;
    const char *name = nullptr;
    const raddle::token *token = nullptr;
};

/// A thread, whose function returns an R. Joined when it is destroyed.
template <class R> class thread {
public:
    thread() = default;
    thread(thread &&other) noexcept
        : thread_(std::exchange(other.thread_, nullptr)), out_(std::move(other.out_))
    {
    }
    thread &operator=(thread &&other) noexcept
    {
        if (this != &other) {
            end();
            thread_ = std::exchange(other.thread_, nullptr);
            out_ = std::move(other.out_);
        }
        return *this;
    }
    ~thread() { end(); }

    bool joinable() const noexcept { return thread_ != nullptr; }
    /// Waits for the end; the result, or the exception that the function let out.
    R join()
    {
        end_by(raddle_join(thread_, nullptr));
        return out_->take();
    }
    /// As join, for at most so long; false if it has not ended. Its result is then `get`.
    bool join_for(duration span)
    {
        int code = raddle_join_for(thread_, detail::ns(span), nullptr);
        if (code == RADDLE_ETIMEDOUT)
            return false;
        end_by(code);
        return true;
    }
    /// The result, once, after join_for has returned true.
    R get()
    {
        if (thread_ || !out_)
            throw error(RADDLE_EINVAL);
        return out_->take();
    }
    void detach()
    {
        check(raddle_detach(std::exchange(thread_, nullptr)));
        out_.reset();
    }
    raddle_thread_t *handle() const noexcept { return thread_; }

private:
    template <class F> friend auto spawn(const how &how, F &&f);
    void end_by(int code)
    {
        // Only a cancellation of the caller's leaves the handle.
        if (code != RADDLE_EINVAL && code != RADDLE_ECANCELED)
            thread_ = nullptr;
        check(code);
    }
    void end() noexcept
    {
        if (!thread_)
            return;
        auto join = [](void *thread) { return raddle_join(static_cast<raddle_thread_t *>(thread), nullptr); };
        raddle_shield(join, std::exchange(thread_, nullptr));
    }
    raddle_thread_t *thread_ = nullptr;
    std::shared_ptr<detail::outcome<R>> out_;
};

/// Makes a thread that runs f. What f has captured is destroyed when it has returned.
template <class F> auto spawn(const how &how, F &&f)
{
    using job = detail::job<std::decay_t<F>>;
    auto shared = std::make_shared<job>(std::forward<F>(f));
    raddle_spawn_options_t options = RADDLE_SPAWN_OPTIONS_INIT;
    options.kind = static_cast<int>(how.kind);
    options.worker = how.worker;
    options.stack_size = how.stack_size;
    options.name = how.name;
    if (how.token)
        // A token of its own, cancelled with that one: what was never called is destroyed by the thread all the same.
        shared->in = detail::make<raddle_token_t, raddle_token_destroy>(
            [&how](raddle_token_t **out) { return raddle_token_child(how.token->get(), out); });
    thread<typename job::result> made;
    made.out_ = std::shared_ptr<detail::outcome<typename job::result>>(shared, &shared->out);
    auto its = std::make_unique<std::shared_ptr<job>>(shared);
    check(raddle_spawn_with(&made.thread_, &options, job::start, its.get()));
    (void)its.release(); // it is the thread's
    return made;
}

template <class F> auto spawn(F &&f)
{
    return spawn(how{}, std::forward<F>(f));
}

namespace this_thread {
inline std::uint64_t id() noexcept { return raddle_id(); }
inline int worker() noexcept { return raddle_worker(); }
inline void yield() { check(raddle_yield()); }
inline void sleep_for(duration span) { check(raddle_sleep(detail::ns(span))); }
inline void park() { check(raddle_park()); }
inline void park_for(duration span) { check(raddle_park_for(detail::ns(span))); }
} // namespace this_thread

/// Unparks the one that it refers to.
class ref {
public:
    /// The caller.
    ref() : ref_(detail::make<raddle_ref_t, raddle_ref_destroy>(raddle_ref_here)) {}
    template <class R>
    explicit ref(const thread<R> &of)
        : ref_(detail::make<raddle_ref_t, raddle_ref_destroy>(
              [&](raddle_ref_t **out) { return raddle_ref_of(of.handle(), out); }))
    {
    }
    void unpark() const { check(raddle_unpark(ref_.get())); }

private:
    detail::handle<raddle_ref_t, raddle_ref_destroy> ref_;
};

/// Calls f, which may block its OS thread.
template <class F> auto blocking(F &&f)
{
    detail::call<std::remove_reference_t<F>> call(f);
    check(raddle_blocking(call.start, &call, nullptr));
    return call.out.take();
}

// ---------------------------------------------------------------------------------------------------- forks

/// A forked call, which lies in the frame that has made it. Joined when it is destroyed.
template <class F> class fork {
public:
    explicit fork(F f) : f_(std::move(f)), call_(f_) { check(raddle_fork(&fork_, call_.start, &call_)); }
    fork(const fork &) = delete;
    fork &operator=(const fork &) = delete;
    ~fork() { join_it(); }
    auto join()
    {
        check(join_it());
        return call_.out.take();
    }

private:
    int join_it() noexcept { return fork_ ? raddle_fork_join(std::exchange(fork_, nullptr), nullptr) : RADDLE_OK; }
    F f_;
    detail::call<F> call_;
    raddle_fork_t *fork_ = nullptr;
};

/// Calls both, in parallel if a worker is idle; their results as a pair. Exceptions: the first's, else the second's.
template <class F, class G> auto both(F &&f, G &&g)
{
    detail::call<std::remove_reference_t<F>> first(f);
    detail::call<std::remove_reference_t<G>> second(g);
    check(raddle_both(first.start, &first, second.start, &second));
    if constexpr (std::is_void_v<decltype(first.out.take())> || std::is_void_v<decltype(second.out.take())>) {
        first.out.take();
        second.out.take();
    } else {
        auto one = first.out.take();
        return std::pair(std::move(one), second.out.take());
    }
}

/// Calls f with each number from begin on, up to end and without it. One of the exceptions comes out; calls that have
/// not begun by then do not happen.
template <class F> void parallel_for(std::size_t begin, std::size_t end, F &&f)
{
    struct loop {
        std::remove_reference_t<F> &f;
        std::atomic<bool> failed{false};
        std::exception_ptr exception{};
        explicit loop(std::remove_reference_t<F> &f) : f(f) {}
    } all(f);
    auto turn = [](std::size_t n, void *arg) {
        auto *all = static_cast<loop *>(arg);
        if (all->failed.load(std::memory_order_relaxed))
            return;
        try {
            all->f(n);
        } catch (...) {
            if (!all->failed.exchange(true))
                all->exception = std::current_exception();
        }
    };
    check(raddle_for(begin, end, turn, &all));
    if (all.exception)
        std::rethrow_exception(all.exception);
}

/// Spawns processes that may use what outlives the scope; see with_scope.
class scope {
public:
    template <class F> void spawn(F &&f)
    {
        // It stays until the scope has ended: one that is cancelled before it begins destroys nothing.
        auto made = std::make_unique<child_of<std::decay_t<F>>>(this, std::forward<F>(f));
        check(raddle_scope_spawn(scope_, made->start, made.get()));
        // From the body alone: that has just been checked.
        made->former = std::exchange(last_, made.get());
        (void)made.release();
    }
    /// Cancels the children.
    void cancel() { check(raddle_scope_cancel(scope_)); }

private:
    template <class F> friend void with_scope(F &&f);
    struct child {
        child *former = nullptr;
        virtual ~child() = default;
    };
    scope() = default;
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    ~scope()
    {
        while (last_) {
            std::unique_ptr<child> gone(last_);
            last_ = gone->former;
        }
    }
    template <class F> struct child_of : child {
        scope *in;
        F f;
        child_of(scope *in, F f) : in(in), f(std::move(f)) {}
        static void *start(void *arg)
        {
            auto *mine = static_cast<child_of *>(arg);
            try {
                mine->f();
            } catch (const cancelled &) {
                // It counts as ended.
            } catch (...) {
                if (!mine->in->failed_.exchange(true))
                    mine->in->exception_ = std::current_exception();
            }
            return nullptr;
        }
    };
    raddle_scope_t *scope_ = nullptr;
    child *last_ = nullptr;
    std::atomic<bool> failed_{false};
    std::exception_ptr exception_;
};

/// Runs f with a scope and waits for all that was spawned in it. An exception of f's comes out, else one of a child's.
template <class F> void with_scope(F &&f)
{
    struct frame {
        std::remove_reference_t<F> &f;
        scope inner;
        detail::outcome<void> out;
        explicit frame(std::remove_reference_t<F> &f) : f(f) {}
    } all(f);
    auto body = [](raddle_scope_t *scope, void *arg) -> int {
        auto *all = static_cast<frame *>(arg);
        all->inner.scope_ = scope;
        all->out.run([&] { all->f(all->inner); });
        return RADDLE_OK;
    };
    check(raddle_scope(body, &all));
    all.out.take();
    if (all.inner.exception_)
        std::rethrow_exception(all.inner.exception_);
}

// ---------------------------------------------------------------------------------------------------- channels

namespace detail {

/// How a T travels: as a word, if it fits and is trivial, else on the heap.
template <class T> struct travel {
    static constexpr bool in_word = std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uintptr_t);
    static std::uintptr_t pack(T value)
    {
        if constexpr (in_word) {
            std::uintptr_t word = 0;
            std::memcpy(&word, &value, sizeof value);
            return word;
        } else {
            return reinterpret_cast<std::uintptr_t>(new T(std::move(value)));
        }
    }
    static T unpack(std::uintptr_t word)
    {
        if constexpr (in_word) {
            std::aligned_storage_t<sizeof(T), alignof(T)> room;
            std::memcpy(&room, &word, sizeof(T));
            return *reinterpret_cast<T *>(&room);
        } else {
            std::unique_ptr<T> mine(reinterpret_cast<T *>(word));
            return std::move(*mine);
        }
    }
    static void drop(std::uintptr_t word) noexcept
    {
        if constexpr (!in_word)
            delete reinterpret_cast<T *>(word);
    }
};

} // namespace detail

/// An end to send; copies are ends of the same channel.
template <class T> class sender {
public:
    sender(const sender &other) : tx_(detail::make<raddle_tx_t, raddle_tx_close>([&](raddle_tx_t **out) {
        return raddle_tx_clone(other.tx_.get(), out);
    }))
    {
    }
    sender(sender &&) noexcept = default;
    sender &operator=(sender &&) noexcept = default;
    /// Throws raddle::closed if all receivers are gone.
    void send(T value) const { (void)send_by(std::move(value), RADDLE_FOREVER); }
    bool send_for(T value, duration span) const { return send_by(std::move(value), detail::ns(span)); }
    bool try_send(T value) const { return send_by(std::move(value), 0); }
    void close() noexcept { tx_.reset(); }
    raddle_tx_t *get() const noexcept { return tx_.get(); }

private:
    template <class U> friend auto channel(std::int64_t capacity);
    explicit sender(raddle_tx_t *tx) : tx_(tx) {}
    bool send_by(T value, std::int64_t timeout) const
    {
        std::uintptr_t word = detail::travel<T>::pack(std::move(value));
        int code = raddle_send_for(tx_.get(), word, timeout);
        if (code != RADDLE_OK)
            detail::travel<T>::drop(word);
        return detail::in_time(code);
    }
    detail::handle<raddle_tx_t, raddle_tx_close> tx_;
};

/// An end to receive; copies are ends of the same channel.
template <class T> class receiver {
public:
    receiver(const receiver &other) : rx_(detail::make<raddle_rx_t, raddle_rx_close>([&](raddle_rx_t **out) {
        return raddle_rx_clone(other.rx_.get(), out);
    }))
    {
    }
    receiver(receiver &&) noexcept = default;
    receiver &operator=(receiver &&) noexcept = default;
    /// Empty when all senders are gone and nothing is left.
    std::optional<T> recv() const { return recv_by(RADDLE_FOREVER); }
    /// Empty when all senders are gone; throws raddle::timed_out.
    std::optional<T> recv_for(duration span) const { return recv_by(detail::ns(span)); }
    void close() noexcept { rx_.reset(); }
    raddle_rx_t *get() const noexcept { return rx_.get(); }

    /// for (T &value : receiver): until all senders are gone.
    class iterator {
    public:
        explicit iterator(const receiver *from) : from_(from) { ++*this; }
        T &operator*() { return *value_; }
        iterator &operator++()
        {
            if (from_ && !(value_ = from_->recv()))
                from_ = nullptr;
            return *this;
        }
        bool operator!=(const iterator &other) const { return from_ != other.from_; }

    private:
        const receiver *from_;
        std::optional<T> value_;
    };
    iterator begin() const { return iterator(this); }
    iterator end() const { return iterator(nullptr); }

private:
    template <class U> friend auto channel(std::int64_t capacity);
    template <class U> friend class receiver;
    friend receiver<std::uintptr_t> after(duration span);
    friend receiver<std::uintptr_t> tick(duration period);
    friend class fd;
    explicit receiver(raddle_rx_t *rx) : rx_(rx) {}
    std::optional<T> recv_by(std::int64_t timeout) const
    {
        std::uintptr_t word;
        int code = raddle_recv_for(rx_.get(), &word, timeout);
        if (code == RADDLE_ECLOSED)
            return std::nullopt;
        check(code);
        return detail::travel<T>::unpack(word);
    }
    detail::handle<raddle_rx_t, raddle_rx_close> rx_;
};

/// A channel of Ts: auto [tx, rx] = raddle::channel<T>(8). 0 is a rendezvous, a negative capacity has no bound.
template <class T> auto channel(std::int64_t capacity = -1)
{
    raddle_tx_t *tx = nullptr;
    raddle_rx_t *rx = nullptr;
    if constexpr (detail::travel<T>::in_word)
        check(raddle_channel(capacity, &tx, &rx));
    else
        check(raddle_channel_owned(capacity, detail::travel<T>::drop, &tx, &rx));
    return std::pair<sender<T>, receiver<T>>(sender<T>(tx), receiver<T>(rx));
}

/// One word, after so long.
inline receiver<std::uintptr_t> after(duration span)
{
    raddle_rx_t *rx = nullptr;
    check(raddle_after(detail::ns(span), &rx));
    return receiver<std::uintptr_t>(rx);
}

/// A word each period.
inline receiver<std::uintptr_t> tick(duration period)
{
    raddle_rx_t *rx = nullptr;
    check(raddle_tick(detail::ns(period), &rx));
    return receiver<std::uintptr_t>(rx);
}

/// One of several operations: raddle::select().recv(a, [](std::optional<T> value) {}).send(b, value, [] {}).run().
class select {
public:
    /// The function gets what was received, or nothing: all senders are gone.
    template <class T, class F> select &recv(const receiver<T> &from, F f)
    {
        add(raddle_case_t{nullptr, from.get(), 0, nullptr, 0}, [f = std::move(f)](int code, std::uintptr_t word) mutable {
            f(code == RADDLE_OK ? std::optional<T>(detail::travel<T>::unpack(word)) : std::nullopt);
        });
        return *this;
    }
    /// The function is called when it was sent. If all receivers are gone, raddle::closed is thrown.
    template <class T, class F> select &send(const sender<T> &to, T value, F f)
    {
        if constexpr (detail::travel<T>::in_word) {
            add(raddle_case_t{to.get(), nullptr, detail::travel<T>::pack(value), nullptr, 0},
                [f = std::move(f)](int code, std::uintptr_t) mutable {
                    check(code);
                    f();
                });
        } else {
            auto box = std::make_shared<std::unique_ptr<T>>(std::make_unique<T>(std::move(value)));
            auto word = reinterpret_cast<std::uintptr_t>(box->get());
            add(raddle_case_t{to.get(), nullptr, word, nullptr, 0},
                [f = std::move(f), box](int code, std::uintptr_t) mutable {
                    if (code == RADDLE_OK)
                        (void)box->release(); // it is the receiver's
                    check(code);
                    f();
                });
        }
        return *this;
    }
    /// Waits for the first that is possible, and returns its index. Once.
    std::size_t run() { return *run_by(RADDLE_FOREVER); }
    /// Empty if none was possible in that time.
    std::optional<std::size_t> run_for(duration span) { return run_by(detail::ns(span)); }

private:
    template <class F> void add(raddle_case_t which, F f)
    {
        then_.emplace_back(std::move(f));
        cases_.push_back(which);
    }
    std::optional<std::size_t> run_by(std::int64_t timeout)
    {
        std::size_t chosen = 0;
        int code = raddle_select(cases_.data(), cases_.size(), timeout, &chosen);
        if (code == RADDLE_ETIMEDOUT)
            return std::nullopt;
        if (code != RADDLE_OK && code != RADDLE_ECLOSED)
            check(code);
        auto then = std::move(then_[chosen]);
        auto word = cases_[chosen].word;
        // What was sent is no longer here: the next run is refused.
        cases_.clear();
        then_.clear();
        then(code, word);
        return chosen;
    }
    std::vector<raddle_case_t> cases_;
    std::vector<std::function<void(int, std::uintptr_t)>> then_;
};

// ---------------------------------------------------------------------------------------------------- locks

enum class lock_kind {
    parking = RADDLE_MUTEX,
    spin = RADDLE_SPIN,
    ticket = RADDLE_TICKET,
    mcs = RADDLE_MCS,
    clh = RADDLE_CLH
};

/// For std::lock_guard, std::unique_lock, std::scoped_lock.
class mutex {
public:
    explicit mutex(lock_kind kind = lock_kind::parking)
        : mutex_(detail::make<raddle_mutex_t, raddle_mutex_destroy>(
              [kind](raddle_mutex_t **out) { return raddle_mutex_create(static_cast<int>(kind), out); }))
    {
    }
    void lock() { check(raddle_mutex_lock(mutex_.get())); }
    bool try_lock() { return detail::in_time(raddle_mutex_trylock(mutex_.get())); }
    template <class Rep, class Period> bool try_lock_for(std::chrono::duration<Rep, Period> span)
    {
        auto whole = std::chrono::duration_cast<duration>(span);
        return detail::in_time(raddle_mutex_lock_for(mutex_.get(), detail::ns(whole)));
    }
    void unlock() { check(raddle_mutex_unlock(mutex_.get())); }
    raddle_mutex_t *get() const noexcept { return mutex_.get(); }

private:
    detail::handle<raddle_mutex_t, raddle_mutex_destroy> mutex_;
};

/// What has not been done yet.
class once_flag {
public:
    constexpr once_flag() noexcept = default;
    once_flag(const once_flag &) = delete;
    once_flag &operator=(const once_flag &) = delete;

private:
    raddle_once_t once_ = RADDLE_ONCE_INIT;
    template <class F> friend void call_once(once_flag &flag, F &&f);
};

/// Calls f, which may wait, unless a call that threw nothing came before; waits for one that is under way. Throws what f
/// throws: then the next caller calls its own.
template <class F> void call_once(once_flag &flag, F &&f)
{
    using call = detail::call<std::remove_reference_t<F>>;
    call own(f);
    auto body = [](void *self) {
        call::start(self);
        return static_cast<call *>(self)->out.has_failed() ? int(RADDLE_EPANIC) : int(RADDLE_OK);
    };
    int code = raddle_once(&flag.once_, body, &own);
    if (own.out.has_failed())
        own.out.take();
    check(code);
}

/// For std::shared_lock and std::unique_lock.
class shared_mutex {
public:
    shared_mutex() : lock_(detail::make<raddle_rwlock_t, raddle_rwlock_destroy>(raddle_rwlock_create)) {}
    void lock() { check(raddle_rwlock_write(lock_.get())); }
    bool try_lock() { return detail::in_time(raddle_rwlock_write_for(lock_.get(), 0)); }
    void unlock() { check(raddle_rwlock_unlock(lock_.get())); }
    void lock_shared() { check(raddle_rwlock_read(lock_.get())); }
    bool try_lock_shared() { return detail::in_time(raddle_rwlock_read_for(lock_.get(), 0)); }
    void unlock_shared() { check(raddle_rwlock_unlock(lock_.get())); }

private:
    detail::handle<raddle_rwlock_t, raddle_rwlock_destroy> lock_;
};

class condition_variable {
public:
    condition_variable() : cond_(detail::make<raddle_cond_t, raddle_cond_destroy>(raddle_cond_create)) {}
    void notify_one() { check(raddle_cond_signal(cond_.get())); }
    void notify_all() { check(raddle_cond_broadcast(cond_.get())); }
    void wait(std::unique_lock<mutex> &lock) { check(raddle_cond_wait(cond_.get(), lock.mutex()->get())); }
    template <class P> void wait(std::unique_lock<mutex> &lock, P holds)
    {
        while (!holds())
            wait(lock);
    }
    /// False if the time was over.
    bool wait_for(std::unique_lock<mutex> &lock, duration span)
    {
        return detail::in_time(raddle_cond_wait_for(cond_.get(), lock.mutex()->get(), detail::ns(span)));
    }

private:
    detail::handle<raddle_cond_t, raddle_cond_destroy> cond_;
};

class semaphore {
public:
    explicit semaphore(std::size_t permits)
        : sem_(detail::make<raddle_sem_t, raddle_sem_destroy>(
              [permits](raddle_sem_t **out) { return raddle_sem_create(permits, out); }))
    {
    }
    void acquire(std::size_t count = 1) { check(raddle_sem_acquire(sem_.get(), count)); }
    bool try_acquire_for(duration span, std::size_t count = 1)
    {
        return detail::in_time(raddle_sem_acquire_for(sem_.get(), count, detail::ns(span)));
    }
    void release(std::size_t count = 1) { check(raddle_sem_release(sem_.get(), count)); }
    void close() { check(raddle_sem_close(sem_.get())); }

private:
    detail::handle<raddle_sem_t, raddle_sem_destroy> sem_;
};

class barrier {
public:
    explicit barrier(std::size_t count)
        : barrier_(detail::make<raddle_barrier_t, raddle_barrier_destroy>(
              [count](raddle_barrier_t **out) { return raddle_barrier_create(count, out); }))
    {
    }
    /// True for one of those who meet.
    bool wait()
    {
        int is_last = 0;
        check(raddle_barrier_wait(barrier_.get(), &is_last));
        return is_last != 0;
    }

private:
    detail::handle<raddle_barrier_t, raddle_barrier_destroy> barrier_;
};

// ---------------------------------------------------------------------------------------------------- transactions

/// A variable for transactions. Its values are copied as bytes.
template <class T> class tvar {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    static constexpr bool in_word = sizeof(T) <= sizeof(std::uintptr_t);
    explicit tvar(const T &value = T())
        : var_(detail::make<raddle_var_t, raddle_var_destroy>([&value](raddle_var_t **out) {
              if constexpr (in_word)
                  return raddle_var_create(word(value), out);
              else
                  return raddle_var_create_block(&value, sizeof value, out);
          }))
    {
    }
    /// What it is now, by a transaction of its own.
    T load() const;
    /// Writes it, in a transaction of its own.
    void store(const T &value) const;
    raddle_var_t *get() const noexcept { return var_.get(); }

private:
    friend class tx;
    static std::uintptr_t word(const T &value)
    {
        std::uintptr_t word = 0;
        std::memcpy(&word, &value, sizeof value);
        return word;
    }
    detail::handle<raddle_var_t, raddle_var_destroy> var_;
};

namespace detail {
/// The transaction is to be run again: thrown through the body, and by nobody else's catch (...) to be kept.
struct again {};
template <class F> struct part;
} // namespace detail

/// An attempt of a transaction, as its body sees it. Exceptions of its functions are to be let through.
class tx {
public:
    tx(const tx &) = delete;
    tx &operator=(const tx &) = delete;
    template <class T> T read(const tvar<T> &from)
    {
        T value{};
        if constexpr (tvar<T>::in_word) {
            std::uintptr_t word = 0;
            go_on(raddle_stm_read(stm_, from.get(), &word));
            std::memcpy(&value, &word, sizeof value);
        } else {
            go_on(raddle_stm_read_block(stm_, from.get(), &value, sizeof value, nullptr));
        }
        return value;
    }
    template <class T> void write(const tvar<T> &to, const T &value)
    {
        if constexpr (tvar<T>::in_word)
            go_on(raddle_stm_write(stm_, to.get(), tvar<T>::word(value)));
        else
            go_on(raddle_stm_write_block(stm_, to.get(), &value, sizeof value));
    }
    /// Waits until something of what was read has changed, then runs the body again.
    [[noreturn]] void retry()
    {
        go_on(raddle_stm_retry(stm_));
        std::abort(); // it has thrown
    }
    void check(bool holds)
    {
        if (!holds)
            retry();
    }
    /// From here to its end the body runs once for certain; all other transactions wait until it has ended.
    void irrevocable() { go_on(raddle_stm_irrevocable(stm_)); }
    /// What f returns; if that retries, it is rolled back, and what g returns. An exception has rolled back its part.
    template <class F, class G> auto or_else(F &&f, G &&g)
    {
        detail::part<std::remove_reference_t<F>> first(f);
        detail::part<std::remove_reference_t<G>> second(g);
        int code = raddle_stm_or_else(stm_, first.body, &first, second.body, &second);
        if (!second.ran)
            return first.take(code);
        return second.take(code);
    }
    /// Calls f when this has committed. It must not throw.
    template <class F> void on_commit(F f)
    {
        auto *kept = new F(std::move(f));
        go_on(raddle_stm_on_commit(stm_, run_and_delete<F>, kept));
        go_on(raddle_stm_on_abort(stm_, only_delete<F>, kept));
    }
    /// Calls f when this attempt is rolled back. It must not throw.
    template <class F> void on_abort(F f)
    {
        auto *kept = new F(std::move(f));
        go_on(raddle_stm_on_abort(stm_, run_and_delete<F>, kept));
        go_on(raddle_stm_on_commit(stm_, only_delete<F>, kept));
    }
    raddle_stm_t *get() const noexcept { return stm_; }

private:
    template <class F> friend struct detail::part;
    explicit tx(raddle_stm_t *stm) : stm_(stm) {}
    static void go_on(int code)
    {
        if (code == RADDLE_EAGAIN)
            throw detail::again();
        raddle::check(code);
    }
    template <class F> static void *run_and_delete(void *kept) noexcept
    {
        std::unique_ptr<F> f(static_cast<F *>(kept));
        (*f)();
        return nullptr;
    }
    template <class F> static void *only_delete(void *kept) noexcept
    {
        delete static_cast<F *>(kept);
        return nullptr;
    }
    raddle_stm_t *stm_;
};

namespace detail {

/// A body, or a part of one, in the frame of the caller.
template <class F> struct part {
    using result = std::invoke_result_t<F &, tx &>;
    F &f;
    bool ran = false;
    outcome<result> out{};
    explicit part(F &f) : f(f) {}
    static int body(raddle_stm_t *stm, void *self)
    {
        auto *here = static_cast<part *>(self);
        here->ran = true;
        here->out.forget();
        bool is_again = false;
        here->out.run([&]() -> result {
            tx attempt(stm);
            try {
                return here->f(attempt);
            } catch (const again &) {
                is_again = true;
                throw;
            }
        });
        if (is_again) {
            here->out.forget(); // a wait for the next attempt may end otherwise
            return RADDLE_EAGAIN;
        }
        return here->out.has_failed() ? RADDLE_EPANIC : RADDLE_OK;
    }
    result take(int code)
    {
        if (code == RADDLE_EAGAIN)
            throw again();
        if (code != RADDLE_OK && !out.has_failed())
            check(code);
        return out.take();
    }
};

} // namespace detail

/// Runs f(tx) as a transaction, again until it commits, and returns what it returns. An exception rolls it back.
template <class F> auto atomically(F &&f)
{
    detail::part<std::remove_reference_t<F>> whole(f);
    return whole.take(raddle_atomically(whole.body, &whole));
}

/// How a transaction sees to it that what it has read is of one moment: raddle_algorithm.
enum class algorithm { versioned = RADDLE_VERSIONED, norec = RADDLE_NOREC, pessimistic = RADDLE_PESSIMISTIC };

/// As atomically, by this algorithm.
template <class F> auto atomically(algorithm by, F &&f)
{
    detail::part<std::remove_reference_t<F>> whole(f);
    return whole.take(raddle_atomically_by(static_cast<int>(by), whole.body, &whole));
}

/// As atomically; throws raddle::timed_out if what it waits for does not come in time.
template <class F> auto atomically_for(duration span, F &&f)
{
    detail::part<std::remove_reference_t<F>> whole(f);
    int code = raddle_atomically_for(detail::ns(span), whole.body, &whole);
    if (code == RADDLE_ETIMEDOUT)
        throw timed_out();
    return whole.take(code);
}

template <class T> T tvar<T>::load() const
{
    return atomically([this](tx &tx) { return tx.read(*this); });
}

template <class T> void tvar<T>::store(const T &value) const
{
    atomically([&](tx &tx) { tx.write(*this, value); });
}

// ---------------------------------------------------------------------------------------------------- tasks

/// Wakes a task; copies may outlive it.
class waker {
public:
    explicit waker(const raddle_waker_t *of)
        : waker_(detail::make<raddle_waker_t, raddle_waker_destroy>(
              [of](raddle_waker_t **out) { return raddle_waker_clone(of, out); }))
    {
    }
    void wake() const { check(raddle_waker_wake(waker_.get())); }

private:
    detail::handle<raddle_waker_t, raddle_waker_destroy> waker_;
};

/// What will be there later, as a word or a T.
template <class T> class future {
public:
    explicit future(raddle_future_t *of) : future_(of) {}
    /// Empty if the task waits for it now: then its function returns, empty-handed.
    auto poll(const raddle_waker_t *waker)
    {
        std::uintptr_t word = 0;
        int code = raddle_future_poll(future_.get(), waker, &word);
        if constexpr (std::is_void_v<T>)
            return code != RADDLE_EAGAIN && (check(code), true);
        else
            return code == RADDLE_EAGAIN ? std::nullopt : std::optional<T>((check(code), unpack(word)));
    }
    /// Waits for it. Not in a task.
    T wait()
    {
        std::uintptr_t word = 0;
        check(raddle_future_wait(future_.get(), RADDLE_FOREVER, &word));
        if constexpr (!std::is_void_v<T>)
            return unpack(word);
    }

private:
    static auto unpack(std::uintptr_t word) { return detail::travel<T>::unpack(word); }
    detail::handle<raddle_future_t, raddle_future_destroy> future_;
};

/// The next of a channel. Its end throws raddle::closed.
template <class T> future<T> next(const receiver<T> &from)
{
    raddle_future_t *made = nullptr;
    check(raddle_future_recv(from.get(), &made));
    return future<T>(made);
}

/// The time is over.
inline future<void> later(duration span)
{
    raddle_future_t *made = nullptr;
    check(raddle_future_sleep(detail::ns(span), &made));
    return future<void>(made);
}

/// A task, which ends with an R. Destroyed, it goes on.
template <class R> class task {
public:
    /// Waits for its end; its result, or the exception that it let out. Throws raddle::cancelled if it was aborted.
    R join()
    {
        int code = raddle_task_join(task_.get(), RADDLE_FOREVER, nullptr, nullptr);
        if (code != RADDLE_ECANCELED && code != RADDLE_EBUSY)
            (void)task_.release(); // it is used up
        check(code);
        return out_->take();
    }
    void abort() const { check(raddle_task_abort(task_.get())); }

private:
    template <class F> friend auto spawn_task(F &&f);
    detail::handle<raddle_task_t, raddle_task_detach> task_;
    std::shared_ptr<detail::outcome<R>> out_;
};

namespace detail {
template <class F> struct task_job {
    using polled = std::invoke_result_t<F &, const raddle_waker_t *>;
    using result = typename polled::value_type;
    F f;
    outcome<result> out{};
    explicit task_job(F f) : f(std::move(f)) {}
    static int poll(void *self, const raddle_waker_t *waker, void **)
    {
        task_job &here = **static_cast<std::shared_ptr<task_job> *>(self);
        polled got;
        outcome<void> call;
        call.run([&] { got = here.f(waker); });
        if (!call.has_failed() && !got)
            return RADDLE_EAGAIN;
        here.out.run([&]() -> result {
            call.take();
            return std::move(*got);
        });
        return RADDLE_OK;
    }
    static void end(void *self) { delete static_cast<std::shared_ptr<task_job> *>(self); }
};
} // namespace detail

/// Makes a task of f(waker), which is called again and again, until it returns a value instead of std::nullopt.
template <class F> auto spawn_task(F &&f)
{
    using job = detail::task_job<std::decay_t<F>>;
    auto shared = std::make_shared<job>(std::forward<F>(f));
    task<typename job::result> made;
    made.out_ = std::shared_ptr<detail::outcome<typename job::result>>(shared, &shared->out);
    auto its = std::make_unique<std::shared_ptr<job>>(shared);
    raddle_task_t *handle = nullptr;
    check(raddle_task_spawn(&handle, job::poll, job::end, its.get()));
    (void)its.release(); // it is the task's
    made.task_.reset(handle);
    return made;
}

// ---------------------------------------------------------------------------------------------------- the rest

/// A descriptor to be waited for. Owned: it is closed with this.
class fd {
public:
    explicit fd(int number, bool owned = true)
        : fd_(detail::make<raddle_fd_t, raddle_fd_close>([=](raddle_fd_t **out) {
              return raddle_fd_open(number, owned ? RADDLE_FD_OWNED : 0, out);
          }))
    {
    }
    /// How many bytes; 0 is the end.
    std::size_t read(void *data, std::size_t size, std::int64_t timeout = RADDLE_FOREVER) const
    {
        std::size_t done = 0;
        check(raddle_fd_read(fd_.get(), data, size, timeout, &done));
        return done;
    }
    void write_all(std::string_view bytes, std::int64_t timeout = RADDLE_FOREVER) const
    {
        while (!bytes.empty()) {
            std::size_t done = 0;
            check(raddle_fd_write(fd_.get(), bytes.data(), bytes.size(), timeout, &done));
            bytes.remove_prefix(done);
        }
    }
    fd accept() const
    {
        int number = -1;
        check(raddle_fd_accept(fd_.get(), RADDLE_FOREVER, &number));
        return fd(number);
    }
    void connect(const void *address, std::uint32_t size) const
    {
        check(raddle_fd_connect(fd_.get(), address, size, RADDLE_FOREVER));
    }
    /// For raddle::select: a word comes there when a read would not wait.
    receiver<std::uintptr_t> when_readable() const { return when(RADDLE_READ); }
    receiver<std::uintptr_t> when_writable() const { return when(RADDLE_WRITE); }
    raddle_fd_t *get() const noexcept { return fd_.get(); }

private:
    receiver<std::uintptr_t> when(int events) const
    {
        raddle_rx_t *rx = nullptr;
        check(raddle_fd_when(fd_.get(), events, &rx));
        return receiver<std::uintptr_t>(rx);
    }
    detail::handle<raddle_fd_t, raddle_fd_close> fd_;
};

/// Settings for a runtime.
class options {
public:
    options() : options_(detail::make<raddle_options_t, raddle_options_destroy>(raddle_options_create)) {}
    options &set(const char *name, const char *value)
    {
        check(raddle_options_set(options_.get(), name, value));
        return *this;
    }
    /// Has f called with the report of a deadlock, by a thread of the runtime. It lives as long as the program.
    template <class F> options &on_deadlock(F f)
    {
        auto *kept = new F(std::move(f));
        auto tell = [](const char *report, void *kept) { (*static_cast<F *>(kept))(report); };
        check(raddle_options_on_deadlock(options_.get(), tell, kept));
        return *this;
    }
    raddle_options_t *get() const noexcept { return options_.get(); }

private:
    detail::handle<raddle_options_t, raddle_options_destroy> options_;
};

/// Starts the default runtime.
inline void init(const options &by)
{
    check(raddle_init(by.get()));
}

/// A runtime of its own. Destroyed, it waits until nothing can run in it.
class runtime {
public:
    explicit runtime(const options &by = {})
        : runtime_(detail::make<raddle_runtime_t, shutdown>(
              [&](raddle_runtime_t **out) { return raddle_runtime_create(by.get(), out); }))
    {
    }
    template <class F> auto run(F &&f)
    {
        detail::call<std::remove_reference_t<F>> call(f);
        check(raddle_runtime_run(runtime_.get(), call.start, &call, nullptr));
        return call.out.take();
    }
    std::uint64_t counter(const char *name) const
    {
        std::uint64_t value = 0;
        check(raddle_counter(runtime_.get(), name, &value));
        return value;
    }

private:
    static int shutdown(raddle_runtime_t *runtime) { return raddle_runtime_shutdown(runtime, nullptr); }
    detail::handle<raddle_runtime_t, shutdown> runtime_;
};

/// Runs f as the main process of the default runtime.
template <class F> auto run(F &&f)
{
    detail::call<std::remove_reference_t<F>> call(f);
    check(raddle_run(call.start, &call, nullptr));
    return call.out.take();
}

/// What everybody waits for.
inline std::string dump()
{
    char *text = nullptr;
    check(raddle_dump(&text));
    std::unique_ptr<char, decltype(&std::free)> owned(text, std::free);
    return owned.get();
}

/// A span in the trace, until it is destroyed: static raddle::mark sorting("sorting"); raddle::span here(sorting);
class mark {
public:
    explicit mark(const char *name) { check(raddle_mark_create(name, &mark_)); }
    void here(std::uint32_t value = 0) const { check(raddle_trace_mark(mark_, value)); }
    void counter(std::uint32_t value) const { check(raddle_trace_counter(mark_, value)); }
    raddle_mark_t *get() const noexcept { return mark_; }

private:
    raddle_mark_t *mark_ = nullptr;
};

class span {
public:
    explicit span(const mark &of) : mark_(of.get()) { check(raddle_span_begin(mark_)); }
    span(const span &) = delete;
    span &operator=(const span &) = delete;
    ~span() { raddle_span_end(mark_); }

private:
    raddle_mark_t *mark_;
};

/// Memory of Raddle's allocator for containers: std::vector<int, raddle::allocator<int>>. Throws std::bad_alloc.
template <class T> struct allocator {
    using value_type = T;

    allocator() = default;
    template <class U> allocator(const allocator<U> &) noexcept {}

    T *allocate(std::size_t count)
    {
        if (count > std::size_t(-1) / sizeof(T))
            throw std::bad_alloc();
        void *block = alignof(T) > 16 ? raddle_aligned_alloc(alignof(T), count * sizeof(T))
                                      : raddle_malloc(count * sizeof(T));
        if (!block)
            throw std::bad_alloc();
        return static_cast<T *>(block);
    }

    void deallocate(T *block, std::size_t) noexcept { raddle_free(block); }
    template <class U> bool operator==(const allocator<U> &) const noexcept { return true; }
    template <class U> bool operator!=(const allocator<U> &) const noexcept { return false; }
};

} // namespace raddle

#endif
