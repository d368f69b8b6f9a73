#include <sqlite3.h>
#include "CLatchkeyFaults.h"
