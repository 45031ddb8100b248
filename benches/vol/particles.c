/* The experiment of the Arrow VOL connector's slides: compound particles (seven floats and an int, 32 bytes) in two
 * dimensions, written from contiguous memory (CI) and from interleaved memory (II), and read back.
 * One line for each step: name and seconds. Which connector does it is HDF5_VOL_CONNECTOR's word.
 * With -DRANKS each rank of MPI writes and reads a share of the rows of one file, and the slowest one's time counts. */
#include <dirent.h>
#include <fcntl.h>
#include <hdf5.h>
#ifdef RANKS
#include <mpi.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MEMBERS 8
typedef struct { float f[7]; int id; } particle;

static const char *names[MEMBERS] = {"x", "y", "z", "px", "py", "pz", "energy", "id"};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int rank = 0, ranks = 1;

/* Called by all ranks when a step begins and when it ends. */
static double moment(void) {
#ifdef RANKS
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    return now();
}

static void tell(const char *step, double seconds) {
    if (rank == 0) printf("%s %.6f\n", step, seconds);
}

/* Waits until a file, or each file of a folder, is on the disk. */
static void on_disk(const char *path) {
    char name[4096];
    DIR *folder = opendir(path);
    int file = open(path, O_RDONLY);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        int inside = open(name, O_RDONLY);
        if (inside >= 0) { fsync(inside); close(inside); }
    }
    if (folder) closedir(folder);
    fsync(file);
    close(file);
}

static void must(long status, const char *what) {
    if (status < 0) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

static hid_t whole(void) {
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(particle));
    for (int m = 0; m < MEMBERS; m++)
        must(H5Tinsert(type, names[m], (size_t)m * 4, m < 7 ? H5T_NATIVE_FLOAT : H5T_NATIVE_INT), "insert");
    return type;
}

static hid_t single(int m) {
    hid_t type = H5Tcreate(H5T_COMPOUND, 4);
    must(H5Tinsert(type, names[m], 0, m < 7 ? H5T_NATIVE_FLOAT : H5T_NATIVE_INT), "insert");
    return type;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: particles PATH ROWS COLUMNS ci|ii\n");
        return 2;
    }
    hid_t access = H5P_DEFAULT;
#ifdef RANKS
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    access = H5Pcreate(H5P_FILE_ACCESS);
    must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "mpio");
#endif
    hsize_t shape[2] = {strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10)};
    hsize_t own[2] = {shape[0] / (hsize_t)ranks, shape[1]}, first[2] = {own[0] * (hsize_t)rank, 0};
    size_t count = (size_t)(own[0] * own[1]);
    int contiguous = argv[4][0] == 'c';
    float *columns = malloc(count * 4 * MEMBERS);
    particle *records = malloc(count * sizeof *records);
    for (size_t i = 0; i < count; i++)
        for (int m = 0; m < MEMBERS; m++) {
            float value = (float)(i % 65536) + (float)m;
            int id = (int)(first[0] * shape[1] + i);
            if (m < 7) { columns[(size_t)m * count + i] = value; records[i].f[m] = value; }
            else { ((int *)columns)[7 * count + i] = id; records[i].id = id; }
        }
    hid_t type = whole(), space = H5Screate_simple(2, shape, NULL), share = ranks == 1 ? H5S_ALL : H5Scopy(space), in_memory = ranks == 1 ? H5S_ALL : H5Screate_simple(2, own, NULL);
    if (ranks > 1) must(H5Sselect_hyperslab(share, H5S_SELECT_SET, first, NULL, own, NULL), "select");

    double start = moment();
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    must(file, "create");
    hid_t set = H5Dcreate2(file, "particles", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    must(set, "dataset");
    if (contiguous)
        for (int m = 0; m < MEMBERS; m++) {
            hid_t one = single(m);
            must(H5Dwrite(set, one, in_memory, share, H5P_DEFAULT, columns + (size_t)m * count), "write");
            H5Tclose(one);
        }
    else
        must(H5Dwrite(set, type, in_memory, share, H5P_DEFAULT, records), "write");
    must(H5Dclose(set), "close"); must(H5Fclose(file), "close");
    tell("write", moment() - start);
    if (rank == 0) on_disk(argv[1]);
    tell("write+fsync", moment() - start);

    /* Touched first: what is timed is reading, not the system's giving of memory. */
    float *back = memset(malloc(count * 4 * MEMBERS), 1, count * 4 * MEMBERS);
    particle *records_back = memset(malloc(count * sizeof *records_back), 1, count * sizeof *records_back);
    file = H5Fopen(argv[1], H5F_ACC_RDONLY, access);
    must(file, "open");
    set = H5Dopen2(file, "particles", H5P_DEFAULT);
    start = moment();
    if (contiguous)
        for (int m = 0; m < MEMBERS; m++) {
            hid_t one = single(m);
            must(H5Dread(set, one, in_memory, share, H5P_DEFAULT, back + (size_t)m * count), "read");
            H5Tclose(one);
        }
    else
        must(H5Dread(set, type, in_memory, share, H5P_DEFAULT, records_back), "read");
    tell("read", moment() - start);
    for (size_t i = 0; i < count; i += 997)
        for (int m = 0; m < 7; m++)
            if (contiguous ? back[(size_t)m * count + i] != columns[(size_t)m * count + i] : records_back[i].f[m] != records[i].f[m] || records_back[i].id != records[i].id)
                must(-1, "comparing");

    hid_t one = single(2);
    start = moment();
    must(H5Dread(set, one, in_memory, share, H5P_DEFAULT, back), "read");
    tell("one-member", moment() - start);
    must(back[count - 1] == columns[2 * count + count - 1] ? 0 : -1, "comparing");

    hsize_t at[2] = {first[0] + own[0] / 4, 0}, box[2] = {own[0] / 2, shape[1]};
    hid_t memory = H5Screate_simple(2, box, NULL);
    must(H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, box, NULL), "select");
    start = moment();
    must(H5Dread(set, type, memory, space, H5P_DEFAULT, records_back), "read");
    tell("subset", moment() - start);
    if (records_back[0].id != (int)(at[0] * shape[1])) must(-1, "comparing");
    H5Dclose(set); H5Fclose(file);
#ifdef RANKS
    MPI_Finalize();
#endif
    return 0;
}
