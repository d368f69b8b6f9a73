// Queues of bytes to send, the blocks that they share, and the account of all of them.
//
// Design
//
// A block is counted: each queue that has it holds a reference. The release of the last one, on any
// thread, frees it and gives its charge back. So a piece for a thousand streams exists once, and is
// charged once. Queues have no lock; that of their stream guards them. A short piece is added to
// the last block, if that is of this queue alone and has room.
//
// A queue also takes its bytes from the share of its client. A block that is already in another
// queue costs nothing more: otherwise a block that many streams share would be counted as if each
// had a copy.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stream/pieces.h"

enum {
    // The minimum room of a block that waits after others.
    GROWING_BYTES = 4096,
};

struct latchkey_http_account {
    size_t bytes_max;
    size_t client_bytes_max;
    atomic_size_t bytes;
    // Of the long answers to clients, by their numbers. No memory is needed for one more client.
    atomic_size_t client_bytes[LATCHKEY_HTTP_ACCOUNT_CLIENTS];
};

latchkey_http_account *latchkey_http_account_create(size_t bytes_max, size_t client_bytes_max) {
    latchkey_http_account *account = calloc(1, sizeof(*account));
    if (account != NULL) {
        account->bytes_max = bytes_max;
        account->client_bytes_max = client_bytes_max;
    }
    return account;
}

void latchkey_http_account_destroy(latchkey_http_account *account) {
    free(account);
}

// The numbers order nothing: relaxed in all of them.

// Adds to a number, unless the sum would be over the limit.
static bool charge(atomic_size_t *bytes, size_t bound, size_t count) {
    size_t before = atomic_fetch_add_explicit(bytes, count, memory_order_relaxed);
    if (before > bound || count > bound - before) {
        atomic_fetch_sub_explicit(bytes, count, memory_order_relaxed);
        return false;
    }
    return true;
}

bool latchkey_http_account_charge(latchkey_http_account *account, size_t count) {
    return charge(&account->bytes, account->bytes_max, count);
}

static atomic_size_t *share(latchkey_http_account *account, uint32_t client) {
    return &account->client_bytes[client % LATCHKEY_HTTP_ACCOUNT_CLIENTS];
}

latchkey_http_charge latchkey_http_account_charge_client(latchkey_http_account *account,
                                                         uint32_t client, size_t count) {
    if (!latchkey_http_account_charge(account, count)) {
        return LATCHKEY_HTTP_CHARGE_FULL;
    }
    if (!charge(share(account, client), account->client_bytes_max, count)) {
        latchkey_http_account_give_back(account, count);
        return LATCHKEY_HTTP_CHARGE_SHARE;
    }
    return LATCHKEY_HTTP_CHARGED;
}

void latchkey_http_account_add_client(latchkey_http_account *account, uint32_t client,
                                      size_t count) {
    atomic_fetch_add_explicit(share(account, client), count, memory_order_relaxed);
    latchkey_http_account_add(account, count);
}

void latchkey_http_account_give_back_client(latchkey_http_account *account, uint32_t client,
                                            size_t count) {
    atomic_fetch_sub_explicit(share(account, client), count, memory_order_relaxed);
    latchkey_http_account_give_back(account, count);
}

latchkey_http_charge latchkey_http_account_ask(latchkey_http_account *account, uint32_t client) {
    if (latchkey_http_account_is_full(account)) {
        return LATCHKEY_HTTP_CHARGE_FULL;
    }
    return atomic_load_explicit(share(account, client), memory_order_relaxed) >=
                   account->client_bytes_max
               ? LATCHKEY_HTTP_CHARGE_SHARE
               : LATCHKEY_HTTP_CHARGED;
}

void latchkey_http_account_add(latchkey_http_account *account, size_t count) {
    atomic_fetch_add_explicit(&account->bytes, count, memory_order_relaxed);
}

void latchkey_http_account_give_back(latchkey_http_account *account, size_t count) {
    atomic_fetch_sub_explicit(&account->bytes, count, memory_order_relaxed);
}

size_t latchkey_http_account_bytes(const latchkey_http_account *account) {
    return atomic_load_explicit(&account->bytes, memory_order_relaxed);
}

bool latchkey_http_account_is_full(const latchkey_http_account *account) {
    return account != NULL && latchkey_http_account_bytes(account) >= account->bytes_max;
}

// A block without bytes.
static latchkey_http_block *create(size_t capacity, latchkey_http_account *account, bool forces) {
    size_t charge = sizeof(latchkey_http_block) + capacity;
    if (account != NULL && forces) {
        latchkey_http_account_add(account, charge);
    } else if (account != NULL && !latchkey_http_account_charge(account, charge)) {
        return NULL;
    }
    latchkey_http_block *block = malloc(sizeof(*block) + capacity);
    if (block == NULL) {
        if (account != NULL) {
            latchkey_http_account_give_back(account, charge);
        }
        return NULL;
    }
    atomic_init(&block->reference_count, 1);
    block->account = account;
    block->charge = charge;
    block->capacity = capacity;
    block->count = 0;
    return block;
}

latchkey_http_block *latchkey_http_block_create(const void *bytes, size_t count,
                                                latchkey_http_account *account) {
    latchkey_http_block *block = create(count, account, true);
    if (block != NULL && count > 0) {
        memcpy(block->bytes, bytes, count);
        block->count = count;
    }
    return block;
}

void latchkey_http_block_release(latchkey_http_block *block) {
    // Acquire and release: the thread that frees the block has seen all accesses of the others.
    if (atomic_fetch_sub_explicit(&block->reference_count, 1, memory_order_acq_rel) == 1) {
        if (block->account != NULL) {
            latchkey_http_account_give_back(block->account, block->charge);
        }
        free(block);
    }
}

const void *latchkey_http_block_bytes(const latchkey_http_block *block, size_t *count) {
    *count = block->count;
    return block->bytes;
}

// Takes bytes from the share of the client. Returns false, and takes nothing, if the share has too
// few left.
static bool take_share(const pieces *queue, size_t count, bool forces) {
    latchkey_http_account *account = queue->account;
    if (account == NULL) {
        return true;
    }
    atomic_size_t *bytes = share(account, queue->client);
    if (forces) {
        atomic_fetch_add_explicit(bytes, count, memory_order_relaxed);
        return true;
    }
    return charge(bytes, account->client_bytes_max, count);
}

static void give_share_back(const pieces *queue, size_t count) {
    if (queue->account != NULL) {
        atomic_fetch_sub_explicit(share(queue->account, queue->client), count,
                                  memory_order_relaxed);
    }
}

// Adds a block without a new reference, and its share, which was taken. Returns false without
// memory.
static bool append(pieces *queue, latchkey_http_block *block, size_t taken) {
    piece *added = malloc(sizeof(*added));
    if (added == NULL) {
        return false;
    }
    *added = (piece){.next = NULL, .block = block, .share = taken};
    if (block->account != NULL) {
        latchkey_http_account_add(block->account, sizeof(*added));
    }
    if (queue->last == NULL) {
        queue->first = added;
    } else {
        queue->last->next = added;
    }
    queue->last = added;
    queue->count += block->count;
    return true;
}

bool latchkey_http_block_is_shared(const latchkey_http_block *block) {
    // Its creator has a reference, too.
    return atomic_load_explicit(&block->reference_count, memory_order_relaxed) > 1;
}

bool latchkey_http_pieces_add(pieces *queue, latchkey_http_block *block, bool forces) {
    size_t taken = latchkey_http_block_is_shared(block) ? 0 : block->charge;
    if ((!forces && latchkey_http_account_is_full(queue->account)) ||
        !take_share(queue, taken, forces)) {
        return false;
    }
    atomic_fetch_add_explicit(&block->reference_count, 1, memory_order_relaxed);
    if (!append(queue, block, taken)) {
        give_share_back(queue, taken);
        latchkey_http_block_release(block);
        return false;
    }
    queue->is_growing = false;
    return true;
}

bool latchkey_http_pieces_copy(pieces *queue, const void *bytes, size_t count, bool forces) {
    latchkey_http_block *last = queue->is_growing ? queue->last->block : NULL;
    if (last != NULL && count <= last->capacity - last->count) {
        memcpy(last->bytes + last->count, bytes, count);
        last->count += count;
        queue->count += count;
        return true;
    }
    size_t capacity = queue->count > 0 && count < GROWING_BYTES ? GROWING_BYTES : count;
    latchkey_http_block *block = create(capacity, queue->account, forces);
    if (block == NULL) {
        return false;
    }
    memcpy(block->bytes, bytes, count);
    block->count = count;
    bool is_charged = take_share(queue, block->charge, forces);
    if (!is_charged || !append(queue, block, block->charge)) {
        if (is_charged) {
            give_share_back(queue, block->charge);
        }
        latchkey_http_block_release(block);
        return false;
    }
    queue->is_growing = true;
    return true;
}

static void drop_first(pieces *queue) {
    piece *first = queue->first;
    queue->count -= first->block->count - queue->start;
    queue->start = 0;
    queue->first = first->next;
    if (queue->first == NULL) {
        queue->last = NULL;
        queue->is_growing = false;
    }
    if (first->block->account != NULL) {
        latchkey_http_account_give_back(first->block->account, sizeof(*first));
    }
    give_share_back(queue, first->share);
    latchkey_http_block_release(first->block);
    free(first);
}

size_t latchkey_http_pieces_take(pieces *queue, char *to, size_t room) {
    size_t taken = 0;
    while (queue->first != NULL && taken < room) {
        latchkey_http_block *block = queue->first->block;
        size_t left = block->count - queue->start;
        size_t count = left < room - taken ? left : room - taken;
        memcpy(to + taken, block->bytes + queue->start, count);
        taken += count;
        queue->start += count;
        queue->count -= count;
        if (count == left) {
            drop_first(queue);
        }
    }
    return taken;
}

void latchkey_http_pieces_drop(pieces *queue) {
    while (queue->first != NULL) {
        drop_first(queue);
    }
}
