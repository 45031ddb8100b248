/* A C program that knows nothing of connectors: what it prints natively it must print on the connector.
   Lines that begin with "own:" are about the connector alone. */
#define H5_USE_114_API
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call) ((call) < 0 ? (printf("%d: failed: %s\n", __LINE__, #call), exit(1)) : (void)0)

typedef struct {
    int32_t i;
    double f;
    char *s;
    hvl_t v;
    short a[3];
} record;

static herr_t link_told(hid_t group, const char *name, const H5L_info2_t *info, void *data) {
    (void)group, (void)data;
    printf(" %s:%d", name, (int)info->type);
    return 0;
}

static herr_t object_told(hid_t object, const char *name, const H5O_info2_t *info, void *data) {
    (void)object, (void)data;
    printf(" %s:%d:%u:%d", name, (int)info->type, info->rc, (int)info->num_attrs);
    return 0;
}

static herr_t attribute_told(hid_t object, const char *name, const H5A_info_t *info, void *data) {
    (void)object, (void)info, (void)data;
    printf(" %s", name);
    return 0;
}

static hid_t record_type(void) {
    hsize_t three = 3;
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(record)), text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    H5Tinsert(type, "i", HOFFSET(record, i), H5T_NATIVE_INT32);
    H5Tinsert(type, "f", HOFFSET(record, f), H5T_NATIVE_DOUBLE);
    H5Tinsert(type, "s", HOFFSET(record, s), text);
    H5Tinsert(type, "v", HOFFSET(record, v), H5Tvlen_create(H5T_NATIVE_INT));
    H5Tinsert(type, "a", HOFFSET(record, a), H5Tarray_create2(H5T_NATIVE_SHORT, 1, &three));
    return type;
}

static hid_t followed(const char *name, hid_t group, const void *value, size_t size, hid_t lapl, hid_t dxpl) {
    (void)name, (void)value, (void)size, (void)lapl, (void)dxpl;
    return H5Gopen2(group, "/zz", H5P_DEFAULT);
}

static void write_file(const char *path) {
    hid_t fcpl = H5Pcreate(H5P_FILE_CREATE), ordered = H5Pcreate(H5P_GROUP_CREATE), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    TRY(H5Pset_link_creation_order(fcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    TRY(H5Pset_link_creation_order(ordered, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    TRY(H5Pset_attr_creation_order(ordered, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, fcpl, H5P_DEFAULT);
    TRY(file);
    hid_t group = H5Gcreate2(file, "zz", H5P_DEFAULT, ordered, H5P_DEFAULT);
    const char *names[] = {"m", "c", "x", "a"};
    for (int i = 0; i < 4; i++) TRY(H5Gclose(H5Gcreate2(group, names[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
    hid_t scalar = H5Screate(H5S_SCALAR);
    for (int i = 0; i < 4; i++) {
        hid_t attribute = H5Acreate2(group, names[3 - i], H5T_STD_I64BE, scalar, H5P_DEFAULT, H5P_DEFAULT);
        TRY(H5Awrite(attribute, H5T_NATIVE_INT, &i));
        TRY(H5Aclose(attribute));
    }
    hid_t type = record_type();
    TRY(H5Tcommit2(file, "record", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hsize_t shape[] = {4}, most[] = {H5S_UNLIMITED}, chunk[] = {2};
    hid_t space = H5Screate_simple(1, shape, most);
    TRY(H5Pset_chunk(dcpl, 1, chunk));
    hid_t data = H5Dcreate2(file, "records", type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    int numbers[] = {7, 8, 9};
    record all[4];
    memset(all, 0, sizeof all);
    for (int i = 0; i < 4; i++) {
        char *texts[] = {"a", "", "ccc", "dd"};
        all[i] = (record){i, i / 2.0, texts[i], {(size_t)i, numbers}, {(short)i, 1, 2}};
    }
    TRY(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
    hsize_t six[] = {6};
    TRY(H5Dset_extent(data, six));
    /* Only the members f and i, of two elements. */
    hid_t part = H5Tcreate(H5T_COMPOUND, 16), file_space = H5Dget_space(data);
    H5Tinsert(part, "f", 0, H5T_NATIVE_DOUBLE);
    H5Tinsert(part, "i", 8, H5T_NATIVE_LLONG);
    hsize_t start[] = {1}, stride[] = {3}, count[] = {2};
    TRY(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, stride, count, NULL));
    struct { double f; long long i; } two[2] = {{10.5, 11}, {20.5, 21}};
    hid_t two_space = H5Screate_simple(1, count, NULL);
    TRY(H5Dwrite(data, part, two_space, file_space, H5P_DEFAULT, two));
    /* References of both kinds. */
    hsize_t three[] = {3};
    hid_t reference_space = H5Screate_simple(1, three, NULL);
    hid_t references = H5Dcreate2(file, "references", H5T_STD_REF, reference_space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5R_ref_t made[3];
    TRY(H5Rcreate_object(file, "zz/x", H5P_DEFAULT, &made[0]));
    TRY(H5Rcreate_region(file, "records", file_space, H5P_DEFAULT, &made[1]));
    TRY(H5Rcreate_attr(file, "zz", "c", H5P_DEFAULT, &made[2]));
    TRY(H5Dwrite(references, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, made));
    for (int i = 0; i < 3; i++) TRY(H5Rdestroy(&made[i]));
    hobj_ref_t old;
    hdset_reg_ref_t old_region;
    hid_t one = H5Acreate2(file, "old", H5T_STD_REF_OBJ, scalar, H5P_DEFAULT, H5P_DEFAULT);
    TRY(H5Rcreate(&old, file, "zz/m", H5R_OBJECT1, -1));
    TRY(H5Awrite(one, H5T_STD_REF_OBJ, &old));
    hid_t other = H5Dcreate2(file, "old_region", H5T_STD_REF_DSETREG, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    TRY(H5Rcreate(&old_region, file, "records", H5R_DATASET_REGION1, file_space));
    TRY(H5Dwrite(other, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, &old_region));
    /* Links and copies. */
    TRY(H5Lcreate_soft("/zz/x", file, "soft", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Lcreate_hard(file, "records", group, "again", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Lcreate_external("no.h5", "/there", file, "external", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Ocopy(file, "zz", file, "copy", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Lmove(file, "soft", file, "copy/moved", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Ldelete(group, "c", H5P_DEFAULT));
    TRY(H5Oset_comment(group, "a comment"));
    H5Dclose(data), H5Dclose(references), H5Dclose(other), H5Aclose(one), H5Gclose(group), H5Tclose(type);
    TRY(H5Fclose(file));
}

static void read_file(const char *path) {
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), group = H5Gopen2(file, "zz", H5P_DEFAULT);
    TRY(file);
    H5_index_t orders[] = {H5_INDEX_NAME, H5_INDEX_CRT_ORDER};
    for (int i = 0; i < 4; i++) {
        printf("links");
        TRY(H5Literate2(file, orders[i % 2], i < 2 ? H5_ITER_INC : H5_ITER_DEC, NULL, link_told, NULL));
        printf(" |");
        TRY(H5Literate2(group, orders[i % 2], i < 2 ? H5_ITER_INC : H5_ITER_DEC, NULL, link_told, NULL));
        printf("\nattributes");
        TRY(H5Aiterate2(group, orders[i % 2], i < 2 ? H5_ITER_INC : H5_ITER_DEC, NULL, attribute_told, NULL));
        printf("\nvisited");
        TRY(H5Lvisit2(file, orders[i % 2], i < 2 ? H5_ITER_INC : H5_ITER_DEC, link_told, NULL));
        printf("\nobjects");
        TRY(H5Ovisit3(file, orders[i % 2], i < 2 ? H5_ITER_INC : H5_ITER_DEC, object_told, NULL, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS));
        printf("\n");
    }
    hid_t data = H5Dopen2(file, "records", H5P_DEFAULT), type = H5Dget_type(data), memory = record_type();
    printf("committed %d equal %d members %d\n", H5Tcommitted(type), H5Tequal(type, memory), H5Tget_nmembers(type));
    record all[6];
    TRY(H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
    for (int i = 0; i < 6; i++) printf("record %d %g %s %zu %d %d\n", all[i].i, all[i].f, all[i].s ? all[i].s : "(null)", all[i].v.len, all[i].v.len ? ((int *)all[i].v.p)[all[i].v.len - 1] : 0, all[i].a[0]);
    hid_t space = H5Dget_space(data);
    TRY(H5Treclaim(memory, space, H5P_DEFAULT, all));
    /* Points, in an order of their own, converted. */
    hsize_t points[] = {4, 0, 3};
    TRY(H5Sselect_elements(space, H5S_SELECT_SET, 3, points));
    hsize_t three[] = {3};
    hid_t three_space = H5Screate_simple(1, three, NULL), member = H5Tcreate(H5T_COMPOUND, 4);
    H5Tinsert(member, "f", 0, H5T_NATIVE_FLOAT);
    float floats[3];
    TRY(H5Dread(data, member, three_space, space, H5P_DEFAULT, floats));
    printf("points %g %g %g\n", floats[0], floats[1], floats[2]);
    /* References. */
    hid_t references = H5Dopen2(file, "references", H5P_DEFAULT);
    H5R_ref_t made[3];
    char name[64];
    TRY(H5Dread(references, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, made));
    TRY(H5Rget_obj_name(&made[0], H5P_DEFAULT, name, sizeof name));
    printf("object %s", name);
    hid_t region = H5Ropen_region(&made[1], H5P_DEFAULT, H5P_DEFAULT);
    TRY(region);
    TRY(H5Rget_attr_name(&made[2], name, sizeof name));
    hid_t referred = H5Ropen_attr(&made[2], H5P_DEFAULT, H5P_DEFAULT);
    int number = -1;
    TRY(H5Aread(referred, H5T_NATIVE_INT, &number));
    printf(" region %d attribute %s %d\n", (int)H5Sget_select_npoints(region), name, number);
    for (int i = 0; i < 3; i++) TRY(H5Rdestroy(&made[i]));
    hobj_ref_t old;
    hdset_reg_ref_t old_region;
    hid_t one = H5Aopen(file, "old", H5P_DEFAULT), other = H5Dopen2(file, "old_region", H5P_DEFAULT);
    TRY(H5Aread(one, H5T_STD_REF_OBJ, &old));
    TRY(H5Dread(other, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, &old_region));
    hid_t opened = H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT1, &old);
    TRY(opened);
    TRY(H5Iget_name(opened, name, sizeof name));
    H5O_type_t kind;
    TRY(H5Rget_obj_type2(file, H5R_DATASET_REGION1, &old_region, &kind));
    region = H5Rget_region(file, H5R_DATASET_REGION1, &old_region);
    TRY(region);
    printf("old %s %d %d", name, (int)kind, (int)H5Sget_select_npoints(region));
    TRY(H5Rget_name(file, H5R_DATASET_REGION1, &old_region, name, sizeof name));
    printf(" %s\n", name);
    /* Tokens. */
    H5O_info2_t info, again;
    TRY(H5Oget_info_by_name3(file, "zz/again", &info, H5O_INFO_BASIC, H5P_DEFAULT));
    TRY(H5Oget_info3(data, &again, H5O_INFO_BASIC));
    int same;
    char *text;
    H5O_token_t back;
    TRY(H5Otoken_cmp(file, &info.token, &again.token, &same));
    TRY(H5Otoken_to_str(file, &info.token, &text));
    TRY(H5Otoken_from_str(file, text, &back));
    hid_t by_token = H5Oopen_by_token(file, back);
    TRY(H5Iget_name(by_token, name, sizeof name));
    printf("tokens %d %s links %u\n", same, name[0] == '/' ? "named" : name, info.rc);
    H5free_memory(text);
    char comment[16];
    TRY(H5Oget_comment(group, comment, sizeof comment));
    printf("comment %s exists %d %d soft %d\n", comment, H5Lexists(file, "copy/moved", H5P_DEFAULT), H5Lexists(file, "zz/c", H5P_DEFAULT), H5Oexists_by_name(file, "copy/moved", H5P_DEFAULT));
    printf("objects %d\n", (int)H5Fget_obj_count(file, H5F_OBJ_ATTR | H5F_OBJ_GROUP));
    /* What native files alone can do. */
    H5E_auto2_t print;
    void *with;
    H5Eget_auto2(H5E_DEFAULT, &print, &with);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    uint64_t able = 0;
    hid_t fapl = H5Fget_access_plist(file);
    TRY(H5Pget_vol_cap_flags(fapl, &able));
    const H5L_class_t class = {H5L_LINK_CLASS_T_VERS, (H5L_type_t)200, "own", NULL, NULL, NULL, (H5L_traverse_func_t)followed, NULL, NULL};
    int unknown = H5Lcreate_ud(file, "user", (H5L_type_t)200, "x", 1, H5P_DEFAULT, H5P_DEFAULT);
    TRY(H5Lregister(&class));
    int made_link = H5Lcreate_ud(file, "user", (H5L_type_t)200, "x", 1, H5P_DEFAULT, H5P_DEFAULT);
    H5L_info2_t link;
    TRY(H5Lget_info2(file, "user", &link, H5P_DEFAULT));
    printf("user link %d %d %d flag %d\n", unknown, made_link, (int)link.type, (able & H5VL_CAP_FLAG_UD_LINKS) != 0);
    printf("own: followed %d, mounted %d flag %d, offset %d\n", H5Oexists_by_name(file, "user", H5P_DEFAULT) > 0, H5Fmount(file, "zz", file, H5P_DEFAULT), (able & H5VL_CAP_FLAG_MOUNT) != 0, H5Dget_offset(data) == HADDR_UNDEF);
    H5Eset_auto2(H5E_DEFAULT, print, with);
    hid_t held[] = {group, data, references, referred, one, other, opened, by_token};
    for (unsigned i = 0; i < sizeof held / sizeof *held; i++) H5Idec_ref(held[i]);
    H5Tclose(type);
    TRY(H5Fclose(file));
}

static herr_t name_told(hid_t group, const char *name, void *data) {
    (void)group, (void)data;
    printf(" %s", name);
    return 0;
}

static void space_told(hid_t set) {
    H5D_space_status_t status;
    TRY(H5Dget_space_status(set, &status));
    printf(" %d:%d", (int)status, (int)H5Dget_storage_size(set));
}

/* Transforms of selections, space, and calls and references of HDF5 before 1.12. */
static void transforms_and_older_calls(const char *path) {
    static const char *expressions[] = {"x+1", "2*x-3", "(5/9.0)*(x-32)", "x*(5/9)", "-x*x", "10-x-1", "x/2", "7"};
    hsize_t dims[1] = {200}, start[1] = {3}, stride[1] = {2}, count[1] = {90}, few[1] = {4};
    int ints[200], all[200], at = 0;
    float floats[90];
    for (int i = 0; i < 200; i++) ints[i] = 3 * i - 50;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), group = H5Gcreate2(file, "older", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, dims, NULL), part = H5Screate_simple(1, count, NULL), dxpl = H5Pcreate(H5P_DATASET_XFER);
    TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL));
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", (int)i);
        hid_t set = H5Dcreate2(group, name, i % 2 ? H5T_STD_I64BE : H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        space_told(set);
        TRY(H5Pset_data_transform(dxpl, expressions[i]));
        TRY(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, dxpl, ints));
        space_told(set);
        TRY(H5Dwrite(set, H5T_NATIVE_INT, part, space, dxpl, ints));
        TRY(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all));
        TRY(H5Dread(set, H5T_NATIVE_FLOAT, part, space, dxpl, floats));
        printf(" %s: %d %d %d %g %g\n", expressions[i], all[0], all[3], all[199], floats[0], floats[89]);
        TRY(H5Dclose(set));
    }
    hid_t early = H5Pcreate(H5P_DATASET_CREATE), set = H5Screate_simple(1, few, NULL);
    TRY(H5Pset_alloc_time(early, H5D_ALLOC_TIME_EARLY));
    hid_t allocated = H5Dcreate2(group, "early", H5T_NATIVE_INT, set, H5P_DEFAULT, early, H5P_DEFAULT);
    space_told(allocated);
    TRY(H5Dclose(allocated));
    printf("\nnames");
    TRY(H5Giterate(file, "older", NULL, name_told, NULL));
    at = 5;
    TRY(H5Giterate(group, ".", &at, name_told, NULL));
    H5O_info1_t info;
    TRY(H5Oget_info_by_name2(file, "older", &info, H5O_INFO_BASIC, H5P_DEFAULT));
    printf(" %d %d:%u\n", at, (int)info.type, info.rc);
    hobj_ref_t objects[4] = {0};
    H5R_ref_t newer[4];
    char text[64];
    H5O_type_t type;
    memset(newer, 0, sizeof newer);
    TRY(H5Rcreate(&objects[0], file, "older/t0", H5R_OBJECT, -1));
    TRY(H5Rcreate(&objects[2], file, "older", H5R_OBJECT, -1));
    hid_t references = H5Dcreate2(group, "references", H5T_STD_REF_OBJ, set, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    TRY(H5Dwrite(references, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, objects));
    TRY(H5Dread(references, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, newer));
    for (int i = 0; i < 3; i += 2) {
        TRY(H5Rget_obj_name(&newer[i], H5P_DEFAULT, text, sizeof text));
        TRY(H5Rget_obj_type3(&newer[i], H5P_DEFAULT, &type));
        printf("a reference to %s, %d\n", text, (int)type);
        TRY(H5Rdestroy(&newer[i]));
    }
    TRY(H5Dclose(references));
    TRY(H5Sclose(set));
    TRY(H5Pclose(early));
    TRY(H5Pclose(dxpl));
    TRY(H5Sclose(part));
    TRY(H5Sclose(space));
    TRY(H5Gclose(group));
    TRY(H5Fclose(file));
}

int main(int argc, char **argv) {
    unsigned major, minor, release;
    H5get_libversion(&major, &minor, &release);
    printf("own: HDF5 %u.%u.%u\n", major, minor, release);
    if (argc != 2) return 2;
    write_file(argv[1]);
    read_file(argv[1]);
    transforms_and_older_calls(argv[1]);
    return 0;
}
