// Fibers of Boost.Fiber that only yield.
#include <atomic>
#include <cstdint>
#include <vector>

#include "fibers.hpp"
#include "measure.hpp"

int main(int count, char **arguments) {
    const measure::Job job(count, arguments);
    const std::int64_t processes = job.number("processes"), rounds = job.number("rounds");
    measure::on_workers(static_cast<std::uint32_t>(job.workers), [&] {
        job.time(processes * rounds, [&] {
            std::atomic<std::uint64_t> sum{0};
            std::vector<boost::fibers::fiber> all;
            for (std::int64_t process = 0; process < processes; process++) {
                all.emplace_back([&sum, rounds] {
                    for (std::int64_t round = 0; round < rounds; round++) boost::this_fiber::yield();
                    sum += static_cast<std::uint64_t>(rounds);
                });
            }
            for (auto &fiber : all) fiber.join();
            return sum.load();
        });
    });
}
