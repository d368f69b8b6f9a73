// What the bodies of unsent answers hold in all, against one bound.
//
// Included by CLatchkeyHTTP.h. All functions may be called on any thread.

#ifndef LATCHKEY_HTTP_ACCOUNT_CONTRACT_H
#define LATCHKEY_HTTP_ACCOUNT_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct latchkey_http_account latchkey_http_account;

// NULL without memory.
latchkey_http_account *latchkey_http_account_create(size_t bytes_max);

// Nothing is charged any more, and nothing will be.
void latchkey_http_account_destroy(latchkey_http_account *account);

// Charges so many bytes. Returns false, and charges nothing, if that would go beyond the bound.
bool latchkey_http_account_charge(latchkey_http_account *account, size_t count);

// Charges so many bytes, even beyond the bound.
void latchkey_http_account_add(latchkey_http_account *account, size_t count);

// Gives back what was charged.
void latchkey_http_account_give_back(latchkey_http_account *account, size_t count);

// How many bytes are charged.
size_t latchkey_http_account_bytes(const latchkey_http_account *account);

// Bytes that any number of streams send without a copy of their own. Charged once, also beyond the
// bound, from its creation until the last reference is released. `account` may be NULL.
typedef struct latchkey_http_block latchkey_http_block;

// Copies the bytes. NULL without memory. The caller has the first reference.
latchkey_http_block *latchkey_http_block_create(const void *bytes, size_t count,
                                                latchkey_http_account *account);
void latchkey_http_block_release(latchkey_http_block *block);

// The bytes, of which there are `count`.
const void *latchkey_http_block_bytes(const latchkey_http_block *block, size_t *count);

#endif
