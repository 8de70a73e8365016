/* What the programs of foreign.rs call. */
#include "raddle_foreign.h"
#include <errno.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
void _sum (raddle_words w)
{
    const int32_t *a = RADDLE_ADDRESS (w, 0);
    int32_t *total = RADDLE_ADDRESS (w, 2);
    *total = 0;
    for (intptr_t i = 0; i < RADDLE_SIZE (w, 1); i++)
        *total += a[i];
}
void _mix (raddle_words w)
{
    int64_t *sum = RADDLE_ADDRESS (w, 6);
    double *real = RADDLE_ADDRESS (w, 7);
    *sum = RADDLE_INT (w, 0) + RADDLE_INT64 (w, 1) + RADDLE_BYTE (w, 2) + RADDLE_BOOL (w, 3);
    *real = RADDLE_REAL32 (w, 4) + RADDLE_REAL64 (w, 5);
}
void _fill_grid (raddle_words w)
{
    int16_t *a = RADDLE_ADDRESS (w, 0);
    for (int i = 0; i < RADDLE_SIZE (w, 1) * RADDLE_SIZE (w, 2); i++)
        a[i] = (int16_t) -i;
}
void _move (raddle_words w)
{
    int32_t *x = RADDLE_ADDRESS (w, 0);
    x[0] += RADDLE_INT (w, 1);
}
static int pipes[2];
void _open (raddle_words w) { (void) w; if (pipe (pipes)) _exit (9); }
void _receive (raddle_words w)
{
    uint8_t *byte = RADDLE_ADDRESS (w, 0);
    if (read (pipes[0], byte, 1) != 1) _exit (9);
}
void _receive_or_not (raddle_words w)
{
    uint8_t *byte = RADDLE_ADDRESS (w, 1);
    int32_t *got = RADDLE_ADDRESS (w, 2);
    ssize_t count = read (pipes[0], byte, 1);
    *got = count == 1 ? 1 : -errno;
}
void _transmit (raddle_words w)
{
    uint8_t byte = RADDLE_BYTE (w, 0);
    if (write (pipes[1], &byte, 1) != 1) _exit (9);
}
void plain_ (const int32_t *a, const double *b, double *c) { *c = *a * *b; }

void _crash (raddle_words w)
{
    (void) w;
    volatile int *volatile nowhere = (volatile int *) 8;
    *nowhere = 1;
}

static atomic_int inside, together;

/* Waits for at most 20 ms until somebody else is in here, and says whether anybody ever was. */
void _meet (raddle_words w)
{
    struct timespec nap = { 0, 100000 };
    int32_t *ever = RADDLE_ADDRESS (w, 0);
    atomic_fetch_add (&inside, 1);
    for (int naps = 0; naps < 200; naps++) {
        if (atomic_load (&inside) > 1)
            atomic_store (&together, 1);
        if (atomic_load (&together))
            break;
        nanosleep (&nap, 0);
    }
    atomic_fetch_sub (&inside, 1);
    *ever = atomic_load (&together);
}
