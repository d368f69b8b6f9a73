// The object of a server: its state from the options, and its end.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connection/connection.h"
#include "connection/identifier.h"
#include "request/request.h"
#include "server/server.h"
#include "tls/tls.h"

uint32_t latchkey_http_server_refusals_max(const latchkey_http_options *options) {
    uint32_t count = options->connections_max;
    count = count < LATCHKEY_HTTP_REFUSALS_MIN ? LATCHKEY_HTTP_REFUSALS_MIN : count;
    return count > LATCHKEY_HTTP_REFUSALS_MAX ? LATCHKEY_HTTP_REFUSALS_MAX : count;
}

static uint32_t tick_for(const latchkey_http_options *options) {
    uint32_t shortest = LATCHKEY_HTTP_REFUSAL_MILLISECONDS;
    if (options->idle_milliseconds > 0 && options->idle_milliseconds < shortest) {
        shortest = options->idle_milliseconds;
    }
    if (options->request_milliseconds > 0 && options->request_milliseconds < shortest) {
        shortest = options->request_milliseconds;
    }
    uint32_t tick = shortest / 4;
    tick = tick < 10 ? 10 : tick;
    return tick > LATCHKEY_HTTP_TICK_MILLISECONDS_MAX ? LATCHKEY_HTTP_TICK_MILLISECONDS_MAX : tick;
}

void latchkey_http_server_release(latchkey_http_server *server) {
    if (atomic_fetch_sub_explicit(&server->reference_count, 1, memory_order_acq_rel) != 1) {
        return;
    }
    struct MHD_Response *answers[] = {server->draining_answer, server->unknown_answer,
                                      server->late_answer, server->held_answer};
    for (int i = 0; i < 4; i++) {
        if (answers[i] != NULL) {
            MHD_destroy_response(answers[i]);
        }
    }
    int descriptors[] = {server->plug[0], server->plug[1], server->watch_set, server->watch_wake};
    for (int i = 0; i < 4; i++) {
        if (descriptors[i] >= 0) {
            close(descriptors[i]);
        }
    }
    latchkey_http_tls_destroy(server);
    free(server->addresses);
    free((latchkey_http_network *)(uintptr_t)server->options.proxies);
    free(server->timeout_body);
    free(server->too_large_body);
    free(server->late_body);
    free(server->held_body);
    free(server->draining_body);
    free(server->unknown_body);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

// Copies the bodies of the answers that are made here. Returns false without memory.
static bool copy_bodies(latchkey_http_server *server) {
    latchkey_http_options *options = &server->options;
    struct {
        char **copy;
        const char **body;
        const char *otherwise;
    } bodies[] = {
        {&server->timeout_body, &options->timeout_body,
         "{\"title\":\"Request Timeout\",\"status\":408}"},
        {&server->too_large_body, &options->too_large_body,
         "{\"title\":\"Content Too Large\",\"status\":413}"},
        {&server->late_body, &options->late_body,
         "{\"title\":\"Service Unavailable\",\"status\":503}"},
        {&server->held_body, &options->held_body,
         "{\"title\":\"Service Unavailable\",\"status\":503}"},
        {&server->draining_body, &options->draining_body,
         "{\"title\":\"Service Unavailable\",\"status\":503}"},
        {&server->unknown_body, &options->unknown_body,
         "{\"title\":\"Internal Server Error\",\"status\":500}"},
    };
    bool has_memory = true;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        const char *body = *bodies[i].body != NULL ? *bodies[i].body : bodies[i].otherwise;
        *bodies[i].copy = strndup(body, LATCHKEY_HTTP_RAW_BODY_BYTES_MAX);
        *bodies[i].body = NULL;
        has_memory &= *bodies[i].copy != NULL;
    }
    return has_memory;
}

// Copies the list of proxies. Returns false without memory.
static bool copy_proxies(latchkey_http_server *server) {
    latchkey_http_options *options = &server->options;
    size_t size = options->proxy_count * sizeof(latchkey_http_network);
    if (size == 0) {
        options->proxies = NULL;
        return true;
    }
    latchkey_http_network *copy = malloc(size);
    if (copy != NULL) {
        memcpy(copy, options->proxies, size);
    }
    options->proxies = copy;
    return copy != NULL;
}

latchkey_http_server *latchkey_http_server_create(const latchkey_http_options *options) {
    latchkey_http_server *server = calloc(1, sizeof(*server));
    if (server == NULL) {
        return NULL;
    }
    server->options = *options;
    server->options.host = NULL;
    server->is_encrypted = options->identity != NULL;
    server->tick_milliseconds = tick_for(options);
    // Not 0, which stands for no time.
    atomic_init(&server->passed_milliseconds, 1);
    server->refusals_max = latchkey_http_server_refusals_max(options);
    server->listener = -1;
    server->plug[0] = -1;
    server->plug[1] = -1;
    server->watch_set = -1;
    server->watch_wake = -1;
    atomic_init(&server->reference_count, 1);
    latchkey_http_identifier_create(server);
    pthread_mutex_init(&server->lock, NULL);
    bool has_memory =
        copy_proxies(server) && copy_bodies(server) &&
        (options->connections_per_address_max == 0 || latchkey_http_address_create(server));
    if (has_memory) {
        server->draining_answer = latchkey_http_refusal_create(server->draining_body, true);
        server->unknown_answer = latchkey_http_refusal_create(server->unknown_body, false);
        server->late_answer = latchkey_http_refusal_create(server->late_body, true);
        server->held_answer = latchkey_http_refusal_create(server->held_body, true);
    }
    if (server->draining_answer == NULL || server->unknown_answer == NULL ||
        server->late_answer == NULL || server->held_answer == NULL) {
        latchkey_http_server_release(server);
        return NULL;
    }
    return server;
}
