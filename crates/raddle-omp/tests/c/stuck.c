// A member that waits for a lock which nobody will give back, and all others for it.
#include "check.h"

int main(void) {
    static omp_lock_t lock;
    omp_init_lock(&lock);
    omp_set_lock(&lock);
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() == 2) omp_set_lock(&lock);
    return 0;
}
