/* Looks for each NAME@VERSION of its arguments, and says how many are in the library that is preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **arguments) {
    int there = 0;
    for (int i = 1; i < count; i++) {
        char *version = strchr(arguments[i], '@');
        Dl_info found;
        *version++ = 0;
        void *entry = dlvsym(RTLD_DEFAULT, arguments[i], version);
        if (entry && dladdr(entry, &found) && strstr(found.dli_fname, "libraddle_itm.so"))
            there++;
        else
            printf("%s of %s is not there\n", arguments[i], version);
    }
    printf("%d\n", there);
    return 0;
}
