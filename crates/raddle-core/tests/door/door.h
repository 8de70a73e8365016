// What the adaptor exports beside POSIX's names: the door as C sees it.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define ANY UINT32_MAX
#define FOR_EVER (-1)

// Sleeps while *word == expected. 0, EAGAIN, ETIMEDOUT, ECANCELED; EDEADLK in a poller's call. owner may be NULL.
int door_futex_wait(uint32_t *word, uint32_t expected, uint32_t bits, int64_t nanoseconds, const uintptr_t *owner);
uint32_t door_futex_wake(const uint32_t *word, uint32_t count, uint32_t bits);
long door_futex_requeue(uint32_t *from, uint32_t expected, uint32_t wake, const uint32_t *to, uint32_t moves);

// Who holds a lock: a word that begins as 0.
void door_owner_set(uintptr_t *owner);
void door_owner_clear(uintptr_t *owner);
int door_owner_is_caller(const uintptr_t *owner);

// Called by workers while something is outstanding; answers within how many nanoseconds it is to be called again.
typedef struct door_poller door_poller;
typedef uint64_t door_ask(void *data, int is_idle);
door_poller *door_poller_new(uint64_t gap_nanoseconds, door_ask *ask, void *data);
void door_poller_begin(door_poller *poller, size_t count);
void door_poller_end(door_poller *poller, size_t count);
void door_poller_free(door_poller *poller);

// Whether the caller's time slice is over; the second lets others run if it is.
int door_tick_due(void);
int door_yield_if_due(void);

// A team's rounds: a word that begins as 0. A wait spins for so long before it sleeps.
uint32_t door_team_round(const uint32_t *word);
void door_team_begin_next(uint32_t *word);
int door_team_wait(uint32_t *word, uint32_t round, uint64_t spin_nanoseconds);
uint64_t door_team_default_spin(size_t members);

size_t door_count(size_t what);
size_t door_stop_at_base(void);
int door_call_catching(void *(*call)(void *), void *argument);
void *door_call_plainly(void *(*call)(void *), void *argument);

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); failed = 1; } } while (0)
