// Streams, as the files of this target see them.

#ifndef LATCHKEY_HTTP_STREAM_H
#define LATCHKEY_HTTP_STREAM_H

#include "internal.h"
#include "stream/pieces.h"

// See stream.c. Guarded by the lock of `suspension`, unless a comment says otherwise.
struct latchkey_http_stream {
    latchkey_http_stream_options options;  // never changes
    atomic_uint reference_count;
    atomic_uint caller_count;
    suspension suspension;   // of the connection, by the content reader
    connection *connection;  // from the begin of the answer until it is out
    bool has_ended;          // ends after its buffered bytes
    bool is_over;            // nothing is read any more
    bool is_cut;             // the connection was shut down
    latchkey_http_stream_reason reason;
    pieces unsent;
    size_t refused_count;   // the longest piece that was answered FULL; 0: none
    uint64_t taken_bytes;   // by libmicrohttpd
    uint32_t mark;          // for the call of `sent` that was asked for; 0: none was
    uint64_t marked_bytes;  // that are sent then

    // (server) from here on: guarded by the server's lock.
    bool is_watched;                // the socket is in the watchdog's set
    bool is_told;                   // that the server drains
    uint64_t settled_bytes;         // `taken_bytes` when the client had taken everything
    uint64_t watched_milliseconds;  // when the watchdog noted the next two
    uint64_t watched_acknowledged;  // what the client had taken, and one; 0: not noted
    uint64_t watched_bytes;         // how many bytes were there for it to take
};

// stream.c, which says more. `c->stream` is there in each of these.

// Prepares an answer whose body is a stream. The server's thread, before it queues the answer.
void latchkey_http_stream_prepare(connection *c, struct MHD_Response *response);

// The answer was queued. The server's thread.
void latchkey_http_stream_begin(connection *c);

// The answer is out, or will never be. The server's thread.
void latchkey_http_stream_leave(connection *c);

// Ends a stream after its buffered bytes, for this reason.
void latchkey_http_stream_end_for(latchkey_http_stream *stream, latchkey_http_stream_reason reason);

// Ends a stream and its connection without the buffered bytes. Returns false if this was done
// before, or if the stream is not being sent. (its lock)
bool latchkey_http_stream_cut(latchkey_http_stream *stream, latchkey_http_stream_reason reason);

// Calls `draining`. The caller is counted in `caller_count`, or is the server's thread.
void latchkey_http_stream_tell(latchkey_http_stream *stream);
void latchkey_http_stream_release_caller(latchkey_http_stream *stream);

// Adds the reference of the connection. latchkey_http_stream_leave() or _abandon() releases it.
void latchkey_http_stream_hold(latchkey_http_stream *stream);

// The request was taken away before it was answered with the stream.
void latchkey_http_stream_abandon(connection *c, latchkey_http_stream *stream);

// The client has gone, or has closed its half of the connection. (lock)
void latchkey_http_stream_client_gone(connection *c);

// streams.c

// Cuts a stream that its client takes too slowly. Returns whether it did. (lock)
bool latchkey_http_stream_watch(connection *c, uint64_t now_milliseconds);

// Tells all producers that were not told yet that the server drains.
void latchkey_http_stream_tell_all(latchkey_http_server *server);

// Ends all streams after their buffered bytes, also those that are still to begin, except streams
// that must be whole.
void latchkey_http_stream_end_all(latchkey_http_server *server);

// Closes the connections of all streams, if wanted also of those that must be whole. Returns their
// number.
uint32_t latchkey_http_stream_cut_all(latchkey_http_server *server, bool cuts_whole);

#endif
