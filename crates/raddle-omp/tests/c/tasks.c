/* Tasks: trees, dependences, groups, loops, reductions, priorities, events, cancellation. */
#include "check.h"
#include <unistd.h>

static int fib(int n) {
    int a, b;
    if (n < 2) return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void trees(void) {
    int result = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    result = fib(17);
    CHECK(result == 1597);
    /* More than any queue has room for. */
    long sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int k = 0; k < 20000; k++)
#pragma omp task firstprivate(k)
    {
#pragma omp atomic
        sum += k;
    }
    CHECK(sum == 199990000);
}

static void dependences(void) {
    int x = 0, order[3] = {0};
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int round = 0; round < 200; round++) {
#pragma omp task depend(out : x)
        x = round;
        for (int k = 0; k < 3; k++)
#pragma omp task depend(in : x) firstprivate(k, round)
        {
            CHECK(x == round);
#pragma omp atomic
            order[k]++;
        }
#pragma omp task depend(inout : x)
        x = -1;
    }
    CHECK(x == -1 && order[0] == 200 && order[1] == 200 && order[2] == 200);
    int y = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp task depend(out : y)
        y = 5;
#pragma omp task if (0) depend(in : y)
        CHECK(y == 5);
    }
}

static void groups(void) {
    int done = 0, sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskgroup
        {
            for (int k = 0; k < 10; k++)
#pragma omp task
            {
#pragma omp task
                {
#pragma omp atomic
                    done++;
                }
            }
        }
        CHECK(done == 10);
#pragma omp taskgroup task_reduction(+ : sum)
        {
            for (int k = 0; k < 100; k++)
#pragma omp task in_reduction(+ : sum) firstprivate(k)
                sum += k;
        }
        CHECK(sum == 4950);
        long total = 0;
#pragma omp taskloop grainsize(7) reduction(+ : total)
        for (int k = 0; k < 1000; k++) total += k;
        CHECK(total == 499500);
        int last = 0;
#pragma omp taskloop num_tasks(13) lastprivate(last)
        for (long k = 1000; k > 0; k -= 3) last = (int)k;
        CHECK(last == 1);
    }
    int modified = 0;
#pragma omp parallel num_threads(3) reduction(task, + : modified)
    {
        modified++;
#pragma omp task in_reduction(+ : modified)
        modified += 10;
    }
    CHECK(modified == 33);
}

static void events(void) {
    int seen = 0;
    omp_event_handle_t event;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp task detach(event) depend(out : seen)
        {
        }
#pragma omp task depend(in : seen)
        CHECK(seen == 1);
        seen = 1;
        omp_fulfill_event(event);
#pragma omp taskwait
    }
}

static void final_ones(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task final(1)
    {
        CHECK(omp_in_final());
        int inner = 0;
#pragma omp task shared(inner)
        inner = omp_in_final();
        CHECK(inner == 1);
    }
}

/* A task with an event that runs at once is waited for, and not its siblings. */
static void awaited_event(void) {
    for (int round = 0; round < 10; round++) {
        int go = 0, begun = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
        {
            omp_event_handle_t event, mine = 0;
#pragma omp task shared(go, begun)
            {
#pragma omp atomic update seq_cst
                begun++;
                for (int now = 0; !now; usleep(100)) {
#pragma omp atomic read seq_cst
                    now = go;
                }
            }
#pragma omp task shared(mine, begun)
            {
#pragma omp atomic update seq_cst
                begun++;
                omp_event_handle_t now = 0;
                for (; !now; usleep(100)) {
#pragma omp atomic read seq_cst
                    now = mine;
                }
                omp_fulfill_event(now);
            }
            /* The two others have these tasks, so that who waits has neither on its stack. */
            for (int now = 0; now < 2; usleep(100)) {
#pragma omp atomic read seq_cst
                now = begun;
            }
#pragma omp task if (0) detach(event) shared(mine)
            {
                omp_event_handle_t it = event;
#pragma omp atomic write seq_cst
                mine = it;
            }
#pragma omp atomic write seq_cst
            go = 1;
#pragma omp taskwait
        }
    }
}

static void cancelled(void) {
    if (!omp_get_cancellation()) return;
    int after = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp cancel parallel
#pragma omp atomic
        after++;
    }
    CHECK(after == 0);
    int count = 0;
#pragma omp parallel for num_threads(4) schedule(dynamic)
    for (int k = 0; k < 1000; k++) {
#pragma omp atomic
        count++;
#pragma omp cancel for
    }
    CHECK(count < 1000);
#pragma omp parallel num_threads(4)
#pragma omp single
#pragma omp taskgroup
    {
#pragma omp task
        {
#pragma omp cancel taskgroup
        }
    }
#pragma omp parallel num_threads(4)
    CHECK(omp_get_num_threads() == 4);
}

/* A loop is cancelled, and its region is not, which could be. */
static void cancelled_loops(void) {
    if (!omp_get_cancellation()) return;
    int behind = 0;
    for (int round = 0; round < 50; round++) {
#pragma omp parallel num_threads(3)
        {
#pragma omp for schedule(static, 1)
            for (int k = 0; k < 12; k++) {
#pragma omp cancel for if (k == 3)
            }
#pragma omp cancel parallel if (behind < 0)
#pragma omp barrier
#pragma omp for
            for (int k = 0; k < 12; k++) {
#pragma omp atomic
                behind++;
            }
        }
    }
    CHECK(behind == 600);
}

int main(void) {
    trees();
    dependences();
    groups();
    events();
    final_ones();
    awaited_event();
    cancelled();
    cancelled_loops();
    printf("well\n");
    return 0;
}
