/* For C functions that occam programs call under Raddle: docs/FOREIGN.md.
 *
 *   #PRAGMA EXTERNAL "PROC C.sum (VAL []INT a, INT total) = 0"
 *
 *   void _sum (raddle_words w)
 *   {
 *       const int32_t *a = RADDLE_ADDRESS (w, 0);
 *       intptr_t count = RADDLE_SIZE (w, 1);
 *       int32_t *total = RADDLE_ADDRESS (w, 2);
 *       ...
 *   }
 *
 * INT and INT32 are int32_t, INT16 int16_t, INT64 int64_t, BYTE and BOOL uint8_t, REAL32 float, REAL64 double. A VAL
 * or INITIAL parameter that is no array and no record is one word with its value; any other is one word with its
 * address; behind that of an array comes a word for each of its sizes that the type leaves open.
 */
#ifndef RADDLE_FOREIGN_H
#define RADDLE_FOREIGN_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In arrays and records 64-bit values begin at multiples of 4. */
typedef int64_t raddle_int64 __attribute__ ((aligned (4)));
typedef double raddle_double __attribute__ ((aligned (4)));

/* What a function gets: a word for each value, address or size. */
typedef intptr_t *raddle_words;

/* Values. */
#define RADDLE_INT(w, at) ((int32_t) (w)[at])
#define RADDLE_INT64(w, at) ((int64_t) (w)[at])
#define RADDLE_BYTE(w, at) ((uint8_t) (w)[at])
#define RADDLE_BOOL(w, at) ((w)[at] != 0)
#define RADDLE_REAL32(w, at) raddle_real32 ((w)[at])
#define RADDLE_REAL64(w, at) raddle_real64 ((w)[at])

/* The address of what is passed by reference, and of an array's first element. */
#define RADDLE_ADDRESS(w, at) ((void *) (w)[at])

/* An open size of an array, in elements. */
#define RADDLE_SIZE(w, at) ((w)[at])

static inline float raddle_real32 (intptr_t word)
{
    uint32_t bits = (uint32_t) word;
    float value;
    memcpy (&value, &bits, sizeof value);
    return value;
}

static inline double raddle_real64 (intptr_t word)
{
    uint64_t bits = (uint64_t) word;
    double value;
    memcpy (&value, &bits, sizeof value);
    return value;
}

#ifdef __cplusplus
}
#endif

#endif
