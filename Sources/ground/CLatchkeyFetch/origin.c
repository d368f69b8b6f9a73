#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "CLatchkeyFetch.h"

static char *copy_part(CURLU *url, CURLUPart part, unsigned flags) {
    char *text = NULL;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK || text == NULL) {
        return NULL;
    }
    char *copy = strdup(text);
    curl_free(text);
    return copy;
}

/* An address of version 6 has brackets in a URL. */
static void strip_brackets(char *host) {
    size_t length = strlen(host);
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        memmove(host, host + 1, length - 2);
        host[length - 2] = 0;
    }
}

bool latchkey_fetch_origin_of(const char *text, struct latchkey_fetch_origin *origin) {
    memset(origin, 0, sizeof *origin);
    CURLU *url = curl_url();
    if (url == NULL) {
        return false;
    }
    bool is_right = curl_url_set(url, CURLUPART_URL, text, CURLU_DISALLOW_USER) == CURLUE_OK;
    if (is_right) {
        origin->scheme = copy_part(url, CURLUPART_SCHEME, 0);
        origin->host = copy_part(url, CURLUPART_HOST, 0);
        char *port = copy_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
        origin->port = port == NULL ? 0 : (uint16_t)strtoul(port, NULL, 10);
        free(port);
        is_right = origin->scheme != NULL && origin->host != NULL;
    }
    curl_url_cleanup(url);
    if (is_right) {
        strip_brackets(origin->host);
    } else {
        latchkey_fetch_origin_free(origin);
    }
    return is_right;
}

void latchkey_fetch_origin_free(struct latchkey_fetch_origin *origin) {
    free(origin->scheme);
    free(origin->host);
    memset(origin, 0, sizeof *origin);
}
