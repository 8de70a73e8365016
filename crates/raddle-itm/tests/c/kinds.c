/* Values of all types are read and written, alone, in pieces, over each other, and after a cancellation. */
#include <complex.h>
#include <immintrin.h>
#include <stdio.h>
#include <string.h>

struct all {
    unsigned char u1[7];
    unsigned short u2[5];
    unsigned u4[3];
    unsigned long u8[3];
    float f[3];
    double d[2];
    long double e[2];
    float complex cf[2];
    double complex cd[2];
    long double complex ce[2];
    __m128 m128[2];
};

static struct all here, there;
static struct __attribute__((packed)) { char c; unsigned long u8; unsigned short u2; unsigned u4; double d; } close_packed;
static char bytes[600], others[600];

static void change(struct all *all, int by) {
    for (int i = 0; i < 7; i++) all->u1[i] += by + i;
    for (int i = 0; i < 5; i++) all->u2[i] += 1000 * by + i;
    for (int i = 0; i < 3; i++) all->u4[i] += 100000 * by + i;
    for (int i = 0; i < 3; i++) all->u8[i] += 10000000000 * by + i;
    for (int i = 0; i < 3; i++) all->f[i] += 1.5f * by + i;
    for (int i = 0; i < 2; i++) all->d[i] += 1.25 * by + i;
    for (int i = 0; i < 2; i++) all->e[i] += 1.125l * by + i;
    for (int i = 0; i < 2; i++) all->cf[i] += by + i + 2.5f * I;
    for (int i = 0; i < 2; i++) all->cd[i] += by + i + 2.25 * I;
    for (int i = 0; i < 2; i++) all->ce[i] += by + i + 2.125l * I;
    for (int i = 0; i < 2; i++) all->m128[i] += (__m128){by, by + 1, by + 2, i};
}

static void say(const char *what, const struct all *all) {
    printf("%s:", what);
    for (int i = 0; i < 7; i++) printf(" %d", all->u1[i]);
    for (int i = 0; i < 5; i++) printf(" %d", all->u2[i]);
    for (int i = 0; i < 3; i++) printf(" %u", all->u4[i]);
    for (int i = 0; i < 3; i++) printf(" %lu", all->u8[i]);
    for (int i = 0; i < 3; i++) printf(" %g", all->f[i]);
    for (int i = 0; i < 2; i++) printf(" %g %Lg", all->d[i], all->e[i]);
    for (int i = 0; i < 2; i++) printf(" %g,%g", crealf(all->cf[i]), cimagf(all->cf[i]));
    for (int i = 0; i < 2; i++) printf(" %g,%g", creal(all->cd[i]), cimag(all->cd[i]));
    for (int i = 0; i < 2; i++) printf(" %Lg,%Lg", creall(all->ce[i]), cimagl(all->ce[i]));
    for (int i = 0; i < 2; i++) for (int k = 0; k < 4; k++) printf(" %g", all->m128[i][k]);
    puts("");
}

static int cancelled(int by) {
    int done = 0;
    __transaction_atomic {
        change(&here, by);
        close_packed.u8 = 1;
        memset(bytes, 'z', sizeof bytes);
        if (by > 2) __transaction_cancel;
        done = 1;
    }
    return done;
}

__attribute__((noinline)) static void vectors(__m256 *a, __m256 *b);
__attribute__((target("avx"))) static void vectors(__m256 *a, __m256 *b) {
    __transaction_atomic { *a = *b + *a; *b = *a; }
}

int main(void) {
    __transaction_atomic { change(&here, 1); there = here; change(&there, 2); }
    say("here", &here);
    say("there", &there);
    printf("%d %d\n", cancelled(3), cancelled(2));
    say("here", &here);
    __transaction_atomic {
        close_packed.u8 = 0x1122334455667788;
        close_packed.u2 = 0xabcd;
        close_packed.u4 = 0x12345678;
        close_packed.d = -2.5;
        close_packed.c = 'c';
        close_packed.u8++;
    }
    printf("%c %lx %x %x %g\n", close_packed.c, close_packed.u8, close_packed.u2, close_packed.u4, close_packed.d);
    /* Bytes of one word after another, then the word, and the other way round. */
    union { unsigned char part[8]; unsigned long whole; } static_union;
    static union { unsigned char part[8]; unsigned short half[4]; unsigned long whole; } shared;
    __transaction_atomic {
        for (int i = 0; i < 8; i++) shared.part[i] = 0x10 + i;
        static_union.whole = shared.whole;
        shared.whole += 0x0101010101010101;
        shared.half[1] = 0xffee;
        static_union.part[0] += shared.part[2];
    }
    printf("%lx %lx\n", static_union.whole, shared.whole);
    for (int i = 0; i < 600; i++) bytes[i] = 'a' + i % 26, others[i] = 'A' + i % 26;
    __transaction_atomic {
        memcpy(bytes + 3, others + 5, 300);
        memmove(bytes + 10, bytes + 1, 400);
        memmove(bytes + 1, bytes + 12, 333);
        memset(others + 7, '-', 290);
        memmove(others, others + 3, 0);
    }
    printf("%.600s\n%.600s\n", bytes, others);
    if (__builtin_cpu_supports("avx")) {
        static __m256 a, b;
        for (int i = 0; i < 8; i++) a[i] = i, b[i] = 10 * i;
        vectors(&a, &b);
        for (int i = 0; i < 8; i++) printf(" %g/%g", a[i], b[i]);
        puts("");
    } else {
        puts(" 0/0 11/11 22/22 33/33 44/44 55/55 66/66 77/77");
    }
    return 0;
}
