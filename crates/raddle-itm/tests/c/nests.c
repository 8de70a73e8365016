/* Transactions inside of others, cancelled alone or with them; what they had changed is as before. */
#include <stdio.h>
#include <stdlib.h>

static int x, y, z;
static int *shared = &z;
static int calls;

typedef int (*Function)(int);
__attribute__((transaction_safe)) static int twice(int n) { x += n; return 2 * n; }
__attribute__((transaction_safe, noinline)) static void sets(int *place, int value) { *place = value; }
static Function volatile chosen = twice;

__attribute__((transaction_pure)) static void count(void) { calls++; }

static int outer(int cancels) {
    int local = 5, seen = 0;
    __transaction_atomic {
        x = 1;
        sets(&local, 6);
        __transaction_atomic {
            y = 2;
            sets(&local, 7);
            if (cancels == 1) __transaction_cancel;
            z = 3;
        }
        seen = local;
        if (cancels == 2) __transaction_cancel;
        *shared += 10;
        count();
    }
    return 10 * local + seen;
}

__attribute__((transaction_may_cancel_outer)) static void gives_up(int n) {
    __transaction_atomic {
        y = n;
        __transaction_atomic { z = n; if (n > 1) __transaction_cancel [[outer]]; }
        y++;
    }
}

static int all_of_it(int n) {
    int done = 0;
    __transaction_atomic [[outer]] { x = n; gives_up(n); done = 1; }
    return done;
}

__attribute__((transaction_safe)) static int deep(int n) {
    int got = 0;
    __transaction_atomic {
        x = n;
        if (n > 0) got = deep(n - 1) + 1;
        if (n % 2) __transaction_cancel;
        y += x;
    }
    return got + x;
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        x = y = z = 0;
        int got = outer(i);
        printf("%d: %d, %d %d %d, %d\n", i, got, x, y, z, calls);
    }
    for (int i = 0; i < 3; i++) {
        x = y = z = -1;
        int got = all_of_it(i);
        printf("%d: %d, %d %d %d\n", i, got, x, y, z);
    }
    x = y = 0;
    int got = deep(6);
    printf("deep: %d, %d %d\n", got, x, y);
    int sum = 0;
    __transaction_relaxed { sum = chosen(4) + chosen(5); }
    printf("sum: %d, %d\n", sum, x);
    return 0;
}
