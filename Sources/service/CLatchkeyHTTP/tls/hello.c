// The hello of a client: GnuTLS accepts fewer server names in it than clients send.
//
// Design
//
// GnuTLS (3.7 and 3.8) ends a handshake whose server name (RFC 6066, section 3) has a byte that RFC
// 1123 does not have in a host, and containers have names such as `lock_service`. The service shows
// one certificate, whatever its name is, and no flag of GnuTLS changes the check. So such bytes are
// overwritten in the hello, between two steps of GnuTLS. First it copies the bytes as they were
// sent, because both sides sign them; then it parses the hello. In between it calls its clock,
// which can be replaced (gnutls_global_set_time_function). A hook before both steps gives the
// hello; the next call of the clock on this thread comes from the parser.
//
// The case `the name of the server can have any bytes` of HandshakeTests.swift fails if a version
// of GnuTLS differs.

#include <gnutls/gnutls.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "tls/tls.h"

// The bytes to overwrite on this thread; NULL if there are none.
static _Thread_local unsigned char *name;
static _Thread_local size_t name_count;

static bool is_of_host(unsigned char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '.';
}

static time_t tell_time(time_t *into) {
    for (size_t i = 0; name != NULL && i < name_count; i++) {
        name[i] = is_of_host(name[i]) ? name[i] : '-';
    }
    name = NULL;
    return time(into);
}

static void replace_clock(void) {
    gnutls_global_set_time_function(tell_time);
}

void latchkey_http_hello_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, replace_clock);
}

// A part of a hello.
typedef struct {
    unsigned char *at;
    size_t count;
} part;

// Takes `count` bytes from the begin of a part. Returns an empty part if it is shorter.
static part take(part *from, size_t count) {
    part taken = {from->at, count};
    if (count > from->count) {
        *from = taken = (part){NULL, 0};
        return taken;
    }
    from->at += count;
    from->count -= count;
    return taken;
}

// Takes a part after its length of one byte or two.
static part take_list(part *from, size_t length_count) {
    part length = take(from, length_count);
    size_t count = 0;
    for (size_t i = 0; i < length.count; i++) {
        count = count << 8 | length.at[i];
    }
    return take(from, count);
}

static unsigned take_number(part *from, size_t count) {
    part number = take(from, count);
    unsigned value = 0;
    for (size_t i = 0; i < number.count; i++) {
        value = value << 8 | number.at[i];
    }
    return number.count == count ? value : ~0u;
}

// The name of the server in a hello (RFC 8446, section 4.1.2).
static part name_in(part hello) {
    enum { VERSION_BYTES = 2, RANDOM_BYTES = 32, SERVER_NAME = 0, HOST_NAME = 0 };
    take(&hello, VERSION_BYTES + RANDOM_BYTES);
    take_list(&hello, 1);  // a session
    take_list(&hello, 2);  // ciphers
    take_list(&hello, 1);  // compressions
    part extensions = take_list(&hello, 2);
    while (extensions.count > 0) {
        unsigned type = take_number(&extensions, 2);
        part extension = take_list(&extensions, 2);
        if (type == SERVER_NAME) {
            part names = take_list(&extension, 2);
            return take_number(&names, 1) == HOST_NAME ? take_list(&names, 2) : (part){NULL, 0};
        }
    }
    return (part){NULL, 0};
}

void latchkey_http_hello_begin(const gnutls_datum_t *hello) {
    part found = name_in((part){hello->data, hello->size});
    name = NULL;
    for (size_t i = 0; i < found.count; i++) {
        if (!is_of_host(found.at[i])) {
            name = found.at;
            name_count = found.count;
            return;
        }
    }
}

void latchkey_http_hello_end(void) {
    name = NULL;
}
