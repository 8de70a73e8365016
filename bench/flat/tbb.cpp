// A batch of tasks that return at once, each its own call of task_group::run, all waited for, in oneTBB.
#include <cstdint>
#include <vector>

#include <tbb/global_control.h>
#include <tbb/task_group.h>

#include "measure.hpp"

int main(int count, char **arguments) {
    const measure::Job job(count, arguments);
    const std::int64_t all = job.number("count"), batch = job.number("batch");
    const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                      static_cast<std::size_t>(job.workers));
    std::vector<std::uint64_t> results(static_cast<std::size_t>(batch));
    job.time(all, [&] {
        std::uint64_t sum = 0;
        tbb::task_group group;
        for (std::int64_t first = 0; first < all; first += batch) {
            for (std::int64_t index = 0; index < batch; index++) {
                group.run([&results, first, index] {
                    results[static_cast<std::size_t>(index)] = static_cast<std::uint64_t>(first + index);
                });
            }
            group.wait();
            for (const auto result : results) sum += result;
        }
        return sum;
    });
}
