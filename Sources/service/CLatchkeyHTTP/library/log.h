// The log, as the files of this target see it. log.c says how.

#ifndef LATCHKEY_HTTP_LOG_H
#define LATCHKEY_HTTP_LOG_H

#include "internal.h"

// Logs a message of ours, within the limit.
void latchkey_http_log_write(latchkey_http_server *server, const char *message);

// libmicrohttpd's logger.
void latchkey_http_log_library(void *server, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

// Suppresses the next line that libmicrohttpd logs on this thread, because a callback returns this
// result on purpose.
enum MHD_Result latchkey_http_log_not(enum MHD_Result result);

#endif
