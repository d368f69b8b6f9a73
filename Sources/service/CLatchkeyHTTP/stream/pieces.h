// The bytes that a stream has still to send: a queue of blocks. Included by stream.h.

#ifndef LATCHKEY_HTTP_PIECES_H
#define LATCHKEY_HTTP_PIECES_H

#include <stdatomic.h>
#include <stddef.h>

#include "CLatchkeyHTTPAccount.h"

// A shared block never changes. One of a single queue can grow up to its capacity.
struct latchkey_http_block {
    atomic_uint reference_count;
    latchkey_http_account *account;
    size_t charge;
    size_t capacity;
    size_t count;
    char bytes[];
};

typedef struct piece {
    struct piece *next;
    latchkey_http_block *block;
    size_t share;  // the part of the client's share that it takes
} piece;

typedef struct pieces {
    piece *first;
    piece *last;
    bool is_growing;                 // the last block is of this queue alone
    size_t start;                    // of what is left of the first block
    size_t count;                    // of all bytes that are left
    latchkey_http_account *account;  // or NULL
    uint32_t client;                 // whose share of the account the bytes take
} pieces;

// Adds a block, and a reference to it; with `forces` also beyond the account's limits. Returns
// false, and adds nothing, at a limit or without memory.
//
// The first queue that a block is in takes the share of its client.
bool latchkey_http_pieces_add(pieces *queue, latchkey_http_block *block, bool forces);

// The same for a copy of bytes.
bool latchkey_http_pieces_copy(pieces *queue, const void *bytes, size_t count, bool forces);

// Takes bytes out, at most `room`, and returns how many.
size_t latchkey_http_pieces_take(pieces *queue, char *to, size_t room);

void latchkey_http_pieces_drop(pieces *queue);

// Whether a queue has the block.
bool latchkey_http_block_is_shared(const latchkey_http_block *block);

// Whether a limit is reached: then a stream that can wait, waits.
bool latchkey_http_account_is_full(const latchkey_http_account *account);

#endif
