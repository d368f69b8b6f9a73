// The header lines that every answer has: Date, those that never change, and the identifier of its
// request.
//
// Design
//
// libmicrohttpd makes a new Date for every answer, which takes a twentieth of the instructions of a
// short GET and the lock of the C library's time zone. Its switch for that,
// MHD_USE_SUPPRESS_DATE_NO_CLOCK, would also leave Date out of the answers that the library makes
// itself. It leaves Date out of an answer that has one. So each answer gets ours: one text for all
// lines but the identifier, of constant length, which is made again when the second of the clock
// changes.
//
// Each thread has its own text. So there is no lock, and the text follows at once when the clock is
// set.
//
// libmicrohttpd takes no line end in the value of a header line. It makes a copy of the value,
// though, and sends as many bytes as that had. So a place holder of the same length is added, and
// the copy is overwritten, as reused_answer.c does with other lines.
//
// The pages of libmicrohttpd's own for heads that it cannot parse have its Date, and none of the
// other lines.

#include <string.h>

#include "internal.h"
#include "library/library.h"
#include "library/lines.h"

const lines *latchkey_http_lines(void) {
    static _Thread_local lines own;
    time_t now = time(NULL);
    if (UNLIKELY(own.second != now || own.text[0] == '\0')) {
        struct tm utc;
        gmtime_r(&now, &utc);
        strftime(own.text, LINES_DATE_BYTES + 1, "%a, %d %b %Y %H:%M:%S GMT", &utc);
        static const char rest[] =
            LATCHKEY_HTTP_LINES_CONSTANT "\r\n" LATCHKEY_HTTP_LINES_IDENTIFIER ": ";
        memcpy(own.text + LINES_DATE_BYTES, rest, sizeof(rest));
        own.second = now;
    }
    return &own;
}

char *latchkey_http_lines_add(struct MHD_Response *response, const lines *now,
                              const char *identifier) {
    char place_holder[LINES_BYTES + 1];
    memset(place_holder, '-', LINES_BYTES);
    place_holder[LINES_BYTES] = '\0';
    if (MHD_add_response_header(response, MHD_HTTP_HEADER_DATE, place_holder) != MHD_YES) {
        return NULL;
    }
    char *copy = latchkey_http_library_value(response, MHD_HTTP_HEADER_DATE);
    memcpy(copy, now->text, LINES_SAME_BYTES);
    memcpy(copy + LINES_SAME_BYTES, identifier, LATCHKEY_HTTP_IDENTIFIER_BYTES);
    return copy;
}

bool latchkey_http_lines_add_constant(struct MHD_Response *response) {
    return MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES &&
           MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin") ==
               MHD_YES;
}
