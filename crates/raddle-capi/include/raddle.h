/* raddle.h - very many very small threads, on all cores, for C11 and later.
 *
 * The manual, with programs that run, is docs/C.md in Raddle's repository, and raddle(3) where it is installed.
 *
 *   cc prog.c $(pkg-config --cflags --libs raddle)
 *
 * WHAT EACH FUNCTION HAS IN COMMON
 *
 * Returns: RADDLE_OK, which is 0, or a code RADDLE_E... (raddle_strerror has its text, raddle_last_error says more).
 *   Few functions return something else; then their line says so. Nothing is written through an argument when
 *   something other than RADDLE_OK is returned, unless the function says so. No function aborts, and no panic of
 *   Rust's leaves one: it becomes RADDLE_EPANIC.
 *
 * Called from: anywhere - a thread, process or light process of Raddle, a thread of the operating system that Raddle
 *   did not make, with a runtime or without any - unless the function says otherwise. Not from a signal handler, and
 *   not from a poller's call (an adaptor's).
 *
 * Blocks: only where a function says that it *waits*. A thread of Raddle that waits leaves its worker to others; a
 *   thread of the operating system sleeps. Each wait ends with RADDLE_ECANCELED when the region of the caller is
 *   cancelled (raddle_token_run, raddle_within), unless the function says otherwise. A function that never waits may
 *   let others run when the caller's time slice is over.
 *
 * Handles: addresses of objects that a function has made. A null handle gives RADDLE_EINVAL; one of another kind, and
 *   nearly always one that was destroyed, RADDLE_EHANDLE. To use a handle after its object was destroyed, or while
 *   another thread destroys it, is undefined all the same (who has received a message does not know that the send has
 *   returned: clone ends; who takes a lock does not know that the former unlock has returned: join who may be in it).
 *   Those of threads and forks are not checked but for null.
 *
 * Times: nanoseconds. A negative time-out never ends (RADDLE_FOREVER), zero does not wait at all.
 *
 * Functions of the program (raddle_fn and the others) must return: they must not longjmp, call pthread_exit or let an
 *   exception of C++ out. In C++ raddle.hpp sees to that.
 */
#ifndef RADDLE_H
#define RADDLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RADDLE_VERSION_MAJOR 0
#define RADDLE_VERSION_MINOR 1

#define RADDLE_FOREVER ((int64_t)-1)
#define RADDLE_US ((int64_t)1000)
#define RADDLE_MS ((int64_t)1000000)
#define RADDLE_SECOND ((int64_t)1000000000)

/* Before what takes a few nanoseconds: gcc calls it without a detour over the linkage table. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define RADDLE_DIRECT __attribute__((noplt))
#endif
#endif
#ifndef RADDLE_DIRECT
#define RADDLE_DIRECT
#endif

/* Where a mutex that is free is taken and given back without a call: see the end of this file. RADDLE_CALLS_ONLY, which
 * the program may define, is for those who want calls. A sanitizer watches calls. */
#if defined(__x86_64__) && defined(__LP64__) && defined(__GCC_ASM_FLAG_OUTPUTS__) && !defined(RADDLE_CALLS_ONLY)
#define RADDLE_INLINES
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef RADDLE_INLINES
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#undef RADDLE_INLINES
#endif
#endif
#endif

/* ------------------------------------------------------------------------------------------------ errors */

enum {
    RADDLE_OK = 0,
    RADDLE_EINVAL = 1,     /* an argument is null or out of range */
    RADDLE_EHANDLE = 2,    /* not a handle of this kind, or one that has been destroyed */
    RADDLE_EBUSY = 3,      /* it is held or waited for, and was not destroyed */
    RADDLE_ETIMEDOUT = 4,  /* not possible before the time was over, or not at once */
    RADDLE_ECANCELED = 5,  /* the region that the caller is in has been cancelled */
    RADDLE_ECLOSED = 6,    /* the other ends of the channel are gone, or the semaphore is closed */
    RADDLE_EPERM = 7,      /* it is not the caller that holds it */
    RADDLE_EDEADLK = 8,    /* the caller would wait for itself */
    RADDLE_ENOMEM = 9,     /* there is no memory for it */
    RADDLE_ESETTING = 10,  /* a setting is wrong, or contradicts another */
    RADDLE_ESTARTED = 11,  /* the default runtime runs already */
    RADDLE_ENOTSUP = 12,   /* this machine, or this kind of object, cannot do that */
    RADDLE_EOS = 13,       /* the operating system refused; errno says why */
    RADDLE_EPANIC = 14,    /* a panic in the library */
    RADDLE_ENOTRUN = 15,   /* it was cancelled before it began, or a task before its end */
    RADDLE_EFOUND = 16,    /* a schedule was found under which it fails */
    RADDLE_EAGAIN = 17,    /* not yet: it is to be run or polled again */
    RADDLE_EMPI = 18,      /* MPI refused, or ranks do not expect the same of each other; raddle_last_error says what */
    RADDLE_ELATE = 19      /* something of another rank did not come by the deadline of the net */
};

/* The text of a code; of an unknown one, that it is unknown. Returns a constant. */
const char *raddle_strerror(int code);
/* The name of a code, as "RADDLE_EINVAL"; "?" of an unknown one. Returns a constant. */
const char *raddle_errname(int code);
/* What there is to say of the caller's last error beyond its code; empty if nothing. Returns a text that is good until
 * the caller's next error; light processes of one worker share it. */
const char *raddle_last_error(void);
/* The version of the library, as "0.1.0". Returns a constant. */
const char *raddle_version(void);

/* ------------------------------------------------------------------------------------------------ functions of yours */

/* What a thread runs. What it returns is what its join gives. */
typedef void *(*raddle_fn)(void *arg);
/* What runs in a region; what it returns is what the call returns. Return RADDLE_OK or a code. */
typedef int (*raddle_body)(void *arg);

/* ------------------------------------------------------------------------------------------------ runtimes */

typedef struct raddle_options raddle_options_t;
typedef struct raddle_runtime raddle_runtime_t;

/* Settings for a runtime: none yet, so that the environment (RADDLE_WORKERS and so on) decides. */
int raddle_options_create(raddle_options_t **options);
/* Destroys settings. What was started by them goes on. */
int raddle_options_destroy(raddle_options_t *options);
/* Sets what an environment variable of this name sets, and wins over it: ("RADDLE_WORKERS", "2").
 * RADDLE_ESETTING if there is no such setting or it cannot have that value; raddle_last_error lists what is allowed. */
int raddle_options_set(raddle_options_t *options, const char *name, const char *value);
/* Makes raddle_spawn_process make light processes. The caller vouches for all of them: see raddle_spawn_light. */
int raddle_options_light_processes(raddle_options_t *options);
/* Has a deadlock told to a function, on a thread of the runtime, instead of printed with an exit. The report is good
 * during the call. The program goes on waiting unless the function does something about it: it may cancel a token. */
typedef void (*raddle_deadlock_fn)(const char *report, void *arg);
int raddle_options_on_deadlock(raddle_options_t *options, raddle_deadlock_fn fn, void *arg);

/* Starts the default runtime by these settings; by the environment's, if options is null. Need not be called: the
 * default runtime starts when it is first needed. RADDLE_ESTARTED if it runs already. It lives as long as the program.
 * In a child that forks, the next use starts another one. */
int raddle_init(const raddle_options_t *options);
/* Starts a runtime beside it. options may be null. */
int raddle_runtime_create(const raddle_options_t *options, raddle_runtime_t **runtime);
/* Waits until nothing can run in it any more, ends its workers, and destroys it. *abandoned, if it is not null, is how
 * many still waited, without a deadline, and never go on. No cancellation ends this wait. RADDLE_EDEADLK from a thread
 * of that runtime; in a call of its raddle_blocking it would wait for itself. */
int raddle_runtime_shutdown(raddle_runtime_t *runtime, uint64_t *abandoned);
/* Runs fn(arg) as a process of this runtime, with the stack of a thread, and waits for it, whatever is cancelled.
 * *result, if it is not null, is what it has returned. */
int raddle_runtime_run(raddle_runtime_t *runtime, raddle_fn fn, void *arg, void **result);
/* As raddle_runtime_run, on the caller's own runtime, else the default one, with a stack of 8 MiB: for what a main
 * function does. */
int raddle_run(raddle_fn fn, void *arg, void **result);
/* The number of workers of this runtime; if it is null, of the caller's, else of the default one. */
int raddle_runtime_workers(const raddle_runtime_t *runtime, size_t *workers);
/* Returns the number of the worker that runs the caller, from 0, or -1 on a thread that is no worker. */
int raddle_worker(void);

/* ------------------------------------------------------------------------------------------------ threads */

typedef struct raddle_thread raddle_thread_t;
typedef struct raddle_ref raddle_ref_t;
typedef struct raddle_token raddle_token_t;

enum {
    RADDLE_THREAD = 0,  /* thread-local storage of its own, as new; a stack of 2 MiB */
    RADDLE_PROCESS = 1, /* storage of its own, as the last process left it; a stack of 64 KiB; cheaper */
    RADDLE_LIGHT = 2    /* its worker's storage, which it shares with others; 64 KiB; the cheapest */
};

/* Makes a thread that runs fn(arg), on the caller's runtime, else the default one. *thread is to be joined or detached;
 * if thread is null, it is detached at once. Does not wait, and starts nothing before the caller's slice is over. */
RADDLE_DIRECT int raddle_spawn(raddle_thread_t **thread, raddle_fn fn, void *arg);
/* As raddle_spawn, a process: thread_local variables are its own, as the last process has left them. */
RADDLE_DIRECT int raddle_spawn_process(raddle_thread_t **thread, raddle_fn fn, void *arg);
/* As raddle_spawn, a light process. The caller vouches that while it waits nothing of it depends on a thread-local
 * variable, errno and those of libraries included: others run meanwhile in the same storage. */
RADDLE_DIRECT int raddle_spawn_light(raddle_thread_t **thread, raddle_fn fn, void *arg);

typedef struct raddle_spawn_options {
    size_t size;                 /* sizeof(raddle_spawn_options_t), by RADDLE_SPAWN_OPTIONS_INIT */
    int kind;                    /* RADDLE_THREAD and so on */
    int worker;                  /* it runs there and stays; -1 for any */
    size_t stack_size;           /* at least so many bytes; 0 for the usual size */
    const char *name;            /* what reports call it; may be null */
    const raddle_token_t *token; /* it runs in a region of this token; may be null */
} raddle_spawn_options_t;
#define RADDLE_SPAWN_OPTIONS_INIT { sizeof(raddle_spawn_options_t), 0, -1, 0, NULL, NULL }

/* As raddle_spawn, by options. RADDLE_EINVAL if there is no such worker or no stack is so large. If the token is
 * cancelled before it begins, it does not run, and its join returns RADDLE_ENOTRUN. */
int raddle_spawn_with(raddle_thread_t **thread, const raddle_spawn_options_t *options, raddle_fn fn, void *arg);
/* As raddle_spawn_process, on this runtime, from anywhere. */
int raddle_runtime_spawn(raddle_runtime_t *runtime, raddle_thread_t **thread, raddle_fn fn, void *arg);

/* Waits for the end of a thread; *result, if it is not null, is what its function has returned. The handle is used up
 * if this returns RADDLE_OK, or RADDLE_ENOTRUN: its token was cancelled before it began. With RADDLE_ECANCELED, since
 * the caller is cancelled, the thread goes on and the handle stays: join it in raddle_shield, or detach it. */
RADDLE_DIRECT int raddle_join(raddle_thread_t *thread, void **result);
/* As raddle_join, for at most so long: RADDLE_ETIMEDOUT, and the handle stays. */
int raddle_join_for(raddle_thread_t *thread, int64_t timeout_ns, void **result);
/* Nobody will join it. Uses the handle up. */
int raddle_detach(raddle_thread_t *thread);
/* *finished is 1 if a join would not wait, else 0. */
int raddle_is_finished(const raddle_thread_t *thread, int *finished);

/* Returns the caller's number, which no other thread of Raddle in this program has; 0 on a thread that is none. */
uint64_t raddle_id(void);
/* Lets others run. */
RADDLE_DIRECT int raddle_yield(void);
/* Calls fn(arg), which may block its OS thread (a read from a file, a lock of another library), so that the worker is
 * left to others; waits for its end, whatever is cancelled. *result, if it is not null, is what it has returned. */
int raddle_blocking(raddle_fn fn, void *arg, void **result);

/* Waits until somebody calls raddle_unpark with a reference to the caller; an unpark that came before counts, once. */
int raddle_park(void);
/* As raddle_park, for at most so long. RADDLE_OK in both cases. */
int raddle_park_for(int64_t timeout_ns);
/* A reference to the caller, by which anybody may unpark it, also when it has ended. To be destroyed. In a destructor
 * at the end of a thread that Raddle did not make, neither this nor a park: RADDLE_EPANIC, with a line on standard
 * error. */
int raddle_ref_here(raddle_ref_t **ref);
/* A reference to a thread that has been neither joined nor detached. To be destroyed. */
int raddle_ref_of(const raddle_thread_t *thread, raddle_ref_t **ref);
/* Ends the current or the next raddle_park of the one referred to. */
int raddle_unpark(const raddle_ref_t *ref);
/* Destroys a reference. */
int raddle_ref_destroy(raddle_ref_t *ref);

/* ------------------------------------------------------------------------------------------------ forks and scopes */

typedef struct raddle_fork raddle_fork_t;
typedef struct raddle_scope raddle_scope_t;

/* Forks a call of fn(arg), which an idle worker may run while the caller goes on; the join runs it else. Costs a few
 * nanoseconds, and allocates nothing. The fork is to be joined or dropped. */
RADDLE_DIRECT int raddle_fork(raddle_fork_t **fork, raddle_fn fn, void *arg);
/* Runs the fork, or waits for it if another worker has it. *result, if it is not null, is what it has returned. Uses
 * the handle up. No cancellation of the caller ends it; the forked call is in the caller's region itself. */
RADDLE_DIRECT int raddle_fork_join(raddle_fork_t *fork, void **result);
/* Nobody will join it: it runs all the same, at the latest when its maker waits or ends. Uses the handle up. */
int raddle_fork_drop(raddle_fork_t *fork);
/* Calls first(a) and second(b), in parallel if a worker is idle, and returns when both have ended. */
RADDLE_DIRECT int raddle_both(raddle_fn first, void *a, raddle_fn second, void *b);
/* Calls turn(n, arg) for n from begin on, up to end and without it, in parallel if workers are idle, and returns when
 * all have ended. The calls must not wait for each other. */
typedef void (*raddle_turn)(size_t n, void *arg);
int raddle_for(size_t begin, size_t end, raddle_turn turn, void *arg);

/* Calls body(scope, arg), waits for all that was spawned in the scope, and returns what body has returned; what it
 * spawns may use the frame of the caller. No cancellation of the caller ends the wait: it ends the children instead. */
typedef int (*raddle_scope_body)(raddle_scope_t *scope, void *arg);
int raddle_scope(raddle_scope_body body, void *arg);
/* Spawns a process in the scope. From the body alone, while it runs: else RADDLE_EPERM. After raddle_scope has returned
 * there is no scope to ask. */
int raddle_scope_spawn(raddle_scope_t *scope, raddle_fn fn, void *arg);
/* Cancels what was spawned and will be spawned in the scope. From the body alone. */
int raddle_scope_cancel(raddle_scope_t *scope);

/* ------------------------------------------------------------------------------------------------ cancellation */

/* A token, which is cancelled once, with all that runs under it. */
int raddle_token_create(raddle_token_t **token);
/* A token that is cancelled with this one, or alone. */
int raddle_token_child(const raddle_token_t *token, raddle_token_t **child);
/* Destroys a token. It is not cancelled by that; regions of it go on. */
int raddle_token_destroy(raddle_token_t *token);
/* Cancels it: waits in its regions return RADDLE_ECANCELED from now on. The second time does nothing. */
int raddle_token_cancel(const raddle_token_t *token);
/* *cancelled is 1 if it has been cancelled, else 0. */
int raddle_token_is_cancelled(const raddle_token_t *token, int *cancelled);
/* Calls body(arg) in a region of this token, and returns what it returns; RADDLE_ECANCELED, without the call, if it was
 * cancelled before. Spawn in scopes there, or with the token, what is to be cancelled with it. */
int raddle_token_run(const raddle_token_t *token, raddle_body body, void *arg);
/* As raddle_token_run, in a region that is cancelled when the time is over. */
int raddle_within(int64_t timeout_ns, raddle_body body, void *arg);
/* Calls body(arg), whose waits no cancellation ends, to put things in order; returns what it returns. */
int raddle_shield(raddle_body body, void *arg);
/* RADDLE_ECANCELED if the region that the caller is in has been cancelled, else RADDLE_OK. For long loops. */
RADDLE_DIRECT int raddle_check(void);

/* ------------------------------------------------------------------------------------------------ channels */

typedef struct raddle_tx raddle_tx_t;
typedef struct raddle_rx raddle_rx_t;

/* A channel of words (numbers, or addresses that pass to the receiver), with one end to send and one to receive, for
 * any number of threads each. It holds at most capacity words; none if that is 0, so that a send waits for its receive;
 * any number if it is negative. */
int raddle_channel(int64_t capacity, raddle_tx_t **tx, raddle_rx_t **rx);
/* As raddle_channel, of words that own something: what nobody receives, since the ends to receive are closed, is given
 * to drop, which must not wait. A word that was not sent is still the caller's. */
typedef void (*raddle_drop_fn)(uintptr_t word);
int raddle_channel_owned(int64_t capacity, raddle_drop_fn drop, raddle_tx_t **tx, raddle_rx_t **rx);
/* A channel of messages of bytes, of any length. */
int raddle_channel_bytes(int64_t capacity, raddle_tx_t **tx, raddle_rx_t **rx);
/* An end of a channel that has one word, the time of raddle_now, after so long; never, if that is negative. */
int raddle_after(int64_t timeout_ns, raddle_rx_t **rx);
/* An end of a channel that has a word, the time, once each period, and holds at most one. */
int raddle_tick(int64_t period_ns, raddle_rx_t **rx);
/* Another end of the same channel, to be closed by itself. */
int raddle_tx_clone(const raddle_tx_t *tx, raddle_tx_t **clone);
/* As raddle_tx_clone. */
int raddle_rx_clone(const raddle_rx_t *rx, raddle_rx_t **clone);
/* Closes an end, and destroys it. When the last end to send is closed, receives get what is there, then
 * RADDLE_ECLOSED. */
int raddle_tx_close(raddle_tx_t *tx);
/* Closes an end, and destroys it. When the last end to receive is closed, sends return RADDLE_ECLOSED. */
int raddle_rx_close(raddle_rx_t *rx);
/* *len is how many messages the channel holds. */
int raddle_tx_len(const raddle_tx_t *tx, size_t *len);
/* As raddle_tx_len. */
int raddle_rx_len(const raddle_rx_t *rx, size_t *len);

/* Sends a word; waits for a place. RADDLE_ECLOSED if all ends to receive are closed, RADDLE_ENOTSUP if it is a channel
 * of bytes. What was not sent (any other code than RADDLE_OK) is still the caller's. */
RADDLE_DIRECT int raddle_send(const raddle_tx_t *tx, uintptr_t word);
/* As raddle_send, for at most so long: then RADDLE_ETIMEDOUT. */
int raddle_send_for(const raddle_tx_t *tx, uintptr_t word, int64_t timeout_ns);
/* Receives a word; waits for one. RADDLE_ECLOSED if none is there and none will come. */
RADDLE_DIRECT int raddle_recv(const raddle_rx_t *rx, uintptr_t *word);
/* As raddle_recv, for at most so long: then RADDLE_ETIMEDOUT. */
int raddle_recv_for(const raddle_rx_t *rx, uintptr_t *word, int64_t timeout_ns);
/* Sends a copy of size bytes; waits for a place, for at most so long. */
int raddle_send_bytes(const raddle_tx_t *tx, const void *data, size_t size, int64_t timeout_ns);
/* Receives a message; waits for one, for at most so long. *data are its bytes, and a null byte behind them, to be freed
 * by free(); *size, if size is not null, how many. */
int raddle_recv_bytes(const raddle_rx_t *rx, void **data, size_t *size, int64_t timeout_ns);

/* One of the operations that raddle_select chooses from: a send if tx is not null, a receive if rx is not null; if both
 * are null, the case is off. */
typedef struct raddle_case {
    raddle_tx_t *tx;
    raddle_rx_t *rx;
    uintptr_t word; /* to be sent; or what was received */
    void *data;     /* bytes to be sent, which are copied; or what was received, to be freed by free() */
    size_t size;    /* how many */
} raddle_case_t;

/* Waits until one of the operations is possible, for at most so long, and does that one; of several any, each as likely
 * as the others. *chosen, if it is not null, is its index, also if RADDLE_ECLOSED is returned, which says that this
 * channel is closed. RADDLE_ETIMEDOUT if none was possible; RADDLE_EINVAL if all cases are off and it would wait for
 * ever. */
int raddle_select(raddle_case_t *cases, size_t count, int64_t timeout_ns, size_t *chosen);
/* As raddle_select; of several the first. */
int raddle_select_first(raddle_case_t *cases, size_t count, int64_t timeout_ns, size_t *chosen);

/* ------------------------------------------------------------------------------------------------ locks */

typedef struct raddle_mutex raddle_mutex_t;
typedef struct raddle_rwlock raddle_rwlock_t;

enum {
    RADDLE_MUTEX = 0,  /* who waits parks; the one to take unless there is a reason */
    RADDLE_SPIN = 1,   /* test and set; who waits spins, then yields */
    RADDLE_TICKET = 2, /* first come, first served; spins, then yields */
    RADDLE_MCS = 3,    /* the queue lock of Mellor-Crummey and Scott */
    RADDLE_CLH = 4     /* the queue lock of Craig, Landin and Hagersten */
};

/* A lock of this kind. Not recursive. Belongs to the thread that has taken it, not to its OS thread. */
int raddle_mutex_create(int kind, raddle_mutex_t **mutex);
/* Destroys it. RADDLE_EBUSY if somebody has it. */
int raddle_mutex_destroy(raddle_mutex_t *mutex);
/* Takes the lock; waits for it. RADDLE_EDEADLK if the caller has it. The wait for a lock of kind RADDLE_SPIN or after
 * it is not cancelled. */
RADDLE_DIRECT int raddle_mutex_lock(raddle_mutex_t *mutex);
/* Takes the lock if it is free: else RADDLE_ETIMEDOUT. RADDLE_ENOTSUP for RADDLE_SPIN, RADDLE_TICKET, RADDLE_CLH. */
RADDLE_DIRECT int raddle_mutex_trylock(raddle_mutex_t *mutex);
/* As raddle_mutex_lock, for at most so long: then RADDLE_ETIMEDOUT. RADDLE_ENOTSUP if it would be waited for a lock
 * that is no RADDLE_MUTEX. */
int raddle_mutex_lock_for(raddle_mutex_t *mutex, int64_t timeout_ns);
/* Gives the lock back. RADDLE_EPERM if the caller does not have it. */
RADDLE_DIRECT int raddle_mutex_unlock(raddle_mutex_t *mutex);
/* Not for programs: what raddle_mutex_lock calls where it is inlined, if it has taken the lock, and there is more to do.
 * Returns as that does. */
RADDLE_DIRECT int raddle_mutex_locked(raddle_mutex_t *mutex);

/* A lock for several readers or one writer. */
int raddle_rwlock_create(raddle_rwlock_t **lock);
/* Destroys it. RADDLE_EBUSY if somebody has it. */
int raddle_rwlock_destroy(raddle_rwlock_t *lock);
/* Enters as a reader; waits for a writer. RADDLE_EDEADLK if the caller writes. */
RADDLE_DIRECT int raddle_rwlock_read(raddle_rwlock_t *lock);
/* Enters as the writer; waits for whoever is inside. RADDLE_EDEADLK if the caller writes. */
RADDLE_DIRECT int raddle_rwlock_write(raddle_rwlock_t *lock);
/* As raddle_rwlock_read, for at most so long: then RADDLE_ETIMEDOUT. */
int raddle_rwlock_read_for(raddle_rwlock_t *lock, int64_t timeout_ns);
/* As raddle_rwlock_write, for at most so long: then RADDLE_ETIMEDOUT. */
int raddle_rwlock_write_for(raddle_rwlock_t *lock, int64_t timeout_ns);
/* Leaves, as a reader or as the writer. RADDLE_EPERM if the caller does not write and nobody reads. */
RADDLE_DIRECT int raddle_rwlock_unlock(raddle_rwlock_t *lock);

/* What is to be done once: in memory of yours, which stays, and begins as RADDLE_ONCE_INIT. Needs no end. */
typedef struct raddle_once_object {
    uint32_t word;
    uintptr_t owner;
} raddle_once_t;
#define RADDLE_ONCE_INIT { 0, 0 }

/* Calls body(arg), unless a call that returned RADDLE_OK came before; waits for one that is under way, which may wait
 * as well. Returns what body returns: if that is no RADDLE_OK, nothing was done, and the next caller calls its own.
 * RADDLE_EDEADLK from within body. */
RADDLE_DIRECT int raddle_once(raddle_once_t *once, raddle_body body, void *arg);

/* ------------------------------------------------------------------------------------------------ meeting */

typedef struct raddle_cond raddle_cond_t;
typedef struct raddle_sem raddle_sem_t;
typedef struct raddle_barrier raddle_barrier_t;

/* A condition variable. */
int raddle_cond_create(raddle_cond_t **cond);
/* Destroys it. RADDLE_EBUSY if somebody waits, or the call that woke the caller has not returned: try again. */
int raddle_cond_destroy(raddle_cond_t *cond);
/* Gives the lock back, waits for a signal, takes the lock again. The mutex is of kind RADDLE_MUTEX, and the caller's:
 * else RADDLE_ENOTSUP or RADDLE_EPERM. The caller has the lock again when this returns any other code, cancellation
 * included. Never wakes for no reason; look at the condition again all the same. */
int raddle_cond_wait(raddle_cond_t *cond, raddle_mutex_t *mutex);
/* As raddle_cond_wait, for at most so long: then RADDLE_ETIMEDOUT. */
int raddle_cond_wait_for(raddle_cond_t *cond, raddle_mutex_t *mutex, int64_t timeout_ns);
/* Wakes the one who has waited longest, if anybody waits. */
int raddle_cond_signal(raddle_cond_t *cond);
/* Wakes all who wait. */
int raddle_cond_broadcast(raddle_cond_t *cond);

/* A semaphore with so many permits. */
int raddle_sem_create(size_t permits, raddle_sem_t **sem);
/* Destroys it. RADDLE_EBUSY if somebody waits, or the call that woke the caller has not returned: try again. */
int raddle_sem_destroy(raddle_sem_t *sem);
/* Takes count permits, at least 1; waits for them, first come, first served. RADDLE_ECLOSED if it is closed. */
RADDLE_DIRECT int raddle_sem_acquire(raddle_sem_t *sem, size_t count);
/* As raddle_sem_acquire, for at most so long: then RADDLE_ETIMEDOUT. */
int raddle_sem_acquire_for(raddle_sem_t *sem, size_t count, int64_t timeout_ns);
/* Gives count permits, which the caller need not have taken. */
RADDLE_DIRECT int raddle_sem_release(raddle_sem_t *sem, size_t count);
/* *permits is how many there are now. */
int raddle_sem_available(const raddle_sem_t *sem, size_t *permits);
/* Who waits, and will wait, for permits gets RADDLE_ECLOSED from now on. */
int raddle_sem_close(raddle_sem_t *sem);

/* A barrier for count threads, again and again. */
int raddle_barrier_create(size_t count, raddle_barrier_t **barrier);
/* Destroys it. RADDLE_EBUSY if somebody waits, or has met the caller and has not returned: try again. */
int raddle_barrier_destroy(raddle_barrier_t *barrier);
/* Waits until count threads have come. *is_last, if it is not null, is 1 for one of them, else 0. Who is cancelled has
 * not come. */
int raddle_barrier_wait(raddle_barrier_t *barrier, int *is_last);
/* As raddle_barrier_wait, for at most so long: then RADDLE_ETIMEDOUT, and the caller has not come. */
int raddle_barrier_wait_for(raddle_barrier_t *barrier, int64_t timeout_ns, int *is_last);

/* ------------------------------------------------------------------------------------------------ time */

/* Returns the nanoseconds of a clock that never goes back, from some beginning. By a seed (RADDLE_SEED) it is the
 * schedule's own. */
RADDLE_DIRECT int64_t raddle_now(void);
/* Waits for at least so long. RADDLE_EINVAL if that is for ever. */
int raddle_sleep(int64_t timeout_ns);
/* Waits until raddle_now would return when. */
int raddle_sleep_until(int64_t when);

/* ------------------------------------------------------------------------------------------------ descriptors */

typedef struct raddle_fd raddle_fd_t;

enum {
    RADDLE_READ = 1,
    RADDLE_WRITE = 2,
    RADDLE_FD_OWNED = 1 /* raddle_fd_close closes the descriptor, too */
};

/* A descriptor - a socket, a pipe - to be waited for without blocking a worker. It becomes non-blocking, and stays open
 * until the handle is closed. */
int raddle_fd_open(int fd, int flags, raddle_fd_t **handle);
/* Destroys the handle. RADDLE_EBUSY if somebody waits for it. */
int raddle_fd_close(raddle_fd_t *handle);
/* *fd is the descriptor's number. */
int raddle_fd_number(const raddle_fd_t *handle, int *fd);
/* Waits until a read (RADDLE_READ) or a write (RADDLE_WRITE) would not wait, for at most so long: then
 * RADDLE_ETIMEDOUT. */
int raddle_fd_wait(const raddle_fd_t *handle, int events, int64_t timeout_ns);
/* An end to receive, for raddle_select: a word, 0, comes there, once, when a read (RADDLE_READ) or a write
 * (RADDLE_WRITE) would not wait; then it is closed. Others may have read by then. The handle stays as long as that end:
 * its close is RADDLE_EBUSY before. RADDLE_ENOTSUP from raddle_rx_clone of it. */
int raddle_fd_when(const raddle_fd_t *handle, int events, raddle_rx_t **rx);
/* Reads what is there, at most size bytes; waits for something, for at most so long. *done is how many; 0 is the end.
 * RADDLE_EOS with errno, as read(2). */
int raddle_fd_read(const raddle_fd_t *handle, void *data, size_t size, int64_t timeout_ns, size_t *done);
/* Writes some of size bytes; waits until any can be written, for at most so long. *done is how many. No SIGPIPE comes
 * of a socket: EPIPE. */
int raddle_fd_write(const raddle_fd_t *handle, const void *data, size_t size, int64_t timeout_ns, size_t *done);
/* Accepts a connection of a listening socket; waits for one, for at most so long. *fd is its descriptor, non-blocking,
 * closed by exec. */
int raddle_fd_accept(const raddle_fd_t *handle, int64_t timeout_ns, int *fd);
/* Connects a socket to an address (struct sockaddr, by its bytes); waits, for at most so long. */
int raddle_fd_connect(const raddle_fd_t *handle, const void *address, uint32_t size, int64_t timeout_ns);

/* ------------------------------------------------------------------------------------------------ ranks of MPI */

/* What the functions of this group have in common: the manual is docs/MPI.md. MPI is found at run time, by the library
 * that `raddle mpi build` makes. Calls of MPI run on the caller's stack: processes that make them need 256 KiB or more,
 * which those of raddle_run and raddle_spawn have. Who waits is parked, and goes on at the deadline at the latest.
 * Besides RADDLE_EINVAL, RADDLE_EHANDLE and RADDLE_ECANCELED they return RADDLE_EMPI; those that wait, RADDLE_ELATE, too.
 * raddle_last_error then has peer, region and sizes. *Collective* calls are made by all ranks, in one order. */

typedef struct raddle_net raddle_net_t;
typedef struct raddle_array raddle_array_t;
typedef struct raddle_halo raddle_halo_t;
typedef struct raddle_remote_tx raddle_remote_tx_t;
typedef struct raddle_remote_rx raddle_remote_rx_t;

enum { /* what is done when something is late; all ranks have the same */
    RADDLE_LATE_ERROR = 0, /* who waits gets RADDLE_ELATE; the job ends with the net */
    RADDLE_LATE_ABORT = 1, /* the job ends at once, with code 70 */
    RADDLE_LATE_ALL = 2    /* all other ranks that wait get RADDLE_ELATE, too */
};

enum { /* who looks after messages that are under way */
    RADDLE_MODE_INLINE = 0,    /* who waits for them */
    RADDLE_MODE_SHARED = 1,    /* workers, between two threads, when idle, and at raddle_net_point */
    RADDLE_MODE_WATCHED = 2,   /* the same, and a thread of the system when nobody has for 2 ms */
    RADDLE_MODE_DEDICATED = 3, /* a thread of the system that does nothing else */
    RADDLE_MODE_AUTO = 4       /* one of these, found by trying */
};

/* Begins MPI: collective, once in a program. deadline_ns is how long anything may take; negative, 30 seconds.
 * late is one of RADDLE_LATE_. emulated_megabits above 0 holds messages back as a link of so many megabits a second
 * would, for ranks on one host: what is measured then is a model's answer. Waits for all ranks to begin.
 * RADDLE_ENOTSUP if there is no MPI, or none that can be used; RADDLE_EINVAL if there is a net, or was one. If it fails
 * otherwise, MPI has begun, and no other net can begin in this program. */
int raddle_net_start(int64_t deadline_ns, int late, double emulated_megabits, raddle_net_t **net);
/* Ends MPI: collective; waits for all ranks to come to their ends. Uses the handle up. RADDLE_EBUSY if somebody is in a
 * call on it. If something was late before, or not all come, it ends the whole job. */
int raddle_net_end(raddle_net_t *net);
/* *rank is the number of the caller's rank, from 0; *size, how many there are. Either may be null. Does not wait. */
int raddle_net_place(const raddle_net_t *net, size_t *rank, size_t *size);
/* *text is what the MPI calls itself; to be freed by free(). Does not wait. */
int raddle_net_library(const raddle_net_t *net, char **text);
/* Changes who looks after what is under way; at any time. processor is that of a dedicated proxy (RADDLE_MODE_DEDICATED
 * and _AUTO), or -1. Does not wait. RADDLE_ENOTSUP if there can be no runtime whose workers would. */
int raddle_net_mode(const raddle_net_t *net, int mode, int processor);
/* *text is the mode, what RADDLE_MODE_AUTO has chosen, and why; to be freed by free(). Does not wait. */
int raddle_net_report(const raddle_net_t *net, char **text);
/* In a long computation: looks after what is under way, if it is time; a few nanoseconds while nothing is. Does not
 * wait. */
RADDLE_DIRECT int raddle_net_point(const raddle_net_t *net);
/* What the proxy has done since the net began. */
typedef struct raddle_net_counters {
    uint64_t looks;         /* how often somebody has looked */
    uint64_t empty;         /* how often for nothing */
    uint64_t longest_gap_ns; /* between two looks while something was under way */
    uint64_t processor_ns;  /* processor time of the looks, and of the proxy's own thread */
} raddle_net_counters_t;
int raddle_net_counters(const raddle_net_t *net, raddle_net_counters_t *counters);

/* Sends a message; waits until the bytes may be changed. A tag is below 32768. */
int raddle_net_send(const raddle_net_t *net, size_t peer, int tag, const void *data, size_t size);
/* Waits for a message of peer with that tag. *done, if it is not null, is how long it is. RADDLE_EMPI if it is longer
 * than size. */
int raddle_net_receive(const raddle_net_t *net, size_t peer, int tag, void *data, size_t size, size_t *done);
/* Sends a message to peer, and receives one of it, at a time; waits for both. */
int raddle_net_exchange(const raddle_net_t *net, size_t peer, int tag, const void *out, size_t out_size, void *in,
                        size_t in_size, size_t *done);
/* Waits until all ranks have come here: collective. */
int raddle_net_barrier(const raddle_net_t *net);
/* Waits for what all ranks give, each size bytes: collective. They are put into all, in the order of the ranks, for which
 * there is room for size times the number of ranks. */
int raddle_net_all_gather(const raddle_net_t *net, const void *data, size_t size, void *all);

/* This rank's part of an array of doubles, all 0, with a layer of ghosts around it. The first axis varies fastest. ranks
 * are those along each axis, together all of the net; null for those with the smallest faces. The name is for errors.
 * Does not wait. */
int raddle_array_create(const raddle_net_t *net, const char *name, const size_t cells[3], const size_t *ranks,
                        raddle_array_t **array);
/* Destroys it; what lies in it is gone. RADDLE_EBUSY while an exchange of it is under way. */
int raddle_array_destroy(raddle_array_t *array);
/* Where the cells of this rank are. */
typedef struct raddle_part {
    double *first;     /* the first cell of this rank; ghosts are at -stride[axis] and at length[axis] * stride[axis] */
    size_t stride[3];  /* how far apart neighbours along each axis are; stride[0] is 1 */
    size_t start[3];   /* the place of the first cell in the whole array */
    size_t length[3];  /* cells of this rank along each axis */
    size_t inner_start[3];  /* of those that need no ghost and that no neighbour has a copy of: the first one, counted */
    size_t inner_length[3]; /* from first; and how many. 0 if there are none */
} raddle_part_t;
/* *part is good until the array is destroyed. While an exchange is under way only inner cells may be written, and ghosts
 * are not to be read: nothing checks that. Does not wait. */
int raddle_array_part(const raddle_array_t *array, raddle_part_t *part);

/* A plan that gives neighbours the cells of an array that they need: of faces (reach 1), edges, too (2), and corners (3).
 * Collective: all ranks compare what they expect of each other, and wait for it. RADDLE_EMPI on all of them if two do not
 * agree. It may be used for any array of the same part. */
int raddle_halo_create(const raddle_net_t *net, const raddle_array_t *array, int reach, raddle_halo_t **halo);
/* Destroys a plan. RADDLE_EBUSY while an exchange of it is under way. */
int raddle_halo_destroy(raddle_halo_t *halo);
/* Begins an exchange: copies what is sent, and does not wait. RADDLE_EBUSY while one of this plan or array is under way.
 * RADDLE_EINVAL if the array is of another part. */
int raddle_halo_start(raddle_halo_t *halo, raddle_array_t *array);
/* Waits until all of it has come, and puts it into the ghosts. RADDLE_EINVAL if nothing is under way. After
 * RADDLE_ECANCELED it still is: wait once more. */
int raddle_halo_wait(raddle_halo_t *halo);
/* What the exchanges of a plan have taken on this rank. */
typedef struct raddle_halo_report {
    uint64_t exchanges;    /* how many there were */
    uint64_t waited_ns;    /* in which somebody waited for them */
    uint64_t under_way_ns; /* from their beginnings until their last messages were found to be done */
    uint64_t copying_ns;   /* for copies to and from what MPI sends */
    uint64_t bytes;        /* that this rank sends in each */
} raddle_halo_report_t;
/* Does not wait. RADDLE_EBUSY while an exchange is under way. */
int raddle_halo_report(const raddle_halo_t *halo, raddle_halo_report_t *report);

/* The sending end of a channel to a thread of rank peer, perhaps this one, which opens the other end by the same name.
 * Messages are bytes, in Rust Vec<u8>. capacity 0 is a rendezvous; else that many messages may lie in it; both ends have
 * the same. Does not wait: what the other end is, or that it is missing, is found at the first use, or by
 * raddle_net_bind. RADDLE_EINVAL if there is no such rank, or that end is open already. */
int raddle_remote_tx_open(const raddle_net_t *net, const char *name, size_t peer, uint32_t capacity,
                          raddle_remote_tx_t **tx);
/* The receiving end: as raddle_remote_tx_open. */
int raddle_remote_rx_open(const raddle_net_t *net, const char *name, size_t peer, uint32_t capacity,
                          raddle_remote_rx_t **rx);
/* Waits until the other ends of all ends of this rank are open, and compares what goes through them: RADDLE_EMPI if two
 * do not agree. */
int raddle_net_bind(const raddle_net_t *net);
/* Closes the end: who waits at the other one learns it. RADDLE_EBUSY while a thread is in a call on it. */
int raddle_remote_tx_close(raddle_remote_tx_t *tx);
/* As raddle_remote_tx_close. What was sent and not received is gone. */
int raddle_remote_rx_close(raddle_remote_rx_t *rx);
/* Sends a copy of the bytes: waits until the message was received, or in a buffer, has a place. RADDLE_ECLOSED if the
 * other end is closed, or its rank has ended its net; RADDLE_EBUSY if another thread is in a call on this end. */
int raddle_remote_send(const raddle_remote_tx_t *tx, const void *data, size_t size);
/* Waits for a message, for so long; if that is negative, for as long as the deadline of the net: then it is RADDLE_ELATE.
 * *data is to be freed by free(); one more byte behind it is 0. *size, if size is not null, is how long it is. Also
 * RADDLE_ECLOSED if the other end is closed and nothing of it is left, and RADDLE_EBUSY as raddle_remote_send. */
int raddle_remote_recv(const raddle_remote_rx_t *rx, void **data, size_t *size, int64_t timeout_ns);
/* An end for raddle_select, at which a word, 0, comes when raddle_remote_recv has an answer at once: a message is there,
 * the other end is closed, or nothing came by the deadline of the net. It is for one selection; close it then, by
 * raddle_rx_close. Does not wait. RADDLE_EBUSY as raddle_remote_send. */
int raddle_remote_when(const raddle_remote_rx_t *rx, raddle_rx_t **when);

/* ------------------------------------------------------------------------------------------------ transactions */

typedef struct raddle_var raddle_var_t;
typedef struct raddle_stm raddle_stm_t;

/* A body of a transaction, which may run several times: what it does besides must bear that. It returns RADDLE_OK, so
 * that what it has written is seen by others, all at once; or another code, so that none of it is. Each function below
 * that has the attempt, stm, may return RADDLE_EAGAIN: return that, and the body is run again. It must not wait by
 * other means, nor take a lock under which others run transactions, nor write, by a transaction of its own, what it has
 * read: it would be run again each time. The attempt is good in the body alone, in its own thread: else RADDLE_EPERM. */
typedef int (*raddle_stm_body)(raddle_stm_t *stm, void *arg);

/* A variable for transactions: a word. */
int raddle_var_create(uintptr_t word, raddle_var_t **var);
/* A variable for transactions: a block of bytes, of which it has a copy. */
int raddle_var_create_block(const void *data, size_t size, raddle_var_t **var);
/* Destroys a variable. No transaction may use it any more. */
int raddle_var_destroy(raddle_var_t *var);
/* *word is what the variable is now: a transaction of its own. RADDLE_ENOTSUP of a block. */
int raddle_var_load(const raddle_var_t *var, uintptr_t *word);
/* Writes a word, in a transaction of its own. RADDLE_ENOTSUP of a block. */
int raddle_var_store(const raddle_var_t *var, uintptr_t word);

/* Runs body(stm, arg) as a transaction: what it reads is of one moment, what it writes is seen by all at one moment, if
 * it returns RADDLE_OK. Any other code rolls it back, and is returned, but RADDLE_EAGAIN. Waits where the body retries,
 * until what it has read has changed. Needs no runtime. Not in a task, if it retries: raddle_future_atomically. */
int raddle_atomically(raddle_stm_body body, void *arg);
/* How a transaction sees to it that what it has read is of one moment: enum raddle_algorithm. Kinds meet on the same
 * variables. */
enum raddle_algorithm {
    /* By versions: the body is run again when something that it has read was written. What raddle_atomically does. */
    RADDLE_VERSIONED = 0,
    /* By values: when something has another value. */
    RADDLE_NOREC = 1,
    /* What was read or written is kept: others wait to write it until this transaction has ended. */
    RADDLE_PESSIMISTIC = 2,
};
/* As raddle_atomically, by an algorithm of enum raddle_algorithm; RADDLE_EINVAL if there is no such. */
int raddle_atomically_by(int algorithm, raddle_stm_body body, void *arg);
/* As raddle_atomically; what it waits for must come in so long: else RADDLE_ETIMEDOUT, and it is rolled back. */
int raddle_atomically_for(int64_t timeout_ns, raddle_stm_body body, void *arg);
/* Reads a variable: what this transaction has written, else what it was at the transaction's moment. */
int raddle_stm_read(raddle_stm_t *stm, const raddle_var_t *var, uintptr_t *word);
/* Writes a variable, for others to see when it has committed. */
int raddle_stm_write(raddle_stm_t *stm, const raddle_var_t *var, uintptr_t word);
/* As raddle_stm_read, of a block: at most capacity bytes are copied to data. *size, if size is not null, is how many
 * the block has. */
int raddle_stm_read_block(raddle_stm_t *stm, const raddle_var_t *var, void *data, size_t capacity, size_t *size);
/* As raddle_stm_write, of a block, which may be of another size than before. */
int raddle_stm_write_block(raddle_stm_t *stm, const raddle_var_t *var, const void *data, size_t size);
/* What was read is not what the body waits for. Returns RADDLE_EAGAIN, to be returned; RADDLE_EINVAL if it has read
 * nothing, since no change could end that wait, and after raddle_stm_irrevocable. */
int raddle_stm_retry(raddle_stm_t *stm);
/* From here to its end the body runs once for certain, for what cannot be undone: the first time it returns
 * RADDLE_EAGAIN, to be returned, and the body begins anew when no other transaction can commit. All others wait until
 * it has ended. In a task RADDLE_EPANIC. */
int raddle_stm_irrevocable(raddle_stm_t *stm);
/* Does first(stm, a); if that retries, it is rolled back, and second(stm, b) done in its place. Returns what that
 * returns; any other code than RADDLE_OK and RADDLE_EAGAIN has rolled this part back, and may be handled. */
int raddle_stm_or_else(raddle_stm_t *stm, raddle_stm_body first, void *a, raddle_stm_body second, void *b);
/* Does part(stm, arg), which is rolled back alone if it returns another code than RADDLE_OK. Returns its code. */
int raddle_stm_nested(raddle_stm_t *stm, raddle_stm_body part, void *arg);
/* Calls fn(arg) when the transaction has committed, once, for what cannot be undone; what it returns nobody asks. */
int raddle_stm_on_commit(raddle_stm_t *stm, raddle_fn fn, void *arg);
/* Calls fn(arg) when this attempt, or the part that is under way, is rolled back, be it only to run again. */
int raddle_stm_on_abort(raddle_stm_t *stm, raddle_fn fn, void *arg);

/* ------------------------------------------------------------------------------------------------ tasks */

typedef struct raddle_task raddle_task_t;
typedef struct raddle_waker raddle_waker_t;
typedef struct raddle_future raddle_future_t;

/* A task: a function without a stack of its own, which is called again and again. It returns RADDLE_EAGAIN if it waits,
 * after it has polled a future, or given a clone of the waker to whoever will wake it; any other code ends it, with
 * *result. It must not wait by other means: such calls return RADDLE_EPANIC in it, with a line on standard error. What
 * it holds of locks it gives back before it returns. The waker is good during the call. */
typedef int (*raddle_poll_fn)(void *arg, const raddle_waker_t *waker, void **result);
/* What is called, once, when a task is over, for whatever reason: to free its argument. Must not wait. */
typedef void (*raddle_end_fn)(void *arg);

/* Makes a task of the caller's runtime, else the default one. *task is to be joined or detached; if task is null, it is
 * detached at once. end may be null. */
int raddle_task_spawn(raddle_task_t **task, raddle_poll_fn poll, raddle_end_fn end, void *arg);
/* Waits for the end of a task, for at most so long: else RADDLE_ETIMEDOUT. *code and *result, if these are not null,
 * are what it has ended with. RADDLE_ENOTRUN if it was aborted, or nobody could wake it any more. Uses the handle up,
 * but with RADDLE_ETIMEDOUT, RADDLE_ECANCELED and RADDLE_EBUSY, which says that another waits for it. */
int raddle_task_join(raddle_task_t *task, int64_t timeout_ns, int *code, void **result);
/* Ends a task where it waits: it is not polled again. */
int raddle_task_abort(const raddle_task_t *task);
/* Nobody will join it. Uses the handle up. RADDLE_EBUSY if another waits for it. */
int raddle_task_detach(raddle_task_t *task);
/* *finished is 1 if a join would not wait, else 0. */
int raddle_task_is_finished(const raddle_task_t *task, int *finished);

/* A waker that is good until it is destroyed. */
int raddle_waker_clone(const raddle_waker_t *waker, raddle_waker_t **clone);
/* Has the task polled again, soon, from anywhere, also when it is over. */
int raddle_waker_wake(const raddle_waker_t *waker);
/* Destroys a clone. RADDLE_EPERM of what a task was called with. */
int raddle_waker_destroy(raddle_waker_t *waker);

/* A word to be received from a channel of words, or of owned words. To be destroyed, as all futures; destroyed before
 * it is ready, it has received nothing. An owned word goes to the channel's drop if it comes where word is null.
 * RADDLE_ENOTSUP of a channel of bytes. */
int raddle_future_recv(const raddle_rx_t *rx, raddle_future_t **future);
/* The sending of a word, which is the future's: of owned ones, what was not sent goes to the channel's drop. */
int raddle_future_send(const raddle_tx_t *tx, uintptr_t word, raddle_future_t **future);
/* The time is over. */
int raddle_future_sleep(int64_t timeout_ns, raddle_future_t **future);
/* So many permits are the caller's. The semaphore stays as long as the future: its end is RADDLE_EBUSY before. */
int raddle_future_acquire(raddle_sem_t *sem, size_t count, raddle_future_t **future);
/* A read (RADDLE_READ) or a write (RADDLE_WRITE) would not wait. The handle stays as long as the future: its close is
 * RADDLE_EBUSY before. */
int raddle_future_fd(const raddle_fd_t *handle, int events, raddle_future_t **future);
/* As raddle_atomically: a transaction that commits while it is polled. Its code is the body's. */
int raddle_future_atomically(raddle_stm_body body, void *arg, raddle_future_t **future);
/* The end of a task: its code, and its result as the word. Uses the task's handle up. */
int raddle_future_task(raddle_task_t *task, raddle_future_t **future);
/* Looks whether it is ready: RADDLE_OK with *word, if word is not null, or the code that it has come to. Else
 * RADDLE_EAGAIN, and the waker is woken when it is worth it to poll again. Once it was ready: RADDLE_EINVAL.
 * RADDLE_EBUSY while another polls it. Does not wait. */
int raddle_future_poll(const raddle_future_t *future, const raddle_waker_t *waker, uintptr_t *word);
/* Waits until it is ready, for at most so long: else RADDLE_ETIMEDOUT. Not in a task. */
int raddle_future_wait(const raddle_future_t *future, int64_t timeout_ns, uintptr_t *word);
/* Destroys a future, ready or not. RADDLE_EBUSY while another polls it. */
int raddle_future_destroy(raddle_future_t *future);

/* ------------------------------------------------------------------------------------------------ memory */

/* As malloc, calloc, aligned_alloc and realloc, by Raddle's allocator, in which no thread waits for another; null, and
 * errno is ENOMEM, if there is no memory, or align is no power of two. A realloc to nothing gives a block. Also from a
 * signal handler. */
void *raddle_malloc(size_t size);
void *raddle_calloc(size_t count, size_t size);
void *raddle_aligned_alloc(size_t align, size_t size);
void *raddle_realloc(void *block, size_t size);
/* Gives a block of these functions back, on whatever thread; null is none. Also from a signal handler. */
void raddle_free(void *block);
/* Returns how many bytes of such a block may be used; 0 of null. */
size_t raddle_usable_size(void *block);
/* Sets options of the allocator, as in "decay=500,limit=4G" (docs/ALLOC.md). RADDLE_ESETTING for another one:
 * raddle_last_error says what is allowed, and those before it are set. */
int raddle_memory_options(const char *options);
/* Lets others have what the caller's heap has, until it allocates or frees again: for a thread that is about to sleep. */
int raddle_memory_rest(void);
/* Gives free memory back to the system at once; returns how many bytes. */
size_t raddle_memory_purge(void);
/* *text is what the allocator has, as JSON; to be freed by free(). */
int raddle_memory_stats(char **text);

/* ------------------------------------------------------------------------------------------------ looking on */

typedef struct raddle_mark raddle_mark_t;

/* Calls body(arg) once for each of so many seeds (1000, if that is 0), as the main process of a runtime of its own with
 * one worker, which takes all its choices from the seed; time is the schedule's own. RADDLE_EFOUND if the body returns
 * another code than RADDLE_OK in one of them, or everybody waits for each other: then *report, if it is not null, says
 * what has happened, under which seed (RADDLE_SEED repeats that one alone) and by which choices; to be freed by free().
 * What is left of a run that has failed is told so by RADDLE_ECANCELED, and must return. The body makes what it uses
 * itself, ends what it began, and lets others use nothing of its frame: its join may be told so before they are. Only
 * from a thread that Raddle has not made. */
int raddle_explore(uint32_t seeds, raddle_body body, void *arg, char **report);
/* Returns the name of a counter, by its index from 0; null behind the last. */
const char *raddle_counter_name(size_t index);
/* *value is the sum of this counter over the workers of a runtime; if it is null, of the caller's, else of the default
 * one. RADDLE_EINVAL if there is no such counter. */
int raddle_counter(const raddle_runtime_t *runtime, const char *name, uint64_t *value);
/* *text is what everybody waits for, as SIGQUIT shows it; to be freed by free(). */
int raddle_dump(char **text);
/* What the caller's runtime records: 0 nothing, 1 the scheduler, 2 locks and channels, too, 3 the program's own marks,
 * too. */
int raddle_trace_level(int level);
/* Writes what was recorded to a file (*.rdt), for `raddle trace`. */
int raddle_trace_dump(const char *file);
/* A name for marks, counters and spans in traces. Lives as long as the program. */
int raddle_mark_create(const char *name, raddle_mark_t **mark);
/* Records that the caller is here, with a value. Nothing on a thread that is no worker, or below level 3. */
int raddle_trace_mark(const raddle_mark_t *mark, uint32_t value);
/* Records a value, which viewers draw as a line. Else as raddle_trace_mark. */
int raddle_trace_counter(const raddle_mark_t *mark, uint32_t value);
/* Records that a span begins. Spans of one thread nest. Else as raddle_trace_mark. */
int raddle_span_begin(const raddle_mark_t *mark);
/* Records that it ends. Else as raddle_trace_mark. */
int raddle_span_end(const raddle_mark_t *mark);

#ifdef __cplusplus
}
#endif

/* raddle_mutex_lock and raddle_mutex_unlock, where nobody waits. The functions do the same, and all else; a name without
 * parentheses behind it is the function's.
 *
 * What lies where is no promise: the tag at the beginning says it, and a later library has another tag if it lies
 * elsewhere. Then a program that was compiled with this calls the functions. */
#ifdef RADDLE_INLINES

#define RADDLE_MUTEX_TAG UINT64_C(0x31746d6c64646172) /* "raddlmt1" */
#define RADDLE_LIKELY(is) __builtin_expect(!!(is), 1)

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

struct raddle_mutex_layout {
    uint64_t tag;
    uintptr_t word;   /* 0 is free, 1 taken, and nobody waits */
    uintptr_t who;    /* the thread of Raddle that has it */
    uintptr_t worker; /* where that one took it */
    uintptr_t line;
    uintptr_t here; /* from the thread pointer to the address of who runs, and a count */
    const unsigned char *calls_only;
};

extern __inline__ __attribute__((__gnu_inline__, __always_inline__)) int RADDLE_MUTEX_LOCK(raddle_mutex_t *mutex)
{
    struct raddle_mutex_layout *lock = (struct raddle_mutex_layout *)mutex;
    uintptr_t who, worker, empty = 0;
    int more;
    if (!RADDLE_LIKELY(lock && ((uintptr_t)lock & 7) == 0 &&
                       __atomic_load_n(&lock->tag, __ATOMIC_RELAXED) == RADDLE_MUTEX_TAG &&
                       __atomic_compare_exchange_n(&lock->word, &empty, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
        return (raddle_mutex_lock)(mutex);
    /* Read anew each time: who waits may go on with other storage. */
    __asm__ __volatile__("{movq %%fs:(%1), %0|mov %0, qword ptr fs:[%1]}" : "=r"(who) : "r"(lock->here));
    if (!RADDLE_LIKELY(who && !__atomic_load_n(lock->calls_only, __ATOMIC_RELAXED)))
        return raddle_mutex_locked(mutex);
    __asm__ __volatile__("{decl %%fs:16(%1)|dec dword ptr fs:[%1+16]}" : "=@ccg"(more) : "r"(lock->here));
    if (!RADDLE_LIKELY(more))
        return raddle_mutex_locked(mutex);
    __atomic_store_n(&lock->who, who, __ATOMIC_RELAXED);
    worker = __atomic_load_n((uintptr_t *)(who + 8), __ATOMIC_RELAXED);
    if (!RADDLE_LIKELY(__atomic_load_n(&lock->worker, __ATOMIC_RELAXED) == worker))
        __atomic_store_n(&lock->worker, worker, __ATOMIC_RELAXED);
    return RADDLE_OK;
}

extern __inline__ __attribute__((__gnu_inline__, __always_inline__)) int RADDLE_MUTEX_UNLOCK(raddle_mutex_t *mutex)
{
    struct raddle_mutex_layout *lock = (struct raddle_mutex_layout *)mutex;
    uintptr_t who, taken = 1;
    if (!RADDLE_LIKELY(lock && ((uintptr_t)lock & 7) == 0 &&
                       __atomic_load_n(&lock->tag, __ATOMIC_RELAXED) == RADDLE_MUTEX_TAG))
        return (raddle_mutex_unlock)(mutex);
    __asm__ __volatile__("{movq %%fs:(%1), %0|mov %0, qword ptr fs:[%1]}" : "=r"(who) : "r"(lock->here));
    if (!RADDLE_LIKELY(who && __atomic_load_n(&lock->who, __ATOMIC_RELAXED) == who))
        return (raddle_mutex_unlock)(mutex);
    __atomic_store_n(&lock->who, 0, __ATOMIC_RELAXED);
    if (RADDLE_LIKELY(__atomic_compare_exchange_n(&lock->word, &taken, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)))
        return RADDLE_OK;
    /* Somebody waits. Nobody else takes the lock meanwhile. */
    __atomic_store_n(&lock->who, who, __ATOMIC_RELAXED);
    return (raddle_mutex_unlock)(mutex);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#define raddle_mutex_lock(mutex) RADDLE_MUTEX_LOCK(mutex)
#define raddle_mutex_unlock(mutex) RADDLE_MUTEX_UNLOCK(mutex)
#undef RADDLE_LIKELY
#endif

#endif
