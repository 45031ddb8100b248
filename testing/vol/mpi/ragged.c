/* Ranks that write values of variable length together, which parallel HDF5 itself refuses: nothing here knows of
 * connectors. ragged PATH ROWS: texts that alternate between the ranks, sequences, a compound with both, texts that
 * grow; flushed, changed by one rank alone, closed, opened again, read by all, changed by each. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int id; const char *name; hvl_t parts; } record;

static int rank, size;

static void must(long status, const char *what) {
    if (status < 0) {
        fprintf(stderr, "rank %d: %s failed\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static hid_t created(hid_t at, const char *name, hid_t type, hsize_t count, hsize_t most) {
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &count, &most);
    hsize_t chunk = 8;
    if (most != count) must(H5Pset_chunk(plist, 1, &chunk), "chunk");
    hid_t set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    must(set, name);
    H5Pclose(plist); H5Sclose(space);
    return set;
}

/* Elements at, at + step, …: count of them. */
static void put(hid_t set, hid_t type, hsize_t at, hsize_t step, hsize_t count, const void *values) {
    hid_t space = H5Dget_space(set), memory = H5Screate_simple(1, &count, NULL);
    if (count) must(H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, &step, &count, NULL), "select");
    else { H5Sselect_none(space); H5Sselect_none(memory); }
    must(H5Dwrite(set, type, memory, space, H5P_DEFAULT, values), "write");
    H5Sclose(space); H5Sclose(memory);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    hsize_t rows = strtoull(argv[2], NULL, 10), first = rows * rank / size, end = rows * (rank + 1) / size, mine = end - first;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "fapl");
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    must(file, "create");
    hid_t text = H5Tcopy(H5T_C_S1), sequence = H5Tvlen_create(H5T_NATIVE_INT), compound = H5Tcreate(H5T_COMPOUND, sizeof(record));
    H5Tset_size(text, H5T_VARIABLE);
    H5Tset_cset(text, H5T_CSET_UTF8);
    H5Tinsert(compound, "id", HOFFSET(record, id), H5T_NATIVE_INT);
    H5Tinsert(compound, "name", HOFFSET(record, name), text);
    H5Tinsert(compound, "parts", HOFFSET(record, parts), sequence);

    /* Texts: element i is of rank i % size; the last one is written by nobody. */
    hid_t texts = created(file, "texts", text, rows + 1, rows + 1);
    hsize_t own = rows > (hsize_t)rank ? (rows - rank - 1) / size + 1 : 0;
    char (*words)[32] = malloc((own + 1) * sizeof *words);
    const char **each = malloc((own + 1) * sizeof *each);
    for (hsize_t i = 0; i < own; i++) {
        snprintf(words[i], 32, "text %d of %d", (int)(rank + i * size), rank);
        each[i] = words[i];
    }
    put(texts, text, rank, size, own, each);

    /* Sequences: a share of the rows a rank, element i of i % 5 numbers. Compounds too. */
    hid_t sequences = created(file, "sequences", sequence, rows, rows), records = created(file, "records", compound, rows, rows);
    int numbers[8];
    hvl_t *runs = malloc((mine + 1) * sizeof *runs);
    record *values = malloc((mine + 1) * sizeof *values);
    char (*names)[32] = malloc((mine + 1) * sizeof *names);
    for (int i = 0; i < 8; i++) numbers[i] = 10 * i + rank;
    for (hsize_t i = 0; i < mine; i++) {
        int id = (int)(first + i);
        runs[i] = (hvl_t){id % 5, numbers};
        snprintf(names[i], 32, "name %d", id);
        values[i] = (record){id, names[i], {(id + 1) % 3, numbers + 1}};
    }
    put(sequences, sequence, first, 1, mine, runs);
    put(records, compound, first, 1, mine, values);

    /* Texts that grow, one a rank and turn. */
    hid_t grown = created(file, "grown", text, 0, H5S_UNLIMITED);
    for (int turn = 0; turn < 3; turn++) {
        hsize_t now = (hsize_t)((turn + 1) * size);
        must(H5Dset_extent(grown, &now), "extent");
        char word[32];
        const char *one = word;
        snprintf(word, sizeof word, "turn %d rank %d", turn, rank);
        put(grown, text, (hsize_t)(turn * size + rank), 1, 1, &one);
    }
    /* What is cut off is gone, also with those that have written it. */
    hsize_t less = (hsize_t)(3 * size - 1), again = less + 1;
    must(H5Dset_extent(grown, &less), "less");
    must(H5Dset_extent(grown, &again), "again");
    if (rank == 0) {
        const char *one = "written again";
        put(grown, text, less, 1, 1, &one);
    }
    /* Before a flush no rank knows all values: a copy is refused, for every rank. */
    hid_t copied;
    H5E_BEGIN_TRY { copied = H5Ocopy(file, "texts", file, "copy", H5P_DEFAULT, H5P_DEFAULT); } H5E_END_TRY
    if (copied >= 0) must(-1, "refusing to copy");
    must(H5Fflush(file, H5F_SCOPE_GLOBAL), "flush");
    must(H5Ocopy(file, "texts", file, "copy", H5P_DEFAULT, H5P_DEFAULT), "copy");
    if (rank == size - 1) {
        const char *one = "changed alone";
        put(texts, text, 0, 1, 1, &one);
    }
    H5Dclose(texts); H5Dclose(sequences); H5Dclose(records); H5Dclose(grown);
    must(H5Fclose(file), "close");

    file = H5Fopen(argv[1], H5F_ACC_RDWR, access);
    must(file, "open again");
    records = H5Dopen2(file, "records", H5P_DEFAULT);
    record *all = malloc(rows * sizeof *all);
    must(H5Dread(records, compound, H5S_ALL, H5S_ALL, H5P_DEFAULT, all), "read");
    for (hsize_t i = 0; i < rows; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", (int)i);
        if (all[i].id != (int)i || strcmp(all[i].name, name) || all[i].parts.len != (i + 1) % 3) must(-1, "comparing");
    }
    /* Each changes the names of one element, and nothing else of it. */
    hid_t only = H5Tcreate(H5T_COMPOUND, sizeof(char *));
    H5Tinsert(only, "name", 0, text);
    char word[32];
    const char *one = word;
    snprintf(word, sizeof word, "rank %d", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    put(records, only, (hsize_t)rank, 1, 1, &one);
    H5Dclose(records);
    must(H5Fclose(file), "close again");
    MPI_Finalize();
    return 0;
}
