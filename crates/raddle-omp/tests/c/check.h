/* What the programs of these tests have in common: a condition that must hold. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);               \
            abort();                                                                      \
        }                                                                                 \
    } while (0)
