// Create and join of fibers of Boost.Fiber, a batch at a time.
#include <cstdint>
#include <vector>

#include "fibers.hpp"
#include "measure.hpp"

int main(int count, char **arguments) {
    const measure::Job job(count, arguments);
    const std::int64_t all = job.number("count"), batch = job.number("batch");
    measure::on_workers(static_cast<std::uint32_t>(job.workers), [&] {
        std::vector<std::uint64_t> results(static_cast<std::size_t>(batch));
        std::vector<boost::fibers::fiber> fibers;
        job.time(all, [&] {
            std::uint64_t sum = 0;
            for (std::int64_t first = 0; first < all; first += batch) {
                for (std::int64_t place = 0; place < batch; place++) {
                    fibers.emplace_back([&results, first, place] {
                        results[static_cast<std::size_t>(place)] = static_cast<std::uint64_t>(first + place);
                    });
                }
                for (auto &fiber : fibers) fiber.join();
                fibers.clear();
                for (const auto result : results) sum += result;
            }
            return sum;
        });
    });
}
