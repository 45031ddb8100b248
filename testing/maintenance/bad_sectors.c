/* A disk with bad sectors, as a library for LD_PRELOAD: reads of the file BAD_FILE that touch a range of BAD_RANGES ("start+length,...")
   fail with EIO. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

static int is_bad(int descriptor, off_t offset, size_t length) {
    const char *file = getenv("BAD_FILE"), *ranges = getenv("BAD_RANGES");
    struct stat wanted, found;
    if (!file || !ranges || stat(file, &wanted) || fstat(descriptor, &found) || wanted.st_ino != found.st_ino || wanted.st_dev != found.st_dev) return 0;
    for (const char *at = ranges; *at;) {
        char *end;
        off_t start = strtoll(at, &end, 10), count = strtoll(end + 1, &end, 10);
        if (offset < start + count && start < offset + (off_t)length) return 1;
        at = *end ? end + 1 : end;
    }
    return 0;
}

ssize_t pread64(int descriptor, void *buffer, size_t length, off_t offset) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (!real) real = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread64");
    if (is_bad(descriptor, offset, length)) {
        errno = EIO;
        return -1;
    }
    return real(descriptor, buffer, length, offset);
}

ssize_t pread(int descriptor, void *buffer, size_t length, off_t offset) { return pread64(descriptor, buffer, length, offset); }

ssize_t preadv64(int descriptor, const struct iovec *parts, int count, off_t offset) {
    static ssize_t (*real)(int, const struct iovec *, int, off_t);
    size_t length = 0;
    if (!real) real = (ssize_t(*)(int, const struct iovec *, int, off_t))dlsym(RTLD_NEXT, "preadv64");
    for (int part = 0; part < count; part++) length += parts[part].iov_len;
    if (is_bad(descriptor, offset, length)) {
        errno = EIO;
        return -1;
    }
    return real(descriptor, parts, count, offset);
}
