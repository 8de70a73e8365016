/* Refuses the call of the memory allocator whose number REFUSE_AT is; with REFUSE_ALL all from there on. Says at the
   end how many there were, if REFUSE_COUNT is set. For LD_PRELOAD; glibc. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_ulong calls;

static int is_refused(void)
{
	static unsigned long at = -1ul;
	static int all;

	if (at == -1ul) {
		const char *text = getenv("REFUSE_AT");

		all = getenv("REFUSE_ALL") != NULL;
		at = text ? strtoul(text, NULL, 10) : 0;
	}
	unsigned long call = atomic_fetch_add(&calls, 1) + 1;

	if (at == 0 || call < at || (call > at && !all))
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t n) { return is_refused() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return is_refused() ? NULL : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return is_refused() ? NULL : __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { return is_refused() ? NULL : __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { return is_refused() ? NULL : __libc_memalign(a, n); }

int posix_memalign(void **p, size_t a, size_t n)
{
	*p = is_refused() ? NULL : __libc_memalign(a, n);
	return *p ? 0 : ENOMEM;
}

__attribute__((destructor)) static void tell(void)
{
	if (getenv("REFUSE_COUNT"))
		dprintf(2, "calls: %lu\n", atomic_load(&calls));
}
