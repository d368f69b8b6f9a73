#define _GNU_SOURCE
#include "CLatchkeyFaults.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct latchkey_faults {
    sqlite3_vfs vfs;
    sqlite3_vfs *base;
    char name[64];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int calls;
    long first;
    long count;
    int code;
    int error;
    int percent;
    long made;
    // The errno of a call that failed on purpose, or 0.
    int last_error;
    bool holds;
    int waiting;
    // Called before each change; the mutex is held until the change is made.
    void (*observer)(void *context, int call);
    void *context;
    pthread_mutex_t step;
};

// The file of the standard file system follows it.
struct file {
    sqlite3_file base;
    struct latchkey_faults *faults;
    bool is_log;
};

static sqlite3_file *inner(sqlite3_file *file) {
    return (sqlite3_file *)((struct file *)file + 1);
}

// The code with which a call fails, or SQLITE_OK if it does not fail.
static int fault(struct file *file, int call) {
    struct latchkey_faults *faults = file->faults;
    int code = SQLITE_OK;
    pthread_mutex_lock(&faults->lock);
    if ((faults->calls & call) != 0 &&
        ((faults->calls & LATCHKEY_FAULTS_LOG) == 0 || file->is_log)) {
        long index = faults->made++;
        if (index >= faults->first && index - faults->first < faults->count) {
            code = faults->code;
            faults->last_error = faults->error;
        }
    }
    pthread_mutex_unlock(&faults->lock);
    return code;
}

static void begin_step(struct latchkey_faults *faults, int call, bool is_log) {
    if (faults->observer != NULL) {
        pthread_mutex_lock(&faults->step);
        faults->observer(faults->context, call | (is_log ? LATCHKEY_FAULTS_LOG : 0));
    }
}

static void end_step(struct latchkey_faults *faults) {
    if (faults->observer != NULL) {
        pthread_mutex_unlock(&faults->step);
    }
}

// Passes a call on to the file of the standard file system.
#define PASS(name, method, parameters, ...)                                                        \
    static int name parameters {                                                                   \
        return inner(file)->pMethods->method(inner(file), ##__VA_ARGS__);                          \
    }

PASS(file_close, xClose, (sqlite3_file * file))
PASS(file_size, xFileSize, (sqlite3_file * file, sqlite3_int64 *size), size)
PASS(file_unlock, xUnlock, (sqlite3_file * file, int lock), lock)
PASS(file_reserved, xCheckReservedLock, (sqlite3_file * file, int *result), result)
PASS(file_sector, xSectorSize, (sqlite3_file * file))
PASS(file_traits, xDeviceCharacteristics, (sqlite3_file * file))
PASS(file_shm_map, xShmMap,
     (sqlite3_file * file, int region, int size, int extend, void volatile **at), region, size,
     extend, at)
PASS(file_shm_unmap, xShmUnmap, (sqlite3_file * file, int deletes), deletes)

static int file_lock(sqlite3_file *file, int lock) {
    int code = fault((struct file *)file, LATCHKEY_FAULTS_LOCK);
    return code != SQLITE_OK ? code : inner(file)->pMethods->xLock(inner(file), lock);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    int code = (flags & SQLITE_SHM_LOCK) != 0 ? fault((struct file *)file, LATCHKEY_FAULTS_LOCK)
                                              : SQLITE_OK;
    return code != SQLITE_OK ? code
                             : inner(file)->pMethods->xShmLock(inner(file), offset, count, flags);
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    int code = fault((struct file *)file, LATCHKEY_FAULTS_READ);
    return code != SQLITE_OK ? code
                             : inner(file)->pMethods->xRead(inner(file), bytes, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    int code = fault((struct file *)file, LATCHKEY_FAULTS_WRITE);
    if (code != SQLITE_OK) {
        int part = count * ((struct file *)file)->faults->percent / 100;
        if (part > 0) {
            inner(file)->pMethods->xWrite(inner(file), bytes, part, offset);
        }
        return code;
    }
    struct file *own = (struct file *)file;
    begin_step(own->faults, LATCHKEY_FAULTS_WRITE, own->is_log);
    code = inner(file)->pMethods->xWrite(inner(file), bytes, count, offset);
    end_step(own->faults);
    return code;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct file *own = (struct file *)file;
    int code = fault(own, LATCHKEY_FAULTS_TRUNCATE);
    if (code != SQLITE_OK) {
        return code;
    }
    begin_step(own->faults, LATCHKEY_FAULTS_TRUNCATE, own->is_log);
    code = inner(file)->pMethods->xTruncate(inner(file), size);
    end_step(own->faults);
    return code;
}

static int file_sync(sqlite3_file *file, int flags) {
    struct file *own = (struct file *)file;
    struct latchkey_faults *faults = own->faults;
    if (own->is_log) {
        pthread_mutex_lock(&faults->lock);
        faults->waiting++;
        pthread_cond_broadcast(&faults->changed);
        while (faults->holds) {
            pthread_cond_wait(&faults->changed, &faults->lock);
        }
        faults->waiting--;
        pthread_mutex_unlock(&faults->lock);
    }
    int code = fault(own, LATCHKEY_FAULTS_SYNC);
    if (code != SQLITE_OK) {
        return code;
    }
    begin_step(faults, LATCHKEY_FAULTS_SYNC, own->is_log);
    code = inner(file)->pMethods->xSync(inner(file), flags);
    end_step(faults);
    return code;
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    struct latchkey_faults *faults = ((struct file *)file)->faults;
    if (operation == SQLITE_FCNTL_LAST_ERRNO && faults->last_error != 0) {
        *(int *)argument = faults->last_error;
        return SQLITE_OK;
    }
    return inner(file)->pMethods->xFileControl(inner(file), operation, argument);
}

static void file_shm_barrier(sqlite3_file *file) {
    inner(file)->pMethods->xShmBarrier(inner(file));
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *out_flags) {
    struct latchkey_faults *faults = vfs->pAppData;
    struct file *own = (struct file *)file;
    own->faults = faults;
    own->is_log = (flags & SQLITE_OPEN_WAL) != 0;
    int code = faults->base->xOpen(faults->base, name, inner(file), flags, out_flags);
    file->pMethods = inner(file)->pMethods != NULL ? &methods : NULL;
    return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    struct latchkey_faults *faults = vfs->pAppData;
    size_t length = strlen(name);
    begin_step(faults, LATCHKEY_FAULTS_DELETE, length > 4 && !strcmp(name + length - 4, "-wal"));
    int code = faults->base->xDelete(faults->base, name, sync);
    end_step(faults);
    return code;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    struct latchkey_faults *faults = vfs->pAppData;
    return faults->base->xAccess(faults->base, name, flags, result);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int count, char *out) {
    struct latchkey_faults *faults = vfs->pAppData;
    return faults->base->xFullPathname(faults->base, name, count, out);
}

static int vfs_last_error(sqlite3_vfs *vfs, int count, char *out) {
    struct latchkey_faults *faults = vfs->pAppData;
    return faults->last_error != 0 ? faults->last_error
                                   : faults->base->xGetLastError(faults->base, count, out);
}

void latchkey_faults_become(unsigned user) {
    syscall(SYS_setresuid, user, user, 0);
}

struct latchkey_faults *latchkey_faults_make(const char *name) {
    struct latchkey_faults *faults = calloc(1, sizeof(*faults));
    if (faults == NULL) {
        abort();
    }
    faults->base = sqlite3_vfs_find(NULL);
    snprintf(faults->name, sizeof(faults->name), "%s", name);
    pthread_mutex_init(&faults->lock, NULL);
    pthread_cond_init(&faults->changed, NULL);
    pthread_mutex_init(&faults->step, NULL);
    faults->vfs = *faults->base;
    faults->vfs.iVersion = 2;
    faults->vfs.pNext = NULL;
    faults->vfs.zName = faults->name;
    faults->vfs.pAppData = faults;
    faults->vfs.szOsFile = (int)sizeof(struct file) + faults->base->szOsFile;
    faults->vfs.xOpen = vfs_open;
    faults->vfs.xDelete = vfs_delete;
    faults->vfs.xAccess = vfs_access;
    faults->vfs.xFullPathname = vfs_full_path;
    faults->vfs.xGetLastError = vfs_last_error;
    if (sqlite3_vfs_register(&faults->vfs, 0) != SQLITE_OK) {
        abort();
    }
    return faults;
}

void latchkey_faults_free(struct latchkey_faults *faults) {
    sqlite3_vfs_unregister(&faults->vfs);
    pthread_mutex_destroy(&faults->lock);
    pthread_cond_destroy(&faults->changed);
    pthread_mutex_destroy(&faults->step);
    free(faults);
}

void latchkey_faults_fail(struct latchkey_faults *faults, int calls, long first, long count,
                          int code, int error, int percent) {
    pthread_mutex_lock(&faults->lock);
    faults->calls = calls;
    faults->first = first;
    faults->count = count;
    faults->code = code;
    faults->error = error;
    faults->percent = percent;
    faults->made = 0;
    faults->last_error = 0;
    pthread_mutex_unlock(&faults->lock);
}

void latchkey_faults_stop(struct latchkey_faults *faults) {
    latchkey_faults_fail(faults, 0, 0, 0, 0, 0, 0);
}

long latchkey_faults_count(struct latchkey_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    long made = faults->made;
    pthread_mutex_unlock(&faults->lock);
    return made;
}

void latchkey_faults_observe(struct latchkey_faults *faults, void (*observer)(void *, int),
                             void *context) {
    faults->context = context;
    faults->observer = observer;
}

void latchkey_faults_hold(struct latchkey_faults *faults, bool holds) {
    pthread_mutex_lock(&faults->lock);
    faults->holds = holds;
    pthread_cond_broadcast(&faults->changed);
    pthread_mutex_unlock(&faults->lock);
}

int latchkey_faults_waiting(struct latchkey_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    int waiting = faults->holds ? faults->waiting : 0;
    pthread_mutex_unlock(&faults->lock);
    return waiting;
}

void latchkey_faults_await(struct latchkey_faults *faults) {
    pthread_mutex_lock(&faults->lock);
    while (faults->waiting == 0) {
        pthread_cond_wait(&faults->changed, &faults->lock);
    }
    pthread_mutex_unlock(&faults->lock);
}
