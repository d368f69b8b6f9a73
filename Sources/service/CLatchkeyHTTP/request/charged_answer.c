// Long answers, which are charged to an account until the library has freed them.

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "CLatchkeyHTTP.h"
#include "stream/pieces.h"

// The piece in which a body of several parts is handed to the library.
enum { PARTS_BLOCK_BYTES = 16384 };

// The state that an answer keeps.
typedef struct charged {
    latchkey_http_account *account;
    uint32_t client;
    size_t charge;
    latchkey_http_release release;
    void *context;
    // The part that is read next, and how much of it has been read.
    size_t part;
    size_t offset;
    size_t part_count;
    latchkey_http_bytes parts[];
} charged;

static void release_charged(void *context) {
    charged *kept = context;
    if (kept->release != NULL) {
        kept->release(kept->context);
    }
    if (kept->account != NULL) {
        latchkey_http_account_give_back_client(kept->account, kept->client, kept->charge);
    }
    free(kept);
}

// Takes over `charge` bytes that were charged for this client: gives them back without memory.
static charged *keep(latchkey_http_account *account, uint32_t client, size_t charge,
                     size_t own_count) {
    charged *kept = malloc(sizeof(*kept) + own_count);
    if (kept == NULL) {
        if (account != NULL) {
            latchkey_http_account_give_back_client(account, client, charge);
        }
        return NULL;
    }
    *kept = (charged){.account = account, .client = client, .charge = charge};
    return kept;
}

latchkey_http_response *latchkey_http_response_create_charged(const void *body, size_t count,
                                                              latchkey_http_account *account,
                                                              uint32_t client) {
    charged *kept = keep(account, client, count, count);
    if (kept == NULL) {
        return NULL;
    }
    char *copy = (char *)kept->parts;
    if (count > 0) {
        memcpy(copy, body, count);
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback_cls(count, copy, release_charged, kept);
    if (response == NULL) {
        release_charged(kept);
    }
    return (latchkey_http_response *)response;
}

// libmicrohttpd's content reader. It is called for the bytes in their order, until all are read.
static ssize_t read_parts(void *context, uint64_t position, char *to, size_t room) {
    (void)position;
    charged *kept = context;
    size_t taken = 0;
    while (taken < room && kept->part < kept->part_count) {
        latchkey_http_bytes part = kept->parts[kept->part];
        size_t left = part.count - kept->offset;
        size_t count = left < room - taken ? left : room - taken;
        if (count > 0) {
            memcpy(to + taken, part.bytes + kept->offset, count);
        }
        taken += count;
        kept->offset += count;
        if (count == left) {
            kept->part++;
            kept->offset = 0;
        }
    }
    return taken > 0 ? (ssize_t)taken : MHD_CONTENT_READER_END_OF_STREAM;
}

// Not the library's own vector of parts: it copies that into the memory of the connection, which
// has room for some hundreds, and 0.9.75 ends the process if it has none.
static struct MHD_Response *create_from_parts(charged *kept) {
    if (kept->part_count == 1) {
        return MHD_create_response_from_buffer_with_free_callback_cls(
            kept->parts[0].count, (void *)(uintptr_t)kept->parts[0].bytes, release_charged, kept);
    }
    uint64_t count = 0;
    for (size_t i = 0; i < kept->part_count; i++) {
        count += kept->parts[i].count;
    }
    return MHD_create_response_from_callback(count, PARTS_BLOCK_BYTES, read_parts, kept,
                                             release_charged);
}

latchkey_http_response *latchkey_http_response_create_parts(
    const latchkey_http_bytes *parts, size_t part_count, latchkey_http_release release,
    void *release_context, latchkey_http_account *account, uint32_t client, size_t charge) {
    size_t parts_count = part_count * sizeof(*parts);
    charged *kept = keep(account, client, charge, parts_count);
    if (kept == NULL) {
        release(release_context);
        return NULL;
    }
    kept->release = release;
    kept->context = release_context;
    kept->part_count = part_count;
    memcpy(kept->parts, parts, parts_count);
    if (account != NULL && part_count > 1) {
        size_t own_count = parts_count + PARTS_BLOCK_BYTES;
        latchkey_http_account_add_client(account, client, own_count);
        kept->charge += own_count;
    }
    struct MHD_Response *response = create_from_parts(kept);
    if (response == NULL) {
        release_charged(kept);
    }
    return (latchkey_http_response *)response;
}
