// SQLite as Debian packages it (libsqlite3-dev): the file that LatchkeyPersistence writes.
#include <sqlite3.h>

// Keeps the log when the last connection is closed (1), or copies it into the database and deletes
// it (0). Swift cannot call the variadic sqlite3_db_config().
static inline int latchkey_sqlite_keep_log(sqlite3 *connection, int keeps) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps, (int *)0);
}

// errno of the last call for the file of the log that failed, or 0. Swift cannot read the macros of
// the codes, and a structure of functions needs its version checked.
static inline int latchkey_sqlite_log_errno(sqlite3 *connection) {
    sqlite3_file *file = 0;
    int code = 0;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) ==
            SQLITE_OK &&
        file && file->pMethods) {
        file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &code);
    }
    return code;
}

// Follows the writes of a connection to the file of its log.
//
// Design: the methods of the open file are replaced by a copy of them, the first member of this
// struct: so a call finds the struct by the methods of its file. It has to live longer than the
// connection, and is used by the thread that uses the connection.
struct latchkey_sqlite_log {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *former;
    // Called before a header with these salts is written, or with 0 before the file is emptied. Any
    // code but SQLITE_OK prevents it.
    int (*begins)(void *context, sqlite3_uint64 salts);
    // Called when that is on the disk.
    void (*has_begun)(void *context);
    void *context;
    // It is written, but not synced.
    int is_written;
};

static inline int latchkey_sqlite_log_write(sqlite3_file *file, const void *bytes, int count,
                                            sqlite3_int64 offset) {
    struct latchkey_sqlite_log *log = (struct latchkey_sqlite_log *)file->pMethods;
    // "The WAL header is 32 bytes in size"; frames are written in other lengths.
    int is_header = offset == 0 && count == 32;
    if (is_header) {
        const unsigned char *salts = (const unsigned char *)bytes + 16;
        sqlite3_uint64 number = 0;
        for (int index = 0; index < 8; index++) {
            number = number << 8 | salts[index];
        }
        log->is_written = 0;
        int code = log->begins(log->context, number);
        if (code != SQLITE_OK) {
            return code;
        }
    }
    int code = log->former->xWrite(file, bytes, count, offset);
    if (is_header) {
        log->is_written = code == SQLITE_OK;
    }
    return code;
}

static inline int latchkey_sqlite_log_sync(sqlite3_file *file, int flags) {
    struct latchkey_sqlite_log *log = (struct latchkey_sqlite_log *)file->pMethods;
    int code = log->former->xSync(file, flags);
    if (code == SQLITE_OK && log->is_written) {
        log->has_begun(log->context);
    }
    // After a failure the kernel drops the data that it has not written: no later sync reports it.
    log->is_written = 0;
    return code;
}

static inline int latchkey_sqlite_log_truncate(sqlite3_file *file, sqlite3_int64 length) {
    struct latchkey_sqlite_log *log = (struct latchkey_sqlite_log *)file->pMethods;
    log->is_written = 0;
    int code = log->begins(log->context, 0);
    if (code == SQLITE_OK) {
        code = log->former->xTruncate(file, length);
    }
    log->is_written = code == SQLITE_OK;
    return code == SQLITE_OK ? latchkey_sqlite_log_sync(file, SQLITE_SYNC_NORMAL) : code;
}

// Begins to follow; SQLITE_ERROR if the database has no open log. The first call of a connection.
static inline int latchkey_sqlite_follow_log(sqlite3 *connection, struct latchkey_sqlite_log *log,
                                             int (*begins)(void *, sqlite3_uint64),
                                             void (*has_begun)(void *), void *context) {
    sqlite3_file *file = 0;
    int code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
    if (code != SQLITE_OK || !file || !file->pMethods) {
        return SQLITE_ERROR;
    }
    log->former = file->pMethods;
    log->methods = *file->pMethods;
    log->methods.xWrite = latchkey_sqlite_log_write;
    log->methods.xSync = latchkey_sqlite_log_sync;
    log->methods.xTruncate = latchkey_sqlite_log_truncate;
    log->begins = begins;
    log->has_begun = has_begun;
    log->context = context;
    log->is_written = 0;
    file->pMethods = &log->methods;
    return SQLITE_OK;
}
