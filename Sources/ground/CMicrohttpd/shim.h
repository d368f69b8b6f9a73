// libmicrohttpd as Debian packages it (libmicrohttpd-dev). Only CLatchkeyHTTP uses it.
#include <microhttpd.h>
