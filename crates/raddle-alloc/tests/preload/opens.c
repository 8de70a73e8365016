// A program in C, without C++'s library, that opens one in C++ for itself alone.
#include <assert.h>
#include <dlfcn.h>

int main(int count, char **arguments) {
    assert(count == 3);
    assert(!dlsym(RTLD_DEFAULT, "__cxa_throw"));
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    assert(library);
    int (*ask)(const char *) = (int (*)(const char *))dlsym(library, "ask");
    assert(ask);
    return !ask(arguments[2]);
}
