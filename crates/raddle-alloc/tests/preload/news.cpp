// new and delete in all forms; what is thrown where there is no memory; threads whose objects others delete.
#include <cassert>
#include <cstdint>
#include <malloc.h>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct alignas(256) Wide { char bytes[300]; };
static int asked;

int main() {
    assert(malloc_usable_size(operator new(17)) == 32);
    Wide *wide = new Wide, *more = new Wide[3], *perhaps = new (std::nothrow) Wide, *many = new (std::nothrow) Wide[2];
    for (Wide *each : {wide, more, perhaps, many}) assert(reinterpret_cast<uintptr_t>(each) % 256 == 0);
    delete wide, delete[] more, delete perhaps, delete[] many;
    int *one = new int(7), *some = new int[10](), *quiet = new (std::nothrow) int, *list = new (std::nothrow) int[4];
    assert(*one == 7 && some[9] == 0);
    delete one, delete[] some, delete quiet, delete[] list;
    operator delete(operator new(5), std::nothrow), operator delete(operator new(5), std::size_t(5));
    volatile std::size_t much = SIZE_MAX / 2;
    try {
        (void)operator new(much);
        return 1;
    } catch (const std::bad_alloc &) {}
    try {
        (void)operator new[](much, std::align_val_t(64));
        return 1;
    } catch (const std::bad_alloc &) {}
    assert(!operator new(much, std::nothrow));
    std::set_new_handler([] {
        if (++asked == 3) std::set_new_handler(nullptr);
    });
    try {
        (void)operator new(much);
        return 1;
    } catch (const std::bad_alloc &) {}
    assert(asked == 3);
    std::vector<std::unique_ptr<std::map<int, std::string>>> maps(8);
    for (int round = 0; round < 20; round++) {
        std::vector<std::thread> threads;
        for (int number = 0; number < 8; number++)
            threads.emplace_back([&maps, number, round] {
                thread_local std::vector<std::string> kept;
                for (int key = 0; key < 200; key++) kept.push_back(std::string(key, 'x'));
                auto map = std::make_unique<std::map<int, std::string>>();
                for (int key = 0; key < 200; key++) (*map)[key] = std::to_string(key * round) + std::string(40, 'y');
                maps[number] = std::move(map);
            });
        for (auto &thread : threads) thread.join();
    }
    return 0;
}
