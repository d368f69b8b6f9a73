#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "CLatchkeyFetch.h"

#define LOOK_MILLISECONDS 50
#define CONNECT_MILLISECONDS 10000

struct latchkey_fetch_session {
    CURLM *multi;
};

struct transfer {
    const struct latchkey_fetch_request *request;
    struct latchkey_fetch_answer *answer;
    CURL *easy;
    struct curl_slist *fields;
    char reason[CURL_ERROR_SIZE];
    size_t body_capacity;
    size_t head_capacity;
    bool is_too_large;
    bool is_refused;
    bool is_stopped;
    /* Whether the last head has its empty line: libcurl also accepts the end of a connection. */
    bool has_head;
    /* Whether a part of a streamed body was read: it may have been sent. */
    bool is_read;
    /* When it began, and when the last bytes came, in milliseconds. */
    int64_t start;
    int64_t heard;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialize(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static int64_t now_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Makes the socket of a connection, unless its address is refused. Every connection is made here,
 * so no answer of a name server can avoid the check. */
static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address) {
    struct transfer *transfer = context;
    const struct latchkey_fetch_request *request = transfer->request;
    bool is_allowed = false;
    if (request->may_connect == NULL) {
        is_allowed = true;
    } else if (purpose == CURLSOCKTYPE_IPCXN && address->family == AF_INET) {
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

/* Appends to bytes that grow; false if there is no memory. */
static bool append(uint8_t **bytes, size_t *count, size_t *capacity, const char *more,
                   size_t added) {
    if (*count + added > *capacity) {
        size_t larger = 2 * (*count + added);
        uint8_t *moved = realloc(*bytes, larger);
        if (moved == NULL) {
            return false;
        }
        *bytes = moved;
        *capacity = larger;
    }
    memcpy(*bytes + *count, more, added);
    *count += added;
    return true;
}

/* Whether the answer has a status of 2xx, and the accepted type. */
static bool is_taken(const struct transfer *transfer) {
    const char *wanted = transfer->request->take_type;
    char *type = NULL;
    long status = 0;
    curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->request->take == NULL || status / 100 != 2) {
        return false;
    }
    curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_TYPE, &type);
    size_t length = wanted == NULL ? 0 : strlen(wanted);
    return wanted == NULL || (type != NULL && strncasecmp(type, wanted, length) == 0 &&
                              strchr("; \t", type[length]) != NULL);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    const struct latchkey_fetch_request *request = transfer->request;
    struct latchkey_fetch_answer *answer = transfer->answer;
    size_t added = size * count;
    transfer->heard = now_milliseconds();
    if (is_taken(transfer)) {
        transfer->is_stopped = !request->take(request->context, (const uint8_t *)bytes, added);
        return transfer->is_stopped ? 0 : added;
    }
    if (added > request->body_bytes_max - answer->body_count) {
        transfer->is_too_large = true;
        return 0;
    }
    return append(&answer->body, &answer->body_count, &transfer->body_capacity, bytes, added)
               ? added
               : 0;
}

/* Keeps the lines of the head, and those of the trailers after a body in chunks. */
static size_t take_head(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    struct latchkey_fetch_answer *answer = transfer->answer;
    size_t added = size * count;
    transfer->heard = now_milliseconds();
    transfer->has_head = added <= 2 || (transfer->has_head && strncmp(bytes, "HTTP/", 5) != 0);
    if (answer->head_count + added > LATCHKEY_FETCH_HEAD_BYTES_MAX) {
        transfer->is_too_large = true;
        return 0;
    }
    return append(&answer->head, &answer->head_count, &transfer->head_capacity, bytes, added)
               ? added
               : 0;
}

/* Reads a piece of the body that is sent. */
static size_t give_body(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    ssize_t found;
    do {
        found = read(transfer->request->body_descriptor, bytes, size * count);
    } while (found < 0 && errno == EINTR);
    transfer->is_read = true;
    transfer->heard = now_milliseconds();
    return found < 0 ? CURL_READFUNC_ABORT : (size_t)found;
}

/* How many bytes a descriptor still has; -1 if only reading tells. */
static curl_off_t length_of(int descriptor) {
    struct stat status;
    off_t place = lseek(descriptor, 0, SEEK_CUR);
    bool is_file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && place >= 0;
    return is_file && status.st_size >= place ? status.st_size - place : -1;
}

#define SET(option, value)                                                                         \
    if (code == CURLE_OK) {                                                                        \
        code = curl_easy_setopt(easy, option, value);                                              \
    }

/* The method and the body. */
static CURLcode prepare_body(CURL *easy, struct transfer *transfer) {
    const struct latchkey_fetch_request *request = transfer->request;
    CURLcode code = CURLE_OK;
    if (request->streams_body) {
        SET(CURLOPT_UPLOAD, 1L)
        SET(CURLOPT_READFUNCTION, give_body)
        SET(CURLOPT_READDATA, transfer)
        SET(CURLOPT_INFILESIZE_LARGE, length_of(request->body_descriptor))
    } else if (request->body != NULL) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_count)
        SET(CURLOPT_POSTFIELDS, (const char *)request->body)
    }
    if (request->method != NULL) {
        SET(CURLOPT_CUSTOMREQUEST, request->method)
    }
    return code;
}

static bool prepare(CURL *easy, struct transfer *transfer) {
    const struct latchkey_fetch_request *request = transfer->request;
    CURLcode code = prepare_body(easy, transfer);
    SET(CURLOPT_URL, request->url)
    // "." and ".." are names of properties.
    SET(CURLOPT_PATH_AS_IS, 1L)
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
    if (request->timeout_milliseconds == 0) {
        SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MILLISECONDS)
    }
    if (request->take == NULL) {
        SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)request->body_bytes_max)
    }
    SET(CURLOPT_USERAGENT, "latchkey")
    SET(CURLOPT_HTTPHEADER, transfer->fields)
    if (request->authorities != NULL) {
        SET(CURLOPT_CAINFO, request->authorities)
    }
    if (request->certificate != NULL) {
        SET(CURLOPT_SSLCERT, request->certificate)
    }
    if (request->key != NULL) {
        SET(CURLOPT_SSLKEY, request->key)
    }
    if (request->skips_verification) {
        SET(CURLOPT_SSL_VERIFYPEER, 0L)
        SET(CURLOPT_SSL_VERIFYHOST, 0L)
    }
    if (request->session == NULL) {
        SET(CURLOPT_FRESH_CONNECT, 1L)
        SET(CURLOPT_FORBID_REUSE, 1L)
    }
    SET(CURLOPT_ERRORBUFFER, transfer->reason)
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket)
    SET(CURLOPT_OPENSOCKETDATA, transfer)
    SET(CURLOPT_HEADERFUNCTION, take_head)
    SET(CURLOPT_HEADERDATA, transfer)
    SET(CURLOPT_WRITEFUNCTION, take_body)
    SET(CURLOPT_WRITEDATA, transfer)
#undef SET
    return code == CURLE_OK;
}

/* Drives the transfer to its end; CURLE_ABORTED_BY_CALLBACK if it was cancelled. */
static CURLcode drive(CURLM *multi, const struct transfer *transfer) {
    const struct latchkey_fetch_request *request = transfer->request;
    for (;;) {
        int running = 0;
        if (request->is_cancelled != NULL && request->is_cancelled(request->context)) {
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
        // libcurl's own limit is an average, which the few bytes that keep a stream alive do not
        // reach.
        int64_t now = now_milliseconds();
        if (request->silence_seconds > 0 &&
            now - transfer->heard > request->silence_seconds * 1000) {
            return CURLE_OPERATION_TIMEDOUT;
        }
        if (request->head_milliseconds > 0 && !transfer->has_head &&
            now - transfer->start > request->head_milliseconds) {
            return CURLE_OPERATION_TIMEDOUT;
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
    if (transfer->is_stopped) {
        return LATCHKEY_FETCH_CANCELLED;
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

struct latchkey_fetch_session *latchkey_fetch_session_open(void) {
    pthread_once(&once, initialize);
    struct latchkey_fetch_session *session = malloc(sizeof *session);
    CURLM *multi = curl_multi_init();
    if (session == NULL || multi == NULL) {
        free(session);
        curl_multi_cleanup(multi);
        return NULL;
    }
    session->multi = multi;
    return session;
}

void latchkey_fetch_session_close(struct latchkey_fetch_session *session) {
    if (session != NULL) {
        curl_multi_cleanup(session->multi);
        free(session);
    }
}

/* Makes the list of fields; false if there is no memory. */
static bool copy_fields(struct transfer *transfer) {
    const char *const *field = transfer->request->fields;
    for (; field != NULL && *field != NULL; field++) {
        struct curl_slist *longer = curl_slist_append(transfer->fields, *field);
        if (longer == NULL) {
            return false;
        }
        transfer->fields = longer;
    }
    return true;
}

void latchkey_fetch_send(const struct latchkey_fetch_request *request,
                         struct latchkey_fetch_answer *answer) {
    memset(answer, 0, sizeof *answer);
    pthread_once(&once, initialize);
    CURLM *own = request->session == NULL ? curl_multi_init() : NULL;
    CURLM *multi = request->session == NULL ? own : request->session->multi;
    CURL *easy = curl_easy_init();
    int64_t start = now_milliseconds();
    struct transfer transfer = {
        .request = request, .answer = answer, .easy = easy, .start = start, .heard = start};
    CURLcode code = CURLE_FAILED_INIT;
    if (multi != NULL && easy != NULL && copy_fields(&transfer) && prepare(easy, &transfer) &&
        curl_multi_add_handle(multi, easy) == CURLM_OK) {
        long sent = 0;
        code = drive(multi, &transfer);
        if (code == CURLE_OK && !transfer.has_head) {
            code = CURLE_PARTIAL_FILE;
        }
        curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
        answer->is_unsent = sent == 0 && !transfer.is_read;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer->status);
        if (code == CURLE_OK) {
            char *location = NULL;
            curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &location);
            answer->location = location == NULL ? NULL : strdup(location);
        }
        curl_multi_remove_handle(multi, easy);
    }
    curl_easy_cleanup(easy);
    curl_multi_cleanup(own);
    curl_slist_free_all(transfer.fields);
    answer->reason = transfer.reason[0] == 0 ? NULL : strdup(transfer.reason);
    answer->code = (int)code;
    answer->outcome = outcome_of(code, &transfer);
}

void latchkey_fetch_answer_free(struct latchkey_fetch_answer *answer) {
    free(answer->head);
    free(answer->body);
    free(answer->location);
    free(answer->reason);
    memset(answer, 0, sizeof *answer);
}

const char *latchkey_fetch_library_version(void) {
    return curl_version_info(CURLVERSION_NOW)->version;
}

const char *latchkey_fetch_reason(int code) {
    return curl_easy_strerror((CURLcode)code);
}
