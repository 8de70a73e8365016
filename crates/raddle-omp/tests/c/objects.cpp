/* Tasks with objects of C++: each copy is destroyed, once. No header of C++ is needed. */
extern "C" {
#include "check.h"
}

static int alive, made;

struct Object {
    int value;
    explicit Object(int value) : value(value) { count(1); }
    Object(const Object &other) : value(other.value) { count(1); }
    ~Object() {
        CHECK(value == 3);
        value = 0;
        count(-1);
    }
    static void count(int by) {
#pragma omp atomic
        alive += by;
#pragma omp atomic
        made++;
    }
};

int main() {
    int sum = 0;
    for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(3)
#pragma omp single
        {
            Object object(3);
#pragma omp taskloop firstprivate(object) grainsize(3) shared(sum)
            for (int k = 0; k < 50; k++) {
#pragma omp atomic
                sum += object.value;
            }
#pragma omp taskloop firstprivate(object) nogroup
            for (int k = 0; k < round - 5; k++) CHECK(object.value == 3);
#pragma omp task firstprivate(object)
            {
#pragma omp task firstprivate(object) if (0)
                CHECK(object.value == 3);
            }
        }
    }
    CHECK(sum == 1500);
    CHECK(alive == 0 && made > 100);
    printf("well\n");
    return 0;
}
