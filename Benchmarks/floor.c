// The floor: the cost of a request in libmicrohttpd alone.
//
// A bare program with the library's own behaviour: no routes, no store, no limits. GET answers the
// bytes and the header fields of Latchkey's GET from one static value; PUT reads its body and
// answers 204 with the entity tag. Latchkey's figures are given as ratios of this program's, with
// as many threads.
//
//   floor [--port N] [--threads N] [--value TEXT]
//         [--response per-request | shared] [--certificate FILE --key FILE --priorities TEXT]
//
// `per-request` makes a response object for each request, as every program must whose answers
// differ. `shared` queues one object again and again, which is the least that is possible at all.
// With a certificate, its key and the priorities of GnuTLS, all three, it speaks TLS. The first
// line on stdout names the port. The program ends when its standard input does.

#include <arpa/inet.h>
#include <limits.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    uint16_t port;
    unsigned threads;
    bool shared;
    const char *value;
    const char *certificate;
    const char *key;
    const char *priorities;
} options = {.threads = 2, .value = "{\"name\":\"floor\",\"count\":1234}"};

static struct MHD_Response *shared_get;
static struct MHD_Response *shared_put;

static struct MHD_Response *make_response(bool is_get) {
    size_t count = is_get ? strlen(options.value) : 0;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        count, (void *)(uintptr_t)options.value, MHD_RESPMEM_PERSISTENT);
    if (response == NULL) {
        abort();
    }
    if (is_get) {
        MHD_add_response_header(response, "Content-Type", "application/json");
        MHD_add_response_header(response, "Cache-Control", "no-cache");
        MHD_add_response_header(response, "Latchkey-Created", "1882609082977747");
    }
    MHD_add_response_header(response, "ETag", "\"1882609082977747\"");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    return response;
}

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned status, bool is_get) {
    if (options.shared) {
        return MHD_queue_response(connection, status, is_get ? shared_get : shared_put);
    }
    struct MHD_Response *response = make_response(is_get);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_count, void **request) {
    static int seen;
    static _Thread_local char body[4096];
    static _Thread_local size_t body_count;
    (void)context;
    (void)url;
    (void)version;
    if (*request == NULL) {
        // An answer that is queued in the first call would close the connection.
        *request = &seen;
        body_count = 0;
        return MHD_YES;
    }
    if (*upload_count > 0) {
        size_t room = sizeof(body) - body_count;
        size_t count = *upload_count < room ? *upload_count : room;
        memcpy(body + body_count, upload, count);
        body_count += count;
        *upload_count = 0;
        return MHD_YES;
    }
    bool is_put = strcmp(method, "PUT") == 0;
    return queue(connection, is_put ? MHD_HTTP_NO_CONTENT : MHD_HTTP_OK, !is_put);
}

static unsigned number(const char *flag, const char *text, unsigned long max) {
    char *end = NULL;
    unsigned long value = text != NULL ? strtoul(text, &end, 10) : 0;
    if (text == NULL || *text == '\0' || *end != '\0' || value > max) {
        fprintf(stderr, "floor: %s needs a number up to %lu\n", flag, max);
        exit(2);
    }
    return (unsigned)value;
}

// The text of a file, which is never freed.
static const char *read_text(const char *path) {
    enum { TEXT_BYTES_MAX = 65536 };
    FILE *file = fopen(path, "r");
    char *text = calloc(1, TEXT_BYTES_MAX + 1);
    if (file == NULL || text == NULL || fread(text, 1, TEXT_BYTES_MAX, file) == 0) {
        fprintf(stderr, "floor: cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    return text;
}

static void parse(int count, char **words) {
    for (int i = 1; i < count; i++) {
        const char *flag = words[i];
        const char *value = i + 1 < count ? words[i + 1] : NULL;
        if (strcmp(flag, "--port") == 0) {
            options.port = (uint16_t)number(flag, value, UINT16_MAX);
        } else if (strcmp(flag, "--threads") == 0) {
            options.threads = number(flag, value, 1024);
        } else if (strcmp(flag, "--value") == 0 && value != NULL) {
            options.value = value;
        } else if (strcmp(flag, "--certificate") == 0 && value != NULL) {
            options.certificate = read_text(value);
        } else if (strcmp(flag, "--key") == 0 && value != NULL) {
            options.key = read_text(value);
        } else if (strcmp(flag, "--priorities") == 0 && value != NULL) {
            options.priorities = value;
        } else if (strcmp(flag, "--response") == 0 && value != NULL &&
                   (strcmp(value, "shared") == 0 || strcmp(value, "per-request") == 0)) {
            options.shared = strcmp(value, "shared") == 0;
        } else {
            fprintf(stderr, "floor: %s is not known, or its value is not\n", flag);
            exit(2);
        }
        i++;
    }
}

static struct MHD_Daemon *start(void) {
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(options.port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD;
    struct MHD_OptionItem further[5];
    struct MHD_OptionItem *at = further;
    if (options.threads >= 2) {
        *at++ = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, options.threads, NULL};
    }
    if (options.certificate != NULL && options.key != NULL && options.priorities != NULL) {
        flags |= MHD_USE_TLS;
        *at++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0,
                                        (void *)(uintptr_t)options.certificate};
        *at++ =
            (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)options.key};
        *at++ = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
                                        (void *)(uintptr_t)options.priorities};
    }
    *at = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(flags | MHD_USE_ERROR_LOG, options.port, NULL, NULL, handle, NULL,
                            MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
                            MHD_OPTION_CONNECTION_LIMIT, 4096u, MHD_OPTION_ARRAY, further,
                            MHD_OPTION_END);
}

int main(int count, char **words) {
    parse(count, words);
    shared_get = make_response(true);
    shared_put = make_response(false);
    struct MHD_Daemon *daemon = start();
    if (daemon == NULL) {
        fputs("floor: cannot listen on 127.0.0.1\n", stderr);
        return 1;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    printf("floor: listening on %s://127.0.0.1:%u (libmicrohttpd %s)\n",
           options.certificate != NULL ? "https" : "http", info != NULL ? info->port : options.port,
           MHD_get_version());
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    MHD_stop_daemon(daemon);
    MHD_destroy_response(shared_get);
    MHD_destroy_response(shared_put);
    return 0;
}
