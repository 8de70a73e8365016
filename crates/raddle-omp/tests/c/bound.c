// Threads are bound to places, and stay there: where, is computed here by the rules of OpenMP 5.1.
#define _GNU_SOURCE
#include "check.h"
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static int places;

// Whether the caller runs on a processor of its place, and has so all along.
static int is_at_home(void) {
    int place = omp_get_place_num();
    if (place < 0 || place >= places) return 0;
    int ids[omp_get_place_num_procs(place)], mine = sched_getcpu(), found = 0;
    omp_get_place_proc_ids(place, ids);
    for (int n = 0; n < omp_get_place_num_procs(place); n++) found |= ids[n] == mine;
    return found;
}

// Where the `n`-th of `count` is to be, whose master is at the first place of all.
static int close_place(int n, int count) {
    if (count <= places) return n;
    int each = count / places, more = count % places, place = 0;
    for (int left = each + (more > 0); n >= left; place++, left = each + (place < more)) n -= left;
    return place;
}

static int spread_place(int n, int count) {
    if (count > places) return close_place(n, count);
    int each = places / count, more = places % count;
    return n * each + (n < more ? n : more);
}

static void spin(void) {
    for (volatile int n = 0; n < 20000; n++) {}
}

int main(int count, char **words) {
    places = omp_get_num_places();
    CHECK(places > 0);
    int bind = omp_get_proc_bind();
    if (count > 1 && strcmp(words[1], "unbound") == 0) {
        CHECK(bind == omp_proc_bind_false);
        CHECK(omp_get_place_num() == -1);
#pragma omp parallel num_threads(3) proc_bind(close)
        CHECK(omp_get_place_num() == -1);
        return puts("well") < 0;
    }
    CHECK(bind != omp_proc_bind_false);
    CHECK(omp_get_place_num() == 0);
    CHECK(omp_get_partition_num_places() == places);
    for (int round = 0; round < 30; round++) {
        for (int threads = 1; threads <= 2 * places + 1; threads++) {
#pragma omp parallel num_threads(threads) proc_bind(close)
            for (int n = 0; n < 3; n++) {
                CHECK(omp_get_place_num() == close_place(omp_get_thread_num(), threads));
                CHECK(is_at_home());
                spin();
#pragma omp barrier
            }
        }
#pragma omp parallel num_threads(2) proc_bind(spread)
        {
            int outer = omp_get_thread_num(), mine = omp_get_place_num();
            CHECK(mine == spread_place(outer, 2));
            CHECK(is_at_home());
            if (places > 1) CHECK(omp_get_partition_num_places() < places);
            // A nested team stays in its master's part.
#pragma omp parallel num_threads(3) proc_bind(master)
            {
                CHECK(omp_get_place_num() == mine);
                CHECK(is_at_home());
            }
        }
        CHECK(omp_get_partition_num_places() == places);
#pragma omp parallel for num_threads(places) schedule(dynamic, 1) proc_bind(close)
        for (int n = 0; n < 50; n++) CHECK(is_at_home());
    }
    return puts("well") < 0;
}
