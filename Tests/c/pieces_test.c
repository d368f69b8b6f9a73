// Pieces that streams share, their account, and the last piece of a full stream.

#include <stdlib.h>
#include <string.h>

#include "producer.h"

enum {
    BLOCK_BYTES = 3000,
    ACCOUNT_BYTES = 10000,
    SOME_BYTES = 257,
    LONG_BYTES = LATCHKEY_HTTP_STREAM_SHORT_BYTES_MAX + 1,
    SHARE_BYTES = 2 * LONG_BYTES,
};

// Streams that are charged to an account, with a limit and a share for each client.
static latchkey_http_account *start_with_account(size_t bytes_max, size_t share) {
    stream_start(subject_options());
    stream_account = latchkey_http_account_create(bytes_max, share);
    return stream_account;
}

static void stop_with_account(void) {
    stream_stop(1000);
    latchkey_http_account_destroy(stream_account);
    stream_account = NULL;
}

static void fill_to_the_bound(producer *p) {
    CHECK_WRITE(p->stream, repeated('f', STREAM_BOUND), STREAM_BOUND, ACCEPTED);
    CHECK_WRITE(p->stream, "x", 1, FULL);
    latchkey_http_stream_end_with(p->stream, "last", 4);
    CHECK_WRITE(p->stream, "x", 1, GONE);
    latchkey_http_stream_end_with(p->stream, "never", 5);
}

static void ends_a_full_stream_with_a_piece(void) {
    stream_start(subject_options());
    static char body[STREAM_BOUND + 100];
    fill = fill_to_the_bound;
    CHECK(client_ask(&c, GET("/filled")) == 200);
    bool ends;
    CHECK(read_stream(&c, body, sizeof body, &ends) == STREAM_BOUND + 4 && ends);
    CHECK(memcmp(body + STREAM_BOUND, "last", 4) == 0);
    CHECK(is_gone(producer_at(0), LATCHKEY_HTTP_STREAM_ENDED));
    stream_stop(1000);
}

static void sends_one_block_on_many_streams(void) {
    enum { CLIENTS = 5 };
    stream_start(subject_options());
    latchkey_http_account *account = latchkey_http_account_create(ACCOUNT_BYTES, ACCOUNT_BYTES);
    latchkey_http_block *block =
        latchkey_http_block_create(repeated('b', BLOCK_BYTES), BLOCK_BYTES, account);
    size_t charge = latchkey_http_account_bytes(account);
    CHECK(charge >= BLOCK_BYTES && charge < BLOCK_BYTES + 200);
    static client clients[CLIENTS];
    static char body[BLOCK_BYTES + 100];
    for (uint32_t i = 0; i < CLIENTS; i++) {
        CHECK(client_open(&clients[i], s.port));
        producer *p = ask_for_stream(&clients[i], i);
        CHECK_BLOCK(p->stream, block, ACCEPTED);
        CHECK_WRITE(p->stream, "tail", 4, ACCEPTED);
    }
    // The block once, and a place in each queue.
    CHECK(latchkey_http_account_bytes(account) <= charge + CLIENTS * 2 * sizeof(void *));
    latchkey_http_block_release(block);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        bool ends;
        latchkey_http_stream_end(producer_at(i)->stream);
        CHECK(read_stream(&clients[i], body, sizeof body, &ends) == BLOCK_BYTES + 4 && ends);
        bool is_right = true;
        for (size_t k = 0; k < BLOCK_BYTES; k++) {
            is_right &= body[k] == 'b';
        }
        CHECK(is_right && memcmp(body + BLOCK_BYTES, "tail", 4) == 0);
        client_close(&clients[i]);
    }
    CHECK(latchkey_http_account_bytes(account) == 0);
    stream_stop(1000);
    latchkey_http_account_destroy(account);
}

static void charges_up_to_the_bound(void) {
    latchkey_http_account *account = latchkey_http_account_create(100, 100);
    CHECK(!latchkey_http_account_charge(account, 101));
    CHECK(latchkey_http_account_charge(account, 100));
    CHECK(!latchkey_http_account_charge(account, 1));
    latchkey_http_account_add(account, 50);
    CHECK(!latchkey_http_account_charge(account, 0));
    CHECK(latchkey_http_account_bytes(account) == 150);
    latchkey_http_account_give_back(account, 150);
    CHECK(latchkey_http_account_charge(account, SIZE_MAX) == false);
    CHECK(latchkey_http_account_bytes(account) == 0);
    latchkey_http_account_destroy(account);
}

// A stream while others have used up the account.
static void serves_on_who_reads_beyond_the_account_s_bound(void) {
    latchkey_http_account *account = start_with_account(ACCOUNT_BYTES, ACCOUNT_BYTES);
    producer *p = ask_for_stream(&c, 0);
    latchkey_http_account_add(account, ACCOUNT_BYTES);
    // A client that reads gets its next piece. After that, the stream waits as if it were full.
    static char body[SOME_BYTES];
    bool ends;
    for (int i = 0; i < 2; i++) {
        CHECK_WRITE(p->stream, repeated('l', SOME_BYTES), SOME_BYTES, ACCEPTED);
        CHECK(read_stream(&c, body, SOME_BYTES, &ends) == SOME_BYTES && !ends);
        pause_milliseconds(20);
    }
    latchkey_http_account_give_back(account, ACCOUNT_BYTES);
    latchkey_http_stream_end(p->stream);
    CHECK(ends_with(&c, ""));
    CHECK(latchkey_http_account_bytes(account) == 0);
    stop_with_account();
}

static void fill_beyond_the_account(producer *p) {
    // Nothing is read before this returns.
    CHECK_WRITE(p->stream, repeated('f', SOME_BYTES), SOME_BYTES, ACCEPTED);
    CHECK_WRITE(p->stream, repeated('f', SOME_BYTES), SOME_BYTES, FULL);
    latchkey_http_stream_end(p->stream);
}

static void takes_one_piece_beyond_the_account_s_bound(void) {
    latchkey_http_account *account = start_with_account(ACCOUNT_BYTES, ACCOUNT_BYTES);
    latchkey_http_account_add(account, ACCOUNT_BYTES);
    static char body[SOME_BYTES + 100];
    fill = fill_beyond_the_account;
    CHECK(client_ask(&c, GET("/filled")) == 200);
    bool ends;
    CHECK(read_stream(&c, body, sizeof body, &ends) == SOME_BYTES && ends);
    CHECK(is_gone(producer_at(0), LATCHKEY_HTTP_STREAM_ENDED));
    CHECK(latchkey_http_account_bytes(account) == ACCOUNT_BYTES);
    stop_with_account();
}

// Streams that have nothing to send, in a full account: which piece each of them may take.
static void takes_short_and_shared_pieces_beyond_the_bound_and_no_long_ones(void) {
    latchkey_http_account *account = start_with_account(ACCOUNT_BYTES, ACCOUNT_BYTES);
    latchkey_http_block *shared =
        latchkey_http_block_create(repeated('b', LONG_BYTES), LONG_BYTES, NULL);
    latchkey_http_block *own =
        latchkey_http_block_create(repeated('o', LONG_BYTES), LONG_BYTES, NULL);
    latchkey_http_stream *keeper = NULL;
    latchkey_http_response *response;
    latchkey_http_stream_options options = {.buffer_bytes_max = STREAM_BOUND};
    keeper = latchkey_http_stream_create(&options, &response);
    CHECK_BLOCK(keeper, shared, ACCEPTED);
    latchkey_http_account_add(account, ACCOUNT_BYTES);
    static client clients[4];
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(client_open(&clients[i], s.port));
        ask_for_stream(&clients[i], i);
    }
    CHECK_WRITE(producer_at(0)->stream, repeated('s', LONG_BYTES - 1), LONG_BYTES - 1, ACCEPTED);
    CHECK_BLOCK(producer_at(1)->stream, shared, ACCEPTED);
    CHECK_WRITE(producer_at(2)->stream, repeated('l', LONG_BYTES), LONG_BYTES, GONE);
    CHECK_BLOCK(producer_at(3)->stream, own, GONE);
    static char body[LONG_BYTES + 100];
    for (uint32_t i = 0; i < 4; i++) {
        bool ends;
        latchkey_http_stream_end(producer_at(i)->stream);
        size_t count = read_stream(&clients[i], body, sizeof body, &ends);
        CHECK(i < 2 ? ends && count == LONG_BYTES - 1 + i : !ends && count == 0);
        client_close(&clients[i]);
    }
    CHECK(is_gone(producer_at(2), LATCHKEY_HTTP_STREAM_CLIENT));
    CHECK(is_gone(producer_at(3), LATCHKEY_HTTP_STREAM_CLIENT));
    latchkey_http_response_discard(response);
    latchkey_http_stream_release(keeper);
    latchkey_http_block_release(shared);
    latchkey_http_block_release(own);
    CHECK(latchkey_http_account_bytes(account) == ACCOUNT_BYTES);
    CHECK(latchkey_http_account_charge_client(account, 0, ACCOUNT_BYTES) ==
          LATCHKEY_HTTP_CHARGE_FULL);
    stop_with_account();
}

static void fill_the_share(producer *p) {
    // Nothing is read before this returns.
    CHECK_WRITE(p->stream, repeated('f', LONG_BYTES), LONG_BYTES, ACCEPTED);
    CHECK(latchkey_http_account_charge_client(stream_account, 0, LONG_BYTES) ==
          LATCHKEY_HTTP_CHARGE_SHARE);
    CHECK(latchkey_http_account_charge_client(stream_account, 1, LONG_BYTES) ==
          LATCHKEY_HTTP_CHARGED);
    latchkey_http_account_give_back_client(stream_account, 1, LONG_BYTES);
    latchkey_http_stream_end(p->stream);
}

static void takes_what_a_stream_holds_from_the_client_s_share(void) {
    start_with_account(10 * SHARE_BYTES, SHARE_BYTES);
    static char body[LONG_BYTES + 100];
    fill = fill_the_share;
    CHECK(client_ask(&c, GET("/filled")) == 200);
    bool ends;
    CHECK(read_stream(&c, body, sizeof body, &ends) == LONG_BYTES && ends);
    CHECK(is_gone(producer_at(0), LATCHKEY_HTTP_STREAM_ENDED));
    CHECK(latchkey_http_account_charge_client(stream_account, 0, SHARE_BYTES) ==
          LATCHKEY_HTTP_CHARGED);
    latchkey_http_account_give_back_client(stream_account, 0, SHARE_BYTES);
    CHECK(latchkey_http_account_bytes(stream_account) == 0);
    stop_with_account();
}

static void gives_each_client_its_share(void) {
    latchkey_http_account *account = latchkey_http_account_create(100, 40);
    CHECK(latchkey_http_account_charge_client(account, 1, 41) == LATCHKEY_HTTP_CHARGE_SHARE);
    CHECK(latchkey_http_account_charge_client(account, 1, 40) == LATCHKEY_HTTP_CHARGED);
    CHECK(latchkey_http_account_ask(account, 1) == LATCHKEY_HTTP_CHARGE_SHARE);
    CHECK(latchkey_http_account_ask(account, 2) == LATCHKEY_HTTP_CHARGED);
    CHECK(latchkey_http_account_charge_client(account, 2, 40) == LATCHKEY_HTTP_CHARGED);
    CHECK(latchkey_http_account_charge_client(account, 3, 21) == LATCHKEY_HTTP_CHARGE_FULL);
    CHECK(latchkey_http_account_charge_client(account, 3, 20) == LATCHKEY_HTTP_CHARGED);
    CHECK(latchkey_http_account_ask(account, 3) == LATCHKEY_HTTP_CHARGE_FULL);
    latchkey_http_account_add_client(account, 1, 5);
    CHECK(latchkey_http_account_bytes(account) == 105);
    latchkey_http_account_give_back_client(account, 1, 45);
    latchkey_http_account_give_back_client(account, 2, 40);
    latchkey_http_account_give_back_client(account, 3, 20);
    CHECK(latchkey_http_account_bytes(account) == 0);
    CHECK(latchkey_http_account_charge_client(account, 1, 40) == LATCHKEY_HTTP_CHARGED);
    latchkey_http_account_destroy(account);
}

const test_case pieces_cases[] = {
    {"ends a full stream with a last piece", ends_a_full_stream_with_a_piece},
    {"sends one block on many streams", sends_one_block_on_many_streams},
    {"charges up to the bound of an account", charges_up_to_the_bound},
    {"serves on who reads, beyond the account's bound",
     serves_on_who_reads_beyond_the_account_s_bound},
    {"takes one piece beyond the account's bound", takes_one_piece_beyond_the_account_s_bound},
    {"takes short and shared pieces beyond the bound, and no long ones",
     takes_short_and_shared_pieces_beyond_the_bound_and_no_long_ones},
    {"takes what a stream holds from its client's share",
     takes_what_a_stream_holds_from_the_client_s_share},
    {"gives each client its share of an account", gives_each_client_its_share},
    {NULL, NULL},
};
