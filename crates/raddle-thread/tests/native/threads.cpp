// What C and C++ code expects of its thread, called by `it/native.rs` on threads that change workers at each `yield`.
// Each function returns 0, or the line of what did not hold.
#include <atomic>
#include <cerrno>
#include <clocale>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctype.h>
#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#define HOLDS(what) do { if (!(what)) return __LINE__; } while (0)

typedef void (*yield_t)();

static __thread int plain = 7;
static thread_local std::string text = "first";

extern "C" int variables(int id, yield_t yield) {
    HOLDS(plain == 7 && text == "first");
    int *place = &plain;
    plain = id;
    text = std::to_string(id);
    for (int turn = 0; turn < 20; turn++) {
        errno = id;
        yield();
        HOLDS(errno == id && plain == id && place == &plain && text == std::to_string(id));
    }
    return 0;
}

extern "C" int exceptions(int id, yield_t yield) {
    for (int turn = 0; turn < 10; turn++) {
        std::string said = std::to_string(id * 100 + turn);
        try {
            throw std::runtime_error(said);
        } catch (std::exception &) {
            yield();
            try {
                HOLDS(std::uncaught_exceptions() == 0);
                throw;
            } catch (std::exception &again) {
                yield();
                HOLDS(said == again.what());
            }
        }
    }
    return 0;
}

extern "C" int memory(int id, yield_t yield) {
    void *held[64] = {};
    unsigned random = id * 7919 + 1;
    for (int turn = 0; turn < 400; turn++) {
        random = random * 1103515245 + 12345;
        void *&slot = held[random >> 16 & 63];
        if (slot) HOLDS(*(unsigned char *)slot == (unsigned char)id);
        free(slot);
        size_t size = (random >> 8) % 3000 + 1;
        slot = malloc(size);
        memset(slot, id, size);
        if (turn % 8 == 0) yield();
    }
    for (void *slot : held) free(slot);
    return 0;
}

extern "C" int library(int id, yield_t yield) {
    HOLDS(isalpha('x') && toupper('x') == 'X');
    locale_t own = newlocale(LC_ALL_MASK, "C", nullptr);
    HOLDS(own && uselocale(nullptr) == LC_GLOBAL_LOCALE);
    uselocale(own);
    char line[64], wanted[64];
    snprintf(wanted, sizeof wanted, "%d %s", id, strerror(ENOENT));
    for (int turn = 0; turn < 10; turn++) {
        yield();
        HOLDS(uselocale(nullptr) == own);
        snprintf(line, sizeof line, "%d %s", id, strerror(ENOENT));
        HOLDS(!strcmp(line, wanted) && atof("3.25") == 3.25);
        HOLDS(!dlopen("/no/such/library", RTLD_NOW));
        const char *said = dlerror();
        HOLDS(said && !dlerror());
    }
    // Left behind on purpose, for the next life of the storage to be reset.
    HOLDS(!dlopen("/no/such/library", RTLD_NOW));
    return 0;
}

static std::atomic<int> destroyed;
static pthread_key_t keys[40];
static pthread_once_t keys_once = PTHREAD_ONCE_INIT;

extern "C" int keys_destroyed() { return destroyed; }

extern "C" int specific(int id, yield_t yield) {
    pthread_once(&keys_once, [] {
        for (auto &key : keys) pthread_key_create(&key, [](void *) { destroyed++; });
    });
    for (auto &key : keys) HOLDS(!pthread_getspecific(key));
    for (auto &key : keys) pthread_setspecific(key, (void *)(long)id);
    yield();
    for (auto &key : keys) HOLDS(pthread_getspecific(key) == (void *)(long)id);
    return 0;
}

extern "C" int identity(int, yield_t yield) {
    pthread_t self = pthread_self();
    for (int turn = 0; turn < 5; turn++) {
        yield();
        HOLDS(pthread_equal(self, pthread_self()));
        pthread_attr_t attributes;
        HOLDS(!pthread_getattr_np(pthread_self(), &attributes));
        void *stack;
        size_t size;
        HOLDS(!pthread_attr_getstack(&attributes, &stack, &size));
        HOLDS((char *)&stack > (char *)stack && (char *)&stack < (char *)stack + size);
        pthread_attr_destroy(&attributes);
    }
    return 0;
}

// Thread 1 holds, the others find it held; all of them go on other workers between the calls.
extern "C" int mutexes(int id, yield_t yield) {
    pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    static pthread_mutex_t shared = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    if (id == 1) {
        HOLDS(!pthread_mutex_lock(&shared));
        for (int turn = 0; turn < 50; turn++) yield();
        HOLDS(!pthread_mutex_lock(&shared) && !pthread_mutex_unlock(&shared) && !pthread_mutex_unlock(&shared));
    } else {
        yield();
        int answer = pthread_mutex_trylock(&shared);
        HOLDS(answer == EBUSY || answer == 0);
        if (!answer) HOLDS(!pthread_mutex_unlock(&shared));
    }
    HOLDS(!pthread_mutex_lock(&checked) && !pthread_mutex_lock(&recursive));
    yield();
    HOLDS(pthread_mutex_lock(&checked) == EDEADLK && !pthread_mutex_lock(&recursive));
    HOLDS(!pthread_mutex_unlock(&checked) && pthread_mutex_unlock(&checked) == EPERM);
    HOLDS(!pthread_mutex_unlock(&recursive) && !pthread_mutex_unlock(&recursive));
    return 0;
}

extern "C" int jumps(int, yield_t yield) {
    jmp_buf here;
    volatile int turns = 0;
    setjmp(here);
    yield();
    if (turns++ < 5) longjmp(here, 1);
    HOLDS(turns == 6);
    return 0;
}

extern "C" int other_threads(int id, yield_t yield) {
    int seen = 0;
    plain = id;
    std::thread other([&] { seen = plain; plain = -1; });
    yield();
    other.join();
    HOLDS(seen == 7 && plain == id);
    return 0;
}

static volatile sig_atomic_t handled;
extern "C" int signals(int id, yield_t yield) {
    struct sigaction action = {};
    action.sa_handler = [](int) { int kept = errno; errno = 12345; plain++; handled = 1; errno = kept; };
    HOLDS(!sigaction(SIGUSR1, &action, nullptr));
    plain = id;
    errno = id;
    yield();
    HOLDS(!raise(SIGUSR1) && handled && plain == id + 1 && errno == id);
    return 0;
}

extern "C" int forks(int, yield_t yield) {
    yield();
    text = "parent's";
    pid_t child = fork();
    HOLDS(child >= 0);
    if (child == 0) {
        free(malloc(1000));
        if (text != "parent's") _exit(2);
        int seen = 0;
        std::thread([&] { seen = plain; free(malloc(100)); }).join();
        _exit(seen == 7 ? 0 : 3);
    }
    int status = 0;
    HOLDS(waitpid(child, &status, 0) == child);
    HOLDS(WIFEXITED(status));
    HOLDS(WEXITSTATUS(status) == 0);
    return 0;
}
