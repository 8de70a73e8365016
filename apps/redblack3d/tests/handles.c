/* Two ranks, which end nothing that somebody is in a call on, and ask for more than there can be. */
#include <raddle.h>

#include <stdio.h>
#include <stdlib.h>

static raddle_net_t *net;
static raddle_array_t *array;
static raddle_halo_t *halo;

static void is(int expected, int code, const char *what)
{
    if (code == expected)
        return;
    fprintf(stderr, "%s: %s, not %s: %s\n", what, raddle_errname(code), raddle_errname(expected), raddle_last_error());
    _Exit(1);
}

static void *plan(void *arg)
{
    is(RADDLE_OK, raddle_halo_create(net, array, 1, &halo), "a plan");
    return arg;
}

/* All of it is refused before anything is touched or anybody waits. */
static void too_much(size_t peer)
{
    const size_t cells[3] = {(size_t)1 << 21, (size_t)1 << 20, 512};
    raddle_array_t *large;
    char byte = 0;
    is(RADDLE_EINVAL, raddle_array_create(net, "large", cells, NULL, &large), "an array without memory");
    is(RADDLE_EINVAL, raddle_net_exchange(net, peer, 1, &byte, (size_t)1 << 42, &byte, 1, NULL), "an exchange");
    is(RADDLE_EINVAL, raddle_net_all_gather(net, &byte, (size_t)1 << 30, &byte), "a gather");
    is(RADDLE_OK, raddle_net_barrier(net), "all go on");
}

/* Rank 0 makes a plan, for which it waits for rank 1; and would end what that needs. */
static void *rank(void *arg)
{
    const size_t cells[3] = {8, 8, 8};
    raddle_thread_t *thread;
    size_t number;
    is(RADDLE_OK, raddle_net_start(60 * RADDLE_SECOND, RADDLE_LATE_ERROR, 0.0, &net), "the net");
    is(RADDLE_OK, raddle_net_place(net, &number, NULL), "the rank");
    too_much(1 - number);
    is(RADDLE_OK, raddle_array_create(net, "u", cells, NULL, &array), "the array");
    if (number == 0) {
        char ready = 0;
        is(RADDLE_OK, raddle_spawn(&thread, plan, NULL), "a thread");
        is(RADDLE_OK, raddle_sleep(200 * RADDLE_MS), "a pause");
        is(RADDLE_EBUSY, raddle_array_destroy(array), "an array of which a plan is made");
        is(RADDLE_EBUSY, raddle_net_end(net), "a net on which a plan is made");
        is(RADDLE_OK, raddle_net_send(net, 1, 7, &ready, 1), "a message");
        is(RADDLE_OK, raddle_join(thread, NULL), "the thread");
    } else {
        char ready;
        is(RADDLE_OK, raddle_net_receive(net, 0, 7, &ready, 1, NULL), "a message");
        plan(NULL);
    }
    is(RADDLE_OK, raddle_halo_destroy(halo), "the plan");
    is(RADDLE_OK, raddle_array_destroy(array), "the array");
    is(RADDLE_OK, raddle_net_end(net), "the end");
    return arg;
}

int main(void)
{
    is(RADDLE_OK, raddle_run(rank, NULL, NULL), "the ranks");
    puts("handles in use are refused");
    return 0;
}
