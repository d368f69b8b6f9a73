// Records a process's changes of files below a folder, and makes such calls fail (LD_PRELOAD).
//
//   POWERLOSS_FOLDER   the folder, an absolute path without links
//   POWERLOSS_RECORD   the file for the record, outside the folder; without it: no record
//   POWERLOSS_CONTROL  a file with a struct control, which a test changes at any time
//   POWERLOSS_WITHOUT  "wal": syncs of *-wal do nothing, and succeed; "all": all syncs
//
// **Design.** The record is a row of struct entry, each with its bytes (images.py reads it). One
// mutex guards it. A change is made and recorded while the mutex is held, so that the order of
// the entries is the order of the changes. A sync has two entries, one before and one after, and
// holds no mutex between them: it covers only the changes before its first entry. Times are of
// CLOCK_MONOTONIC, which other processes read, too.
//
// The calls go to the kernel directly, so that nothing depends on the order in which libraries are
// loaded. A change by another way (FILE, sendfile) is not recorded: a user of the record compares
// it with the folder at the end. A file that is mapped for writing ends the process, except *-shm:
// SQLite makes it again, so it is not recorded.
//
// Length: one function for each call of the system library.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTORS = 1 << 16, MAGIC = 0x504c4f53 };

// The calls that may fail.
enum call { NO_CALL, OPEN, WRITE, TRUNCATE, SYNC, ALLOCATE, UNLINK };

// The faults: the caller continues a short write, and may then hear of a full disk.
enum action { NO_SPACE = 1, IO_ERROR, SHORT, SHORT_THEN_NO_SPACE, SLOW, SYNCED_IO_ERROR, HELD };

// The files in which they fail.
enum place { ANYWHERE, IN_LOG, ELSEWHERE };

struct fault {
    _Atomic uint32_t call, action, place, unused;
    // `skip` calls succeed first, then `count` calls fail; `fired` have failed.
    _Atomic int64_t skip, count, fired;
};

struct control {
    struct fault faults[2];
    _Atomic int64_t slow_ns;
    // Added to CLOCK_REALTIME.
    _Atomic int64_t clock_shift_ns;
};

enum kind {
    CREATED = 1,
    OPENED,
    WRITTEN,
    TRUNCATED,
    SYNC_BEGAN,
    SYNC_ENDED,
    REMOVED,
    RENAMED,
    FOLDER_MADE,
};

// In the byte order of this machine. `length` bytes follow: content, or paths.
struct entry {
    uint32_t magic, kind;
    uint64_t file;  // its number in the file system
    int64_t offset, length;
    uint64_t begin_ns, end_ns;
    uint64_t reference;  // of the end of a sync: the number of the entry of its begin
    int64_t error;
};

// The kinds of descriptors.
enum { OTHER, TRACKED, TRACKED_WAL, TRACKED_FOLDER };

static struct control no_control;
static struct control *control = &no_control;
static _Atomic uint8_t states[DESCRIPTORS];
static uint64_t numbers[DESCRIPTORS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int record = -1;
static uint64_t entry_count;
static bool without_wal, without_all;
static char folder[PATH_MAX];
static size_t folder_length;

static uint64_t now(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void stop(const char *sentence, const char *path) {
    dprintf(2, "powerloss: %s: %s\n", sentence, path);
    abort();
}

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("POWERLOSS_FOLDER");
    if (path == NULL || strlen(path) >= sizeof(folder)) {
        return;
    }
    strcpy(folder, path);
    folder_length = strlen(folder);
    const char *without = getenv("POWERLOSS_WITHOUT");
    without_all = without != NULL && strcmp(without, "all") == 0;
    without_wal = without_all || (without != NULL && strcmp(without, "wal") == 0);
    if ((path = getenv("POWERLOSS_RECORD")) != NULL) {
        record = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                              0600);
        if (record < 0) {
            stop("cannot open the record", path);
        }
    }
    if ((path = getenv("POWERLOSS_CONTROL")) != NULL) {
        int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
        void *page = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file < 0 || page == MAP_FAILED) {
            stop("cannot map the control file", path);
        }
        syscall(SYS_close, file);
        control = page;
    }
}

// Requires the mutex. Returns the number of the entry.
static uint64_t note(struct entry entry, const void *bytes) {
    if (record >= 0) {
        entry.magic = MAGIC;
        entry.end_ns = now();
        struct iovec parts[2] = {{&entry, sizeof(entry)}, {(void *)bytes, (size_t)entry.length}};
        if (syscall(SYS_writev, record, parts, entry.length > 0 ? 2 : 1) !=
            (ssize_t)sizeof(entry) + entry.length) {
            stop("cannot write the record", strerror(errno));
        }
    }
    return entry_count++;
}

static int state(int file) {
    return file >= 0 && file < DESCRIPTORS ? atomic_load(&states[file]) : OTHER;
}

// The fault of this call, or 0.
static uint32_t fault(enum call call, bool is_log) {
    for (struct fault *fault = control->faults; fault < control->faults + 2; fault++) {
        uint32_t place = atomic_load(&fault->place);
        if (atomic_load(&fault->call) == call &&
            (place == ANYWHERE || (place == IN_LOG) == is_log) &&
            atomic_fetch_sub(&fault->skip, 1) <= 0 && atomic_fetch_sub(&fault->count, 1) > 0) {
            atomic_fetch_add(&fault->fired, 1);
            return atomic_load(&fault->action);
        }
    }
    return 0;
}

static int failure(uint32_t action) {
    errno = action == IO_ERROR || action == SYNCED_IO_ERROR ? EIO : ENOSPC;
    return -1;
}

static bool is_below(const char *path) {
    return folder_length > 0 && strncmp(path, folder, folder_length) == 0 &&
           (path[folder_length] == '/' || path[folder_length] == 0);
}

static bool ends(const char *path, const char *end) {
    size_t length = strlen(path), end_length = strlen(end);
    return length >= end_length && strcmp(path + length - end_length, end) == 0;
}

// The absolute path of a file that need not exist, or an empty one outside the folder.
static void resolve(int base, const char *path, char *full) {
    char parent[PATH_MAX];
    full[0] = 0;
    if (folder_length == 0 || path == NULL || strlen(path) >= PATH_MAX) {
        return;
    }
    strcpy(parent, path);
    char *slash = strrchr(parent, '/');
    const char *name = slash != NULL ? path + (slash - parent) + 1 : path;
    if (slash == parent) {
        parent[1] = 0;
    } else if (slash != NULL) {
        *slash = 0;
    } else {
        strcpy(parent, ".");
    }
    int at = (int)syscall(SYS_openat, base, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0) {
        return;
    }
    char link[64], found[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", at);
    ssize_t length = readlink(link, found, sizeof(found) - 1);
    syscall(SYS_close, at);
    if (length < 0 || (size_t)length + strlen(name) + 2 > PATH_MAX) {
        return;
    }
    memcpy(full, found, (size_t)length);
    full[length] = 0;
    if (*name != 0) {
        strcat(strcat(full, "/"), name);
    }
    if (!is_below(full)) {
        full[0] = 0;
    }
}

static void note_path(enum kind kind, uint64_t file, const char *path, uint64_t began) {
    note(
        (struct entry){
            .kind = kind, .file = file, .length = (int64_t)strlen(path), .begin_ns = began},
        path);
}

static int open_at(int base, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    resolve(base, path, full);
    if (full[0] == 0 || ends(full, "-shm") || (flags & O_PATH) != 0) {
        return (int)syscall(SYS_openat, base, path, flags, mode);
    }
    // Only calls that change something, or may do so later.
    bool writes = (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_ACCMODE) != O_RDONLY;
    uint32_t action = writes ? fault(OPEN, ends(full, "-wal")) : 0;
    if (action != 0) {
        return failure(action);
    }
    pthread_mutex_lock(&mutex);
    struct stat before, after;
    bool existed = fstatat(AT_FDCWD, full, &before, 0) == 0;
    uint64_t began = now();
    int file = (int)syscall(SYS_openat, base, path, flags, mode);
    int error = errno;
    if (file >= 0 && fstat(file, &after) == 0) {
        if (file >= DESCRIPTORS) {
            stop("too many descriptors", full);
        }
        bool is_folder = S_ISDIR(after.st_mode);
        numbers[file] = after.st_ino;
        atomic_store(&states[file], is_folder            ? TRACKED_FOLDER
                                    : ends(full, "-wal") ? TRACKED_WAL
                                                         : TRACKED);
        note_path(existed ? OPENED : CREATED, after.st_ino, full, began);
        if (existed && !is_folder && (flags & O_TRUNC) != 0) {
            note((struct entry){.kind = TRUNCATED, .file = after.st_ino, .begin_ns = began}, NULL);
        }
    }
    pthread_mutex_unlock(&mutex);
    errno = error;
    return file;
}

#define OPEN_FUNCTION(name)                                                                        \
    int name(const char *path, int flags, ...) {                                                   \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;             \
        va_end(list);                                                                              \
        return open_at(AT_FDCWD, path, flags, mode);                                               \
    }
OPEN_FUNCTION(open)
OPEN_FUNCTION(open64)

#define OPENAT_FUNCTION(name)                                                                      \
    int name(int base, const char *path, int flags, ...) {                                         \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;             \
        va_end(list);                                                                              \
        return open_at(base, path, flags, mode);                                                   \
    }
OPENAT_FUNCTION(openat)
OPENAT_FUNCTION(openat64)

int creat(const char *path, mode_t mode) {
    return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int close(int file) {
    if (state(file) != OTHER) {
        atomic_store(&states[file], OTHER);
    }
    return (int)syscall(SYS_close, file);
}

static int copied(int from, int file) {
    if (file >= 0 && file < DESCRIPTORS) {
        numbers[file] = numbers[from];
        atomic_store(&states[file], (uint8_t)state(from));
    }
    return file;
}

int dup(int from) {
    return copied(from, (int)syscall(SYS_dup, from));
}

int dup2(int from, int to) {
    return from == to ? (int)syscall(SYS_dup2, from, to)
                      : copied(from, (int)syscall(SYS_dup3, from, to, 0));
}

int dup3(int from, int to, int flags) {
    return copied(from, (int)syscall(SYS_dup3, from, to, flags));
}

// The write of a recorded file. An offset of -1 is the place of the descriptor.
static ssize_t write_at(int file, const void *bytes, size_t count, int64_t offset) {
    // After a short write that a full disk cut, the rest fails.
    static _Thread_local bool is_full;
    uint32_t action = fault(WRITE, state(file) == TRACKED_WAL);
    if (is_full) {
        is_full = false;
        return failure(NO_SPACE);
    }
    if (action == NO_SPACE || action == IO_ERROR) {
        return failure(action);
    }
    if ((action == SHORT || action == SHORT_THEN_NO_SPACE) && count > 1) {
        count /= 2;
        is_full = action == SHORT_THEN_NO_SPACE;
    }
    pthread_mutex_lock(&mutex);
    uint64_t began = now();
    if (offset < 0) {
        offset = (fcntl(file, F_GETFL) & O_APPEND) != 0 ? lseek(file, 0, SEEK_END)
                                                        : lseek(file, 0, SEEK_CUR);
        lseek(file, offset + (int64_t)count, SEEK_SET);
    }
    ssize_t done = syscall(SYS_pwrite64, file, bytes, count, offset);
    int error = errno;
    if (done > 0) {
        note((struct entry){.kind = WRITTEN,
                            .file = numbers[file],
                            .offset = offset,
                            .length = done,
                            .begin_ns = began},
             bytes);
    }
    pthread_mutex_unlock(&mutex);
    errno = error;
    return done;
}

ssize_t write(int file, const void *bytes, size_t count) {
    return state(file) == OTHER ? syscall(SYS_write, file, bytes, count)
                                : write_at(file, bytes, count, -1);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    return state(file) == OTHER ? syscall(SYS_pwrite64, file, bytes, count, offset)
                                : write_at(file, bytes, count, offset);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    return pwrite64(file, bytes, count, offset);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    if (state(file) == OTHER) {
        return syscall(SYS_pwritev, file, parts, count, offset, 0);
    }
    ssize_t sum = 0;
    for (int index = 0; index < count; index++) {
        ssize_t done = write_at(file, parts[index].iov_base, parts[index].iov_len,
                                offset < 0 ? -1 : offset + sum);
        if (done < 0) {
            return sum > 0 ? sum : done;
        }
        sum += done;
        if ((size_t)done < parts[index].iov_len) {
            break;
        }
    }
    return sum;
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) {
    return pwritev(file, parts, count, offset);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    return state(file) == OTHER ? syscall(SYS_writev, file, parts, count)
                                : pwritev(file, parts, count, -1);
}

static int set_length(int file, int64_t length) {
    pthread_mutex_lock(&mutex);
    uint64_t began = now();
    int result = (int)syscall(SYS_ftruncate, file, length);
    int error = errno;
    if (result == 0) {
        note(
            (struct entry){
                .kind = TRUNCATED, .file = numbers[file], .offset = length, .begin_ns = began},
            NULL);
    }
    pthread_mutex_unlock(&mutex);
    errno = error;
    return result;
}

int ftruncate64(int file, off64_t length) {
    if (state(file) == OTHER) {
        return (int)syscall(SYS_ftruncate, file, length);
    }
    uint32_t action = fault(TRUNCATE, state(file) == TRACKED_WAL);
    return action != 0 ? failure(action) : set_length(file, length);
}

int ftruncate(int file, off_t length) {
    return ftruncate64(file, length);
}

// Room without content: a reader sees only a greater length.
int fallocate64(int file, int mode, off64_t offset, off64_t length) {
    if (state(file) == OTHER) {
        return (int)syscall(SYS_fallocate, file, mode, offset, length);
    }
    uint32_t action = fault(ALLOCATE, state(file) == TRACKED_WAL);
    struct stat status;
    if (action != 0) {
        return failure(action);
    }
    if (mode != 0) {
        stop("a mode of fallocate that is not known here", "");
    }
    bool is_longer = fstat(file, &status) == 0 && status.st_size < offset + length;
    return is_longer ? set_length(file, offset + length) : 0;
}

int fallocate(int file, int mode, off_t offset, off_t length) {
    return fallocate64(file, mode, offset, length);
}

int posix_fallocate64(int file, off64_t offset, off64_t length) {
    return fallocate64(file, 0, offset, length) == 0 ? 0 : errno;
}

int posix_fallocate(int file, off_t offset, off_t length) {
    return posix_fallocate64(file, offset, length);
}

// Whether syncs are held: they begin, and then wait until a test disarms the fault.
static bool are_held(void) {
    for (int i = 0; i < 2; i++) {
        struct fault *fault = &control->faults[i];
        if (atomic_load(&fault->call) == SYNC && atomic_load(&fault->action) == HELD) {
            return true;
        }
    }
    return false;
}

static int sync_file(int file, long call) {
    int is = state(file);
    if (is == OTHER) {
        return (int)syscall(call, file);
    }
    uint32_t action = fault(SYNC, is == TRACKED_WAL);
    if (without_all || (without_wal && is == TRACKED_WAL)) {
        return 0;
    }
    uint64_t number = numbers[file];
    pthread_mutex_lock(&mutex);
    uint64_t begin =
        note((struct entry){.kind = SYNC_BEGAN, .file = number, .begin_ns = now()}, NULL);
    pthread_mutex_unlock(&mutex);
    if (action == SLOW) {
        int64_t slow_ns = atomic_load(&control->slow_ns);
        struct timespec time = {slow_ns / 1000000000, slow_ns % 1000000000};
        nanosleep(&time, NULL);
    }
    while (action == HELD && are_held()) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    bool fails = action != 0 && action != SLOW && action != HELD;
    // Before a failed sync, the kernel may have written all of its data, or nothing.
    int result = fails && action != SYNCED_IO_ERROR ? -1 : (int)syscall(call, file);
    int error = fails ? (failure(action), errno) : errno;
    result = fails ? -1 : result;
    pthread_mutex_lock(&mutex);
    note((struct entry){.kind = SYNC_ENDED,
                        .file = number,
                        .begin_ns = now(),
                        .reference = begin,
                        .error = result == 0 ? 0 : error},
         NULL);
    pthread_mutex_unlock(&mutex);
    errno = error;
    return result;
}

int fsync(int file) {
    return sync_file(file, SYS_fsync);
}

int fdatasync(int file) {
    return sync_file(file, SYS_fdatasync);
}

int unlinkat(int base, const char *path, int flags) {
    char full[PATH_MAX];
    resolve(base, path, full);
    if (full[0] == 0 || ends(full, "-shm")) {
        return (int)syscall(SYS_unlinkat, base, path, flags);
    }
    uint32_t action = fault(UNLINK, ends(full, "-wal"));
    if (action != 0) {
        return failure(action);
    }
    pthread_mutex_lock(&mutex);
    uint64_t began = now();
    int result = (int)syscall(SYS_unlinkat, base, path, flags);
    int error = errno;
    if (result == 0) {
        note_path(REMOVED, 0, full, began);
    }
    pthread_mutex_unlock(&mutex);
    errno = error;
    return result;
}

int unlink(const char *path) {
    return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path) {
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int renameat2(int from_base, const char *from, int to_base, const char *to, unsigned flags) {
    char paths[2 * PATH_MAX], full[PATH_MAX];
    resolve(from_base, from, paths);
    resolve(to_base, to, full);
    if ((paths[0] == 0) != (full[0] == 0)) {
        stop("a file goes out of the folder, or comes in", to);
    }
    pthread_mutex_lock(&mutex);
    uint64_t began = now();
    int result = (int)syscall(SYS_renameat2, from_base, from, to_base, to, flags);
    int error = errno;
    if (result == 0 && full[0] != 0) {
        strcat(strcat(paths, "\n"), full);
        note_path(RENAMED, 0, paths, began);
    }
    pthread_mutex_unlock(&mutex);
    errno = error;
    return result;
}

int renameat(int from_base, const char *from, int to_base, const char *to) {
    return renameat2(from_base, from, to_base, to, 0);
}

int rename(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from_base, const char *from, int to_base, const char *to, int flags) {
    char full[PATH_MAX];
    resolve(to_base, to, full);
    if (full[0] != 0) {
        stop("a file gets a second name, which is not known here", full);
    }
    return (int)syscall(SYS_linkat, from_base, from, to_base, to, flags);
}

int link(const char *from, const char *to) {
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int mkdirat(int base, const char *path, mode_t mode) {
    char full[PATH_MAX];
    resolve(base, path, full);
    pthread_mutex_lock(&mutex);
    uint64_t began = now();
    int result = (int)syscall(SYS_mkdirat, base, path, mode);
    int error = errno;
    struct stat status;
    if (result == 0 && full[0] != 0 && stat(full, &status) == 0) {
        note_path(FOLDER_MADE, status.st_ino, full, began);
    }
    pthread_mutex_unlock(&mutex);
    errno = error;
    return result;
}

int mkdir(const char *path, mode_t mode) {
    return mkdirat(AT_FDCWD, path, mode);
}

void *mmap64(void *address, size_t length, int protection, int flags, int file, off64_t offset) {
    if (file >= 0 && state(file) != OTHER && (flags & MAP_SHARED) != 0 &&
        (protection & PROT_WRITE) != 0) {
        stop("a file is mapped for writing, which cannot be recorded", folder);
    }
    return (void *)syscall(SYS_mmap, address, length, protection, flags, file, offset);
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
    return mmap64(address, length, protection, flags, file, offset);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    int64_t shift = clock == CLOCK_REALTIME ? atomic_load(&control->clock_shift_ns) : 0;
    if (result == 0 && shift != 0) {
        int64_t sum = (int64_t)time->tv_nsec + shift % 1000000000;
        time->tv_sec += shift / 1000000000 + (sum >= 1000000000) - (sum < 0);
        time->tv_nsec = (long)((sum + 1000000000) % 1000000000);
    }
    return result;
}

// The HTTP library takes the date from time().
time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) {
        *result = now.tv_sec;
    }
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict result, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *result = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
