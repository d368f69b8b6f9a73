// Requests and their answers, as the files of this target see them.

#ifndef LATCHKEY_HTTP_REQUEST_H
#define LATCHKEY_HTTP_REQUEST_H

#include "internal.h"

// request.c

void *latchkey_http_request_line(void *context, const char *target, struct MHD_Connection *mhd);
enum MHD_Result latchkey_http_request_access(void *context, struct MHD_Connection *mhd,
                                             const char *url, const char *method,
                                             const char *version, const char *upload,
                                             size_t *upload_count, void **request_context);
void latchkey_http_request_completed(void *context, struct MHD_Connection *mhd,
                                     void **request_context, enum MHD_RequestTerminationCode code);

// head.c

// Copies and checks the head of the request that libmicrohttpd has parsed; sets the request's
// method, path, query and fields, and its rejection.
void latchkey_http_head_take(connection *c, const char *method, const char *version);

// body.c

// Gives bytes to the reader. Sets `*count` to the number of bytes that are left: all, or none.
void latchkey_http_body_give(connection *c, const char *bytes, size_t *count);

// Whether the reader has taken the whole body; the client has sent it. If not, libmicrohttpd comes
// back.
bool latchkey_http_body_is_taken(connection *c);

// Calls `gone`, unless the reader is over.
void latchkey_http_body_lose(connection *c, latchkey_http_body_reason reason);

// The request is over: calls `gone` if the reader is not, and frees it. The server's thread, or the
// thread that released the last reference to the connection.
void latchkey_http_body_leave(connection *c);

// Whether the client sends its body too slowly. (lock)
bool latchkey_http_body_is_slow(connection *c, unsigned phase, uint64_t now_milliseconds);

// Refuses a request whose body is not complete, if there is one. Returns whether it did. (lock)
bool latchkey_http_body_cut(connection *c);

// response.c

// Calls the handler, and hands its answer to libmicrohttpd if it is there. `is_early` if the
// request is not complete, so that libmicrohttpd would wait for the rest before it comes back.
enum MHD_Result latchkey_http_response_dispatch(connection *c, bool is_early);

// Asks the head callback. Returns whether it has answered.
bool latchkey_http_response_ask_at_head(connection *c);

// Hands the answer that was given at the head to libmicrohttpd.
enum MHD_Result latchkey_http_response_give(connection *c);

// Goes on with a request whose handler has returned without an answer.
enum MHD_Result latchkey_http_response_continue(connection *c);

// Takes a request that is RUNNING away from its handler: its connection has gone. Returns false if
// it was answered already. The server's thread.
bool latchkey_http_response_abandon(connection *c);

// Takes a request that is SUSPENDED away from its handler, and resumes its connection. Returns
// false if it is not suspended. latchkey_http_abandoned_tell_all() must be called afterwards.
// (lock)
bool latchkey_http_response_take_away(connection *c);

// refusals.c

enum {
    REFUSAL_ORIGIN_BYTES_MAX = 270,  // that of an allowed origin
    REFUSAL_SHARING_BYTES_MAX = REFUSAL_ORIGIN_BYTES_MAX + 128,
};

// Makes the header lines of answers past libmicrohttpd that say which origin may read them, if the
// request says so while its body is still to come. The server's thread.
void latchkey_http_refusal_share(connection *c);
void latchkey_http_refusal_unshare(connection *c);

// These lines, each with its line end. (lock, or the server's thread)
const char *latchkey_http_refusal_sharing_lines(connection *c);

// Adds the same lines to an answer that only this request gets. The server's thread.
void latchkey_http_refusal_add_sharing(connection *c, struct MHD_Response *response);

// An answer that any number of connections can be given, or NULL without memory.
struct MHD_Response *latchkey_http_refusal_create(char *body, bool may_retry);

// Hands an answer to libmicrohttpd: one like the shared one, with the identifier of this request,
// or the shared one without memory. The server's thread.
enum MHD_Result latchkey_http_refusal_queue(connection *c, unsigned status,
                                            struct MHD_Response *shared, char *body);

// past_library.c

// Refuses a request for which libmicrohttpd takes no answer, and sets the phase to EXPIRED. Does
// nothing and returns false if the phase is not this one any more.
bool latchkey_http_past_library_refuse(connection *c, unsigned phase, const char *status,
                                       const char *problem);

struct tcp_info;

// Whether the client has ended its half of the connection, and all that it had sent was read. The
// phase has lasted this long.
//
// libmicrohttpd uses edge-triggered events, and does not read again after a read that is shorter
// than its buffer. It would miss an end of the stream that came together with the last bytes, and
// the connection would stay until it was idle for too long.
bool latchkey_http_past_library_has_ended(connection *c, const struct tcp_info *info,
                                          uint64_t elapsed_milliseconds);

// Refuses a body without end with a 413.
void latchkey_http_past_library_refuse_body(connection *c);

// abandoned.c

// Notes that the request of this connection was taken away; latchkey_http_abandoned_tell_all() must
// be called once the lock is released. (lock, and that of the suspension)
void latchkey_http_abandoned_note(connection *c);

// Tells the owners of all requests that were noted.
void latchkey_http_abandoned_tell_all(latchkey_http_server *server);

// Tells the owners of a request that was taken away, each once. The caller holds the connection.
void latchkey_http_abandoned_tell(connection *c);

// Whether an owner of a request is to be told.
bool latchkey_http_abandoned_is_awaited(connection *c);

// Gives up the callbacks of a request that is over.
void latchkey_http_abandoned_release(connection *c);

#endif
