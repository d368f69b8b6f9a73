// Addresses of clients: which ones are counted together, and which ones speak for others.
//
// Design
//
// An address is 16 bytes, that of IPv4 as ::ffff:a.b.c.d. Connections are counted by IPv4 in full
// and by the first 64 bits of IPv6, because a client has all addresses below those. Only served
// connections are counted: refused ones have limits of their own (connection.c).
//
// A connection is counted for the token of its latest request that has one, or else for its
// address. So clients that share an address, but have tokens of their own, have shares of their
// own.
//
// A client with a connection has a counter, which is found by its hash. The counters are guarded by
// the server's lock.

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "connection/connection.h"

enum { IPV4_OFFSET = 12, IPV6_COUNTED_BYTES = 8 };

struct address_counter {
    counted_client client;
    uint32_t count;
    address_counter *next;
};

static const uint8_t mapped[IPV4_OFFSET] = {[10] = 0xff, [11] = 0xff};

latchkey_http_address latchkey_http_address_of(const struct sockaddr *from) {
    latchkey_http_address result = {{0}};
    if (from != NULL && from->sa_family == AF_INET) {
        memcpy(result.bytes, mapped, IPV4_OFFSET);
        memcpy(result.bytes + IPV4_OFFSET,
               &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    } else if (from != NULL && from->sa_family == AF_INET6) {
        memcpy(result.bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr,
               sizeof(result.bytes));
    }
    return result;
}

static bool contains(const latchkey_http_network *network, const latchkey_http_address *address) {
    uint32_t bits = network->prefix_bits;
    size_t whole = bits / 8;
    if (memcmp(network->address.bytes, address->bytes, whole) != 0) {
        return false;
    }
    unsigned mask = 0xff00u >> bits % 8 & 0xff;
    return mask == 0 || ((network->address.bytes[whole] ^ address->bytes[whole]) & mask) == 0;
}

bool latchkey_http_address_is_proxy(const latchkey_http_server *server,
                                    const latchkey_http_address *address) {
    for (size_t i = 0; i < server->options.proxy_count; i++) {
        if (contains(&server->options.proxies[i], address)) {
            return true;
        }
    }
    return false;
}

bool latchkey_http_request_is_proxy(const latchkey_http_request *request,
                                    const latchkey_http_address *address) {
    return latchkey_http_address_is_proxy(((const connection *)(const void *)request)->server,
                                          address);
}

latchkey_http_address latchkey_http_request_peer(const latchkey_http_request *request) {
    return ((const connection *)(const void *)request)->peer;
}

bool latchkey_http_address_create(latchkey_http_server *server) {
    uint32_t chains = 16;
    while (chains < server->options.connections_max / 4 && chains < 1u << 16) {
        chains *= 2;
    }
    server->address_mask = chains - 1;
    server->addresses = calloc(chains, sizeof(address_counter *));
    return server->addresses != NULL;
}

// The place of a client's counter, or of the NULL at the end of its chain.
static address_counter **place_of(latchkey_http_server *server, const counted_client *client) {
    uint64_t hash = (client->bits ^ client->kind) * 0x9e3779b97f4a7c15u;
    address_counter **place = &server->addresses[(hash >> 32) & server->address_mask];
    while (*place != NULL &&
           ((*place)->client.bits != client->bits || (*place)->client.kind != client->kind)) {
        place = &(*place)->next;
    }
    return place;
}

static counted_client client_of(const latchkey_http_address *address) {
    bool is_ipv4 = memcmp(address->bytes, mapped, IPV4_OFFSET) == 0;
    counted_client client = {0, is_ipv4 ? COUNTED_IPV4 : COUNTED_IPV6};
    if (is_ipv4) {
        memcpy(&client.bits, address->bytes + IPV4_OFFSET, 4);
    } else {
        memcpy(&client.bits, address->bytes, IPV6_COUNTED_BYTES);
    }
    return client;
}

// Counts a connection for a client, or says which limit it is over. (lock)
static latchkey_http_rejection count(connection *c, counted_client client) {
    address_counter **place = place_of(c->server, &client);
    address_counter *counter = *place;
    if (counter == NULL) {
        counter = malloc(sizeof(*counter));
        if (counter == NULL) {
            return LATCHKEY_HTTP_REJECTION_MEMORY;
        }
        *counter = (address_counter){client, 0, NULL};
        *place = counter;
    }
    if (counter->count >= c->server->options.connections_per_address_max) {
        return LATCHKEY_HTTP_REJECTION_ADDRESS_CONNECTIONS;
    }
    counter->count++;
    latchkey_http_address_leave(c);
    c->is_counted = true;
    c->counted = client;
    return LATCHKEY_HTTP_REJECTION_NONE;
}

latchkey_http_rejection latchkey_http_address_enter(connection *c) {
    if (c->server->addresses == NULL || latchkey_http_address_is_proxy(c->server, &c->peer)) {
        return LATCHKEY_HTTP_REJECTION_NONE;
    }
    return count(c, client_of(&c->peer));
}

void latchkey_http_address_leave(connection *c) {
    if (!c->is_counted) {
        return;
    }
    c->is_counted = false;
    address_counter **place = place_of(c->server, &c->counted);
    address_counter *counter = *place;
    if (--counter->count == 0) {
        *place = counter->next;
        free(counter);
    }
}

bool latchkey_http_request_belong(latchkey_http_request *request, uint64_t number) {
    connection *c = (connection *)(void *)request;
    latchkey_http_server *server = c->server;
    if (LIKELY(server->addresses == NULL ||
               (c->counted.kind == COUNTED_TOKEN && c->counted.bits == number))) {
        return true;
    }
    if (c->refused || latchkey_http_address_is_proxy(server, &c->peer)) {
        return true;
    }
    pthread_mutex_lock(&server->lock);
    latchkey_http_rejection refusal = count(c, (counted_client){number, COUNTED_TOKEN});
    pthread_mutex_unlock(&server->lock);
    if (refusal != LATCHKEY_HTTP_REJECTION_ADDRESS_CONNECTIONS) {
        return true;
    }
    c->closes = true;
    atomic_fetch_add_explicit(&server->refused_total, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&server->refused_share_total, 1, memory_order_relaxed);
    return false;
}
