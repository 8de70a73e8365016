/* What plain MPI takes for a message there and back if whoever receives it must not wait, as a proxy must not.
 *
 *   mpirun -np 2 pingtest BYTES ROUNDS WAY
 *
 * WAY 0: MPI_Recv, as in pingpong.c. 1: MPI_Iprobe of any rank, MPI_Irecv, MPI_Test. 2: a persistent receive of any rank
 * is posted before the message comes, and tested. Sent is by MPI_Isend and MPI_Test, with MPI_THREAD_SERIALIZED, always.
 * Prints the median of a round in microseconds, without the first tenth of them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 1 << 17, RECEIVE = 0, PROBE = 1, AHEAD = 2 };

static char in[ROOM], out[ROOM];
static MPI_Request ahead = MPI_REQUEST_NULL;

static int by_value(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

static void wait_for(MPI_Request *request, MPI_Status *status) {
    for (int done = 0; !done;) MPI_Test(request, &done, status);
}

static void say(int bytes, int peer) {
    MPI_Request request;
    MPI_Isend(out, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request);
    wait_for(&request, MPI_STATUS_IGNORE);
}

static void hear(int way, int peer) {
    MPI_Status status;
    int found = 0, bytes;
    if (way == RECEIVE) {
        MPI_Recv(in, ROOM, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (way == PROBE) {
        while (!found) MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &found, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        MPI_Request request;
        MPI_Irecv(in, bytes, MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD, &request);
        wait_for(&request, &status);
    } else {
        wait_for(&ahead, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        MPI_Start(&ahead);
    }
}

int main(int argc, char **argv) {
    int rank, given, bytes = argc > 1 ? atoi(argv[1]) : 8, rounds = argc > 2 ? atoi(argv[2]) : 10000;
    int way = argc > 3 ? atoi(argv[3]) : AHEAD;
    if (bytes < 0 || bytes > ROOM || rounds < 10 || way < RECEIVE || way > AHEAD)
        return fprintf(stderr, "usage: pingtest BYTES ROUNDS WAY: up to %d, ten or more, 0 to 2\n", ROOM), 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double *times = malloc(sizeof(double) * (size_t)rounds);
    if (way == AHEAD) {
        MPI_Recv_init(in, ROOM, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &ahead);
        MPI_Start(&ahead);
    }
    for (int round = 0; round < rounds && rank < 2; round++) {
        double began = MPI_Wtime();
        if (rank == 0) say(bytes, 1);
        hear(way, 1 - rank);
        if (rank == 1) say(bytes, 0);
        times[round] = (MPI_Wtime() - began) * 1e6;
    }
    int left = rounds - rounds / 10;
    double *from = times + rounds / 10;
    qsort(from, (size_t)left, sizeof(double), by_value);
    if (rank == 0) printf("%d bytes, way %d: median %.2f us\n", bytes, way, from[left / 2]);
    if (way == AHEAD) {
        MPI_Cancel(&ahead);
        MPI_Wait(&ahead, MPI_STATUS_IGNORE);
        MPI_Request_free(&ahead);
    }
    free(times);
    return MPI_Finalize();
}
