/* Ranks that flush often. flushed PATH closes: creates the file, and five datasets with a flush after each. flushed PATH adds: opens it, adds
 * five more, and changes the first one. flushed PATH ends: as adds, but the ranks end after the last flush without closing. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS 1000

static void must(long status, const char *what) {
    if (status < 0) {
        fprintf(stderr, "%s failed\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void put(hid_t set, int rank, const int *values) {
    hsize_t at = (hsize_t)rank * ROWS, count = ROWS;
    hid_t space = H5Dget_space(set), memory = H5Screate_simple(1, &count, NULL);
    must(H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &count, NULL), "select");
    must(H5Dwrite(set, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values), "write");
    H5Sclose(space); H5Sclose(memory);
}

int main(int argc, char **argv) {
    int rank, size, values[ROWS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int adds = strcmp(argv[2], "closes") != 0, ends = strcmp(argv[2], "ends") == 0;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "fapl");
    hid_t file = adds ? H5Fopen(argv[1], H5F_ACC_RDWR, access) : H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    must(file, "file");
    hsize_t all = (hsize_t)size * ROWS;
    hid_t space = H5Screate_simple(1, &all, NULL);
    for (int turn = adds ? 5 : 0; turn < (adds ? 10 : 5); turn++) {
        char name[8];
        snprintf(name, sizeof name, "x%d", turn);
        hid_t set = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        must(set, name);
        for (int i = 0; i < ROWS; i++) values[i] = turn * 1000000 + rank * ROWS + i;
        put(set, rank, values);
        must(H5Fflush(file, H5F_SCOPE_GLOBAL), "flush");
        /* What was flushed is read again, by a rank that has not written it. */
        int next[ROWS];
        hsize_t at = (hsize_t)((rank + 1) % size) * ROWS, count = ROWS;
        hid_t chosen = H5Dget_space(set), memory = H5Screate_simple(1, &count, NULL);
        must(H5Sselect_hyperslab(chosen, H5S_SELECT_SET, &at, NULL, &count, NULL), "select");
        must(H5Dread(set, H5T_NATIVE_INT, memory, chosen, H5P_DEFAULT, next), "read");
        for (int i = 0; i < ROWS; i++)
            if (next[i] != turn * 1000000 + (int)at + i) must(-1, "comparing");
        H5Sclose(chosen); H5Sclose(memory); H5Dclose(set);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (adds) {
        hid_t set = H5Dopen2(file, "x0", H5P_DEFAULT);
        must(set, "open");
        for (int i = 0; i < ROWS; i++) values[i] = -1;
        put(set, rank, values);
        H5Dclose(set);
        must(H5Fflush(file, H5F_SCOPE_GLOBAL), "flush");
    }
    if (ends) {
        MPI_Barrier(MPI_COMM_WORLD);
        _exit(3);
    }
    H5Sclose(space); H5Pclose(access);
    must(H5Fclose(file), "close");
    MPI_Finalize();
    return 0;
}
