// A library in C++ that a program in C opens: where there is no memory its operators do what those of C++ do.
#include <cstddef>
#include <new>

static volatile size_t much = static_cast<size_t>(1) << 60;

extern "C" int ask(const char *kind) {
    switch (*kind) {
    case 'n': return new (std::nothrow) char[much] == nullptr;
    case 'a': return new (std::align_val_t(64), std::nothrow) char[much] == nullptr;
    }
    try {
        new char[much];
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}
