// Who only frees, and asks for what is large, has the kernel take free memory back, too.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long resident_pages(void) {
    long all, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    assert(file && fscanf(file, "%ld %ld", &all, &resident) == 2);
    fclose(file);
    return resident;
}

int main(void) {
    enum { COUNT = 128, BYTES = 1 << 20 };
    void *blocks[COUNT];
    for (int n = 0; n < COUNT; n++) memset(blocks[n] = malloc(BYTES), 1, BYTES);
    assert(resident_pages() > COUNT * (BYTES / 4096));
    for (int n = 0; n < COUNT; n++) free(blocks[n]);
    // Ends when it has gone back, or is ended from outside.
    while (resident_pages() > COUNT * (BYTES / 4096) / 2) free(malloc(BYTES));
    return 0;
}
