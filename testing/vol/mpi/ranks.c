/* Ranks that write one file together, as an application of parallel HDF5 does: nothing here knows of connectors.
 * ranks PATH ROWS: particles in two dimensions, a share of the rows a rank; a matrix in which the ranks' columns
 * alternate; a dataset that grows; attributes. Flushed, changed by one rank alone, closed, opened again, changed. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COLUMNS 40
typedef struct { float x, y; double e; int id; } particle;

static void must(long status, const char *what) {
    if (status < 0) {
        fprintf(stderr, "%s failed\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static hid_t created(hid_t at, const char *name, hid_t type, int ndims, const hsize_t *shape, const hsize_t *most, int fill) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(ndims, shape, most);
    if (most) {
        hsize_t chunk[2] = {16, COLUMNS};
        must(H5Pset_chunk(plist, ndims, chunk), "chunk");
    }
    if (fill) must(H5Pset_fill_value(plist, H5T_NATIVE_INT, &fill), "fill value");
    hid_t set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    must(set, name);
    H5Pclose(plist); H5Sclose(space);
    return set;
}

static void put(hid_t set, hid_t type, const hsize_t *at, const hsize_t *step, const hsize_t *count, const void *values, hid_t dxpl) {
    hid_t space = H5Dget_space(set);
    hid_t memory = H5Screate_simple(H5Sget_simple_extent_ndims(space), count, NULL);
    must(H5Sselect_hyperslab(space, H5S_SELECT_SET, at, step, count, NULL), "select");
    must(H5Dwrite(set, type, memory, space, dxpl, values), "write");
    H5Sclose(space); H5Sclose(memory);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    hsize_t rows = strtoull(argv[2], NULL, 10), first = rows * rank / size, end = rows * (rank + 1) / size, mine = end - first;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), collective = H5Pcreate(H5P_DATASET_XFER);
    must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "fapl");
    H5Pset_all_coll_metadata_ops(access, 1);
    H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    must(file, "create");

    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(particle));
    H5Tinsert(type, "x", HOFFSET(particle, x), H5T_NATIVE_FLOAT);
    H5Tinsert(type, "y", HOFFSET(particle, y), H5T_NATIVE_FLOAT);
    H5Tinsert(type, "e", HOFFSET(particle, e), H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "id", HOFFSET(particle, id), H5T_NATIVE_INT);
    hsize_t shape[2] = {rows, COLUMNS};
    hid_t group = H5Gcreate2(file, "step", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t set = created(group, "particles", type, 2, shape, NULL, 0);
    particle *values = malloc(mine * COLUMNS * sizeof *values);
    for (hsize_t i = 0; i < mine * COLUMNS; i++) {
        int id = (int)(first * COLUMNS + i);
        values[i] = (particle){(float)id, -(float)id, 0.5 * id, id};
    }
    hsize_t at[2] = {first, 0}, box[2] = {mine, COLUMNS};
    put(set, type, at, NULL, box, values, collective);

    /* Columns that alternate, over a fill value that a late rank must not put over them; the last column stays. */
    hid_t matrix = created(group, "matrix", H5T_STD_I32BE, 2, shape, NULL, 7);
    int *column = malloc(rows * sizeof *column);
    for (int c = rank; c < COLUMNS - 1; c += size) {
        for (hsize_t i = 0; i < rows; i++) column[i] = (int)i * COLUMNS + c;
        hsize_t where[2] = {0, (hsize_t)c}, one[2] = {rows, 1};
        put(matrix, H5T_NATIVE_INT, where, NULL, one, column, H5P_DEFAULT);
    }

    hsize_t start[2] = {0, COLUMNS}, most[2] = {H5S_UNLIMITED, COLUMNS};
    hid_t grown = created(file, "grown", H5T_NATIVE_INT, 2, start, most, 0);
    for (int turn = 1; turn <= 3; turn++) {
        hsize_t now[2] = {(hsize_t)(turn * size), COLUMNS}, where[2] = {(hsize_t)((turn - 1) * size + rank), 0}, one[2] = {1, COLUMNS};
        must(H5Dset_extent(grown, now), "extent");
        int row[COLUMNS];
        for (int i = 0; i < COLUMNS; i++) row[i] = turn * 1000 + rank;
        put(grown, H5T_NATIVE_INT, where, NULL, one, row, H5P_DEFAULT);
    }
    hid_t scalar = H5Screate(H5S_SCALAR), attribute = H5Acreate2(group, "ranks", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    must(H5Awrite(attribute, H5T_NATIVE_INT, &size), "attribute");
    H5Aclose(attribute);
    must(H5Fflush(file, H5F_SCOPE_GLOBAL), "flush");

    /* What was published is changed by the last rank alone. */
    if (rank == size - 1) {
        hsize_t where[2] = {0, COLUMNS - 1}, one[2] = {1, 1};
        int value = -5;
        put(matrix, H5T_NATIVE_INT, where, NULL, one, &value, H5P_DEFAULT);
    }
    H5Dclose(set); H5Dclose(matrix); H5Dclose(grown); H5Gclose(group);
    must(H5Fclose(file), "close");

    /* Opened again by all, read by all, changed by each. */
    file = H5Fopen(argv[1], H5F_ACC_RDWR, access);
    must(file, "open again");
    set = H5Dopen2(file, "step/particles", H5P_DEFAULT);
    must(set, "open particles");
    particle *all = malloc(rows * COLUMNS * sizeof *all);
    must(H5Dread(set, type, H5S_ALL, H5S_ALL, collective, all), "read");
    for (hsize_t i = 0; i < rows * COLUMNS; i++)
        if (all[i].id != (int)i || all[i].x != (float)i || all[i].e != 0.5 * (double)i) must(-1, "comparing");
    for (hsize_t i = 0; i < COLUMNS; i++) values[i].id = -1 - rank;
    at[0] = (hsize_t)rank; box[0] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    put(set, type, at, NULL, box, values, H5P_DEFAULT);
    H5Dclose(set);
    must(H5Fclose(file), "close again");
    MPI_Barrier(MPI_COMM_WORLD);

    /* A place where nothing can be created is an error for every rank, and none waits for another. */
    H5E_BEGIN_TRY { file = H5Fcreate("/no/such/place", H5F_ACC_TRUNC, H5P_DEFAULT, access); } H5E_END_TRY
    if (file >= 0) must(-1, "refusing");
    H5Pclose(access); H5Pclose(collective); H5Tclose(type); H5Sclose(scalar);
    MPI_Finalize();
    return 0;
}
