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
