/* The rival of channels between ranks: a message there and back by plain MPI, whose ranks look without a pause.
 *
 *   mpirun -np 2 pingpong BYTES ROUNDS
 *
 * Prints the median, the least and the most of a round in microseconds, without the first tenth of them. A send here is
 * done when MPI has the bytes; nobody says that they were received. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv) {
    int rank, bytes = argc > 1 ? atoi(argv[1]) : 8, rounds = argc > 2 ? atoi(argv[2]) : 10000;
    if (bytes < 0 || rounds < 10) return fprintf(stderr, "usage: pingpong BYTES ROUNDS, ten of them or more\n"), 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *message = calloc(1, (size_t)bytes + 1);
    double *times = malloc(sizeof(double) * (size_t)rounds);
    for (int round = 0; round < rounds; round++) {
        double began = MPI_Wtime();
        if (rank == 0) MPI_Send(message, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        if (rank <= 1) MPI_Recv(message, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(message, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        times[round] = (MPI_Wtime() - began) * 1e6;
    }
    int left = rounds - rounds / 10;
    double *from = times + rounds / 10;
    qsort(from, (size_t)left, sizeof(double), by_value);
    if (rank == 0)
        printf("%d bytes: median %.2f us, least %.2f, most %.2f\n", bytes, from[left / 2], from[0], from[left - 1]);
    free(times);
    free(message);
    return MPI_Finalize();
}
