// SQLite as Debian packages it (libsqlite3-dev): the file that LatchkeyPersistence writes.
#include <sqlite3.h>
