#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "CLatchkeyFetch.h"

#define LOOK_MILLISECONDS 50

struct transfer {
    const struct latchkey_fetch_request *request;
    struct latchkey_fetch_answer *answer;
    size_t capacity;
    size_t head_count;
    bool is_too_large;
    bool is_refused;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialize(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

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

/* Makes the socket of a connection, unless its address is refused. This is the only way to a
 * connection, so no answer of a name server leads around it. */
static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address) {
    struct transfer *transfer = context;
    const struct latchkey_fetch_request *request = transfer->request;
    bool is_allowed = false;
    if (purpose == CURLSOCKTYPE_IPCXN && address->family == AF_INET) {
        const struct sockaddr_in *four = (const void *)&address->addr;
        is_allowed = request->may_connect(request->context, (const uint8_t *)&four->sin_addr, 4,
                                          ntohs(four->sin_port));
    } else if (purpose == CURLSOCKTYPE_IPCXN && address->family == AF_INET6) {
        const struct sockaddr_in6 *six = (const void *)&address->addr;
        is_allowed = request->may_connect(request->context, (const uint8_t *)&six->sin6_addr, 16,
                                          ntohs(six->sin6_port));
    }
    if (!is_allowed) {
        transfer->is_refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    struct latchkey_fetch_answer *answer = transfer->answer;
    size_t added = size * count;
    if (added > transfer->request->body_bytes_max - answer->body_count) {
        transfer->is_too_large = true;
        return 0;
    }
    if (answer->body_count + added > transfer->capacity) {
        size_t capacity = 2 * (answer->body_count + added);
        uint8_t *body = realloc(answer->body, capacity);
        if (body == NULL) {
            return 0;
        }
        answer->body = body;
        transfer->capacity = capacity;
    }
    memcpy(answer->body + answer->body_count, bytes, added);
    answer->body_count += added;
    return added;
}

/* Counts the lines of the head, and those of the trailers behind a body in chunks, which libcurl
 * keeps as well. */
static size_t count_head(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    struct transfer *transfer = context;
    transfer->head_count += size * count;
    if (transfer->head_count > LATCHKEY_FETCH_HEAD_BYTES_MAX) {
        transfer->is_too_large = true;
        return 0;
    }
    return size * count;
}

static bool prepare(CURL *easy, struct transfer *transfer) {
    const struct latchkey_fetch_request *request = transfer->request;
    CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, request->url);
#define SET(option, value)                                                                         \
    if (code == CURLE_OK) {                                                                        \
        code = curl_easy_setopt(easy, option, value);                                              \
    }
    SET(CURLOPT_PROTOCOLS_STR, "http,https")
    SET(CURLOPT_FOLLOWLOCATION, 0L)
    // An empty text keeps libcurl from the proxies that the environment names.
    SET(CURLOPT_PROXY, "")
    SET(CURLOPT_NOSIGNAL, 1L)
    // Otherwise the end of a request waits for the thread that resolves the name: a name server
    // that does not answer would outlast the time limit and a cancellation by many seconds.
    SET(CURLOPT_QUICK_EXIT, 1L)
    SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L)
    SET(CURLOPT_TIMEOUT_MS, request->timeout_milliseconds)
    SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)request->body_bytes_max)
    SET(CURLOPT_USERAGENT, "latchkey")
    SET(CURLOPT_FRESH_CONNECT, 1L)
    SET(CURLOPT_FORBID_REUSE, 1L)
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket)
    SET(CURLOPT_OPENSOCKETDATA, transfer)
    SET(CURLOPT_HEADERFUNCTION, count_head)
    SET(CURLOPT_HEADERDATA, transfer)
    SET(CURLOPT_WRITEFUNCTION, take_body)
    SET(CURLOPT_WRITEDATA, transfer)
#undef SET
    return code == CURLE_OK;
}

/* Drives the transfer to its end; CURLE_ABORTED_BY_CALLBACK if it was cancelled. */
static CURLcode drive(CURLM *multi, const struct latchkey_fetch_request *request) {
    for (;;) {
        int running = 0;
        if (request->is_cancelled(request->context)) {
            return CURLE_ABORTED_BY_CALLBACK;
        }
        if (curl_multi_perform(multi, &running) != CURLM_OK) {
            return CURLE_FAILED_INIT;
        }
        int waiting = 0;
        CURLMsg *message = curl_multi_info_read(multi, &waiting);
        if (message != NULL && message->msg == CURLMSG_DONE) {
            return message->data.result;
        }
        if (running == 0 || curl_multi_poll(multi, NULL, 0, LOOK_MILLISECONDS, NULL) != CURLM_OK) {
            return CURLE_FAILED_INIT;
        }
    }
}

static enum latchkey_fetch_outcome outcome_of(CURLcode code, const struct transfer *transfer) {
    if (transfer->is_too_large) {
        return LATCHKEY_FETCH_TOO_LARGE;
    }
    switch (code) {
    case CURLE_OK:
        return LATCHKEY_FETCH_ANSWERED;
    case CURLE_ABORTED_BY_CALLBACK:
        return LATCHKEY_FETCH_CANCELLED;
    case CURLE_OPERATION_TIMEDOUT:
        return LATCHKEY_FETCH_TIMED_OUT;
    case CURLE_FILESIZE_EXCEEDED:
        return LATCHKEY_FETCH_TOO_LARGE;
    case CURLE_COULDNT_CONNECT:
        return transfer->is_refused ? LATCHKEY_FETCH_REFUSED : LATCHKEY_FETCH_FAILED;
    default:
        return LATCHKEY_FETCH_FAILED;
    }
}

void latchkey_fetch_get(const struct latchkey_fetch_request *request,
                        struct latchkey_fetch_answer *answer) {
    memset(answer, 0, sizeof *answer);
    pthread_once(&once, initialize);
    struct transfer transfer = {.request = request, .answer = answer};
    CURLcode code = CURLE_FAILED_INIT;
    CURLM *multi = curl_multi_init();
    CURL *easy = curl_easy_init();
    if (multi != NULL && easy != NULL && prepare(easy, &transfer) &&
        curl_multi_add_handle(multi, easy) == CURLM_OK) {
        code = drive(multi, request);
        if (code == CURLE_OK) {
            char *location = NULL;
            curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer->status);
            curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &location);
            answer->location = location == NULL ? NULL : strdup(location);
        }
        curl_multi_remove_handle(multi, easy);
    }
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
    answer->code = (int)code;
    answer->outcome = outcome_of(code, &transfer);
}

void latchkey_fetch_answer_free(struct latchkey_fetch_answer *answer) {
    free(answer->body);
    free(answer->location);
    memset(answer, 0, sizeof *answer);
}

const char *latchkey_fetch_reason(int code) {
    return curl_easy_strerror((CURLcode)code);
}
