// raddle-measure's side in C++: arguments, calibrated repetition, samples as lines of JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

namespace measure {

class Job {
  public:
    int workers = 1;

    Job(int count, char **arguments) {
        for (int at = 1; at + 1 < count; at += 2) {
            std::string name = arguments[at], value = arguments[at + 1];
            if (name == "--workers") workers = std::stoi(value);
            else if (name == "--samples") samples = std::stoi(value);
            else if (name == "--run-ns") run_ns_min = std::stoll(value);
            else if (name == "--params") read(value);
        }
    }

    std::int64_t number(const std::string &name) const { return std::stoll(params.at(name)); }
    const std::string &text(const std::string &name) const { return params.at(name); }

    // Times body, which performs so many operations a call and returns their checksum.
    template <typename Body> void time(std::int64_t operations, Body body) const {
        const std::uint64_t checksum = body();
        std::int64_t calls = 1;
        while (timed(calls, checksum, body) < run_ns_min) calls *= 2;
        for (int sample = 0; sample < samples; sample++) {
            const double ns = double(timed(calls, checksum, body)) / (double(calls) * double(operations));
            std::printf("{\"ns_per_op\":%.6g,\"checksum\":\"%llu\",\"extra\":{}}\n", ns,
                        static_cast<unsigned long long>(checksum));
        }
    }

  private:
    int samples = 3;
    std::int64_t run_ns_min = 20'000'000;
    std::map<std::string, std::string> params;

    void read(const std::string &text) {
        std::istringstream parts(text);
        for (std::string part; std::getline(parts, part, ',');) {
            const auto equals = part.find('=');
            params[part.substr(0, equals)] = part.substr(equals + 1);
        }
    }

    template <typename Body>
    static std::int64_t timed(std::int64_t calls, std::uint64_t checksum, Body &body) {
        const auto start = std::chrono::steady_clock::now();
        for (std::int64_t call = 0; call < calls; call++) {
            if (body() != checksum) {
                std::fprintf(stderr, "the checksum differs from run to run\n");
                std::exit(1);
            }
        }
        return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    }
};

} // namespace measure
