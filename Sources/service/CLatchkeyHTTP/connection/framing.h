// The rules for the bytes of requests. framing.c says which.

#ifndef LATCHKEY_HTTP_FRAMING_H
#define LATCHKEY_HTTP_FRAMING_H

#include <stdbool.h>
#include <stddef.h>

#include "CLatchkeyHTTP.h"

struct arrival;
struct connection;

// Checks bytes, and makes them plain in place. The first of them may be whole lines of a head that
// were checked before (arrival.h, `scanned`). Returns how many the library is to get. `*rest` more
// after these wait for further bytes.
size_t latchkey_http_framing_check(struct connection *c, char *bytes, size_t count, size_t *rest);

// Whether this is the name that stands for Cookie.
bool latchkey_http_framing_is_cookie(const char *name, size_t count);

// From here on for framing.c and framing_head.c.

// A region of bytes that is checked and made plain in place.
typedef struct region {
    char *bytes;
    size_t count;
    size_t read;   // up to here it was looked at
    size_t write;  // up to here are the kept bytes; never beyond `read`
    size_t unit;   // in the kept bytes, where the incomplete head begins
} region;

// The next head begins after the kept bytes.
void latchkey_http_framing_begin_head(struct arrival *a, region *r);

// The length of the line that begins at `read`, with its end; 0 if the end has not come, or the
// line is refused: it ends with a bare line feed, or is, with what came so far, longer than `most`.
size_t latchkey_http_framing_find_line(struct connection *c, region *r, size_t so_far, size_t most);

// Takes a line over, without its end, and adds one.
void latchkey_http_framing_keep_line(region *r, size_t kept, size_t length);

// Takes a line of a head. Returns false if there is none, or the head is refused.
bool latchkey_http_framing_take_head_line(struct connection *c, region *r);

// Refusals: the library gets a stand-in for the refused part, and nothing after it. All return
// false.
bool latchkey_http_framing_refuse_head(struct connection *c, region *r,
                                       latchkey_http_rejection why);
// For a part that breaks a rule.
bool latchkey_http_framing_refuse_malformed(struct connection *c, region *r);
// For a part that is longer than a limit.
bool latchkey_http_framing_refuse_long(struct connection *c, region *r);

#endif
