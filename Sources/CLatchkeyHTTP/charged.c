// Long answers, which are charged to an account until the library has freed them.

#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "pieces.h"

// What an answer keeps.
typedef struct charged {
    latchkey_http_account *account;
    size_t charge;
    latchkey_http_release release;
    void *context;
    char copy[];
} charged;

static void release_charged(void *context) {
    charged *kept = context;
    if (kept->release != NULL) {
        kept->release(kept->context);
    }
    if (kept->account != NULL) {
        latchkey_http_account_give_back(kept->account, kept->charge);
    }
    free(kept);
}

static charged *keep(latchkey_http_account *account, size_t charge, size_t copy_count) {
    charged *kept = malloc(sizeof(*kept) + copy_count);
    if (kept == NULL) {
        if (account != NULL) {
            latchkey_http_account_give_back(account, charge);
        }
        return NULL;
    }
    *kept = (charged){.account = account, .charge = charge};
    return kept;
}

latchkey_http_response *latchkey_http_response_create_charged(const void *body, size_t count,
                                                              latchkey_http_account *account) {
    charged *kept = keep(account, count, count);
    if (kept == NULL) {
        return NULL;
    }
    if (count > 0) {
        memcpy(kept->copy, body, count);
    }
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        count, kept->copy, release_charged, kept);
    if (response == NULL) {
        release_charged(kept);
    }
    return (latchkey_http_response *)response;
}

latchkey_http_response *
latchkey_http_response_create_parts(const latchkey_http_bytes *parts, size_t part_count,
                                    latchkey_http_release release, void *release_context,
                                    latchkey_http_account *account, size_t charge) {
    charged *kept = keep(account, charge, 0);
    struct MHD_IoVec *vector = calloc(part_count, sizeof(*vector));
    if (kept == NULL || vector == NULL) {
        free(vector);
        if (kept != NULL) {
            release_charged(kept);
        }
        release(release_context);
        return NULL;
    }
    kept->release = release;
    kept->context = release_context;
    for (size_t i = 0; i < part_count; i++) {
        vector[i] = (struct MHD_IoVec){.iov_base = parts[i].bytes, .iov_len = parts[i].count};
    }
    struct MHD_Response *response =
        part_count == 1
            ? MHD_create_response_from_buffer_with_free_callback_cls(
                  parts[0].count, (void *)(uintptr_t)parts[0].bytes, release_charged, kept)
            : MHD_create_response_from_iovec(vector, (unsigned)part_count, release_charged, kept);
    free(vector);
    if (response == NULL) {
        release_charged(kept);
    }
    return (latchkey_http_response *)response;
}
