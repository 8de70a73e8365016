// A thread-local variable of a library that is loaded while threads live; with STATIC at a fixed place in each thread.
#ifndef FIRST
#define FIRST 99
#endif

#ifdef STATIC
static __thread int variable __attribute__((tls_model("initial-exec"))) = FIRST;
#else
static __thread int variable = FIRST;
#endif

int *place_of_variable(void) {
    return &variable;
}
