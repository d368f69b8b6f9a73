// Counts the bytes of the bodies of unsent answers: all of them against one limit, and those of
// each client against its share.
//
// Included by CLatchkeyHTTP.h. All functions may be called on any thread.

#ifndef LATCHKEY_HTTP_ACCOUNT_CONTRACT_H
#define LATCHKEY_HTTP_ACCOUNT_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct latchkey_http_account latchkey_http_account;

// Clients are numbered by their owner. Two whose numbers are equal modulo this have one share.
enum { LATCHKEY_HTTP_ACCOUNT_CLIENTS = 4096 };

typedef enum latchkey_http_charge {
    LATCHKEY_HTTP_CHARGED,
    LATCHKEY_HTTP_CHARGE_FULL,   // all clients together are at the limit
    LATCHKEY_HTTP_CHARGE_SHARE,  // this one has its share
} latchkey_http_charge;

// NULL without memory.
latchkey_http_account *latchkey_http_account_create(size_t bytes_max, size_t client_bytes_max);

// Called when nothing is charged any more, and nothing will be.
void latchkey_http_account_destroy(latchkey_http_account *account);

// Charges `count` bytes. Returns false, and charges nothing, if that would go over the limit.
bool latchkey_http_account_charge(latchkey_http_account *account, size_t count);

// Charges `count` bytes, even over the limit.
void latchkey_http_account_add(latchkey_http_account *account, size_t count);

// Gives charged bytes back.
void latchkey_http_account_give_back(latchkey_http_account *account, size_t count);

// The same for a long answer to a client. A refused charge charges nothing.
latchkey_http_charge latchkey_http_account_charge_client(latchkey_http_account *account,
                                                         uint32_t client, size_t count);
void latchkey_http_account_add_client(latchkey_http_account *account, uint32_t client,
                                      size_t count);
void latchkey_http_account_give_back_client(latchkey_http_account *account, uint32_t client,
                                            size_t count);

// Whether a further byte for this client would be refused, and why.
latchkey_http_charge latchkey_http_account_ask(latchkey_http_account *account, uint32_t client);

// How many bytes are charged.
size_t latchkey_http_account_bytes(const latchkey_http_account *account);

// Bytes that any number of streams send without a copy of their own. Charged once, also over the
// limit, from its creation until the last reference is released. `account` may be NULL.
typedef struct latchkey_http_block latchkey_http_block;

// Copies the bytes. NULL without memory. The caller has the first reference.
latchkey_http_block *latchkey_http_block_create(const void *bytes, size_t count,
                                                latchkey_http_account *account);
void latchkey_http_block_release(latchkey_http_block *block);

// The bytes, of which there are `count`.
const void *latchkey_http_block_bytes(const latchkey_http_block *block, size_t *count);

#endif
