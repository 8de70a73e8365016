// A batch of tasks that return at once, each its own task construct, all waited for, in OpenMP.
#include <cstdint>
#include <omp.h>
#include <vector>

#include "measure.hpp"

int main(int count, char **arguments) {
    const measure::Job job(count, arguments);
    const std::int64_t all = job.number("count"), batch = job.number("batch");
    omp_set_num_threads(job.workers);
    std::vector<std::uint64_t> results(static_cast<std::size_t>(batch));
    job.time(all, [&] {
        std::uint64_t sum = 0;
#pragma omp parallel
#pragma omp single
        for (std::int64_t first = 0; first < all; first += batch) {
            for (std::int64_t index = 0; index < batch; index++) {
#pragma omp task firstprivate(index, first) shared(results)
                results[static_cast<std::size_t>(index)] = static_cast<std::uint64_t>(first + index);
            }
#pragma omp taskwait
            for (const auto result : results) sum += result;
        }
        return sum;
    });
}
