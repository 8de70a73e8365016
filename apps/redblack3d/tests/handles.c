/* Two ranks, which end nothing that somebody is in a call on, and ask for more than there can be; channels between
 * them. */
#include <raddle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static raddle_remote_rx_t *from;

/* It waits for the second message. */
static void *waits(void *arg)
{
    void *data;
    size_t size;
    is(RADDLE_OK, raddle_remote_recv(from, &data, &size, RADDLE_FOREVER), "the second message");
    if (size != 20000 || ((char *)data)[19999] != 'x')
        _Exit(2);
    free(data);
    return arg;
}

/* What a selection finds: the case, or 2 if none was possible in time. */
static size_t chosen(raddle_rx_t *own)
{
    raddle_case_t cases[2] = {{.rx = own}, {0}};
    size_t index = 2;
    int code;
    is(RADDLE_OK, raddle_remote_when(from, &cases[1].rx), "an end for a selection");
    code = raddle_select(cases, 2, 10 * RADDLE_SECOND, &index);
    is(RADDLE_OK, code, "a selection");
    is(RADDLE_OK, raddle_rx_close(cases[1].rx), "that end");
    return index;
}

static void receives(size_t peer)
{
    void *data = NULL;
    size_t size = 0;
    raddle_thread_t *thread;
    raddle_rx_t *clock;
    is(RADDLE_OK, raddle_remote_rx_open(net, "words", peer, 0, &from), "an end");
    is(RADDLE_OK, raddle_net_bind(net), "both ends");
    is(RADDLE_ETIMEDOUT, raddle_remote_recv(from, &data, &size, 0), "nothing is sent");
    is(RADDLE_OK, raddle_after(RADDLE_MS, &clock), "a clock");
    if (chosen(clock) != 0)
        _Exit(3);
    is(RADDLE_OK, raddle_rx_close(clock), "the clock");
    is(RADDLE_OK, raddle_net_barrier(net), "now it is");
    if (chosen(NULL) != 1)
        _Exit(4);
    is(RADDLE_OK, raddle_remote_recv(from, &data, &size, 0), "what was chosen");
    if (size != 5 || strcmp(data, "first") != 0)
        _Exit(5);
    free(data);
    is(RADDLE_OK, raddle_spawn(&thread, waits, NULL), "a thread");
    is(RADDLE_OK, raddle_sleep(100 * RADDLE_MS), "a pause");
    is(RADDLE_EBUSY, raddle_remote_rx_close(from), "an end at which somebody waits");
    is(RADDLE_EBUSY, raddle_remote_recv(from, &data, &size, 0), "the same");
    is(RADDLE_OK, raddle_net_barrier(net), "the second is sent");
    is(RADDLE_OK, raddle_join(thread, NULL), "the thread");
    is(RADDLE_ECLOSED, raddle_remote_recv(from, &data, &size, RADDLE_FOREVER), "the other end is closed");
    is(RADDLE_OK, raddle_remote_rx_close(from), "the end");
}

static void sends(size_t peer)
{
    static char large[20000];
    raddle_remote_tx_t *to, *second;
    memset(large, 'x', sizeof large);
    is(RADDLE_OK, raddle_remote_tx_open(net, "words", peer, 0, &to), "an end");
    is(RADDLE_EINVAL, raddle_remote_tx_open(net, "words", peer, 0, &second), "it is open");
    is(RADDLE_EINVAL, raddle_remote_tx_open(net, "nobody", 2, 0, &second), "there is no such rank");
    is(RADDLE_OK, raddle_net_bind(net), "both ends");
    is(RADDLE_OK, raddle_net_barrier(net), "the other one has chosen a clock");
    is(RADDLE_OK, raddle_remote_send(to, "first", 5), "the first message");
    is(RADDLE_OK, raddle_net_barrier(net), "the other one waits");
    is(RADDLE_OK, raddle_remote_send(to, large, sizeof large), "the second message");
    is(RADDLE_OK, raddle_remote_tx_close(to), "the end");
}

/* One has a buffer, the other one has none. */
static void disagree(size_t number)
{
    raddle_remote_tx_t *to;
    void *data;
    if (number == 0) {
        is(RADDLE_OK, raddle_remote_rx_open(net, "places", 1, 0, &from), "an end");
        is(RADDLE_EMPI, raddle_remote_recv(from, &data, NULL, RADDLE_FOREVER), "an end with a buffer");
        if (!strstr(raddle_last_error(), "channel `places`"))
            _Exit(6);
        is(RADDLE_OK, raddle_remote_rx_close(from), "the end");
    } else {
        is(RADDLE_OK, raddle_remote_tx_open(net, "places", 0, 4, &to), "an end");
        is(RADDLE_EMPI, raddle_remote_send(to, "x", 1), "an end without a buffer");
        is(RADDLE_OK, raddle_net_barrier(net), "both");
        is(RADDLE_OK, raddle_remote_tx_close(to), "the end");
        return;
    }
    is(RADDLE_OK, raddle_net_barrier(net), "both");
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
    if (number == 0)
        receives(1);
    else
        sends(0);
    disagree(number);
    is(RADDLE_OK, raddle_net_end(net), "the end");
    return arg;
}

int main(void)
{
    is(RADDLE_OK, raddle_run(rank, NULL, NULL), "the ranks");
    puts("handles in use are refused");
    return 0;
}
