// A thread-local variable of a library that is loaded while threads live; with STATIC at a fixed place in each thread.
#ifdef STATIC
static __thread int variable __attribute__((tls_model("initial-exec"))) = 99;
#else
static __thread int variable = 99;
#endif

int *place_of_variable(void) {
    return &variable;
}
