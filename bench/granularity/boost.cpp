// The Transterpreter's replicated PAR on Boost.Fiber: a fiber for each packet, one for a branch of each inner PAR.
#include <atomic>
#include <cstdint>
#include <vector>

#include "fibers.hpp"
#include "measure.hpp"

namespace fibers = boost::fibers;

__attribute__((noinline)) static void work(std::vector<std::int32_t> &array, std::int32_t packet) {
    for (auto &place : array) place += packet;
}

static std::uint64_t one(std::int32_t packet, std::int64_t rounds, std::size_t grain) {
    std::vector<std::int32_t> array(grain);
    fibers::unbuffered_channel<std::int32_t> channel;
    std::uint64_t received = 0;
    for (std::int64_t round = 0; round < rounds; round++) {
        fibers::fiber branch([&] {
            work(array, packet);
            channel.push(packet);
        });
        received += static_cast<std::uint64_t>(channel.value_pop());
        branch.join();
    }
    for (const auto place : array) received += static_cast<std::uint64_t>(place);
    return received;
}

int main(int count, char **arguments) {
    const measure::Job job(count, arguments);
    const std::int64_t packets = job.number("packets"), rounds = job.number("rounds");
    const auto grain = static_cast<std::size_t>(job.number("grain"));
    measure::on_workers(static_cast<std::uint32_t>(job.workers), [&] {
        job.time(packets * rounds, [&] {
            std::atomic<std::uint64_t> sum{0};
            std::vector<fibers::fiber> all;
            for (std::int64_t packet = 0; packet < packets; packet++) {
                all.emplace_back([&, packet] { sum += one(static_cast<std::int32_t>(packet), rounds, grain); });
            }
            for (auto &each : all) each.join();
            return sum.load();
        });
    });
}
