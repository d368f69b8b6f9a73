// SQLite as Debian packages it (libsqlite3-dev): the file that LatchkeyPersistence writes.
#include <sqlite3.h>

// Keeps the log when the last connection is closed (1), or copies it into the database and deletes
// it (0). Swift cannot call the variadic sqlite3_db_config().
static inline int latchkey_sqlite_keep_log(sqlite3 *connection, int keeps) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps, (int *)0);
}
