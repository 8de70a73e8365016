/* What stands around regions: locks, critical, forks of the process, teams, target, memory, who spins. */
#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void locks(void) {
    omp_lock_t lock;
    omp_nest_lock_t nested;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    long a = 0, b = 0, c = 0, d = 0;
#pragma omp parallel num_threads(6)
    for (int k = 0; k < 500; k++) {
        omp_set_lock(&lock);
        a++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nested);
        CHECK(omp_test_nest_lock(&nested) == 2);
        b++;
        omp_unset_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
#pragma omp critical
        c++;
        while (!omp_test_lock(&lock)) {
        }
        d++;
        omp_unset_lock(&lock);
    }
    CHECK(a == 3000 && b == 3000 && c == 3000 && d == 3000);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
}

static int members(void) {
    int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    sum += 1;
    return sum;
}

static void forks(void) {
    CHECK(members() == 4);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(members() == 4 ? 7 : 1);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(members() == 4);
}

static void on_host(void) {
    int x = 1, teams = 0;
#pragma omp target map(tofrom : x)
    x += 1;
    CHECK(x == 2);
#pragma omp target teams num_teams(2) map(tofrom : teams)
#pragma omp parallel num_threads(1)
    {
        CHECK(omp_get_num_teams() <= 2 && omp_get_team_num() < omp_get_num_teams());
#pragma omp atomic
        teams++;
    }
    CHECK(teams >= 1);
    CHECK(omp_is_initial_device() && omp_get_num_devices() == 0);
}

static void memory(void) {
    char *bytes = omp_alloc(100, omp_default_mem_alloc);
    CHECK(bytes != NULL);
    bytes[99] = 1;
    omp_free(bytes, omp_default_mem_alloc);
}

/* More members than workers, who spin by calls until all are there. */
static void spins(void) {
    int arrived = 0;
#pragma omp parallel num_threads(8)
    {
#pragma omp atomic
        arrived++;
        for (int now = 0; now < 8;) {
#pragma omp atomic read
            now = arrived;
            omp_get_wtime();
        }
    }
}

/* What runs at a thread's end has regions, too. */
static pthread_key_t key;
static int at_end;

static void end(void *again) {
    int sum = members();
#pragma omp atomic
    at_end += sum;
    if (again == &key) pthread_setspecific(key, &at_end);
}

static void *thread(void *unused) {
    pthread_setspecific(key, &key);
    CHECK(members() == 4);
    return unused;
}

static void ends(void) {
    CHECK(pthread_key_create(&key, end) == 0);
    for (int round = 0; round < 5; round++) {
        pthread_t one, two;
        CHECK(pthread_create(&one, NULL, thread, NULL) == 0 && pthread_create(&two, NULL, thread, NULL) == 0);
        CHECK(pthread_join(one, NULL) == 0 && pthread_join(two, NULL) == 0);
    }
    CHECK(at_end == 80);
}

/* Each iteration is one team's, whoever compiles it. */
static void leagues(void) {
    enum { ALL = 100 };
    int times[ALL] = {0}, teams = 0;
#pragma omp teams distribute num_teams(4)
    for (int at = 0; at < ALL; at++) {
        if (omp_get_team_num() == 0) teams = omp_get_num_teams();
#pragma omp atomic
        times[at]++;
    }
    CHECK(teams >= 1 && teams <= 4);
#pragma omp target teams distribute parallel for num_teams(4) map(tofrom : times)
    for (int at = 0; at < ALL; at++) {
#pragma omp atomic
        times[at]++;
    }
    for (int at = 0; at < ALL; at++) CHECK(times[at] == 2);
    omp_set_num_teams(7);
    CHECK(omp_get_max_teams() == 7);
}

static int own = 128;
#pragma omp threadprivate(own)

/* What is threadprivate begins again in the threads that come after a pause, but in this one. */
static void pauses(void) {
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(4)
        {
            CHECK(omp_get_thread_num() == 0 || own == 128);
            own = omp_get_thread_num() + 1000;
        }
#pragma omp parallel num_threads(4)
        CHECK(own == omp_get_thread_num() + 1000);
        CHECK(omp_pause_resource_all(omp_pause_soft) == 0);
    }
}

int main(void) {
    leagues();
    pauses();
    locks();
    forks();
    ends();
    on_host();
    memory();
    spins();
    printf("well\n");
    return 0;
}
