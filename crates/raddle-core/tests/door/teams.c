// Teams that go from round to round: as many as there are workers, more, and in each other's way.
#define _GNU_SOURCE
#include "door.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int failed;
enum { ROUNDS = 300, MEMBERS_MAX = 8 };
#define HOUR 3600000000000ULL

typedef struct {
    uint32_t word;
    atomic_uint missing;
    unsigned members;
    uint64_t spin;
    unsigned done[MEMBERS_MAX];
} team;

typedef struct { team *team; unsigned number; } member;

static void barrier(team *t) {
    uint32_t round = door_team_round(&t->word);
    if (atomic_fetch_sub(&t->missing, 1) == 1) {
        atomic_store(&t->missing, t->members);
        door_team_begin_next(&t->word);
    } else {
        CHECK(door_team_wait(&t->word, round, t->spin) == 0);
    }
}

// Between two barriers all have done the same number of rounds. Nothing here is atomic but the barrier.
static void *works(void *argument) {
    member *m = argument;
    for (unsigned round = 1; round <= ROUNDS; round++) {
        m->team->done[m->number] = round;
        barrier(m->team);
        for (unsigned i = 0; i < m->team->members; i++) CHECK(m->team->done[i] == round);
        barrier(m->team);
    }
    return NULL;
}

static void run(unsigned members, uint64_t spin) {
    team t = {.missing = members, .members = members, .spin = spin};
    pthread_t threads[MEMBERS_MAX];
    member all[MEMBERS_MAX];
    for (unsigned i = 0; i < members; i++) {
        all[i] = (member){&t, i};
        pthread_create(&threads[i], NULL, works, &all[i]);
    }
    for (unsigned i = 0; i < members; i++) pthread_join(threads[i], NULL);
    CHECK(t.word == 2 * ROUNDS);
}

static uint32_t late;
static void *sleeps_and_begins(void *unused) {
    usleep(3000);
    door_team_begin_next(&late);
    return unused;
}

// Who spins for an hour keeps neither an alarm nor anybody else from its worker.
static void spins_long(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps_and_begins, NULL);
    CHECK(door_team_wait(&late, 0, HOUR) == 0 && door_team_round(&late) == 1);
    CHECK(door_team_wait(&late, 0, HOUR) == 0);
    pthread_join(thread, NULL);
}

int main(void) {
    unsigned workers = atoi(getenv("RADDLE_WORKERS"));
    for (unsigned members = 1; members <= MEMBERS_MAX; members *= 2) {
        int fits = members > 1 && members <= workers;
        CHECK((door_team_default_spin(members) > 0) == fits);
        run(members, 0);
        run(members, door_team_default_spin(members));
        run(members, HOUR);
    }
    spins_long();
    return failed;
}
