/* Calls: their requests, their answers, and the callbacks of nghttp2. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void latchkey_rpc_free_call(struct call *call) {
    free(call->path);
    free(call->request);
    free(call->message);
    free(call);
}

struct call *latchkey_rpc_make_call(latchkey_rpc_channel *channel,
                                    const struct latchkey_rpc_request *request) {
    struct call *call = calloc(1, sizeof *call);
    if (call == NULL) {
        return NULL;
    }
    call->channel = channel;
    call->stream = -1;
    call->status = -1;
    call->needs_leader = request->needs_leader;
    call->is_held = request->is_held;
    call->context = request->context;
    call->take = request->take;
    call->end = request->end;
    call->deadline =
        request->timeout_milliseconds == 0 ? 0 : latchkey_rpc_now() + request->timeout_milliseconds;
    call->path = strdup(request->path);
    call->request_count = PREFIX_BYTES + request->message_count;
    call->request = malloc(call->request_count);
    if (call->path == NULL || call->request == NULL || request->message_count > UINT32_MAX) {
        latchkey_rpc_free_call(call);
        return NULL;
    }
    uint32_t count = (uint32_t)request->message_count;
    uint8_t prefix[PREFIX_BYTES] = {0, (uint8_t)(count >> 24), (uint8_t)(count >> 16),
                                    (uint8_t)(count >> 8), (uint8_t)count};
    memcpy(call->request, prefix, PREFIX_BYTES);
    if (count > 0) {
        memcpy(call->request + PREFIX_BYTES, request->message, count);
    }
    return call;
}

void latchkey_rpc_end(struct call *call, int status, const char *reason) {
    if (call->is_ended) {
        return;
    }
    call->is_ended = true;
    if (call->stream >= 0 && call->channel->session != NULL) {
        nghttp2_submit_rst_stream(call->channel->session, NGHTTP2_FLAG_NONE, call->stream,
                                  NGHTTP2_CANCEL);
    }
    call->end(call->context, status, reason);
}

void latchkey_rpc_take_more(struct call *call, size_t byte_count) {
    if (!call->is_ended && call->stream >= 0) {
        // It fails only without memory: then the next output does, too.
        nghttp2_session_consume_stream(call->channel->session, call->stream, byte_count);
    }
}

static struct call *call_of(nghttp2_session *session, int32_t stream) {
    return nghttp2_session_get_stream_user_data(session, stream);
}

/* Takes a part of a message's bytes. False if the message is too long, or there is no memory. */
static bool take_part(struct call *call, const uint8_t **bytes, size_t *count) {
    while (PREFIX_BYTES > call->received_count && *count > 0) {
        call->prefix[call->received_count++] = *(*bytes)++;
        (*count)--;
    }
    if (call->received_count < PREFIX_BYTES) {
        return true;
    }
    size_t length = (size_t)call->prefix[1] << 24 | (size_t)call->prefix[2] << 16 |
                    (size_t)call->prefix[3] << 8 | call->prefix[4];
    // Compression is not offered.
    if (call->prefix[0] != 0 || length > call->channel->options.message_bytes_max) {
        return false;
    }
    size_t had = call->received_count - PREFIX_BYTES;
    size_t part = *count < length - had ? *count : length - had;
    const uint8_t *message = *bytes;
    if (had > 0 || part < length) {
        if (call->message_capacity < length) {
            uint8_t *moved = realloc(call->message, length);
            if (moved == NULL) {
                return false;
            }
            call->message = moved;
            call->message_capacity = length;
        }
        memcpy(call->message + had, *bytes, part);
        message = call->message;
    }
    *bytes += part;
    *count -= part;
    call->received_count += part;
    if (had + part == length) {
        call->received_count = 0;
        call->take(call->context, message, length);
    }
    return true;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes,
                   size_t count, void *context) {
    (void)flags;
    (void)context;
    // The windows of the calls are the limits. That of the connection must not make calls wait.
    if (nghttp2_session_consume_connection(session, count) != 0) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    struct call *call = call_of(session, stream);
    if (call != NULL && !call->is_held) {
        latchkey_rpc_take_more(call, count);
    }
    while (call != NULL && !call->is_ended && count > 0) {
        if (!take_part(call, &bytes, &count)) {
            latchkey_rpc_end(call, LATCHKEY_RPC_RESOURCE_EXHAUSTED, "a message is too long");
        }
    }
    return 0;
}

static int number_of(const uint8_t *text, size_t count) {
    int number = 0;
    for (size_t index = 0; index < count && index < 4; index++) {
        if (text[index] < '0' || text[index] > '9') {
            return -1;
        }
        number = 10 * number + (text[index] - '0');
    }
    return count == 0 || count > 4 ? -1 : number;
}

static int digit_of(uint8_t character) {
    if (character >= '0' && character <= '9') {
        return character - '0';
    }
    character |= 0x20;
    return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
}

/* Keeps a message, which is percent-encoded, in its decoded form. */
static void keep_reason(struct call *call, const uint8_t *text, size_t count) {
    size_t kept = 0;
    for (size_t index = 0; index < count && kept < REASON_BYTES - 1; index++) {
        uint8_t character = text[index];
        if (character == '%' && index + 2 < count && digit_of(text[index + 1]) >= 0 &&
            digit_of(text[index + 2]) >= 0) {
            character = (uint8_t)(digit_of(text[index + 1]) << 4 | digit_of(text[index + 2]));
            index += 2;
        }
        call->reason[kept++] = character >= 0x20 ? (char)character : ' ';
    }
    call->reason[kept] = 0;
}

static bool is_name(const uint8_t *name, size_t count, const char *other) {
    return count == strlen(other) && memcmp(name, other, count) == 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_count, const uint8_t *value, size_t value_count, uint8_t flags,
                     void *context) {
    (void)flags;
    (void)context;
    struct call *call = call_of(session, frame->hd.stream_id);
    if (call == NULL) {
        return 0;
    }
    if (is_name(name, name_count, ":status")) {
        call->http_status = number_of(value, value_count);
    } else if (is_name(name, name_count, "grpc-status")) {
        int status = number_of(value, value_count);
        call->status = status < 0 ? LATCHKEY_RPC_UNKNOWN : status;
    } else if (is_name(name, name_count, "grpc-message")) {
        keep_reason(call, value, value_count);
    }
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *context) {
    (void)context;
    struct call *call = call_of(session, stream);
    if (call == NULL) {
        return 0;
    }
    call->stream = -1;
    if (call->status >= 0) {
        latchkey_rpc_end(call, call->status, call->reason);
    } else if (call->http_status != 200 && call->http_status != 0) {
        char reason[REASON_BYTES];
        snprintf(reason, sizeof reason, "no gRPC, but HTTP status %d", call->http_status);
        latchkey_rpc_end(call, LATCHKEY_RPC_UNKNOWN, reason);
    } else {
        latchkey_rpc_end(call, LATCHKEY_RPC_UNAVAILABLE, nghttp2_http2_strerror(code));
    }
    return 0;
}

/* After GOAWAY a server takes no more calls. Its pending answers may never come, so all calls
 * end. */
static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context) {
    (void)session;
    latchkey_rpc_channel *channel = context;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        channel->is_gone = true;
    }
    return 0;
}

bool latchkey_rpc_begin(latchkey_rpc_channel *channel) {
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        return false;
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_option *option;
    int code = nghttp2_option_new(&option);
    if (code == 0) {
        nghttp2_option_set_no_auto_window_update(option, 1);
        code = nghttp2_session_client_new2(&channel->session, callbacks, channel, option);
        nghttp2_option_del(option);
    }
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LATCHKEY_RPC_WINDOW_BYTES},
    };
    return code == 0 &&
           nghttp2_submit_settings(channel->session, NGHTTP2_FLAG_NONE, settings, 2) == 0 &&
           nghttp2_session_set_local_window_size(channel->session, NGHTTP2_FLAG_NONE, 0,
                                                 LATCHKEY_RPC_WINDOW_BYTES) == 0;
}

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *bytes, size_t count,
                            uint32_t *flags, nghttp2_data_source *source, void *context) {
    (void)session;
    (void)stream;
    (void)context;
    struct call *call = source->ptr;
    size_t rest = call->request_count - call->sent_count;
    size_t part = rest < count ? rest : count;
    memcpy(bytes, call->request + call->sent_count, part);
    call->sent_count += part;
    if (part == rest) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)part;
}

static nghttp2_nv field(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

void latchkey_rpc_submit(latchkey_rpc_channel *channel, struct call *call) {
    char authority[REASON_BYTES];
    bool has_colon = strchr(channel->options.host, ':') != NULL;
    snprintf(authority, sizeof authority, has_colon ? "[%s]:%u" : "%s:%u", channel->options.host,
             channel->options.port);
    nghttp2_nv fields[] = {
        field(":method", "POST"),
        field(":scheme", channel->options.is_encrypted ? "https" : "http"),
        field(":path", call->path),
        field(":authority", authority),
        field("content-type", "application/grpc"),
        field("te", "trailers"),
        field("hasleader", "true"),
    };
    size_t count = sizeof fields / sizeof *fields - (call->needs_leader ? 0 : 1);
    nghttp2_data_provider provider = {{.ptr = call}, read_request};
    int32_t stream = nghttp2_submit_request(channel->session, NULL, fields, count, &provider, call);
    if (stream < 0) {
        // All stream numbers are used up after a thousand million calls.
        channel->is_gone = true;
        latchkey_rpc_end(call, LATCHKEY_RPC_UNAVAILABLE, nghttp2_strerror(stream));
    } else {
        call->stream = stream;
    }
}
