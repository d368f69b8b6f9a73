/* Channels: a thread, its list of calls, and its loop. */

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

int64_t latchkey_rpc_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void wake(latchkey_rpc_channel *channel) {
    uint64_t one = 1;
    // It fails only when the counter is full: then it is readable anyway.
    ssize_t ignored = write(channel->wakeup, &one, sizeof one);
    (void)ignored;
}

static void release(latchkey_rpc_channel *channel) {
    // Acquire and release: the last user has seen all accesses of the other.
    if (atomic_fetch_sub_explicit(&channel->reference_count, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (channel->wakeup >= 0) {
        close(channel->wakeup);
    }
    pthread_mutex_destroy(&channel->lock);
    const char *texts[] = {channel->options.host, channel->options.authorities,
                           channel->options.certificate, channel->options.key};
    for (size_t index = 0; index < sizeof texts / sizeof *texts; index++) {
        free((char *)(uintptr_t)texts[index]);
    }
    free(channel->wishes);
    free(channel->output);
    free(channel->input);
    free(channel);
}

bool latchkey_rpc_is_wanted(latchkey_rpc_channel *channel) {
    pthread_mutex_lock(&channel->lock);
    bool is_wanted = !channel->is_closing;
    pthread_mutex_unlock(&channel->lock);
    return is_wanted;
}

bool latchkey_rpc_wait(latchkey_rpc_channel *channel, short events, int64_t milliseconds) {
    struct pollfd looks[] = {{channel->wakeup, POLLIN, 0}, {channel->transport.socket, events, 0}};
    poll(looks, 2, milliseconds > 60000 ? 60000 : (int)milliseconds);
    if (looks[0].revents != 0) {
        uint64_t ignored;
        ssize_t count = read(channel->wakeup, &ignored, sizeof ignored);
        (void)count;
    }
    return latchkey_rpc_is_wanted(channel);
}

/* Takes the calls and wishes that other threads have submitted. */
static void take_submitted(latchkey_rpc_channel *channel) {
    pthread_mutex_lock(&channel->lock);
    struct call *submitted = channel->submitted;
    channel->submitted = NULL;
    channel->submitted_end = &channel->submitted;
    struct wish *wishes = channel->wishes;
    size_t wish_count = channel->wish_count;
    channel->wishes = NULL;
    channel->wish_count = 0;
    channel->wish_capacity = 0;
    pthread_mutex_unlock(&channel->lock);
    while (submitted != NULL) {
        struct call *call = submitted;
        submitted = call->next;
        call->next = channel->calls;
        channel->calls = call;
        latchkey_rpc_submit(channel, call);
    }
    for (const struct wish *wish = wishes; wish < wishes + wish_count; wish++) {
        for (struct call *call = channel->calls; call != NULL; call = call->next) {
            if (call->number != wish->number) {
                continue;
            }
            if (wish->byte_count > 0) {
                latchkey_rpc_take_more(call, wish->byte_count);
            } else {
                latchkey_rpc_end(call, LATCHKEY_RPC_CANCELLED, "");
            }
        }
    }
    free(wishes);
}

/* Ends calls whose time is over, and frees ended calls. Returns the time until the next
 * deadline. */
static int64_t sweep(latchkey_rpc_channel *channel) {
    int64_t now = latchkey_rpc_now();
    int64_t rest = INT32_MAX;
    for (struct call **place = &channel->calls; *place != NULL;) {
        struct call *call = *place;
        if (!call->is_ended && call->deadline != 0 && call->deadline <= now) {
            latchkey_rpc_end(call, LATCHKEY_RPC_DEADLINE_EXCEEDED, "no answer in time");
        }
        // A stream that was reset is closed by its callback; until then nghttp2 knows the call.
        if (call->is_ended && call->stream < 0) {
            *place = call->next;
            latchkey_rpc_free_call(call);
            continue;
        }
        if (!call->is_ended && call->deadline != 0 && call->deadline - now < rest) {
            rest = call->deadline - now;
        }
        place = &call->next;
    }
    return rest;
}

static bool fail(latchkey_rpc_channel *channel, const char *what, const char *why) {
    snprintf(channel->reason, REASON_BYTES, "%s: %s", what, why);
    return false;
}

/* Writes as much as the socket takes. False if the connection has ended. */
static bool send_output(latchkey_rpc_channel *channel) {
    while (true) {
        while (channel->output_count < OUTPUT_BYTES / 2) {
            const uint8_t *bytes;
            ssize_t count = nghttp2_session_mem_send(channel->session, &bytes);
            if (count < 0) {
                return fail(channel, "HTTP/2", nghttp2_strerror((int)count));
            }
            if (count == 0) {
                break;
            }
            if ((size_t)count > OUTPUT_BYTES - channel->output_count) {
                return fail(channel, "HTTP/2", "a frame is too long");
            }
            memcpy(channel->output + channel->output_count, bytes, (size_t)count);
            channel->output_count += (size_t)count;
        }
        if (channel->output_count == 0) {
            return true;
        }
        ssize_t count =
            latchkey_rpc_write(&channel->transport, channel->output + channel->output_start,
                               channel->output_count - channel->output_start);
        if (count < 0) {
            return errno == EAGAIN || errno == EINTR || latchkey_rpc_fail(channel, "send");
        }
        channel->output_start += (size_t)count;
        if (channel->output_start == channel->output_count) {
            channel->output_start = 0;
            channel->output_count = 0;
        }
    }
}

/* Reads what is there. False if the connection has ended. */
static bool receive_input(latchkey_rpc_channel *channel) {
    do {
        ssize_t count = latchkey_rpc_read(&channel->transport, channel->input, INPUT_BYTES);
        if (count < 0) {
            return errno == EAGAIN || errno == EINTR || latchkey_rpc_fail(channel, "receive");
        }
        if (count == 0) {
            return latchkey_rpc_fail_closed(channel);
        }
        channel->pinged = 0;
        channel->has_heard = true;
        ssize_t taken = nghttp2_session_mem_recv(channel->session, channel->input, (size_t)count);
        if (taken < 0) {
            return fail(channel, "HTTP/2", nghttp2_strerror((int)taken));
        }
        // The callbacks may have taken a while.
        channel->heard = latchkey_rpc_now();
    } while (latchkey_rpc_has_buffered(&channel->transport));
    return true;
}

/* Pings a silent server, and gives it up if it stays silent. Returns the time that is left. */
static int64_t check_silence(latchkey_rpc_channel *channel) {
    int64_t silence = latchkey_rpc_now() - channel->heard;
    int64_t bound = channel->options.silence_milliseconds;
    if (silence >= bound) {
        fail(channel, "receive", "the server is silent");
        return -1;
    }
    if (silence >= bound / 2 && channel->pinged == 0) {
        channel->pinged = channel->heard;
        nghttp2_submit_ping(channel->session, NGHTTP2_FLAG_NONE, NULL);
    }
    return (channel->pinged == 0 ? bound / 2 : bound) - silence;
}

static void serve(latchkey_rpc_channel *channel) {
    channel->heard = latchkey_rpc_now();
    while (latchkey_rpc_is_wanted(channel)) {
        take_submitted(channel);
        int64_t silence = check_silence(channel);
        if (silence < 0 || !send_output(channel)) {
            return;
        }
        int64_t rest = sweep(channel);
        if (channel->is_gone || !nghttp2_session_want_read(channel->session)) {
            fail(channel, "HTTP/2", "the server ends the connection");
            return;
        }
        short events = channel->output_count > 0 ? POLLIN | POLLOUT : POLLIN;
        if (!latchkey_rpc_wait(channel, events, rest < silence ? rest : silence)) {
            return;
        }
        if (!receive_input(channel)) {
            return;
        }
    }
}

/* Ends the remaining calls, and tells the owner. */
static void finish(latchkey_rpc_channel *channel) {
    pthread_mutex_lock(&channel->lock);
    channel->has_ended = true;
    bool is_closing = channel->is_closing;
    pthread_mutex_unlock(&channel->lock);
    int status = is_closing ? LATCHKEY_RPC_CANCELLED : LATCHKEY_RPC_UNAVAILABLE;
    // Nothing is submitted from now on.
    *channel->submitted_end = channel->calls;
    struct call *call = channel->submitted;
    channel->calls = NULL;
    for (struct call *next = call; next != NULL; next = next->next) {
        latchkey_rpc_end(next, status, channel->reason);
    }
    nghttp2_session_del(channel->session);
    latchkey_rpc_disconnect(&channel->transport);
    while (call != NULL) {
        struct call *next = call->next;
        latchkey_rpc_free_call(call);
        call = next;
    }
    channel->options.ended(channel->options.context, channel->reason);
}

static void *run(void *context) {
    latchkey_rpc_channel *channel = context;
    if (latchkey_rpc_connect(channel)) {
        if (latchkey_rpc_begin(channel)) {
            serve(channel);
        } else {
            fail(channel, "HTTP/2", "no memory");
        }
    }
    finish(channel);
    release(channel);
    return NULL;
}

static bool copy_text(const char **text) {
    if (*text != NULL) {
        *text = strdup(*text);
        return *text != NULL;
    }
    return true;
}

static bool prepare(latchkey_rpc_channel *channel) {
    struct latchkey_rpc_options *options = &channel->options;
    const char **texts[] = {&options->host, &options->authorities, &options->certificate,
                            &options->key};
    bool is_copied = true;
    for (size_t index = 0; index < sizeof texts / sizeof *texts; index++) {
        // A text that was not copied must not be freed.
        const char **text = texts[index];
        if (!is_copied) {
            *text = NULL;
        } else if (!copy_text(text)) {
            is_copied = false;
        }
    }
    channel->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    channel->output = malloc(OUTPUT_BYTES);
    channel->input = malloc(INPUT_BYTES);
    return is_copied && channel->wakeup >= 0 && channel->output != NULL && channel->input != NULL;
}

latchkey_rpc_channel *latchkey_rpc_open(const struct latchkey_rpc_options *options) {
    latchkey_rpc_channel *channel = calloc(1, sizeof *channel);
    if (channel == NULL) {
        return NULL;
    }
    channel->options = *options;
    channel->transport.socket = -1;
    channel->submitted_end = &channel->submitted;
    pthread_mutex_init(&channel->lock, NULL);
    atomic_init(&channel->reference_count, 1);
    pthread_t thread;
    bool is_started = false;
    if (prepare(channel)) {
        atomic_store(&channel->reference_count, 2);
        // The thread takes no signals: the program's other threads handle them.
        sigset_t all;
        sigset_t former;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &former);
        is_started = pthread_create(&thread, NULL, run, channel) == 0;
        pthread_sigmask(SIG_SETMASK, &former, NULL);
    }
    if (!is_started) {
        atomic_store(&channel->reference_count, 1);
        release(channel);
        return NULL;
    }
    pthread_setname_np(thread, "latchkey-rpc");
    pthread_detach(thread);
    return channel;
}

void latchkey_rpc_close(latchkey_rpc_channel *channel) {
    pthread_mutex_lock(&channel->lock);
    channel->is_closing = true;
    pthread_mutex_unlock(&channel->lock);
    wake(channel);
    release(channel);
}

uint64_t latchkey_rpc_call(latchkey_rpc_channel *channel,
                           const struct latchkey_rpc_request *request) {
    struct call *call = latchkey_rpc_make_call(channel, request);
    if (call == NULL) {
        return 0;
    }
    pthread_mutex_lock(&channel->lock);
    uint64_t number = 0;
    if (!channel->has_ended && !channel->is_closing) {
        number = ++channel->number;
        call->number = number;
        *channel->submitted_end = call;
        channel->submitted_end = &call->next;
    }
    pthread_mutex_unlock(&channel->lock);
    if (number == 0) {
        latchkey_rpc_free_call(call);
    } else {
        wake(channel);
    }
    return number;
}

static void wish_for(latchkey_rpc_channel *channel, struct wish wish) {
    pthread_mutex_lock(&channel->lock);
    if (channel->wish_count == channel->wish_capacity) {
        size_t larger = channel->wish_capacity == 0 ? 8 : 2 * channel->wish_capacity;
        struct wish *moved = realloc(channel->wishes, larger * sizeof *moved);
        if (moved != NULL) {
            channel->wishes = moved;
            channel->wish_capacity = larger;
        }
    }
    if (channel->wish_count < channel->wish_capacity) {
        channel->wishes[channel->wish_count++] = wish;
    }
    pthread_mutex_unlock(&channel->lock);
    wake(channel);
}

void latchkey_rpc_consume(latchkey_rpc_channel *channel, uint64_t number, size_t byte_count) {
    if (byte_count > 0) {
        wish_for(channel, (struct wish){number, byte_count});
    }
}

void latchkey_rpc_cancel(latchkey_rpc_channel *channel, uint64_t number) {
    wish_for(channel, (struct wish){number, 0});
}
