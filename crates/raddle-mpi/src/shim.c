/* All that Raddle asks of MPI, compiled by the user's own mpicc, loaded at run time.
 *
 * A request is 64 bits here, whatever the MPI has: a pointer in Open MPI, an int in MPICH. Every function returns MPI's
 * own code, 0 if it went well. Who calls sees to it that no two calls are at the same time. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define RADDLE_SHIM_VERSION 5

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "a request fits 64 bits");

/* Messages of the program; what ranks tell each other; faces of plans; channels. */
#define SPACES 4
static MPI_Comm spaces[SPACES] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};

static MPI_Request request_of(const uint64_t *word) {
    MPI_Request request;
    memcpy(&request, word, sizeof request);
    return request;
}

static void keep(uint64_t *word, MPI_Request request) {
    *word = 0;
    memcpy(word, &request, sizeof request);
}

int raddle_mpi_version(void) { return RADDLE_SHIM_VERSION; }

int raddle_mpi_library(char *text, int room) {
    char all[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    int code = MPI_Get_library_version(all, &length);
    if (code == MPI_SUCCESS) snprintf(text, (size_t)room, "%.*s", (int)strcspn(all, "\n"), all);
    return code;
}

/* 1 if somebody else in the program has initialised MPI, 2 if it is over already. */
int raddle_mpi_is_taken(void) {
    int yes = 0;
    if (MPI_Finalized(&yes) == MPI_SUCCESS && yes) return 2;
    if (MPI_Initialized(&yes) == MPI_SUCCESS && yes) return 1;
    return 0;
}

/* What is granted: 1 if calls may come from one thread after another, 0 if only from one. */
int raddle_mpi_init(int *serialized) {
    int given = MPI_THREAD_SINGLE;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
#ifdef RADDLE_TEST_THREAD_LEVEL
    given = RADDLE_TEST_THREAD_LEVEL;
#endif
    *serialized = given >= MPI_THREAD_SERIALIZED;
    return code;
}

/* After `raddle_mpi_init`. */
int raddle_mpi_open(int *rank, int *size, int *tag_max) {
    int code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int space = 0; space < SPACES && code == MPI_SUCCESS; space++) {
        code = MPI_Comm_dup(MPI_COMM_WORLD, &spaces[space]);
        if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(spaces[space], MPI_ERRORS_RETURN);
    }
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, size);
    int *bound = NULL, there = 0;
    if (code == MPI_SUCCESS) code = MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &there);
    *tag_max = there && bound ? *bound : 32767;
    return code;
}

/* MPICH 4.0.2 over UCX and TCP does not always come to its end: one rank waits in MPI_Finalize until its connections
 * are closed, and the other one, done with that, for all, and helps nobody. A ping-pong in plain C hangs, too. Why
 * is not known; with messages there and back before, 0 of 30 runs beside load hung, without 6 of 30, in turn. */
int raddle_mpi_finalize(void) {
#ifdef MPICH_VERSION
    for (int round = 0; round < 10; round++) MPI_Barrier(MPI_COMM_WORLD);
#endif
    for (int space = 0; space < SPACES; space++)
        if (spaces[space] != MPI_COMM_NULL) MPI_Comm_free(&spaces[space]);
    return MPI_Finalize();
}

int raddle_mpi_abort(int code) { return MPI_Abort(MPI_COMM_WORLD, code); }

int raddle_mpi_send(const void *bytes, int count, int peer, int tag, int space, uint64_t *word) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Isend(bytes, count, MPI_BYTE, peer, tag, spaces[space], &request);
    keep(word, request);
    return code;
}

int raddle_mpi_receive(void *bytes, int room, int peer, int tag, int space, uint64_t *word) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Irecv(bytes, room, MPI_BYTE, peer, tag, spaces[space], &request);
    keep(word, request);
    return code;
}

int raddle_mpi_send_init(const void *bytes, int count, int peer, int tag, int space, uint64_t *word) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Send_init(bytes, count, MPI_BYTE, peer, tag, spaces[space], &request);
    keep(word, request);
    return code;
}

int raddle_mpi_receive_init(void *bytes, int room, int peer, int tag, int space, uint64_t *word) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Recv_init(bytes, room, MPI_BYTE, peer, tag, spaces[space], &request);
    keep(word, request);
    return code;
}

int raddle_mpi_start(uint64_t *word) {
    MPI_Request request = request_of(word);
    int code = MPI_Start(&request);
    keep(word, request);
    return code;
}

int raddle_mpi_free(uint64_t *word) {
    MPI_Request request = request_of(word);
    int code = request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Request_free(&request);
    keep(word, request);
    return code;
}

/* `bytes` is what a receive has got. */
int raddle_mpi_test(uint64_t *word, int *done, int *bytes) {
    MPI_Request request = request_of(word);
    MPI_Status status;
    *bytes = 0;
    int code = MPI_Test(&request, done, &status);
    keep(word, request);
    if (code == MPI_SUCCESS && *done) MPI_Get_count(&status, MPI_BYTE, bytes);
    return code;
}

/* Whether a message of `peer` waits that nobody has asked for, and which. */
int raddle_mpi_probe(int peer, int space, int *found, int *tag, int *bytes) {
    MPI_Status status;
    int code = MPI_Iprobe(peer, MPI_ANY_TAG, spaces[space], found, &status);
    if (code != MPI_SUCCESS || !*found) return code;
    *tag = status.MPI_TAG;
    return MPI_Get_count(&status, MPI_BYTE, bytes);
}

/* A persistent receive of whomever: it is posted before anything has come, by `raddle_mpi_start`, again and again. */
int raddle_mpi_ahead(void *bytes, int room, int tag, int space, uint64_t *word) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Recv_init(bytes, room, MPI_BYTE, MPI_ANY_SOURCE, tag, spaces[space], &request);
    keep(word, request);
    return code;
}

/* Whether a message has come into it, whose it is, and how long. */
int raddle_mpi_came(uint64_t *word, int *done, int *whose, int *bytes) {
    MPI_Request request = request_of(word);
    MPI_Status status;
    int code = MPI_Test(&request, done, &status);
    keep(word, request);
    if (code != MPI_SUCCESS || !*done) return code;
    *whose = status.MPI_SOURCE;
    return MPI_Get_count(&status, MPI_BYTE, bytes);
}

/* Begins to take it back. It is when `raddle_mpi_test` says so, which is asked until a deadline: MPI_Wait has none. */
int raddle_mpi_cancel(uint64_t *word) {
    MPI_Request request = request_of(word);
    int code = MPI_SUCCESS;
#ifndef RADDLE_TEST_CANCELS_NOTHING
    code = MPI_Cancel(&request);
#endif
    keep(word, request);
    return code;
}

/* A message of whomever with that tag, if one is here: its text, of at most `room` bytes, and whose it is. */
int raddle_mpi_told(int tag, int space, char *text, int room, int *bytes, int *whose) {
    MPI_Status status;
    int found = 0;
    *bytes = -1;
    int code = MPI_Iprobe(MPI_ANY_SOURCE, tag, spaces[space], &found, &status);
    if (code != MPI_SUCCESS || !found) return code;
    *whose = status.MPI_SOURCE;
    code = MPI_Recv(text, room, MPI_BYTE, *whose, tag, spaces[space], &status);
    return code == MPI_SUCCESS ? MPI_Get_count(&status, MPI_BYTE, bytes) : code;
}

/* The class of a code by its name, since numbers differ, and what the library says of it. */
void raddle_mpi_error(int code, char *name, int name_room, char *text, int text_room) {
    static const struct { int class; const char *name; } table[] = {
#define CLASS(name) {MPI_ERR_##name, "MPI_ERR_" #name}
        CLASS(BUFFER), CLASS(COUNT), CLASS(TYPE), CLASS(TAG), CLASS(COMM), CLASS(RANK), CLASS(REQUEST), CLASS(ROOT),
        CLASS(GROUP), CLASS(OP), CLASS(TOPOLOGY), CLASS(DIMS), CLASS(ARG), CLASS(TRUNCATE), CLASS(OTHER),
        CLASS(INTERN), CLASS(IN_STATUS), CLASS(PENDING), CLASS(NO_MEM),
#undef CLASS
    };
    int class = code, length = 0;
    char all[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_class(code, &class);
    snprintf(name, (size_t)name_room, "class %d", class);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].class == class) snprintf(name, (size_t)name_room, "%s", table[i].name);
    MPI_Error_string(code, all, &length);
    snprintf(text, (size_t)text_room, "%.*s", (int)strcspn(all, "\n"), all);
}
