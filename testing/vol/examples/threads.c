/* Threads of one program on a thread-safe HDF5: each writes, reads, grows, iterates and closes objects of a file that all share and of
   one of its own, and checks each value. Arguments: the folder for the files, the number of threads, the number of rounds. */
#define H5_USE_114_API
#include <hdf5.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call) ((call) < 0 ? (printf("%d: failed: %s\n", __LINE__, #call), exit(1)) : (void)0)
#define CHECK(truth) ((truth) ? (void)0 : (printf("%d: false: %s\n", __LINE__, #truth), exit(1)))
#define MAX_THREADS 8
/* Large enough that the connector reads with threads of its own. */
#define LARGE (1 << 19)

static const char *folder;
static int threads, rounds;
static hid_t shared;

typedef struct {
    int32_t id;
    double value;
    char *name;
} record;

static herr_t count_link(hid_t group, const char *name, const H5L_info2_t *info, void *data) {
    (void)group, (void)name, (void)info;
    ++*(int *)data;
    return 0;
}

static hid_t record_type(void) {
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(record)), text = H5Tcopy(H5T_C_S1);
    TRY(type);
    TRY(H5Tset_size(text, H5T_VARIABLE));
    TRY(H5Tinsert(type, "id", HOFFSET(record, id), H5T_NATIVE_INT32));
    TRY(H5Tinsert(type, "value", HOFFSET(record, value), H5T_NATIVE_DOUBLE));
    TRY(H5Tinsert(type, "name", HOFFSET(record, name), text));
    TRY(H5Tclose(text));
    return type;
}

/* Numbers that tell thread, round and place. */
static double told(int thread, int round, int at) { return thread * 1e8 + round * 1e5 + at % 100000; }

static void write_and_read_numbers(hid_t group, int thread, int round) {
    enum { COUNT = 500 };
    double out[COUNT], in[COUNT];
    hsize_t dims[1] = {COUNT};
    char name[32];
    for (int i = 0; i < COUNT; i++)
        out[i] = told(thread, round, i);
    snprintf(name, sizeof name, "numbers%d", round % 10);
    if (H5Lexists(group, name, H5P_DEFAULT) > 0)
        TRY(H5Ldelete(group, name, H5P_DEFAULT));
    hid_t space = H5Screate_simple(1, dims, NULL), set = H5Dcreate2(group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    TRY(set);
    TRY(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, out));
    hsize_t start[1] = {(hsize_t)(round % 7)}, stride[1] = {3}, count[1] = {100};
    TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL));
    hid_t memory = H5Screate_simple(1, count, NULL);
    TRY(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, in));
    for (int i = 0; i < 100; i++)
        CHECK(in[i] == out[round % 7 + 3 * i]);
    TRY(H5Sclose(memory));
    TRY(H5Dclose(set));
    TRY(H5Sclose(space));
}

static void append(hid_t group, int thread, int round) {
    hid_t set;
    hsize_t now[1] = {0}, one[1] = {1};
    if (round == 0) {
        hsize_t max[1] = {H5S_UNLIMITED}, chunk[1] = {64};
        hid_t space = H5Screate_simple(1, now, max), list = H5Pcreate(H5P_DATASET_CREATE);
        TRY(H5Pset_chunk(list, 1, chunk));
        TRY(set = H5Dcreate2(group, "grown", H5T_STD_I64LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
        TRY(H5Sclose(space));
        TRY(H5Pclose(list));
    } else
        TRY(set = H5Dopen2(group, "grown", H5P_DEFAULT));
    now[0] = (hsize_t)round + 1;
    TRY(H5Dset_extent(set, now));
    hid_t file = H5Dget_space(set), memory = H5Screate_simple(1, one, NULL);
    hsize_t start[1] = {(hsize_t)round};
    int64_t value = (int64_t)told(thread, round, 0);
    TRY(H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, one, NULL));
    TRY(H5Dwrite(set, H5T_NATIVE_INT64, memory, file, H5P_DEFAULT, &value));
    int64_t *all = malloc(sizeof(int64_t) * now[0]);
    TRY(H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
    for (int i = 0; i <= round; i++)
        CHECK(all[i] == (int64_t)told(thread, i, 0));
    free(all);
    TRY(H5Sclose(memory));
    TRY(H5Sclose(file));
    TRY(H5Dclose(set));
}

static void records(hid_t group, int thread, int round) {
    enum { COUNT = 20 };
    record out[COUNT], in[COUNT];
    char names[COUNT][24], name[32];
    hsize_t dims[1] = {COUNT};
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "%d of %d", i, thread);
        out[i] = (record){i, told(thread, round, i), names[i]};
    }
    snprintf(name, sizeof name, "records%d", round % 5);
    hid_t type = record_type(), space = H5Screate_simple(1, dims, NULL), set;
    if (round < 5)
        set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    else
        set = H5Dopen2(group, name, H5P_DEFAULT);
    TRY(set);
    TRY(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out));
    TRY(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, in));
    for (int i = 0; i < COUNT; i++)
        CHECK(in[i].id == i && in[i].value == out[i].value && strcmp(in[i].name, names[i]) == 0);
    TRY(H5Treclaim(type, space, H5P_DEFAULT, in));
    TRY(H5Dclose(set));
    TRY(H5Sclose(space));
    TRY(H5Tclose(type));
}

static void read_large(void) {
    hid_t set = H5Dopen2(shared, "large", H5P_DEFAULT);
    TRY(set);
    double *values = malloc(sizeof(double) * LARGE);
    TRY(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    for (int i = 0; i < LARGE; i++)
        CHECK(values[i] == i);
    free(values);
    TRY(H5Dclose(set));
}

static void own_file(int thread, int round) {
    char path[512];
    snprintf(path, sizeof path, "%s/own%d.h5", folder, thread);
    hid_t file = round < 20 ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) : H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    TRY(file);
    write_and_read_numbers(file, thread, round);
    TRY(H5Fclose(file));
    TRY(file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    int links = 0;
    TRY(H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, count_link, &links));
    CHECK(links >= 1 && links <= 10);
    TRY(H5Fclose(file));
}

static void *work(void *data) {
    int thread = (int)(intptr_t)data, value;
    char name[32];
    snprintf(name, sizeof name, "thread%d", thread);
    hid_t group = H5Gcreate2(shared, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), one = H5Screate(H5S_SCALAR);
    TRY(group);
    for (int round = 0; round < rounds; round++) {
        write_and_read_numbers(group, thread, round);
        append(group, thread, round);
        records(group, thread, round);
        hid_t attribute = round == 0 ? H5Acreate2(group, "round", H5T_STD_I32LE, one, H5P_DEFAULT, H5P_DEFAULT) : H5Aopen(group, "round", H5P_DEFAULT);
        TRY(attribute);
        TRY(H5Awrite(attribute, H5T_NATIVE_INT, &round));
        TRY(H5Aread(attribute, H5T_NATIVE_INT, &value));
        CHECK(value == round);
        TRY(H5Aclose(attribute));
        int links = 0;
        TRY(H5Literate2(shared, H5_INDEX_NAME, H5_ITER_INC, NULL, count_link, &links));
        CHECK(links >= 2 && links <= threads + 1);
        if (round % 10 == thread % 10)
            own_file(thread, round);
        if (round % 50 == thread)
            read_large();
        if (round % 40 == thread)
            TRY(H5Fflush(shared, H5F_SCOPE_GLOBAL));
    }
    TRY(H5Sclose(one));
    TRY(H5Gclose(group));
    return NULL;
}

int main(int count, char **arguments) {
    CHECK(count == 4);
    folder = arguments[1], threads = atoi(arguments[2]), rounds = atoi(arguments[3]);
    CHECK(threads >= 1 && threads <= MAX_THREADS);
    hbool_t safe = 0;
    TRY(H5is_library_threadsafe(&safe));
    CHECK(safe);
    char path[512];
    snprintf(path, sizeof path, "%s/shared.h5", folder);
    TRY(shared = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    double *large = malloc(sizeof(double) * LARGE);
    for (int i = 0; i < LARGE; i++)
        large[i] = i;
    hsize_t dims[1] = {LARGE};
    hid_t space = H5Screate_simple(1, dims, NULL), set = H5Dcreate2(shared, "large", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    TRY(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, large));
    TRY(H5Dclose(set));
    TRY(H5Sclose(space));
    TRY(H5Fflush(shared, H5F_SCOPE_GLOBAL));
    free(large);
    pthread_t made[MAX_THREADS];
    for (int i = 0; i < threads; i++)
        CHECK(pthread_create(&made[i], NULL, work, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < threads; i++)
        CHECK(pthread_join(made[i], NULL) == 0);
    TRY(H5Fclose(shared));
    printf("%d threads, %d rounds: every value is right\n", threads, rounds);
    return 0;
}
