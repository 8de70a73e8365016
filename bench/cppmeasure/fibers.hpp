// Boost.Fiber on as many OS threads as workers: with more than one, each runs the work-stealing scheduler.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <boost/fiber/all.hpp>

namespace measure {

template <typename Body> void on_workers(std::uint32_t workers, Body body) {
    namespace fibers = boost::fibers;
    const auto steal = [workers] {
        if (workers > 1) fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers, true);
    };
    bool over = false;
    fibers::mutex mutex;
    fibers::condition_variable ended;
    std::vector<std::thread> others;
    for (std::uint32_t other = 1; other < workers; other++) {
        others.emplace_back([&] {
            steal();
            std::unique_lock<fibers::mutex> lock(mutex);
            ended.wait(lock, [&] { return over; });
        });
    }
    steal();
    body();
    {
        std::unique_lock<fibers::mutex> lock(mutex);
        over = true;
    }
    ended.notify_all();
    for (auto &other : others) other.join();
}

} // namespace measure
